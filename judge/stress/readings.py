"""What a run says of each candidate: counts of errors and a score, by the rubric's declarations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judge import rubrics
from judge.rubrics.categories import CATEGORY
from judge.rubrics.contract import Label, Measure, Rubric
from judge.rubrics.quantities import quantities_of
from judge.running.folder import Run
from judge.stats.rates import summed
from judge.stats.panel import Values
from judge.stats.table import OUTCOMES
from judge.stress.candidates import FIELDS
from judge.stress.changes import all_changes
from judge.types import Annotated, Failed, JudgeError, Unparsed

Bools = NDArray[np.bool_]
LOST = (OUTCOMES[Unparsed], OUTCOMES[Failed], "undefined")
"""Why a candidate has no reading: `undefined` lacks the counts that the rubric's errors need."""
_MILD = (None, "mild")


@dataclass(frozen=True)
class Scale:
    """What a rubric says of a study, as measures whose sum is the number; empty: it says none.

    `level` are the errors whose grade is worse than mild, where a rubric knows milder ones too: by
    these a study has "no significant error". `by_category` and `level_by_category` count the same
    in each of the `categories`, which are the rubric's own or the six that rubrics share.
    """

    errors: tuple[str, ...]
    level: tuple[str, ...]
    level_name: str
    level_label: str
    score: Measure | None
    categories: tuple[tuple[str, str], ...] = ()
    by_category: tuple[tuple[str, ...], ...] = ()
    level_by_category: tuple[tuple[str, ...], ...] = ()

    @property
    def is_shared(self) -> bool:
        """Whether the categories are the six, in whose letters the truth is."""
        six = {(label.name, CATEGORY.text(label.name)) for label in CATEGORY.labels}
        return six <= {*self.categories}


def scale_of(rubric: Rubric, lacks: Iterable[str] = ()) -> Scale:
    """Return what a rubric says of a study; a label that a reader `lacks` is in no count."""
    known = quantities_of(rubric, [*lacks])
    levels = [quantity for quantity in known.values() if quantity.is_level]
    score = next(iter(rubric.with_role("score")), None)
    if rubric.tally is None:
        errors = known["errors"].measures if "errors" in known else ()
        if not (levels and errors):
            return Scale(errors, (), "", "", score)
        return Scale(errors, levels[-1].measures, levels[-1].name, levels[-1].label, score)
    tally, rows = rubric.tally, rubric.facet(rubric.tally.rows)
    columns = [label for label in rubric.facet(tally.columns).labels if label.name not in {*lacks}]
    wrong = [label for label in columns if label.tone != "good"]
    grave = [label for label in wrong if label.tone not in _MILD]
    grave = grave if len(grave) < len(wrong) else []

    def counts(labels: Sequence[Label], row: str | None = None) -> tuple[str, ...]:
        cuts = [
            {tally.columns: label.name} | ({tally.rows: row} if row else {}) for label in labels
        ]
        return tuple(m.name for cut in cuts for m in rubric.counting(tally.kind, cut))

    # The last level is the mildest, which counts what is worse than mild.
    name, label = (levels[-1].name, levels[-1].label) if levels else ("errors", "errors")
    return Scale(
        counts(wrong),
        counts(grave),
        name if grave else "",
        label if grave else "",
        score,
        tuple((row.name, rows.text(row.name)) for row in rows.labels),
        tuple(counts(wrong, row.name) for row in rows.labels),
        tuple(counts(grave, row.name) for row in rows.labels) if grave else (),
    )


@dataclass(frozen=True)
class Reading:
    """A run's answers to candidates, a row of `table` and a column of the arrays each.

    `table` has `FIELDS`, `unit` (studies with the same reference are one unit of intervals),
    `is_read` and `lost`. Numbers of candidates that were not read are NaN. `errors`, `level` and
    `score` are None where the rubric says none; `categories` and `at_level` are categories by
    candidates, with no row where it has no categories.
    """

    run: Run
    scale: Scale
    table: pd.DataFrame
    errors: Values | None
    level: Values | None
    score: Values | None
    categories: Values
    at_level: Values
    reasons: dict[str, int]

    @cached_property
    def is_read(self) -> Bools:
        """Which candidates were scored."""
        return self.table["is_read"].to_numpy()

    @cached_property
    def units(self) -> NDArray[np.intp]:
        """The unit of each candidate."""
        return self.table["unit"].to_numpy()

    def rows(self, **wanted: object) -> NDArray[np.intp]:
        """Return the rows with the values of some fields, `rows(change="denied")`."""
        masks = [self.table[name].to_numpy() == value for name, value in wanted.items()]
        return np.flatnonzero(np.all(masks, axis=0))

    def changes(self, group: str) -> list[str]:
        """Return the changes of a group that there are, in the order of printing."""
        there = {*self.table["change"][self.table["group"] == group]}
        return [name for name in all_changes() if name in there]

    def lost(self, rows: NDArray[np.intp]) -> dict[str, int]:
        """Return how many of some candidates have no reading, by why."""
        counts = Counter(self.table["lost"].to_numpy()[rows].tolist())
        return {name: counts[name] for name in LOST}


def read(run: Run) -> Reading:
    """Return a run's reading of candidates; raises `JudgeError` for a run of other studies."""
    rubric = rubrics.load(run.manifest["rubric"])
    scale = scale_of(rubric, run.reading["lacks"] if run.reading else ())
    if lacks := {"study", "change", "group", "k"} - {*run.manifest["fields"]}:
        raise JudgeError(
            f"{run.path} is no run of candidates that judge stress made: it has no field "
            f"{sorted(lacks)[0]!r}"
        )
    score = (scale.score.name,) if scale.score else ()
    parts = [scale.errors, scale.level, score, *scale.by_category, *scale.level_by_category]
    measures = list(dict.fromkeys(name for part in parts for name in part))
    fields = [name for name in FIELDS if name in run.manifest["fields"]]
    table = run.columns([*measures, "reason", *fields]).to_pandas()
    table[[name for name in FIELDS if name not in fields]] = None

    def column(names: Sequence[str]) -> Values:
        if not names:
            return np.full(len(table), np.nan)
        return summed([table[name].to_numpy(dtype=float, na_value=np.nan) for name in names])

    errors, level, scores = (column(part) for part in (scale.errors, scale.level, score))
    # A rubric is read by its errors, one without any by its score.
    is_undefined = np.isnan(errors if scale.errors else scores) & bool(scale.errors or score)
    outcomes = table["outcome"].astype(str)
    is_scored = (outcomes == OUTCOMES[Annotated]).to_numpy()
    table["lost"] = np.where(is_scored, np.where(is_undefined, LOST[2], ""), outcomes)
    table["is_read"] = table["lost"] == ""
    references = {record["study_id"]: record["reference"] for record in run.records()}
    texts = table["study_id"].map(references)
    table["unit"] = pd.factorize(texts.where(texts != "", table["study"]))[0]
    # A reader was not asked for all of it: what is not known of some is said of none.
    grids = [
        np.array([column(part) for part in parts]).reshape(-1, len(table))
        for parts in (scale.by_category, scale.level_by_category)
    ]
    is_read = table["is_read"].to_numpy()
    if np.isnan(level[is_read]).any():
        scale = replace(scale, level=(), level_by_category=())
    if np.isnan(grids[0][:, is_read]).any():
        scale = replace(scale, categories=(), by_category=(), level_by_category=())
    unscored = table[~is_scored]
    reasons = Counter(unscored["outcome"].astype(str) + ": " + unscored["reason"].astype(str))
    return Reading(
        run,
        scale,
        table,
        errors if scale.errors else None,
        level if scale.level else None,
        scores if score else None,
        grids[0][: len(scale.by_category)],
        grids[1][: len(scale.level_by_category)],
        dict(reasons.most_common()),
    )


def plain(reading: Reading, row: int) -> dict[str, Any]:
    """Return a candidate's errors, those on the level, the same by category, and its score."""
    names = [name for name, _ in reading.scale.categories]

    def by_category(grid: Values) -> dict[str, int]:
        counts = zip(names, grid[:, row], strict=False)
        return {name: int(n) for name, n in counts if n > 0}

    score = None if reading.score is None else float(reading.score[row])
    return {
        "errors": None if reading.errors is None else int(reading.errors[row]),
        "level": None if reading.level is None else int(reading.level[row]),
        "categories": by_category(reading.categories),
        "level_categories": by_category(reading.at_level),
        "score": None if score is None or np.isnan(score) else score,
    }

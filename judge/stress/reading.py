"""What a run says of each candidate: counts of errors and a score, by the rubric's declarations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge import rubrics
from judge.rubrics.categories import CATEGORY
from judge.rubrics.contract import Rubric
from judge.rubrics.items import Label
from judge.rubrics.numbers import Measure
from judge.rubrics.quantities import quantities_of
from judge.running.folder import Run
from judge.stats.estimate import summed
from judge.stats.panel import Values
from judge.stats.table import OUTCOMES
from judge.stress.truth import Truth
from judge.types import Annotated, Failed, Unparsed

Bools = NDArray[np.bool_]
LOST = (OUTCOMES[Unparsed], OUTCOMES[Failed], "undefined", "absent")
"""Why a candidate has no reading: `undefined` lacks the counts, `absent` is not in the run."""
_MILD = (None, "mild")


@dataclass(frozen=True)
class Scale:
    """What a rubric says of a study, as measures whose sum is the number; empty: it says none.

    `level` are the errors whose grade is worse than mild, where a rubric knows milder ones too: by
    these a study has "no significant error". `level_name` and `level_label` are what they are
    called. `by_category` and `level_by_category` count the same in each of the `categories`, which
    are the rubric's own or the six that rubrics share.
    """

    errors: tuple[str, ...]
    level: tuple[str, ...]
    level_name: str
    level_label: str
    score: Measure | None
    categories: tuple[tuple[str, str], ...]
    by_category: tuple[tuple[str, ...], ...]
    level_by_category: tuple[tuple[str, ...], ...]

    @property
    def level_plain(self) -> dict[str, str] | None:
        """The level as JSON's types."""
        return {"name": self.level_name, "label": self.level_label} if self.level else None

    @property
    def score_plain(self) -> dict[str, Any] | None:
        """The score as JSON's types."""
        if self.score is None:
            return None
        return {
            "name": self.score.name,
            "label": self.score.label,
            "higher_is_better": self.score.higher_is_better,
        }

    @property
    def is_shared(self) -> bool:
        """Whether the categories are the six, in whose letters the truth is."""
        return {(one.name, CATEGORY.text(one.name)) for one in CATEGORY.labels} <= {
            *self.categories
        }


def scale_of(rubric: Rubric, lacks: Iterable[str] = ()) -> Scale:
    """Return what a rubric says of a study; a label that a reader `lacks` is in no count."""
    known = quantities_of(rubric, [*lacks])
    levels = [one for one in known.values() if one.is_level]
    score = next(iter(rubric.with_role("score")), None)
    if rubric.tally is None:
        errors = known["errors"].measures if "errors" in known else ()
        level = levels[-1].measures if levels and errors else ()
        name, label = (levels[-1].name, levels[-1].label) if level else ("", "")
        return Scale(errors, level, name, label, score, (), (), ())
    tally, rows = rubric.tally, rubric.facet(rubric.tally.rows)
    columns = [one for one in rubric.facet(tally.columns).labels if one.name not in {*lacks}]
    wrong = [one for one in columns if one.tone != "good"]
    grave = [one for one in wrong if one.tone not in _MILD]
    grave = grave if len(grave) < len(wrong) else []

    def counts(labels: Sequence[Label], row: str | None = None) -> tuple[str, ...]:
        cuts = [{tally.columns: one.name} | ({tally.rows: row} if row else {}) for one in labels]
        return tuple(one.name for cut in cuts for one in rubric.counting(tally.kind, cut))

    # The last level is the mildest, which counts what is worse than mild.
    named = (levels[-1].name, levels[-1].label) if levels else None
    name, label = named or (
        "+".join(one.name for one in grave),
        f"errors: {', '.join(one.label for one in grave)}",
    )
    return Scale(
        counts(wrong),
        counts(grave),
        *((name, label) if grave else ("", "")),
        score,
        tuple((row.name, rows.text(row.name)) for row in rows.labels),
        tuple(counts(wrong, row.name) for row in rows.labels),
        tuple(counts(grave, row.name) for row in rows.labels) if grave else (),
    )


@dataclass(frozen=True)
class Reading:
    """A run's answers to the candidates of a truth, an element or a column each.

    `is_read` says which were scored; the numbers of the others are NaN. `lost` has the place in
    `LOST` of the reason of each that was not read, -1 for one that was. `errors`, `level` and
    `score` are None where the rubric says none; `categories` and `at_level` are categories by
    candidates, with no row where it has no categories.
    """

    run: Run
    scale: Scale
    is_read: Bools
    lost: NDArray[np.int8]
    errors: Values | None
    level: Values | None
    score: Values | None
    categories: Values
    at_level: Values
    reasons: dict[str, int]

    def lost_of(self, rows: NDArray[np.intp]) -> dict[str, int]:
        """Return how many of some candidates have no reading, by why."""
        found = Counter(self.lost[rows].tolist())
        return {name: found[at] for at, name in enumerate(LOST)}


def read(run: Run, truth: Truth) -> Reading:
    """Return a run's reading of the candidates; raises `JudgeError` as `Run.columns`."""
    rubric = rubrics.load(run.manifest["rubric"])
    scale = scale_of(rubric, run.reading["lacks"] if run.reading else ())
    score = (scale.score.name,) if scale.score else ()
    parts = [scale.errors, scale.level, score, *scale.by_category, *scale.level_by_category]
    wanted = list(dict.fromkeys(name for part in parts for name in part))
    table = run.columns([*wanted, "reason"])
    row_of = {name: row for row, name in enumerate(truth.ids)}
    rows = np.array([row_of[one] for one in table["study_id"].to_pylist()], dtype=np.intp)
    n = len(truth.ids)

    def column(measures: Sequence[str]) -> Values:
        found = np.full(n, np.nan)
        if measures:
            of = [table[name].to_numpy(zero_copy_only=False).astype(float) for name in measures]
            found[rows] = summed(of)
        return found

    outcomes = table["outcome"].to_pylist()
    lost = np.full(n, LOST.index("absent"), dtype=np.int8)
    places = {OUTCOMES[Annotated]: -1} | {name: at for at, name in enumerate(LOST)}
    lost[rows] = [places[one] for one in outcomes]
    errors, level, scores = (column(part) for part in (scale.errors, scale.level, score))
    # A rubric is read by its errors, one without any by its score.
    is_known = ~np.isnan(errors if scale.errors else scores)
    is_used = bool(scale.errors or score)
    lost[(lost < 0) & ~is_known & is_used] = LOST.index("undefined")
    is_read = lost < 0
    # A reader was not asked for all of it: what is not known of some is said of none.
    grids = [
        np.array([column(part) for part in parts]).reshape(-1, n)
        for parts in (scale.by_category, scale.level_by_category)
    ]
    if np.isnan(level[is_read]).any():
        scale = replace(scale, level=(), level_by_category=())
    if np.isnan(grids[0][:, is_read]).any():
        scale = replace(scale, categories=(), by_category=(), level_by_category=())
    reasons = Counter(
        f"{outcome}: {reason}"
        for outcome, reason in zip(outcomes, table["reason"].to_pylist(), strict=True)
        if outcome != OUTCOMES[Annotated]
    )
    return Reading(
        run,
        scale,
        is_read,
        lost,
        errors if scale.errors else None,
        level if scale.level else None,
        scores if score else None,
        grids[0][: len(scale.by_category)],
        grids[1][: len(scale.level_by_category)],
        dict(reasons.most_common()),
    )

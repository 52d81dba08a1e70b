"""What a run says of each candidate: counts of errors and a score, by the rubric's declarations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judge.rubrics.categories import CATEGORY
from judge.rubrics.contract import Measure, Rubric
from judge.rubrics.quantities import levels_of
from judge.running.folder import Run
from judge.stats.estimate import summed
from judge.stats.panel import Values
from judge.stats.table import OUTCOMES
from judge.stress.candidates import FIELDS
from judge.stress.changes import IDENTICAL, all_changes
from judge.types import Annotated, Failed, JudgeError, Unparsed

Bools = NDArray[np.bool_]
LOST = (OUTCOMES[Unparsed], OUTCOMES[Failed], "undefined")
"""Why a candidate has no reading: `undefined` lacks the counts that the rubric's errors need."""


@dataclass(frozen=True)
class Scale:
    """What a rubric says of a study, as measures whose sum is the number; empty: it says none.

    `level` are the errors of the least level that has a name (`levels_of`), where the rubric knows
    milder ones too: by these a study has "no significant error". `by_category` and
    `level_by_category` count the same in each of the `categories`.
    """

    score: Measure | None
    errors: tuple[str, ...] = ()
    level: tuple[str, ...] = ()
    level_name: str = ""
    categories: tuple[tuple[str, str], ...] = ()
    by_category: tuple[tuple[str, ...], ...] = ()
    level_by_category: tuple[tuple[str, ...], ...] = ()

    @property
    def is_shared(self) -> bool:
        """Whether the categories are the six, in whose letters the truth is."""
        six = {(label.name, CATEGORY.text(label.name)) for label in CATEGORY.labels}
        return six <= {*self.categories}


def scale_of(rubric: Rubric, lacks: Collection[str] = ()) -> Scale:
    """Return what a rubric says of a study; a label that a reader `lacks` is in no count."""
    score = next(iter(rubric.with_role("score")), None)
    if rubric.tally is None:
        return Scale(score)
    tally, rows = rubric.tally, rubric.facet(rubric.tally.rows)
    labels = [
        {tally.columns: label.name}
        for label in rubric.facet(tally.columns).labels
        if label.tone != "good" and label.name not in lacks
    ]

    def counts(cuts: Iterable[dict[str, str]], **row: str) -> tuple[str, ...]:
        return tuple(m.name for cut in cuts for m in rubric.counting(tally.kind, cut | row))

    name, level = next(iter(levels_of(rubric, lacks).items()), ("", ()))
    grave = [label for label in labels if {*counts([label])} <= {*level}]
    grave = grave if len(grave) < len(labels) else []
    return Scale(
        score,
        counts(labels),
        counts(grave),
        name if grave else "",
        tuple((row.name, rows.text(row.name)) for row in rows.labels),
        tuple(counts(labels, **{tally.rows: row.name}) for row in rows.labels),
        tuple(counts(grave, **{tally.rows: row.name}) for row in rows.labels) if grave else (),
    )


@dataclass(frozen=True)
class Reading:
    """A run's answers to candidates, a row of `table` and a column of the arrays each.

    `table` has `FIELDS` and `lost`, why a candidate was not read; `units` are the studies, those
    with the same reference being one. Numbers of candidates that were not read are NaN. `errors`,
    `level` and `score` are None where the rubric says none; `categories` and `at_level` are
    categories by candidates, with no row where it has no categories.
    """

    run: Run
    scale: Scale
    table: pd.DataFrame
    is_read: Bools
    units: NDArray[np.intp]
    errors: Values | None
    level: Values | None
    score: Values | None
    categories: Values
    at_level: Values

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

    def partners(self, rows: NDArray[np.intp], change: str) -> NDArray[np.intp]:
        """Return for each row that of its study's candidate of a change, -1 where none is."""
        studies = self.table["study"].to_numpy()
        row_of = {studies[row]: row for row in self.rows(change=change)}
        return np.array([row_of.get(study, -1) for study in studies[rows]], dtype=np.intp)

    def score_changes(self, rows: NDArray[np.intp]) -> tuple[Values, NDArray[np.intp]] | None:
        """Return the scores less those of the identical reports, and the units, where both are."""
        if self.score is None or not len(self.rows(change=IDENTICAL)):
            return None
        before = self.partners(rows, IDENTICAL)
        moved = np.where(before >= 0, self.score[rows] - self.score[before], np.nan)
        return moved[~np.isnan(moved)], self.units[rows][~np.isnan(moved)]


def read(run: Run) -> Reading:
    """Return a run's reading of candidates; raises `JudgeError` for a run of other studies."""
    scale = scale_of(run.rubric, run.reading["lacks"] if run.reading else ())
    if lacks := {"study", "change", "group", "k"} - {*run.manifest["fields"]}:
        raise JudgeError(
            f"{run.path} is no run of candidates that judge stress made: it has no field "
            f"{min(lacks)!r}"
        )
    score = (scale.score.name,) if scale.score else ()
    parts = [scale.errors, scale.level, score, *scale.by_category, *scale.level_by_category]
    measures = list(dict.fromkeys(name for part in parts for name in part))
    table = run.columns([*measures, "reason"], FIELDS).to_pandas()
    table = table.reindex(columns=list(dict.fromkeys([*table, *FIELDS])))

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
    is_read = (table["lost"] == "").to_numpy()
    references = {record["study_id"]: record["reference"] for record in run.records()}
    texts = table["study_id"].map(references)
    grids = [
        np.array([column(part) for part in parts]).reshape(-1, len(table))
        for parts in (scale.by_category, scale.level_by_category)
    ]
    # A reader was not asked for all of it: what is not known of some is said of none.
    if np.isnan(level[is_read]).any():
        scale = replace(scale, level=(), level_by_category=())
    if np.isnan(grids[0][:, is_read]).any():
        scale = replace(scale, categories=(), by_category=(), level_by_category=())
    return Reading(
        run,
        scale,
        table,
        is_read,
        pd.factorize(texts.where(texts != "", table["study"]))[0],
        errors if scale.errors else None,
        level if scale.level else None,
        scores if score else None,
        grids[0][: len(scale.by_category)],
        grids[1][: len(scale.level_by_category)],
    )

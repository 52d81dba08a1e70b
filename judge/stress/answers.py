"""A judge's answers to the candidates of a stress test: counts of errors and a score of each."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from judge.rubrics.categories import CATEGORY
from judge.rubrics.contract import Measure, Rubric
from judge.rubrics.quantities import levels_of
from judge.running.folder import Run
from judge.stats.table import OUTCOMES
from judge.stress.candidates import FIELDS
from judge.stress.perturbations import all_perturbations
from judge.types import Annotated, Failed, JudgeError, Unparsed

LOST = (OUTCOMES[Unparsed], OUTCOMES[Failed], "undefined")
"""Why a candidate has no reading: `undefined` lacks the counts that the rubric's errors need."""
Measures = tuple[str, ...]


@dataclass(frozen=True)
class ErrorScale:
    """The measures by which a rubric counts errors; empty where it counts none.

    `level` counts the errors of the least level with a name (`levels_of`) where the rubric has
    milder ones too: a candidate without these has "no significant error". `by_category` and
    `level_by_category` are the same for each of the `categories`.
    """

    score: Measure | None
    errors: Measures = ()
    level: Measures = ()
    level_name: str = ""
    categories: tuple[tuple[str, str], ...] = ()
    by_category: tuple[Measures, ...] = ()
    level_by_category: tuple[Measures, ...] = ()

    @property
    def is_shared(self) -> bool:
        """Whether the categories are the six in whose letters the truth is given."""
        six = {(label.name, CATEGORY.text(label.name)) for label in CATEGORY.labels}
        return six <= {*self.categories}


def scale_of(rubric: Rubric, lacks: Collection[str] = ()) -> ErrorScale:
    """Return the error scale of a rubric without the labels that a reader `lacks`."""
    score = next(iter(rubric.with_role("score")), None)
    if rubric.tally is None:
        return ErrorScale(score)
    tally, rows = rubric.tally, rubric.facet(rubric.tally.rows)
    labels = [
        {tally.columns: label.name}
        for label in rubric.facet(tally.columns).labels
        if label.tone != "good" and label.name not in lacks
    ]

    def counts(cuts: Iterable[dict[str, str]], **row: str) -> Measures:
        return tuple(m.name for cut in cuts for m in rubric.counting(tally.kind, cut | row))

    name, level = next(iter(levels_of(rubric, lacks).items()), ("", ()))
    grave = [label for label in labels if {*counts([label])} <= {*level}]
    grave = grave if len(grave) < len(labels) else []
    return ErrorScale(
        score,
        counts(labels),
        counts(grave),
        name if grave else "",
        tuple((row.name, rows.text(row.name)) for row in rows.labels),
        tuple(counts(labels, **{tally.rows: row.name}) for row in rows.labels),
        tuple(counts(grave, **{tally.rows: row.name}) for row in rows.labels) if grave else (),
    )


@dataclass(frozen=True)
class StressAnswers:
    """The answers of a run, one row per candidate in each frame.

    `table` has `FIELDS` and `unit`, the number of the reference; `lost`, why there is no answer,
    else empty; `errors`, `level` and `score`, NaN where there is none; whether an error is in a
    category of the truth (`is_right`), and there on the truth's side of the level (`is_graded`).
    `categories` counts errors by category, `at_level` those of the level.
    """

    run: Run
    scale: ErrorScale
    table: pd.DataFrame
    categories: pd.DataFrame
    at_level: pd.DataFrame

    def changes(self, group: str) -> dict[str, pd.DataFrame]:
        """Return the candidates of a group by perturbation, in the order of printing."""
        parts = dict(iter(self.table[self.table["group"] == group].groupby("change", sort=False)))
        return {name: parts[name] for name in all_perturbations() if name in parts}


def read_answers(run: Run) -> StressAnswers:
    """Return a run's answers to candidates; raises `JudgeError` for a run of other studies."""
    if lacks := {"study", "change", "group", "k"} - {*run.manifest["fields"]}:
        raise JudgeError(
            f"{run.path} is not a run of candidates of judge stress: it has no field {min(lacks)!r}"
        )
    scale = scale_of(run.rubric, run.reading["lacks"] if run.reading else ())
    score = (scale.score.name,) if scale.score else ()
    parts = [scale.errors, scale.level, score, *scale.by_category, *scale.level_by_category]
    measures = list(dict.fromkeys(name for part in parts for name in part))
    columns = run.columns(measures, FIELDS).to_pandas()
    counts = columns[measures].astype(float)

    def total(names: Measures) -> pd.Series:
        sums: pd.Series = counts[[*names]].sum(axis=1, skipna=False)
        return sums if names else pd.Series(np.nan, counts.index)

    def grid(parts: tuple[Measures, ...]) -> pd.DataFrame:
        named = zip(scale.categories, parts, strict=False)
        return pd.DataFrame({name: total(part) for (name, _), part in named}, index=counts.index)

    table = columns.reindex(columns=["study_id", *FIELDS])
    for name, part in (("errors", scale.errors), ("level", scale.level), ("score", score)):
        table[name] = total(part)
    # A rubric is read by its errors, a rubric without errors by its score.
    is_undefined = table["errors" if scale.errors else "score"].isna()
    outcomes = columns["outcome"].astype(str)
    lost = np.where(is_undefined, LOST[2], "")
    table["lost"] = np.where(outcomes == OUTCOMES[Annotated], lost, outcomes)
    references = {record["study_id"]: record["reference"] for record in run.records()}
    texts = table["study_id"].map(references)
    table["unit"] = pd.factorize(texts.where(texts != "", table["study"]))[0]
    # A reader is asked for less than a judge: a count that some candidates lack is left out.
    is_read = table["lost"] == ""
    if table["level"][is_read].isna().any():
        scale = replace(scale, level=(), level_by_category=())
    if grid(scale.by_category)[is_read].isna().any(axis=None):
        scale = replace(scale, categories=(), by_category=(), level_by_category=())
    categories, at_level = grid(scale.by_category), grid(scale.level_by_category)
    truths = table["truth"].fillna("").astype(str).str.split(",")
    is_true = pd.DataFrame({name: [name in truth for truth in truths] for name in categories})
    right = (categories * is_true).sum(axis=1)
    grave = (at_level * is_true).sum(axis=1) if scale.level else right
    table["is_right"] = right > 0
    is_significant = table["significance"] == "significant"
    table["is_graded"] = grave.where(is_significant, right - grave) > 0
    return StressAnswers(run, scale, table, categories, at_level)

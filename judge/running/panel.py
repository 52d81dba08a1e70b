"""The numbers of several judges, or of one by several references, as one for each study.

Each number of a study is combined by itself:

    majority  the middle one; of an even number the worse of the two in the middle. So a count is 0
              where more than half of the judges say 0, and a tie counts as an error.
    mean      the mean. A rate becomes the mean of the parts' own rates.
    best      all numbers of the one part with the best score, which is the first that the rubric
              declares; ties go by the rubric's order of the worst studies, then to the first part.

A number is combined over the parts that have it. The combined run also counts the parts, counts
those with an error of each rate, and has the spread of the score.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from judge.manifest import CombinedEntry, CombinedPart
from judge.rubrics.contract import Rubric
from judge.rubrics.derived import Aggregation, Rule, score_of
from judge.running.folder import RunWriter
from judge.running.records import StudyResult
from judge.stats.scores import cuts
from judge.stats.statistic import Rate
from judge.stats.summary import reserved_names
from judge.studies import StudySet
from judge.studies.columns import free_name
from judge.text import counted
from judge.types import (
    Annotated,
    Failed,
    JudgeError,
    Outcome,
    Study,
    Unparsed,
)

if TYPE_CHECKING:
    import pandas as pd


_RULES = {
    "majority": "the middle one of its {}s'; ties take the worse value",
    "mean": "the mean of its {0}s', and a rate is the mean of the {0}s' rates",
    "best": "that of the {} that gives the best score",
}
Parts = Sequence[tuple[Study, Sequence[StudyResult]]]
"""Each study with its ends in the parts that have it; `StudyResult.row` is the part's number."""


def numbers(how: Aggregation, rubric: Rubric, scored: pd.DataFrame) -> pd.DataFrame:
    """Return the combined numbers, one row a study, from one row a study and part."""
    import pandas as pd

    studies = scored.groupby("row")
    columns: dict[str, pd.Series[Any]] = {}
    if how.rule == "best":
        picked = best(rubric, scored).set_index("row")
        columns = {
            name: picked[name] for name in ("part", *(m.name for m in rubric.measures))
        }
    elif how.rule == "mean":
        columns = {
            measure.name: studies[measure.name].mean() for measure in rubric.measures
        }
    else:
        for measure in rubric.measures:
            worse = "lower" if measure.higher_is_better else "higher"
            columns[measure.name] = studies[measure.name].quantile(
                0.5, interpolation=worse
            )
    columns[how.column("n")] = studies.size()
    for rate in rubric.statistics:
        if isinstance(rate, Rate):
            # Of each row whether the part says yes, NaN where a measure is undefined.
            cells = {
                name: scored[name].to_numpy(dtype=float, na_value=math.nan)
                for name in rate.measures
            }
            says = pd.Series(rate.study_values(cells)[0], index=scored.index)
            grouped = says.groupby(scored["row"])
            is_mean = how.rule == "mean"
            columns[how.column(rate.name)] = (
                grouped.mean() if is_mean else grouped.sum(min_count=1)
            )
    if score := score_of(rubric):
        values = studies[score.name]
        columns[how.column("spread")] = (values.max() - values.min()).where(
            values.count() > 1
        )
    return pd.DataFrame(columns, index=studies.size().index)


def best(rubric: Rubric, scored: pd.DataFrame) -> pd.DataFrame:
    """Return of each study the row of the part with the best score."""
    orders: dict[str, bool] = {}
    if score := score_of(rubric):
        orders[score.name] = not score.higher_is_better
    for order in rubric.worst:
        orders.setdefault(order.measure, order.largest_first)
    # A rubric's order puts the worst first; what is best there is what comes last.
    ranked = scored.sort_values([*orders], ascending=[*orders.values()], kind="stable")
    return ranked.drop_duplicates("row").sort_values("row")


def aggregate(
    how: Aggregation, rubric: Rubric, studies: Parts, best_field: str = ""
) -> tuple[list[StudyResult], list[str]]:
    """Return the combined result of each study, and notes.

    A study is scored if all its parts are; by `best` it has its best part's reference.
    """
    import pandas as pd

    names = [measure.name for measure in rubric.measures]
    cells = [
        (row, end.row, *(end.measures[name] for name in names))
        for row, (_, ends) in enumerate(studies)
        for end in ends
        if end.measures is not None
    ]
    scored = pd.DataFrame(cells, columns=["row", "part", *names])
    scored = scored.astype(dict.fromkeys(names, float))
    combined = numbers(how, rubric, scored)
    values = combined.to_dict("index")
    whole = {measure.name: measure.is_whole for measure in how.rubric(rubric).measures}
    judged, lost = [], Counter[str]()
    for row, (study, ends) in enumerate(studies):
        if unscored := [end for end in ends if not isinstance(end.outcome, Annotated)]:
            outcome: Outcome = (
                _not_scored(how, unscored) if len(ends) > 1 else ends[0].outcome
            )
            judged.append(StudyResult(row, study, outcome, None, None))
            lost.update(how.names[end.row] for end in unscored)
            continue
        annotations = {
            end.row: end.outcome.annotation
            for end in ends
            if isinstance(end.outcome, Annotated)
        }
        if how.rule == "best":
            (picked,) = (end for end in ends if end.row == values[row]["part"])
            annotation = annotations[picked.row]
            fields = {**study.fields, best_field: how.names[picked.row]}
            study = replace(study, reference=picked.study.reference, fields=fields)
        else:
            annotation = how.annotation([*annotations.items()])
        measures = {}
        for name, is_whole in whole.items():
            value = values[row][name]
            measures[name] = (
                None if value != value else int(value) if is_whole else float(value)
            )
        judged.append(StudyResult(row, study, Annotated(annotation), measures, None))
    notes = [f"each number of a study is {_RULES[how.rule].format(how.of)}"]
    if how.rule == "majority" and (n := _not_adding_up(rubric, scored, combined)):
        many = counted(n, "study", "studies")
        notes.append(
            f"in {many} the errors by category do not add up to the total, since each number is "
            f"the middle one by itself: {how.of}s may agree on an error and not on its category"
        )
    if lost:
        n = sum(not isinstance(end.outcome, Annotated) for end in judged)
        unscored_by = ", ".join(
            f"{name} {lost[name]:,}" for name in how.names if name in lost
        )
        many = counted(n, "study is", "studies are")
        notes.append(f"{many} not scored by every {how.of}: {unscored_by}")
    return judged, notes


def _not_adding_up(rubric: Rubric, scored: pd.DataFrame, combined: pd.DataFrame) -> int:
    """Return in how many studies the counts by category do not add up to the total.

    An error of several categories is counted in each: a sum above the total is only counted where
    the categories of every part add up.
    """
    of_cuts = cuts(rubric)
    differs = combined[[]].assign(differs=False)["differs"]
    for column in dict.fromkeys(column for _, column in of_cuts):
        total = of_cuts[None, column]
        rows = [
            name
            for (row, of), name in of_cuts.items()
            if of == column and row is not None
        ]
        excess = scored[rows].sum(axis=1) - scored[total]
        adds_up = (excess == 0).groupby(scored["row"]).all()
        over = combined[rows].sum(axis=1) - combined[total]
        differs |= (over < 0) | ((over > 0) & adds_up)
    return int(differs.sum())


def _not_scored(how: Aggregation, ends: Sequence[StudyResult]) -> Outcome:
    lost = [(how.names[end.row], end.outcome) for end in ends]
    has_failed = any(isinstance(outcome, Failed) for _, outcome in lost)
    kind: type[Unparsed | Failed] = Failed if has_failed else Unparsed
    reasons = [
        f"{name}: {type(outcome).__name__.lower()}, {outcome.reason}"
        for name, outcome in lost
        if not isinstance(outcome, Annotated)
    ]
    why = "against all references" if how.of == "reference" else "by all judges"
    return kind(f"not scored {why}", "; ".join(reasons))


def apart(rubric: Rubric, fields: Iterable[str]) -> Rubric:
    """Return the rubric; raises where its columns have the names of fields."""
    if taken := {*reserved_names(rubric)} & {*fields}:
        raise JudgeError(
            f"the run would have the column {min(taken)!r} twice: rename that field"
        )
    return rubric


class SeveralReferences:
    """Studies with several references, each asked about as a study of its own in `asked`."""

    def __init__(self, studies: StudySet, rule: Rule) -> None:
        self._studies = studies
        every = enumerate(studies.every_reference)
        questions = [(row, name, text) for row, texts in every for name, text in texts]
        self._questions = [(row, name) for row, name, _ in questions]
        self._names = [*dict.fromkeys(name for _, name in self._questions)]
        self._ends: list[StudyResult] = []
        self.how = Aggregation("reference", rule, tuple(self._names))
        self.fields = (
            [free_name("best_reference", studies.fields)] if rule == "best" else []
        )
        ids = [f"{studies.study_ids[row]} ({name})" for row, name in self._questions]
        texts = tuple(text for *_, text in questions)
        bare = replace(studies, every_reference=()).take(
            [row for row, *_ in questions], ids
        )
        self.asked = replace(bare, references=texts, full_references=texts)

    @property
    def entry(self) -> CombinedEntry:
        """What a manifest says of it."""
        return CombinedEntry(
            of=self.how.of,
            rule=self.how.rule,
            parts=[CombinedPart(name=name) for name in self._names],
        )

    def rubric(self, rubric: Rubric) -> Rubric:
        """Return the rubric of the run that is made of all references."""
        return apart(self.how.rubric(rubric), [*self._studies.fields, *self.fields])

    def add(self, judged: StudyResult) -> None:
        """Take the end of one question in, in any order."""
        self._ends.append(judged)

    def write(self, writer: RunWriter, rubric: Rubric) -> list[str]:
        """Write the studies, all of whose questions have ended; returns notes."""
        ends = sorted(self._ends, key=lambda end: end.row)
        pairs = zip(self._questions, ends, strict=True)
        parts = []
        for row, group in groupby(pairs, lambda pair: pair[0][0]):
            study, texts = self._studies.study(row), self._studies.every_reference[row]
            if len(texts) > 1:
                every = "\n\n".join(f"[{name}]\n{text}" for name, text in texts)
                study = replace(study, reference=every)
            numbers = [
                replace(end, row=self._names.index(name)) for (_, name), end in group
            ]
            parts.append((study, numbers))
        judged, notes = aggregate(
            self.how, rubric, parts, best_field="".join(self.fields)
        )
        for end in judged:
            writer.add(end)
        for end in ends:
            writer.count_answer(end)
        per_study = Counter(map(len, self._studies.every_reference))
        counts = (
            f"{n} for {counted(k, 'study', 'studies')}"
            for n, k in sorted(per_study.items())
        )
        return [*notes, f"references of a study: {', '.join(counts)}"]

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
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from judge.rubrics.contract import Measure, Rubric
from judge.rubrics.derived import Aggregation, Rule, score_of
from judge.run_files.identity import CombinedEntry, CombinedPart
from judge.running.folder import RunWriter
from judge.running.records import StudyResult
from judge.stats.scores import cuts
from judge.stats.statistic import Rate
from judge.stats.summary import reserved_names
from judge.studies import StudySet
from judge.studies.columns import free_name
from judge.text import counted
from judge.types import (
    Annotation,
    Failed,
    JudgeError,
    Outcome,
    Scored,
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
    n_parts = studies.size()
    columns: dict[str, pd.Series[Any]] = {}
    if how.rule == "best":
        picked = best(rubric, scored).set_index("row")
        columns["part"] = picked["part"]
        for measure in rubric.measures:
            columns[measure.name] = picked[measure.name]
    elif how.rule == "mean":
        for measure in rubric.measures:
            columns[measure.name] = studies[measure.name].mean()
    else:
        for measure in rubric.measures:
            values = studies[measure.name]
            worse = "lower" if measure.higher_is_better else "higher"
            columns[measure.name] = values.quantile(0.5, interpolation=worse)
    columns[how.column("n")] = n_parts
    for rate in rubric.statistics:
        if isinstance(rate, Rate):
            column = how.column(rate.name)
            columns[column] = _rate_of_parts(how, rate, scored)
    score = score_of(rubric)
    if score is not None:
        values = studies[score.name]
        spread = values.max() - values.min()
        # The spread of a single value is unknown, and not 0.
        has_several = values.count() > 1
        columns[how.column("spread")] = spread.where(has_several)
    return pd.DataFrame(columns, index=n_parts.index)


def _rate_of_parts(
    how: Aggregation, rate: Rate, scored: pd.DataFrame
) -> pd.Series[Any]:
    """Return for each study how many of its parts say yes to a rate, by `mean` their share."""
    import pandas as pd

    cells = {}
    for name in rate.measures:
        cells[name] = scored[name].to_numpy(dtype=float, na_value=math.nan)
    # Of each row whether the part says yes, NaN where a measure is undefined.
    of_rows, *_ = rate.study_values(cells)
    says = pd.Series(of_rows, index=scored.index)
    of_studies = says.groupby(scored["row"])
    if how.rule == "mean":
        return of_studies.mean()
    # Without a part that has the rate its number is undefined, and not 0.
    return of_studies.sum(min_count=1)


def best(rubric: Rubric, scored: pd.DataFrame) -> pd.DataFrame:
    """Return of each study the row of the part with the best score."""
    is_ascending: dict[str, bool] = {}
    score = score_of(rubric)
    if score is not None:
        is_ascending[score.name] = not score.higher_is_better
    for order in rubric.worst:
        # A rubric's order puts the worst first; what is best there is what comes last.
        is_ascending.setdefault(order.measure, order.largest_first)
    # Stable, so that ties go to the first part.
    ranked = scored.sort_values(
        list(is_ascending), ascending=list(is_ascending.values()), kind="stable"
    )
    return ranked.drop_duplicates("row").sort_values("row")


def aggregate(
    how: Aggregation, rubric: Rubric, studies: Parts, best_field: str = ""
) -> tuple[list[StudyResult], list[str]]:
    """Return the combined result of each study, and notes.

    A study is scored if all its parts are; by `best` it has its best part's reference.
    """
    scored = _numbers_of_parts(rubric, studies)
    combined = numbers(how, rubric, scored)
    values = combined.to_dict("index")
    declared = how.rubric(rubric).measures
    judged: list[StudyResult] = []
    lost = Counter[str]()
    for row, (study, ends) in enumerate(studies):
        annotations: dict[int, Annotation] = {}
        unscored = []
        for end in ends:
            if isinstance(end.outcome, Scored):
                annotations[end.row] = end.outcome.annotation
            else:
                unscored.append(end)
        if unscored:
            outcome = ends[0].outcome
            if len(ends) > 1:
                outcome = _not_scored(how, unscored)
            judged.append(StudyResult(row, study, outcome, None, None))
            lost.update(how.names[end.row] for end in unscored)
            continue
        if how.rule == "best":
            best_part = values[row]["part"]
            (picked,) = (end for end in ends if end.row == best_part)
            annotation = annotations[picked.row]
            fields = {**study.fields, best_field: how.names[picked.row]}
            study = replace(study, reference=picked.study.reference, fields=fields)
        else:
            annotation = how.annotation(list(annotations.items()))
        measures = {}
        for measure in declared:
            measures[measure.name] = _plain_number(measure, values[row][measure.name])
        judged.append(StudyResult(row, study, Scored(annotation), measures, None))
    rule = _RULES[how.rule].format(how.of)
    notes = [f"each number of a study is {rule}"]
    if how.rule == "majority":
        n_odd = _not_adding_up(rubric, scored, combined)
        if n_odd:
            notes.append(
                f"in {counted(n_odd, 'study', 'studies')} the errors by category do not add up "
                f"to the total, since each number is the middle one by itself: {how.of}s may "
                "agree on an error and not on its category"
            )
    if lost:
        n_unscored = sum(not isinstance(end.outcome, Scored) for end in judged)
        many = counted(n_unscored, "study is", "studies are")
        by_part = [f"{name} {lost[name]:,}" for name in how.names if name in lost]
        notes.append(f"{many} not scored by every {how.of}: {', '.join(by_part)}")
    return judged, notes


def _numbers_of_parts(rubric: Rubric, studies: Parts) -> pd.DataFrame:
    """Return one row a study and part that scored it, NaN where a number is undefined."""
    import pandas as pd

    names = [measure.name for measure in rubric.measures]
    rows = []
    for row, (_, ends) in enumerate(studies):
        for end in ends:
            if end.measures is not None:
                values = [end.measures[name] for name in names]
                rows.append((row, end.row, *values))
    scored = pd.DataFrame(rows, columns=["row", "part", *names])
    return scored.astype(dict.fromkeys(names, float))


def _plain_number(measure: Measure, value: float) -> float | None:
    """Return a number of the table as a record has it, None for one that is undefined."""
    if math.isnan(value):
        return None
    if measure.is_whole:
        return int(value)
    return float(value)


def _not_adding_up(rubric: Rubric, scored: pd.DataFrame, combined: pd.DataFrame) -> int:
    """Return in how many studies the counts by category do not add up to the total.

    An error of several categories is counted in each: a sum above the total is only counted where
    the categories of every part add up.
    """
    totals: dict[str, str] = {}
    by_category: dict[str, list[str]] = defaultdict(list)
    for (row, column), measure in cuts(rubric).items():
        if row is None:
            totals[column] = measure
        else:
            by_category[column].append(measure)
    differs = combined[[]].assign(differs=False)["differs"]
    for column, total in totals.items():
        names = by_category[column]
        excess = scored[names].sum(axis=1) - scored[total]
        adds_up = (excess == 0).groupby(scored["row"]).all()
        over = combined[names].sum(axis=1) - combined[total]
        differs |= (over < 0) | ((over > 0) & adds_up)
    return int(differs.sum())


def _not_scored(how: Aggregation, ends: Sequence[StudyResult]) -> Outcome:
    # Of several kinds the worse: a study that has failed anywhere has failed.
    kind: type[Unparsed | Failed] = Unparsed
    reasons = []
    for end in ends:
        outcome = end.outcome
        if isinstance(outcome, Scored):
            continue
        if isinstance(outcome, Failed):
            kind = Failed
        outcome_name = type(outcome).__name__.lower()
        reasons.append(f"{how.names[end.row]}: {outcome_name}, {outcome.reason}")
    why = "by all judges"
    if how.of == "reference":
        why = "against all references"
    return kind(f"not scored {why}", "; ".join(reasons))


def apart(rubric: Rubric, fields: Iterable[str]) -> Rubric:
    """Return the rubric; raises where its columns have the names of fields."""
    taken = set(reserved_names(rubric)) & set(fields)
    if taken:
        raise JudgeError(
            f"the run would have the column {min(taken)!r} twice: rename that field"
        )
    return rubric


class SeveralReferences:
    """Studies with several references, each asked about as a study of its own in `asked`."""

    def __init__(self, studies: StudySet, rule: Rule) -> None:
        self._studies = studies
        # One question for each reference: the row of its study, and the reference's name.
        self._questions: list[tuple[int, str]] = []
        rows, ids, references = [], [], []
        for row, named_texts in enumerate(studies.every_reference):
            for name, text in named_texts:
                self._questions.append((row, name))
                rows.append(row)
                ids.append(f"{studies.study_ids[row]} ({name})")
                references.append(text)
        self._names = list(dict.fromkeys(name for _, name in self._questions))
        self._ends: list[StudyResult] = []
        self.how = Aggregation("reference", rule, tuple(self._names))
        self.fields: list[str] = []
        if rule == "best":
            self.fields.append(free_name("best_reference", studies.fields))
        texts = tuple(references)
        bare = replace(studies, every_reference=()).take(rows, ids)
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
            study = self._studies.study(row)
            texts = self._studies.every_reference[row]
            if len(texts) > 1:
                every = "\n\n".join(f"[{name}]\n{text}" for name, text in texts)
                study = replace(study, reference=every)
            numbered = []
            for (_, name), end in group:
                numbered.append(replace(end, row=self._names.index(name)))
            parts.append((study, numbered))
        best_field = "".join(self.fields)
        judged, notes = aggregate(self.how, rubric, parts, best_field=best_field)
        for end in judged:
            writer.add(end)
        for end in ends:
            writer.count_answer(end)
        per_study = Counter(map(len, self._studies.every_reference))
        counts = []
        for n_references, n_studies in sorted(per_study.items()):
            many = counted(n_studies, "study", "studies")
            counts.append(f"{n_references} for {many}")
        notes.append(f"references of a study: {', '.join(counts)}")
        return notes

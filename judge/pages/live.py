"""The page of a run that is not finished: what is known of its first studies, and no more.

A number of some of the studies is no result of the run, and never looks like one: each is shown as
`so far`, with the number of its studies and without an interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from judge.pages.models import PageModel
from judge.rubrics.contract import Label, Measure, Rubric, Tally, Tone
from judge.running.underway import BegunRun
from judge.stats.intervals import Draws
from judge.stats.statistic import Statistic
from judge.study.view import measure_text
from judge.tables.kinds import figure_kind, printed
from judge.text import NOTHING, capital, counted, group_value

if TYPE_CHECKING:
    import pandas as pd

# Only the values are shown: the least that a statistic with a bootstrap can be asked for.
_NO_INTERVAL = Draws(resamples=2)
_MOST_ERRORS = 8
_MOST_EXAMPLES = 3


class FigureSoFar(PageModel):
    """A main figure of the studies that have a score so far; `of` says of how many."""

    label: str
    text: str
    of: str


class ErrorPart(PageModel):
    """How many of the errors of a category have a grade; `width` is that of its part of a bar."""

    label: str
    tone: Tone | None
    n: int
    width: str


class StudyLink(PageModel):
    """A study among the first ones, by its place there."""

    row: int
    study_id: str


class ErrorSoFar(PageModel):
    """An error category, the most frequent first, and some of the first studies with it."""

    label: str
    text: str
    parts: list[ErrorPart]
    examples: list[StudyLink]


class StudySoFar(PageModel):
    """One of the first studies; `cells` are the texts of its row below the heads."""

    row: int
    study_id: str
    cells: list[str]
    is_scored: bool


class Preliminary(PageModel):
    """What is known of a run so far."""

    title: str
    n_ended: int
    n_scored: int
    warning: str = Field(
        description="That nothing of it is a result of the run, and why."
    )
    figures: list[FigureSoFar]
    errors_title: str
    errors: list[ErrorSoFar]
    grades: list[ErrorPart] = Field(description="The grades of errors, for a legend.")
    heads: list[str]
    studies: list[StudySoFar]
    studies_text: str


def preliminary(run: BegunRun, total: int | None) -> Preliminary:
    """Return what is known of a run of `total` studies so far."""
    rubric = run.rubric
    table = run.table()
    scored = table[table["outcome"] == "scored"]
    n_ended = len(table)
    n_scored = len(scored)
    errors_title, errors, grades = "", [], []
    if rubric.tally is not None and n_scored:
        errors_title = f"{rubric.tally.title} so far, the most frequent first"
        errors = _frequent_errors(scored, rubric, rubric.tally, run.first)
        grades = [
            ErrorPart(label=label.label, tone=label.tone, n=0, width="0%")
            for label in rubric.facet(rubric.tally.columns).labels
        ]
    columns = _columns(rubric)
    return Preliminary(
        title=_title(run),
        n_ended=n_ended,
        n_scored=n_scored,
        warning=_warning(n_ended, total),
        figures=_figures(scored, rubric, total),
        errors_title=errors_title,
        errors=errors,
        grades=grades,
        heads=["study", "class", *(capital(measure.label) for measure in columns)],
        studies=[_study(row, record, columns) for row, record in enumerate(run.first)],
        studies_text=_studies_text(len(run.first), n_ended),
    )


def _title(run: BegunRun) -> str:
    manifest = run.manifest
    title = f"{run.rubric.title} by {manifest.judge.name}"
    if manifest.model:
        title = f"{manifest.model}: {title}"
    return title


def _warning(n_ended: int, total: int | None) -> str:
    among = counted(n_ended, "study", "studies")
    if total is not None:
        among = f"{n_ended:,} of {counted(total, 'study', 'studies')}"
    return (
        f"Preliminary: {among} so far. These figures will change. The studies that end first are "
        "no random sample of all, so that no interval can be given; do not report them."
    )


def _figures(
    scored: pd.DataFrame, rubric: Rubric, total: int | None
) -> list[FigureSoFar]:
    if not len(scored):
        return []
    of = counted(len(scored), "scored study", "scored studies")
    if total is not None:
        of += f" of {total:,}"
    return [
        FigureSoFar(label=statistic.label, text=_figure_text(scored, statistic), of=of)
        for statistic in rubric.shown("groups")
    ]


def _figure_text(scored: pd.DataFrame, statistic: Statistic) -> str:
    estimate = statistic.of_table(scored, draws=_NO_INTERVAL)
    text = printed(estimate, figure_kind(is_share=statistic.is_share)).figure
    if text == NOTHING:
        return text
    return f"{text} so far"


def _frequent_errors(
    scored: pd.DataFrame,
    rubric: Rubric,
    tally: Tally,
    first: Sequence[Mapping[str, Any]],
) -> list[ErrorSoFar]:
    """Return the categories that were found so far, with their errors by grade."""
    grades = rubric.facet(tally.columns).labels
    facet = rubric.facet(tally.rows)
    rows: list[tuple[int, str, list[tuple[Label, int, Measure]]]] = []
    for category in facet.labels:
        counts = []
        for grade in grades:
            labels = {tally.rows: category.name, tally.columns: grade.name}
            (measure,) = rubric.counting(tally.kind, labels)
            n = int(scored[measure.name].dropna().sum())
            counts.append((grade, n, measure))
        n_all = sum(n for _, n, _ in counts)
        if n_all:
            rows.append((n_all, facet.text(category.name), counts))
    rows.sort(key=lambda row: -row[0])
    most = max((n for n, _, _ in rows), default=1)
    found = []
    for n_all, text, counts in rows[:_MOST_ERRORS]:
        parts = [
            ErrorPart(
                label=grade.label, tone=grade.tone, n=n, width=f"{100 * n / most:.1f}%"
            )
            for grade, n, _ in counts
            if n
        ]
        in_words = ", ".join(f"{part.n:,} {part.label}" for part in parts)
        found.append(
            ErrorSoFar(
                label=text,
                text=f"{n_all:,}: {in_words}",
                parts=parts,
                examples=_examples(first, [measure for _, _, measure in counts]),
            )
        )
    return found


def _examples(
    first: Sequence[Mapping[str, Any]], measures: Sequence[Measure]
) -> list[StudyLink]:
    examples = []
    for row, record in enumerate(first):
        numbers = record["measures"] or {}
        if any(numbers.get(measure.name) for measure in measures):
            examples.append(StudyLink(row=row, study_id=record["study_id"]))
        if len(examples) == _MOST_EXAMPLES:
            break
    return examples


def _columns(rubric: Rubric) -> list[Measure]:
    return [*rubric.with_role("score"), *rubric.with_role("count")]


def _study(
    row: int, record: Mapping[str, Any], columns: Sequence[Measure]
) -> StudySoFar:
    numbers = record["measures"]
    cells = [group_value(record["study_class"])]
    if numbers is None:
        # Why it has no number stands in the place of the first.
        cells += [f"{record['outcome']}: {record['reason']}"]
        cells += [""] * (len(columns) - 1)
    else:
        cells += [_cell(numbers[measure.name], measure) for measure in columns]
    return StudySoFar(
        row=row,
        study_id=record["study_id"],
        cells=cells[: 1 + len(columns)],
        is_scored=numbers is not None,
    )


def _cell(value: float | None, measure: Measure) -> str:
    if value is None:
        return NOTHING
    return measure_text(value, measure)


def _studies_text(n_first: int, n_ended: int) -> str:
    if not n_ended:
        return "No study has ended yet."
    if n_first == n_ended:
        return "In the order in which they ended."
    return (
        f"The first {n_first:,} of {n_ended:,} that have ended, in that order. All are listed, the "
        "worst first, when the run is finished."
    )

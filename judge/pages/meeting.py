"""One screen for a meeting: what a room wants to know of each model, on one page of paper.

A model a row, by one rubric: its rate for each class of studies, its errors by category, and the
errors that most of its studies have, with a study that shows each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np

from judge import rubrics
from judge.backends import lexicon
from judge.comparing.comparison import ComparedRun, ComparedRuns
from judge.comparing.recurring import ScoredStudies, most_frequent
from judge.pages.meeting_models import (
    FrequentError,
    Meeting,
    MeetingCategory,
    MeetingErrors,
    MeetingRate,
    MeetingRow,
    MeetingRubric,
)
from judge.pages.models import BarPart, LegendEntry, interval_ends
from judge.rubrics.contract import Label
from judge.stats.estimate import Estimate
from judge.stats.metric import Metric
from judge.stats.scores import (
    Cut,
    Group,
    ScoreMatrix,
    group_figures,
    groups_of,
    item_counts,
)
from judge.stats.significance import Comparison, model_order
from judge.stats.summary import OUTCOMES
from judge.tables.comparison import figure
from judge.tables.kinds import Kind, printed
from judge.tables.recurring import OTHER
from judge.text import (
    NOTHING,
    capital,
    counted,
    group_value,
    in_natural_order,
    listed,
    number,
)
from judge.types import JudgeError, Scored

VIEW = "meeting"
"""What the address of the page calls the screen."""

MOST_MODELS = 12
MOST_CLASSES = 3
N_FREQUENT = 3
"""What fits on one page of paper and is still read from a chair."""

# Of a page in print: the lines of what stands above the rows and beside the texts, and the letters
# that fit into a line of the texts and into one of a model's name.
_HEADING_LINES, _LETTERS_A_LINE, _LETTERS_OF_NAME = 8, 200, 24

_USUAL_CLASSES = "study_class"
_ALL = "all"

Address = Callable[[str, str, str], str]
"""The address of a study of a run: by the model, the run and the study id."""


def address_in_page(model: str, _run: str, study_id: str) -> str:
    """Return the address of a study in the page of the comparison itself."""
    query = {"view": VIEW, "study": study_id, "a": model, "b": ""}
    return f"#{urlencode(query, errors='replace')}"


def address_in_service(_model: str, run: str, study_id: str) -> str:
    """Return the address of a study in the page of its run, `run` being the run's id."""
    name = quote(run, safe="", errors="replace")
    query = urlencode({"study": study_id}, errors="replace")
    return f"/runs/{name}#{query}"


def meeting(
    compared: ComparedRuns, comparison: Comparison, address: Address = address_in_page
) -> Meeting:
    """Return the screen of compared runs; raises `JudgeError` for damaged ones."""
    panel = comparison.panel
    names: dict[str | None, None] = dict.fromkeys([comparison.sorted_by.rubric])
    names |= dict.fromkeys(run.rubric for run in compared.runs)
    screens = []
    for name in names:
        if name is not None:
            screen = _Screen(compared, comparison, name, address)
            screens.append(screen.shown())
    n_models = counted(len(panel.models), "model", "models")
    section = compared.runs[0].section
    judges: dict[str, None] = {}
    for run in compared.runs:
        judges[f"{run.rubric}: {run.judge}"] = None
    facts = [
        counted(len(panel.study_ids), "study", "studies"),
        f"section {section}",
        *judges,
    ]
    missing = ""
    if not screens:
        missing = "None of the runs has a rubric."
    return Meeting(
        title=f"{n_models} on one screen",
        facts="; ".join(facts),
        back="Back to the comparison",
        print="Print on one page",
        choice="Rubric",
        rubrics=screens,
        missing=missing,
    )


def shown_studies(screen: Meeting) -> set[str]:
    """Return the studies that the screen leads to."""
    study_ids = set()
    for rubric in screen.rubrics:
        for row in rubric.rows:
            study_ids |= {error.study_id for error in row.frequent}
    return study_ids


@dataclass(frozen=True)
class _Classes:
    """The groups of studies that rates are shown for: all, then classes by a field."""

    names: tuple[str, ...]
    groups: tuple[Group, ...]
    field: str
    n_classes: int


class _Screen:
    """The models by one rubric."""

    def __init__(
        self,
        compared: ComparedRuns,
        comparison: Comparison,
        rubric: str,
        address: Address,
    ) -> None:
        self._comparison = comparison
        self._panel = comparison.panel
        self._address = address
        self._by_model = {
            run.model: (place, run)
            for place, run in enumerate(compared.runs)
            if run.rubric == rubric
        }
        self._rubric = rubrics.load(rubric)
        self._is_scored = compared.aligned.is_scored
        everything = comparison.groups[0]
        order = model_order(everything, comparison.sort)
        ranked = [
            model for model in order if self._panel.models[model] in self._by_model
        ]
        self._n_models = len(ranked)
        self._models = ranked[:MOST_MODELS]
        of_rubric = [
            metric for metric in self._panel.metrics if metric.rubric == rubric
        ]
        self._rate = _main_rate(of_rubric, comparison.sorted_by)
        self._score = _main_score(of_rubric, comparison.sorted_by)
        self._classes = _classes(comparison, self._rate)
        counts = item_counts(self._panel, self._rubric)
        self._cuts = {count.model: count.cuts for count in counts}
        self._longest = self._longest_bars()

    def shown(self) -> MeetingRubric:
        rubric = self._rubric
        rows = [self._row(model) for model in self._models]
        errors = "Errors"
        legend = []
        if rubric.tally is not None:
            levels = rubric.facet(rubric.tally.columns).labels
            errors = "Errors per scored study"
            grave = " or ".join(level.label for level in levels if level.is_grave)
            if grave:
                errors += f": {grave}; below, all"
            by_weight = sorted(levels, key=lambda level: level.weight, reverse=True)
            legend = [
                LegendEntry(text=level.label, tone=level.tone) for level in by_weight
            ]
        rates = "Rates"
        if self._rate is not None:
            rates = capital(self._rate.short)
            if self._classes.field:
                rates += f", by {self._classes.field}"
        n_shown = counted(len(rows), "model", "models")
        frequent = f"The {N_FREQUENT} most frequent errors, each with a study"
        return MeetingRubric(
            name=rubric.name,
            title=rubric.title,
            caption=f"{n_shown} by {rubric.title}: rates, errors, most frequent errors",
            rank_heading=f"Model, rank by {self._comparison.sorted_by.label}",
            rates_heading=rates,
            errors_heading=errors,
            frequent_heading=frequent,
            categories=self._categories(),
            legend=legend,
            rows=rows,
            about=list(self._about()),
            n_lines=self._n_lines(rows),
        )

    def _n_lines(self, rows: Sequence[MeetingRow]) -> int:
        """Return about how many lines are printed: of the rows, the headings and the texts."""
        n = _HEADING_LINES
        for row in rows:
            # A longer name is cut after two lines.
            of_model = 2 + min(2, math.ceil(len(row.model) / _LETTERS_OF_NAME))
            n += max(of_model, len(row.rates), len(row.frequent))
        for text in (*self._about(), *self._comparison.notes):
            n += math.ceil(len(text) / _LETTERS_A_LINE)
        return n

    def _row(self, model: int) -> MeetingRow:
        name = self._panel.models[model]
        everything = self._comparison.groups[0]
        _, run = self._by_model[name]
        score, interval = "", ""
        if self._score is not None:
            estimate = everything.estimates[self._score.name][model]
            text = figure(estimate, self._score).printed()
            score, interval = text.figure, text.brackets
            # The heading says which one models are ranked by.
            if self._score != self._comparison.sorted_by:
                score = f"{self._score.short} {score}"
        rank = everything.ranks[self._comparison.sort][model]
        rank_text = NOTHING
        if rank is not None:
            rank_text = f"{rank}"
        n_scored = run.outcomes.get(OUTCOMES[Scored], 0)
        frequent, why_not = self._frequent(name)
        return MeetingRow(
            model=name,
            rank=rank_text,
            score=score,
            interval=interval,
            n_scored=f"{n_scored:,} of {len(self._panel.study_ids):,} scored",
            rates=list(self._rates(model)),
            errors=list(self._errors(model)),
            frequent=frequent,
            no_frequent=why_not,
        )

    def _rates(self, model: int) -> Iterator[MeetingRate]:
        if self._rate is None:
            return
        groups = zip(self._classes.names, self._classes.groups, strict=True)
        for name, group in groups:
            estimate = group.estimates[self._rate.name][model]
            text = printed(replace(estimate, reason=None), Kind.SHARE)
            low, high = interval_ends(estimate)
            yield MeetingRate(
                group=name,
                text=text.figure,
                interval=text.brackets,
                n=f"{estimate.k or 0:,} of {estimate.n:,}",
                value=estimate.value,
                low=low,
                high=high,
            )

    def _categories(self) -> list[MeetingCategory]:
        tally = self._rubric.tally
        if tally is None:
            return []
        facet = self._rubric.facet(tally.rows)
        shown = []
        for label in self._shown_categories():
            text = facet.text(label.name)
            short = text
            if facet.has_codes:
                short = f"({label.name})"
            shown.append(MeetingCategory(short=short, title=text))
        items = f"all {self._rubric.kind(tally.kind).plural}"
        shown.append(MeetingCategory(short="all", title=items))
        return shown

    def _shown_categories(self) -> list[Label]:
        """Return the categories; one of another modality only where it was found."""
        tally = self._rubric.tally
        if tally is None:
            return []
        found = set()
        for cuts in self._cuts.values():
            found |= {category for (category, _), cut in cuts.items() if cut.value}
        labels = self._rubric.facet(tally.rows).labels
        return [
            label for label in labels if label.modality is None or label.name in found
        ]

    def _errors(self, model: int) -> Iterator[MeetingErrors]:
        tally = self._rubric.tally
        cuts = self._cuts.get(model)
        if tally is None or cuts is None:
            return
        names: list[str | None] = [label.name for label in self._shown_categories()]
        levels = self._rubric.facet(tally.columns).labels
        in_category, in_all = self._longest
        for name, category in zip([*names, None], self._categories(), strict=True):
            longest = in_category
            if name is None:
                longest = in_all
            of_levels = [(level, cuts[name, level.name]) for level in levels]
            yield _errors_of(category.title, of_levels, longest)

    def _longest_bars(self) -> tuple[float, float]:
        """Return the most errors per study in one category, and in all of them together."""
        in_category = 0.0
        in_all = 0.0
        for (_, name), total in _totals(self._cuts, self._models).items():
            if name is None:
                in_all = max(in_all, total)
            else:
                in_category = max(in_category, total)
        return in_category, in_all

    def _frequent(self, model: str) -> tuple[list[FrequentError], str]:
        """Return a model's most frequent errors, or why there are none."""
        place, run = self._by_model[model]
        is_scored = self._is_scored[:, place]
        rows = np.flatnonzero(is_scored)
        if not len(rows):
            return [], "No study was scored."
        study_ids = [self._panel.study_ids[row] for row in rows]
        units = None
        if self._panel.is_clustered and self._panel.clusters is not None:
            units = self._panel.clusters[rows]
        scored = ScoredStudies(
            {study_id: row for row, study_id in enumerate(study_ids)}, units
        )
        try:
            errors = most_frequent(run.run, scored, N_FREQUENT)
        except JudgeError:
            if run.run.rubric.graded:
                raise
            return [], f"{self._rubric.title} lists no errors."
        if not errors:
            return [], "No errors."
        return [self._frequent_error(run, error) for error in errors], ""

    def _frequent_error(
        self, run: ComparedRun, error: Mapping[str, Any]
    ) -> FrequentError:
        text = printed(Estimate.read(error), Kind.RATE)
        study_id = error["examples"][0]
        finding = error["finding"] or OTHER
        title = f"{error['category_label']}: {finding}"
        short = title
        codes = self._rubric.codes
        if codes is not None and codes.has_codes and error["category"]:
            # The code alone, which stands above the bars too.
            short = f"({error['category']}) {finding}"
        return FrequentError(
            text=short,
            title=title,
            share=text.figure,
            interval=text.brackets,
            study_id=study_id,
            address=self._address(run.model, run.shown, study_id),
        )

    def _about(self) -> Iterator[str]:
        """Yield what must be said below the table."""
        if self._n_models > len(self._models):
            yield (
                f"The first {len(self._models)} of {self._n_models:,} models by rank; the "
                "leaderboard has all."
            )
        if self._rate is None:
            yield f"{self._rubric.title} has no rates."
        else:
            definition = self._rate.definition or self._rate.label
            yield (
                f"{capital(self._rate.short)}: {definition}, of the scored studies, with the 95% "
                "interval."
            )
        if self._classes.n_classes > MOST_CLASSES:
            yield (
                f"The {MOST_CLASSES} largest of {self._classes.n_classes:,} groups by "
                f"{self._classes.field}."
            )
        if self._rubric.tally is not None:
            categories = [category.title for category in self._categories()[:-1]]
            yield (
                f"Errors: {listed(categories)}. An error of several categories counts in each, and "
                "once in all. The bars of categories have one scale, those of all errors another."
            )
        if self._rubric.graded:
            yield (
                "Most frequent: errors of one category about one finding, by the share of the "
                "model's scored studies that have one; ties go to graver errors, then to more "
                f"errors. The finding is as {lexicon.load().version} reads the error's text; "
                f"{OTHER}: no known finding named. The study is the first of those with the "
                "gravest such error. judge errors RUN lists all."
            )


def _main_rate(metrics: Sequence[Metric], ranked_by: Metric) -> Metric | None:
    """Return the rate that models are ranked by, else the rubric's first; None without any."""
    rates = [metric for metric in metrics if metric.is_share]
    if ranked_by in rates:
        return ranked_by
    return next(iter(rates), None)


def _main_score(metrics: Sequence[Metric], ranked_by: Metric) -> Metric | None:
    """Return what models are ranked by, else the rubric's first score; None for a rate alone."""
    others = [metric for metric in metrics if not metric.is_share]
    if ranked_by in others:
        return ranked_by
    return next(iter(others), None)


def _classes(comparison: Comparison, rate: Metric | None) -> _Classes:
    """Return all studies and the largest groups of them, with the figures of the rate."""
    panel = comparison.panel
    if rate is None:
        return _Classes((), (), "", 0)
    only = _of_metric(panel, rate)
    names = [_ALL]
    groups = [group_figures(only)]
    grouping = _grouping(comparison)
    parts = []
    if grouping:
        parts = groups_of(only, [grouping])
    largest = sorted(parts, key=lambda part: len(part[1].study_ids), reverse=True)
    chosen = largest[:MOST_CLASSES]
    for place in in_natural_order([key for key, _ in chosen]):
        key, part = chosen[place]
        names.append(", ".join(group_value(value) for value in key.values()))
        groups.append(group_figures(part, key))
    field = grouping.replace(",", " and ").replace("_", " ")
    return _Classes(tuple(names), tuple(groups), field, len(parts))


def _of_metric(panel: ScoreMatrix, metric: Metric) -> ScoreMatrix:
    """Return the panel of one metric alone, so that nothing else is computed."""
    values = {metric.name: panel.values[metric.name]}
    return replace(panel, metrics=(metric,), values=values, per={}, tallies={})


def _grouping(comparison: Comparison) -> str:
    """Return the grouping that was asked for first, else the study class, where it is known."""
    if comparison.by:
        return comparison.by[0]
    classes = comparison.panel.fields.get(_USUAL_CLASSES, ())
    if any(name is not None for name in classes):
        return _USUAL_CLASSES
    return ""


def _totals(
    cuts: Mapping[int, Mapping[Cut, Estimate]], models: Sequence[int]
) -> dict[tuple[int, str | None], float]:
    """Return the errors per study of each model and category, of all levels."""
    totals: dict[tuple[int, str | None], float] = {}
    for model in models:
        for (category, _), cut in cuts.get(model, {}).items():
            key = (model, category)
            totals[key] = totals.get(key, 0.0) + (cut.value or 0.0)
    return totals


def _errors_of(
    category: str, of_levels: Sequence[tuple[Label, Estimate]], longest: float
) -> MeetingErrors:
    """Return a cell: errors per study of the grave levels, where there are such, and of all."""
    known = [(level, cut) for level, cut in of_levels if cut.n]
    if not known:
        title = f"{category}: nothing was counted"
        return MeetingErrors(texts=[NOTHING], title=title, parts=[])
    texts = []
    if any(level.is_grave for level, _ in known):
        texts.append(number(_per_study(known, grave_alone=True)))
    texts.append(number(_per_study(known, grave_alone=False)))
    parts = []
    counts = []
    # The gravest first, beside the axis.
    gravest_first = sorted(known, key=lambda entry: entry[0].weight, reverse=True)
    for level, cut in gravest_first:
        n = int(cut.numerator or 0)
        counts.append(f"{level.label}: {n:,}")
        if cut.value and longest:
            parts.append(BarPart(share=cut.value / longest, tone=level.tone))
    _, first = known[0]
    n_scored = counted(first.n or 0, "scored study", "scored studies")
    title = f"{category}: {'; '.join(counts)}; in {n_scored}"
    return MeetingErrors(texts=texts, title=title, parts=parts)


def _per_study(
    of_levels: Sequence[tuple[Label, Estimate]], *, grave_alone: bool
) -> float:
    total = 0.0
    for level, cut in of_levels:
        if level.is_grave or not grave_alone:
            total += cut.value or 0.0
    return total

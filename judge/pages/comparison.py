"""The page of a comparison: leaderboard, tests, the values of all studies, some of the reports."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, product
from typing import Any, Literal

import numpy as np

from judge import rubrics
from judge.comparing.comparison import ComparedRuns
from judge.figures.comparison import comparison_figures
from judge.figures.files import PageFigure, available, draw_figures, page_figures
from judge.pages.bundle import PACKET, as_json, page_file
from judge.pages.comparison_models import (
    BoardCell,
    BoardRow,
    ComparedFindings,
    ComparedMetric,
    ComparedPacket,
    ComparedRubric,
    ComparedRun,
    ComparedStudies,
    ComparedStudy,
    ComparisonGroup,
    ComparisonOverview,
    ComparisonWords,
    DrawnFigureTexts,
    FigureText,
    GroupHead,
    GroupRanking,
    ModelValues,
    TextSteps,
)
from judge.pages.models import PrintedTable, list_column
from judge.pages.numbers import text_steps, value_column
from judge.pages.screens import Screens
from judge.pages.study import findings
from judge.rubrics.contract import Rubric
from judge.stats.intervals import Values
from judge.stats.metric import Metric
from judge.stats.scores import Group
from judge.stats.significance import ALPHA, Comparison, PairTest, model_order
from judge.tables import comparison as tables
from judge.tables.document import definitions
from judge.tables.kinds import p_value
from judge.text import (
    NOTHING,
    counted,
    group_value,
    in_natural_order,
    number,
    percent,
    with_minus_signs,
    without_surrogates,
)

# By model and rubric, then by study id.
Records = Mapping[tuple[str, str], Mapping[str, Mapping[str, Any]]]
Wanted = dict[tuple[str, str], set[str]]

MOST_RECORDS = 20_000
"""Records of one study, model and rubric; about half a kilobyte each in the file."""

_DIGITS = 3
_MAX_VALUES = 50
"""Values of a field that one can still choose from."""
_SHOWN_FIELDS = 3
_RATE = TextSteps(starts=[-1.0, 0.0, 1.0], texts=["behind", "equal", "ahead"])
_TEST_HEAD = ("Other model", "Difference", "95% interval", "p", "p (Holm)", "Studies")
_NOT_DRAWN = "None: the extra figures, which draws them, is not installed."
_WORDS = ComparisonWords(
    alone="none: A alone",
    ahead="A ahead",
    equal="equal",
    behind="A behind",
    scored="scored",
    not_scored="not scored",
    state="Result",
    ahead_by="A ahead by",
    biggest_first="A's biggest wins first",
    best_first="best first",
    missing=NOTHING,
    no_reports=(
        "The reports of this study are not in this page; judge audit RUN STUDY_ID shows them."
    ),
    is_here="Reports on this page",
    yes="yes",
    no="no",
    open_run="Open in its run",
)


def wanted(
    c: Comparison, *, most: int = MOST_RECORDS, also: Collection[str] = ()
) -> Wanted:
    """Return the studies whose records are shown: where there are many, those that differ most.

    `also` are studies that are shown in any case.
    """
    panel = c.panel
    keys = list(product(panel.models, rubric_names(c)))
    n = most // max(1, len(keys))
    shown = set(panel.study_ids)
    if len(panel.study_ids) > n:
        gaps = _gaps(c)
        largest = np.argsort(-gaps)[:n]
        shown = {panel.study_ids[row] for row in largest}
        shown |= set(also)
    return {key: set(shown) for key in keys}


def _gaps(c: Comparison) -> Values:
    """Return by how much the best model of each study is ahead of its worst."""
    metric = next(metric for metric in c.panel.metrics if metric.name == c.sort)
    values = c.panel.study_values(metric.name)
    if not metric.study_higher_is_better:
        values = -values
    scored = ~np.isnan(values)
    worst: Values = np.where(scored, values, np.inf).min(axis=1)
    # A model by itself is shown where it is worst.
    if len(c.panel.models) == 1:
        return -worst
    best: Values = np.where(scored, values, -np.inf).max(axis=1)
    return best - worst


def rubric_names(c: Comparison) -> tuple[str, ...]:
    """Return the rubrics that the models were judged by."""
    # The keys of a dict: each name once, in the order of the metrics.
    names: dict[str, None] = {}
    for metric in c.panel.metrics:
        if metric.rubric is not None:
            names[metric.rubric] = None
    return tuple(names)


@dataclass(frozen=True)
class ComparisonPage:
    """What a comparison's page shows, for a file and for the service alike.

    `runs` are those that were compared; a comparison that was made of numbers alone has none.
    `own_rubrics` are theirs, by model and name: a reader may have categories of his own.
    """

    comparison: Comparison
    runs: tuple[ComparedRun, ...] = ()
    figures: tuple[PageFigure, ...] = ()
    own_rubrics: Mapping[tuple[str, str], Rubric] = field(default_factory=dict)

    @classmethod
    def of(
        cls, compared: ComparedRuns, comparison: Comparison, only: Sequence[str] = ()
    ) -> ComparisonPage:
        """Return the page of compared runs with its figures, none where they cannot be drawn.

        `only` names the figures; without it they are the usual ones.
        """
        names = rubric_names(comparison)
        runs = []
        for run in compared.runs:
            if run.rubric in names:
                shown = ComparedRun(
                    run=without_surrogates(run.shown),
                    model=comparison.panel.models.index(run.model),
                    rubric=names.index(run.rubric),
                )
                runs.append(shown)
        figures: tuple[PageFigure, ...] = ()
        if available():
            figures = page_figures(draw_figures(comparison_figures(comparison, only)))
        own = {(run.model, run.rubric): run.run.rubric for run in compared.runs}
        return cls(comparison, tuple(runs), figures, own)

    @property
    def title(self) -> str:
        """The heading of the page."""
        models = counted(len(self._shown.panel.models), "model", "models")
        return f"Comparison of {models}"

    @cached_property
    def _shown(self) -> Comparison:
        """The comparison, all of whose names are texts that a page can hold."""
        c = self.comparison
        names = tuple(without_surrogates(name) for name in c.panel.models)
        notes = tuple(without_surrogates(note) for note in c.notes)
        if (names, notes) == (c.panel.models, c.notes):
            return c
        return replace(c, panel=replace(c.panel, models=names), notes=notes)

    def pieces(self) -> Iterator[tuple[str, bytes]]:
        """Yield the parts that the service keeps: all but the reports, which are in its runs."""
        yield "overview", as_json(self.overview())
        yield "studies", as_json(self.studies())
        yield from self._numbers()

    def file(self, records: Records, screens: Screens | None = None) -> Iterator[str]:
        """Yield the page as one file; `records` are those that `wanted` named."""
        pieces = self._file_pieces(records)
        if screens is not None:
            pieces = chain(pieces, screens.pieces())
        return page_file("comparison", self.title, pieces)

    def _file_pieces(self, records: Records) -> Iterator[tuple[str, bytes]]:
        study_ids = self.comparison.panel.study_ids
        shown: set[str] = set()
        for studies in records.values():
            shown |= set(studies)
        rows = [row for row, study_id in enumerate(study_ids) if study_id in shown]
        # The packet of each study; -1 for one that is not shown.
        packets = [-1] * len(study_ids)
        for place, row in enumerate(rows):
            packets[row] = place // PACKET
        yield "overview", as_json(self.overview(_footer(self.comparison, records)))
        yield "studies", as_json(self.studies(packets))
        yield from self._numbers()
        for number_, start in enumerate(range(0, len(rows), PACKET)):
            yield (
                f"packet-{number_}",
                as_json(self._packet(records, rows[start : start + PACKET])),
            )

    def _numbers(self) -> Iterator[tuple[str, bytes]]:
        for place in range(len(self.comparison.groups)):
            yield f"group-{place}", as_json(self.group(place))
        for model in range(len(self.comparison.panel.models)):
            yield f"values-{model}", as_json(self.values(model))
        texts = [
            FigureText(title=drawn.title, caption=drawn.caption)
            for drawn in self.figures
        ]
        missing = ""
        if not texts:
            missing = _NOT_DRAWN
        yield "figures", as_json(DrawnFigureTexts(figures=texts, missing=missing))
        for place, drawn in enumerate(self.figures):
            yield f"figure-{place}", drawn.svg.encode()

    def overview(self, footer: str = "") -> ComparisonOverview:
        """Return all but the groups and the single studies."""
        c = self._shown
        names = rubric_names(c)
        correlations = tables.correlation_tables(c)
        return ComparisonOverview(
            title=self.title,
            notes=list(c.notes),
            signature=c.signature,
            footer=footer,
            models=list(c.panel.models),
            runs=list(self.runs),
            metrics=[self._metric(metric, names) for metric in c.panel.metrics],
            ranked_by=_place(c.panel.metrics, c.sort),
            groups=[_head(c, c.groups[place]) for place in self._order],
            rubrics=[self._rubric(name, names) for name in names],
            correlations=[PrintedTable.of(table) for table in correlations],
            about_correlations=(
                "Over the reports of all models that have both values. "
                "\N{MINUS SIGN} before a metric: less is better; its values are negated."
            ),
            words=_WORDS,
        )

    @cached_property
    def _order(self) -> list[int]:
        """The order in which the groups are shown."""
        return in_natural_order([group.key for group in self.comparison.groups])

    @cached_property
    def _digits(self) -> dict[str, int]:
        """The decimals of each metric's values of studies: none where all are whole."""
        digits = {}
        for metric in self.comparison.panel.metrics:
            values = self.comparison.panel.study_values(metric.name)
            known = values[~np.isnan(values)]
            digits[metric.name] = 0
            if np.any(known % 1):
                digits[metric.name] = _DIGITS
        return digits

    def _metric(self, metric: Metric, names: Sequence[str]) -> ComparedMetric:
        direction, arrow = "lower is better", "\N{DOWNWARDS ARROW}"
        order: Literal["ascending", "descending"] = "ascending"
        if metric.higher_is_better:
            direction, arrow = "higher is better", "\N{UPWARDS ARROW}"
            order = "descending"
        heading = metric.label
        if len(names) == 1:
            heading = metric.short
        sign = -1
        if metric.study_higher_is_better:
            sign = 1
        rubric = None
        if metric.rubric is not None:
            rubric = names.index(metric.rubric)
        return ComparedMetric(
            name=metric.name,
            label=metric.label,
            heading=heading,
            direction=direction,
            arrow=arrow,
            order=order,
            study_label=metric.study_label,
            rubric=rubric,
            sign=sign,
            ahead=self._ahead(metric),
            marks=_marking(rubric, names),
        )

    def _ahead(self, metric: Metric) -> TextSteps:
        """Return how the differences of two models on a study are written."""
        if metric.is_share:
            return _RATE
        values = self.comparison.panel.study_values(metric.name)
        known = values[~np.isnan(values)]
        largest = 0.0
        if len(known):
            largest = float(known.max() - known.min())
        return text_steps(largest, self._digits[metric.name])

    def _rubric(self, name: str, names: Sequence[str]) -> ComparedRubric:
        title = ""
        if len(names) > 1:
            title = rubrics.load(name).title
        shown = []
        for place, metric in enumerate(self.comparison.panel.metrics):
            # What a file brought is shown once.
            is_of_file = metric.rubric is None and name == names[0]
            if metric.rubric == name or is_of_file:
                shown.append(place)
        return ComparedRubric(name=name, title=title, metrics=shown)

    def studies(self, packets: list[int] | None = None) -> ComparedStudies:
        """Return the ids and fields of all studies; `packets` hold the reports of a file."""
        panel = self.comparison.panel
        fields = []
        filters = []
        for place, (name, values) in enumerate(panel.fields.items()):
            texts = [group_value(value) for value in values]
            is_shown = place < _SHOWN_FIELDS
            column = list_column(name, name, texts, kind="field", is_shown=is_shown)
            fields.append(column)
            if 1 < len(column.texts) <= _MAX_VALUES:
                filters.append(name)
        return ComparedStudies(
            study_id=list(panel.study_ids),
            fields=fields,
            filters=filters,
            packets=packets,
        )

    def values(self, model: int) -> ModelValues:
        """Return the values of all studies for one model."""
        columns = []
        for metric in self.comparison.panel.metrics:
            values = self.comparison.panel.study_values(metric.name)[:, model]

            def text(value: float, metric: Metric = metric) -> str:
                if metric.is_share:
                    return "no" if value == 1 else "yes"
                return with_minus_signs(number(value, self._digits[metric.name]))

            columns.append(value_column(metric.name, metric.study_label, values, text))
        return ModelValues(columns=columns)

    def group(self, place: int) -> ComparisonGroup:
        """Return the group that is shown at a place, with its leaderboards and tests."""
        c = self._shown
        index = self._order[place]
        group = c.groups[index]
        name = tables.group_name(group.key)
        row_of = {study_id: row for row, study_id in enumerate(c.panel.study_ids)}
        rows = sorted(row_of[study_id] for study_id in c.parts[index].study_ids)
        errors = tables.error_tables(c, index, c.order).values()
        about_errors = "No errors are counted here."
        if errors:
            about_errors = (
                "Errors per study, of the studies that were scored for the model. An error of "
                "several categories is counted in each, and once in the last column."
            )
        no_tests = "This comparison was made without tests."
        if c.tests:
            no_tests = f"Nothing was tested for {name}."
        return ComparisonGroup(
            name=name,
            rows=rows,
            has_intervals=bool(c.rank_shares),
            cells=[_cells(c, group, metric) for metric in c.panel.metrics],
            rankings=[_ranking(c, index, metric) for metric in c.panel.metrics],
            errors=[PrintedTable.of(table) for table in errors],
            about=_about(c, group),
            about_tests=_tested(c),
            no_tests=no_tests,
            about_errors=about_errors,
        )

    def _packet(self, records: Records, rows: Sequence[int]) -> ComparedPacket:
        names = rubric_names(self.comparison)
        panel = self.comparison.panel
        studies = []
        for row in rows:
            found = []
            for (model, rubric), of_model in records.items():
                record = of_model.get(panel.study_ids[row])
                if record is not None:
                    own = self.own_rubrics.get((model, rubric)) or rubrics.load(rubric)
                    shown = ComparedFindings(
                        model=panel.models.index(model),
                        rubric=names.index(rubric),
                        findings=findings(record, own),
                    )
                    found.append(shown)
            studies.append(ComparedStudy(studies=found))
        return ComparedPacket(rows=list(rows), studies=studies)


def _place(metrics: Sequence[Metric], name: str) -> int:
    return [metric.name for metric in metrics].index(name)


def _marking(rubric: int | None, names: Sequence[str]) -> int | None:
    """Return the rubric whose errors are marked: the metric's, or the first that grades any."""
    graded = []
    for place, name in enumerate(names):
        if rubrics.load(name).graded:
            graded.append(place)
    if rubric in graded:
        return rubric
    return next(iter(graded), None)


def _footer(c: Comparison, records: Records) -> str:
    """Return which reports a file holds, empty where it holds all."""
    n_here = sum(map(len, records.values()))
    n_all = len(c.panel.study_ids) * len(c.panel.models) * len(rubric_names(c))
    if n_here >= n_all:
        return ""
    return (
        f"This page holds {n_here:,} of {n_all:,} judged reports ({percent(n_here / n_all)}): "
        "those of the studies in which models differ most. The values of all studies are here."
    )


def _head(c: Comparison, group: Group) -> GroupHead:
    name = tables.group_name(group.key)
    orders = [list(model_order(group, metric.name)) for metric in c.panel.metrics]
    return GroupHead(name=name, label=f"{name} ({group.n_studies:,})", orders=orders)


def _about(c: Comparison, group: Group) -> str:
    """Return what a leaderboard shows, with the definitions of its shares."""
    sentences = [
        f"{counted(group.n_studies, 'study', 'studies')}.",
        "Mean or share with its 95% interval; n = scored studies if fewer.",
        "A heading ranks by its metric; a number lists its studies.",
        "A line below a model: it differs significantly from the next.",
    ]
    defined = definitions(
        (metric.label, metric.definition) for metric in c.panel.metrics
    )
    if defined:
        sentences.append(f"{defined}.")
    return " ".join(sentences)


def _tested(c: Comparison) -> str:
    """Return in words how differences were tested, empty where nothing was tested."""
    if c.how is None:
        return ""
    unit = "studies"
    if c.panel.clusters is not None:
        unit = "whole patients"
    used: set[str] = set()
    for tests in c.tests:
        for pairs in tests.values():
            used |= {test.method for test in pairs if test.method}
    methods = " or ".join(sorted(used))
    refined = ""
    if c.how.refined_flips is not None:
        refined = f", {c.how.refined_flips:,} where p is below 0.01"
    text = (
        f"Paired on the studies scored for both. Interval: {c.how.resamples:,} bootstrap resamples "
        f"of {unit}, seed {c.how.seed}. p: {methods} "
        f"({c.how.flips:,} random flips where it flips signs{refined})."
    )
    if c.correction:
        text += f" {c.correction}."
    return f"{text} * marks a corrected p below {ALPHA:g}."


# Numbers are written by the functions that print the terminal's tables, so that both agree.


def _cells(c: Comparison, group: Group, metric: Metric) -> list[BoardCell]:
    """Return the figure of each model by a metric."""
    cells = []
    for model, estimate in enumerate(group.estimates[metric.name]):
        printed = tables.figure(estimate, metric).printed()
        text = with_minus_signs(printed.figure)
        interval = with_minus_signs(printed.brackets)
        n = ""
        if estimate.n != group.n_studies:
            n = f"n = {estimate.n:,}"
        figure = f"{text} {interval}".strip()
        cell = BoardCell(
            text=text,
            interval=interval,
            n=n,
            label=f"{metric.label} of {c.panel.models[model]}: {figure}, list its studies",
            is_scored=bool(estimate.n),
        )
        cells.append(cell)
    return cells


def _ranking(c: Comparison, index: int, metric: Metric) -> GroupRanking:
    group = c.groups[index]
    models = c.panel.models
    order = model_order(group, metric.name)
    tests: list[PairTest] = []
    if c.tests:
        tests = tables.judged_tests(c, index, metric)
    differing = {(test.a, test.b) for test in tests if test.is_significant}
    rows = []
    for model, following in zip(order, [*order[1:], None], strict=True):
        differs = ""
        # A test names the two in the order of the comparison's models.
        if following is not None and _pair(model, following) in differing:
            differs = f", differs significantly from {models[following]}"
        rank = group.ranks[metric.name][model]
        row = BoardRow(
            model=model,
            rank=NOTHING if rank is None else str(rank),
            interval=_rank_interval(c, index, metric, model),
            differs=differs,
        )
        rows.append(row)
    by_pair = {(test.a, test.b): test for test in tests}
    shown = [
        _test_table(c, group, metric, model, order, by_pair)
        for model in range(len(models))
    ]
    return GroupRanking(rows=rows, tests=shown)


def _pair(one: int, other: int) -> tuple[int, int]:
    return min(one, other), max(one, other)


def _rank_interval(c: Comparison, index: int, metric: Metric, model: int) -> str:
    """Return the interval of a model's rank, empty where ranks have none."""
    if not c.rank_shares:
        return ""
    shares = c.rank_shares[index][metric.name][model]
    if shares is None:
        return NOTHING
    return f"{shares.low}\N{EN DASH}{shares.high}"


def _test_table(
    c: Comparison,
    group: Group,
    metric: Metric,
    model: int,
    order: Sequence[int],
    tests: Mapping[tuple[int, int], PairTest],
) -> PrintedTable | None:
    """Return the tests of a model against the others, in the order of their ranks."""
    rows = []
    for other in order:
        test = tests.get(_pair(model, other))
        if test is None or other == model:
            continue
        # As the model sees it: its figure less the other's.
        sign = 1
        if test.b == model:
            sign = -1
        printed = tables.difference(test, metric, sign).printed()
        corrected = p_value(test.p_holm)
        if test.is_significant:
            corrected += " *"
        row = [
            c.panel.models[other],
            with_minus_signs(printed.figure),
            with_minus_signs(printed.brackets) or NOTHING,
            p_value(test.p),
            corrected,
            f"{test.n:,}",
        ]
        rows.append(row)
    if not rows:
        return None
    better = "lower"
    if metric.higher_is_better:
        better = "higher"
    title = (
        f"{c.panel.models[model]} minus the other, {metric.label} ({better} is better), "
        f"{tables.group_name(group.key)}"
    )
    return PrintedTable(
        title=title, head=list(_TEST_HEAD), rows=rows, note="", n_left=1
    )

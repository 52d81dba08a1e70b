"""The figures of a comparison of models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from judge import rubrics
from judge.figures import specs
from judge.figures.figure import Figure, FigureSet, count_range, short_names, with_unique_names
from judge.stats.correlation import Correlations, correlations
from judge.stats.metric import MINUS, Metric
from judge.stats.scores import (
    Group,
    ItemCounts,
    ScoreMatrix,
    group_cells,
    groups_of,
    item_counts,
)
from judge.text import capital, counted, group_value, in_natural_order

if TYPE_CHECKING:
    from judge.stats.significance import Comparison

CLASS_FIELD = "study_class"
SITE_FIELD = "site"
DATASET_FIELD = "dataset"
_FIELD_NAMES = {SITE_FIELD: "site", DATASET_FIELD: "data set"}
# As in the challenge's figure: abnormal on the left, normal on the right, others after them.
_CLASS_ORDER = ("abnormal", "normal")
_METHODS = ("pearson", "spearman", "kendall")
_FEW_VALUES = 10
"""A metric with no more different values has whiskers to the outermost of them."""
_TONE_ORDER = ("critical", "serious", "notable", "mild", None, "good")
_MIN_PAIRS = 10
"""With fewer pairs of values a correlation in a data set is chance, and is not drawn."""
_MAX_DATASETS = 8
"""Each has a matrix, of Pearson's as in ReXrank's papers; of more only the largest have one."""
_ALL = "all studies"


def comparison_figures(
    comparison: Comparison, *, top_sites: int, highlight: Sequence[str] = ()
) -> FigureSet:
    """Return the figures of a comparison; models come in the order of its leaderboard.

    Args:
        comparison: The models' figures and tests.
        top_sites: How many sites, or data sets, a heat map of ranks has, the largest first.
        highlight: Models whose names are bold.
    """
    drawing = _Drawing(comparison, highlight)
    parts = [
        *drawing.scores(),
        *drawing.rates(),
        *drawing.errors(),
        *drawing.ranks(SITE_FIELD, top_sites),
        *drawing.correlations(),
        *drawing.by_dataset(top_sites),
        *drawing.boxes(),
    ]
    return FigureSet(
        "comparison",
        with_unique_names([part for part in parts if isinstance(part, Figure)]),
        tuple(part for part in parts if isinstance(part, str)),
        comparison.signature,
        comparison.notes,
        {"models": tuple(comparison.panel.models[model] for model in comparison.order)},
    )


class _Drawing:
    def __init__(self, comparison: Comparison, highlight: Sequence[str]) -> None:
        self.comparison, self.panel = comparison, comparison.panel
        models = [self.panel.models[model] for model in comparison.order]
        self.names = short_names(models)
        order = comparison.order
        self.by_number = [self.names[order.index(number)] for number in range(len(models))]
        self.bold = [
            name for name, model in zip(self.names, models, strict=True) if model in highlight
        ]

    def scores(self) -> Iterable[Figure]:
        """The mean of each metric that is not a rate, of all studies and of each data set."""
        groups = self.groups(DATASET_FIELD)
        if DATASET_FIELD in self.panel.fields:
            groups = [(_ALL, group_cells(self.panel, {})), *groups]
        per = " and data set" if len(groups) > 1 else ""
        for metric in self.panel.metrics:
            if metric.kind == "rate":
                continue
            axis = "mean of the scored studies, " if metric.kind == "mean" else ""
            yield Figure(
                f"scores_{metric.name}",
                f"{metric.label} per model{per}",
                f"{metric.label} per model{per} with its 95% interval; n is the number of scored "
                "studies.",
                self.dots(metric.label, groups, {"": metric}, axis=f"{axis}with its 95% interval"),
            )

    def rates(self) -> Iterable[Figure | str]:
        shown = [metric for metric in self.panel.metrics if metric.rubric and metric.kind == "rate"]
        if not shown:
            yield "rates: no rubric of the runs has one"
        groups = sorted(self.groups(CLASS_FIELD), key=_class_position)
        per = f"per model{' and study class' if CLASS_FIELD in self.panel.fields else ''}"
        for rubric in dict.fromkeys(str(metric.rubric) for metric in shown):
            name = rubrics.load(rubric).title
            of_rubric = [metric for metric in shown if metric.rubric == rubric]
            # Two fit a row; a rubric with more rates has a figure a pair.
            for first in range(0, len(of_rubric), 2):
                metrics = of_rubric[first : first + 2]
                series = {m.label.removesuffix(f" ({name})"): m for m in metrics}
                yield Figure(
                    f"rates_{rubric}" + (f"_{first + 1}" if first else ""),
                    f"Studies with {' or '.join(metric.short for metric in metrics)} ({name})",
                    f"Share of scored studies with {' or '.join(series)}, as judged by {name}, "
                    f"{per}; bars are 95% Wilson intervals, n is the number of scored studies.",
                    self.dots(
                        f"Judged by {name}",
                        groups,
                        series,
                        axis=f"studies with {' / '.join(series)}, with 95% intervals",
                        domain=(0, 1),
                        percent=True,
                    ),
                )

    def dots(
        self,
        title: str,
        groups: Sequence[tuple[str, Group]],
        series: Mapping[str, Metric],
        **options: Any,  # noqa: ANN401
    ) -> specs.Spec:
        """Return a panel a group with each model's figures of the metrics in `series`."""
        panels = {}
        for name, group in groups:
            cells = [cell for metric in series.values() for cell in group.cells[metric.name]]
            panels[f"{name}, n {count_range(cell.n for cell in cells)}"] = group
        rows = [
            {"panel": panel, "name": name, "series": label}
            | {end: getattr(cell, end) for end in ("value", "low", "high", "n")}
            for panel, group in panels.items()
            for label, metric in series.items()
            for name, cell in zip(self.by_number, group.cells[metric.name], strict=True)
        ]
        return specs.dots(
            *(title, rows),
            names=self.names,
            panels=list(panels),
            series=list(series),
            bold=self.bold,
            **options,
        )

    def errors(self) -> Iterable[Figure]:
        for rubric_name in self.panel.tallies:
            rubric = rubrics.load(rubric_name)
            counts = {count.model: count for count in item_counts(self.panel, rubric)}
            if rubric.tally is None or not counts:
                continue
            rows, columns = rubric.facet(rubric.tally.rows), rubric.facet(rubric.tally.columns)
            items = rubric.kind(rubric.tally.kind).plural
            levels = sorted(columns.labels, key=lambda label: _TONE_ORDER.index(label.tone))
            whole = f"all {items}"
            panels = {None: whole} | {row.name: rows.text(row.name) for row in rows.labels}
            n = count_range(count.n_scored for count in counts.values())
            yield Figure(
                f"errors_{rubric_name}",
                f"{rubric.tally.title} ({rubric.title})",
                f"{capital(items)} per scored study of each model, as judged by {rubric.title}, "
                f"stacked by {columns.label}, the most severe on the left, with the sum behind the "
                f"bar: all {items}, and below them those of each {rows.label} on one scale. "
                f"One of several {rows.plural} is in each of them, and once among all. "
                f"{n} scored studies a model.",
                specs.stacks(
                    f"{rubric.tally.title} ({rubric.title})",
                    [
                        {"panel": panel, "name": name, "level": level.label, "value": value}
                        for row, panel in panels.items()
                        for name, model in zip(self.names, self.comparison.order, strict=True)
                        for level, value in zip(
                            levels,
                            _segments(counts.get(model), row, [level.name for level in levels]),
                            strict=True,
                        )
                    ],
                    names=self.names,
                    whole=whole,
                    panels=[panel for row, panel in panels.items() if row],
                    levels=_level_colours([(level.label, level.tone) for level in levels]),
                    axis=f"{items} per scored study",
                    bold=self.bold,
                ),
            )

    def ranks(self, field: str, most: int) -> Iterable[Figure | str]:
        noun = _FIELD_NAMES[field]
        if field not in self.panel.fields:
            yield f"ranks by {noun}: the runs have no field {field!r}"
            return
        if len(self.panel.models) < 2:
            yield f"ranks by {noun}: there is one model"
            return
        metric = self.panel.metric(self.comparison.sort)
        every = self.groups(field)
        nowhere = sum(group.n_studies for _, group in every if group.key[field] is None)
        groups = [(title, group) for title, group in every if group.key[field] is not None]
        groups.sort(key=lambda group: -group[1].n_studies)
        where = f"{'at' if field == SITE_FIELD else 'in'} each {noun}"
        if len(groups) > most:
            where = where.replace("each", f"the {most} largest of {len(groups)}") + "s"
        groups = groups[:most]
        labels = [
            f"{name} ({group.n_studies:,})"
            for name, (_, group) in zip(
                short_names([title for title, _ in groups], 22), groups, strict=True
            )
        ]
        yield Figure(
            f"ranks_{metric.name}" + ("" if field == SITE_FIELD else f"_by_{field}"),
            f"Rank by {metric.label} {where}",
            f"Rank of each model by {metric.label} {where}, the largest first, with the number "
            "of studies in brackets; 1 is the best, models with equal figures share the better "
            "rank. n/a: no scored study."
            + (f" {nowhere:,} studies without a {noun} are left out." if nowhere else ""),
            specs.ranks(
                f"Rank by {metric.label}, 1 is the best",
                [
                    {"name": name, "group": label, "rank": group.cells[metric.name][model].rank}
                    for name, model in zip(self.names, self.comparison.order, strict=True)
                    for label, (_, group) in zip(labels, groups, strict=True)
                ],
                names=self.names,
                groups=labels,
                bold=self.bold,
            ),
            {f"{noun}s": tuple(title for title, _ in groups)},
        )

    def correlations(self) -> Iterable[Figure | str]:
        table = self.comparison.correlations
        if table is None:
            yield "correlation of metrics: there are not two metrics"
        else:
            yield from (_matrix(table, method) for method in _METHODS)

    def by_dataset(self, most: int) -> Iterable[Figure | str]:
        parts = [
            (_title(key), part)
            for key, part in self.parts(DATASET_FIELD)
            if key.get(DATASET_FIELD) is not None
        ]
        if len(parts) < 2:
            yield (
                "ranks and correlations by data set: there are no two of the field "
                f"{DATASET_FIELD!r}"
            )
            return
        if len(self.panel.models) > 1:
            yield from self.ranks(DATASET_FIELD, most)
        if self.comparison.correlations is None:
            return
        by_size = sorted(range(len(parts)), key=lambda index: -len(parts[index][1].study_ids))
        if len(parts) > _MAX_DATASETS:
            yield (
                f"correlation of metrics in {len(parts) - _MAX_DATASETS} of {len(parts)} data "
                f"sets: the {_MAX_DATASETS} largest have one"
            )
        for index in sorted(by_size[:_MAX_DATASETS]):
            title, part = parts[index]
            table = correlations(part)
            pairs = max(n for row, line in enumerate(table.n) for n in line[:row])
            if pairs < _MIN_PAIRS:
                yield (
                    f"correlation of metrics in {title}: {counted(pairs, 'pair', 'pairs')} of "
                    f"values, at least {_MIN_PAIRS} are needed"
                )
                continue
            yield _matrix(table, _METHODS[0], title)

    def boxes(self) -> Iterable[Figure | str]:
        metrics = [metric for metric in self.panel.metrics if metric.kind != "rate"]
        if not metrics:
            yield "box plots: there is no metric with more than two values"
        parts = [(_title(key), part) for key, part in self.parts(DATASET_FIELD)]
        per = "model and data set" if DATASET_FIELD in self.panel.fields else "model"
        for metric in metrics:
            values = self.panel.study_values(metric.name)
            known = values[~np.isnan(values)]
            is_few = len(np.unique(known)) <= _FEW_VALUES
            ends = "the 5th and the 95th percentile"
            if is_few:
                ends = (
                    f"the least and the largest value, as the metric has at most {_FEW_VALUES} "
                    "different ones"
                )
            rows = []
            for title, part in parts:
                columns = part.study_values(metric.name).T
                n = count_range(
                    int(np.sum(~np.isnan(columns[model]))) for model in self.comparison.order
                )
                rows += [
                    {"panel": f"{title}, n {n}", "name": name} | _box(columns[model], is_few=is_few)
                    for name, model in zip(self.names, self.comparison.order, strict=True)
                ]
            yield Figure(
                f"boxes_{metric.name}",
                f"{metric.study_label} per {per}",
                f"{metric.study_label} over studies, per {per}. The box holds the middle half of "
                "them, from the first to the third quartile, the thick line is the median, the "
                f"diamond the mean; the whiskers end at {ends}. n is the number of scored studies.",
                specs.boxes(
                    metric.study_label,
                    rows,
                    names=self.names,
                    panels=list(dict.fromkeys(row["panel"] for row in rows)),
                    axis="of single studies",
                    domain=_scale(metric, known),
                    bold=self.bold,
                ),
            )

    def parts(self, field: str) -> list[tuple[dict[str, object], ScoreMatrix]]:
        """Return the groups of `field` in natural order; all studies without the field."""
        parts = groups_of(self.panel, [field] if field in self.panel.fields else [])
        return [parts[index] for index in in_natural_order([key for key, _ in parts])]

    def groups(self, field: str) -> list[tuple[str, Group]]:
        return [(_title(key), group_cells(part, key)) for key, part in self.parts(field)]


def _title(key: Mapping[str, object]) -> str:
    return ", ".join(map(group_value, key.values())) or _ALL


def _class_position(group: tuple[str, Group]) -> int:
    return _CLASS_ORDER.index(group[0]) if group[0] in _CLASS_ORDER else len(_CLASS_ORDER)


def _segments(
    count: ItemCounts | None, row: str | None, levels: Sequence[str]
) -> list[float | None]:
    """Return the mean of each level; None for all where one is not known, as their sum is not."""
    means = [None if count is None else count.cuts[row, level].value for level in levels]
    return means if None not in means else [None] * len(levels)


def _level_colours(levels: Sequence[tuple[str, str | None]]) -> dict[str, str]:
    """Return a colour a level; levels of one tone are told apart by lightness."""
    colours: dict[str, str] = {}
    for label, tone in levels:
        colour = specs.TONE_COLOURS[tone or "mild"]
        while colour in colours.values():
            colour = "#" + "".join(
                f"{round(int(colour[i : i + 2], 16) * 0.75):02x}" for i in (1, 3, 5)
            )
        colours[label] = colour
    return colours


def _matrix(table: Correlations, method: str, dataset: str | None = None) -> Figure:
    least = 2 if dataset is None else _MIN_PAIRS
    negated = (
        f" A minus ({MINUS}) marks a metric of which less is better: its values are negated, so "
        "that agreement is positive."
        if any(label.startswith(MINUS) for label in table.labels)
        else ""
    )
    within = "" if dataset is None else f" in the data set {dataset}"
    few = "" if dataset is None else f" Fewer than {least} pairs of values are n/a."
    labels = short_names(table.labels, 36)
    title = f"{method.capitalize()} correlation of metrics{within}"
    pairs = count_range(n for row in table.n for n in row)
    return Figure(
        f"correlation_{method}" + ("" if dataset is None else f"_{dataset}"),
        title,
        f"{method.capitalize()} correlation of two metrics over the reports of all models{within} "
        f"that have both values, n {pairs}.{few}{negated}",
        specs.matrix(
            f"{title}, n {pairs}",
            [
                {"down": labels[row], "across": labels[column], "n": n}
                | {"value": value if n >= least else None}
                for row, line in enumerate(getattr(table, method))
                for column, (value, n) in enumerate(zip(line, table.n[row], strict=True))
            ],
            labels=labels,
        ),
    )


def _box(column: NDArray[np.float64], *, is_few: bool) -> specs.Row:
    values = column[~np.isnan(column)]
    names = ("low", "q1", "median", "q3", "high")
    if not len(values):
        return dict.fromkeys((*names, "mean")) | {"n": 0}
    low, high = (0.0, 1.0) if is_few else (0.05, 0.95)
    quantiles = np.quantile(values, (low, 0.25, 0.5, 0.75, high)).tolist()
    row: specs.Row = dict(zip(names, quantiles, strict=True))
    return row | {"mean": float(values.mean()), "n": len(values)}


def _scale(metric: Metric, known: NDArray[np.float64]) -> tuple[float, float] | None:
    low, high = metric.scale or (None, None)
    if low is None or high is None or np.any((known < low) | (known > high)):
        return None
    return low, high

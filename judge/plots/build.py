"""From a comparison to the figures that are drawn of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from judge import rubrics
from judge.plots import TOP_SITES
from judge.plots.data import (
    Box,
    Boxes,
    BoxesPanel,
    Drawing,
    Errors,
    ErrorsPanel,
    Level,
    Matrix,
    Method,
    Plan,
    Ranks,
    Rates,
    RatesPanel,
)
from judge.report.words import capital, counted, group_value, in_natural_order
from judge.signature import safe_name
from judge.stats.correlation import Correlations, correlations
from judge.stats.metric import MINUS, Metric
from judge.stats.panel import Group, ItemCounts, Panel, group_cells, groups_of, item_counts
from judge.stats.significance import Comparison

CLASS_FIELD = "study_class"
SITE_FIELD = "site"
DATASET_FIELD = "dataset"
_WORDS = {SITE_FIELD: "site", DATASET_FIELD: "data set"}
# As in the challenge's figure: abnormal on the left, normal on the right, others after them.
_CLASSES = ("abnormal", "normal")
_METHODS: tuple[Method, ...] = ("pearson", "spearman", "kendall")
_MARKS = ("circles", "squares")
_FEW = 10
"""A metric with no more different values has whiskers to the outermost of them."""
_NAME = 60
# The gravest first; a label without a tone says nothing of how grave it is.
_TONES = ("critical", "serious", "notable", "mild", None, "good")
_LEAST_PAIRS = 10
"""With fewer pairs of values a correlation in a data set is chance, and is not drawn."""
_MOST_DATASETS = 8
"""Each has a matrix, of Pearson's as in ReXrank's papers; of more only the largest have one."""


def plan(c: Comparison, *, top_sites: int = TOP_SITES) -> Plan:
    """Return what is drawn of `c`; models come in the order of its leaderboard.

    `top_sites` is how many sites, or data sets, a heat map of ranks has, the largest first.
    """
    parts = [*_rates(c), *_errors(c), *_ranks(c, SITE_FIELD, top_sites)]
    parts += [*_correlations(c), *_by_dataset(c, top_sites), *_boxes(c)]
    drawings = [part for part in parts if not isinstance(part, str)]
    left_out = tuple(part for part in parts if isinstance(part, str))
    names = {"models": _models(c)}
    return Plan("comparison", _with_own_names(drawings), left_out, c.signature, c.notes, names)


def _rates(c: Comparison) -> Iterable[Drawing | str]:
    shown = [metric for metric in c.panel.metrics if metric.rubric and metric.kind == "rate"]
    if not shown:
        yield "rates: no rubric of the runs has one"
        return
    groups = sorted(_groups(c, CLASS_FIELD), key=_class_order)
    per = f"per model{' and study class' if CLASS_FIELD in c.panel.fields else ''}"
    for rubric in dict.fromkeys(str(metric.rubric) for metric in shown):
        title = rubrics.load(rubric).title
        of_rubric = [metric for metric in shown if metric.rubric == rubric]
        for first in range(0, len(of_rubric), len(_MARKS)):
            metrics = of_rubric[first : first + len(_MARKS)]
            panels = tuple(
                RatesPanel(
                    name,
                    _range(cell.n for metric in metrics for cell in group.cells[metric.name]),
                    tuple(
                        tuple(group.cells[metric.name][model] for model in c.order)
                        for metric in metrics
                    ),
                )
                for name, group in groups
            )
            labels = [metric.label.removesuffix(f" ({title})") for metric in metrics]
            marks = [f"{label} ({mark})" for label, mark in zip(labels, _MARKS, strict=False)]
            yield Drawing(
                f"rates_{rubric}" + (f"_{first + 1}" if first else ""),
                f"Studies with {' or '.join(metric.short for metric in metrics)} ({title})",
                f"Share of scored studies with {' or '.join(marks if marks[1:] else labels)}, as "
                f"judged by {title}, {per}; bars are 95% Wilson intervals, n the scored studies.",
                Rates(
                    _models(c),
                    tuple(metric.label for metric in metrics),
                    f"studies with {' / '.join(metric.short for metric in metrics)}",
                    panels,
                ),
            )


def _class_order(group: tuple[str, Group]) -> int:
    return _CLASSES.index(group[0]) if group[0] in _CLASSES else len(_CLASSES)


def _errors(c: Comparison) -> Iterable[Drawing]:
    for name in c.panel.tallies:
        rubric = rubrics.load(name)
        counts = {one.model: one for one in item_counts(c.panel, rubric)}
        if rubric.tally is None or not counts:
            continue
        rows, columns = rubric.facet(rubric.tally.rows), rubric.facet(rubric.tally.columns)
        items = rubric.kind(rubric.tally.kind).plural
        levels = sorted(columns.labels, key=lambda label: _TONES.index(label.tone))

        shown = [counts.get(model) for model in c.order]
        names = [level.name for level in levels]
        yield Drawing(
            f"errors_{name}",
            f"{rubric.tally.title} ({rubric.title})",
            f"{capital(items)} per scored study of each model, as judged by {rubric.title}, "
            f"stacked by {columns.label}, the gravest on the left, with the sum behind the bar: "
            f"all {items}, and below them those of each {rows.label} on a scale of their own. "
            f"One of several {rows.plural} is in each of them, and once among all. n counts the "
            "scored studies of a model.",
            Errors(
                items,
                columns.label,
                _models(c),
                tuple(Level(level.label, level.tone) for level in levels),
                _bars(f"all {items}", shown, None, names),
                tuple(_bars(rows.text(row.name), shown, row.name, names) for row in rows.labels),
                _range(one.n_scored for one in counts.values()),
            ),
        )


def _bars(
    title: str, shown: Sequence[ItemCounts | None], row: str | None, levels: Sequence[str]
) -> ErrorsPanel:
    return ErrorsPanel(
        title,
        tuple(
            None if one is None else _bar([one.cuts[row, level].value for level in levels])
            for one in shown
        ),
    )


def _bar(means: Sequence[float | None]) -> tuple[float, ...] | None:
    """Return the segments; None where one is not known, as the sum is not known then."""
    known = tuple(mean for mean in means if mean is not None)
    return known if len(known) == len(means) else None


def _ranks(c: Comparison, field: str, most: int) -> Iterable[Drawing | str]:
    what = _WORDS[field]
    if field not in c.panel.fields:
        yield f"ranks by {what}: the runs have no field {field!r}"
        return
    if len(c.panel.models) < 2:
        yield f"ranks by {what}: there is one model"
        return
    metric = c.panel.metric(c.sort)
    found = _groups(c, field)
    nowhere = sum(group.n_studies for _, group in found if group.key[field] is None)
    groups = [(title, group) for title, group in found if group.key[field] is not None]
    groups.sort(key=lambda group: -group[1].n_studies)
    n_groups = len(groups)
    groups = groups[:most]
    which = (
        f"each {what}"
        if n_groups == len(groups)
        else f"the {len(groups)} largest of {n_groups} {what}s"
    )
    where = f"{'at' if field == SITE_FIELD else 'in'} {which}"
    yield Drawing(
        f"ranks_{metric.name}" + ("" if field == SITE_FIELD else f"_by_{field}"),
        f"Rank by {metric.label} {where}",
        f"Rank of each model by {metric.label} {where}, the largest first, with the number "
        "of studies in brackets; 1 is the best, models with equal figures share the better rank."
        + (f" {nowhere:,} studies without a {what} are in none." if nowhere else ""),
        Ranks(
            metric.label,
            what,
            _models(c),
            tuple(title for title, _ in groups),
            tuple(group.n_studies for _, group in groups),
            tuple(
                tuple(group.cells[metric.name][model].rank for _, group in groups)
                for model in c.order
            ),
        ),
    )


def _correlations(c: Comparison) -> Iterable[Drawing | str]:
    found = c.correlations
    if found is None or len(found.names) < 2:
        yield "correlation of metrics: there are not two metrics"
        return
    for method in _METHODS:
        yield _matrix(found, method)


def _matrix(found: Correlations, method: Method, dataset: str | None = None) -> Drawing:
    least = 2 if dataset is None else _LEAST_PAIRS
    negated = (
        f" A minus ({MINUS}) marks a metric of which less is better: its values are negated, so "
        "that agreement is positive."
        if any(label.startswith(MINUS) for label in found.labels)
        else ""
    )
    within = "" if dataset is None else f" in the data set {dataset}"
    few = "" if dataset is None else f" Fewer than {least} pairs of values are n/a."
    values = tuple(
        tuple(value if n >= least else None for value, n in zip(line, pairs, strict=True))
        for line, pairs in zip(getattr(found, method), found.n, strict=True)
    )
    return Drawing(
        f"correlation_{method}" + ("" if dataset is None else f"_{dataset}"),
        f"Correlation of metrics{within} ({method.capitalize()})",
        f"{method.capitalize()} correlation of two metrics over the reports of all models{within} "
        f"that have both values; n counts them.{few}{negated}",
        Matrix(
            method, dataset, least, found.labels, values, _range(n for row in found.n for n in row)
        ),
    )


def _by_dataset(c: Comparison, most: int) -> Iterable[Drawing | str]:
    parts = [
        (_title(key), part)
        for key, part in (_parts(c, DATASET_FIELD) if DATASET_FIELD in c.panel.fields else ())
        if key[DATASET_FIELD] is not None
    ]
    if len(parts) < 2:
        yield f"ranks and correlations by data set: there are no two of the field {DATASET_FIELD!r}"
        return
    if len(c.panel.models) > 1:
        yield from _ranks(c, DATASET_FIELD, most)
    if c.correlations is None or len(c.correlations.names) < 2:
        return
    largest = sorted(parts, key=lambda part: -len(part[1].study_ids))[:_MOST_DATASETS]
    if len(parts) > len(largest):
        yield (
            f"correlation of metrics in {len(parts) - len(largest)} of {len(parts)} data sets: "
            f"the {len(largest)} largest have one"
        )
    for title, part in parts:
        if not any(part is one for _, one in largest):
            continue
        found = correlations(part)
        pairs = max(n for row, line in enumerate(found.n) for n in line[:row])
        if pairs < _LEAST_PAIRS:
            yield (
                f"correlation of metrics in {title}: {counted(pairs, 'pair', 'pairs')} of values, "
                f"and fewer than {_LEAST_PAIRS} say nothing"
            )
            continue
        yield _matrix(found, _METHODS[0], title)


def _boxes(c: Comparison) -> Iterable[Drawing | str]:
    metrics = [metric for metric in c.panel.metrics if metric.kind != "rate"]
    if not metrics:
        yield "box plots: there is no metric with more than two values"
    parts = _parts(c, DATASET_FIELD)
    per = "model and data set" if DATASET_FIELD in c.panel.fields else "model"
    for metric in metrics:
        values = c.panel.of_study(metric.name)
        known = values[~np.isnan(values)]
        is_few = len(np.unique(known)) <= _FEW
        rule = (
            f"the least and the largest value, as the metric has at most {_FEW} different ones"
            if is_few
            else "the 5th and the 95th percentile, as the metric has more than "
            f"{_FEW} different values"
        )
        panels = []
        for key, panel in parts:
            columns = panel.of_study(metric.name).T
            boxes = tuple(_box(columns[model], is_few=is_few) for model in c.order)
            n = _range(box.n if box else 0 for box in boxes)
            panels.append(BoxesPanel(_title(key), n, boxes))
        yield Drawing(
            f"boxes_{metric.name}",
            f"{metric.study_label} per {per}",
            f"{metric.study_label} over studies, per {per}. The box holds the middle half of them, "
            "from the first to the third quartile, the thick line is the median, the diamond the "
            f"mean; the whiskers end at {rule}. n counts the scored studies.",
            Boxes(
                metric.study_label,
                _models(c),
                tuple(panels),
                _scale(metric, known),
                is_few=is_few,
                is_whole=bool(np.all(known == np.round(known))),
            ),
        )


def _scale(metric: Metric, known: NDArray[np.float64]) -> tuple[float, float] | None:
    low, high = metric.scale or (None, None)
    if low is None or high is None or np.any((known < low) | (known > high)):
        return None
    return low, high


def _box(column: NDArray[np.float64], *, is_few: bool) -> Box | None:
    values = column[~np.isnan(column)]
    if not len(values):
        return None
    outer = (0.0, 1.0) if is_few else (0.05, 0.95)
    shares = (outer[0], 0.25, 0.5, 0.75, outer[1])
    low, q1, median, q3, high = (float(q) for q in np.quantile(values, shares))
    return Box(len(values), low, q1, median, q3, high, float(values.mean()))


def _groups(c: Comparison, field: str) -> list[tuple[str, Group]]:
    return [(_title(key), group_cells(part, key)) for key, part in _parts(c, field)]


def _parts(c: Comparison, field: str) -> list[tuple[dict[str, object], Panel]]:
    """Return the groups of `field` in the order of the page; all studies without the field."""
    parts = groups_of(c.panel, [field] if field in c.panel.fields else [])
    return [parts[index] for index in in_natural_order([key for key, _ in parts])]


def _title(key: Mapping[str, object]) -> str:
    return ", ".join(map(group_value, key.values())) or "all studies"


def _models(c: Comparison) -> tuple[str, ...]:
    return tuple(c.panel.models[model] for model in c.order)


def _range(numbers: Iterable[int]) -> tuple[int, int]:
    known = list(numbers)
    return min(known, default=0), max(known, default=0)


def _with_own_names(drawings: Sequence[Drawing]) -> tuple[Drawing, ...]:
    taken: set[str] = set()
    named = []
    for drawing in drawings:
        stem = safe_name(drawing.name, _NAME, keeps="_-", default="figure")
        name, number = stem, 2
        while name.lower() in taken:
            name, number = f"{stem}-{number}", number + 1
        taken.add(name.lower())
        named.append(replace(drawing, name=name))
    return tuple(named)

"""From a comparison to the figures that are drawn of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from judge import rubrics
from judge.report.words import group_value, in_natural_order
from judge.stats.compare import Comparison
from judge.stats.metric import MINUS, Metric
from judge.stats.panel import Cell, Group, Panel, group_cells, groups_of

Method = Literal["pearson", "spearman", "kendall"]


@dataclass(frozen=True, slots=True)
class RatesPanel:
    """The rates in one study class: for each series one cell a model.

    `n` is the least and the largest number of scored studies of a model.
    """

    title: str
    n: tuple[int, int]
    series: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Rates:
    """A rubric's rates of models, a panel a study class.

    `axis` says of which studies they are the share.
    """

    models: tuple[str, ...]
    labels: tuple[str, ...]
    axis: str
    panels: tuple[RatesPanel, ...]


@dataclass(frozen=True, slots=True)
class Ranks:
    """The rank of each model (a row) at each site (a column), None for n/a; 1 is the best.

    `n` is the number of studies of each site.
    """

    metric: str
    models: tuple[str, ...]
    sites: tuple[str, ...]
    n: tuple[int, ...]
    ranks: tuple[tuple[int | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Correlation of metrics, -1 to 1, None for n/a; `n` is the range of pairs of values.

    The label of a metric whose values are negated begins with a minus.
    """

    method: Method
    labels: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    n: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Box:
    """A metric's values over `n` studies.

    Quartiles by linear interpolation; what the whiskers `low` and `high` are is said by the
    `Boxes`.
    """

    n: int
    low: float
    q1: float
    median: float
    q3: float
    high: float
    mean: float


@dataclass(frozen=True, slots=True)
class BoxesPanel:
    """The boxes of one data set, one a model, None for n/a; `n` as in `RatesPanel`."""

    title: str
    n: tuple[int, int]
    boxes: tuple[Box | None, ...]


@dataclass(frozen=True, slots=True)
class Boxes:
    """A metric's values per study, a panel a data set.

    The whiskers end at the 5th and the 95th percentile; of a metric that `is_few`, with
    few different values, at the least and the largest. `scale` is the whole scale of a
    metric that has bounds; `is_whole` where all values are whole numbers.
    """

    metric: str
    models: tuple[str, ...]
    panels: tuple[BoxesPanel, ...]
    scale: tuple[float, float] | None
    is_few: bool
    is_whole: bool


Data = Rates | Ranks | Matrix | Boxes


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure to draw: the stem of its files, its title, what it shows, and its data."""

    name: str
    title: str
    caption: str
    data: Data


def name_lists(data: Data) -> dict[str, tuple[str, ...]]:
    """Return the lists of names that a figure shows, each in its order, by what they are of."""
    match data:
        case Rates() | Boxes():
            return {"models": data.models, "panels": tuple(panel.title for panel in data.panels)}
        case Ranks():
            return {"models": data.models, "sites": data.sites}
        case Matrix():
            return {"metrics": data.labels}


CLASS_FIELD = "study_class"
SITE_FIELD = "site"
DATASET_FIELD = "dataset"
# As in the challenge's figure: abnormal on the left, normal on the right, others after them.
_CLASSES = ("abnormal", "normal")
_METHODS: tuple[Method, ...] = ("pearson", "spearman", "kendall")
_MARKS = ("circles", "squares")
_FEW = 10
"""A metric with no more different values has whiskers to the outermost of them."""
_NAME = 60


@dataclass(frozen=True, slots=True)
class Plan:
    """The figures of a comparison, and one line for each that cannot be drawn, with the reason."""

    drawings: tuple[Drawing, ...]
    left_out: tuple[str, ...]


def plan(c: Comparison, *, top_sites: int = 10) -> Plan:
    """Return what is drawn of `c`; models come in the order of its leaderboard.

    `top_sites` is how many sites the heat map of ranks has, the largest first.
    """
    parts = [*_rates(c), *_ranks(c, top_sites), *_correlations(c), *_boxes(c)]
    drawings = [part for part in parts if not isinstance(part, str)]
    return Plan(_with_own_names(drawings), tuple(part for part in parts if isinstance(part, str)))


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


def _ranks(c: Comparison, top_sites: int) -> Iterable[Drawing | str]:
    if SITE_FIELD not in c.panel.fields:
        yield f"ranks by site: the runs have no field {SITE_FIELD!r}"
        return
    if len(c.panel.models) < 2:
        yield "ranks by site: there is one model"
        return
    metric = c.panel.metric(c.sort)
    found = _groups(c, SITE_FIELD)
    nowhere = sum(group.n_studies for _, group in found if group.key[SITE_FIELD] is None)
    groups = [(title, group) for title, group in found if group.key[SITE_FIELD] is not None]
    groups.sort(key=lambda group: -group[1].n_studies)
    n_sites = len(groups)
    groups = groups[:top_sites]
    which = (
        "each site" if n_sites == len(groups) else f"the {len(groups)} largest of {n_sites} sites"
    )
    yield Drawing(
        f"ranks_{metric.name}",
        f"Rank by {metric.label} at {which}",
        f"Rank of each model by {metric.label} at {which}, the largest first, with the number "
        "of studies in brackets; 1 is the best, models with equal figures share the better rank."
        + (f" {nowhere:,} studies without a site are in none." if nowhere else ""),
        Ranks(
            metric.label,
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
    pairs = _range(int(n) for row in found.n for n in row)
    negated = (
        f"A minus ({MINUS}) marks a metric of which less is better: its values are negated, so "
        "that agreement is positive."
        if any(label.startswith(MINUS) for label in found.labels)
        else ""
    )
    for method in _METHODS:
        yield Drawing(
            f"correlation_{method}",
            f"Correlation of metrics ({method.capitalize()})",
            f"{method.capitalize()} correlation of two metrics over the reports of all models that "
            f"have both values; n counts them. {negated}".rstrip(),
            Matrix(method, found.labels, getattr(found, method), pairs),
        )


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
    """Return the metric's whole scale, where all values are on it."""
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
    """Return the title and the figures of each of `_parts`."""
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
    """Make each name a file name of its own, also where capitals are not told apart."""
    taken: set[str] = set()
    named = []
    for drawing in drawings:
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", drawing.name)[:_NAME].strip("-") or "figure"
        name, number = stem, 2
        while name.lower() in taken:
            name, number = f"{stem}-{number}", number + 1
        taken.add(name.lower())
        named.append(replace(drawing, name=name))
    return tuple(named)

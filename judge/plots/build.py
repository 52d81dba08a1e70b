"""From a comparison to the figures that are drawn of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge import rubrics
from judge.plots.drawings import (
    Box,
    Boxes,
    BoxesPanel,
    Drawing,
    Matrix,
    Method,
    Point,
    Ranks,
    Rates,
    RatesPanel,
)
from judge.report.words import group_value
from judge.stats.compare import Comparison
from judge.stats.panel import Cell, Group, group_cells, groups_of

CLASS_FIELD = "study_class"
SITE_FIELD = "site"
DATASET_FIELD = "dataset"
# As in the challenge's figure: abnormal on the left, normal on the right, others after them.
_CLASSES = ("abnormal", "normal")
_METHODS: tuple[Method, ...] = ("pearson", "spearman", "kendall")
_WHISKER = 1.5
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
    drawings: list[Drawing] = []
    left_out: list[str] = []
    for part in (_rates(c), _ranks(c, top_sites), _correlations(c), _boxes(c)):
        for item in part:
            if isinstance(item, str):
                left_out.append(item)
            else:
                drawings.append(item)
    return Plan(_with_own_names(drawings), tuple(left_out))


def _rates(c: Comparison) -> Iterable[Drawing | str]:
    shown = [
        m for m in c.panel.metrics if m.what in ("no_significant_error", "no_actionable_error")
    ]
    if not shown:
        yield "error rates: no run says which errors are significant"
        return
    groups = sorted(_groups(c, CLASS_FIELD), key=_class_order)
    for rubric in dict.fromkeys(metric.rubric for metric in shown if metric.rubric):
        title = rubrics.load(rubric).title
        metrics = [metric for metric in shown if metric.rubric == rubric]
        panels = tuple(
            RatesPanel(
                name,
                _range(cell.n for metric in metrics for cell in group.cells[metric.name]),
                tuple(
                    tuple(_point(group.cells[metric.name][at]) for at in c.order)
                    for metric in metrics
                ),
            )
            for name, group in groups
        )
        yield Drawing(
            f"rates_{rubric}",
            f"Studies without an error ({title})",
            "Share of scored studies without such an error, per model and study class; bars are "
            "95% Wilson intervals, n the scored studies.",
            Rates(_models(c), tuple(metric.label for metric in metrics), panels),
        )


def _class_order(group: tuple[str, Group]) -> int:
    return _CLASSES.index(group[0]) if group[0] in _CLASSES else len(_CLASSES)


def _point(cell: Cell) -> Point | None:
    return None if cell.value is None else Point(cell.value, cell.low, cell.high)


def _ranks(c: Comparison, top_sites: int) -> Iterable[Drawing | str]:
    if SITE_FIELD not in c.panel.fields:
        yield f"ranks by site: the runs have no field {SITE_FIELD!r}"
        return
    metric = c.panel.metric(c.sort)
    groups = sorted(_groups(c, SITE_FIELD), key=lambda group: -group[1].n_studies)
    groups = groups[:top_sites]
    yield Drawing(
        f"ranks_{metric.name}",
        f"Rank by {metric.label} at each site",
        f"Rank of each model by {metric.label} at the {len(groups)} largest sites, with the "
        "number of studies in brackets; 1 is the best, models with equal figures share the "
        "better place.",
        Ranks(
            metric.label,
            _models(c),
            tuple(title for title, _ in groups),
            tuple(group.n_studies for _, group in groups),
            tuple(
                tuple(group.cells[metric.name][at].rank for _, group in groups) for at in c.order
            ),
        ),
    )


def _correlations(c: Comparison) -> Iterable[Drawing | str]:
    found = c.correlations
    if found is None or len(found.names) < 2:
        yield "correlation of metrics: there are not two metrics"
        return
    pairs = _range(int(n) for row in found.n for n in row)
    for method in _METHODS:
        yield Drawing(
            f"correlation_{method}",
            f"Correlation of metrics ({method.capitalize()})",
            f"{method.capitalize()} correlation over all pairs of a study and a model that have "
            "both values. Metrics for which lower is better are turned round, so that agreement "
            "is positive.",
            Matrix(method, found.labels, getattr(found, method), pairs),
        )


def _boxes(c: Comparison) -> Iterable[Drawing | str]:
    metrics = [metric for metric in c.panel.metrics if metric.kind != "rate"]
    if not metrics:
        yield "box plots: there is no metric with more than two values"
    fields = [DATASET_FIELD] if DATASET_FIELD in c.panel.fields else []
    parts = groups_of(c.panel, fields)
    for metric in metrics:
        panels = []
        for key, panel in parts:
            columns = panel.values[metric.name].T
            boxes = tuple(_box(columns[at]) for at in c.order)
            n = _range(box.n if box else 0 for box in boxes)
            panels.append(BoxesPanel(_title(key), n, boxes))
        yield Drawing(
            f"boxes_{metric.name}",
            f"{metric.study_label} per data set",
            f"{metric.study_label} over studies: median, quartiles, and the last values within "
            "1.5 times the distance between the quartiles; values beyond are not drawn. The "
            "diamond is the mean, n the scored studies.",
            Boxes(metric.study_label, _models(c), tuple(panels)),
        )


def _box(column: NDArray[np.float64]) -> Box | None:
    values = column[~np.isnan(column)]
    if not len(values):
        return None
    q1, median, q3 = (float(q) for q in np.quantile(values, (0.25, 0.5, 0.75)))
    reach = _WHISKER * (q3 - q1)
    # A quartile lies between two values: the last one within reach can lie inside the box.
    low = min(q1, float(values[values >= q1 - reach].min()))
    high = max(q3, float(values[values <= q3 + reach].max()))
    return Box(len(values), low, q1, median, q3, high, float(values.mean()))


def _groups(c: Comparison, field: str) -> list[tuple[str, Group]]:
    """Return the title and the figures of each group of `field`; all studies without it."""
    fields = [field] if field in c.panel.fields else []
    return [(_title(key), group_cells(part, key)) for key, part in groups_of(c.panel, fields)]


def _title(key: Mapping[str, object]) -> str:
    return ", ".join(map(group_value, key.values())) or "all studies"


def _models(c: Comparison) -> tuple[str, ...]:
    return tuple(c.panel.models[at] for at in c.order)


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
        named.append(Drawing(name, drawing.title, drawing.caption, drawing.data))
    return tuple(named)

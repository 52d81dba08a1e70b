"""Several models on the same studies: the values, and what each group of studies says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from judge.stats.estimate import Estimate, inverse, mean_interval, ratio_interval, wilson
from judge.stats.metric import Metric, check_own_names
from judge.stats.ranks import ranks_of, rounding_of, without_rounding
from judge.types import JudgeError

Values = NDArray[np.float64]


GROUP_FIELDS = ("study_class", "dataset", "site")
"""The fields that one can always group by, where the studies have them."""


@dataclass(frozen=True)
class Panel:
    """The values of models on studies.

    `values` holds for each metric an array of studies by models; NaN marks a study that was
    not scored for the model, and stays in here. `fields` has one value a study, None where
    it is missing. A ratio's values are what is divided; `per` holds for it what they are divided
    by, in the same form. `clusters` numbers the patient of each study; None where every study
    stands for itself. Raises `JudgeError` where two metrics share a name or a label.
    """

    models: tuple[str, ...]
    study_ids: tuple[str, ...]
    metrics: tuple[Metric, ...]
    values: Mapping[str, Values]
    fields: Mapping[str, tuple[object, ...]]
    clusters: NDArray[np.int64] | None = None
    patient_field: str | None = None
    per: Mapping[str, Values] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = (len(self.study_ids), len(self.models))
        if any(self.values[metric.name].shape != shape for metric in self.metrics):
            raise ValueError("a metric's values are not one a study and model")
        if {metric.name for metric in self.metrics if metric.kind == "ratio"} != set(self.per):
            raise ValueError("a ratio has values to divide by, and nothing else has")
        # Values are found by the metric's name, and read by its label.
        check_own_names(self.metrics)

    def metric(self, name: str) -> Metric:
        """Return the metric with this name; raises KeyError where there is none."""
        return {metric.name: metric for metric in self.metrics}[name]

    def of_study(self, name: str) -> Values:
        """Return each study's own value of a metric: of a ratio, that of its two numbers.

        NaN also where a study has nothing to divide by.
        """
        values = self.values[name]
        if name not in self.per:
            return values
        per = self.per[name]
        found: Values = np.divide(values, per, out=np.full_like(values, np.nan), where=per > 0)
        return found

    def take(self, rows: NDArray[np.intp]) -> Panel:
        """Return the panel of some studies alone, given by their row numbers."""
        return replace(
            self,
            study_ids=tuple(self.study_ids[row] for row in rows),
            values={name: values[rows] for name, values in self.values.items()},
            fields={name: tuple(of[row] for row in rows) for name, of in self.fields.items()},
            clusters=None if self.clusters is None else self.clusters[rows],
            per={name: values[rows] for name, values in self.per.items()},
        )

    @property
    def is_clustered(self) -> bool:
        """Whether any patient has more than one study here."""
        return self.clusters is not None and len(np.unique(self.clusters)) < len(self.study_ids)


@dataclass(frozen=True, slots=True)
class Cell:
    """One model's figure for a group of studies.

    `n` is the denominator: the studies scored for the model. `k`, of a rate, counts those
    whose value is 1. `value` is None where no study was scored (or a mean has no
    reciprocal); `low` and `high`, the 95% interval, are None where it is not defined.
    `rank` is 1 for the best; models whose figures are equal but for rounding share the better
    rank.
    """

    n: int
    k: int | None
    value: float | None
    low: float | None
    high: float | None
    rank: int | None


@dataclass(frozen=True, slots=True)
class Group:
    """The figures of all models for one group of studies; `key` is empty for all studies."""

    key: Mapping[str, object]
    n_studies: int
    cells: Mapping[str, tuple[Cell, ...]]


def groups_of(panel: Panel, by: Sequence[str]) -> list[tuple[dict[str, object], Panel]]:
    """Return each group's fields and its part of the panel, in the order of the values.

    A study without a field's value is in the group whose value is None, which comes last.
    Without fields there is one group, of all studies. Raises `JudgeError` for a field that
    the panel has not.
    """
    if not by:
        return [({}, panel)]
    unknown = [name for name in by if name not in panel.fields]
    if unknown:
        known = ", ".join(panel.fields) or "none"
        raise JudgeError(
            f"cannot group by {', '.join(map(repr, unknown))}: no run has the field; "
            f"there are: {known}"
        )
    names = list(dict.fromkeys(by))
    rows: dict[tuple[object, ...], list[int]] = {}
    for row, key in enumerate(zip(*(panel.fields[name] for name in names), strict=True)):
        rows.setdefault(key, []).append(row)
    return [
        (dict(zip(names, key, strict=True)), panel.take(np.array(rows[key])))
        for key in sorted(rows, key=_order)
    ]


def _order(key: tuple[object, ...]) -> list[tuple[bool, bool, object, str]]:
    """Missing last, numbers before texts, each by its own order."""
    return [
        (
            *(value is None, not isinstance(value, int | float)),
            *(value if isinstance(value, int | float) else 0, str(value)),
        )
        for value in key
    ]


def group_cells(panel: Panel, key: Mapping[str, object] | None = None) -> Group:
    """Return the figures of every model and metric for the studies of `panel`.

    A mean and its reciprocal have an interval within the metric's scale, or mean ± 1.96
    standard errors where that is unknown (`mean_interval`); a rate has its Wilson interval, a
    ratio one by bootstrap (`ratio_interval`).
    Studies are taken as independent here, as ReXrank does.
    """
    cells = {}
    for metric in panel.metrics:
        values = panel.values[metric.name]
        rounding = rounding_of(panel.of_study(metric.name), is_inverse=metric.kind == "inverse")
        per = panel.per.get(metric.name, np.ones_like(values))
        figures = [
            _figure(column[~np.isnan(column)], under[~np.isnan(column)], metric, float(near))
            for column, under, near in zip(values.T, per.T, rounding, strict=True)
        ]
        shown = [figure.value for figure in figures]
        ranks = ranks_of(shown, rounding, higher=metric.higher_is_better)
        cells[metric.name] = tuple(
            replace(figure, rank=rank) for figure, rank in zip(figures, ranks, strict=True)
        )
    return Group(dict(key or {}), len(panel.study_ids), cells)


def _figure(values: Values, per: Values, metric: Metric, rounding: float) -> Cell:
    if metric.kind == "ratio":
        value = float(values.sum() / per.sum()) if per.sum() else None
        return Cell(len(values), None, value, *ratio_interval(values, per), None)
    if metric.kind == "rate":
        rate = wilson(int(values.sum()), len(values))
        return Cell(rate.n, rate.k, rate.value, rate.low, rate.high, None)
    mean = mean_interval(values.tolist(), metric.scale)
    if metric.kind == "inverse":
        # RadCliQ can come out at or below 0, where a reciprocal says nothing.
        is_positive = mean.value is None or (mean.value > 0 and 1 / mean.value > rounding)
        mean = inverse(mean, metric.scale) if is_positive else Estimate(mean.n, None, None, None)
    value = None if mean.value is None else without_rounding(mean.value, rounding)
    return Cell(mean.n, None, value, mean.low, mean.high, None)

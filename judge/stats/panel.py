"""Several models on the same studies: the values, and what each group of studies says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from judge.stats.estimate import (
    Estimate,
    inverse,
    mean_interval,
    rate_interval,
    ratio_interval,
)
from judge.stats.metric import Metric, check_own_names
from judge.types import JudgeError

Values = NDArray[np.float64]
Counts = NDArray[np.float32]

GROUP_FIELDS = ("study_class", "dataset", "site")
"""The fields that one can always group by, where the studies have them."""


@dataclass(frozen=True)
class Panel:
    """The values of models on studies.

    `values` holds for each metric an array of studies by models; NaN marks a study that was
    not scored for the model. A ratio's values are what is divided; `per` holds what they are
    divided by. `tallies` holds, by rubric, the counts of items, models by
    `judge.stats.tally.cuts` by studies. `clusters` numbers the patient of each study; None where
    every study stands for itself. `without_run` has, by rubric, the numbers of the models that no
    run of it is of.
    """

    models: tuple[str, ...]
    study_ids: tuple[str, ...]
    metrics: tuple[Metric, ...]
    values: Mapping[str, Values]
    fields: Mapping[str, tuple[object, ...]]
    clusters: NDArray[np.intp] | None = None
    patient_field: str | None = None
    per: Mapping[str, Values] = field(default_factory=dict)
    tallies: Mapping[str, Counts] = field(default_factory=dict)
    without_run: Mapping[str, frozenset[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Values are found by the metric's name, and read by its label.
        check_own_names(self.metrics)

    def metric(self, name: str) -> Metric:
        """Return the metric with this name."""
        return {metric.name: metric for metric in self.metrics}[name]

    def has_run(self, model: int, metric: Metric) -> bool:
        """Return whether the model was judged by the metric's rubric; of a file's, always."""
        return metric.rubric is None or model not in self.without_run.get(metric.rubric, ())

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
            tallies={name: counts[..., rows] for name, counts in self.tallies.items()},
        )

    @property
    def is_clustered(self) -> bool:
        """Whether any patient has more than one study here."""
        return self.clusters is not None and len(np.unique(self.clusters)) < len(self.study_ids)


@dataclass(frozen=True, slots=True)
class Cell:
    """One model's figure for a group of studies.

    `n` is the denominator: the studies scored for the model. `k`, of a rate, counts those whose
    value is 1. `rank` is 1 for the best; models whose figures are equal but for rounding share the
    better rank. None is not defined.
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

    A study without a field's value is in the group whose value is None, which comes last. Raises
    `JudgeError` for a field that the panel has not.
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
    standard errors where that is unknown; a rate has Wilson's, a ratio one by bootstrap. Where
    patients have several studies all of them are by patient.
    """
    units = panel.clusters if panel.is_clustered else None
    cells = {}
    for metric in panel.metrics:
        values = panel.values[metric.name]
        rounding = rounding_of(panel.of_study(metric.name), is_inverse=metric.kind == "inverse")
        per = panel.per.get(metric.name, values)
        figures = []
        for column, under, near in zip(values.T, per.T, rounding, strict=True):
            is_known = ~np.isnan(column)
            own = None if units is None else units[is_known].astype(np.intp)
            figures.append(_figure(column[is_known], under[is_known], own, metric, float(near)))
        shown = [figure.value for figure in figures]
        ranks = ranks_of(shown, rounding, higher=metric.higher_is_better)
        cells[metric.name] = tuple(
            Cell(figure.n, figure.k, figure.value, figure.low, figure.high, rank)
            for figure, rank in zip(figures, ranks, strict=True)
        )
    return Group(dict(key or {}), len(panel.study_ids), cells)


def _figure(
    values: Values, per: Values, units: NDArray[np.intp] | None, metric: Metric, rounding: float
) -> Estimate:
    if metric.kind == "ratio":
        value = float(values.sum() / per.sum()) if per.sum() else None
        return Estimate(len(values), value, *ratio_interval(values, per, units))
    if metric.kind == "rate":
        return rate_interval(values == 1, units)
    mean = mean_interval(values, metric.scale, units)
    if metric.kind == "inverse":
        # RadCliQ can come out at or below 0, where a reciprocal says nothing.
        is_positive = mean.value is None or (mean.value > 0 and 1 / mean.value > rounding)
        mean = inverse(mean, metric.scale) if is_positive else Estimate(mean.n, None, None, None)
    value = None if mean.value is None else without_rounding(mean.value, rounding)
    return replace(mean, value=value)


ROUNDING = 1e-12
"""How far apart equal sums of floating-point numbers may come out, as a share of their size."""


def rounding_of(values: Values, *, is_inverse: bool) -> Values:
    """Return for each model how far rounding may move its figure; 0 without a figure.

    The sum of 0.4 and 0.2 is not twice 0.3 to the last bit: such a difference goes with the size of
    the values, not with that of their sum, which may be near 0.
    """
    n = np.maximum((~np.isnan(values)).sum(axis=0), 1)
    size: Values = ROUNDING * np.nansum(np.abs(values), axis=0) / n
    if not is_inverse:
        return size
    means = np.nansum(values, axis=0) / n
    found: Values = np.divide(size, means**2, out=np.zeros_like(size), where=means > 0)
    return found


def without_rounding(value: float, rounding: float) -> float:
    """Return `value`, or 0 where it is no more than rounding."""
    return 0.0 if abs(value) <= rounding else value


def ranks_with_ties(
    figures: Values, rounding: Values, *, higher: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return in each row how many figures are better than each one, and how many equal it.

    `figures` is rows by models, without NaN; each equals itself. Neighbours in order that are no
    further apart than the larger `rounding` of the two are equal, and so is what a chain of such
    neighbours joins.
    """
    rows, m = figures.shape
    falling = figures if higher else -figures
    order = np.argsort(-falling, axis=1, kind="stable")
    ordered, near = np.take_along_axis(falling, order, axis=1), rounding[order]
    with np.errstate(invalid="ignore"):  # two at infinity are equal
        apart = ordered[:, :-1] - ordered[:, 1:] > np.maximum(near[:, :-1], near[:, 1:])
    edge = np.ones((rows, 1), dtype=bool)
    here = np.arange(m)
    first = np.maximum.accumulate(np.where(np.hstack([edge, apart]), here, 0), axis=1)
    ends = np.where(np.hstack([apart, edge]), here, m)
    last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    better, equal = np.empty_like(order), np.empty_like(order)
    np.put_along_axis(better, order, first, axis=1)
    np.put_along_axis(equal, order, last - first + 1, axis=1)
    return better, equal


def ranks_of(values: Sequence[float | None], rounding: Values, *, higher: bool) -> list[int | None]:
    """Return the rank of each value, 1 for the best; equal ones share the better rank."""
    known = [index for index, value in enumerate(values) if value is not None]
    figures = np.array([[values[index] for index in known]], dtype=float)
    better, _ = ranks_with_ties(figures, rounding[known], higher=higher)
    found: list[int | None] = [None] * len(values)
    for index, n in zip(known, better[0], strict=True):
        found[index] = int(n) + 1
    return found


_TAIL = 0.025


@dataclass(frozen=True, slots=True)
class RankShares:
    """How often a model came out first, second, ... over the resamples; the shares add up to 1.

    `low` and `high` are the ends of the 95% interval of its rank. Models that tie share their ranks
    evenly.
    """

    shares: tuple[float, ...]
    low: int
    high: int


def rank_shares(
    figures: Values, rounding: Values, *, higher: bool
) -> tuple[RankShares | None, ...]:
    """Return the shares of each model from `figures`, resamples by models.

    A model without a figure in a resample is last there. A model without any is None.
    """
    known: NDArray[np.bool_] = np.count_nonzero(~np.isnan(figures), axis=0) > 0
    worst = -np.inf if higher else np.inf
    values = np.where(np.isnan(figures), worst, figures)[:, known]
    m = values.shape[1]
    better, tied = ranks_with_ties(values, rounding[known], higher=higher)
    found: list[RankShares | None] = [None] * len(known)
    for index, first, n in zip(np.flatnonzero(known), better.T, tied.T, strict=True):
        of_rank = (first[:, None] <= np.arange(m)) & (np.arange(m) < (first + n)[:, None])
        shares = np.where(of_rank, 1 / n[:, None], 0.0).mean(axis=0)
        low, high = (
            int(np.searchsorted(np.cumsum(side), _TAIL - 1e-12)) for side in (shares, shares[::-1])
        )
        found[index] = RankShares(tuple(map(float, shares)), low + 1, m - high)
    return tuple(found)

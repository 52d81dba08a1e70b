"""The scores of several models on the same studies, and their figures by group of studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    USUAL_DRAWS,
    Codes,
    Draws,
    Values,
    mean_interval,
    n_different,
    unit_sums,
    units_of,
)
from judge.stats.metric import Metric
from judge.stats.summary import grouped
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.rubrics.contract import Rubric

Counts = NDArray[np.float32]
Cut = tuple[str | None, str]
"""A label of a tally's rows, None for all items, and one of its columns."""

GROUP_FIELDS = ("study_class", "dataset", "site")
"""The fields that one can always group by, where the studies have them."""

ROUNDING = 1e-12
"""How far apart equal sums of floating-point numbers may come out, as a share of their size."""

_BITS = 40
_TAIL = 0.025


@dataclass(frozen=True)
class ScoreMatrix:
    """The values of models on studies.

    `values` has for each metric an array of studies by models; NaN marks a study that was not
    scored for the model. A ratio's values are its numerators; `per` has the denominators. `tallies`
    has, by rubric, the counts of items, models by `cuts` by studies. `clusters` numbers the patient
    of each study; None where studies are independent. `without_run` has, by rubric, the numbers of
    the models without a run of it. `draws` are those of the intervals of single figures.
    """

    models: tuple[str, ...]
    study_ids: tuple[str, ...]
    metrics: tuple[Metric, ...]
    values: Mapping[str, Values]
    fields: Mapping[str, tuple[object, ...]]
    clusters: Codes | None = None
    patient_field: str | None = None
    per: Mapping[str, Values] = field(default_factory=dict)
    tallies: Mapping[str, Counts] = field(default_factory=dict)
    without_run: Mapping[str, frozenset[int]] = field(default_factory=dict)
    draws: Draws = USUAL_DRAWS

    def __post_init__(self) -> None:
        # Values are found by the metric's name, and read by its label.
        names = [metric.name for metric in self.metrics]
        labels = [metric.label for metric in self.metrics]
        for called in (names, labels):
            for name in called:
                if called.count(name) > 1:
                    raise JudgeError(
                        f"two metrics are called {name!r}; rename the file's column"
                    )

    def metric(self, name: str) -> Metric:
        """Return the metric with this name."""
        return {metric.name: metric for metric in self.metrics}[name]

    def has_run(self, model: int, metric: Metric) -> bool:
        """Return whether the model was judged by the metric's rubric; of a file's, always."""
        return metric.rubric is None or model not in self.without_run.get(
            metric.rubric, ()
        )

    def study_values(self, name: str) -> Values:
        """Return each study's own value of a metric: of a ratio, that of its two numbers.

        NaN also where a study has nothing to divide by.
        """
        values = self.values[name]
        per = self.per.get(name, np.ones_like(values))
        undefined = np.full_like(values, np.nan)
        return np.asarray(np.divide(values, per, out=undefined, where=per > 0))

    def take(self, rows: Codes) -> ScoreMatrix:
        """Return the panel of some studies alone, given by their row numbers."""
        fields = {}
        for name, cells in self.fields.items():
            fields[name] = tuple(cells[row] for row in rows)
        return replace(
            self,
            study_ids=tuple(self.study_ids[row] for row in rows),
            values={name: values[rows] for name, values in self.values.items()},
            fields=fields,
            clusters=None if self.clusters is None else self.clusters[rows],
            per={name: values[rows] for name, values in self.per.items()},
            tallies={name: counts[..., rows] for name, counts in self.tallies.items()},
        )

    @property
    def n_units(self) -> int:
        """How many patients there are, or studies where they are independent."""
        return (
            len(self.study_ids) if self.clusters is None else n_different(self.clusters)
        )

    @property
    def is_clustered(self) -> bool:
        """Whether any patient has more than one study here."""
        return self.clusters is not None and n_different(self.clusters) < len(
            self.study_ids
        )


def canonical(panel: ScoreMatrix) -> ScoreMatrix:
    """Return the panel with its studies, and its patients' numbers, in an order of their values.

    Resamples and flips go by position: so neither the order of a file nor the names of ids change a
    number. Studies with the same values are interchangeable.
    """
    models = sorted(range(len(panel.models)), key=lambda model: panel.models[model])
    by_metric = [panel.values[name] for name in sorted(panel.values)]
    by_metric += [panel.per[name] for name in sorted(panel.per)]
    if not by_metric or not panel.study_ids:
        return panel
    columns = np.hstack([grid[:, models] for grid in by_metric])
    # A study without a score sorts before all others, and not beside a score of 0.
    columns = np.hstack([np.isnan(columns), np.nan_to_num(columns)])
    order = np.lexsort(columns.T[::-1])
    panel, columns = panel.take(order), columns[order]
    if panel.clusters is None:
        return panel
    units = units_of(panel.clusters, len(order))
    sums = unit_sums(columns, units)
    place = np.empty(len(sums), np.intp)
    place[np.lexsort(sums.T[::-1])] = np.arange(len(sums))
    return replace(panel, clusters=place[units])


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The figures of all models for one group of studies; `key` is empty for all studies.

    `estimates` has for each metric, by name, the models' figures; `n` is the number of the studies
    scored for the model. `ranks` has their ranks, 1 for the best, None without a figure; models
    whose figures are equal but for rounding share the better rank.
    """

    key: Mapping[str, object]
    n_studies: int
    estimates: Mapping[str, tuple[Estimate, ...]]
    ranks: Mapping[str, tuple[int | None, ...]]


def parts_of(
    panel: ScoreMatrix, by: Sequence[str]
) -> list[tuple[dict[str, object], ScoreMatrix]]:
    """Return the whole panel, then the groups of each grouping, such as `site,study_class`."""
    parts: list[tuple[dict[str, object], ScoreMatrix]] = [({}, panel)]
    for grouping in dict.fromkeys(by):
        parts += _of(panel, grouping)
    return parts


def groups_of(
    panel: ScoreMatrix, by: Sequence[str]
) -> list[tuple[dict[str, object], ScoreMatrix]]:
    """Return each group's fields and its part of the panel, in the order of the values.

    A study without a field's value is in the group whose value is None, which comes last. Raises
    `JudgeError` for a field that the panel has not.
    """
    return _of(panel, ",".join(by)) if by else [({}, panel)]


def _of(
    panel: ScoreMatrix, grouping: str
) -> list[tuple[dict[str, object], ScoreMatrix]]:
    import pandas as pd

    table = pd.DataFrame(dict(panel.fields), dtype=object)
    return [
        (key, panel.take(np.array(rows))) for key, rows in grouped(table, [grouping])
    ]


def group_figures(panel: ScoreMatrix, key: Mapping[str, object] | None = None) -> Group:
    """Return the figures of every model and metric for the studies of `panel`.

    Intervals are those of each `Statistic`; where patients have several studies, by patient.
    """
    clusters = panel.clusters if panel.is_clustered else None
    estimates: dict[str, tuple[Estimate, ...]] = {}
    ranks: dict[str, tuple[int | None, ...]] = {}
    for metric in panel.metrics:
        values = panel.values[metric.name]
        per = panel.per.get(metric.name)
        found = []
        for model, column in enumerate(values.T):
            known = ~np.isnan(column)
            estimate = metric.statistic.estimate(
                column[known],
                None if per is None else per[known, model],
                units=None if clusters is None else clusters[known],
                draws=panel.draws,
            )
            found.append(estimate)
        estimates[metric.name] = tuple(found)
        ranks[metric.name] = _ranks(found, higher=metric.higher_is_better)
    return Group(
        key=dict(key or {}),
        n_studies=len(panel.study_ids),
        estimates=estimates,
        ranks=ranks,
    )


def _ranks(estimates: Sequence[Estimate], *, higher: bool) -> tuple[int | None, ...]:
    values = np.array([estimate.value for estimate in estimates], float)
    n_better, _ = count_better(values[None], higher=higher)
    return tuple(
        None if estimate.value is None else n + 1
        for estimate, n in zip(estimates, n_better[0].tolist(), strict=True)
    )


def round_mantissa(figures: Values) -> Values:
    """Return figures to twelve digits, so that sums in another order are equal."""
    mantissa, exponent = np.frexp(figures)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, _BITS)), exponent - _BITS))


def count_better(figures: Values, *, higher: bool) -> tuple[Codes, Codes]:
    """Return in each row how many figures are better than each one, and how many equal it.

    `figures` is rows by models; NaN is no figure.
    """
    ordered = round_mantissa(-figures if higher else figures)
    these, others = ordered[:, :, None], ordered[:, None, :]
    return (others < these).sum(axis=2), (others == these).sum(axis=2)


@dataclass(frozen=True, slots=True)
class RankShares:
    """How often a model came out first, second, ... over the resamples; the shares add up to 1.

    `low` and `high` are the ends of the 95% interval of its rank. Models that tie share their ranks
    evenly.
    """

    shares: tuple[float, ...]
    low: int
    high: int


def rank_shares(figures: Values, *, higher: bool) -> tuple[RankShares | None, ...]:
    """Return the shares of each model from `figures`, resamples by models.

    A model without a figure in a resample is last there. A model without any is None.
    """
    known = np.asarray(~np.isnan(figures).all(axis=0))
    worst = -np.inf if higher else np.inf
    values = np.where(np.isnan(figures), worst, figures)[:, known]
    better, tied = count_better(values, higher=higher)
    ranks = np.arange(values.shape[1])
    by_model: list[RankShares | None] = [None] * len(known)
    for index, first, n in zip(np.flatnonzero(known), better.T, tied.T, strict=True):
        is_shared = (first[:, None] <= ranks) & (ranks < (first + n)[:, None])
        shares = np.where(is_shared, 1 / n[:, None], 0.0).mean(axis=0)
        low, high = (
            int(np.searchsorted(np.cumsum(side), _TAIL - 1e-12))
            for side in (shares, shares[::-1])
        )
        by_model[index] = RankShares(
            tuple(map(float, shares)), low + 1, len(ranks) - high
        )
    return tuple(by_model)


@dataclass(frozen=True, slots=True)
class ItemCounts:
    """How many items a model has in each cut of the tally, a scored study.

    The mean over its scored studies with the interval of a mean that is 0 or more; `numerator`
    counts the items. A cut that is undefined, as one that a reader was not asked for, has no
    value and an n of 0. An item with two labels of the rows is in both, and once in all. `model`
    is its number in the panel.
    """

    model: int
    n_scored: int
    cuts: Mapping[Cut, Estimate]


def cuts(rubric: Rubric) -> dict[Cut, str]:
    """Return the measure that counts each cut of a rubric's tally; empty without a tally."""
    tally, names = rubric.tally, {}
    if tally is not None:
        for row in (None, *(label.name for label in rubric.facet(tally.rows).labels)):
            for column in rubric.facet(tally.columns).labels:
                labels = {tally.columns: column.name} | (
                    {tally.rows: row} if row else {}
                )
                (measure,) = rubric.counting(tally.kind, labels)
                names[row, column.name] = measure.name
    return names


def item_counts(panel: ScoreMatrix, rubric: Rubric) -> list[ItemCounts]:
    """Return the items of each model that was judged by `rubric`, in the order of the panel.

    Models without a scored study are left out; a rubric without a tally gives no counts.
    """
    clusters = panel.clusters if panel.is_clustered else None
    by_model = []
    for model, counts in enumerate(panel.tallies.get(rubric.name, ())):
        is_known = ~np.isnan(counts)
        n_scored = int(is_known.any(axis=0).sum())
        cells = {}
        for cut, column, known in zip(cuts(rubric), counts, is_known, strict=True):
            values = column[known].astype(float)
            units = None if clusters is None else clusters[known]
            mean = mean_interval(values, (0.0, None), units)
            cells[cut] = replace(mean, numerator=float(values.sum()))
        if n_scored:
            by_model.append(ItemCounts(model, n_scored, cells))
    return by_model

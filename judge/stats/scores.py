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
        _check_unique([metric.name for metric in self.metrics])
        _check_unique([metric.label for metric in self.metrics])

    def metric(self, name: str) -> Metric:
        """Return the metric with this name."""
        return {metric.name: metric for metric in self.metrics}[name]

    def has_run(self, model: int, metric: Metric) -> bool:
        """Return whether the model was judged by the metric's rubric; of a file's, always."""
        if metric.rubric is None:
            return True
        return model not in self.without_run.get(metric.rubric, ())

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
        clusters = None
        if self.clusters is not None:
            clusters = self.clusters[rows]
        values = {name: grid[rows] for name, grid in self.values.items()}
        per = {name: grid[rows] for name, grid in self.per.items()}
        tallies = {name: counts[..., rows] for name, counts in self.tallies.items()}
        return replace(
            self,
            study_ids=tuple(self.study_ids[row] for row in rows),
            values=values,
            fields=fields,
            clusters=clusters,
            per=per,
            tallies=tallies,
        )

    @property
    def n_units(self) -> int:
        """How many patients there are, or studies where they are independent."""
        if self.clusters is None:
            return len(self.study_ids)
        return n_different(self.clusters)

    @property
    def is_clustered(self) -> bool:
        """Whether any patient has more than one study here."""
        if self.clusters is None:
            return False
        return n_different(self.clusters) < len(self.study_ids)


def _check_unique(names: Sequence[str]) -> None:
    """Raise `JudgeError` where two metrics have one name, or one label."""
    for name in names:
        if names.count(name) > 1:
            raise JudgeError(
                f"two metrics are called {name!r}; rename the file's column"
            )


def canonical(panel: ScoreMatrix) -> ScoreMatrix:
    """Return the panel with its studies, and its patients' numbers, in an order of their values.

    Resamples and flips go by position: so neither the order of a file nor the names of ids change a
    number. Studies with the same values are interchangeable.
    """
    models = sorted(range(len(panel.models)), key=lambda model: panel.models[model])
    grids = [panel.values[name] for name in sorted(panel.values)]
    grids += [panel.per[name] for name in sorted(panel.per)]
    if not grids or not panel.study_ids:
        return panel
    values = np.hstack([grid[:, models] for grid in grids])
    # A study without a score sorts before all others, and not beside a score of 0.
    columns = np.hstack([np.isnan(values), np.nan_to_num(values)])
    order = _row_order(columns)
    panel = panel.take(order)
    columns = columns[order]
    if panel.clusters is None:
        return panel
    units = units_of(panel.clusters, len(order))
    # Patients are in the order of their sums, whatever their names are.
    sums = unit_sums(columns, units)
    number_of_unit = np.empty(len(sums), np.intp)
    number_of_unit[_row_order(sums)] = np.arange(len(sums))
    return replace(panel, clusters=number_of_unit[units])


def _row_order(columns: Values) -> Codes:
    """Return the order of the rows by their first column, ties by the next, and so on."""
    # The last of lexsort's keys is the first to sort by.
    return np.lexsort(columns.T[::-1])


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
    if not by:
        return [({}, panel)]
    return _of(panel, ",".join(by))


def _of(
    panel: ScoreMatrix, grouping: str
) -> list[tuple[dict[str, object], ScoreMatrix]]:
    import pandas as pd

    table = pd.DataFrame(dict(panel.fields), dtype=object)
    groups = []
    for key, rows in grouped(table, [grouping]):
        part = panel.take(np.array(rows))
        groups.append((key, part))
    return groups


def group_figures(panel: ScoreMatrix, key: Mapping[str, object] | None = None) -> Group:
    """Return the figures of every model and metric for the studies of `panel`.

    Intervals are those of each `Statistic`; where patients have several studies, by patient.
    """
    estimates: dict[str, tuple[Estimate, ...]] = {}
    ranks: dict[str, tuple[int | None, ...]] = {}
    for metric in panel.metrics:
        of_metric = _estimates(panel, metric)
        estimates[metric.name] = tuple(of_metric)
        ranks[metric.name] = _ranks(of_metric, higher=metric.higher_is_better)
    return Group(
        key=dict(key or {}),
        n_studies=len(panel.study_ids),
        estimates=estimates,
        ranks=ranks,
    )


def _estimates(panel: ScoreMatrix, metric: Metric) -> list[Estimate]:
    """Return the figure of each model by one metric."""
    clusters = None
    if panel.is_clustered:
        clusters = panel.clusters
    values = panel.values[metric.name]
    per = panel.per.get(metric.name)
    estimates = []
    for model, column in enumerate(values.T):
        known = ~np.isnan(column)
        denominators = None
        if per is not None:
            denominators = per[known, model]
        units = None
        if clusters is not None:
            units = clusters[known]
        estimate = metric.statistic.estimate(
            column[known],
            denominators,
            units=units,
            draws=panel.draws,
        )
        estimates.append(estimate)
    return estimates


def _ranks(estimates: Sequence[Estimate], *, higher: bool) -> tuple[int | None, ...]:
    # None becomes NaN, which is no figure.
    values = np.array([estimate.value for estimate in estimates], float)
    n_better, _ = count_better(values[None], higher=higher)
    ranks: list[int | None] = []
    for estimate, n in zip(estimates, n_better[0].tolist(), strict=True):
        if estimate.value is None:
            ranks.append(None)
        else:
            ranks.append(n + 1)
    return tuple(ranks)


def round_mantissa(figures: Values) -> Values:
    """Return figures to twelve digits, so that sums in another order are equal."""
    mantissa, exponent = np.frexp(figures)
    # 40 bits are twelve decimal digits.
    rounded = np.round(np.ldexp(mantissa, _BITS))
    return np.asarray(np.ldexp(rounded, exponent - _BITS))


def count_better(figures: Values, *, higher: bool) -> tuple[Codes, Codes]:
    """Return in each row how many figures are better than each one, and how many equal it.

    `figures` is rows by models; NaN is no figure.
    """
    if higher:
        figures = -figures
    ordered = round_mantissa(figures)
    these = ordered[:, :, None]
    others = ordered[:, None, :]
    n_better = (others < these).sum(axis=2)
    n_equal = (others == these).sum(axis=2)
    return n_better, n_equal


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
    is_missing = np.isnan(figures)
    has_figure = np.asarray(~is_missing.all(axis=0))
    worst = np.inf
    if higher:
        worst = -np.inf
    values = np.where(is_missing, worst, figures)[:, has_figure]
    better, tied = count_better(values, higher=higher)
    models = np.flatnonzero(has_figure)
    # Ranks are counted from 0 here.
    ranks = np.arange(len(models))
    by_model: list[RankShares | None] = [None] * len(has_figure)
    for model, first, n_tied in zip(models, better.T, tied.T, strict=True):
        # Models that tie take the ranks from `first` on, as many as there are models, evenly.
        first_rank = first[:, None]
        end_rank = (first + n_tied)[:, None]
        is_shared = (first_rank <= ranks) & (ranks < end_rank)
        by_resample = np.where(is_shared, 1 / n_tied[:, None], 0.0)
        shares = by_resample.mean(axis=0)
        from_best = _first_beyond_tail(shares)
        from_worst = _first_beyond_tail(shares[::-1])
        by_model[model] = RankShares(
            shares=tuple(map(float, shares)),
            low=from_best + 1,
            high=len(ranks) - from_worst,
        )
    return tuple(by_model)


def _first_beyond_tail(shares: Values) -> int:
    """Return the place of the first share up to which 2.5% are reached."""
    # Shares that add up to 2.5% but for rounding reach it.
    return int(np.searchsorted(np.cumsum(shares), _TAIL - 1e-12))


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
    tally = rubric.tally
    if tally is None:
        return {}
    rows: list[str | None] = [None]
    rows += [label.name for label in rubric.facet(tally.rows).labels]
    names: dict[Cut, str] = {}
    for row in rows:
        for column in rubric.facet(tally.columns).labels:
            labels = {tally.columns: column.name}
            if row:
                labels[tally.rows] = row
            (measure,) = rubric.counting(tally.kind, labels)
            names[row, column.name] = measure.name
    return names


def item_counts(panel: ScoreMatrix, rubric: Rubric) -> list[ItemCounts]:
    """Return the items of each model that was judged by `rubric`, in the order of the panel.

    Models without a scored study are left out; a rubric without a tally gives no counts.
    """
    clusters = None
    if panel.is_clustered:
        clusters = panel.clusters
    by_model = []
    for model, counts in enumerate(panel.tallies.get(rubric.name, ())):
        is_known = ~np.isnan(counts)
        n_scored = int(is_known.any(axis=0).sum())
        if not n_scored:
            continue
        cells = {}
        for cut, column, known in zip(cuts(rubric), counts, is_known, strict=True):
            # The counts are kept as float32; their means are not.
            values = column[known].astype(float)
            units = None
            if clusters is not None:
                units = clusters[known]
            mean = mean_interval(values, (0.0, None), units)
            cells[cut] = replace(mean, numerator=float(values.sum()))
        by_model.append(ItemCounts(model, n_scored, cells))
    return by_model

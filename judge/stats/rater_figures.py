"""Figures of a rater against readers: all of them, or each set that leaves one reader out.

A judge is compared with all readers, which papers report. A reader can only be compared with the
others. So that the two can be compared, a judge takes each reader's place in turn, on the studies
that this reader has, and the mean over these sets is its figure.

The readers are taken as they are: an interval covers the choice of the studies. With random readers
it covers the choice of the readers too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    Z_95,
    Bools,
    Codes,
    Resamples,
    Values,
    interval,
)

LEAST_READERS = 3
"""Of fewer readers nothing can be said about how readers differ."""

LEAST_POSITIVES = 5
"""With fewer studies that have an error, or have none, kappa has no interval."""


@dataclass(frozen=True, kw_only=True)
class FigureDraws:
    """Figures of one rater against a set of readers, in every resample.

    `draws` has an array for each figure, the studies as they are first; a figure is NaN where a
    resample does not define it. A figure without a value is in `reasons`, one that is to have no
    interval in `no_interval`, both with the reason. `known` says on which studies the figures rest,
    or pairs of studies, and `units` has the number of each one's patient.
    """

    draws: Mapping[str, Values]
    known: Bools
    units: Codes
    has_patients: bool
    reasons: Mapping[str, str] = field(default_factory=dict)
    no_interval: Mapping[str, str] = field(default_factory=dict)

    def value(self, name: str) -> float:
        """Return a figure of the studies as they are, NaN where it has no value."""
        if name not in self.draws:
            return float("nan")
        return float(self.draws[name][0])

    def estimate(self, name: str) -> Estimate:
        """Return a figure with its interval, or with the reason why it has none."""
        without_value = Estimate(
            n=int(self.known.sum()),
            n_undefined=int((~self.known).sum()),
        )
        value = self.value(name)
        if np.isnan(value):
            reason = self.reasons.get(name, "it is not defined")
            return replace(without_value, reason=reason)
        estimate = replace(without_value, value=value)
        if name in self.no_interval:
            return replace(estimate, reason=self.no_interval[name])
        n_units = len(np.unique(self.units[self.known]))
        words = "studies"
        if self.has_patients:
            words = "patients"
        resampled = self.draws[name][1:]
        low, high, why_not = interval(resampled, n_units, words)
        return replace(estimate, low=low, high=high, reason=why_not)


Measure = Callable[[Values, Values], FigureDraws]
"""Returns the figures of a rater's column against the columns of readers."""


@dataclass(frozen=True, kw_only=True)
class RaterFigures:
    """A rater's figures against readers.

    `rater` is the number of its column, None for the mean over all readers. `is_left_out` says that
    the figures are the mean over `n_sets` sets that leave one reader out; else they are those of
    all readers. `without` has the figures if each reader in turn had not been there; it is None
    where the readers are fixed. `limits` are the least and the greatest value of a figure, -1 and 1
    if not named.
    """

    rater: int | None
    is_left_out: bool
    n_sets: int
    figures: FigureDraws
    without: tuple[Mapping[str, float], ...] | None = None
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def estimate(self, name: str) -> Estimate:
        """Return a figure with its interval."""
        found = self.figures.estimate(name)
        if self.without is None or found.value is None or found.low is None:
            return found
        without = [one[name] for one in self.without]
        return two_way(
            found,
            draws=self.figures.draws[name],
            without=without,
            limits=self.limits.get(name, (-1, 1)),
        )


def rater_figures(
    measure: Measure,
    values: Values,
    n_judges: int,
    *,
    random_readers: bool = False,
    shares: Sequence[str] = (),
) -> list[RaterFigures]:
    """Return the figures of all raters.

    `values` is studies by raters, the judges first. For each judge there are those against all
    readers; with two readers or more also those of the sets that leave one out, those of each
    reader, and their mean. `shares` are the figures that lie between 0 and 1.
    """
    limits = dict.fromkeys(shares, (0.0, 1.0))
    rows = _rater_figures(measure, values, n_judges, random_readers=random_readers)
    return [replace(row, limits=limits) for row in rows]


def _rater_figures(
    measure: Measure, values: Values, n_judges: int, *, random_readers: bool
) -> list[RaterFigures]:
    judges, readers = values[:, :n_judges], values[:, n_judges:]
    rows = []
    for number, judge in enumerate(judges.T):
        alone = RaterFigures(
            rater=number,
            is_left_out=False,
            n_sets=0,
            figures=measure(judge, readers),
        )
        against_all = _against_all(measure, judge)
        rows.append(_random(alone, readers, against_all, is_random=random_readers))
    if readers.shape[1] < 2:
        return rows
    for number, judge in enumerate(judges.T):
        of_sets = _of_sets(measure, judge)
        row = _row(number, of_sets(readers))
        rows.append(_random(row, readers, of_sets, is_random=random_readers))
    of_readers = _of_readers(measure)
    by_reader = of_readers(readers)
    for number, figures in enumerate(by_reader):
        rows.append(_row(n_judges + number, [figures]))
    mean = _row(None, by_reader)
    rows.append(_random(mean, readers, of_readers, is_random=random_readers))
    return rows


def _row(rater: int | None, sets: Sequence[FigureDraws]) -> RaterFigures:
    return RaterFigures(
        rater=rater, is_left_out=True, n_sets=len(sets), figures=mean_of_sets(sets)
    )


_Sets = Callable[[Values], list[FigureDraws]]


def _against_all(measure: Measure, judge: Values) -> _Sets:
    return lambda readers: [measure(judge, readers)]


def _of_sets(measure: Measure, judge: Values) -> _Sets:
    """Return a function that gives a judge's figures in the place of each reader."""

    def sets(readers: Values) -> list[FigureDraws]:
        found = []
        for number, reader in enumerate(readers.T):
            # On the studies that the reader has, so that both are asked about the same.
            in_place = np.where(np.isnan(reader), np.nan, judge)
            others = np.delete(readers, number, axis=1)
            found.append(measure(in_place, others))
        return found

    return sets


def _of_readers(measure: Measure) -> _Sets:
    """Return a function that gives the figures of each reader against the others."""

    def sets(readers: Values) -> list[FigureDraws]:
        found = []
        for number, reader in enumerate(readers.T):
            others = np.delete(readers, number, axis=1)
            found.append(measure(reader, others))
        return found

    return sets


def _random(
    row: RaterFigures, readers: Values, sets: _Sets, *, is_random: bool
) -> RaterFigures:
    """Return the row with its figures without each reader, where readers are random."""
    if not is_random:
        return row
    n = readers.shape[1]
    if n < LEAST_READERS:
        reason = (
            f"an interval over readers needs {LEAST_READERS} readers, there are {n}"
        )
        no_interval = dict.fromkeys(row.figures.draws, reason)
        figures = replace(row.figures, no_interval=no_interval)
        return replace(row, figures=figures)
    without = []
    for number in range(n):
        others = np.delete(readers, number, axis=1)
        figures = mean_of_sets(sets(others))
        without.append({name: figures.value(name) for name in row.figures.draws})
    return replace(row, without=tuple(without))


def mean_of_sets(sets: Sequence[FigureDraws]) -> FigureDraws:
    """Return the mean of each figure over the sets in which it has a value."""
    if len(sets) == 1:
        return sets[0]
    draws: dict[str, Values] = {}
    reasons: dict[str, str] = {}
    no_interval: dict[str, str] = {}
    names: dict[str, None] = {}
    for one in sets:
        names |= dict.fromkeys((*one.draws, *one.reasons))
    for name in names:
        having = [one for one in sets if not np.isnan(one.value(name))]
        if not having:
            of_sets = [one.reasons[name] for one in sets if name in one.reasons]
            reasons[name] = of_sets[0]
            continue
        draws[name] = np.mean([one.draws[name] for one in having], axis=0)
        for one in having:
            if name in one.no_interval:
                no_interval[name] = one.no_interval[name]
    return FigureDraws(
        draws=draws,
        known=np.any([one.known for one in sets], axis=0),
        units=sets[0].units,
        has_patients=sets[0].has_patients,
        reasons=reasons,
        no_interval=no_interval,
    )


def two_way(
    found: Estimate,
    draws: Values,
    without: Sequence[float],
    limits: tuple[float, float] = (-1, 1),
) -> Estimate:
    """Return an estimate with an interval that covers the choice of the readers too.

    `draws` are those of studies with the readers fixed, `without` the figure without each of the m
    readers. Their jackknife variance, (m - 1) / m times the sum of squares about their mean [Efron
    and Tibshirani 1993], is added to the variance over studies. The interval is widened about the
    value, on both sides alike: by the root of the ratio of the variances, and from the normal
    distribution to Student's t, whose degrees of freedom are Satterthwaite's, m - 1 for the readers
    and endless for the studies [Satterthwaite 1946]. It stays within the `limits` of the figure.
    """
    from scipy.special import stdtrit

    m = len(without)
    if np.isnan(without).any():
        reason = "without one of the readers it has no value"
        return replace(found, low=None, high=None, reason=reason)
    if found.value is None or found.low is None or found.high is None:
        return found
    variance_over_studies = float(np.nanvar(draws[1:]))
    squares = (np.array(without) - np.mean(without)) ** 2
    variance_over_readers = (m - 1) / m * float(squares.sum())
    # Without a spread of the one there is no ratio to widen by, of the other nothing to add.
    if variance_over_studies <= 0 or variance_over_readers <= 0:
        return found
    total = variance_over_studies + variance_over_readers
    freedom = (m - 1) * (total / variance_over_readers) ** 2
    t = float(stdtrit(freedom, 0.975))
    factor = np.sqrt(total / variance_over_studies) * t / Z_95
    low = found.value - factor * (found.value - found.low)
    high = found.value + factor * (found.high - found.value)
    least, most = limits
    return replace(found, low=max(least, float(low)), high=min(most, float(high)))


def difference(
    first: RaterFigures, second: RaterFigures, names: Sequence[str]
) -> dict[str, Estimate]:
    """Return the paired difference of two judges in each figure, the first less the second.

    Both must rest on the same studies. Raises `ValueError` where they do not.
    """
    if not np.array_equal(first.figures.known, second.figures.known):
        raise ValueError("the two rest on different studies")
    estimates = {}
    reasons = {**second.figures.reasons, **first.figures.reasons}
    no_interval = {**second.figures.no_interval, **first.figures.no_interval}
    for name in names:
        draws = {}
        if name in first.figures.draws and name in second.figures.draws:
            differences = first.figures.draws[name] - second.figures.draws[name]
            # Two judges who say the same everywhere: sums in another order leave a rest.
            differences[np.abs(differences) < 1e-12] = 0
            draws[name] = differences
        figures = replace(
            first.figures,
            draws=draws,
            reasons=reasons,
            no_interval=no_interval,
        )
        without = None
        if first.without is not None and second.without is not None:
            of_readers = []
            for one, other in zip(first.without, second.without, strict=True):
                value = one.get(name, np.nan)
                other_value = other.get(name, np.nan)
                of_readers.append({name: value - other_value})
            without = tuple(of_readers)
        row = replace(
            first,
            figures=figures,
            without=without,
            # Of figures between -1 and 1.
            limits={name: (-2.0, 2.0)},
        )
        estimate = row.estimate(name)
        if estimate.value == 0 and estimate.low is None:
            reason = "the two have the same value in all resamples"
            estimate = replace(estimate, reason=reason)
        estimates[name] = estimate
    return estimates


def resampled_draws(
    draws: Mapping[str, Values],
    known: Bools,
    resamples: Resamples,
    reasons: Mapping[str, str] | None = None,
    no_interval: Mapping[str, str] | None = None,
) -> FigureDraws:
    """Return figures of `resamples` over the studies that are `known`."""
    return FigureDraws(
        draws=draws,
        known=known,
        units=resamples.units,
        has_patients=resamples.has_patients,
        reasons=reasons or {},
        no_interval=no_interval or {},
    )


def plain_figures(row: RaterFigures, names: Sequence[str]) -> dict[str, Any]:
    """Return a row's figures as JSON's types, with the number of studies and of sets."""
    figures = {name: row.estimate(name).plain() for name in names}
    return {"n": int(row.figures.known.sum()), "n_sets": row.n_sets, **figures}


def judge_differences(
    measure: Measure,
    rows: Sequence[RaterFigures],
    values: Values,
    n_judges: int,
    names: Sequence[str],
    *,
    pairs: Sequence[tuple[int, int]],
    random_readers: bool = False,
) -> list[tuple[int, int, dict[str, Estimate]]]:
    """Return the paired differences of `pairs` of judges, by their numbers.

    `rows` are those of `rater_figures` for the same values. Two judges are compared on the studies
    that both have, as readers are where there are two readers or more, else against the reader.
    """
    found = []
    for first, second in pairs:
        sides = [_last(rows, first), _last(rows, second)]
        if not np.array_equal(sides[0].figures.known, sides[1].figures.known):
            judges = values[:, [first, second]]
            judges = np.where(
                np.isnan(judges).any(axis=1, keepdims=True), np.nan, judges
            )
            shared = np.column_stack([judges, values[:, n_judges:]])
            again = _rater_figures(measure, shared, 2, random_readers=random_readers)
            sides = [_last(again, 0), _last(again, 1)]
        found.append((first, second, difference(sides[0], sides[1], names)))
    return found


def _last(rows: Sequence[RaterFigures], rater: int) -> RaterFigures:
    """Return a judge's figures as a reader's are made, else those against all readers."""
    own = [row for row in rows if row.rater == rater]
    return next((row for row in reversed(own) if row.figures.draws), own[0])

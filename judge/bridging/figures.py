"""The figures of a bridge, from two judges' values: shift, slope, agreement, and figures restated.

All intervals but those of restated figures come from one bootstrap. It draws patients, or studies,
from all studies of the old runs. In each resample a study that both judges scored counts for those
of its stratum that the resample has, so that the bootstrap knows of the draw of the studies, of the
draw of the sample among them, and that models and figures share both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from judge.stats.agreement import detection_measure
from judge.stats.deming import deming
from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    FEWER_RESAMPLES,
    LEAST_UNITS,
    Z_95,
    Bools,
    Codes,
    Draws,
    Resamples,
    Values,
    draw_resamples,
    generator,
    interval,
    student,
)
from judge.stats.metric import Metric
from judge.stats.non_inferiority import tango
from judge.stats.prediction_powered import Corrected, corrected
from judge.stats.scores import ScoreMatrix, count_better, group_figures
from judge.stats.significance import ALPHA, PairTest, holm
from judge.stats.statistic import OfMean, OfSums

Answer = Literal["yes", "no", "not known"]
Changed = Literal["same", "lost", "gained", "reversed"]
AGREEMENT = ("agreement", "kappa", "ac1")
_LEAST_SLOPE = 10
"""Studies that each judge gives another value than its most frequent one, for a slope."""
_NO_ROOM = 1e-6
"""A shift that is so near to the margin decides for no number of studies."""


@dataclass(frozen=True, kw_only=True)
class TwoJudges:
    """The values of models' reports by an old judge, and by a new one for a part of them.

    `new` has the metrics, models and studies of `old`, NaN where the new judge gave no score.
    `strata` numbers the stratum of each study and model, -1 where the old judge gave no score.
    `is_scored` are the studies that both judges scored, `is_drawn` those that were to be judged
    again, all of them studies by models.
    """

    old: ScoreMatrix
    new: ScoreMatrix
    strata: Codes
    is_drawn: Bools
    is_scored: Bools

    @property
    def n_drawn(self) -> list[int]:
        """How many studies of each model were to be judged again."""
        counts: list[int] = self.is_drawn.sum(axis=0).tolist()
        return counts


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """The reports that both judges scored, a row each, and how they are resampled.

    `models`, `studies` and `units` have the numbers of each row's model, study and patient.
    `resamples` weigh the rows; `everything` weighs the patients of all studies.
    """

    models: Codes
    studies: Codes
    units: Codes
    resamples: Resamples
    everything: Resamples

    @classmethod
    def of(cls, judges: TwoJudges, draws: Draws) -> Pairs:
        """Return the pairs of two judges with their weights."""
        n_studies = len(judges.old.study_ids)
        rng = generator(draws.seed, "bridge", {})
        resamples = draws.resamples or FEWER_RESAMPLES
        clusters = judges.old.clusters
        if not judges.old.is_clustered:
            clusters = None
        everything = draw_resamples(clusters, n_studies, rng, resamples)
        models, studies, weights = [], [], []
        for model in range(len(judges.old.models)):
            rows = np.flatnonzero(judges.is_scored[:, model])
            models.append(np.full(len(rows), model))
            studies.append(rows)
            weights.append(_row_weights(judges, model, rows, everything))
        all_rows = np.concatenate(studies)
        weighed = Resamples(
            units=np.arange(len(all_rows)),
            weights=np.concatenate(weights, axis=1),
            has_patients=everything.has_patients,
        )
        return cls(
            models=np.concatenate(models),
            studies=all_rows,
            units=everything.units[all_rows],
            resamples=weighed,
            everything=everything,
        )

    def values(self, grid: Values) -> Values:
        """Return the rows' values of a grid of studies by models."""
        column: Values = grid[self.studies, self.models]
        return column

    def estimate(self, draws: Values, known: Bools) -> Estimate:
        """Return the first of the figures, one a resample, with its interval by percentiles."""
        found = Estimate(n=int(known.sum()), value=float(draws[0]))
        low, high, reason = interval(draws[1:], self.n_units(known), self.word)
        return replace(found, low=low, high=high, reason=reason)

    def n_units(self, known: Bools) -> int:
        """Return how many patients, or studies, rows have."""
        return len(np.unique(self.units[known]))

    def effective(self, known: Bools) -> float:
        """Return how many independent studies the rows are worth by their weights [Kish 1965]."""
        weights = np.bincount(self.units[known], self.resamples.weights[0, known])
        return float(weights.sum() ** 2 / (weights**2).sum())

    @property
    def word(self) -> str:
        """What is drawn."""
        if self.resamples.has_patients:
            return "patients"
        return "studies"


def _row_weights(
    judges: TwoJudges, model: int, rows: Codes, everything: Resamples
) -> Values:
    """Return how much each row counts in each resample: for those of its stratum."""
    strata = judges.strata[:, model]
    n_strata = int(strata.max()) + 1
    is_of = (strata[:, None] == np.arange(n_strata)).astype(float)
    sizes = everything.sums(is_of)
    scored = everything.sums(is_of * judges.is_scored[:, model, None])
    worth = np.divide(sizes, scored, out=np.zeros_like(sizes), where=scored > 0)
    drawn = everything.weights[:, everything.units[rows]]
    return np.asarray(drawn * worth[:, strata[rows]])


# Shift and slope


@dataclass(frozen=True, kw_only=True)
class Shift:
    """How one figure differs between the judges on the reports that both scored.

    `model` None is all models together, an empty `group` all studies. `old` and `new` are the
    figures of the same reports, weighted as the old runs have them; `shift` is new less old.
    `slope` is of Deming's line over the studies' values, with its `intercept`; `slopes` are its
    bounds if one judge had all the error. `answer` says whether the shift is within the margin, and
    `n_needed` how many studies of each run would decide it, where it is not known.
    """

    name: str
    label: str
    model: str | None
    group: Mapping[str, object]
    is_share: bool
    n: int
    old: float | None = None
    new: float | None = None
    shift: Estimate
    slope: Estimate
    intercept: float | None = None
    slopes: tuple[float, float] | None = None
    answer: Answer | None = None
    why: str = ""
    n_needed: int | None = None

    @property
    def is_shifted(self) -> bool:
        """Whether the interval of the shift leaves 0 out."""
        low, high = self.shift.low, self.shift.high
        if low is None or high is None:
            return False
        return low > 0 or high < 0


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """What is compared: a metric, or the count of a category as one."""

    name: str
    label: str
    statistic: OfSums
    is_whole: bool
    old: Values
    new: Values
    old_per: Values | None = None
    new_per: Values | None = None


def shift_of(
    pairs: Pairs,
    figure: Quantity,
    rows: Bools,
    *,
    model: str | None = None,
    group: Mapping[str, object] | None = None,
) -> Shift:
    """Return how a figure differs on some rows."""
    known = rows & ~np.isnan(figure.old) & ~np.isnan(figure.new)
    is_share = figure.statistic.is_share
    found = Shift(
        name=figure.name,
        label=figure.label,
        model=model,
        group=dict(group or {}),
        is_share=is_share,
        n=int(known.sum()),
        shift=Estimate(n=int(known.sum())),
        slope=Estimate(reason="a rate has no slope"),
    )
    if not known.any():
        why = "no study was scored by both"
        return replace(found, shift=Estimate(n=0, reason=why))
    columns = []
    for values, per in (
        (figure.old, figure.old_per),
        (figure.new, figure.new_per),
    ):
        divisors = np.ones_like(values)
        if per is not None:
            divisors = per
        columns += [np.where(known, values, 0), np.where(known, divisors, 0)]
    old_sum, old_per, new_sum, new_per = pairs.resamples.sums(
        np.column_stack(columns)
    ).T
    of_ratios = figure.statistic.of_ratios
    old = of_ratios(_ratio(old_sum, old_per))
    new = of_ratios(_ratio(new_sum, new_per))
    draws = new - old
    if math.isnan(draws[0]):
        why = "one of the figures has no value"
        return replace(found, shift=Estimate(n=found.n, reason=why))
    found = replace(found, old=float(old[0]), new=float(new[0]))
    if is_share:
        shift = _share_shift(pairs, figure, known, draws)
        return replace(found, shift=shift)
    allowance = _allowance(pairs, figure, known) / float(
        old_per[0] / _size(pairs, known)
    )
    mean = float(_ratio(new_sum, new_per)[0])
    ends = of_ratios(np.array([mean, mean + allowance]))
    shift = _with_allowance(pairs.estimate(draws, known), abs(float(ends[1] - ends[0])))
    found = replace(found, shift=shift)
    if figure.old_per is not None:
        no_slope = Estimate(reason="a ratio of sums has no slope")
        return replace(found, slope=no_slope)
    return _with_slope(found, pairs, figure, known)


def _size(pairs: Pairs, known: Bools) -> float:
    return float(pairs.resamples.weights[0, known].sum())


def _ratio(top: Values, under: Values) -> Values:
    undefined = np.full_like(top, np.nan)
    return np.asarray(np.divide(top, under, out=undefined, where=under > 0))


def _share_shift(
    pairs: Pairs, figure: Quantity, known: Bools, draws: Values
) -> Estimate:
    """Return the shift of a rate with the score interval of paired shares [Tango 1998].

    A bootstrap of few studies that differ is too narrow, and of none has no width. The studies
    count for as many independent ones as the variance of the bootstrap says [Rao and Scott 1992].
    """
    weights = pairs.resamples.weights[0] * known
    weights = weights / weights.sum()
    gained = float(weights @ ((figure.new == 1) & (figure.old == 0)))
    lost = float(weights @ ((figure.new == 0) & (figure.old == 1)))
    n_units = pairs.n_units(known)
    found = Estimate(n=int(known.sum()), value=float(draws[0]))
    if n_units < LEAST_UNITS:
        why = f"an interval needs {LEAST_UNITS} {pairs.word}, there are {n_units}"
        return replace(found, reason=why)
    n = min(pairs.effective(known), n_units)
    spread = float(np.nanvar(draws[1:]))
    simple = gained + lost - (gained - lost) ** 2
    if spread > 0 and simple > 0:
        # Not more than there are: a sample that is drawn well may look larger by chance.
        n = min(simple / spread, float(known.sum()))
    low, high = tango(n, n * gained, n * lost, student(n_units - 1))
    return replace(found, low=low, high=high)


def _allowance(pairs: Pairs, figure: Quantity, known: Bools) -> float:
    """Return how far a mean may have moved by studies that differ and were not drawn.

    Where no study of n differs, up to z² / (n + z²) of all may, as Wilson's interval of 0 of n
    says, each by as much as two studies drawn at random: by one at least for a count, and by the
    whole scale where all values are alike.
    """
    weights = pairs.resamples.weights[0] * known
    weights = weights / weights.sum()
    variances = []
    for values in (figure.old, figure.new):
        filled = np.where(known, values, 0)
        mean = float(weights @ filled)
        variances.append(float(weights @ (filled - mean) ** 2))
    apart = math.sqrt(2 * max(0.0, *variances))
    if figure.is_whole:
        apart = max(1.0, apart)
    least, greatest = figure.statistic.scale or (None, None)
    if apart == 0 and least is not None and greatest is not None:
        apart = greatest - least
    shrink = Z_95**2
    return apart * shrink / (pairs.effective(known) + shrink)


def _with_allowance(estimate: Estimate, allowance: float) -> Estimate:
    """Return an interval with an allowance added to each half, as independent errors add up."""
    value, low, high = estimate.value, estimate.low, estimate.high
    if value is None:
        return estimate
    if low is None or high is None:
        is_without_spread = bool(estimate.reason and "same value" in estimate.reason)
        if not is_without_spread or not allowance:
            return estimate
        low = high = value
    below = math.hypot(value - low, allowance)
    above = math.hypot(high - value, allowance)
    return replace(estimate, low=value - below, high=value + above, reason=None)


def _with_slope(found: Shift, pairs: Pairs, figure: Quantity, known: Bools) -> Shift:
    x = np.where(known, figure.old, 0)
    y = np.where(known, figure.new, 0)
    for values in (x[known], y[known]):
        _, counts = np.unique(values, return_counts=True)
        if len(values) - counts.max() < _LEAST_SLOPE:
            why = (
                f"a slope needs {_LEAST_SLOPE} studies that differ from the others, by each "
                "judge"
            )
            return replace(found, slope=Estimate(n=found.n, reason=why))
    columns = np.column_stack([known.astype(float), x, y, x * x, y * y, x * y])
    line = deming(pairs.resamples.sums(columns))
    if math.isnan(line.slope[0]):
        why = "the two judges' values do not rise together"
        return replace(found, slope=Estimate(n=found.n, reason=why))
    return replace(
        found,
        slope=pairs.estimate(line.slope, known),
        intercept=float(line.intercept[0]),
        slopes=(float(line.least[0]), float(line.most[0])),
    )


def within(shift: Shift, margin: float, *, n_drawn: int, lost: float) -> Shift:
    """Return the shift of a rate with the answer whether it is within the margin.

    `yes` where its whole interval is, `no` where none of it is, else `not known`, with the studies
    of each run that would decide if the shift stays as it is: the interval narrows as 1 / the root
    of their number. `lost` is the share of the reports that the new judge did not score: the answer
    must stay the same with each of them at its worst.
    """
    value, low, high = shift.shift.value, shift.shift.low, shift.shift.high
    if value is None or low is None or high is None:
        return replace(shift, answer="not known")
    at_worst = _answer((1 - lost) * low - lost, (1 - lost) * high + lost, margin)
    answer = _answer(low, high, margin)
    if answer != "not known" and answer == at_worst:
        return replace(shift, answer=answer)
    if answer != "not known":
        why = "with the reports that have no score at their worst"
        return replace(shift, answer="not known", why=why)
    # The end that lies on the other side of the margin than the shift.
    is_inside = abs(value) <= margin
    outward = high - value
    inward = value - low
    if value < 0:
        outward, inward = inward, outward
    half = outward if is_inside else inward
    room = abs(margin - abs(value))
    if room < _NO_ROOM:
        return replace(shift, answer="not known")
    needed = math.ceil(n_drawn * (half / room) ** 2)
    return replace(shift, answer="not known", n_needed=max(needed, n_drawn + 1))


def _answer(low: float, high: float, margin: float) -> Answer:
    if -margin <= low and high <= margin:
        return "yes"
    if low > margin or high < -margin:
        return "no"
    return "not known"


# Agreement


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How far two judges say yes of the same reports: `agreement`, `kappa` and `ac1`.

    `old` and `new` are the shares of reports of which each judge says yes.
    """

    name: str
    label: str
    n: int
    old: float | None
    new: float | None
    figures: Mapping[str, Estimate]


def agreement_of(
    pairs: Pairs, name: str, label: str, old: Values, new: Values
) -> Agreement:
    """Return how far two judges agree on 1 and 0 over all rows, with the reports' weights."""
    found = detection_measure(pairs.resamples)(new, old[:, None])
    found = replace(found, units=pairs.units)
    rates = []
    for rate in ("reader_rate", "judge_rate"):
        value = found.value(rate)
        rates.append(None if math.isnan(value) else value)
    return Agreement(
        name=name,
        label=label,
        n=int(found.known.sum()),
        old=rates[0],
        new=rates[1],
        figures={name: found.estimate(name) for name in AGREEMENT},
    )


# Restated figures


@dataclass(frozen=True, kw_only=True)
class Restated:
    """A figure of a model by the old judge, and on the new judge's scale."""

    model: str
    metric: Metric
    group: Mapping[str, object]
    old: Estimate
    new: Corrected
    rank: int | None = None
    new_rank: int | None = None


def restated(judges: TwoJudges, group: Mapping[str, object]) -> list[Restated]:
    """Return the restated figures of all models, with their ranks by both judges.

    The estimate is a regression (difference) estimator: the new judge's weighted mean in the
    sample, plus lambda times what the old judge's mean over all studies is above that in the
    sample (`prediction_powered.corrected`). Its variance is that of both.
    """
    by_old = group_figures(judges.old)
    clusters = None
    if judges.old.is_clustered:
        clusters = judges.old.clusters
    rows = []
    for metric, statistic in restatable(judges.old):
        old = judges.old.values[metric.name]
        new = np.where(judges.is_scored, judges.new.values[metric.name], np.nan)
        of_metric = []
        for model in range(len(judges.old.models)):
            found = corrected(
                old[:, model],
                new[:, model],
                statistic,
                np.maximum(judges.strata[:, model], 0),
                clusters,
            )
            of_metric.append(_in_own_words(found))
        values = [np.nan if one.value is None else one.value for one in of_metric]
        n_better, _ = count_better(
            np.array([values]), higher=statistic.higher_is_better
        )
        for model, name in enumerate(judges.old.models):
            new_rank = None
            if of_metric[model].value is not None:
                new_rank = int(n_better[0, model]) + 1
            row = Restated(
                model=name,
                metric=metric,
                group=group,
                old=by_old.estimates[metric.name][model],
                new=of_metric[model],
                rank=by_old.ranks[metric.name][model],
                new_rank=new_rank,
            )
            rows.append(row)
    return rows


def _in_own_words(found: Corrected) -> Corrected:
    """Return it with a reason that speaks of reports that both judged, not of readings."""
    if found.why_not is None:
        return found
    why = found.why_not.replace("no reading of", "no report judged by both in")
    return replace(found, why_not=why.replace("readings", "reports judged by both"))


def restatable(panel: ScoreMatrix) -> list[tuple[Metric, OfMean]]:
    """Return the metrics that are means or rates, with their statistics: they can be restated."""
    found = []
    for metric in panel.metrics:
        if isinstance(metric.statistic, OfMean):
            found.append((metric, metric.statistic))
    return found


def restated_draws(
    judges: TwoJudges, pairs: Pairs, name: str, statistic: OfMean
) -> Values:
    """Return the restated figure of each model in every resample, resamples by models."""
    everything, resamples = pairs.everything, pairs.resamples
    old = judges.old.values[name]
    is_known = ~np.isnan(old)
    filled = np.where(is_known, old, 0)
    n_all = everything.sums(is_known.astype(float))
    mean_all = _ratio(everything.sums(filled), n_all)
    square_all = _ratio(everything.sums(filled**2), n_all)
    variance_all = square_all - mean_all**2
    x = pairs.values(old)
    y = pairs.values(judges.new.values[name])
    columns = []
    for model in range(len(judges.old.models)):
        known = (pairs.models == model) & ~np.isnan(x) & ~np.isnan(y)
        xs, ys = np.where(known, x, 0), np.where(known, y, 0)
        sums = resamples.sums(np.column_stack([known.astype(float), xs, ys, xs * ys]))
        n, sum_x, sum_y, sum_xy = sums.T
        mean_x, mean_y = _ratio(sum_x, n), _ratio(sum_y, n)
        covariance = _ratio(sum_xy, n) - mean_x * mean_y
        slope = _ratio(covariance, variance_all[:, model])
        reliance = np.clip(np.nan_to_num(slope), 0, 1)
        theta = mean_y + reliance * (mean_all[:, model] - mean_x)
        columns.append(theta)
    return np.column_stack([statistic.of_ratios(column) for column in columns])


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """The test of two models by the old judge, and of their restated figures.

    `difference` is the first model's restated figure less the second's, `p_holm` its corrected
    p value, and `old_p_holm` that of the old figures by the same test. `changed` is `lost` where
    only the old difference is significant, `gained` where only the restated one is, also by the
    same test, and `reversed` where both are and differ in sign.
    """

    metric: Metric
    first: str
    second: str
    old: PairTest
    difference: Estimate
    p: float | None
    p_holm: float | None = None
    old_p_holm: float | None = None
    changed: Changed = "same"


def conclusions(
    judges: TwoJudges, pairs: Pairs, tests: Mapping[str, Sequence[PairTest]]
) -> list[Conclusion]:
    """Return each pair of models with its old test and that of its restated figures.

    The restated difference is divided by its standard error over the bootstrap and compared with
    Student's t. Holm's correction is over all of these tests together. `judge compare` tests the
    old figures by permutations, which are stricter with few studies: the bootstrap tests them too,
    so that a change of the test is never taken for one of the judge.
    """
    found: list[Conclusion] = []
    old_p_values: list[float | None] = []
    models = judges.old.models
    for metric, statistic in restatable(judges.old):
        draws = restated_draws(judges, pairs, metric.name, statistic)
        old_draws = _old_draws(judges, pairs, metric.name, statistic)
        for test in tests[metric.name]:
            rows = np.isin(pairs.models, (test.a, test.b))
            n_units = pairs.n_units(rows)
            difference, p = _tested(draws[:, test.a] - draws[:, test.b], n_units)
            one = Conclusion(
                metric=metric,
                first=models[test.a],
                second=models[test.b],
                old=test,
                difference=difference,
                p=p,
            )
            found.append(one)
            of_pair = old_draws[:, test.a] - old_draws[:, test.b]
            _, old_p = _tested(of_pair, pairs.everything.weights.shape[1])
            old_p_values.append(old_p)
    corrected_p = holm([one.p for one in found])
    corrected_old = holm(old_p_values)
    decided = []
    for one, p_holm, old_p_holm in zip(found, corrected_p, corrected_old, strict=True):
        tested = replace(one, p_holm=p_holm, old_p_holm=old_p_holm)
        decided.append(replace(tested, changed=_changed(tested)))
    return decided


def _old_draws(judges: TwoJudges, pairs: Pairs, name: str, statistic: OfMean) -> Values:
    """Return the old judge's figure of each model in every resample, resamples by models."""
    old = judges.old.values[name]
    is_known = ~np.isnan(old)
    n_known = pairs.everything.sums(is_known.astype(float))
    sums = pairs.everything.sums(np.where(is_known, old, 0))
    return statistic.of_ratios(_ratio(sums, n_known))


def _tested(draws: Values, n_units: int) -> tuple[Estimate, float | None]:
    """Return a difference with its interval, and the p-value that it is 0."""
    from scipy.special import stdtr

    value = float(draws[0])
    if math.isnan(value):
        return Estimate(reason="a figure has no value"), None
    if n_units < LEAST_UNITS:
        return Estimate(value=value, reason="too few studies"), None
    error = float(np.nanstd(draws[1:], ddof=1))
    if not error > 0:
        return Estimate(value=value, reason="nothing differs"), None
    freedom = n_units - 1
    half = student(freedom) * error
    p = 2 * float(stdtr(freedom, -abs(value) / error))
    return Estimate(value=value, low=value - half, high=value + half), p


def _changed(one: Conclusion) -> Changed:
    was = one.old.is_significant
    was_by_bootstrap = one.old_p_holm is not None and one.old_p_holm < ALPHA
    now = one.p_holm is not None and one.p_holm < ALPHA
    if was and not now:
        return "lost"
    if now and not was and not was_by_bootstrap:
        return "gained"
    if not (was and now):
        return "same"
    before, after = one.old.difference or 0.0, one.difference.value or 0.0
    if before * after < 0:
        return "reversed"
    return "same"

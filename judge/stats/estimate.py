"""A statistic of a set of studies with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from judge.rubrics.contract import Scale, Statistic

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

Z_95 = 1.959963984540054
"""The 97.5% point of the standard normal distribution."""

_RESAMPLES = 2000
_SEED = 20240612
_CHUNK = 2**24


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number of a set of scored studies with its 95% interval.

    `n` studies have what it is made of, `n_undefined` have not. `value` is None where no study
    has it, or the denominator is 0; `low` and `high` where an interval is not defined. A rate
    is `k` of `n`; a ratio is `numerator` / `denominator`, sums over the `n` studies. Where
    figures are expected to be missing, `reason` says why the value is, or else the interval.
    """

    n: int
    value: float | None
    low: float | None
    high: float | None
    n_undefined: int = 0
    k: int | None = None
    numerator: float | None = None
    denominator: float | None = None
    reason: str | None = None

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types; what this kind of statistic has not is left out."""
        always = ("n", "value", "low", "high", "n_undefined")
        return {
            name: value
            for name, value in asdict(self).items()
            if name in always or value is not None
        }


def estimate(scored: pd.DataFrame, statistic: Statistic) -> Estimate:
    """Return a statistic of the scored studies in a table.

    Means: `mean_interval` on the scale, of a reciprocal `inverse`; where the mean of a
    reciprocal is 0 it has no value. Rates: `wilson`. Ratios: `ratio_interval`.
    """
    is_rate = statistic.kind == "rate"
    top = summed(_columns(scored, statistic.measures), sizes=is_rate)
    bottom = summed(_columns(scored, statistic.per)) if statistic.per else top
    has = ~((top != top) | (bottom != bottom))
    top, bottom = top[has], bottom[has]
    n, n_undefined = len(top), len(scored) - len(top)
    if is_rate:
        return replace(wilson(int((top == 0).sum()), n), n_undefined=n_undefined)
    if statistic.kind == "ratio":
        over, under = float(top.sum()), float(bottom.sum())
        value = over / under if under else None
        low, high = ratio_interval(top, bottom)
        return Estimate(n, value, low, high, n_undefined, None, over, under)
    mean = mean_interval(top.tolist(), statistic.scale)
    if statistic.is_reciprocal:
        is_zero = mean.value == 0
        mean = Estimate(n, None, None, None) if is_zero else inverse(mean, statistic.scale)
    return replace(mean, n_undefined=n_undefined)


def bounds(found: Estimate, statistic: Statistic, n_unread: int) -> tuple[float, float] | None:
    """Return the least and the greatest value if all unread studies were at one end of the scale.

    None where there is no unread study or no value, for a ratio of sums, and for a scale without
    an end.
    """
    low, high = (0.0, 1.0) if statistic.kind == "rate" else statistic.scale
    if not n_unread or found.value is None or low is None or high is None:
        return None
    if statistic.kind == "ratio" or (statistic.is_reciprocal and low <= 0):
        return None
    total = found.n * (1 / found.value if statistic.is_reciprocal else found.value)
    least, most = ((total + n_unread * end) / (found.n + n_unread) for end in (low, high))
    return (1 / most, 1 / least) if statistic.is_reciprocal else (least, most)


def ratio_interval(
    numerators: NDArray[np.float64], denominators: NDArray[np.float64]
) -> tuple[float | None, float | None]:
    """Return the 95% interval of a ratio of two sums over studies: a percentile bootstrap.

    The studies are drawn anew 2,000 times, each with both of its numbers [Efron and Tibshirani
    1993, chapter 13]; the draws are the same for the same studies. Where all draws are alike and
    the ratio is a share of whole things it is Wilson's interval of these, so that three facts
    out of three are not certain to be all. None for fewer than two studies, and where a draw
    may have nothing to divide by.
    """
    import numpy as np

    n = len(numerators)
    if n < 2:
        return None, None
    random = np.random.default_rng(_SEED)
    both = np.stack([numerators, denominators], axis=1)
    chunk = max(1, _CHUNK // n)
    sizes = [min(chunk, _RESAMPLES - start) for start in range(0, _RESAMPLES, chunk)]
    draws = [random.multinomial(n, np.full(n, 1 / n), size=size) @ both for size in sizes]
    over, under = np.concatenate(draws).T
    if (under == 0).any():
        return None, None
    ratios = over / under
    low, high = (float(end) for end in np.quantile(ratios, [0.025, 0.975]))
    if math.isclose(low, high, rel_tol=1e-9, abs_tol=1e-12):
        k, of = numerators.sum(), denominators.sum()
        if 0 <= k <= of and k % 1 == of % 1 == 0:
            rate = wilson(int(k), int(of))
            return rate.low, rate.high
        return None, None
    return low, high


def summed(columns: Sequence[NDArray[np.float64]], *, sizes: bool = False) -> NDArray[np.float64]:
    """Return each study's sum over the columns, NaN where one of them is undefined.

    A rate counts the studies of which each measure is 0, not those of which the sum is: that of
    the `sizes` is 0 only there.
    """
    import numpy as np

    total: NDArray[np.float64] = np.sum(np.abs(columns) if sizes else columns, axis=0)
    return total


def _columns(scored: pd.DataFrame, names: Sequence[str]) -> list[NDArray[np.float64]]:
    return [scored[name].to_numpy(dtype=float, na_value=math.nan) for name in names]


def mean_interval(values: Sequence[float], scale: Scale | None = None) -> Estimate:
    """Return the mean of `values` with its 95% interval, which stays within the `scale`.

    Without a scale it is mean ± 1.96 standard errors, as ReXrank prints it; the standard
    error is the sample standard deviation (n - 1) over the root of n. With a scale from L to
    U the same is done to logit(p), p = (mean - L) / (U - L), and turned back, by the delta
    method with standard error se / ((U - L) p (1 - p)); from L without an end, to
    log(mean - L), se / (mean - L) [Agresti, Categorical Data Analysis, 3.1]. Where all
    values are alike the spread that was seen is none, which is not to say that there is
    none: n studies at one end of the scale have the Wilson interval of n out of n (without
    an upper end z²/n, that of no event in n [Wilson 1927]), and the variance is taken for
    1/n of the largest, (mean - L) (U - mean), at least. Values off the scale have no interval
    on it, and get the one without. A scale with an upper end alone is that turned round.
    """
    n = len(values)
    if n == 0:
        return Estimate(0, None, None, None)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(1, mean, None, None)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    low, high = scale or (None, None)
    if low is None and high is not None:  # the same, seen from the other end
        turned = mean_interval([-value for value in values], (-high, None))
        assert turned.low is not None
        assert turned.high is not None
        return Estimate(n, mean, -turned.high, -turned.low)
    if low is not None and low <= min(values) and (high is None or max(values) <= high):
        return Estimate(n, mean, *_within(mean, variance, n, low, high))
    half = 1.96 * math.sqrt(variance / n)
    if half == 0:
        return Estimate(n, mean, None, None)
    return Estimate(n, mean, mean - half, mean + half)


def count_interval(n: int, total: float, squares: float) -> Estimate:
    """Return the mean of `n` whole numbers from 0 up by their sum and the sum of their squares.

    That is `mean_interval` on a scale from 0 without an end; the sum is the `numerator`.
    """
    if n == 0:
        return Estimate(0, None, None, None, numerator=total)
    mean = total / n
    if n == 1:
        return Estimate(1, mean, None, None, numerator=total)
    # Sums of whole numbers are exact, so that little is lost in the difference.
    variance = max(0.0, squares - total * mean) / (n - 1)
    return Estimate(n, mean, *_within(mean, variance, n, 0.0, None), numerator=total)


_ENDLESS = 100.0
"""Half an interval of a logit or log that reaches the ends of the scale as floats go."""


def _within(
    mean: float, variance: float, n: int, low: float, high: float | None
) -> tuple[float, float]:
    above = mean - low
    if high is None:
        if above <= 0:
            return low, low + Z_95**2 / n
        half = Z_95 * math.sqrt(max(variance, above / n) / n) / above
        factor = math.exp(min(half, _ENDLESS))
        return low + above / factor, low + above * factor
    width = high - low
    share = above / width
    if not 0 < share < 1:
        rate = wilson(n if share >= 1 else 0, n)
        return low + width * (rate.low or 0.0), low + width * (rate.high or 0.0)
    largest = share * (1 - share)
    half = Z_95 * math.sqrt(max(variance / width**2, largest / n) / n) / largest
    odds = share / (1 - share)
    factor = math.exp(min(half, _ENDLESS))
    return low + width / (1 + factor / odds), low + width / (1 + 1 / (factor * odds))


def inverse(mean: Estimate, scale: Scale | None = None) -> Estimate:
    """Return 1 / mean with its interval.

    On a `scale` above 0 its ends are 1 / those of the mean, so that it stays within the
    scale too. Without one, as ReXrank prints it, its standard error is that of the mean
    divided by the mean's square (the delta method). Raises ZeroDivisionError for a mean of 0,
    which no score with an inverse can have.
    """
    if mean.value is None:
        return mean
    value = 1 / mean.value
    if mean.low is None or mean.high is None:
        return Estimate(mean.n, value, None, None)
    if scale is not None and (scale[0] or 0) > 0 and mean.low > 0:
        return Estimate(mean.n, value, 1 / mean.high, 1 / mean.low)
    half = (mean.high - mean.value) * value**2
    return Estimate(mean.n, value, value - half, value + half)


def wilson(k: int, n: int) -> Estimate:
    """Return k / n with its 95% score interval [Wilson 1927], which stays within 0 and 1.

    Raises ValueError unless 0 <= k <= n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no rate")
    if n == 0:
        return Estimate(0, None, None, None, k=0)
    # scipy's `binomtest` gives the same, but takes half a second to import, in every run.
    return Estimate(n, k / n, *wilson_ends(k / n, n), k=k)


def wilson_ends(rate: float, n: float, z: float = Z_95) -> tuple[float, float]:
    """Return the ends of Wilson's interval of a rate in `n` studies, which may be no whole number.

    Where a rate rests on more or less than its studies, by the design of a sample, `n` is what
    they are worth [Franco et al. 2019].
    """
    shrink = z**2 / n
    centre = (rate + shrink / 2) / (1 + shrink)
    half = z / (1 + shrink) * math.sqrt(rate * (1 - rate) / n + shrink / (4 * n))
    # At the ends the interval touches 0 or 1 exactly; rounding must not step beyond.
    low = 0.0 if rate == 0 else max(0.0, centre - half)
    high = 1.0 if rate == 1 else min(1.0, centre + half)
    return low, high

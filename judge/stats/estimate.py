"""A statistic of a set of studies with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from judge.rubrics.contract import Statistic
from judge.stats.intervals import inverse, mean_interval, wilson

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

_RESAMPLES = 2000
_SEED = 20240612
_CHUNK = 2**24


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number of a set of scored studies with its 95% interval.

    `n` studies have what it is made of, `n_undefined` have not. `value` is None where no study
    has it, or the denominator is 0; `low` and `high` where an interval is not defined. A rate
    is `k` of `n`; a ratio is `numerator` / `denominator`, sums over the `n` studies.
    """

    n: int
    value: float | None
    low: float | None
    high: float | None
    n_undefined: int = 0
    k: int | None = None
    numerator: float | None = None
    denominator: float | None = None

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
        rate = wilson(int((top == 0).sum()), n)
        return Estimate(n, rate.rate, rate.low, rate.high, n_undefined, k=rate.k)
    if statistic.kind == "ratio":
        over, under = float(top.sum()), float(bottom.sum())
        value = over / under if under else None
        low, high = ratio_interval(top, bottom)
        return Estimate(n, value, low, high, n_undefined, None, over, under)
    mean = mean_interval(top.tolist(), statistic.scale)
    if statistic.is_reciprocal:
        if mean.mean == 0:
            return Estimate(n, None, None, None, n_undefined)
        mean = inverse(mean, statistic.scale)
    return Estimate(n, mean.mean, mean.low, mean.high, n_undefined)


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
    draws = []
    chunk = max(1, _CHUNK // n)
    for start in range(0, _RESAMPLES, chunk):
        size = min(chunk, _RESAMPLES - start)
        draws.append(random.multinomial(n, np.full(n, 1 / n), size=size) @ both)
    over, under = np.concatenate(draws).T
    if (under == 0).any():
        return None, None
    ratios = over / under
    low, high = (float(end) for end in np.quantile(ratios, [0.025, 0.975]))
    if low == high:
        k, of = numerators.sum(), denominators.sum()
        if 0 <= k <= of and k % 1 == of % 1 == 0:
            rate = wilson(int(k), int(of))
            return rate.low, rate.high
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
    import numpy as np

    return [scored[name].to_numpy(dtype=float, na_value=np.nan) for name in names]

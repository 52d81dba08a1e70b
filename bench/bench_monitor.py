"""How often a monitor alarms where nothing changed, and how soon it sees a change.

    python bench/bench_monitor.py [--repetitions 2000]

Prints three Markdown tables: the share of weeks beyond one limit, p charts and u charts, with the
baseline of eight weeks drawn anew in each repetition; in how many weeks a lasting change is seen;
and how often a new version that is no worse is called worse at any look. The nominal share is
0.135%, that of the looks at most 5%.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from judge.monitoring.versions import LOOKS, stratified_test
from judge.stats.control_limits import count_limits, dispersion_of, share_limits
from judge.stats.significance import ALPHA

Values = NDArray[np.float64]
RNG = np.random.default_rng(20260101)
WEEKS_OF_BASELINE = 8
LATER_WEEKS = 26
SIZES = (10, 20, 50, 200)

share_limits = cache(share_limits)  # type: ignore[assignment]


def poisson(mean: float, n: int) -> Values:
    """Errors of n studies, as a Poisson distribution has them."""
    return RNG.poisson(mean, n).astype(float)


def skewed(mean: float, n: int) -> Values:
    """Errors of n studies whose variance is above their mean: 1 + mean / 0.6 times."""
    return RNG.poisson(RNG.gamma(0.6, mean / 0.6, n)).astype(float)


def weeks_beyond(
    rate: float, later: float, n: int, repetitions: int
) -> tuple[float, float]:
    """The part of the weeks below and above their limits; `later` is the rate then."""
    below = above = 0
    for _ in range(repetitions):
        k = int(RNG.binomial(WEEKS_OF_BASELINE * n, rate))
        limits = share_limits(k, WEEKS_OF_BASELINE * n, n)
        shares = RNG.binomial(n, later, LATER_WEEKS) / n
        below += int((shares < limits.low).sum())
        above += int((shares > limits.high).sum())
    weeks = repetitions * LATER_WEEKS
    return below / weeks, above / weeks


def weeks_of_counts_beyond(
    draw: Callable[[float, int], Values],
    mean: float,
    later: float,
    n: int,
    repetitions: int,
) -> tuple[float, float]:
    """The same for errors per study."""
    below = above = 0
    for _ in range(repetitions):
        baseline = draw(mean, WEEKS_OF_BASELINE * n)
        k = int(baseline.sum())
        limits = count_limits(k, len(baseline), n, dispersion_of(baseline))
        per_study = draw(later, LATER_WEEKS * n).reshape(LATER_WEEKS, n).sum(axis=1) / n
        below += int((per_study < limits.low).sum())
        above += int((per_study > limits.high).sum())
    weeks = repetitions * LATER_WEEKS
    return below / weeks, above / weeks


def called_worse(drop: float, repetitions: int) -> tuple[float, float]:
    """How often a version is called worse at any look, and how often within 200 studies.

    40 studies a week at two sites, of which one has sicker patients; the share without an error is
    0.9 and 0.7, and lower by `drop` in the new version. One metric.
    """
    alpha = ALPHA / len(LOOKS)
    any_look = soon = 0
    for _ in range(repetitions):
        n_old, n_new = 320, LOOKS[-1]
        sites = RNG.integers(0, 2, n_old + n_new)
        is_new = np.arange(n_old + n_new) >= n_old
        rate = np.where(sites == 0, 0.9, 0.7) - drop * is_new
        values = (RNG.random(n_old + n_new) < rate).astype(float)
        for look in LOOKS:
            n = n_old + look
            found = stratified_test(values[:n], is_new[:n], list(sites[:n]))
            is_lower = found.difference is not None and found.difference < 0
            if found.p is not None and found.p < alpha and is_lower:
                any_look += 1
                soon += look <= 200
                break
    return any_look / repetitions, soon / repetitions


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=2000)
    repetitions = parser.parse_args().repetitions
    print("| nothing changes | " + " | ".join(f"{n} a week" for n in SIZES) + " |")
    print("|---|" + "---|" * len(SIZES))
    for rate in (0.98, 0.9, 0.7, 0.5):
        cells = []
        for n in SIZES:
            below, above = weeks_beyond(rate, rate, n, repetitions)
            cells.append(f"{below:.2%}, {above:.2%}")
        print(f"| share of {rate:.0%}: below, above | " + " | ".join(cells) + " |")
    for name, draw in (("Poisson", poisson), ("skewed", skewed)):
        for mean in (0.2, 1.0):
            cells = []
            for n in SIZES:
                below, above = weeks_of_counts_beyond(draw, mean, mean, n, repetitions)
                cells.append(f"{below:.2%}, {above:.2%}")
            row = f"| {mean} errors, {name}: below, above | "
            print(row + " | ".join(cells) + " |")
    print()
    print("| a lasting change | " + " | ".join(f"{n} a week" for n in SIZES) + " |")
    print("|---|" + "---|" * len(SIZES))
    for rate, later in ((0.9, 0.8), (0.9, 0.7), (0.7, 0.5)):
        cells = []
        for n in SIZES:
            below, _ = weeks_beyond(rate, later, n, repetitions)
            cells.append(f"{below:.0%}")
        print(f"| {rate:.0%} to {later:.0%} | " + " | ".join(cells) + " |")
    for mean, later_mean in ((0.2, 0.4), (1.0, 1.5)):
        cells = []
        for n in SIZES:
            _, above = weeks_of_counts_beyond(skewed, mean, later_mean, n, repetitions)
            cells.append(f"{above:.0%}")
        print(f"| {mean} to {later_mean} errors, skewed | " + " | ".join(cells) + " |")
    print()
    print("| the new version's rate is lower by | called worse | within 200 studies |")
    print("|---|---|---|")
    for drop in (0.0, 0.05, 0.1, 0.2):
        ever, soon = called_worse(drop, repetitions)
        print(f"| {drop:g} | {ever:.1%} | {soon:.1%} |")


if __name__ == "__main__":
    main()

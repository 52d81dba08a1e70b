"""How often the interval of a figure that is corrected by a floor covers the true one.

    python bench/bench_floor.py [--repetitions 2000]

A study has true errors, a negative binomial number with a mean of 1.2 and a variance of 3.6, and
false ones, a Poisson number whose mean is the reference's own (gamma, shape 0.5). Each reference of
the floor is changed six times, and its changes share the reference's mean. `same` draws the floor's
references from those of the studies, `other` from others; then true errors rise with the false
ones in `same, together`, as they do where long reports have more of both. Prints a Markdown table;
nominal is 95%, its standard error with 2,000 repetitions 0.5 points. `coverage` is what the tests
ask for a single cell.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.stats.estimate import Estimate
from judge.stats.independent import independent_difference, independent_quotient
from judge.stats.intervals import mean_interval, rate_interval

Values = NDArray[np.float64]
CHANGES = 6
SHAPE = 0.5
SIZES = ((30, 15), (60, 30), (200, 40), (200, 200), (1000, 200))
"""Studies of the run, and references of the floor."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Where references come from, how many false errors a report has, and which figure it is."""

    figure: str
    false_errors: float
    references: str


CASES = [
    Case(figure=figure, false_errors=false_errors, references=references)
    for figure in ("mean", "share")
    for false_errors in (0.05, 0.5)
    for references in ("other", "same")
]
CASES += [
    Case(figure=figure, false_errors=0.5, references="same, together")
    for figure in ("mean", "share")
]


def sample(
    rng: np.random.Generator, case: Case, n: int, m: int
) -> tuple[Values, Values, Values, NDArray[np.intp]]:
    """Draw a run and a floor: true errors and all errors by study, false ones by change, units."""
    rates = rng.gamma(SHAPE, case.false_errors / SHAPE, n)
    spread = rng.gamma(0.6, 2.0, n)
    if case.references == "same, together":
        spread = 0.5 * spread + 0.6 * rates / case.false_errors
    true = rng.poisson(spread).astype(float)
    observed = true + rng.poisson(rates)
    of_floor = rates[:m]
    if case.references == "other":
        of_floor = rng.gamma(SHAPE, case.false_errors / SHAPE, m)
    units = np.repeat(np.arange(len(of_floor)), CHANGES)
    return true, observed, rng.poisson(of_floor[units]).astype(float), units


def estimate(
    case: Case, observed: Values, floor: Values, units: NDArray[np.intp]
) -> Estimate:
    """The corrected figure of a run and a floor."""
    if case.figure == "mean":
        figure = mean_interval(observed, (0.0, None))
        return independent_difference(figure, mean_interval(floor, (0.0, None), units))
    figure = rate_interval(observed == 0)
    return independent_quotient(figure, rate_interval(floor == 0, units))


def truth(case: Case) -> float:
    """The figure of the true errors alone, of a million studies."""
    rng = np.random.default_rng(1)
    true, _, _, _ = sample(rng, case, 1_000_000, 1)
    return float(true.mean() if case.figure == "mean" else (true == 0).mean())


def limit(case: Case) -> float:
    """The corrected figure of a million studies and as many references."""
    rng = np.random.default_rng(2)
    _, observed, _, _ = sample(rng, case, 1_000_000, 1)
    _, _, floor, _ = sample(rng, case, 200_000, 200_000)
    if case.figure == "mean":
        return float(observed.mean() - floor.mean())
    return float((observed == 0).mean() / (floor == 0).mean())


def coverage(
    case: Case, n: int, m: int, repetitions: int, seed: int = 20260101
) -> float:
    """The share of the intervals that cover; one that is not given does not count."""
    rng = np.random.default_rng([seed, n, m])
    target = truth(case)
    covered = []
    for _ in range(repetitions):
        _, observed, floor, units = sample(rng, case, n, m)
        found = estimate(case, observed, floor, units)
        if found.low is not None and found.high is not None:
            covered.append(found.low <= target <= found.high)
    return float(np.mean(covered))


def rows(repetitions: int) -> Iterator[str]:
    """The rows of the table."""
    for case in CASES:
        name = "mean less floor" if case.figure == "mean" else "share by floor"
        cells = [f"{100 * coverage(case, n, m, repetitions):.1f}" for n, m in SIZES]
        yield (
            f"| {name} | {case.false_errors:g} | {case.references} | "
            f"{' | '.join(cells)} |"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2000)
    chosen = parser.parse_args()
    heads = " | ".join(f"{n}, {m}" for n, m in SIZES)
    print(f"| corrected | false errors a report | references | {heads} |")
    print("|---|---|---|" + "---|" * len(SIZES))
    for line in rows(chosen.repetitions):
        print(line, flush=True)
    together = CASES[-1]
    print(f"together: {limit(together):.3f} for {truth(together):.3f}, a share")

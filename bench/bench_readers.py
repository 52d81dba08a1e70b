"""How often intervals of a judge's agreement with readers cover the truth, readers fixed or drawn.

    python bench/bench_readers.py [--repetitions 300]

Studies have a true severity; each reader adds an own bias, an own amount of noise and noise of each
reading, and the judge is such a reader itself. `these readers`: the same readers read other
studies. `other readers`: both studies and readers are drawn again. Nominal are 95%.
"""

from __future__ import annotations

import argparse

import numpy as np
from bench_intervals import table
from numpy.typing import NDArray

from judge.stats.agreement import agreement, correlation_measure
from judge.stats.intervals import draw_resamples
from judge.stats.rater_figures import rater_figures

Values = NDArray[np.float64]
RNG = np.random.default_rng(20260101)
SPREADS = (0.5, 2.0)
JUDGE_NOISE = 1.0


def noises(n_readers: int) -> Values:
    """How noisy each reader is: some are careful, some are not."""
    return RNG.uniform(*SPREADS, n_readers)


def studies(n: int, spreads: Values) -> Values:
    """Counts of a judge and of readers with these spreads, studies by raters."""
    truth = RNG.gamma(1.0, 2.0, n)[:, None]
    spread = np.concatenate([[JUDGE_NOISE], spreads])
    return np.maximum(np.round(truth + RNG.normal(size=(n, len(spread))) * spread), 0)


def figure(values: Values) -> float:
    """Kendall's tau-b of the judge, the mean over the sets that leave one reader out."""
    resamples = draw_resamples(None, len(values), RNG, 1)
    rows = rater_figures(correlation_measure(resamples), values, 1)
    return rows[1].figures.value("kendall")


def main() -> None:
    """Print the coverage by the number of readers and studies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=300)
    asked = parser.parse_args()
    sizes = [(n_readers, n) for n_readers in (3, 5, 8) for n in (60, 200)]
    covered: dict[str, list[str]] = {}
    for n_readers, n in sizes:
        others = np.mean(
            [figure(studies(2_000, noises(n_readers))) for _ in range(150)]
        )
        inside: dict[str, list[bool]] = {}
        for _ in range(asked.repetitions):
            spreads = noises(n_readers)
            these = np.mean([figure(studies(1_000, spreads)) for _ in range(2)])
            values = studies(n, spreads)
            resamples = draw_resamples(None, n, RNG, 400)
            for kind, is_random in (("fixed", False), ("random", True)):
                found = agreement(values, 1, resamples, random_readers=is_random)
                kendall = found["judges"][0]["kendall"]
                for whose, truth in (
                    ("these readers", these),
                    ("other readers", others),
                ):
                    is_inside = kendall["low"] <= truth <= kendall["high"]
                    inside.setdefault(f"readers {kind}, truth of {whose}", []).append(
                        is_inside
                    )
        for name, hits in inside.items():
            covered.setdefault(name, []).append(f"{100 * np.mean(hits):.1f}")
    head = [f"{n_readers} readers, {n} studies" for n_readers, n in sizes]
    table(
        "Kendall's tau-b of a judge: intervals that cover, percent",
        head,
        covered.items(),
    )


if __name__ == "__main__":
    main()

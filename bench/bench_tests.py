"""How often `judge compare` claims a difference where there is none, and finds one that there is.

    python bench/bench_tests.py [--repetitions 400] [equal|sites|power|inverted]

Prints a Markdown table for each part. `equal`: models without a difference, several metrics.
`sites`: two equal models at 20 equal sites; how often anything is significant, by the family that
is corrected together. `power`: 24 models whose means rise evenly; how many of the 276 pairs of one
metric are significant, by flips and family, and how long it takes. `inverted`: coverage of the
interval of a difference, by the bootstrap alone and with the inverted test where it disagrees with
p. Nominal are 5% and 95%.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
from bench_intervals import table
from numpy.typing import NDArray

from judge.stats.intervals import bootstrap_weights, generator, interval
from judge.stats.metric import Metric
from judge.stats.scores import ScoreMatrix
from judge.stats.significance import Comparison, Family, Resampling, compare
from judge.stats.statistic import Mean

Values = NDArray[np.float64]
RNG = np.random.default_rng(20260101)
FAMILIES: tuple[Family, ...] = ("groups", "table")


def metric(name: str) -> Metric:
    """A mean of which more is better."""
    mean = Mean(name, name, measures=(name,), higher_is_better=True, scale=None)
    return Metric(name=name, label=name, statistic=mean, study_label=name, what="score")


def panel_of(
    grids: Sequence[Values], sites: Sequence[str] | None = None
) -> ScoreMatrix:
    """A panel of studies by models, with a metric for each grid."""
    n, n_models = grids[0].shape
    metrics = tuple(metric(f"metric{index}") for index in range(len(grids)))
    values = {one.name: grid for one, grid in zip(metrics, grids, strict=True)}
    fields = {} if sites is None else {"site": tuple(sites)}
    models = tuple(f"model{index}" for index in range(n_models))
    return ScoreMatrix(models, tuple(map(str, range(n))), metrics, values, fields)


def green(n: int, n_models: int) -> Values:
    """GREEN scores of models that are alike; half of the studies are alike for all."""

    def scores(size: tuple[int, int]) -> Values:
        parts = np.round(RNG.beta(2, 2, size) * 6) / 6
        return np.where(RNG.random(size) < 0.5, 1.0, parts)

    return np.where(
        RNG.random((n, n_models)) < 0.5, scores((n, 1)), scores((n, n_models))
    )


def n_significant(comparison: Comparison, name: str | None = None) -> int:
    """How many tests are significant in all tables, of one metric or of all."""
    return sum(
        test.is_significant
        for pairs in comparison.tests
        for metric_name, tests in pairs.items()
        if name in (None, metric_name)
        for test in tests
    )


def equal(repetitions: int) -> None:
    """Any claim among models that are alike, on one table."""

    def cell(n: int, n_models: int, n_metrics: int) -> str:
        claims = 0
        for seed in range(repetitions):
            panel = panel_of([green(n, n_models) for _ in range(n_metrics)])
            how = Resampling(seed=seed, resamples=100)
            claims += n_significant(compare(panel, how=how)) > 0
        return f"{100 * claims / repetitions:.1f}"

    sizes = (30, 100, 300)
    rows = (
        (
            f"{n_models} models, {n_metrics} metrics",
            [cell(n, n_models, n_metrics) for n in sizes],
        )
        for n_models, n_metrics in ((2, 1), (2, 7), (6, 3))
    )
    table(
        "Comparisons of equal models with anything significant, percent, by studies",
        sizes,
        rows,
    )


def sites(repetitions: int) -> None:
    """Any claim among two equal models at 20 equal sites of 50 studies."""
    n_sites, at_each = 20, 50
    names = [f"site{index}" for index in range(n_sites)] * at_each
    anywhere = dict.fromkeys(FAMILIES, 0)
    at_a_site = dict.fromkeys(FAMILIES, 0)
    for seed in range(repetitions):
        panel = panel_of([green(n_sites * at_each, 2)], names)
        for family in FAMILIES:
            how = Resampling(seed=seed, resamples=100, flips=2_000, family=family)
            found = compare(panel, by=["site"], how=how)
            anywhere[family] += n_significant(found) > 0
            at_a_site[family] += any(
                test.is_significant
                for pairs in found.tests[1:]
                for test in pairs["metric0"]
            )
    rows = (
        (
            f"`--family {family}`",
            [
                f"{100 * count[family] / repetitions:.1f}"
                for count in (at_a_site, anywhere)
            ],
        )
        for family in FAMILIES
    )
    table(
        "Two equal models, 20 equal sites, percent", ("at any site", "anywhere"), rows
    )


def power(repetitions: int) -> None:
    """24 models, 500 studies, seven metrics; the means of the first rise by 0.003 a model."""
    n, n_models, n_metrics = 500, 24, 7
    settings = {
        "10,000 flips (earlier default)": Resampling(flips=10_000, family="table"),
        "default": Resampling(),
        "default, `--primary` the metric": Resampling(primary="metric0"),
        "`--family metric`": Resampling(family="metric"),
    }
    found: dict[str, list[int]] = {name: [] for name in settings}
    seconds: dict[str, list[float]] = {name: [] for name in settings}
    for _ in range(max(1, repetitions // 100)):
        hard = RNG.normal(0, 0.25, (n, 1))
        skill = np.arange(n_models) * 0.003
        first = np.clip(0.5 + hard + skill + RNG.normal(0, 0.2, (n, n_models)), 0, 1)
        panel = panel_of([first, *(green(n, n_models) for _ in range(n_metrics - 1))])
        for name, how in settings.items():
            began = time.perf_counter()
            comparison = compare(panel, how=how)
            seconds[name].append(time.perf_counter() - began)
            found[name].append(n_significant(comparison, "metric0"))
    rows = (
        (name, [f"{np.mean(found[name]):.0f}", f"{np.mean(seconds[name]):.1f} s"])
        for name in settings
    )
    table(
        "24 models, 500 studies, seven metrics: significant pairs of 276 in the one that differs",
        ("pairs", "wall"),
        rows,
    )


def inverted(repetitions: int) -> None:
    """One skewed model and a constant one with the same mean."""
    mean = 1.3293403881791370
    sizes = (10, 20, 30, 60, 100)
    by_bootstrap: dict[int, list[bool]] = {n: [] for n in sizes}
    as_printed: dict[int, list[bool]] = {n: [] for n in sizes}
    n_inverted = dict.fromkeys(sizes, 0)
    for n in sizes:
        for seed in range(repetitions):
            skewed = RNG.exponential(1.0, n) ** 1.5
            panel = panel_of([np.column_stack([skewed, np.full(n, mean)])])
            how = Resampling(seed=seed, flips=2_000)
            (test,) = compare(panel, how=how).tests[0]["metric0"]
            n_inverted[n] += test.interval_by == "inverted test"
            as_printed[n].append((test.low or 0) <= 0 <= (test.high or 0))
            draws = bootstrap_weights(
                generator(how.seed, "bootstrap", {}), n, how.resamples
            )
            figures = np.concatenate([part @ (skewed - mean) / n for part in draws])
            low, high, _ = interval(figures, n)
            by_bootstrap[n].append((low or 0) <= 0 <= (high or 0))
    rows = [
        ("bootstrap alone", [f"{100 * np.mean(by_bootstrap[n]):.1f}" for n in sizes]),
        ("as printed", [f"{100 * np.mean(as_printed[n]):.1f}" for n in sizes]),
        ("inverted", [f"{100 * n_inverted[n] / repetitions:.0f}" for n in sizes]),
    ]
    table(
        "One model skewed, the other constant: intervals that hold 0, percent",
        sizes,
        rows,
    )


def main() -> None:
    """Run all of it, or the parts that are named."""
    parts = {"equal": equal, "sites": sites, "power": power, "inverted": inverted}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=[])
    asked = parser.parse_args()
    for name in asked.parts or parts:
        parts[name](asked.repetitions)


if __name__ == "__main__":
    main()

"""How often intervals cover the truth and how often tests reject where there is nothing.

    python bench/bench_intervals.py [--repetitions 1000]

Prints a Markdown table for each kind of interval and test, with the conditions of each row. Nominal
are 95% and 5%; the standard error of a share near 95% is 0.7 points with 1,000 repetitions.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge.stats.agreement import detection, limits_of_agreement, mean_below
from judge.stats.correlation import METHODS, correlate
from judge.stats.intervals import (
    Draws,
    draw_resamples,
    mean_interval,
    rate_interval,
    ratio_interval,
)
from judge.stats.metric import Metric
from judge.stats.non_inferiority import difference_interval
from judge.stats.prediction_powered import corrected
from judge.stats.scores import ScoreMatrix
from judge.stats.significance import Resampling, compare_pairs
from judge.stats.statistic import InverseMean, Mean, OfMean, Rate, Ratio, Statistic

Values = NDArray[np.float64]
RNG = np.random.default_rng(20260101)
SIZES = (10, 20, 30, 60, 200)
LARGE = 400_000


def green(n: int) -> Values:
    """GREEN scores: half of the studies perfect, the others of six parts."""
    parts = np.round(RNG.beta(2, 2, n) * 6) / 6
    return np.where(RNG.random(n) < 0.5, 1.0, parts)


def severity(n: int) -> Values:
    """The highest severity of a study, from 1 to 4."""
    return RNG.choice([1.0, 2.0, 3.0, 4.0], p=(0.5, 0.3, 0.15, 0.05), size=n)


def counts(n: int) -> Values:
    """Errors of a study, skewed: negative binomial with a mean of 1.2."""
    return RNG.poisson(RNG.gamma(0.6, 2.0, n)).astype(float)


def clean(n: int) -> Values:
    """Whether a study has no error, in 90 of 100."""
    return (RNG.random(n) < 0.9).astype(float)


KINDS: dict[str, tuple[Callable[[int], Values], Any]] = {
    "mean of GREEN": (green, (0, 1)),
    "mean severity": (severity, (1, 4)),
    "mean of skewed counts": (counts, (0, None)),
    "mean of skewed counts, mean ± 1.96 se": (counts, None),
    "rate of 90%": (clean, "rate"),
}


def of_patients(make: Callable[[int], Values], n: int, size: int) -> tuple[Values, Any]:
    """Studies of n patients: each is the patient's own value, or in 3 of 10 another."""
    own = np.repeat(make(n), size)
    return np.where(RNG.random(n * size) < 0.7, own, make(n * size)), np.repeat(
        range(n), size
    )


def covers(ends: tuple[float | None, float | None], truth: float) -> float:
    """1 or 0; NaN where there is no interval."""
    low, high = ends
    return float("nan") if low is None or high is None else float(low <= truth <= high)


def share(results: Iterable[float]) -> str:
    """The share of the intervals that cover, with how many repetitions have none."""
    found = np.array([*results])
    missing = np.isnan(found).mean()
    if missing == 1:
        return "none"
    return f"{100 * np.nanmean(found):.1f}" + (
        f" ({100 * missing:.0f}% none)" if missing else ""
    )


def table(
    title: str, head: Iterable[object], rows: Iterable[tuple[str, Iterable[str]]]
) -> None:
    """Print a Markdown table, row after row."""
    columns = [str(one) for one in head]
    print(
        f"\n{title}\n\n| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}",
        flush=True,
    )
    for name, cells in rows:
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def estimate(
    values: Values, scale: Any, units: Any = None
) -> tuple[float | None, float | None]:
    """The interval of a single figure."""
    if scale == "rate":
        found = rate_interval(values == 1, units)
    else:
        found = mean_interval(values, scale, units)
    return found.low, found.high


def single_figures(repetitions: int) -> None:
    def cells(
        make: Callable[[int], Values], scale: Any, size: int, n: int, how: str
    ) -> str:
        truth = float(make(LARGE).mean())
        results = []
        for _ in range(repetitions):
            values, units = of_patients(make, n, size) if size > 1 else (make(n), None)
            results.append(
                covers(
                    estimate(values, scale, units if how == "patient" else None), truth
                )
            )
        return share(results)

    table(
        "Single figures, studies independent, by the number of studies",
        SIZES,
        (
            (k, (cells(m, s, 1, n, "study") for n in SIZES))
            for k, (m, s) in KINDS.items()
        ),
    )
    for how in ("study", "patient"):
        table(
            f"Single figures, four studies a patient (intraclass correlation 0.49), by {how}, by "
            "the number of patients",
            SIZES,
            (
                (k, (cells(m, s, 4, n, how) for n in SIZES))
                for k, (m, s) in KINDS.items()
            ),
        )


def ratios(repetitions: int) -> None:
    def facts(n: int, size: int) -> tuple[Values, Values, Any]:
        of = RNG.integers(1, 9, n * size)
        right = RNG.binomial(of, np.repeat(RNG.beta(4, 2, n), size))
        return right.astype(float), of.astype(float), np.repeat(range(n), size)

    def cells(n: int, size: int) -> str:
        results = []
        for _ in range(repetitions):
            right, of, units = facts(n, size)
            one = ratio_interval(right, of, units)
            results.append(covers((one.low, one.high), 4 / 6))
        return share(results)

    rows = (
        (f"ratio of sums, {size} a patient", (cells(n, size) for n in SIZES))
        for size in (1, 4)
    )
    table("Ratios of sums, by the number of patients", SIZES, rows)


KINDS: dict[str, type[Statistic]] = {
    one.kind: one for one in (Mean, InverseMean, Rate, Ratio)
}


def metric_of(kind: str, *, higher: bool) -> Metric:
    statistic = KINDS[kind](
        "m", "m", measures=("m",), higher_is_better=higher, scale=None
    )
    return Metric(name="m", label="m", statistic=statistic, study_label="m")


def panel_of(kind: Any, values: Values, clusters: Any = None) -> ScoreMatrix:
    """Two models' values of one metric."""
    metric = metric_of(kind, higher=True)
    ids = tuple(map(str, range(len(values))))
    return ScoreMatrix(
        ("a", "b"), ids, (metric,), {"m": values}, {}, clusters, "patient"
    )


def pairs(
    repetitions: int,
    kind: Any,
    make: Callable[[int], tuple[Values, Values, Any]],
    n: int,
) -> tuple[str, str]:
    """The coverage of the difference's interval, and the size of its test where the truth is 0."""
    first, second, _ = make(LARGE)
    figures = first.mean(), second.mean()
    truth = (
        1 / figures[0] - 1 / figures[1]
        if kind == "inverse"
        else figures[0] - figures[1]
    )
    inside, rejected = [], []
    for seed in range(repetitions):
        one, other, clusters = make(n)
        panel = panel_of(kind, np.column_stack([one, other]), clusters)
        how = Resampling(seed=seed, resamples=1000, flips=1000)
        (test,) = compare_pairs(panel, {}, how).pairs["m"]
        inside.append(covers((test.low, test.high), truth))
        rejected.append((test.p or 0) < 0.05)
    return share(inside), f"{100 * np.mean(rejected):.1f}"


def differences(repetitions: int) -> None:
    def both(make: Callable[[int], Values], n: int) -> tuple[Values, Values, None]:
        hard = make(n)  # a study that is hard is hard for both, in half of the studies
        first, second = (np.where(RNG.random(n) < 0.5, hard, make(n)) for _ in range(2))
        return first, second, None

    def skewed(n: int) -> tuple[Values, Values, None]:
        first = (
            RNG.exponential(1.0, n) ** 1.5
        )  # equal means, and differences that are skewed
        return first, np.full(n, 1.3293403881791370), None

    def by_patient(n: int) -> tuple[Values, Values, Any]:
        size = 4
        first, second = (of_patients(green, max(n, 2), size)[0] for _ in range(2))
        return first, second, np.repeat(range(max(n, 2)), size)

    settings: dict[str, tuple[Any, Callable[[int], tuple[Values, Values, Any]]]] = {
        "GREEN, mean": ("mean", lambda n: both(green, n)),
        "severity, 1 / mean": ("inverse", lambda n: both(severity, n)),
        "skewed counts, mean": ("mean", lambda n: both(counts, n)),
        "rate of 90%, McNemar's mid-p": ("rate", lambda n: both(clean, n)),
        "one model's values skewed, the other's constant": ("mean", skewed),
        "GREEN, four studies a patient": ("mean", by_patient),
    }
    sizes = (8, 10, 20, 30, 60)
    found = {
        (name, n): pairs(repetitions, kind, make, n)
        for name, (kind, make) in settings.items()
        for n in sizes
    }
    for at, title in enumerate(
        (
            "Intervals of a paired difference, by the number of patients or studies",
            "Size of the paired tests at 5%, models alike, by the number of patients or studies",
        )
    ):
        table(title, sizes, ((k, (found[k, n][at] for n in sizes)) for k in settings))


def annotators(repetitions: int) -> None:
    def cells(n: int, wins: float, epsilon: float) -> str:
        chances = [epsilon + wins, 1 - epsilon - 2 * wins, wins]
        p_values = [
            mean_below(
                RNG.choice([1.0, 0.0, -1.0], p=chances, size=n), np.arange(n), epsilon
            )
            for _ in range(10 * repetitions)
        ]
        return f"{100 * np.mean([p < 0.05 for p in p_values if p is not None]):.1f}"

    sizes = (30, 50, 100, 200)
    rows = (
        (
            f"epsilon {epsilon}, the judge wins {100 * wins:.0f}%",
            (cells(n, wins, epsilon) for n in sizes),
        )
        for epsilon in (0.1, 0.2)
        for wins in (0.0, 0.1, 0.3)
    )
    table(
        "Alternative annotator test: a judge worse by just epsilon that may stand in for a reader, "
        "in percent, by the number of studies",
        sizes,
        rows,
    )


def agreements(repetitions: int) -> None:
    def rated(n: int, raters: int) -> Values:
        truth = counts(n)[:, None]
        noise = RNG.integers(-1, 2, (n, raters))
        return np.maximum(truth + noise, 0).astype(float)

    large = rated(LARGE, 5)
    mean = large[:, 1:].mean(axis=1)
    many = [
        correlate(*_pair(rated(4000, 5)), draw_resamples(None, 4000, RNG, 1)).figures[0]
        for _ in range(50)
    ]
    truths = np.mean(many, axis=0)
    truths[METHODS.index("pearson")] = np.corrcoef(large[:, 0], mean)[0, 1]
    is_clean = (large == 0).astype(float)
    majority = is_clean[:, 1:].mean(axis=1) > 0.5
    sensitivity = float(1 - is_clean[~majority, 0].mean())
    agreed = float((is_clean[:, 0] == majority).mean())
    chance = float(
        is_clean[:, 0].mean() * majority.mean()
        + (1 - is_clean[:, 0].mean()) * (1 - majority.mean())
    )
    kappa, bias = (agreed - chance) / (1 - chance), float((large[:, 0] - mean).mean())
    spread = float((large[:, 0] - mean).std())
    names = ("Kendall", "Spearman", "Pearson", "sensitivity", "kappa", "bias", "limit")
    results: dict[tuple[str, int], list[float]] = {}
    sizes = (10, 20, 30, 60, 200)
    for n in sizes:
        for _ in range(repetitions):
            values = rated(n, 5)
            resamples = draw_resamples(None, n, RNG, 500)
            found = correlate(*_pair(values), resamples)
            known = np.ones(n, bool)
            figures = [
                (name, (one.low, one.high), truth)
                for name, truth, at in zip(names, truths, range(3), strict=False)
                for one in [
                    resamples.estimate(found.figures[:, at], known)
                    if found.reason is None
                    else mean_interval([])
                ]
            ]
            no_error = (values == 0).astype(float)
            detected = detection(no_error[:, 0], no_error[:, 1:], resamples)
            limits = limits_of_agreement(values[:, 0], values[:, 1:], np.arange(n))
            estimates = {
                "sensitivity": (detected["sensitivity"], sensitivity),
                "kappa": (detected["kappa"], kappa),
                "bias": (limits["bias"], bias),
                "limit": (limits["upper"], bias + 1.96 * spread),
            }
            figures += [
                (k, (one["low"], one["high"]), float(t or 0))
                for k, (one, t) in estimates.items()
            ]
            for name, ends, truth in figures:
                results.setdefault((name, n), []).append(covers(ends, float(truth)))
    table(
        "Agreement of a judge with four readers on skewed counts, by the number of studies",
        sizes,
        ((name, (share(results[name, n]) for n in sizes)) for name in names),
    )


def _pair(values: Values) -> tuple[Values, Values]:
    return values[:, 0], values[:, 1:].mean(axis=1)


def corrections(repetitions: int) -> None:
    studies = 2000
    rate = Rate("r", "r", measures=("r",), higher_is_better=True)
    mean = Mean("m", "m", measures=("m",), higher_is_better=False, scale=(0, None))

    def share_that_covers(
        statistic: OfMean,
        truth: float,
        n: int,
        draw: Callable[[], tuple[Values, Values]],
    ) -> str:
        inside = []
        for _ in range(repetitions):
            by_readers, by_judge = draw()
            read = np.full(studies, np.nan)
            rows = RNG.choice(studies, n, replace=False)
            read[rows] = by_readers[rows]
            found = corrected(by_judge, read, statistic)
            inside.append(covers((found.low, found.high), truth))
        return share(inside)

    def of_rate(truth: float, false: float, missed: float) -> tuple[Values, Values]:
        """The judge misses the error of a share of the studies, and sees one in clean ones."""
        is_clean = RNG.random(studies) < truth
        errs = RNG.random(studies) < np.where(is_clean, false, missed)
        return is_clean.astype(float), (is_clean ^ errs).astype(float)

    def of_counts(errs: float) -> tuple[Values, Values]:
        by_readers = counts(studies)
        return by_readers, np.where(
            RNG.random(studies) < errs, counts(studies), by_readers
        )

    # Of 10, 20, 30, 45 and 98 readings of 2,000 the weights do not add up to exactly 1.
    sizes = (10, 20, 30, 34, 45, 50, 98, 100, 200)
    rows: list[tuple[str, Iterable[str]]] = []
    for truth in (0.9, 0.95, 0.99):
        for false, missed in ((0.0, 0.0), (0.02, 0.02), (0.2, 0.2), (0.02, 0.5)):
            name = f"rate {truth:.0%}, {false:.0%} false alarms, {missed:.0%} missed"
            draw = partial(of_rate, truth, false, missed)
            cells = [partial(share_that_covers, rate, truth, n, draw) for n in sizes]
            rows.append((name, (cell() for cell in cells)))
    for errs in (0.02, 0.2):
        draw = partial(of_counts, errs)
        cells = [partial(share_that_covers, mean, 1.2, n, draw) for n in sizes]
        rows.append(
            (
                f"mean of counts, the judge errs in {errs:.0%}",
                (cell() for cell in cells),
            )
        )
    table("Corrected figures of 2,000 studies, by the number of readings", sizes, rows)


def non_inferiority(repetitions: int) -> None:
    """How often a run that is worse by exactly the margin passes, and one that is not worse."""

    def losses_only(n: int) -> tuple[Values, Values]:
        is_lost = RNG.random(n) < 0.1
        return np.where(is_lost, 0.0, 1.0), np.ones(n)

    def both_ways(n: int) -> tuple[Values, Values]:
        """One of ten is lost more than won: 15% against 5%."""
        drawn = RNG.random(n)
        return np.where(drawn < 0.15, 0.0, 1.0), np.where(drawn > 0.95, 0.0, 1.0)

    def counts_only_more(n: int) -> tuple[Values, Values]:
        return counts(n), np.zeros(n)

    def scores_lost(n: int) -> tuple[Values, Values]:
        """A fifth of the studies loses half of its score on average."""
        first = np.where(
            RNG.random(n) < 0.2, 1 - np.round(RNG.beta(2, 2, n) * 6) / 6, 1.0
        )
        return first, np.ones(n)

    def two_scores(n: int) -> tuple[Values, Values]:
        return green(n) - 0.05, green(n)

    settings: dict[str, tuple[Any, Callable[[int], tuple[Values, Values]], float]] = {
        "rate, losses only": ("rate", losses_only, 0.1),
        "rate, 15% lost and 5% won": ("rate", both_ways, 0.1),
        "skewed counts against none": ("mean", counts_only_more, 1.2),
        "score, losses only": ("mean", scores_lost, 0.1),
        "score, two models' own": ("mean", two_scores, 0.05),
    }
    sizes = (50, 100, 200)

    def cells(
        kind: Any, make: Callable[[int], tuple[Values, Values]], margin: float, n: int
    ) -> str:
        is_count = make is counts_only_more
        passed = 0
        for seed in range(repetitions):
            metric = metric_of(kind, higher=not is_count)
            panel = replace(panel_of(kind, np.column_stack(make(n))), metrics=(metric,))
            found = difference_interval(panel, metric, Draws(seed, 1000))
            worst = found.high if is_count else found.low
            if worst is not None:
                passed += worst < margin if is_count else worst > -margin
        return f"{100 * passed / repetitions:.1f}"

    table(
        "Non-inferiority: a run worse by exactly the margin that passes, in percent (nominal 2.5), "
        "by the number of studies",
        sizes,
        ((k, (cells(*setting, n) for n in sizes)) for k, setting in settings.items()),
    )


def main() -> None:
    """Run all of it, or the parts that are named."""
    parts = {
        "single": single_figures,
        "ratios": ratios,
        "differences": differences,
        "annotators": annotators,
        "agreements": agreements,
        "corrections": corrections,
        "non_inferiority": non_inferiority,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=[])
    asked = parser.parse_args()
    for name in asked.parts or parts:
        parts[name](asked.repetitions)


if __name__ == "__main__":
    main()

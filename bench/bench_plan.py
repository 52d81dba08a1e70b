"""Whether a planned number of studies gives the width, or the power, that it promises.

    python bench/bench_plan.py [--repetitions 400] [--pilots 60]

Prints a Markdown table for each kind of plan. A large pilot of 20,000 studies plans, and samples of
the planned size are drawn anew from the same population: their mean width should be the wanted one,
and the share that passes the gate's check the wanted power (0.80; its standard error is 0.020 with
400 repetitions). Small pilots of 100 studies then show how often the cautious number is enough.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from judge.comparing.gate import filled_panel
from judge.planning.drops import drop_rows
from judge.planning.pilot import Pilot
from judge.planning.readings import Correction
from judge.planning.widths import sample_of, studies_rows
from judge.stats.intervals import Draws
from judge.stats.metric import Metric
from judge.stats.non_inferiority import difference_interval
from judge.stats.prediction_powered import corrected
from judge.stats.sample_size import Sample, estimate_by, units_for_width, width
from judge.stats.scores import ScoreMatrix
from judge.stats.statistic import InverseMean, Mean, Rate, Statistic

Values = NDArray[np.float64]
Clusters = NDArray[np.intp] | None
Make = Callable[[int], Values]
Draw = Callable[[int], tuple[Values, Clusters]]
RNG = np.random.default_rng(20260101)
LARGE = 20_000
SMALL = 100
FEW = Draws(seed=1, resamples=500)


def metric(statistic: Statistic) -> Metric:
    """A metric of one statistic."""
    return Metric(
        name=statistic.name,
        label=statistic.name,
        statistic=statistic,
        study_label=statistic.name,
        what="rate" if statistic.is_share else "score",
    )


RATE = metric(Rate("rate", "rate", measures=("a",), higher_is_better=True))
SCORE = metric(
    Mean("score", "score", measures=("a",), higher_is_better=True, scale=(0, 1))
)
COUNT = metric(
    Mean("count", "count", measures=("a",), higher_is_better=False, scale=(0, None))
)
INVERSE = metric(
    InverseMean(
        "1/mean", "1/mean", measures=("a",), higher_is_better=True, scale=(1, 4)
    )
)


def clean(n: int) -> Values:
    """Whether a study has no error, in 90 of 100."""
    return (RNG.random(n) < 0.9).astype(float)


def green(n: int) -> Values:
    """GREEN scores: half of the studies perfect, the others of six parts."""
    parts = np.round(RNG.beta(2, 2, n) * 6) / 6
    return np.where(RNG.random(n) < 0.5, 1.0, parts)


def counts(n: int) -> Values:
    """Errors of a study, skewed: negative binomial with a mean of 1.2."""
    return RNG.poisson(RNG.gamma(0.6, 2.0, n)).astype(float)


def severity(n: int) -> Values:
    """The highest severity of a study, from 1 to 4."""
    return RNG.choice([1.0, 2.0, 3.0, 4.0], p=(0.5, 0.3, 0.15, 0.05), size=n)


def paired(make: Make) -> Make:
    """Two models that agree on 7 of 10 studies, and on others by chance."""

    def two(n: int) -> Values:
        first = make(n)
        second = np.where(RNG.random(n) < 0.7, first, make(n))
        return np.column_stack([first, second])

    return two


def alone(make: Make) -> Draw:
    """Independent studies."""
    return lambda n: (np.atleast_2d(make(n).T).T, None)


def of_patients(make: Make) -> Draw:
    """Patients with one to four studies, of which 6 in 10 are the patient's own."""

    def draw(m: int) -> tuple[Values, Clusters]:
        units = np.repeat(np.arange(m), RNG.integers(1, 5, m))
        own = np.atleast_2d(make(m).T).T[units]
        new = np.atleast_2d(make(len(units)).T).T
        is_own = RNG.random(len(units)) < 0.6
        return np.where(is_own[:, None], own, new), units

    return draw


def without_score(draw: Draw, share: float) -> Draw:
    """A share of the studies of each run has no score."""

    def lossy(n: int) -> tuple[Values, Clusters]:
        values, clusters = draw(n)
        values[RNG.random(values.shape) < share] = np.nan
        return values, clusters

    return lossy


def pilot_of(of: Metric, values: Values, clusters: Clusters) -> Pilot:
    """A pilot of one metric."""
    n, n_runs = values.shape
    panel = ScoreMatrix(
        models=("run", "other")[:n_runs],
        study_ids=tuple(map(str, range(n))),
        metrics=(of,),
        values={of.name: values},
        fields={},
        clusters=clusters,
        patient_field=None if clusters is None else "patient",
    )
    return Pilot(panel=panel, is_unread=np.isnan(values), metrics=(of,))


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table."""
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def widths(repetitions: int, pilots: int) -> None:
    """Intervals of single figures."""
    rows = []
    for name, of, draw, wanted in (
        ("rate of 90%", RATE, alone(clean), 0.05),
        ("mean of GREEN", SCORE, alone(green), 0.08),
        ("mean of skewed counts", COUNT, alone(counts), 0.4),
        ("1 / mean severity", INVERSE, alone(severity), 0.05),
        ("rate of 90%, by patient", RATE, of_patients(clean), 0.05),
        ("mean of GREEN, by patient", SCORE, of_patients(green), 0.08),
        (
            "rate of 90%, 3% without a score",
            RATE,
            without_score(alone(clean), 0.03),
            0.05,
        ),
    ):
        (row,) = studies_rows(pilot_of(of, *draw(LARGE)), wanted)
        n = (row.patients or row.studies).n
        assert n is not None
        found = []
        for _ in range(repetitions):
            sample = sample_of(pilot_of(of, *draw(n)), of)
            found.append(width(estimate_by(of.statistic)(sample, FEW)))
        is_enough, ratios = [], []
        for _ in range(pilots):
            (small,) = studies_rows(pilot_of(of, *draw(SMALL)), wanted)
            need = small.patients or small.studies
            if need.n is None or need.cautious is None:
                continue
            is_enough.append(need.cautious >= n)
            ratios.append(need.n / n)
        low, high = np.quantile(ratios, (0.1, 0.9))
        rows.append(
            (
                name,
                f"{wanted:g}",
                f"{n:,}",
                f"{np.mean(found):.4f}",
                f"{low:.2f} to {high:.2f}",
                f"{np.mean(is_enough):.0%}",
            )
        )
    head = (
        "",
        "wanted",
        "planned",
        "mean width",
        "n of small pilots / n",
        "cautious is enough",
    )
    table("Widths", head, rows)


def powers(repetitions: int) -> None:
    """Claims of no drop beyond a margin; the two are equally good."""
    rows = []
    for name, of, draw, margin in (
        ("rate of 90%", RATE, alone(paired(clean)), 0.03),
        ("mean of GREEN", SCORE, alone(paired(green)), 0.03),
        ("mean of skewed counts", COUNT, alone(paired(counts)), 0.2),
        ("1 / mean severity", INVERSE, alone(paired(severity)), 0.03),
        ("rate of 90%, by patient", RATE, of_patients(paired(clean)), 0.04),
        ("mean of GREEN, by patient", SCORE, of_patients(paired(green)), 0.04),
        (
            "rate of 90%, 1% without a score",
            RATE,
            without_score(alone(paired(clean)), 0.01),
            0.06,
        ),
    ):
        (row,) = drop_rows(
            pilot_of(of, *draw(LARGE)), margin=margin, power=0.8, difference=0
        )
        n = (row.patients or row.studies).n
        assert n is not None
        passed = [
            passes(pilot_of(of, *draw(n)), of, margin) for _ in range(repetitions)
        ]
        rows.append((name, f"{margin:g}", f"{n:,}", f"{np.mean(passed):.3f}"))
    table("Power, 0.80 wanted", ("", "margin", "planned", "passes"), rows)


def passes(pilot: Pilot, of: Metric, margin: float) -> bool:
    """Whether the gate's interval excludes the margin with lost studies at their worst."""
    panel = pilot.panel
    if pilot.is_unread.any():
        at_low = {0: of.study_higher_is_better, 1: not of.study_higher_is_better}
        filled = filled_panel(panel, of, pilot.is_unread, at_low)
        assert filled is not None
        panel = filled
    ends = difference_interval(panel, of, FEW)
    if ends.low is None or ends.high is None:
        return False
    if of.higher_is_better:
        return ends.low >= -margin
    return ends.high <= margin


def readings(repetitions: int) -> None:
    """Corrected rates: readers see 80% without an error, the judge errs in a share of studies."""
    rows = []
    n_judged = 5_000
    for wrong in (0.02, 0.1, 0.25):

        def both(n: int, wrong: float = wrong) -> Values:
            truth = (RNG.random(n) < 0.8).astype(float)
            is_wrong = RNG.random(n) < wrong
            return np.column_stack([truth, np.where(is_wrong, 1 - truth, truth)])

        large = both(LARGE)
        judged = Sample.of(large[:, 1:], None)
        correction = Correction(RATE.statistic, judged, n_judged)  # type: ignore[arg-type]
        need = units_for_width(
            Sample.of(large[:2_000], None),
            correction.estimate,
            0.08,
            Draws(),
            RNG,
            n_judged,
        )
        assert need.n is not None
        found = []
        for _ in range(repetitions):
            drawn = both(n_judged)
            by_readers = drawn[:, 0].copy()
            by_readers[need.n :] = np.nan
            one = corrected(drawn[:, 1], by_readers, RATE.statistic)  # type: ignore[arg-type]
            assert one.low is not None
            assert one.high is not None
            found.append(one.high - one.low)
        rows.append((f"{wrong:.0%}", "0.08", f"{need.n:,}", f"{np.mean(found):.4f}"))
    head = ("the judge is wrong in", "wanted", "readings planned", "mean width")
    table("Corrected rates of 5,000 studies", head, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--pilots", type=int, default=60)
    arguments = parser.parse_args()
    powers(arguments.repetitions)
    readings(arguments.repetitions)
    widths(arguments.repetitions, arguments.pilots)

"""How often the intervals of `judge bridge` cover the truth, between two made-up judges.

    python bench/bench_bridge.py [--repetitions 400] [SCENARIO...]

Each report has a number of true errors. A judge finds each with its sensitivity and adds false
errors, so that its bias is known; the truth is that of many more studies. Prints a Markdown table
with a row for each scenario; nominal is 95%.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from bench_intervals import table

from judge.bridging.figures import (
    Pairs,
    Quantity,
    TwoJudges,
    restatable,
    restated,
    restated_draws,
    shift_of,
    within,
)
from judge.bridging.kept_runs import drawn_studies
from judge.stats.intervals import Bools, Codes, Draws, Values, student
from judge.stats.metric import Metric
from judge.stats.scores import ScoreMatrix
from judge.stats.statistic import Mean, OfSums, Rate

MARGIN = 0.05
MANY = 400_000
"""The studies of which the truth is computed."""
BY = "study_class"


@dataclass(frozen=True, kw_only=True)
class MadeJudge:
    """A judge that finds errors by its `sensitivity`, and adds `false` ones per report.

    `scale` is the slope of its severity, `noise` the standard deviation of the error of that.
    """

    sensitivity: float = 0.9
    false: float = 0.1
    scale: float = 1.0
    noise: float = 0.5


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Studies, the sample, and the two judges; `is_same`: the new one says what the old one does.

    `errors` are the true errors per report, for each model; `per_patient` the studies of a patient;
    `abnormal` is the share of abnormal studies, `lost` that of the reports that the new judge does
    not score.
    """

    name: str
    n: int = 2000
    n_drawn: int = 300
    errors: tuple[float, ...] = (0.6, 0.9, 1.2)
    old: MadeJudge = MadeJudge()
    new: MadeJudge = MadeJudge(sensitivity=0.7, false=0.2, scale=0.8)
    is_same: bool = False
    per_patient: int = 1
    abnormal: float = 0.5
    lost: float = 0.0


SCENARIOS = (
    Scenario(name="usual: 300 of 2,000 studies"),
    Scenario(name="100 of 400 studies", n=400, n_drawn=100),
    Scenario(name="50 of 120 studies", n=120, n_drawn=50),
    Scenario(name="1,000 of 2,000 studies", n_drawn=1000),
    Scenario(name="all of 300 studies", n=300, n_drawn=300),
    Scenario(name="three studies per patient", per_patient=3),
    Scenario(name="one study in 50 is abnormal", abnormal=0.02),
    Scenario(name="10% without a score", lost=0.1),
    Scenario(
        name="rates near 1",
        errors=(0.02, 0.03, 0.04),
        new=MadeJudge(false=0.02),
        old=MadeJudge(false=0.01),
    ),
    Scenario(name="rates near 0", errors=(5.0, 6.0, 7.0)),
    Scenario(
        name="new judge with twice the variance of error",
        new=MadeJudge(scale=0.8, noise=0.5 * 2**0.5),
    ),
    Scenario(name="a lenient judge", new=MadeJudge(sensitivity=0.5, false=0.05)),
    Scenario(
        name="a shift of just the margin",
        n_drawn=1200,
        errors=(0.9,),
        new=MadeJudge(sensitivity=0.7248, false=0.1),
    ),
    Scenario(name="the same judge, asked anew", new=MadeJudge()),
    Scenario(name="the same answers", is_same=True),
)


def _metric(statistic: OfSums, what: str) -> Metric:
    return Metric(
        name=statistic.name,
        label=statistic.label,
        statistic=statistic,
        study_label=statistic.label,
        what=what,  # type: ignore[arg-type]
    )


METRICS = (
    _metric(
        Rate("rate", "no error", measures=("rate",), higher_is_better=True), "rate"
    ),
    _metric(
        Mean("count", "errors", measures=("count",), higher_is_better=False), "count"
    ),
    _metric(
        Mean(
            "score", "score", measures=("score",), higher_is_better=True, scale=(0, 1)
        ),
        "score",
    ),
    _metric(
        Mean(
            "scale", "severity", measures=("scale",), higher_is_better=False, scale=None
        ),
        "score",
    ),
)


def judged(
    rng: np.random.Generator, judge: MadeJudge, errors: Values, matched: Values
) -> dict[str, Values]:
    """Return what a judge says of reports with these true errors and matched findings."""
    found = rng.binomial(errors.astype(int), judge.sensitivity)
    counts = (found + rng.poisson(judge.false, errors.shape)).astype(float)
    severity = judge.scale * np.sqrt(errors) + rng.normal(0, judge.noise, errors.shape)
    return {
        "rate": (counts == 0).astype(float),
        "count": counts,
        "score": matched / (matched + counts),
        "scale": severity,
    }


def made(
    rng: np.random.Generator, scenario: Scenario, n: int
) -> tuple[dict[str, Values], dict[str, Values], Bools, Codes]:
    """Return both judges' values of studies by models, which are abnormal, and the patients."""
    n_patients = -(-n // scenario.per_patient)
    patients = np.repeat(np.arange(n_patients), scenario.per_patient)[:n]
    is_abnormal = rng.random(n) < scenario.abnormal
    hard = rng.gamma(2, 0.5, n_patients)[patients] * np.where(is_abnormal, 1.5, 0.5)
    errors = rng.poisson(hard[:, None] * np.array(scenario.errors)).astype(float)
    matched = 1.0 + rng.poisson(3, errors.shape)
    old = judged(rng, scenario.old, errors, matched)
    new = old
    if not scenario.is_same:
        new = judged(rng, scenario.new, errors, matched)
    return old, new, is_abnormal, patients


def two_judges(rng: np.random.Generator, scenario: Scenario, seed: int) -> TwoJudges:
    """Return a leaderboard of the old judge, and the new one's values of a sample of it."""
    old, new, is_abnormal, patients = made(rng, scenario, scenario.n)
    models = tuple(f"model{index}" for index in range(len(scenario.errors)))
    classes = tuple(np.where(is_abnormal, "abnormal", "normal").tolist())
    clusters = None
    if scenario.per_patient > 1:
        clusters = patients
    panel = ScoreMatrix(
        models=models,
        study_ids=tuple(map(str, range(scenario.n))),
        metrics=METRICS,
        values=old,
        fields={BY: classes},
        clusters=clusters,
        patient_field="patient",
    )
    shape = (scenario.n, len(models))
    drawn = drawn_studies(
        panel, np.ones(shape, bool), by=BY, n=scenario.n_drawn, seed=seed
    )
    is_drawn = np.zeros(shape, bool)
    for model, name in enumerate(models):
        rows = [int(study_id) for study_id in drawn.samples[name].order]
        is_drawn[rows, model] = True
    is_scored = is_drawn & (rng.random(shape) >= scenario.lost)
    seen = {name: np.where(is_scored, grid, np.nan) for name, grid in new.items()}
    return TwoJudges(
        old=panel,
        new=replace(panel, values=seen),
        strata=drawn.strata,
        is_drawn=is_drawn,
        is_scored=is_scored,
    )


@dataclass(frozen=True, kw_only=True)
class Truth:
    """The means of both judges over many studies, models by metric, and the slope of severity.

    `shift_abnormal` is how far the means of abnormal studies shift.
    """

    old: dict[str, Values]
    new: dict[str, Values]
    shift_abnormal: dict[str, Values]
    slope: float


def truth_of(scenario: Scenario) -> Truth:
    """Return the truth of a scenario."""
    rng = np.random.default_rng(1)
    patients = scenario.per_patient
    old, new, is_abnormal, _ = made(rng, scenario, MANY - MANY % patients)
    of_abnormal = {}
    for name in old:
        differences = new[name][is_abnormal] - old[name][is_abnormal]
        of_abnormal[name] = differences.mean(axis=0)
    slope = scenario.new.scale / scenario.old.scale
    if scenario.is_same:
        slope = 1.0
    return Truth(
        old={name: grid.mean(axis=0) for name, grid in old.items()},
        new={name: grid.mean(axis=0) for name, grid in new.items()},
        shift_abnormal=of_abnormal,
        slope=slope,
    )


def covered(
    scenario: Scenario, seed: int, truth: Truth, resamples: int
) -> Iterator[tuple[str, bool]]:
    """Yield what was estimated in one repetition, and whether its interval has the truth."""
    rng = np.random.default_rng([7, seed])
    judges = two_judges(rng, scenario, seed)
    pairs = Pairs.of(judges, Draws(seed, resamples))
    n_drawn = scenario.n_drawn
    classes = np.array(judges.old.fields[BY], object)
    is_abnormal = (classes == "abnormal")[pairs.studies]
    for metric in METRICS:
        assert isinstance(metric.statistic, OfSums)
        name = metric.name
        figure = Quantity(
            name=name,
            label=metric.label,
            statistic=metric.statistic,
            is_whole=metric.what == "count",
            old=pairs.values(judges.old.values[name]),
            new=pairs.values(judges.new.values[name]),
        )
        for model in range(len(scenario.errors)):
            shift = shift_of(pairs, figure, pairs.models == model, model=str(model))
            true = float(truth.new[name][model] - truth.old[name][model])
            yield f"shift {name}", _has(shift.shift.low, shift.shift.high, true)
            if name == "scale":
                yield "slope given", shift.slope.low is not None
            if name == "scale" and shift.slope.low is not None:
                yield "slope", _has(shift.slope.low, shift.slope.high, truth.slope)
                yield (
                    "slope's bounds",
                    _has(*(shift.slopes or (None, None)), truth.slope),
                )
            rows = (pairs.models == model) & is_abnormal
            of_class = shift_of(pairs, figure, rows).shift
            if of_class.low is not None:
                true_of_class = float(truth.shift_abnormal[name][model])
                covers = _has(of_class.low, of_class.high, true_of_class)
                yield f"shift {name}, abnormal", covers
            if name == "rate":
                ruled = within(shift, MARGIN, n_drawn=n_drawn, lost=0)
                yield f"answer {ruled.answer}", True
                wrong = (ruled.answer == "yes" and abs(true) > MARGIN) or (
                    ruled.answer == "no" and abs(true) < MARGIN
                )
                yield "wrong answer", wrong
    for row in restated(judges, {}):
        if row.new.low is None:
            continue
        name = row.metric.name
        true = float(truth.new[name][judges.old.models.index(row.model)])
        yield f"restated {name}", _has(row.new.low, row.new.high, true)
    if len(scenario.errors) < 2:
        return
    for metric, statistic in restatable(judges.old):
        draws = restated_draws(judges, pairs, metric.name, statistic)
        difference = draws[:, 0] - draws[:, 1]
        half = student(pairs.n_units(pairs.models < 2) - 1) * difference[1:].std(ddof=1)
        true = float(truth.new[metric.name][0] - truth.new[metric.name][1])
        low, high = difference[0] - half, difference[0] + half
        yield f"difference {metric.name}", _has(low, high, true)


def _has(low: float | None, high: float | None, true: float) -> bool:
    if low is None or high is None:
        return False
    return low <= true <= high


FIGURES = ("rate", "count", "score")
COLUMNS = (
    *(f"shift {name}" for name in FIGURES),
    "shift rate, abnormal",
    "shift count, abnormal",
    "slope",
    "slope's bounds",
    "slope given",
    *(f"restated {name}" for name in FIGURES),
    *(f"difference {name}" for name in FIGURES),
)


ANSWERS = ("answer yes", "answer no", "answer not known", "wrong answer")


def simulate(
    scenario: Scenario, repetitions: int, resamples: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the coverage of each interval, and how often each answer was given."""
    truth = truth_of(scenario)
    n: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    for seed in range(repetitions):
        for what, is_hit in covered(scenario, seed, truth, resamples):
            n[what] += 1
            hits[what] += is_hit
    coverage = {what: hits[what] / n[what] for what in n}
    n_answers = sum(k for what, k in n.items() if what.startswith("answer"))
    answers = {
        what: k / n_answers for what, k in n.items() if what.startswith("answer")
    }
    answers["wrong answer"] = coverage["wrong answer"]
    return coverage, answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", help="words of their names")
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=500)
    options = parser.parse_args()
    coverage: list[tuple[str, list[str]]] = []
    answers: list[tuple[str, list[str]]] = []
    for scenario in SCENARIOS:
        words = options.scenarios
        if words and not any(word in scenario.name for word in words):
            continue
        began = time.perf_counter()
        found, given = simulate(scenario, options.repetitions, options.resamples)
        shares = [_percent(found.get(name)) for name in COLUMNS]
        coverage.append((scenario.name, shares))
        truth = truth_of(scenario)
        shifts = 100 * (truth.new["rate"] - truth.old["rate"])
        cells = [", ".join(f"{shift:+.1f}" for shift in shifts)]
        cells += [_percent(given.get(name, 0.0)) for name in ANSWERS]
        answers.append((scenario.name, cells))
        seconds = time.perf_counter() - began
        print(f"{scenario.name}: {seconds:.0f} s", file=sys.stderr, flush=True)
    repetitions = f"{options.repetitions} repetitions, {options.resamples} resamples"
    table(f"Coverage in %, {repetitions}", COLUMNS, coverage)
    head = ("true shifts in points", "yes", "no", "not known", "wrong answer")
    table(f"Answers by the margin of {MARGIN:g}, in %", head, answers)


def _percent(value: float | None) -> str:
    if value is None:
        return ""
    return f"{100 * value:.1f}"


if __name__ == "__main__":
    main()

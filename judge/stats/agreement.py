"""How well judges agree with readers, and readings with each other.

`values` is studies by raters, NaN where a rater has no value: first the judges, then the
readers. The mean of the readers of a study is that of those who have a value. What is found comes
as JSON's types: a figure is `Estimate.plain()`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from judge.stats.correlation import (
    LEAST_STUDIES,
    METHODS,
    CorrelationDraws,
    correlate,
    round_to_largest,
    undefined_estimate,
)
from judge.stats.intervals import (
    LEAST_UNITS,
    ONE_PATIENT,
    Z_95,
    Bools,
    Codes,
    Estimate,
    Resamples,
    Values,
    clustered_error,
    rate_interval,
    student,
)
from judge.stats.scores import ROUNDING
from judge.text import counted

NO_STUDY = "no study has the word of both"
EXPERTS = 0.2
"""The epsilon of the alternative annotator test that its authors advise for expert readers: what a
judge is forgiven for being cheap. Theirs is 0.15 for skilled readers and 0.1 for the crowd."""

LEAST_READERS, LEAST_TESTED = 3, 30
"""Of fewer patients, or studies, no test is given. The authors' signed-rank test for these takes a
judge that is worse by just epsilon for as good in 24 to 46%, since the differences are skewed."""
PASSES = 0.5
"""The winning rate from which on a judge passes."""


def agreement(values: Values, n_judges: int, resamples: Resamples) -> dict[str, Any]:
    """Return how the first `n_judges` columns correlate with the mean of the readers, the others.

    `judges` has their correlations, and `readers` those of each reader with the mean of the
    others. `mean` is the mean over the readers, the ceiling, and its `range` the least and the
    greatest of theirs; without a value for fewer than ten studies, and where a reader never varies.
    A judge is held against the mean of one reader more than a reader is, which is a little easier.
    """
    readers = values[:, n_judges:]
    mean = mean_of(readers)
    names = ("the judge", "the mean of the readers")
    judges = [correlate(column, mean, resamples, names) for column in values[:, :n_judges].T]
    names = ("the reader", "the mean of the other readers")
    by_reader = [
        correlate(column, mean_of(np.delete(readers, index, axis=1)), resamples, names)
        for index, column in enumerate(readers.T)
    ]
    known = (~np.isnan(readers)).sum(axis=1) > 1
    defined = [draws.figures for draws in by_reader if draws.figures is not None]
    n_constant = sum(len(np.unique(column[~np.isnan(column)])) == 1 for column in readers.T)
    n = int(known.sum())
    reason = None if defined else "no reader has a correlation with the others"
    if n_constant:
        reason = f"{n_constant} of {len(by_reader)} readers mark the same in every study"
    elif n < LEAST_UNITS:
        reason = f"a ceiling needs {LEAST_UNITS} studies that two readers have, there are {n}"
    mean_draws = CorrelationDraws(known, np.mean(defined, axis=0) if defined else None, reason)
    ranges: dict[str, Any] = dict.fromkeys(METHODS)
    if reason is None:
        single = np.array([figures[0] for figures in defined])
        ends = zip(single.min(axis=0).tolist(), single.max(axis=0).tolist(), strict=True)
        ranges = dict(zip(METHODS, map(list, ends), strict=True))
    return {
        "judges": [draws.plain(resamples) for draws in judges],
        "readers": [draws.plain(resamples) for draws in by_reader],
        "mean": mean_draws.plain(resamples) | {"range": ranges},
    }


def mean_of(values: Values) -> Values:
    """Return the mean of each row over the columns that have a value, NaN where none has."""
    n = (~np.isnan(values)).sum(axis=1)
    total = np.nan_to_num(values).sum(axis=1)
    mean: Values = np.divide(total, n, out=np.full(len(values), np.nan), where=n > 0)
    return mean


def limits_of_agreement(judge: Values, readers: Values, units: Codes) -> dict[str, Any]:
    """Return the `bias` of one judge's counts and the limits of agreement [Bland and Altman 1999].

    The bias is the mean of the judge less the mean of the readers, `lower` and `upper` are bias ±
    1.96 `sd`, the standard deviation; none of fewer than three studies. Intervals are Student's t;
    the standard error of a limit is sd sqrt(1/n + 1.96² / (2 (n - 1))) [the same]. Where a patient
    has several studies all three are clustered, by the limit's linear approximation.
    """
    differences = judge - mean_of(readers)
    known = ~np.isnan(differences)
    d, units = differences[known], units[known]
    n = len(d)
    if n < LEAST_STUDIES:
        reason = f"limits of agreement need {LEAST_STUDIES} studies, {n} have both values"
        none = undefined_estimate(known, reason).plain()
        return {"n": n, "bias": none, "lower": none, "upper": none, "sd": None}
    bias, sd = float(d.mean()), float(d.std(ddof=1))
    error, n_units = clustered_error(d, units)
    errors, why = [error] + [sd * np.sqrt(1 / n + Z_95**2 / (2 * (n - 1)))] * 2, None
    if sd <= ROUNDING * float(np.abs(judge[known]).max() + 1):
        sd, why = 0.0, "all differences are the same, which gives no interval"
    elif n_units < 2:
        why = ONE_PATIENT
    elif n_units < n:
        linear = Z_95 * ((d - bias) ** 2 - sd**2) / (2 * sd)
        errors[1:] = [clustered_error(d + sign * linear, units)[0] for sign in (-1, 1)]
    figures: dict[str, Any] = {}
    for name, sign, spread in zip(("bias", "lower", "upper"), (0, -1, 1), errors, strict=True):
        value = bias + sign * Z_95 * sd
        half = student(n_units - 1) * float(spread) if why is None else 0.0
        low, high = (value - half, value + half) if why is None else (None, None)
        n_undefined = int((~known).sum())
        figures[name] = Estimate(n, value, low, high, n_undefined, reason=why).plain()
    return {"n": n, **figures, "sd": sd}


def detection(judge: Values, readers: Values, resamples: Resamples) -> dict[str, Any]:
    """Return how one judge finds the studies with an error in the eyes of `readers`.

    A value is 1 where a rater says that the study has no error of a level, 0 where it has one.
    **Positive is a study that has an error.** The readers' majority says whether a study has one;
    where it is even, in `n_ties` of the `n` studies, the study counts as one that has: half of the
    readers would not sign it. `sensitivity`: of the studies that have one, the share where the
    judge says so; `specificity`: of those that have none. `kappa` is Cohen's, of the judge and the
    majority. The rates are of studies *without* an error: `judge_rate`, `majority_rate`, and
    `reader_rate`, the mean over studies of the share of the study's readers who say so; `bias`
    is the judge's rate less the readers'. Kappa, the readers' rate and the bias have a bootstrap
    interval, the others Wilson's (`rate_interval`).
    """
    share = mean_of(readers)
    known = ~(np.isnan(judge) | np.isnan(share))
    units, n = resamples.units[known], int(known.sum())
    is_clean, shares = judge[known] == 1, share[known]
    majority = shares > 0.5
    both = np.zeros((len(judge), 5))
    both[known] = np.column_stack([np.ones(n), is_clean, majority, is_clean & majority, shares])
    count, clean, by_majority, agreed, rates = resamples.sums(both).T
    by_chance = clean * by_majority + (count - clean) * (count - by_majority)  # of n * n
    with np.errstate(divide="ignore", invalid="ignore"):
        kappas = (count - clean - by_majority + 2 * agreed) * count - by_chance
        kappas /= count * count - by_chance
        rates, clean = rates / count, clean / count

    def by_bootstrap(figures: Values, missing: str) -> dict[str, Any]:
        if not n or np.isnan(figures[0]):
            return undefined_estimate(known, missing if n else NO_STUDY).plain()
        return resamples.estimate(figures, known).plain()

    def rate(is_yes: Bools, missing: str, among: Bools | slice = slice(None)) -> dict[str, Any]:
        share = rate_interval(is_yes[among], units[among], missing)
        return replace(share, n_undefined=len(judge) - n).plain()

    majority_rate = rate(majority, NO_STUDY)
    # Where all readers say the same of all studies no resample differs.
    alike = n and shares.min() == shares.max() and shares[0] in (0, 1)
    same = "the judge and the readers say the same one thing of every study"
    return {
        "n": n,
        "n_ties": int((shares == 0.5).sum()),
        "sensitivity": rate(~is_clean, "no study has an error, by the readers", ~majority),
        "specificity": rate(is_clean, "every study has an error, by the readers", majority),
        "kappa": by_bootstrap(kappas, same),
        "judge_rate": rate(is_clean, NO_STUDY),
        "reader_rate": majority_rate if alike else by_bootstrap(rates, NO_STUDY),
        "majority_rate": majority_rate,
        "bias": by_bootstrap(clean - rates, NO_STUDY),
    }


def alternative_annotator(
    judge: Values, readers: Values, units: Codes, *, epsilon: float = EXPERTS
) -> dict[str, Any]:
    """Test whether a judge may stand in for one of the readers [Calderon, Reichart and Dror 2025].

    For each reader h, over the n studies that h, the judge and one other reader at least have:
    the judge's and h's scores against the other readers are their negative root mean squared
    distance from them; of 0 and 1 that orders as the share of them who say the same. With W = 1 for
    who scores as high as the other or higher, else 0 (`judge_wins` and `reader_wins` are their
    means), d = W of h - W of the judge, and the hypothesis that the mean d is epsilon or more is
    tested from one side (`mean_below`). A reader is `won` where p, corrected over readers
    [Benjamini and Yekutieli 2001], is 0.05 at most. `omega` is the share of the tested readers that
    are won, and the judge passes from 0.5 on; `rho` is the mean of `judge_wins`. All three are None
    where there is a `reason`.
    """
    tests = [
        {"reader": index, **_reader_test(index, judge, readers, units, epsilon)}
        for index in range(readers.shape[1])
    ]
    tested = [test for test in tests if test["p"] is not None]
    result = {"epsilon": epsilon, "readers": tests, "omega": None, "rho": None, "passes": None}
    if len(tested) < LEAST_READERS:
        having = counted(len(tested), "reader has", "readers have") if tested else "no reader has"
        reason = (
            f"the test needs {LEAST_READERS} readers, each with {LEAST_TESTED} patients or studies "
            f"that the judge and another reader have too; {having} {LEAST_TESTED}"
        )
        return {**result, "reason": reason}
    from scipy.stats import false_discovery_control

    adjusted = false_discovery_control([test["p"] for test in tested], method="by").tolist()
    for test, p in zip(tested, adjusted, strict=True):
        test |= {"p_adjusted": p, "won": p <= 0.05}
    omega = sum(test["won"] for test in tested) / len(tested)
    rho = sum(test["judge_wins"] for test in tested) / len(tested)
    return {**result, "omega": omega, "rho": rho, "passes": omega >= PASSES}


def _reader_test(
    index: int, judge: Values, readers: Values, units: Codes, epsilon: float
) -> dict[str, Any]:
    reader, others = readers[:, index], np.delete(readers, index, axis=1)
    known = ~(np.isnan(judge) | np.isnan(reader) | np.isnan(others).all(axis=1))
    names = ("judge_wins", "reader_wins", "p", "p_adjusted")
    test = {"n": int(known.sum()), **dict.fromkeys(names), "won": False}
    if not test["n"]:
        return test
    apart = round_to_largest(np.stack([judge, reader])[:, known, None] - others[known])
    by_judge, by_reader = round_to_largest(np.nanmean(apart**2, axis=2))
    judge_wins, reader_wins = by_judge <= by_reader, by_reader <= by_judge
    p = mean_below(reader_wins.astype(float) - judge_wins, units[known], epsilon)
    wins = {"judge_wins": float(judge_wins.mean()), "reader_wins": float(reader_wins.mean())}
    return test | wins | {"p": p}


def mean_below(d: Values, units: Codes, epsilon: float) -> float | None:
    """Return the p-value that the mean of `d`, of -1, 0 and 1, is less than epsilon.

    By the score test of a difference of paired shares [Tango 1998], whose variance is that under
    the hypothesis: the authors' t test takes a judge that is worse by just epsilon for as good in
    12% at 30 studies, and has no value where all of `d` are alike. Where units (patients) have
    several studies the variance has their design effect. None for fewer than 30 units.
    """
    # Takes a quarter of a second to import, for those who validate only.
    from scipy.special import ndtr

    error, n_units = clustered_error(d, units)
    if n_units < LEAST_TESTED:
        return None
    n, b, c = len(d), int((d > 0).sum()), int((d < 0).sum())
    # The likeliest share of -1 where that of 1 is larger by epsilon.
    linear = epsilon * (2 * n - b + c) - b - c
    root = np.sqrt(linear**2 + 8 * n * c * epsilon * (1 - epsilon))
    variance = ((root - linear) / (2 * n) + epsilon * (1 - epsilon)) / n
    if n_units < n:
        simple = d.var() / n
        variance *= max(1.0, error**2 / simple) if simple > 0 else n / n_units
    p = float(ndtr((d.mean() - epsilon) / np.sqrt(variance))) if variance > 0 else 1.0
    return max(p, float(np.finfo(float).tiny))  # never 0

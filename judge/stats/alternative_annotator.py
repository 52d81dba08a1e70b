"""The alternative annotator test: may a judge stand in for one of the readers?

[Calderon, Reichart and Dror 2025, The Alternative Annotator Test for LLM-as-a-Judge.] One
reader at a time is left out, and the judge and that reader are held against the others.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from judge.stats.correlation import Codes, without_noise
from judge.stats.estimate import clustered_error
from judge.stats.panel import Values

Scoring = Literal["negative rmse", "accuracy"]

EXPERTS = 0.2
"""The epsilon that the authors advise for expert readers: what a judge is forgiven for being
cheap. Theirs is 0.15 for skilled readers and 0.1 for the crowd."""

LEAST_READERS = 3
LEAST_UNITS = 30
"""Of fewer patients, or studies, no test is given. The authors' signed-rank test for these takes a
judge that is worse by just epsilon for as good in 24 to 46%, since the differences are skewed."""
ALPHA = 0.05
PASSES = 0.5
"""The winning rate from which on a judge passes."""


@dataclass(frozen=True, slots=True)
class ReaderTest:
    """The judge beside one reader, both against the other readers, on `n` studies.

    `judge_wins` is the share of studies where the judge is as near to the others as the reader
    or nearer, `reader_wins` the share where the reader is: studies where both are alike count
    in both. `p` is that of the test that reader_wins - judge_wins is less than epsilon, None for
    fewer than 30 patients, or studies; `p_adjusted` the same corrected over readers [Benjamini
    and Yekutieli 2001].
    """

    reader: int
    n: int
    judge_wins: float | None = None
    reader_wins: float | None = None
    p: float | None = None
    p_adjusted: float | None = None

    @property
    def is_won(self) -> bool:
        """Whether the judge may stand in for this reader."""
        return self.p_adjusted is not None and self.p_adjusted <= ALPHA


@dataclass(frozen=True, slots=True)
class AlternativeAnnotator:
    """The result of the test for one judge.

    `omega` is the share of the tested readers that the judge may stand in for, and it passes
    from 0.5 on. `rho` is the mean over readers of `judge_wins`: the chance that the judge is as
    good as a reader or better. All three are None where there is a `reason`.
    """

    epsilon: float
    readers: tuple[ReaderTest, ...]
    omega: float | None
    rho: float | None
    passes: bool | None
    reason: str | None = None

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types; without a reason that is left out."""
        found = asdict(self)
        if not self.reason:
            del found["reason"]
        return {**found, "readers": [{**asdict(one), "won": one.is_won} for one in self.readers]}


def alternative_annotator(
    judge: Values,
    readers: Values,
    units: Codes,
    *,
    scoring: Scoring = "negative rmse",
    epsilon: float = EXPERTS,
) -> AlternativeAnnotator:
    """Test one judge, a value a study, against `readers`, studies by readers; NaN has no value.

    For each reader h, over the studies that h, the judge and one other reader at least have:
    the judge's and h's scores against the other readers are their negative root mean squared
    distance from them, or the share of them who say the same. With W = 1 for who scores as
    high as the other or higher, else 0, d = W of h - W of the judge, and the hypothesis that
    the mean d is epsilon or more is tested from one side (`mean_below`).
    """
    tests = [
        _reader_test(at, judge, readers, units, scoring, epsilon) for at in range(readers.shape[1])
    ]
    tested = [test for test in tests if test.p is not None]
    if len(tested) < LEAST_READERS:
        reason = (
            f"the test needs {LEAST_READERS} readers, each with {LEAST_UNITS} patients or studies "
            f"that the judge and another reader have too; there are {len(tested)} such"
        )
        return AlternativeAnnotator(epsilon, tuple(tests), None, None, None, reason)
    from scipy.stats import false_discovery_control

    p_values = [test.p for test in tested]
    adjusted = iter(false_discovery_control(p_values, method="by").tolist())
    tests = [test if test.p is None else replace(test, p_adjusted=next(adjusted)) for test in tests]
    omega = sum(test.is_won for test in tests) / len(tested)
    rho = sum(test.judge_wins or 0.0 for test in tested) / len(tested)
    return AlternativeAnnotator(epsilon, tuple(tests), omega, rho, omega >= PASSES)


def _reader_test(
    at: int, judge: Values, readers: Values, units: Codes, scoring: Scoring, epsilon: float
) -> ReaderTest:
    own, others = readers[:, at], np.delete(readers, at, axis=1)
    known = ~(np.isnan(judge) | np.isnan(own) | np.isnan(others).all(axis=1))
    n = int(known.sum())
    if not n:
        return ReaderTest(at, 0)
    scores = _scores(np.stack([judge[known], own[known]], axis=1), others[known], scoring)
    judge_wins, reader_wins = scores[:, 0] >= scores[:, 1], scores[:, 1] >= scores[:, 0]
    d = reader_wins.astype(float) - judge_wins
    p = mean_below(d, units[known], epsilon)
    return ReaderTest(at, n, float(judge_wins.mean()), float(reader_wins.mean()), p)


def _scores(two: Values, others: Values, scoring: Scoring) -> Values:
    has = ~np.isnan(others)[:, None, :]
    apart = np.where(has, without_noise(two[:, :, None] - others[:, None, :]), 0.0)
    n = has.sum(axis=2)
    if scoring == "accuracy":
        return np.asarray((has & (apart == 0)).sum(axis=2) / n)
    # A root orders as its square does, and so adds nothing but rounding.
    return without_noise(-(apart**2).sum(axis=2) / n)


def mean_below(d: Values, units: Codes, epsilon: float) -> float | None:
    """Return the p-value that the mean of `d`, of -1, 0 and 1, is less than epsilon.

    By the score test of a difference of paired shares [Tango 1998], whose variance is that under
    the hypothesis: the authors' t test takes a judge that is worse by just epsilon for as good in
    12% at 30 studies, and has no value where all of `d` are alike. Where units (patients) have
    several studies the variance has their design effect. None for fewer than `LEAST_UNITS` units.
    """
    # Takes a quarter of a second to import, for those who validate only.
    from scipy.special import ndtr

    error, n_units = clustered_error(d, units)
    if n_units < LEAST_UNITS:
        return None
    n, b, c = len(d), int((d > 0).sum()), int((d < 0).sum())
    # The likeliest share of -1 where that of 1 is larger by epsilon.
    linear = epsilon * (2 * n - b + c) - b - c
    root = np.sqrt(linear**2 + 8 * n * c * epsilon * (1 - epsilon))
    variance = ((root - linear) / (2 * n) + epsilon * (1 - epsilon)) / n
    if n_units < n:
        simple = d.var() / n
        variance *= max(1.0, error**2 / simple) if simple > 0 else n / n_units
    return float(ndtr((d.mean() - epsilon) / np.sqrt(variance))) if variance > 0 else 1.0

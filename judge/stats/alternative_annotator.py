"""The alternative annotator test: may a judge stand in for one of the readers?

[Calderon, Reichart and Dror 2025, The Alternative Annotator Test for LLM-as-a-Judge.] One
reader at a time is left out, and the judge and that reader are held against the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from judge.stats.agreement import clustered_error, without
from judge.stats.correlation import Codes, without_noise
from judge.stats.panel import Values

Scoring = Literal["negative rmse", "accuracy"]
Method = Literal["t test", "wilcoxon signed-rank test"]

EXPERTS = 0.2
"""The epsilon that the authors advise for expert readers: what a judge is forgiven for being
cheap. Theirs is 0.15 for skilled readers and 0.1 for the crowd."""

LEAST_READERS = 3
LEAST_FOR_T = 30
ALPHA = 0.05
PASSES = 0.5
"""The winning rate from which on a judge passes."""


@dataclass(frozen=True, slots=True)
class ReaderTest:
    """The judge beside one reader, both against the other readers, on `n` studies.

    `judge_wins` is the share of studies where the judge is as near to the others as the reader
    or nearer, `reader_wins` the share where the reader is: studies where both are alike count
    in both. `p` is that of the test that reader_wins - judge_wins is less than epsilon, and
    `p_adjusted` the same corrected over readers [Benjamini and Yekutieli 2001]. All but `n` are
    None where no study can be compared.
    """

    reader: int
    n: int
    judge_wins: float | None = None
    reader_wins: float | None = None
    method: Method | None = None
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
        readers = [{**asdict(one), "won": one.is_won} for one in self.readers]
        reason = {"reason": self.reason} if self.reason else {}
        del found["reason"]
        return {**found, "readers": readers, **reason}


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
    the mean d is epsilon or more is tested from one side: by Student's t, of the `units`
    (patients, or studies) where one has several studies; under 30 units by the Wilcoxon
    signed-rank test of their mean d - epsilon, with exact probabilities. Where d is the same in
    all studies t is infinite, and p 0 or 1. Raises ValueError unless 0 <= epsilon < 1.
    """
    if not 0 <= epsilon < 1:
        raise ValueError(f"epsilon is a share of studies, from 0 to below 1, not {epsilon}")
    tests = [
        _reader_test(at, judge, readers, units, scoring, epsilon) for at in range(readers.shape[1])
    ]
    tested = [test for test in tests if test.p is not None]
    if len(tested) < LEAST_READERS:
        few = "reader has" if len(tested) == 1 else "readers have"
        reason = (
            f"the test needs {LEAST_READERS} readers, each with studies that the judge and "
            f"another reader have too; {len(tested)} {few} such"
        )
        return AlternativeAnnotator(epsilon, tuple(tests), None, None, None, reason)
    adjusted = iter(benjamini_yekutieli([test.p for test in tested if test.p is not None]))
    tests = [test if test.p is None else replace(test, p_adjusted=next(adjusted)) for test in tests]
    omega = sum(test.is_won for test in tests) / len(tested)
    rho = sum(test.judge_wins or 0.0 for test in tested) / len(tested)
    return AlternativeAnnotator(epsilon, tuple(tests), omega, rho, omega >= PASSES)


def _reader_test(
    at: int, judge: Values, readers: Values, units: Codes, scoring: Scoring, epsilon: float
) -> ReaderTest:
    own, others = readers[:, at], without(readers, at)
    known = ~(np.isnan(judge) | np.isnan(own) | np.isnan(others).all(axis=1))
    n = int(known.sum())
    if not n:
        return ReaderTest(at, 0)
    scores = _scores(np.stack([judge[known], own[known]], axis=1), others[known], scoring)
    judge_wins, reader_wins = scores[:, 0] >= scores[:, 1], scores[:, 1] >= scores[:, 0]
    d = reader_wins.astype(float) - judge_wins
    method, p = _p_value(d, units[known], epsilon)
    return ReaderTest(at, n, float(judge_wins.mean()), float(reader_wins.mean()), method, p)


def _scores(two: Values, others: Values, scoring: Scoring) -> Values:
    has = ~np.isnan(others)[:, None, :]
    apart = np.where(has, without_noise(two[:, :, None] - others[:, None, :]), 0.0)
    n = has.sum(axis=2)
    if scoring == "accuracy":
        return np.asarray((has & (apart == 0)).sum(axis=2) / n)
    # A root orders as its square does, and so adds nothing but rounding.
    return without_noise(-(apart**2).sum(axis=2) / n)


def _p_value(d: Values, units: Codes, epsilon: float) -> tuple[Method, float]:
    # Takes a quarter of a second to import, for those who validate only.
    from scipy.special import stdtr

    _, units = np.unique(units, return_inverse=True)
    n_units = int(units.max()) + 1
    if n_units < LEAST_FOR_T:
        means = np.bincount(units, d) / np.bincount(units)
        return "wilcoxon signed-rank test", signed_rank_below(means - epsilon)
    error, _ = clustered_error(d, units)
    below = float(d.mean()) - epsilon
    if error == 0:  # As far as t goes: all studies say the same.
        return "t test", 0.0 if below < 0 else 1.0
    return "t test", float(stdtr(n_units - 1, below / error))


def signed_rank_below(values: Values) -> float:
    """Return the p-value that `values` lie about less than 0 [Wilcoxon 1945].

    The chance that the ranks of the positive values sum to what they do or less, where each
    sign is as likely as the other. It is exact with ties too, which share their mean rank.
    Values of 0 are left out; 1 where no other is left.
    """
    values = without_noise(values)
    values = values[values != 0]
    _, codes, n = np.unique(np.abs(values), return_inverse=True, return_counts=True)
    # Twice the mean ranks, which are whole.
    ranks = (2 * np.cumsum(n) - n + 1)[codes]
    ways = np.zeros(int(ranks.sum()) + 1)
    ways[0] = 1
    for rank in ranks:
        ways[rank:] += ways[:-rank].copy()
    reached = int(ranks[values > 0].sum())
    return float(ways[: reached + 1].sum() / 2.0 ** len(values))


def benjamini_yekutieli(p_values: Sequence[float]) -> list[float]:
    """Return the p-values corrected for the false discovery rate, whatever their dependence.

    Those at most alpha are the ones that the step-up procedure rejects at alpha [Benjamini and
    Yekutieli 2001].
    """
    m = len(p_values)
    harmonic = sum(1 / rank for rank in range(1, m + 1))
    adjusted, least = [1.0] * m, 1.0
    order = sorted(range(m), key=p_values.__getitem__)
    for rank in range(m, 0, -1):
        at = order[rank - 1]
        least = min(least, p_values[at] * m * harmonic / rank)
        adjusted[at] = least
    return adjusted

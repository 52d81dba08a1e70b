"""Whether a judge says the same again: the same candidates in several runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from judge.stats.estimate import Z_95
from judge.stats.panel import Values
from judge.stats.reliability import intraclass, within_variance
from judge.stress.figures import rate
from judge.stress.reading import Reading
from judge.stress.truth import Truth


def stable(
    truth: Truth, readings: Sequence[Reading], of: Sequence[str], *, by_chance: bool
) -> dict[str, Any]:
    """Return how far several readings of the same candidates agree, over those that all have read.

    `flips`: the share of candidates of which some readings say "no error on the level" and some
    do not. The candidates of a study go together, so the interval is Wilson's of as many
    candidates as they are worth, of as many as there are studies where none or all flip.
    `score_sd`: the root of the mean over candidates of the variance (n - 1) of their scores.
    `icc`: of the counts of errors; its interval takes candidates for independent.

    `rate` is there for readings that differ `by_chance` alone. `rate`, `low` and `high`: the
    rate of candidates without an error on the level in the first reading. Where the same
    candidates are read again, its variance is V = the mean over candidates of the variance of
    their 0s and 1s, over n: 95% of readings have a rate within `again` = 1.96 sqrt(V) of the rate
    in the long run, and two readings differ by up to sqrt(2) times as much. `share` is V over
    p (1 - p) / n, the variance of a rate p of n: a rate that was read once holds that part
    already, and no interval is to be made wider for it.
    """
    is_read = np.all([one.is_read for one in readings], axis=0)
    levels = [one.errors if one.level is None else one.level for one in readings]
    scores, errors = [one.score for one in readings], [one.errors for one in readings]
    studies = truth.units[is_read]
    found: dict[str, Any] = {
        "of": [*of],
        "n": int(is_read.sum()),
        "n_studies": len(np.unique(studies)),
        "lost": int((~is_read).sum()),
        "flips": None,
        "score_sd": None,
        "icc": None,
        "rate": None,
        "rates": [],
    }
    if (counts := _grid(levels, is_read)) is not None:
        clean = counts == 0
        found["flips"] = rate(clean.any(axis=1) & ~clean.all(axis=1), studies)
        found["rates"] = [
            {"of": name, **rate(column, studies)} for name, column in zip(of, clean.T, strict=True)
        ]
        if by_chance and len(clean):
            found["rate"] = _rate(clean.astype(float), found["rates"][0])
    if (values := _grid(scores, is_read)) is not None:
        variance = within_variance(values[~np.isnan(values).any(axis=1)])
        found["score_sd"] = None if variance is None else math.sqrt(variance)
    if (values := _grid(errors, is_read)) is not None:
        found["icc"] = intraclass(values).plain()
    return found


def _grid(columns: Sequence[Values | None], is_read: Values) -> Values | None:
    """Return candidates by readings of those that were read, None where a reading has none."""
    there = [one for one in columns if one is not None]
    if len(there) < len(columns):
        return None
    return np.array([one[is_read] for one in there]).T.reshape(-1, len(there))


def _rate(clean: Values, first: dict[str, Any]) -> dict[str, Any]:
    n, p = len(clean), float(clean.mean())
    within = within_variance(clean) or 0.0
    return {
        **{name: first[name] for name in ("k", "n", "rate", "low", "high")},
        "again": Z_95 * math.sqrt(within / n),
        "share": within / (p * (1 - p)) if 0 < p < 1 else None,
    }

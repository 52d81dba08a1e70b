"""Metrics from elsewhere, study by study: BLEU-2, and those of the package radeval.

Each has ReXrank's name and direction. BLEU-2 is computed here; the others are models with
weights to download, which `radeval` (the extra `metrics`) knows how to get.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judge.metrics.bleu import bleu2
from judge.metrics.others import NAMES as OTHERS
from judge.metrics.others import ask
from judge.stats.metric import KNOWN, Metric
from judge.types import JudgeError

NAMES = ("bleu2", *OTHERS)


@dataclass(frozen=True, slots=True)
class Scored:
    """A metric's values, one a study."""

    metric: Metric
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """A metric that could not be had, and why."""

    metric: Metric
    why: str


def check(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, each once; raises `JudgeError` for an unknown one."""
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise JudgeError(
            f"unknown metric {', '.join(map(repr, unknown))}; there are: {', '.join(NAMES)}"
        )
    return tuple(dict.fromkeys(names))


def compute(name: str, references: Sequence[str], candidates: Sequence[str]) -> Scored | Missing:
    """Return a metric's value of each pair of reports, or why it cannot be had here."""
    metric = KNOWN[name]
    if name == "bleu2":
        values = tuple(map(bleu2, references, candidates))
        return Scored(metric, values)
    found = ask(name, references, candidates)
    return Missing(metric, found) if isinstance(found, str) else Scored(metric, found)

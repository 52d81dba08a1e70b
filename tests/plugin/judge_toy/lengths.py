"""The metric `length_ratio`: how many words the candidate has for each of the reference's."""

from __future__ import annotations

from collections.abc import Sequence

from judge.metrics import AddedMetric


def compute(references: Sequence[str], candidates: Sequence[str]) -> list[float]:
    """Return words of the candidate / words of the reference, 0 where the reference has none."""
    pairs = zip(references, candidates, strict=True)
    return [len(b.split()) / len(a.split()) for a, b in pairs]


LENGTH_RATIO = AddedMetric(
    "length ratio", compute, higher_is_better=True, scale=(0, None)
)

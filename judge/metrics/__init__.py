"""Metrics from elsewhere, study by study: BLEU-2, those of the package radeval, and added ones.

Each has ReXrank's name and direction. BLEU-2 is computed here; the others are models with
weights to download, which `radeval` (the extra `metrics`) knows how to get. A package of
somebody else's adds a metric by an entry point of the group `judge.metrics` that refers to
an `AddedMetric`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from judge.metrics.bleu import bleu2
from judge.metrics.others import NAMES as OTHERS
from judge.metrics.others import ask
from judge.plugins import METRICS
from judge.rubrics.contract import Scale
from judge.stats.metric import KNOWN, Metric
from judge.types import JudgeError

NAMES = ("bleu2", *OTHERS)


@dataclass(frozen=True, slots=True)
class AddedMetric:
    """A metric that a package adds; its column is called as its entry point is.

    `label` is what tables call it. `compute` takes n references and n candidates and gives n
    finite values, of which `higher_is_better` says the direction. `scale` holds the least and
    the greatest value that a study can have, None for no greatest; None where it is unknown.
    """

    label: str
    compute: Callable[[Sequence[str], Sequence[str]], Sequence[float]]
    higher_is_better: bool
    scale: Scale | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """A metric's values, one a study."""

    metric: Metric
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """A metric that could not be had, by its label, and why."""

    label: str
    why: str


def names() -> tuple[str, ...]:
    """Return the names of all metrics, those that packages add last."""
    return (*NAMES, *METRICS.names(NAMES))


def check(asked: Sequence[str]) -> tuple[str, ...]:
    """Return the names, each once.

    Raises `JudgeError` for an unknown one, and for one that is built in and added too.
    """
    unknown = [name for name in asked if name not in names()]
    if unknown:
        raise JudgeError(
            f"unknown metric {', '.join(map(repr, unknown))}; there are: {', '.join(names())}"
        )
    for name in NAMES:
        if name in asked:
            METRICS.check_unique(name)
    return tuple(dict.fromkeys(asked))


def compute(name: str, references: Sequence[str], candidates: Sequence[str]) -> Scored | Missing:
    """Return a metric's value of each pair of reports, or why it cannot be had here."""
    if name not in NAMES:
        return _added(name, references, candidates)
    metric = KNOWN[name]
    if name == "bleu2":
        values = tuple(map(bleu2, references, candidates))
        return Scored(metric, values)
    found = ask(name, references, candidates)
    return Missing(metric.study_label, found) if isinstance(found, str) else Scored(metric, found)


def added(name: str) -> Metric | None:
    """Return the metric that a package adds by this name, None where none does.

    Raises `JudgeError` where the package cannot be imported, or what it adds is no metric.
    """
    if name not in METRICS.names(NAMES):
        return None
    found = METRICS.load(name)
    if not isinstance(found, AddedMetric):
        raise METRICS.error(name, f"is no AddedMetric but {found!r:.80}")
    up = found.higher_is_better
    return Metric(name, found.label, "mean", up, found.label, up, scale=found.scale)


def _added(name: str, references: Sequence[str], candidates: Sequence[str]) -> Scored | Missing:
    metric = None
    try:
        metric = added(name)
        work = METRICS.load(name).compute
        values = METRICS.guarded(name, lambda: tuple(map(float, work(references, candidates))))
        if len(values) != len(references) or not all(map(math.isfinite, values)):
            wrong = f"gave {len(values)} values for {len(references)} studies, or none at all"
            raise METRICS.error(name, wrong)
    except JudgeError as error:
        return Missing(metric.label if metric else name, str(error))
    assert metric is not None
    return Scored(metric, values)

"""The figures that models are compared by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from judge.rubrics import Rubric
from judge.types import JudgeError

Kind = Literal["mean", "inverse", "rate"]
What = Literal["score", "errors", "no_significant_error", "no_actionable_error", "other"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One column of a leaderboard.

    `kind` says how the figure is made from the values of the studies: their mean, 1 / their
    mean (`inverse`), or the share of studies whose value is 1 (`rate`; the others are 0).
    `higher_is_better` is of the printed figure, `study_higher_is_better` of a study's value,
    which `study_label` names; the two differ for a reciprocal. `rubric` is None for a metric
    that came from a file. `rexrank` is the column of ReXrank's own tables that it fills.
    """

    name: str
    label: str
    kind: Kind
    higher_is_better: bool
    study_label: str
    study_higher_is_better: bool
    rubric: str | None = None
    what: What = "other"
    rexrank: str | None = None


REXRANK_COLUMNS = (
    *("BLEU", "BertScore", "SembScore", "RadGraph", "1/RadCliQ-v1", "RaTEScore"),
    *("GREEN", "1/FineRadScore"),
)
"""The metric columns of the result tables in ReXrank's repository, in their order."""


def _known(
    name: str, label: str, rexrank: str | None = None, *, higher: bool = True, inverse: bool = False
) -> Metric:
    printed = f"1/{label}" if inverse else label
    kind: Kind = "inverse" if inverse else "mean"
    return Metric(name, printed, kind, higher or inverse, label, higher, None, "other", rexrank)


KNOWN = {
    metric.name: metric
    for metric in (
        _known("bleu2", "BLEU-2", "BLEU"),
        _known("bertscore", "BERTScore", "BertScore"),
        _known("semb", "SembScore", "SembScore"),
        _known("radgraph", "RadGraph", "RadGraph"),
        _known("radcliq", "RadCliQ-v1", "1/RadCliQ-v1", higher=False, inverse=True),
        _known("radcliq_v0", "RadCliQ-v0", higher=False),
        _known("ratescore", "RaTEScore", "RaTEScore"),
        _known("green", "GREEN", "GREEN"),
        _known("fineradscore", "FineRadScore", "1/FineRadScore", higher=False, inverse=True),
        _known("crimson", "CRIMSON"),
    )
}
"""The metrics whose direction and reciprocal are ReXrank's [ReXrank paper, Metrics].

Of RadCliQ-v1 and FineRadScore it prints 1 / (mean over studies).
"""

# The columns of ReXrank's tables and of its metric scripts, letters and digits alone.
_ALIASES = {
    **{name.replace("_", ""): name for name in KNOWN},
    "bleu": "bleu2",
    "bleuscore": "bleu2",
    "sembscore": "semb",
    "radcliqv1": "radcliq",
    "radgraphcombined": "radgraph",
    "greenscore": "green",
}


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def metric_for_column(
    column: str, *, higher: Sequence[str] = (), lower: Sequence[str] = ()
) -> Metric | None:
    """Return the metric that a file's column holds, one value a study.

    `higher` and `lower` are columns whose direction the user gave; it overrides the table of
    known names. None where nobody knows the direction. Raises `JudgeError` for a reciprocal
    of single studies, whose mean is not what ReXrank prints.
    """
    if column in higher or column in lower:
        up = column in higher
        return Metric(column, column, "mean", up, column, up)
    known = KNOWN.get(_ALIASES.get(_plain(column), ""))
    if column.strip().startswith("1/"):
        raise JudgeError(
            f"the column {column!r} holds a reciprocal for each study, and the mean of those is "
            f"not the 1 / mean that ReXrank prints; give {column.strip()[2:]!r} for each study"
        )
    return known


def rubric_metrics(rubric: Rubric) -> tuple[Metric, ...]:
    """Return what a rubric's runs are compared by.

    Its scores (as 1 / mean where the rubric has that figure), errors a study, and the rates
    of studies without a significant and, where it has such a level, an actionable error.
    """
    found = []
    for score in rubric.scores:
        kind: Kind = "inverse" if score.inverse else "mean"
        name = f"inverse_{score.name}" if score.inverse else score.name
        label = score.inverse or score.label
        up = score.higher_is_better
        found.append(
            Metric(
                *(name, label, kind, up or bool(score.inverse), score.label, up),
                rubric=rubric.name,
                what="score",
                rexrank=label if label in REXRANK_COLUMNS else None,
            )
        )
    rates: list[tuple[What, str]] = [("no_significant_error", "no significant error")]
    if rubric.has_actionable:
        rates.append(("no_actionable_error", "no actionable error"))
    label = f"errors a study ({rubric.title})"
    found.append(
        Metric(
            *(f"{rubric.name}_errors", label, "mean", False, label, False),
            rubric=rubric.name,
            what="errors",
        )
    )
    for what, text in rates:
        label = f"{text} ({rubric.title})"
        found.append(
            Metric(
                *(f"{rubric.name}_{what}", label, "rate", True, label, True),
                rubric=rubric.name,
                what=what,
            )
        )
    return tuple(found)


def find(metrics: Sequence[Metric], wanted: str) -> Metric:
    """Return the metric that `wanted` names: its name, its label, or an end of its name.

    Raises `JudgeError` where none or more than one fits.
    """
    for fits in (
        [m for m in metrics if wanted in (m.name, m.label)],
        [m for m in metrics if _plain(wanted) in (_plain(m.name), _plain(m.label))],
        [m for m in metrics if m.name.endswith(f"_{wanted.replace('-', '_')}")],
    ):
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise JudgeError(
                f"{wanted!r} is the name of several metrics: {', '.join(m.name for m in fits)}; "
                "give one of them"
            )
    raise JudgeError(
        f"no metric {wanted!r} among these runs; there are: {', '.join(m.name for m in metrics)}"
    )

"""The figures that models are compared by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from judge import rubrics
from judge.rubrics import Rubric
from judge.types import JudgeError

Kind = Literal["mean", "inverse", "rate"]
What = Literal["score", "errors", "no_significant_error", "no_actionable_error", "other"]

MINUS = "\N{MINUS SIGN}"

_OF_A_STUDY = {
    "errors": "errors",
    "no_significant_error": "significant errors",
    "no_actionable_error": "actionable errors",
}


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

    `higher` and `lower` are columns whose direction the user gave; of a known metric it may
    say again what is known, and changes nothing. None where nobody knows the direction.
    Raises `JudgeError` for a direction that contradicts itself or what is known, and for a
    reciprocal of single studies, whose mean is not what ReXrank prints.
    """
    if column in higher and column in lower:
        raise JudgeError(
            f"{column!r} is given to both --higher-is-better and --lower-is-better; say one"
        )
    up = column in higher
    is_given = up or column in lower
    reciprocal_of = column.strip().removeprefix("1/")
    if reciprocal_of != column.strip() and (known_metric(reciprocal_of) or not is_given):
        raise JudgeError(
            f"the column {column!r} holds a reciprocal for each study, and the mean of those is "
            f"not the 1 / mean that ReXrank prints; give {reciprocal_of!r} for each study"
        )
    known = known_metric(column)
    if known is None:
        return Metric(column, column, "mean", up, column, up) if is_given else None
    if is_given and up != known.study_higher_is_better:
        raise JudgeError(
            f"--{'higher' if up else 'lower'}-is-better {column}: that is {known.study_label}, of "
            f"which {'more' if known.study_higher_is_better else 'less'} is better for a study; "
            "leave the option out, or rename the column where it is something else"
        )
    return known


def known_metric(column: str) -> Metric | None:
    """Return the known metric that a column is named after, in any of its spellings."""
    return KNOWN.get(_ALIASES.get(_plain(column), ""))


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


def short_label(metric: Metric) -> str:
    """Return the label without its rubric's title, for where all metrics are that rubric's."""
    if metric.rubric is None:
        return metric.label
    return metric.label.removesuffix(f" ({rubrics.load(metric.rubric).title})")


def turned_label(metric: Metric) -> str:
    """Return what a study's value turned round is called: a minus where less is better."""
    return metric.study_label if metric.study_higher_is_better else f"{MINUS} {metric.study_label}"


def label_of_a_study(metric: Metric) -> str:
    """Return what a metric says of one study; of a rate it is whether there is such an error."""
    if metric.rubric is None or metric.what not in _OF_A_STUDY:
        return metric.study_label
    return f"{_OF_A_STUDY[metric.what]} ({rubrics.load(metric.rubric).title})"


def check_own_names(metrics: Sequence[Metric]) -> None:
    """Raise `JudgeError` where two metrics share a name or a label: one would hide the other."""
    for what, names in (
        ("name", [metric.name for metric in metrics]),
        ("label", [metric.label for metric in metrics]),
    ):
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise JudgeError(
                f"two metrics have the {what} {twice[0]!r}, and one would hide the other; "
                "rename the column in the file of metrics"
            )


def find(metrics: Sequence[Metric], wanted: str) -> Metric:
    """Return the metric that `wanted` names.

    That is its name, its label with or without the rubric's title, or an end of its name.
    Raises `JudgeError` where none or more than one fits.
    """
    for fits in (
        [m for m in metrics if wanted in (m.name, m.label)],
        [m for m in metrics if wanted == short_label(m)],
        [m for m in metrics if _plain(wanted) in (_plain(m.name), _plain(m.label))],
        [m for m in metrics if _plain(wanted) == _plain(short_label(m))],
        [m for m in metrics if m.name.endswith(f"_{wanted.replace('-', '_')}")],
    ):
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise JudgeError(
                f"{wanted!r} is the name of several metrics: {_listed(fits)}; give one of them"
            )
    raise JudgeError(
        f"no metric {wanted!r} among these runs; give a name or its label: {_listed(metrics)}"
    )


def _listed(metrics: Sequence[Metric]) -> str:
    return ", ".join(f"{m.name} ({m.label!r})" for m in metrics)

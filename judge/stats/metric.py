"""The figures that models are compared by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from judge.rubrics.contract import Rubric, Scale, Statistic
from judge.types import JudgeError

Kind = Literal["mean", "inverse", "rate", "ratio"]
What = Literal["score", "count", "rate", "other"]

MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class Metric:
    """One column of a leaderboard.

    `kind` says how the figure is made from the values of the studies: their mean, 1 / their
    mean (`inverse`), the share of studies whose value is 1 (the others are 0), or their sum
    divided by that of another number of theirs (`ratio`). `higher_is_better` is of the printed
    figure, `study_higher_is_better` of a study's value, which `study_label` names. `what` decides
    where it is drawn: `other` came from a file, and its `rubric` is None. `rexrank` is the column
    of ReXrank's tables that it fills. `scale` has the least and the greatest value of a study, None
    for no such end. `short_label` is without the rubric's title, `definition` that of a rate, which
    is said once below its table. `measures` and `per` are the rubric's measures that the values,
    and what they are divided by, are sums of.
    """

    name: str
    label: str
    kind: Kind
    higher_is_better: bool
    study_label: str
    study_higher_is_better: bool = True
    rubric: str | None = None
    what: What = "other"
    rexrank: str | None = None
    scale: Scale | None = None
    short_label: str | None = None
    measures: tuple[str, ...] = ()
    per: tuple[str, ...] = ()
    definition: str | None = None

    @property
    def short(self) -> str:
        """Its label where all metrics are of one rubric."""
        return self.short_label or self.label


REXRANK_COLUMNS = (
    *("BLEU", "BertScore", "SembScore", "RadGraph", "1/RadCliQ-v1", "RaTEScore"),
    *("GREEN", "1/FineRadScore"),
)
"""The metric columns of the result tables in ReXrank's repository, in their order."""


def _known(
    name: str,
    label: str,
    rexrank: str | None = None,
    scale: Scale | None = None,
    *,
    higher: bool = True,
) -> Metric:
    kind: Kind = "inverse" if rexrank == f"1/{label}" else "mean"
    is_better = higher or kind == "inverse"
    shown = label if kind == "mean" else f"1/{label}"
    return Metric(
        name, shown, kind, is_better, label, higher, rexrank=rexrank, scale=scale
    )


_RADEVALS_OWN = (
    *("bleu", "rouge1", "rouge2", "bertscore", "radeval_bertscore", "green", "crimson"),
    *("f1chexbert_sample_acc_5", "f1chexbert_sample_acc_all"),
)
KNOWN = {
    metric.name: metric
    for metric in (
        _known("bleu2", "BLEU-2", "BLEU", (0, 1)),
        _known("bertscore", "BERTScore", "BertScore"),
        _known("semb", "SembScore", "SembScore"),
        _known("radgraph", "RadGraph", "RadGraph", (0, 1)),
        _known("radcliq", "RadCliQ-v1", "1/RadCliQ-v1", higher=False),
        _known("radcliq_v0", "RadCliQ-v0", higher=False),
        _known("ratescore", "RaTEScore", "RaTEScore", (0, 1)),
        _known("rougel", "ROUGE-L", scale=(0, 1)),
        *(
            _known(f"radgraph_{level}", f"F1-RadGraph {level}", scale=(0, 1))
            for level in ("simple", "partial", "complete")
        ),
        _known("green", "GREEN", "GREEN", (0, 1)),
        _known("fineradscore", "FineRadScore", "1/FineRadScore", (1, 4), higher=False),
        _known("crimson", "CRIMSON"),
        *(_known(f"radeval_{key}", f"{key} (RadEval)") for key in _RADEVALS_OWN),
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

    `higher` and `lower` are columns whose direction the user gave. None where nobody knows the
    direction. Raises `JudgeError` for a direction that contradicts what is known.
    """
    is_higher, is_lower = column in higher, column in lower
    known = known_metric(column)
    if known is None:
        if not (is_higher or is_lower):
            return None
        return Metric(column, column, "mean", is_higher, column, is_higher)
    if (is_higher or is_lower) and is_higher != known.study_higher_is_better:
        raise JudgeError(
            f"--{'higher' if is_higher else 'lower'}-is-better {column} contradicts what is known "
            f"of {known.study_label}; rename the column where it is something else"
        )
    return known


def known_metric(column: str) -> Metric | None:
    """Return the known metric that a column is named after, in any of its spellings."""
    return KNOWN.get(_ALIASES.get(_plain(column), ""))


def rubric_metrics(rubric: Rubric) -> tuple[Metric, ...]:
    """Return the metrics of a rubric's runs: the statistics that it declares for comparisons.

    A metric's name begins with the rubric's unless the statistic's holds that already.
    """
    return tuple(_declared(statistic, rubric) for statistic in rubric.shown("compare"))


def _declared(statistic: Statistic, rubric: Rubric) -> Metric:
    is_own = rubric.name in statistic.name
    is_rate = statistic.kind == "rate"
    label = statistic.label if is_rate else statistic.definition or statistic.label
    measures = {measure.name: measure for measure in rubric.measures}
    counts = all(measures[name].is_whole for name in statistic.measures)
    what: What = "rate" if is_rate else "count" if counts else "score"
    in_title = "" if what == "score" and is_own else f" ({rubric.title})"
    return Metric(
        statistic.name if is_own else f"{rubric.name}_{statistic.name}",
        label + in_title,
        "inverse" if statistic.is_reciprocal else statistic.kind,
        higher_is_better=statistic.higher_is_better,
        study_label=(statistic.study_label or label) + in_title,
        study_higher_is_better=statistic.higher_is_better != statistic.is_reciprocal,
        rubric=rubric.name,
        what=what,
        rexrank=statistic.rexrank,
        scale=None if is_rate else statistic.scale,
        short_label=label,
        definition=statistic.definition if is_rate else None,
        measures=statistic.measures,
        per=statistic.per,
    )


def find(metrics: Sequence[Metric], wanted: str) -> Metric:
    """Return the metric that `wanted` names, by letters and digits alone.

    That is its name, its label with or without the rubric's title, or an end of its name.
    Raises `JudgeError` where none or more than one fits.
    """
    plain = _plain(wanted)
    fitting = [m for m in metrics if wanted in (m.name, m.label)]
    fitting = fitting or [
        m for m in metrics if plain in map(_plain, (m.name, m.label, m.short))
    ]
    fitting = fitting or [
        m for m in metrics if plain and _plain(m.name).endswith(plain)
    ]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(f"{m.name} ({m.label!r})" for m in fitting or metrics)
    what = "is the name of several metrics" if fitting else "is no metric of these runs"
    raise JudgeError(f"{wanted!r} {what}: {names}")

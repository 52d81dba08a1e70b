"""The figures that models are compared by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from judge.rubrics.contract import Rubric
from judge.stats.statistic import InverseMean, Mean, Statistic
from judge.types import JudgeError, Scale

What = Literal["score", "count", "rate", "other"]

MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One column of a leaderboard: a statistic, and how it is named beside those of other rubrics.

    `study_label` names a study's value. `what` decides where it is drawn: `other` came from a
    file, and its `rubric` is None. `short_label` is without the rubric's title.
    """

    name: str
    label: str
    statistic: Statistic
    study_label: str
    rubric: str | None = None
    what: What = "other"
    short_label: str | None = None

    @property
    def short(self) -> str:
        """Its label where all metrics are of one rubric."""
        return self.short_label or self.label

    @property
    def kind(self) -> str:
        """The kind of its statistic, as files call it."""
        return self.statistic.kind

    @property
    def is_share(self) -> bool:
        """Whether it is the share of the studies whose value is 1; the others are 0."""
        return self.statistic.is_share

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher figure is better."""
        return self.statistic.higher_is_better

    @property
    def study_higher_is_better(self) -> bool:
        """Whether a higher value of a study is better."""
        return self.statistic.study_higher_is_better

    @property
    def rexrank(self) -> str | None:
        """The column of ReXrank's tables that it fills."""
        return self.statistic.rexrank

    @property
    def definition(self) -> str | None:
        """The definition of a share, which is said once below its table."""
        if not self.is_share:
            return None
        return self.statistic.definition

    @property
    def bare(self) -> Metric:
        """The metric without the measures that it is made of."""
        return replace(self, statistic=self.statistic.bare)

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types."""
        statistic = self.statistic
        # What a file's metric is made of is its column, which the file names.
        measures: tuple[str, ...] = ()
        per: tuple[str, ...] = ()
        if self.rubric:
            measures = statistic.measures
            per = statistic.columns[len(measures) :]
        return {
            "name": self.name,
            "label": self.label,
            "kind": statistic.kind,
            "higher_is_better": self.higher_is_better,
            "study_label": self.study_label,
            "study_higher_is_better": self.study_higher_is_better,
            "rubric": self.rubric,
            "what": self.what,
            "rexrank": self.rexrank,
            "scale": statistic.scale,
            "short_label": self.short_label,
            "measures": measures,
            "per": per,
            "definition": self.definition,
        }


def file_metric(
    name: str,
    label: str,
    *,
    higher_is_better: bool,
    scale: Scale | None = None,
    rexrank: str | None = None,
) -> Metric:
    """Return the metric of a file's column, one value a study, of which the mean is printed."""
    statistic = Mean(
        name,
        label,
        measures=(name,),
        higher_is_better=higher_is_better,
        scale=scale,
        rexrank=rexrank,
    )
    return Metric(name=name, label=label, statistic=statistic, study_label=label)


REXRANK_COLUMNS = (
    "BLEU",
    "BertScore",
    "SembScore",
    "RadGraph",
    "1/RadCliQ-v1",
    "RaTEScore",
    "GREEN",
    "1/FineRadScore",
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
    mean = file_metric(
        name, label, higher_is_better=higher, scale=scale, rexrank=rexrank
    )
    if rexrank != f"1/{label}":
        return mean
    inverse = InverseMean(
        name,
        rexrank,
        measures=(name,),
        higher_is_better=not higher,
        scale=scale,
        rexrank=rexrank,
    )
    return replace(mean, label=rexrank, statistic=inverse)


_RADEVALS_OWN = (
    "bleu",
    "rouge1",
    "rouge2",
    "bertscore",
    "radeval_bertscore",
    "green",
    "crimson",
    "f1chexbert_sample_acc_5",
    "f1chexbert_sample_acc_all",
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
    is_higher = column in higher
    is_named = is_higher or column in lower
    known = known_metric(column)
    if known is None:
        if not is_named:
            return None
        return file_metric(column, column, higher_is_better=is_higher)
    if is_named and is_higher != known.study_higher_is_better:
        option = "--lower-is-better"
        if is_higher:
            option = "--higher-is-better"
        raise JudgeError(
            f"{option} {column} contradicts what is known of {known.study_label}; rename the "
            "column where it is something else"
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
    label = statistic.definition or statistic.label
    if statistic.is_share:
        label = statistic.label
    measures = {measure.name: measure for measure in rubric.measures}
    what: What = "score"
    if statistic.is_share:
        what = "rate"
    elif all(measures[name].is_whole for name in statistic.measures):
        what = "count"
    name = statistic.name
    if not is_own:
        name = f"{rubric.name}_{name}"
    in_title = f" ({rubric.title})"
    # The score that a rubric is known by carries its name already, such as GREEN.
    if what == "score" and is_own:
        in_title = ""
    return Metric(
        name=name,
        label=label + in_title,
        statistic=statistic,
        study_label=(statistic.study_label or label) + in_title,
        rubric=rubric.name,
        what=what,
        short_label=label,
    )


def find(metrics: Sequence[Metric], wanted: str) -> Metric:
    """Return the metric that `wanted` names, by letters and digits alone.

    That is its name, its label with or without the rubric's title, or an end of its name.
    Raises `JudgeError` where none or more than one fits.
    """
    plain = _plain(wanted)
    fitting = [m for m in metrics if wanted in (m.name, m.label)]
    if not fitting:
        fitting = [
            m for m in metrics if plain in map(_plain, (m.name, m.label, m.short))
        ]
    if not fitting:
        fitting = [m for m in metrics if plain and _plain(m.name).endswith(plain)]
    if len(fitting) == 1:
        return fitting[0]
    what = "is the name of several metrics"
    if not fitting:
        what = "is no metric of these runs"
    names = ", ".join(f"{m.name} ({m.label!r})" for m in fitting or metrics)
    raise JudgeError(f"{wanted!r} {what}: {names}")

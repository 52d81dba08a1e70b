"""What a paper says of a run: a text for its methods section, and the works behind its numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge.rubrics.contract import Rubric, Source, Statistic, source
from judge.signature import Signature
from judge.stats.table import by_grouping
from judge.tables.latex import escaped
from judge.text import counted, estimate, group_value, left_out, number

_INTERVALS: dict[str, tuple[str, tuple[Source, ...]]] = {
    "mean": ("for means on the logit or logarithmic scale", ()),
    "end": (
        "for means at an end of their scale by Wilson's score method",
        (source("wilson1927probable"),),
    ),
    "rate": ("for rates by Wilson's score method", (source("wilson1927probable"),)),
    "ratio": (
        ("for ratios by a bootstrap, by Wilson's score method where all draws are alike"),
        (source("efron1993bootstrap"), source("wilson1927probable")),
    ),
}
_TOLD = {"context": "the patient's context", "prior": "an earlier report", "modality": "modality"}
_NONE = "none"
_MOST_GROUPS = 6
"""More groups than this are for a table."""


@dataclass(frozen=True, slots=True)
class Cited:
    """The works that are cited at one place of a text."""

    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Citation:
    """A text about one run, words and citations in turn."""

    pieces: tuple[str | Cited, ...]

    @property
    def sources(self) -> list[Source]:
        """The works that it cites, each once, in the order of the text."""
        return distinct(
            one for part in self.pieces if isinstance(part, Cited) for one in part.sources
        )

    @property
    def text(self) -> str:
        """The text with authors and years in parentheses."""
        return "".join(
            f" ({'; '.join(one.short for one in part.sources)})"
            if isinstance(part, Cited)
            else part
            for part in self.pieces
        )

    @property
    def latex(self) -> str:
        r"""The text for LaTeX, its works as \\cite of the keys that their BibTeX has."""
        return "".join(
            rf"~\cite{{{','.join(one.key for one in part.sources)}}}"
            if isinstance(part, Cited)
            else " ".join(escaped(words) if words else "" for words in part.split(" "))
            for part in self.pieces
        )


def distinct(sources: Iterable[Source]) -> list[Source]:
    """Return the works, each once by its key, in their order."""
    return list({one.key: one for one in sources}.values())


def program(version: str) -> Source:
    """Return this program, of the version that made a run, as a work to cite."""
    return Source(
        f"judge-{version}",
        "misc",
        "judge: find out what radiology report-generation models get wrong",
        ("{The judge authors}",),
        2026,
        {"howpublished": f"Python package radiology-judge, version {version}"},
    )


def citation(
    manifest: Mapping[str, Any],
    summary: Mapping[str, Any],
    parts: Mapping[str, str],
    rubric: Rubric,
    packages: Sequence[str] = (),
) -> Citation:
    """Return the text about a run.

    `parts` are those of its signature by name, `packages` the names and versions of those that add
    its rubric, where it is not built in.
    """
    version = parts.get("version", "unknown")
    model = f"of {summary['model']} " if summary.get("model") else ""
    n = counted(summary["n_studies"], "study", "studies")
    tool = f"{_listed(packages)}, run with judge {version}" if packages else f"judge {version}"
    compared = (
        f"The reports {model}on {n} (section {summary['section']}) were compared with the "
        f"reference reports with {rubric.title}"
    )
    shown = _shown(rubric)
    told: list[str | Cited] = [
        compared,
        *([Cited(rubric.sources)] if rubric.sources else []),
        f", version {parts['rubric'].partition(':')[2]} of the rubric in {tool}",
        Cited((program(version),)),
        ". ",
        *_judge(manifest, parts),
        f"{_told(parts)}{_coverage(manifest, summary, parts)} ",
        f"For all studies: {_figures(summary, shown)}. ",
        *(f"{group} " for group in _groups(summary, rubric)),
    ]
    told += _intervals(summary, shown)
    told.append(f"The signature of the run is {summary['signature']}.")
    return Citation(tuple(_plain(one) if isinstance(one, str) else one for one in told))


def _intervals(summary: Mapping[str, Any], shown: Sequence[Statistic]) -> list[str | Cited]:
    with_interval = [one for one in shown if summary["statistics"][one.name]["low"] is not None]
    kinds: dict[str, None] = {}
    for one in with_interval:
        kinds[one.kind] = None
        if one.kind == "mean" and _is_at_end(summary, one):
            kinds["end"] = None
    told: list[str | Cited] = []
    named: tuple[Source, ...] = ()
    by = f" by {summary['intervals_by']}" if "intervals_by" in summary else ""
    for kind in kinds:
        words, sources = _INTERVALS[kind]
        told.append(f"{', ' if told else f'Brackets hold 95% confidence intervals{by}, '}{words}")
        if new := tuple(one for one in sources if one not in named):
            told.append(Cited(new))
        named += new
    return [*told, ". "] if told else []


def _is_at_end(summary: Mapping[str, Any], one: Statistic) -> bool:
    found = [block["statistics"][one.name]["value"] for block in (summary, *summary["rates"])]
    means = [1 / value if value and one.is_reciprocal else value for value in found]
    return any(mean is not None and mean in one.scale for mean in means)


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _judge(manifest: Mapping[str, Any], parts: Mapping[str, str]) -> list[str | Cited]:
    judge, combined = manifest["judge"], manifest.get("combined")
    if "reading" in manifest:
        return [f"The reader was {judge['name'].removeprefix('reader:')}. "]
    names = _listed([part["name"] for part in combined["parts"]]) if combined else ""
    note = f" ({judge['note']})" if judge["note"] else ""
    if combined and combined["of"] == "judge":
        signatures = [Signature.parse(part["signature"]) for part in combined["parts"]]
        each = [f"{one['judge']}{_asked(one)}" for one in signatures]
        by_rule = (
            f"The judges were {'; '.join(each)}{note}. Each number of a study is theirs combined "
            f"by the rule {combined['rule']}"
        )
        alphas = [
            f"{one['label']} {number(one['value'])}"
            for one in combined.get("agreement", ())
            if one["value"] is not None
        ]
        if not alphas:
            return [f"{by_rule}. "]
        return [
            f"{by_rule}; Krippendorff's alpha between them",
            Cited((source("krippendorff2011alpha"),)),
            f" is {'; '.join(alphas)}. ",
        ]
    told = f"The judge was {judge['version']}{note}{_asked(parts)}. "
    if combined:
        told += (
            f"Each candidate was compared with those of the references {names} that its study has, "
            f"and a study's numbers were combined by the rule {combined['rule']}. "
        )
    return [told]


def _asked(parts: Mapping[str, str]) -> str:
    told = []
    if (prompt := parts.get("prompt", _NONE)) != _NONE:
        told.append(f"with the prompt {prompt}")
    if sampling := parts.get("sampling"):
        told.append(f"with {sampling.replace(',', ', ')}")
    if (n := parts.get("reask", "0")) != "0":
        times = "once" if n == "1" else f"up to {n} times"
        told.append(f"{times} more where an answer could not be parsed")
    return f", asked {', '.join(told)}" if told else ""


def _told(parts: Mapping[str, str]) -> str:
    known = [
        f"{what} ({parts[name].replace(',', ', ')})"
        for name, what in _TOLD.items()
        if parts.get(name, _NONE) != _NONE
    ]
    return f"The judge was told {_listed(known)}. " if known else ""


def _coverage(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], parts: Mapping[str, str]
) -> str:
    n, scored = summary["n_studies"], summary["n_scored"]
    combined = manifest.get("combined")
    told = "Every study was scored"
    if n != scored:
        told = f"{scored:,} of {n:,} studies were scored; {_lost(summary, combined)} in no figure"
    gone = f"; left out before that: {left_out(summary['omitted'])}" if summary["omitted"] else ""
    shard = f" These are shard {parts['shard']} of a set." if "shard" in parts else ""
    return f"{told}{gone}.{shard}"


def _lost(summary: Mapping[str, Any], combined: Mapping[str, Any] | None) -> str:
    """Say why studies have no score; how a panel's judges failed each is not in its summary."""
    unparsed, failed = summary["n_unparsed"], summary["n_failed"]
    if combined and combined["of"] == "judge":
        n = unparsed + failed
        return f"{n:,} that not all judges scored {'is' if n == 1 else 'are'}"
    against = " against all of their references" if combined else ""
    return (
        f"{unparsed:,} with an answer that could not be read and {failed:,} that could not be "
        f"judged{against} are"
    )


def _shown(rubric: Rubric) -> Sequence[Statistic]:
    found = (*rubric.shown("groups"), *rubric.shown("compare"))
    return list({one.name: one for one in found}.values())


def _groups(summary: Mapping[str, Any], rubric: Rubric) -> list[str]:
    return [text for part in by_grouping(summary) for text in _grouping(part, rubric)]


def _grouping(summary: Mapping[str, Any], rubric: Rubric) -> list[str]:
    if not 1 < len(summary["rates"]) <= _MOST_GROUPS:
        return []
    shown = rubric.shown("groups")
    inferred = _inferred(summary) if "study_class" in summary["by"] else ""
    told = []
    for row in summary["rates"]:
        group = " and ".join(f"{name} {group_value(row[name])}" for name in summary["by"])
        n = f"{counted(row['n_studies'], 'study', 'studies')}, {row['n_scored']:,} scored"
        told.append(f"For {group} ({n}{inferred}): {_figures(row, shown)}.")
    return told


def _inferred(summary: Mapping[str, Any]) -> str:
    n, of = summary["n_class_inferred"], summary["n_studies"]
    if not n:
        return ""
    some = f" for {n:,} of all {of:,}" if n < of else ""
    return f"; class inferred from the reference{some}"


def _named(one: Statistic) -> str:
    if one.kind == "rate" and one.definition:
        return f"{one.label} ({one.definition})"
    return one.definition or one.label


def _figures(block: Mapping[str, Any], statistics: Sequence[Statistic]) -> str:
    return "; ".join(
        f"{_named(one)} {estimate(block['statistics'][one.name], is_rate=one.kind == 'rate')}"
        for one in statistics
    )


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)

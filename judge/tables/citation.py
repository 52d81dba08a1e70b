"""A paragraph about a run for the methods section of a paper, and the works to cite."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge.rubrics.contract import Rubric, Source, Statistic, source
from judge.signature import Signature
from judge.stats.table import by_grouping
from judge.tables.latex import escaped
from judge.text import counted, group_value, left_out, number

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
_CONTEXT = {
    "context": "the patient's context",
    "prior": "an earlier report",
    "modality": "modality",
}
_NONE = "none"
_MOST_GROUPS = 6
"""More groups than this are left to a table."""


@dataclass(frozen=True, slots=True)
class Cited:
    """The works that are cited at a place of a text."""

    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Citation:
    """A text about one run, words and citations in turn."""

    pieces: tuple[str | Cited, ...]

    @property
    def sources(self) -> list[Source]:
        """The works that it cites, each once, in the order of the text."""
        cited = [piece.sources for piece in self.pieces if isinstance(piece, Cited)]
        return distinct(work for works in cited for work in works)

    @property
    def text(self) -> str:
        """The text with authors and years in parentheses."""
        return "".join(
            f" ({'; '.join(work.short for work in piece.sources)})"
            if isinstance(piece, Cited)
            else piece
            for piece in self.pieces
        )

    @property
    def latex(self) -> str:
        r"""The text for LaTeX, its works as \\cite of the keys that their BibTeX has."""
        return "".join(
            rf"~\cite{{{','.join(work.key for work in piece.sources)}}}"
            if isinstance(piece, Cited)
            else " ".join(escaped(words) if words else "" for words in piece.split(" "))
            for piece in self.pieces
        )


def distinct(sources: Iterable[Source]) -> list[Source]:
    """Return the works, each once by its key, in their order."""
    return list({source.key: source for source in sources}.values())


def program(version: str) -> Source:
    """Return this program in the version that made a run, as a work to cite."""
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
    """Return the paragraph about a run.

    Args:
        manifest: The run's manifest.
        summary: The run's summary.
        parts: The parts of the run's signature by name.
        rubric: The run's rubric.
        packages: Names and versions of the packages that add the rubric, if any.

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
    pieces: list[str | Cited] = [
        compared,
        *([Cited(rubric.sources)] if rubric.sources else []),
        f", version {parts['rubric'].partition(':')[2]} of the rubric in {tool}",
        Cited((program(version),)),
        ". ",
        *_judge(manifest, parts),
        f"{_context(parts)}{_coverage(manifest, summary, parts)} ",
        f"Over all studies, {_figures(summary, shown)}. ",
        *(f"{group} " for group in _groups(summary, rubric)),
    ]
    pieces += _intervals(summary, shown)
    pieces.append(f"The signature of the run is {summary['signature']}.")
    return Citation(tuple(_plain(p) if isinstance(p, str) else p for p in pieces))


def _intervals(summary: Mapping[str, Any], shown: Sequence[Statistic]) -> list[str | Cited]:
    kinds: dict[str, None] = {}
    for statistic in shown:
        if summary["statistics"][statistic.name]["low"] is None:
            continue
        kinds[statistic.kind] = None
        if statistic.kind == "mean" and _is_at_end(summary, statistic):
            kinds["end"] = None
    pieces: list[str | Cited] = []
    cited: tuple[Source, ...] = ()
    by = f" by {summary['intervals_by']}" if "intervals_by" in summary else ""
    for kind in kinds:
        text, sources = _INTERVALS[kind]
        start = ", " if pieces else f"95% confidence intervals (CI) were computed{by} "
        pieces.append(f"{start}{text}")
        if new := tuple(source for source in sources if source not in cited):
            pieces.append(Cited(new))
        cited += new
    return [*pieces, ". "] if pieces else []


def _is_at_end(summary: Mapping[str, Any], statistic: Statistic) -> bool:
    """Return whether a mean is an end of its scale, where its interval is Wilson's."""
    blocks = (summary, *summary["rates"])
    values = [block["statistics"][statistic.name]["value"] for block in blocks]
    means = [1 / value if value and statistic.is_reciprocal else value for value in values]
    return any(mean is not None and mean in statistic.scale for mean in means)


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
        judges = [f"{signature['judge']}{_settings(signature)}" for signature in signatures]
        text = (
            f"The judges were {'; '.join(judges)}{note}. Each number of a study is theirs combined "
            f"by the rule {combined['rule']}. "
        )
        return [text]
    text = f"The judge was {judge['version']}{note}{_settings(parts)}. "
    if combined:
        text += (
            f"Each candidate was compared with those of the references {names} that its study has, "
            f"and a study's numbers were combined by the rule {combined['rule']}. "
        )
    return [text]


def _settings(parts: Mapping[str, str]) -> str:
    settings = []
    if (prompt := parts.get("prompt", _NONE)) != _NONE:
        settings.append(f"with the prompt {prompt}")
    if sampling := parts.get("sampling"):
        settings.append(f"with {sampling.replace(',', ', ')}")
    if (n := parts.get("reask", "0")) != "0":
        times = "once" if n == "1" else f"up to {n} times"
        settings.append(f"{times} more where an answer could not be parsed")
    return f", asked {', '.join(settings)}" if settings else ""


def _context(parts: Mapping[str, str]) -> str:
    known = [
        f"{label} ({parts[name].replace(',', ', ')})"
        for name, label in _CONTEXT.items()
        if parts.get(name, _NONE) != _NONE
    ]
    return f"The judge was given {_listed(known)}. " if known else ""


def _coverage(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], parts: Mapping[str, str]
) -> str:
    n, scored = summary["n_studies"], summary["n_scored"]
    combined = manifest.get("combined")
    text = "Every study was scored"
    if n != scored:
        text = f"{scored:,} of {n:,} studies were scored; {_lost(summary, combined)} in no figure"
    if summary["omitted"]:
        text += f"; left out before that: {left_out(summary['omitted'])}"
    shard = f" These are shard {parts['shard']} of a set." if "shard" in parts else ""
    return f"{text}.{shard}"


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
    shown = (*rubric.shown("groups"), *rubric.shown("compare"))
    return list({statistic.name: statistic for statistic in shown}.values())


def _groups(summary: Mapping[str, Any], rubric: Rubric) -> list[str]:
    return [text for part in by_grouping(summary) for text in _grouping(part, rubric)]


def _grouping(summary: Mapping[str, Any], rubric: Rubric) -> list[str]:
    if not 1 < len(summary["rates"]) <= _MOST_GROUPS:
        return []
    shown = rubric.shown("groups")
    inferred = _inferred(summary) if "study_class" in summary["by"] else ""
    texts = []
    for row in summary["rates"]:
        group = " and ".join(f"{name} {group_value(row[name])}" for name in summary["by"])
        n = f"{counted(row['n_studies'], 'study', 'studies')}, {row['n_scored']:,} scored"
        texts.append(f"For {group} ({n}{inferred}), {_figures(row, shown)}.")
    return texts


def _inferred(summary: Mapping[str, Any]) -> str:
    n, n_studies = summary["n_class_inferred"], summary["n_studies"]
    if not n:
        return ""
    some = f" for {n:,} of all {n_studies:,}" if n < n_studies else ""
    return f"; class inferred from the reference{some}"


def _figures(block: Mapping[str, Any], statistics: Sequence[Statistic]) -> str:
    figures = [_figure(block["statistics"][statistic.name], statistic) for statistic in statistics]
    return "; ".join(figures)


def _figure(data: Mapping[str, Any], statistic: Statistic) -> str:
    """Return `26.7% of studies (4/15; 95% CI 10.9-52.0) had no clinically significant error`."""
    is_rate = statistic.kind == "rate"
    scale, digits = (100, 1) if is_rate else (1, 3)
    ends = (data["value"], data["low"], data["high"])
    value, low, high = (None if end is None else scale * end for end in ends)
    beside = [f"{data['k']}/{data['n']}"] if is_rate else []
    if low is not None:
        to = " to " if low < 0 else "-"
        beside.append(f"95% CI {number(low, digits)}{to}{number(high, digits)}")
    if n := data.get("n_undefined"):
        beside.append(f"undefined in {counted(n, 'study', 'studies')}")
    figure = number(value, digits) + ("%" if is_rate and value is not None else "")
    brackets = f" ({'; '.join(beside)})" if beside else ""
    without = (statistic.definition or "").removeprefix("studies without ")
    if is_rate and without != statistic.definition and without:
        return f"{figure} of studies{brackets} had no {re.sub(r'errors', 'error', without)}"
    return f"{statistic.definition or statistic.label} was {figure}{brackets}"


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)

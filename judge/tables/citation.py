"""A paragraph about a run for the methods section of a paper, and the works to cite."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge.rubrics.contract import Rubric, Source, source
from judge.signature import Signature
from judge.stats.estimate import Estimate
from judge.stats.statistic import Statistic
from judge.tables.forms import latex
from judge.tables.kinds import figure_kind, printed
from judge.text import counted, left_out, recognised_text

_TOLD = ("prompt", "sampling", "samples", "reask", "context", "prior", "modality")
Works = tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Citation:
    """A text about one run, words and the works that are cited after them in turn."""

    pieces: tuple[str | Works, ...]

    @property
    def sources(self) -> list[Source]:
        """The works that it cites, each once, in the order of the text."""
        return distinct(
            work for works in self.pieces if isinstance(works, tuple) for work in works
        )

    @property
    def text(self) -> str:
        """The text with authors and years in parentheses."""
        return "".join(
            piece
            if isinstance(piece, str)
            else f" ({'; '.join(work.short for work in piece)})"
            for piece in self.pieces
        )

    @property
    def latex(self) -> str:
        r"""The text for LaTeX, its works as \\cite of the keys that their BibTeX has."""
        return "".join(
            " ".join(latex(words) if words else "" for words in piece.split(" "))
            if isinstance(piece, str)
            else rf"~\cite{{{','.join(work.key for work in piece)}}}"
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
    """Return the paragraph about a run; `packages` are those that add its rubric, with versions."""
    version = parts.get("version", "unknown")
    model = f"of {summary['model']} " if summary.get("model") else ""
    tool = (
        f"{_listed(packages)}, run with judge {version}"
        if packages
        else f"judge {version}"
    )
    shown = dict.fromkeys((*rubric.shown("groups"), *rubric.shown("compare")))
    n = counted(summary["n_studies"], "study", "studies")
    begins = f"The reports {model}on {n} (section {summary['section']}) were compared with the "
    figures = "; ".join(_figure(summary, statistic) for statistic in shown)
    pieces: list[str | Works] = [
        f"{begins}reference reports with {rubric.title}",
        rubric.sources,
        f", version {parts['rubric'].partition(':')[2]} of the rubric in {tool}",
        (program(version),),
        f". {_judge(manifest, parts)} {_coverage(summary, parts)} ",
        f"Over all studies, {figures}. ",
        *_intervals(summary, [*shown]),
        f"The signature of the run is {summary['signature']}.",
    ]
    return Citation(
        tuple(re.sub(r"\s+", " ", p) if isinstance(p, str) else p for p in pieces if p)
    )


def _intervals(
    summary: Mapping[str, Any], shown: Sequence[Statistic]
) -> list[str | Works]:
    has_interval = (
        s for s in shown if summary["statistics"][s.name]["low"] is not None
    )
    methods = {one.interval_words: one.interval_sources for one in has_interval}
    by = f" by {summary['intervals_by']}" if "intervals_by" in summary else ""
    pieces: list[str | Works] = []
    for text, sources in methods.items():
        start = ", " if pieces else f"95% confidence intervals (CI) were computed{by} "
        pieces += [f"{start}{text}", tuple(map(source, sources))]
    return [*pieces, ". "] if pieces else []


def _judge(manifest: Mapping[str, Any], parts: Mapping[str, str]) -> str:
    judge, combined = manifest["judge"], manifest.get("combined")
    if "reading" in manifest:
        return f"The reader was {judge['name'].removeprefix('reader:')}."
    note = f" ({judge['note']})" if judge["note"] else ""
    judges = [parts]
    if combined and combined["of"] == "judge":
        judges = [Signature.parse(part["signature"]) for part in combined["parts"]]
    text = f"Judged by {_listed([_settings(one) for one in judges])}{note}."
    understood = recognised_text(manifest.get("recognised"))
    if understood:
        text += f" Statements that the built-in judge recognised: {understood}."
    if combined:
        names = (
            f"{combined['of']}s {_listed([part['name'] for part in combined['parts']])}"
        )
        rule = f"combined by the rule {combined['rule']}"
        text += f" A study's numbers are those of the {names}, {rule}."
    return text


def _settings(parts: Mapping[str, str]) -> str:
    """Return a judge with what it was asked with and told, as the signature names these."""
    named = (name for name in _TOLD if parts.get(name, "none") not in ("none", "0"))
    told = [f"{name} {parts[name]}" for name in named]
    settings = f" ({'; '.join(told).replace(',', ', ')})" if told else ""
    return f"{parts['judge']}{settings}"


def _coverage(summary: Mapping[str, Any], parts: Mapping[str, str]) -> str:
    n, scored = summary["n_studies"], summary["n_scored"]
    text = "Every study was scored"
    if n != scored:
        text = (
            f"{scored:,} of {n:,} studies were scored; the others, {summary['n_unparsed']:,} with "
            f"an answer that could not be read and {summary['n_failed']:,} not judged, are in no "
            "figure"
        )
    if summary["omitted"]:
        text += f"; left out before that: {left_out(summary['omitted'])}"
    shard = f" These are shard {parts['shard']} of a set." if "shard" in parts else ""
    return f"{text}.{shard}"


def _figure(summary: Mapping[str, Any], statistic: Statistic) -> str:
    """Return `26.7% of studies (4/15; 95% CI 10.9-52.0) had no clinically significant error`."""
    estimate, is_rate = (
        Estimate.read(summary["statistics"][statistic.name]),
        statistic.is_share,
    )
    text = printed(estimate, figure_kind(is_share=is_rate))
    beside = [f"{estimate.k}/{estimate.n}"] if is_rate else []
    if estimate.low is not None:
        between = " to " if estimate.low < 0 else "-"
        beside.append(f"95% CI {text.ends(between)}")
    n = estimate.n_undefined
    if n:
        beside.append(f"undefined in {counted(n, 'study', 'studies')}")
    figure = text.figure
    brackets = f" ({'; '.join(beside)})" if beside else ""
    definition = statistic.definition or ""
    without = definition.removeprefix("studies without ")
    if is_rate and without != definition:
        return (
            f"{figure} of studies{brackets} had no {without.replace('errors', 'error')}"
        )
    return f"{definition or statistic.label} was {figure}{brackets}"


def _listed(names: Sequence[str]) -> str:
    return (
        f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
    )


def citations_text(citations: Sequence[Citation], form: str) -> str:
    """Return the texts as `latex`, their works as `bibtex`, or both as plain `text`."""
    if form == "latex":
        return "\n\n".join(text.latex for text in citations)
    works = distinct(source for text in citations for source in text.sources)
    texts = [] if form == "bibtex" else [text.text for text in citations]
    return "\n\n".join([*texts, *(source.bibtex for source in works)])

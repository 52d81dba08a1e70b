"""A paragraph about a run for the methods section of a paper, and the works to cite."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judge.manifest import JudgedBy, RunManifest, RunSummary, recognised_text
from judge.rubrics.contract import Rubric, Source, source
from judge.stats.statistic import Statistic
from judge.stats.summary import estimate_of
from judge.tables.forms import latex
from judge.tables.kinds import figure_kind, printed
from judge.text import counted, left_out, listed

_TOLD = ("prompt", "sampling", "reask", "context", "prior", "modality")
Works = tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Citation:
    """A text about one run, words and the works that are cited after them in turn."""

    pieces: tuple[str | Works, ...]

    @property
    def sources(self) -> list[Source]:
        """The works that it cites, each once, in the order of the text."""
        works: list[Source] = []
        for piece in self.pieces:
            if not isinstance(piece, str):
                works += piece
        return distinct(works)

    @property
    def text(self) -> str:
        """The text with authors and years in parentheses."""
        return "".join(map(_as_text, self.pieces))

    @property
    def latex(self) -> str:
        r"""The text for LaTeX, its works as \\cite of the keys that their BibTeX has."""
        return "".join(map(_as_latex, self.pieces))


def _as_text(piece: str | Works) -> str:
    if isinstance(piece, str):
        return piece
    works = "; ".join(work.short for work in piece)
    return f" ({works})"


def _as_latex(piece: str | Works) -> str:
    if isinstance(piece, str):
        # Word by word, since `latex` drops the spaces at the ends of a piece.
        return " ".join(latex(word) for word in piece.split(" "))
    keys = ",".join(work.key for work in piece)
    return rf"~\cite{{{keys}}}"


def distinct(sources: Iterable[Source]) -> list[Source]:
    """Return the works, each once by its key, in their order."""
    by_key = {source.key: source for source in sources}
    return list(by_key.values())


def program(version: str) -> Source:
    """Return this program in the version that made a run, as a work to cite."""
    return Source(
        key=f"judge-{version}",
        kind="misc",
        title="judge: find out what radiology report-generation models get wrong",
        authors=("{The judge authors}",),
        year=2026,
        fields={"howpublished": f"Python package radiology-judge, version {version}"},
    )


def citation(
    manifest: RunManifest,
    summary: RunSummary,
    rubric: Rubric,
    packages: Sequence[str] = (),
) -> Citation:
    """Return the paragraph about a run; `packages` are those that add its rubric, with versions."""
    version = manifest.version
    model = ""
    if summary.model:
        model = f"of {summary.model} "
    tool = f"judge {version}"
    if packages:
        tool = f"{listed(packages)}, run with {tool}"
    # The keys of a dict: a statistic can be shown in both.
    shown = list(dict.fromkeys((*rubric.shown("groups"), *rubric.shown("compare"))))
    n = counted(summary.n_studies, "study", "studies")
    begins = (
        f"The reports {model}on {n} (section {summary.section}) were compared with the "
    )
    figures = "; ".join(_figure(summary, statistic) for statistic in shown)
    pieces: list[str | Works] = [
        f"{begins}reference reports with {rubric.title}",
        rubric.sources,
        f", version {manifest.rubric_version} of the rubric in {tool}",
        (program(version),),
        f". {_judge(manifest)} {_coverage(manifest, summary)} ",
        f"Over all studies, {figures}. ",
        *_intervals(summary, shown),
        f"The signature of the run is {summary.signature}.",
    ]
    return Citation(tuple(_in_one_line(piece) for piece in pieces if piece))


def _in_one_line(piece: str | Works) -> str | Works:
    if isinstance(piece, str):
        return re.sub(r"\s+", " ", piece)
    return piece


def _intervals(summary: RunSummary, shown: Sequence[Statistic]) -> list[str | Works]:
    # Statistics share methods: each is named once.
    methods = {}
    for statistic in shown:
        estimate = estimate_of(summary, statistic)
        if estimate.low is not None:
            methods[statistic.interval_words] = statistic.interval_sources
    if not methods:
        return []
    start = "95% confidence intervals (CI) were computed "
    if summary.intervals_by:
        start += f"by {summary.intervals_by} "
    pieces: list[str | Works] = []
    for text, keys in methods.items():
        pieces.append(f"{start}{text}")
        pieces.append(tuple(map(source, keys)))
        start = ", "
    pieces.append(". ")
    return pieces


def _judge(manifest: RunManifest) -> str:
    judge = manifest.judge
    combined = manifest.combined
    if manifest.reading is not None:
        reader = judge.name.removeprefix("reader:")
        return f"The reader was {reader}."
    judges: list[JudgedBy] = [manifest]
    if combined and combined.of == "judge":
        judges = [part.judged_by for part in combined.parts if part.judged_by]
    named = listed([_settings(judged_by) for judged_by in judges])
    if judge.note:
        named += f" ({judge.note})"
    text = f"Judged by {named}."
    understood = recognised_text(manifest.recognised)
    if understood:
        text += f" Statements that the built-in judge recognised: {understood}."
    if combined:
        names = listed([part.name for part in combined.parts])
        text += (
            f" A study's numbers are those of the {combined.of}s {names}, "
            f"combined by the rule {combined.rule}."
        )
    return text


def _settings(judged_by: JudgedBy) -> str:
    """Return a judge with what it was asked with and told, as the signature names these."""
    parts = judged_by.judge_parts()
    told = []
    for name in _TOLD:
        value = parts.get(name, "none")
        if value not in ("none", "0"):
            told.append(f"{name} {value}")
    judge = parts["judge"]
    if not told:
        return str(judge)
    # A signature has no space behind its commas.
    settings = "; ".join(told).replace(",", ", ")
    return f"{judge} ({settings})"


def _coverage(manifest: RunManifest, summary: RunSummary) -> str:
    n = summary.n_studies
    scored = summary.n_scored
    text = "Every study was scored"
    if n != scored:
        text = (
            f"{scored:,} of {n:,} studies were scored; the others, {summary.n_unparsed:,} with "
            f"an answer that could not be read and {summary.n_failed:,} not judged, are in no "
            "figure"
        )
    if summary.omitted:
        text += f"; left out before that: {left_out(summary.omitted)}"
    if manifest.shard is None:
        return f"{text}."
    return f"{text}. These are shard {manifest.shard} of a set."


def _figure(summary: RunSummary, statistic: Statistic) -> str:
    """Return `26.7% of studies (4/15; 95% CI 10.9-52.0) had no clinically significant error`."""
    estimate = estimate_of(summary, statistic)
    is_rate = statistic.is_share
    text = printed(estimate, figure_kind(is_share=is_rate))
    beside = []
    if is_rate:
        beside.append(f"{estimate.k}/{estimate.n}")
    if estimate.low is not None:
        between = "-"
        # A dash before a minus would be read as two.
        if estimate.low < 0:
            between = " to "
        beside.append(f"95% CI {text.ends(between)}")
    if estimate.n_undefined:
        n_undefined = counted(estimate.n_undefined, "study", "studies")
        beside.append(f"undefined in {n_undefined}")
    figure = text.figure
    brackets = ""
    if beside:
        brackets = f" ({'; '.join(beside)})"
    definition = statistic.definition or ""
    without = definition.removeprefix("studies without ")
    if is_rate and without != definition:
        error = without.replace("errors", "error")
        return f"{figure} of studies{brackets} had no {error}"
    return f"{definition or statistic.label} was {figure}{brackets}"


def citations_text(citations: Sequence[Citation], form: str) -> str:
    """Return the texts as `latex`, their works as `bibtex`, or both as plain `text`."""
    if form == "latex":
        return "\n\n".join(text.latex for text in citations)
    cited: list[Source] = []
    for text in citations:
        cited += text.sources
    works = distinct(cited)
    texts = [source.bibtex for source in works]
    if form != "bibtex":
        texts = [*(text.text for text in citations), *texts]
    return "\n\n".join(texts)

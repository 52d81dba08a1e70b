"""A paragraph about a run for the methods section of a paper, and the works to cite."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judge.rubrics.contract import Rubric, Source, source
from judge.run_files.entries import recognised_text
from judge.run_files.identity import JudgedBy
from judge.run_files.manifest import RunManifest
from judge.run_files.summary import RunSummary, SummaryBlock
from judge.stats.estimate import Estimate
from judge.stats.statistic import Ratio, Statistic
from judge.stats.summary import estimate_of
from judge.tables.forms import latex
from judge.tables.kinds import Printed, figure_kind, printed
from judge.text import counted, group_value, left_out, listed

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
    over_all = "Over all studies"
    if summary.n_scored != summary.n_studies:
        over_all = _over(summary.n_scored, "scored study", "scored studies")
    figures: list[str | Works] = []
    if summary.n_scored:
        figures.append(f"{over_all}, {_figures(summary, shown)}. ")
        figures += _by_group(summary, shown)
        figures += _intervals(summary, shown)
    pieces: list[str | Works] = [
        f"{begins}reference reports with {rubric.title}",
        rubric.sources,
        f", version {manifest.rubric_version} of the rubric in {tool}",
        (program(version),),
        f". {_judge(manifest)} {_coverage(manifest, summary)} ",
        *figures,
        f"The signature of the run is {summary.signature}.",
    ]
    return Citation(tuple(_in_one_line(piece) for piece in pieces if piece))


def _over(n: int, singular: str, plural: str) -> str:
    if n == 1:
        return f"Over the only {singular}"
    return f"Over the {n:,} {plural}"


def _figures(block: RunSummary | SummaryBlock, shown: Sequence[Statistic]) -> str:
    return "; ".join(_figure(block, statistic) for statistic in shown)


def _by_group(summary: RunSummary, shown: Sequence[Statistic]) -> list[str | Works]:
    """Return a sentence with the figures of each group, where a field has several values."""
    groups: dict[tuple[str, ...], list[SummaryBlock]] = {}
    for block in summary.rates:
        groups.setdefault(tuple(block.group), []).append(block)
    pieces: list[str | Works] = []
    for fields, blocks in groups.items():
        # The only group has the figures of all studies, which were given.
        if not fields or len(blocks) < 2:
            continue
        names = []
        for field in fields:
            name = field
            if field == "study_class":
                name = f"study class{_inferred(summary)}"
            names.append(name)
        start = f"By {listed(names)}: "
        sentences = [_group_sentence(block, shown) for block in blocks]
        # After the colon the sentence goes on.
        first = sentences[0]
        sentences[0] = start + first[:1].lower() + first[1:]
        pieces += sentences
    return pieces


def _inferred(summary: RunSummary) -> str:
    """Return in brackets of how many studies the class was inferred."""
    n = summary.n_class_inferred
    if not n:
        return ""
    return f" (inferred by the lexicon for {n:,} of {summary.n_studies:,})"


def _group_sentence(block: SummaryBlock, shown: Sequence[Statistic]) -> str:
    before, behind = _group_words(block)
    singular = f"{before}study{behind}"
    plural = f"{before}studies{behind}"
    n, scored = block.n_studies, block.n_scored
    if not scored and n == 1:
        return f"The only {singular} was not scored. "
    if not scored:
        return f"None of the {n:,} {plural} was scored. "
    over = _over(n, singular, plural)
    if scored != n:
        over = f"Over the {scored:,} of {n:,} {plural} that were scored"
        if scored == 1:
            over = f"Over the only one of {n:,} {plural} that was scored"
    return f"{over}, {_figures(block, shown)}. "


def _group_words(block: SummaryBlock) -> tuple[str, str]:
    """Return what stands before `studies` and behind it, such as `normal ` and ` whose site is x`.

    The class stands before; a study without it, and every other field, is told behind.
    """
    before = ""
    conditions = []
    lacking = []
    for field, value in block.group.items():
        name = field
        if field == "study_class":
            name = "study class"
        if value is None:
            lacking.append(name)
        elif field == "study_class":
            before = f"{value} "
        else:
            conditions.append(f"whose {name} is {group_value(value)}")
    behind = ""
    if conditions:
        behind += f" {' and '.join(conditions)}"
    if lacking:
        behind += f" without a value of {listed(lacking)}"
    return before, behind


def _in_one_line(piece: str | Works) -> str | Works:
    if isinstance(piece, str):
        return re.sub(r"\s+", " ", piece)
    return piece


def _intervals(summary: RunSummary, shown: Sequence[Statistic]) -> list[str | Works]:
    # Statistics share methods: each is named once.
    methods: dict[str, tuple[str, ...]] = {}
    blocks: list[RunSummary | SummaryBlock] = [summary, *summary.rates]
    for statistic in shown:
        estimates = [estimate_of(block, statistic) for block in blocks]
        if any(estimate.low is not None for estimate in estimates):
            methods[statistic.interval_words] = statistic.interval_sources
    if not methods:
        return []
    start = "95% confidence intervals (CI) were computed "
    if summary.intervals_by:
        start += f"by {summary.intervals_by} "
    pieces: list[str | Works] = []
    for number, (text, keys) in enumerate(methods.items(), 1):
        pieces.append(f"{start}{text}")
        pieces.append(tuple(map(source, keys)))
        start = ", "
        if number == len(methods) - 1:
            start = " and "
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
        were = "were"
        if scored == 1:
            were = "was"
        text = f"{scored:,} of {n:,} studies {were} scored; {_unscored(summary)}"
        if n == 1:
            text = f"The only study was not scored: {_unscored(summary)}"
    if summary.omitted:
        text += f"; left out before that: {left_out(summary.omitted)}"
    if manifest.shard is None:
        return f"{text}."
    return f"{text}. These are shard {manifest.shard} of a set."


def _unscored(summary: RunSummary) -> str:
    """Return what became of the studies that were not scored."""
    unparsed, failed = summary.n_unparsed, summary.n_failed
    parts = []
    if unparsed:
        answers = "answer"
        if unparsed > 1:
            answers = "answers"
        parts.append(f"the {answers} to {unparsed:,} could not be read")
    if failed:
        were = "were"
        if failed == 1:
            were = "was"
        parts.append(f"{failed:,} {were} not judged")
    is_in = "it is"
    if unparsed + failed > 1:
        is_in = "they are"
    return f"{listed(parts)}, and {is_in} in no figure"


def _figure(block: RunSummary | SummaryBlock, statistic: Statistic) -> str:
    """Return `26.7% of studies (4/15; 95% CI 10.9-52.0) had no clinically significant error`."""
    estimate = estimate_of(block, statistic)
    is_rate = statistic.is_share
    definition = statistic.definition or statistic.label
    if estimate.value is None:
        return f"{_undefined_subject(statistic)} is not defined"
    kind = figure_kind(is_share=is_rate)
    text = printed(estimate, kind, _digits(statistic, estimate.value))
    brackets = _brackets(estimate, statistic, text)
    without = definition.removeprefix("studies without ")
    if is_rate and without != definition:
        error = without.replace("errors", "error")
        return f"{text.figure} of studies{brackets} had no {error}"
    if is_rate and statistic.label.startswith("no "):
        return f"{text.figure} of studies{brackets} had {statistic.label}"
    return f"{_clause(statistic).replace('{figure}', text.figure)}{brackets}"


def _clause(statistic: Statistic) -> str:
    """Return the words of a figure, those of the rubric or made of its definition or label."""
    if statistic.clause:
        return statistic.clause
    words = statistic.definition or statistic.label
    if words.endswith(" per study"):
        return f"there were {{figure}} {words}"
    if words.startswith("studies "):
        return f"the share of {words} was {{figure}}"
    return f"{words} was {{figure}}"


def _undefined_subject(statistic: Statistic) -> str:
    """Return what a figure is of, for a figure that there is none of."""
    words = statistic.definition or statistic.label
    if words.startswith("studies ") or words.endswith(" per study"):
        return f"the number of {words}"
    return words


def _digits(statistic: Statistic, value: float) -> int:
    """Return two decimals for counts and long scales, three for scales that end at 1."""
    _, high = statistic.scale or (None, None)
    is_of_one = high is not None and high <= 1
    # Two decimals would print 0.00 of it.
    is_small = 0 < abs(value) < 0.005
    if is_of_one or statistic.is_reversed or is_small:
        return 3
    return 2


def _brackets(estimate: Estimate, statistic: Statistic, text: Printed) -> str:
    """Return what the figure is made of, its interval and its scale, in brackets."""
    beside = []
    if statistic.is_share:
        beside.append(f"{estimate.k}/{estimate.n}")
    elif isinstance(statistic, Ratio) and estimate.numerator is not None:
        beside.append(f"{estimate.numerator:,g}/{estimate.denominator:,g}")
    if estimate.low is not None and estimate.low < 0:
        # A dash before a minus would be read as two.
        beside.append(f"95% CI {text.ends(' to ')}")
    elif estimate.low is not None:
        beside.append(f"95% CI {text.ends('-')}")
    low, high = statistic.ends
    is_mean = not statistic.is_share and not statistic.is_reversed
    if is_mean and None not in (low, high) and (low, high) != (0, 1):
        beside.append(f"scale {low:g} to {high:g}")
    if estimate.n_undefined:
        n_undefined = counted(estimate.n_undefined, "study", "studies")
        beside.append(f"undefined in {n_undefined}")
    if not beside:
        return ""
    return f" ({'; '.join(beside)})"


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

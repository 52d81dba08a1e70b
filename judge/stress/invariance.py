"""Perturbations that keep the meaning: order, layout, wording."""

from __future__ import annotations

import re
from itertools import pairwise

from judge.stress.report_edits import (
    Edit,
    NotApplicable,
    Reference,
    ReportEdits,
    SeededChoice,
    match_case,
)
from judge.stress.vocabulary import ABBREVIATIONS, PATTERNS, SYNONYMS, has


def identical(_report: Reference, _draw: SeededChoice) -> ReportEdits:
    """Copy the reference."""
    return ReportEdits(())


def reordered(report: Reference, draw: SeededChoice) -> ReportEdits:
    """Put the sentences in another order; one that refers to the one before stays with it."""
    _check_plain(report)
    blocks: list[str] = []
    for sentence in report.sentences:
        text = sentence.text if sentence.text[-1] in ".!?" else f"{sentence.text}."
        if blocks and (PATTERNS["leans"].match(text) or has("rest", text)):
            blocks[-1] += f" {text}"
        else:
            blocks.append(text)
    if len({*blocks}) < 2:
        raise NotApplicable("fewer than two sentences that can change places")
    order = draw.shuffled(blocks)
    if order == blocks:
        order = [*order[1:], order[0]]
    start = len(report.text) - len(report.text.lstrip())
    return ReportEdits((Edit(start, len(report.text.rstrip()), " ".join(order)),))


def bulleted(report: Reference, _draw: SeededChoice) -> ReportEdits:
    """Write a bullet a sentence."""
    _check_plain(report)
    start = report.sentences[0].start
    gaps = [Edit(a.end, b.start, "\n- ") for a, b in pairwise(report.sentences)]
    bare = [gap for gap in gaps if not report.text[gap.start : gap.end].strip(" \t\n.")]
    return ReportEdits((Edit(start, start, "- "), *bare))


def _check_plain(report: Reference) -> None:
    if has("marked", report.text):
        raise NotApplicable("it has headings or items")


def upper_case(report: Reference, _draw: SeededChoice) -> ReportEdits:
    """Write all in capitals."""
    return ReportEdits((Edit(0, len(report.text), report.text.upper()),))


def synonyms(report: Reference, _draw: SeededChoice) -> ReportEdits:
    """Put a harmless synonym into each sentence that has room for one."""
    edits = []
    for sentence in report.sentences:
        for pattern, synonym in SYNONYMS.items():
            if match := pattern.search(sentence.text):
                start = sentence.start + match.start()
                edits.append(Edit(start, start + len(match[0]), match_case(synonym, match[0])))
                break
    if not edits:
        raise NotApplicable("no phrase with a known synonym")
    return ReportEdits(tuple(edits))


def abbreviations(report: Reference, _draw: SeededChoice) -> ReportEdits:
    """Write abbreviations out, or abbreviate names where the reference has none."""
    edits = _written_out(report, {short: long for long, short in reversed(ABBREVIATIONS.items())})
    if not edits:
        names = re.finditer(rf"\b(?:{'|'.join(ABBREVIATIONS)})\b", report.text, re.I)
        edits = [Edit(name.start(), name.end(), ABBREVIATIONS[name[0].lower()]) for name in names]
    if not edits:
        raise NotApplicable("nothing that has a known abbreviation")
    return ReportEdits(tuple(edits))


def _written_out(report: Reference, names: dict[str, str]) -> list[Edit]:
    edits = []
    starts = {sentence.start for sentence in report.sentences}
    for short in re.finditer(rf"\b(?:{'|'.join(names)})\b(?!')", report.text):
        long = names[short[0]]
        before = re.search(r"(\d[\d.]*)[ -]?$", report.text[: short.start()])
        if short[0] in ("cm", "mm"):
            if before is None:
                continue
            is_plural = before[1] != "1" and not re.match(r" \w+", report.text[short.end() :])
            long = f"{long.rstrip('s')}{'s' if is_plural else ''}"
            long = long if before[0][-1] in " -" else f" {long}"
        text = match_case(long, "A") if short.start() in starts else long
        edits.append(Edit(short.start(), short.end(), text))
    return edits

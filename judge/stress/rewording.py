"""Changes that leave the meaning as it is: order, layout, wording."""

from __future__ import annotations

import re
from itertools import pairwise

from judge.stress.text import (
    Changed,
    Draw,
    Edit,
    NotMade,
    Reference,
    Result,
    capital,
    is_marked,
    like,
)
from judge.stress.vocabulary import vocabulary

_LEANS = re.compile(
    r"(?:this|these|it|its|they|their|both|remaining|otherwise|additionally|also|however|the latter"
    r"|there (?:is|are) also|specifically|similar|another|which|findings|again|included|and|but|or"
    r"|nor|in addition|other)\b",
    re.I,
)
_REST = re.compile(r"\b(?:otherwise|remaining|remainder|rest of|as well|too)\b", re.I)
_MARKED = NotMade("it has headings or items")


def identical(_report: Reference, _draw: Draw) -> Result:
    """Copy the reference."""
    return Changed(())


def _blocks(report: Reference) -> list[str]:
    """Return the sentences; one that leans on the one before stays with it."""
    blocks: list[str] = []
    for one in report.sentences:
        said = one.text if one.text[-1] in ".!?" else f"{one.text}."
        if blocks and (_LEANS.match(one.text) or _REST.search(one.text)):
            blocks[-1] += f" {said}"
        else:
            blocks.append(said)
    return blocks


def _rewritten(report: Reference, text: str) -> Changed:
    start = len(report.text) - len(report.text.lstrip())
    return Changed((Edit(start, len(report.text.rstrip()), text),))


def reordered(report: Reference, draw: Draw) -> Result:
    """Put the sentences in another order."""
    if is_marked(report.text):
        return _MARKED
    blocks = _blocks(report)
    order = draw.order(range(len(blocks)))
    if len({*blocks}) < 2:
        return NotMade("fewer than two sentences that can change places")
    shown = [blocks[at] for at in order]
    if shown == blocks:
        shown = [*shown[1:], shown[0]]
    return _rewritten(report, " ".join(shown))


def bulleted(report: Reference, _draw: Draw) -> Result:
    """Write a bullet a sentence."""
    if is_marked(report.text):
        return _MARKED
    gaps = tuple(Edit(a.end, b.start, "\n- ") for a, b in pairwise(report.sentences))
    start = report.sentences[0].start
    return Changed((Edit(start, start, "- "), *_bare(report, gaps)))


def _bare(report: Reference, gaps: tuple[Edit, ...]) -> tuple[Edit, ...]:
    return tuple(one for one in gaps if not report.text[one.start : one.end].strip(" \t\n."))


def upper_case(report: Reference, _draw: Draw) -> Result:
    """Write all in capitals."""
    text = report.text.upper()
    if text == report.text:
        return NotMade("the reference is in capitals")
    return Changed((Edit(0, len(report.text), text),))


def synonyms(report: Reference, _draw: Draw) -> Result:
    """Put a harmless synonym into each sentence that has room for one."""
    edits = []
    for one in report.sentences:
        for pattern, to in vocabulary().synonyms:
            if match := pattern.search(one.text):
                start = one.start + match.start()
                edits.append(Edit(start, start + len(match[0]), like(to, match[0])))
                break
    return Changed(tuple(edits)) if edits else NotMade("no phrase with a known synonym")


def _written_out(report: Reference, _draw: Draw) -> Result:
    """Write abbreviations out."""
    names = {short: long for long, short in reversed(vocabulary().abbreviations.items())}
    found = re.finditer(rf"\b(?:{'|'.join(names)})\b(?!')", report.text)
    edits = []
    for one in found:
        long = names[one[0]]
        before = re.search(r"(\d[\d.]*)[ -]?$", report.text[: one.start()])
        if one[0] in ("cm", "mm"):
            if before is None:
                continue
            many = before[1] != "1" and not re.match(r" \w+", report.text[one.end() :])
            long = f"{long.rstrip('s')}{'s' if many else ''}"
            long = long if before[0][-1] in " -" else f" {long}"
        starts = any(one.start() == sentence.start for sentence in report.sentences)
        edits.append(Edit(one.start(), one.end(), capital(long) if starts else long))
    return Changed(tuple(edits)) if edits else NotMade("no known abbreviation")


def _abbreviated(report: Reference, _draw: Draw) -> Result:
    """Abbreviate what has a standard abbreviation."""
    names = vocabulary().abbreviations
    found = re.finditer(rf"\b(?:{'|'.join(names)})\b", report.text, re.I)
    edits = tuple(Edit(one.start(), one.end(), names[one[0].lower()]) for one in found)
    return Changed(edits) if edits else NotMade("nothing that has a known abbreviation")


def abbreviations(report: Reference, draw: Draw) -> Result:
    """Write abbreviations out, or abbreviate names where the reference has none."""
    found = _written_out(report, draw)
    return _abbreviated(report, draw) if isinstance(found, NotMade) else found

"""Nothing changed but the writing: order, layout, wording, and slips of the pen."""

from __future__ import annotations

import re
from itertools import cycle, pairwise

from judge.stress.text import (
    Changed,
    Draw,
    Edit,
    NotMade,
    Reference,
    Result,
    at_end,
    capital,
    is_marked,
    like,
    small,
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
_NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_COUNT = re.compile(
    r"(?<![\d.,/x\u00d7-])(?<![x\u00d7] )([1-9]|1[0-2])(?=[ -](?:mm|cm|days?|weeks?|views?)\b)"
)
_THERE_IS = re.compile(r"there (?:is|are) (?!again|also|been)(?:an? )?(?=\w)", re.I)
_NO = re.compile(r"No (?!evidence|sign|change|longer|interval|further|significant change)(?=\w)")
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|seen|identified|noted|demonstrated|present)\b", re.I
)
_LEADS = ("On this examination, ", "In addition, ", "Furthermore, ", "On the available images, ")
# The lungs come first: a nodule that projects over a rib is none of the rib, and B lines no line.
_HEADINGS = {
    "lungs": "Lungs and pleura",
    "pleura": "Lungs and pleura",
    "devices": "Lines and devices",
    "bones": "Bones",
    "heart": "Heart and mediastinum",
    "mediastinum": "Heart and mediastinum",
    "vessels": "Heart and mediastinum",
}
_WORD = re.compile(r"\b[a-z]{7,}\b")
_KEPT = re.compile(
    r"without|(?:left|right)ward|bilateral|negative|unchanged|upper|lower|middle|severe|minimal|moderate|probabl",
    re.I,
)


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


def white_space(report: Reference, _draw: Draw) -> Result:
    """Write a line a sentence, and two blanks in each."""
    gaps = _bare(report, tuple(Edit(a.end, b.start, "\n\n") for a, b in pairwise(report.sentences)))
    for one in report.sentences:
        if (at := one.text.find(" ")) > 0:
            gaps += (Edit(one.start + at, one.start + at + 1, "  "),)
    return Changed(gaps) if gaps else NotMade("the reference is one word")


def numbers_as_words(report: Reference, _draw: Draw) -> Result:
    """Write whole numbers before a unit as words."""
    found = [(one, _NUMBERS[int(one[1])]) for one in _COUNT.finditer(report.text)]
    edits = tuple(Edit(one.start(), one.end(), word) for one, word in found)
    return Changed(edits) if edits else NotMade("no whole number from 1 to 12 with a unit")


def written_out(report: Reference, _draw: Draw) -> Result:
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


def abbreviated(report: Reference, _draw: Draw) -> Result:
    """Abbreviate what has a standard abbreviation."""
    names = vocabulary().abbreviations
    found = re.finditer(rf"\b(?:{'|'.join(names)})\b", report.text, re.I)
    edits = tuple(Edit(one.start(), one.end(), names[one[0].lower()]) for one in found)
    return Changed(edits) if edits else NotMade("nothing that has a known abbreviation")


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


def terse(report: Reference, _draw: Draw) -> Result:
    """Leave out "there is" and the like."""
    edits = []
    for one in report.sentences:
        if match := _THERE_IS.match(one.text):
            end = one.start + match.end()
            edits.append(Edit(one.start, end + 1, report.text[end].upper()))
    return Changed(tuple(edits)) if edits else NotMade('no sentence begins with "there is"')


def verbose(report: Reference, _draw: Draw) -> Result:
    """Say it with more words."""
    edits = []
    leads = cycle(_LEADS)
    for one in report.sentences:
        if re.match(r"(?:The|There) ", one.text):
            edits.append(Edit(one.start, one.start + 1, f"{next(leads)}{small(one.text)[0]}"))
        elif (match := _NO.match(one.text)) and not _VERB.search(one.text):
            edits.append(Edit(one.start, one.start + match.end(), "There is no evidence of "))
    return Changed(tuple(edits)) if edits else NotMade("no sentence that can be made longer")


def structured(report: Reference, _draw: Draw) -> Result:
    """Put the sentences under headings by part of the chest."""
    if is_marked(report.text):
        return _MARKED
    found: dict[str, list[str]] = {}
    for block in _blocks(report):
        areas = vocabulary().areas
        heading = next((to for area, to in _HEADINGS.items() if areas[area].search(block)), "Other")
        found.setdefault(heading, []).append(block)
    return _rewritten(
        report, "\n".join(f"{name}: {' '.join(said)}" for name, said in found.items())
    )


def repeated(report: Reference, draw: Draw) -> Result:
    """Say a sentence twice."""
    whole = [
        one for one in report.sentences if one.text.endswith(".") and not _LEANS.match(one.text)
    ]
    if not whole or is_marked(report.text):
        return NotMade("no sentence that can stand at the end")
    return Changed((at_end(report, draw.one(whole).text),))


def homophone(report: Reference, draw: Draw) -> Result:
    """Write a word as dictation hears it."""
    words = vocabulary().homophones
    found = [*re.finditer(rf"\b(?:{'|'.join(words)})\b", report.text, re.I)]
    if not found:
        return NotMade("no word that sounds like another known one")
    one = draw.one(found)
    return Changed((Edit(one.start(), one.end(), like(words[one[0].lower()], one[0])),))


def typing_slip(report: Reference, draw: Draw) -> Result:
    """Swap two letters within a word."""
    found = []
    for one in _WORD.finditer(report.text):
        places = [n for n in range(2, len(one[0]) - 2) if one[0][n] != one[0][n + 1]]
        if places and not _KEPT.search(one[0]):
            found.append((one, places))
    if not found:
        return NotMade("no word of seven small letters or more")
    one, places = draw.one(found)
    at = draw.one(places, "letter")
    word = one[0]
    slip = f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}"
    return Changed((Edit(one.start(), one.end(), slip),))

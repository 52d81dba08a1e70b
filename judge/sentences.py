"""Splits a report into sentences, each with its place in the text.

A report is not prose: it has numbered lists, bullets, "2.2 cm", "Dr. ___", headings in mid-line,
and lines broken in mid-sentence. sentencex 1.0.32 cuts after "1." and knows no headings, pysbd
0.3.4 cuts at every line break, and others need a model. The sentences are also the numbered lines
that a line-by-line rubric speaks of.
"""

from __future__ import annotations

import re
from functools import lru_cache

from judge.report_sections import SECTIONS, sentence_pattern

_SKIPPED_WORDS = sentence_pattern(
    section for section in SECTIONS if not section.has_findings
)
_READ_WORDS = sentence_pattern(section for section in SECTIONS if section.has_findings)

_HEADING = re.compile(
    rf"(?<![\w/])(?:{_SKIPPED_WORDS}|{_READ_WORDS})[ \t]{{0,3}}:", re.I
)
_SKIPPED = re.compile(rf"\s*(?:{_SKIPPED_WORDS})[ \t]{{0,3}}:", re.I)
_READ = re.compile(rf"\s*(?:{_READ_WORDS})[ \t]{{0,3}}:", re.I)
_STOP = re.compile(r"[.!?]+(?=[\s\"')\]]|$|[A-Z][a-z])|\n")
ITEM = re.compile(r"[ \t]*(?:[-*\u2022\u2023\u25aa\u2013\u2014]|\d{1,2}[.)])[ \t]")
_NUMBER_ONLY = re.compile(r"\s*\d{1,2}\Z")
_LAST_WORD = re.compile(r"[^\W_](?:[^\s,;:()]{0,11})\Z")

_TITLES = frozenset(
    {"dr", "drs", "mr", "mrs", "ms", "vs", "approx", "fig", "prof", "st"}
)
"""Abbreviations that a sentence does not end with."""

_UNITS = frozenset(
    {"mm", "cm", "ml", "mg", "kg", "min", "max", "rt", "lt", "no", "nos"}
)
"""Abbreviations that a sentence may end with: not before a small letter, "no." before a digit."""

_LATIN = frozenset({"a.m", "p.m", "e.g", "i.e", "etc", "cf", "ca", "q.d", "b.i.d"})
"""Abbreviations that a sentence may end with: what follows decides."""

_OPEN_ENDED = re.compile(
    r"(?:an?|and|are|as|at|be|by|for|from|has|have|in|is|nor?|not|of|on|or|the|there|to|was|were"
    r"|with|without)\Z",
    re.I,
)
"""Words that no sentence ends with."""

_WRAPPED = 40
"""A line shorter than this, in characters, was not broken by a word wrap."""


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the character spans of the sentences of `text`, in order, without overlap.

    A span has a letter or digit and no white space around it. The number of a list item belongs to
    its sentence; a heading starts a new one.
    """
    return [*_spans(text)]


@lru_cache(32)  # a report is cut several times in a row
def _spans(text: str) -> tuple[tuple[int, int], ...]:
    width = max(map(len, text.split("\n")))
    # Where a sentence may end, each with its stop; a heading starts one without a stop.
    cuts = {(match.end(), match.start()) for match in _STOP.finditer(text)}
    if ":" in text:
        for match in _HEADING.finditer(text):
            cuts.add((match.start(), match.start()))
    spans: list[tuple[int, int]] = []
    start = 0
    for end, stop in (*sorted(cuts), (len(text), len(text))):
        if end == stop:
            ends = True
        elif text[stop] == "\n":
            ends = _line_ends(text, stop, width)
        else:
            ends = _stop_ends(text, start, stop)
        if not ends:
            continue
        piece = text[start:end]
        if any(map(str.isalnum, piece)):
            left = start + len(piece) - len(piece.lstrip())
            right = left + len(piece.strip())
            spans.append((left, right))
        start = end
    return tuple(spans)


def lines(report: str) -> list[str]:
    """Return the lines of `report`, from 0: its sentences, their white space made single."""
    return [" ".join(report[start:end].split()) for start, end in sentences(report)]


def opens_skipped_section(sentence: str) -> bool | None:
    """Return whether `sentence` opens a section that is not read; None where it opens none."""
    if ":" not in sentence:
        return None
    if _SKIPPED.match(sentence):
        return True
    if _READ.match(sentence):
        return False
    return None


_MOST_BEFORE = 14
"""The characters before a full stop that hold an abbreviation, or the number of an item."""


def _stop_ends(text: str, start: int, stop: int) -> bool:
    """Return whether the mark at `stop` ends the sentence that begins at `start`."""
    if text[stop] != ".":
        return True
    first = max(start, stop - _MOST_BEFORE)
    before = text[first:stop]
    if stop - start < _MOST_BEFORE and _NUMBER_ONLY.match(before):
        return False
    last = ""
    word = _LAST_WORD.search(before)
    if word:
        last = word.group().lower()
    is_initial = len(last) == 1 and last.isalpha()
    if last in _TITLES or is_initial:
        return False
    following = text[stop + 1 : stop + 4].lstrip()
    # "No. 3" goes on, and "No. The ..." does not.
    if last in ("no", "nos"):
        return not following[:1].isdigit()
    if last in _UNITS:
        return not following[:1].islower()
    if last in _LATIN:
        return following[:1].isupper() and not following[1:2].isupper()
    return True


_MOST_OF_LINE = 80
"""The characters of the next line that say whether a sentence goes on there."""


def _line_ends(text: str, stop: int, width: int) -> bool:
    """Return whether the line break at `stop` ends a sentence, in a text `width` wide."""
    before = text.rfind("\n", 0, stop) + 1
    after = text.find("\n", stop + 1)
    if after < 0:
        after = len(text)
    upcoming = text[stop + 1 : min(after, stop + _MOST_OF_LINE)]
    if not upcoming.strip() or ITEM.match(upcoming):
        return True
    if _HEADING.match(upcoming.lstrip()):
        return True
    tail = text[max(before, stop - 40) : stop].rstrip()
    words = tail.split()
    if not words:
        return True
    if tail[-1] in ",(-/" or _OPEN_ENDED.match(words[-1]):
        return False
    first = upcoming.split()[0]
    if first[0].islower():
        return False
    length = stop - before
    if length < _WRAPPED:
        return True
    # A wrapped line ends where the next word no longer fitted.
    return length + 1 + len(first) <= width

"""Quotations of reports: whether words that a judge copied stand in a report as it says."""

from __future__ import annotations

import re
from functools import lru_cache

from judge.sentences import ITEM, lines

_AROUND = "\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb "
_BEHIND = _AROUND + ".,;"
_BEGINS = re.compile(r"[;:](?:\s+|(?=[^\W\d]))")
"""What a clause begins behind: no comma, since "pneumothorax" may stand in "No effusion, ..."."""
_ENDS = re.compile(r"[,;](?=\s)|\s\(")
_NEGATED = (
    r"\b(?:no|not|none|negative|without|absent|absence|exclud\w+|ruled out"
    r"|free of|lacks?|never)\b"
)
_DENIED_BELOW = re.compile(rf"{_NEGATED}[^:;]{{0,80}}:", re.IGNORECASE)
_DENIED_LIST = re.compile(rf".*{_NEGATED}[^:;]{{0,80}}:\s*", re.IGNORECASE)
# Behind a comma, colon or bracket: what takes back the words before it. "Effusion, no mass" does
# not: there the denial has a finding of its own.
_DENIED_BEHIND = re.compile(
    r"[,;:(\u2013-]\s*(?:(?:and|but|now|which|is|are|was|were|has|have|had|been|since|previously"
    r"|today|then|completely|entirely|both|all|currently|again|it|they)\s)*(?:not|no longer|none"
    r"|absent|resolved|negative|excluded|ruled out|removed|gone|cleared|denied|unlikely|never)\b",
    re.IGNORECASE,
)
# A full stop behind one letter, which may be an initial, and may end a sentence: "density A. No".
_LETTER = re.compile(r"(?<=\b[A-Za-z])\.\s+(?=[A-Z])")
# A full stop without a blank behind it.
_GLUED = re.compile(r"(?<=[a-z]{2}[.!?])(?=[A-Z])")


class Quotable:
    """A report whose words are looked up whatever their case, without white space.

    A quote begins with a sentence, or behind a semicolon or colon in it, and ends with one, or
    before a comma, semicolon or bracket. So it is no part of a word or number. It leaves out no
    denial either, neither in front ("Negative for: mass") nor behind ("mass, not seen"). The
    number of a list item may be left out.
    """

    def __init__(self, report: str) -> None:
        self._text = ""
        self._starts: set[int] = set()
        self._ends: set[int] = set()
        denied = False  # below a line such as "No evidence of:"
        for sentence in lines(report):
            if self._text:
                self._text += " "
            place = len(self._text)
            self._text += sentence
            if not (denied and ITEM.match(sentence)):
                self._starts.update(place + offset for offset in _starts(sentence))
                denied = _DENIED_LIST.fullmatch(sentence) is not None
            self._ends.update(place + offset for offset in _ends(sentence))
        # The text without white space in small letters, and the place of each letter: a report may
        # lack the blank behind a full stop, and a quotation have it.
        self._letters = ""
        self._places: list[int] = []
        for place, letter in enumerate(self._text):
            if not letter.isspace():
                small = letter.casefold()
                self._letters += small
                self._places += [place] * len(small)

    def find(self, quote: str) -> str | None:
        """Return the words of the report without quotes and last stop, None if it has them not."""
        wanted = " ".join(quote.split()).strip(_AROUND).rstrip(_BEHIND)
        if not any(map(str.isalnum, wanted)):
            return None
        letters = "".join(wanted.split()).casefold()
        found = self._letters.find(letters)
        while found >= 0:
            start = self._places[found]
            end = self._places[found + len(letters) - 1] + 1
            if start in self._starts and end in self._ends:
                return self._text[start:end]
            found = self._letters.find(letters, found + 1)
        return None


def _starts(sentence: str) -> set[int]:
    """Return where a quotation of a sentence may begin: at its start, and at that of a clause."""
    last = len(sentence)
    denial = _DENIED_BELOW.search(sentence)
    if denial is not None:
        last = denial.end()
    starts = {0}
    for pattern in (_BEGINS, _GLUED, _LETTER):
        for match in pattern.finditer(sentence):
            if match.end() < last:
                starts.add(match.end())
    for start in sorted(starts):
        item = ITEM.match(sentence, start)
        if item is not None:
            starts.add(item.end())
    for start in sorted(starts):
        words = sentence[start:].lstrip(_AROUND)
        starts.add(len(sentence) - len(words))
    return starts


def _ends(sentence: str) -> set[int]:
    """Return where a quotation of a sentence may end: at its end, and at that of a clause."""
    denials = [match.start() for match in _DENIED_BEHIND.finditer(sentence)]
    first = max(denials, default=-1)
    ends = {len(sentence)}
    for pattern in (_ENDS, _GLUED, _LETTER):
        for match in pattern.finditer(sentence):
            if match.start() > first:
                ends.add(match.start())
    for end in sorted(ends):
        words = sentence[:end].rstrip(_BEHIND)
        ends.add(len(words))
    return ends


quotable = lru_cache(64)(Quotable)
"""Return the words of a report that may be quoted; the last reports are kept."""

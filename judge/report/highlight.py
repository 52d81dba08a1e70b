"""Where the words that an error speaks of stand in the two reports.

A mark is set only on words that are really there: what is marked is equal to words of the
error's text, of its correction, or is the line that its edit names. Letter case and white
space make no difference. An error whose words are in neither report marks nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from judge.report.wordlists import COMMON, MODIFIERS
from judge.sentences import sentences

Side = Literal["reference", "candidate"]
Place = tuple[int, int]
"""The first character of a stretch of text and the one after its last."""

_TOKEN = re.compile(r"\w+|[^\w\s]")
_QUOTED = re.compile(
    r"\"([^\"]{1,600})\"|\u201c([^\u201d]{1,600})\u201d|\u00ab([^\u00bb]{1,600})\u00bb"
    r"|\u2018([^\u2019]{1,600})\u2019|(?<!\w)'([^']{1,600})'(?!\w)|`([^`]{1,600})`"
)
_SAID_OF = re.compile(r"\b(reference|candidate)\b", re.I)
_GAP = re.compile(r"\.{3}|\u2026")

_MOST_TOKENS = 20_000
"""Words of a report that are searched for sequences: a radiologist's report has a few hundred."""
_MOST_WANTED = 400
_MOST_PLACES = 40
_MOST_STARTS = 8
_DISTINCTIVE = 4
"""Letters of the shortest word that can stand for a finding by itself."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a report and the errors, by number from 0, that speak of it."""

    text: str
    errors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Highlights:
    """Both reports cut into segments: joined, they are the reports, character by character."""

    reference: tuple[Segment, ...]
    candidate: tuple[Segment, ...]


def highlights(reference: str, candidate: str, errors: Sequence[Mapping[str, Any]]) -> Highlights:
    """Return both reports with the words marked that each of a record's `errors` speaks of."""
    reports: dict[Side, _Report] = {
        "reference": _Report(reference),
        "candidate": _Report(candidate),
    }
    marks: dict[Side, list[tuple[Place, int]]] = {"reference": [], "candidate": []}
    for number, error in enumerate(errors):
        quotes = list(_quotes(error["text"]))
        for side, report in reports.items():
            places = _places(side, report, reports, error, quotes)
            marks[side] += ((place, number) for place in places)
    return Highlights(
        segments(reference, marks["reference"]), segments(candidate, marks["candidate"])
    )


def segments(text: str, marks: Sequence[tuple[Place, int]]) -> tuple[Segment, ...]:
    """Return `text` cut wherever a mark begins or ends; marks may overlap.

    No segment is empty; two neighbours differ in their errors.
    """
    edges: dict[int, list[tuple[int, int]]] = {0: [], len(text): []}
    for (start, end), error in marks:
        edges.setdefault(start, []).append((error, 1))
        edges.setdefault(end, []).append((error, -1))
    found: list[Segment] = []
    active: dict[int, int] = {}
    before = 0
    for at in sorted(edges):
        if piece := text[before:at]:
            errors = tuple(sorted(error for error, n in active.items() if n > 0))
            if found and found[-1].errors == errors:
                piece = found.pop().text + piece
            found.append(Segment(piece, errors))
        for error, change in edges[at]:
            active[error] = active.get(error, 0) + change
        before = at
    return tuple(found)


class _Report:
    """A report as tokens (words in lower case, and single other characters) with their places."""

    def __init__(self, text: str) -> None:
        self.text = text
        found = [(m.group().casefold(), m.start(), m.end()) for m in _TOKEN.finditer(text)]
        self.tokens = [token for token, _, _ in found]
        self.starts = [start for _, start, _ in found]
        self.ends = [end for _, _, end in found]
        self._at: dict[str, list[int]] | None = None
        self._lines: list[Place] | None = None

    def find(self, phrase: Sequence[str]) -> list[Place]:
        """Return where the tokens of `phrase` stand one after the other, at most a few dozen."""
        if not phrase:
            return []
        rarest = min(range(len(phrase)), key=lambda n: len(self._positions(phrase[n])))
        found: list[Place] = []
        free = 0
        for position in self._positions(phrase[rarest]):
            start = position - rarest
            if start >= free and self.tokens[start : start + len(phrase)] == phrase:
                free = start + len(phrase)
                found.append((self.starts[start], self.ends[free - 1]))
                if len(found) == _MOST_PLACES:
                    break
        return found

    def line(self, number: int) -> list[Place]:
        """Return the place of a numbered line, none for a number off the report."""
        if self._lines is None:
            self._lines = sentences(self.text)
        return [self._lines[number]] if 0 <= number < len(self._lines) else []

    def _positions(self, token: str) -> Sequence[int]:
        if self._at is None:
            self._at = {}
            for position, each in enumerate(self.tokens):
                self._at.setdefault(each, []).append(position)
        return self._at.get(token, ())


def _places(
    side: Side,
    report: _Report,
    reports: Mapping[Side, _Report],
    error: Mapping[str, Any],
    quotes: Sequence[tuple[Side | None, list[str]]],
) -> list[Place]:
    """Return where an error's words stand: the surest kind of evidence that there is."""
    other = reports["candidate" if side == "reference" else "reference"]
    quoted = []
    for said_of, phrase in quotes:
        if said_of in (None, side) or not other.find(phrase):
            quoted += report.find(phrase)
    edit = error["edit"]
    if edit is None:
        return quoted or _runs(error["text"], report)
    if side == "candidate" and edit["kind"] != "insert":
        lines = report.line(edit["line"])
        within = [
            place for place in quoted for line in lines if line[0] <= place[0] < place[1] <= line[1]
        ]
        return within or lines
    if side == "reference" and not quoted and edit["corrected"]:
        return report.find(_tokens(edit["corrected"])) or _runs(edit["corrected"], report)
    return quoted or _runs(error["text"], report)


def _quotes(text: str) -> Iterator[tuple[Side | None, list[str]]]:
    """Yield what stands in quotation marks, and of which report the words before it tell."""
    end = 0
    for match in _QUOTED.finditer(text):
        named = _SAID_OF.findall(text[end : match.start()])
        end = match.end()
        said_of: Side | None = None
        if named:
            said_of = "reference" if named[-1].lower() == "reference" else "candidate"
        quoted = next(group for group in match.groups() if group is not None)
        for part in _GAP.split(quoted):
            phrase = _tokens(part)
            if len(phrase) > 1 or any(_is_distinctive(token) for token in phrase):
                yield said_of, phrase


def _tokens(text: str) -> list[str]:
    """Return the tokens of `text` without what is no word at either end."""
    found = [match.group().casefold() for match in _TOKEN.finditer(text)]
    words = [at for at, token in enumerate(found) if token[0].isalnum()]
    return found[words[0] : words[-1] + 1] if words else []


def _runs(text: str, report: _Report) -> list[Place]:
    """Return where sequences of words of `text` stand in the report.

    A sequence begins and ends with a word that says something and holds one that can stand
    for a finding. Where a longer one is found, the places that hold only some of its words
    are left out.
    """
    wanted = _tokens(text)[:_MOST_WANTED]
    starts: dict[str, list[int]] = {}
    for at, token in enumerate(wanted):
        if _says_something(token) and len(starts.setdefault(token, [])) < _MOST_STARTS:
            starts[token].append(at)
    tokens = report.tokens
    found: list[tuple[int, int]] = []
    at, last = 0, min(len(tokens), _MOST_TOKENS)
    while at < last and len(found) < _MOST_PLACES:
        begins = starts.get(tokens[at], ())
        length = max((_common(wanted, begin, tokens, at) for begin in begins), default=0)
        while length and not _says_something(tokens[at + length - 1]):
            length -= 1
        if any(map(_is_distinctive, tokens[at : at + length])):
            found.append((at, at + length))
        at += max(length, 1)
    words = [frozenset(tokens[start:end]) for start, end in found]
    return [
        (report.starts[start], report.ends[end - 1])
        for (start, end), own in zip(found, words, strict=True)
        if not any(own < more for more in words)
    ]


def _common(one: Sequence[str], at: int, other: Sequence[str], start: int) -> int:
    length = 0
    while (
        at + length < len(one)
        and start + length < len(other)
        and one[at + length] == other[start + length]
    ):
        length += 1
    return length


def _says_something(token: str) -> bool:
    return token[0].isalnum() and token not in COMMON


def _is_distinctive(token: str) -> bool:
    return (
        len(token) >= _DISTINCTIVE
        and token[0].isalpha()
        and token not in COMMON
        and token not in MODIFIERS
    )

"""Where the words that an error speaks of stand in the two reports.

A mark is set only where it is certain: on the line that an edit names, on words that the error
quotes or is linked to, and on whole phrases of its text or its correction. A word of a longer
phrase is none: "mediastinal shift" is not spoken of by "mediastinal nodes", nor "rib fracture" by
"clavicle fracture". A single word that stands in several places marks none of them. Letter case and
white space make no difference. An error whose words are in neither report marks nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import Any, Literal

from judge.sentences import sentences
from judge.study.stop_words import COMMON, MODIFIERS

Side = Literal["reference", "candidate"]
Span = tuple[int, int]
"""The first character of a stretch of text and the one after its last."""

_TOKEN = re.compile(r"\w+|[^\w\s]")
_QUOTED = re.compile(
    r"\"([^\"]{1,600})\"|\u201c([^\u201d]{1,600})\u201d|\u00ab([^\u00bb]{1,600})\u00bb"
    r"|\u2018([^\u2019]{1,600})\u2019|(?<!\w)'([^']{1,600})'(?!\w)|`([^`]{1,600})`"
)
_SAID_OF = re.compile(r"\b(reference|candidate)\b", re.I)
_GAP = re.compile(r"\.{3}|\u2026")

_MOST_LOOKS = 2000
"""Places of a report that are looked at for one error: a radiologist's has a few hundred words."""
_MOST_ERRORS = 100
"""The most errors that one piece of a report is marked for."""
_MOST_WANTED = 400
_MOST_SPANS = 40
_MOST_MODIFIERS = 12
_MOST_STARTS = 8
_DISTINCTIVE = 4
"""Letters of the shortest word that can stand for a finding by itself."""
_NAMES_NOTHING = COMMON | MODIFIERS | {"mm", "cm"}
_HYPHENS = frozenset(("-", "\u2010", "\u2011"))


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
    reports: dict[Side, _Report]
    reports = {"reference": _Report(reference), "candidate": _Report(candidate)}
    marks: dict[Side, list[tuple[Span, int]]] = {"reference": [], "candidate": []}
    for number, error in enumerate(errors):
        quotes = list(_quotes(error["text"]))
        quotes += ((None, _tokens(text)) for text in error.get("quotes", ()))
        for side in reports:
            marks[side] += ((span, number) for span in _spans(side, reports, error, quotes))
    return Highlights(
        segments(reference, marks["reference"]), segments(candidate, marks["candidate"])
    )


def segments(text: str, marks: Sequence[tuple[Span, int]]) -> tuple[Segment, ...]:
    """Return `text` cut wherever a mark begins or ends; marks may overlap.

    No segment is empty; two neighbours differ in their errors; white space at either end of a
    segment is not marked. Where more than a hundred marks lie on each other, those that begin
    last are left out.
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
            words = piece.strip()
            lead, _, tail = piece.partition(words) if words else (piece, "", "")
            for part, own in ((lead, ()), (words, tuple(sorted(active))), (tail, ())):
                _append(found, part, own)
        for error, change in sorted(edges[at], key=itemgetter(1)):  # the ends first
            if error in active:
                active[error] += change
                if active[error] == 0:
                    del active[error]
            elif change > 0 and len(active) < _MOST_ERRORS:
                active[error] = 1
        before = at
    return tuple(found)


def _append(found: list[Segment], text: str, errors: tuple[int, ...]) -> None:
    if text and found and found[-1].errors == errors:
        text = found.pop().text + text
    if text:
        found.append(Segment(text, errors))


class _Report:
    """A report as tokens (words in lower case, and single other characters) with their spans."""

    def __init__(self, text: str) -> None:
        self.text = text
        found = [(m.group().casefold(), m.start(), m.end()) for m in _TOKEN.finditer(text)]
        self.tokens = [token for token, _, _ in found]
        self.starts = [start for _, start, _ in found]
        self.ends = [end for _, _, end in found]

    def find(self, phrase: Sequence[str]) -> list[Span]:
        if not phrase:
            return []
        rarest = min(range(len(phrase)), key=lambda n: len(self.positions(phrase[n])))
        found: list[Span] = []
        free = 0
        for position in islice(self.positions(phrase[rarest]), _MOST_LOOKS):
            start = position - rarest
            if start >= free and self.tokens[start : start + len(phrase)] == phrase:
                free = start + len(phrase)
                found.append((self.starts[start], self.ends[free - 1]))
                if len(found) == _MOST_SPANS:
                    break
        return found

    def line(self, number: int) -> list[Span]:
        return self._lines[number : number + 1] if number >= 0 else []

    def positions(self, token: str) -> Sequence[int]:
        return self._positions.get(token, ())

    @cached_property
    def _lines(self) -> list[Span]:
        return sentences(self.text)

    @cached_property
    def _positions(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for position, token in enumerate(self.tokens):
            found[token].append(position)
        return found


def _spans(
    side: Side,
    reports: Mapping[Side, _Report],
    error: Mapping[str, Any],
    quotes: Sequence[tuple[Side | None, list[str]]],
) -> list[Span]:
    report, other = reports[side], reports["candidate" if side == "reference" else "reference"]
    quoted = []
    for said_of, phrase in quotes:
        if said_of in (None, side) or not other.find(phrase):
            spans = report.find(phrase)
            quoted += spans if len(phrase) > 1 or len(spans) == 1 else []
    edit = error["edit"]
    if edit and side == "candidate":
        if edit["kind"] == "insert":
            return quoted
        lines = report.line(edit["line"])
        within = [
            span for span in quoted for line in lines if line[0] <= span[0] < span[1] <= line[1]
        ]
        return within or lines
    if quoted:
        return quoted
    if edit and edit["corrected"]:
        return report.find(_tokens(edit["corrected"])) or _runs(edit["corrected"], report)
    return _runs(error["text"], report)


def _quotes(text: str) -> Iterator[tuple[Side | None, list[str]]]:
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
    found = [match.group().casefold() for match in _TOKEN.finditer(text)]
    words = [at for at, token in enumerate(found) if token[0].isalnum()]
    return found[words[0] : words[-1] + 1] if words else []


def _runs(text: str, report: _Report) -> list[Span]:
    """Return where sequences of words of `text` stand in the report.

    A sequence begins and ends with a word that says something, holds one that can stand for a
    finding, and is a whole phrase in both. Where a longer one is found, the spans that hold
    only some of its words are left out; a single word counts where it stands once.
    """
    wanted = _tokens(text)[:_MOST_WANTED]
    starts: dict[str, list[int]] = {}
    for at, token in enumerate(wanted):
        if _says_something(token) and len(starts.setdefault(token, [])) < _MOST_STARTS:
            starts[token].append(at)
    tokens = report.tokens
    found: list[tuple[int, int]] = []
    free = 0
    for at in islice(merge(*map(report.positions, starts)), _MOST_LOOKS):
        if at < free:
            continue
        length, begin = max(
            (_common(wanted, begin, tokens, at), -begin) for begin in starts[tokens[at]]
        )
        while length and not _says_something(tokens[at + length - 1]):
            length -= 1
        free = at + max(length, 1)
        is_whole = _is_whole(tokens, at, length) and _is_whole(wanted, -begin, length)
        if is_whole and any(map(_is_distinctive, tokens[at : at + length])):
            found.append((at, at + length))
            if len(found) == _MOST_SPANS:
                break
    words = [frozenset(tokens[start:end]) for start, end in found]
    kinds = set(words)
    parts = {own for own in kinds if any(own < more for more in kinds)}
    return [
        (report.starts[start], report.ends[end - 1])
        for (start, end), own in zip(found, words, strict=True)
        if own not in parts and (len(own) > 1 or words.count(own) == 1)
    ]


def _is_whole(tokens: Sequence[str], start: int, length: int) -> bool:
    """Whether no word beside a sequence belongs to the same phrase.

    Words that only describe may stand before it, and behind it where no noun follows them.
    """
    if start and _names_something(tokens[start - 1]):
        return False
    behind = tokens[start + length : start + length + _MOST_MODIFIERS]
    noun = next((token for token in behind if token not in MODIFIERS), None)
    if noun is None:  # a text of nothing but such words is not looked through to its end
        return len(behind) < _MOST_MODIFIERS
    return not _names_something(noun)


def _names_something(token: str) -> bool:
    return token in _HYPHENS or (token[0].isalpha() and token not in _NAMES_NOTHING)


def _common(one: Sequence[str], at: int, other: Sequence[str], start: int) -> int:
    longest = min(len(one) - at, len(other) - start)
    return next((n for n in range(longest) if one[at + n] != other[start + n]), longest)


def _says_something(token: str) -> bool:
    return token[0].isalnum() and token not in COMMON


def _is_distinctive(token: str) -> bool:
    return len(token) >= _DISTINCTIVE and _names_something(token)

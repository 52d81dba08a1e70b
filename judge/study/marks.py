"""The words of the two reports that each error is about.

Only certain words are marked: the line that an edit names, words that the error quotes or is linked
to, and whole phrases of its text or its correction. Part of a longer phrase is not marked:
"mediastinal nodes" does not match "mediastinal shift". A single word that occurs several times is
not marked. Letter case and white space make no difference.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import Any, Literal, TypedDict

from judge.sentences import sentences

_ANY_SENTENCE = """
a an the this that these those it its he she they of in on at to from for by with without
and or but nor not no is are was were be been being has have had do does did as than then
there here which who whose when where while whereas although though because so if also only
both either neither any all some each other another same such more most less least very into
onto over under within between through during before after again once can could may might
should would will must about against per via versus vs
"""

_JUDGES_WORDS = """
reference candidate report reports radiologist model prediction predicted generated
ground truth original text says say said states stated states mention mentions mentioned
mentioning describe describes described describing indicate indicates indicated report
reported reporting reports note notes noted suggest suggests suggested omit omits omitted
omission miss misses missed missing fail fails failed add adds added addition include includes
included finding findings error errors incorrect incorrectly wrong wrongly false falsely
correct correctly present presence absent absence instead however rather unlike contrast
different differs difference actual actually significant insignificant clinically severity
location size comparison line lines sentence statement
"""

_DESCRIBING = """
left right bilateral unilateral upper lower middle mid lateral medial anterior posterior
superior inferior apical basal basilar central peripheral small large tiny minimal mild
moderate severe marked extensive slight trace normal abnormal unremarkable stable unchanged
new old acute chronic increased decreased improved worsened worse better interval prior
previous current clear intact evidence seen identified visible visualized visualised likely
possible probable definite limits lung lungs chest side sided level region area areas zone
zones lobe lobes view views study studies examination exam image images radiograph
radiographs frontal mildly moderately severely slightly appears appear appearance
"""

COMMON = frozenset((_ANY_SENTENCE + _JUDGES_WORDS).split())
"""Words that name no finding."""

MODIFIERS = frozenset(_DESCRIBING.split())
"""Words that describe a finding without naming it."""

Side = Literal["reference", "candidate"]
Span = tuple[int, int]
"""The first character of a stretch of text and the one after its last."""

_TOKEN = re.compile(r"\w+|[^\w\s]")
_QUOTED = re.compile(
    r"\"([^\"]{1,600})\"|\u201c([^\u201d]{1,600})\u201d|\u00ab([^\u00bb]{1,600})\u00bb"
    r"|\u2018([^\u2019]{1,600})\u2019|(?<!\w)'([^']{1,600})'(?!\w)|`([^`]{1,600})`"
)
_SIDE_NAMED = re.compile(r"\b(reference|candidate)\b", re.I)
_GAP = re.compile(r"\.{3}|\u2026")

_MAX_POSITIONS = 2000
"""Positions of a report that are compared for one error; a report has a few hundred words."""
_MAX_ERRORS = 100
"""The most errors that one piece of a report is marked for."""
_MAX_WANTED = 400
_MAX_SPANS = 40
_MAX_MODIFIERS = 12
_MAX_STARTS = 8
_DISTINCTIVE = 4
"""Letters of the shortest word that can stand for a finding by itself."""
_NO_NAMES = COMMON | MODIFIERS | {"mm", "cm"}
_HYPHENS = frozenset(("-", "\u2010", "\u2011"))


class Segment(TypedDict):
    """A piece of a report and the errors, by number from 0, that speak of it."""

    text: str
    errors: list[int]


def highlights(
    reference: str, candidate: str, errors: Sequence[Mapping[str, Any]]
) -> dict[str, list[Segment]]:
    """Return both reports, cut into segments, with the words marked that `errors` speak of."""
    reports: dict[Side, _Report]
    reports = {"reference": _Report(reference), "candidate": _Report(candidate)}
    marks: dict[Side, list[tuple[Span, int]]] = {"reference": [], "candidate": []}
    for number, error in enumerate(errors):
        quotes = list(_quotes(error["text"]))
        quotes += ((None, _tokens(text)) for text in error.get("quotes", ()))
        for side in reports:
            marks[side] += ((span, number) for span in _spans(side, reports, error, quotes))
    return {side: segments(report.text, marks[side]) for side, report in reports.items()}


def segments(text: str, marks: Sequence[tuple[Span, int]]) -> list[Segment]:
    """Return `text` cut wherever a mark begins or ends; marks may overlap.

    No segment is empty; two neighbours differ in their errors; white space at either end of a
    segment is not marked. Where more than a hundred marks lie on each other, those that begin
    last are left out.
    """
    edges: dict[int, list[tuple[int, int]]] = {0: [], len(text): []}
    for (start, end), error in marks:
        edges.setdefault(start, []).append((error, 1))
        edges.setdefault(end, []).append((error, -1))
    parts: list[Segment] = []
    active: dict[int, int] = {}
    before = 0
    for edge in sorted(edges):
        if piece := text[before:edge]:
            words = piece.strip()
            lead, _, tail = piece.partition(words) if words else (piece, "", "")
            for part, errors in ((lead, []), (words, sorted(active)), (tail, [])):
                if part and parts and parts[-1]["errors"] == errors:
                    parts[-1]["text"] += part
                elif part:
                    parts.append({"text": part, "errors": errors})
        for error, change in sorted(edges[edge], key=itemgetter(1)):  # the ends first
            if error in active:
                active[error] += change
                if active[error] == 0:
                    del active[error]
            elif change > 0 and len(active) < _MAX_ERRORS:
                active[error] = 1
        before = edge
    return parts


class _Report:
    """A report as tokens (words in lower case, and single other characters) with their spans."""

    def __init__(self, text: str) -> None:
        self.text = text
        matches = list(_TOKEN.finditer(text))
        self.tokens = [match.group().casefold() for match in matches]
        self.starts = [match.start() for match in matches]
        self.ends = [match.end() for match in matches]

    def find(self, phrase: Sequence[str]) -> list[Span]:
        if not phrase:
            return []
        rarest = min(range(len(phrase)), key=lambda n: len(self.positions(phrase[n])))
        spans: list[Span] = []
        free = 0
        for position in islice(self.positions(phrase[rarest]), _MAX_POSITIONS):
            start = position - rarest
            if start >= free and self.tokens[start : start + len(phrase)] == phrase:
                free = start + len(phrase)
                spans.append((self.starts[start], self.ends[free - 1]))
                if len(spans) == _MAX_SPANS:
                    break
        return spans

    def positions(self, token: str) -> Sequence[int]:
        return self._positions.get(token, ())

    @cached_property
    def _positions(self) -> dict[str, list[int]]:
        positions: dict[str, list[int]] = defaultdict(list)
        for position, token in enumerate(self.tokens):
            positions[token].append(position)
        return positions


def _spans(
    side: Side,
    reports: Mapping[Side, _Report],
    error: Mapping[str, Any],
    quotes: Sequence[tuple[Side | None, list[str]]],
) -> list[Span]:
    report, other = reports[side], reports["candidate" if side == "reference" else "reference"]
    quoted = []
    for named_side, phrase in quotes:
        if named_side in (None, side) or not other.find(phrase):
            spans = report.find(phrase)
            quoted += spans if len(phrase) > 1 or len(spans) == 1 else []
    edit = error["edit"]
    if edit and side == "candidate":
        if edit["kind"] == "insert":
            return quoted
        lines = sentences(report.text)[edit["line"] :][:1]
        within = [
            span for span in quoted for line in lines if line[0] <= span[0] < span[1] <= line[1]
        ]
        return within or lines
    if quoted:
        return quoted
    if edit and edit["corrected"]:
        return report.find(_tokens(edit["corrected"])) or _shared_phrases(edit["corrected"], report)
    return _shared_phrases(error["text"], report)


def _quotes(text: str) -> Iterator[tuple[Side | None, list[str]]]:
    end = 0
    for match in _QUOTED.finditer(text):
        named = _SIDE_NAMED.findall(text[end : match.start()])
        end = match.end()
        named_side: Side | None = None
        if named:
            named_side = "reference" if named[-1].lower() == "reference" else "candidate"
        quoted = next(group for group in match.groups() if group is not None)
        for part in _GAP.split(quoted):
            phrase = _tokens(part)
            if len(phrase) > 1 or any(_is_distinctive(token) for token in phrase):
                yield named_side, phrase


def _tokens(text: str) -> list[str]:
    tokens = [match.group().casefold() for match in _TOKEN.finditer(text)]
    words = [place for place, token in enumerate(tokens) if token[0].isalnum()]
    return tokens[words[0] : words[-1] + 1] if words else []


def _shared_phrases(text: str, report: _Report) -> list[Span]:
    """Return the phrases of `text` that the report has too.

    A phrase begins and ends with a word that says something, holds one that can name a finding,
    and is whole in both texts. Parts of a longer phrase are left out; a single word counts where
    it occurs once.
    """
    wanted = _tokens(text)[:_MAX_WANTED]
    starts: dict[str, list[int]] = {}
    for place, token in enumerate(wanted):
        if _says_something(token) and len(starts.setdefault(token, [])) < _MAX_STARTS:
            starts[token].append(place)
    tokens = report.tokens
    phrases: list[tuple[int, int]] = []
    free = 0
    for position in islice(merge(*map(report.positions, starts)), _MAX_POSITIONS):
        if position < free:
            continue
        length, begin = max(
            (_n_common(wanted, begin, tokens, position), -begin)
            for begin in starts[tokens[position]]
        )
        while length and not _says_something(tokens[position + length - 1]):
            length -= 1
        free = position + max(length, 1)
        is_whole = _is_whole(tokens, position, length) and _is_whole(wanted, -begin, length)
        if is_whole and any(map(_is_distinctive, tokens[position : position + length])):
            phrases.append((position, position + length))
            if len(phrases) == _MAX_SPANS:
                break
    words = [frozenset(tokens[start:end]) for start, end in phrases]
    kinds = set(words)
    parts = {part for part in kinds if any(part < whole for whole in kinds)}
    return [
        (report.starts[start], report.ends[end - 1])
        for (start, end), phrase in zip(phrases, words, strict=True)
        if phrase not in parts and (len(phrase) > 1 or words.count(phrase) == 1)
    ]


def _is_whole(tokens: Sequence[str], start: int, length: int) -> bool:
    """Whether no word beside a sequence belongs to the same phrase.

    Words that only describe may stand before it, and behind it where no noun follows them.
    """
    if start and _names_something(tokens[start - 1]):
        return False
    behind = tokens[start + length : start + length + _MAX_MODIFIERS]
    noun = next((token for token in behind if token not in MODIFIERS), None)
    if noun is None:  # a text of nothing but such words is not looked through to its end
        return len(behind) < _MAX_MODIFIERS
    return not _names_something(noun)


def _names_something(token: str) -> bool:
    return token in _HYPHENS or (token[0].isalpha() and token not in _NO_NAMES)


def _n_common(left: Sequence[str], i: int, right: Sequence[str], j: int) -> int:
    longest = min(len(left) - i, len(right) - j)
    return next((n for n in range(longest) if left[i + n] != right[j + n]), longest)


def _says_something(token: str) -> bool:
    return token[0].isalnum() and token not in COMMON


def _is_distinctive(token: str) -> bool:
    return len(token) >= _DISTINCTIVE and _names_something(token)

"""The words of the two reports that each error is about.

Marked are the line that an edit corrects, words that the error quotes or is linked to, else whole
phrases of its text or its correction, but no part of a longer phrase ("mediastinal nodes" in
"mediastinal shift"), and no single word that occurs several times.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, TypedDict

from judge.sentences import sentences

_ANY_SENTENCE = """
a an the this that these those it its he she they of in on at to from for by with without and or but
nor not no is are was were be been being has have had do does did as than then there here which who
whose when where while whereas although though because so if also only both either neither any all
some each other another same such more most less least very into onto over under within between
through during before after again once can could may might should would will must about against per
via versus vs
"""

_JUDGES_WORDS = """
reference candidate report reports radiologist model prediction predicted generated ground truth
original text says say said states stated states mention mentions mentioned mentioning describe
describes described describing indicate indicates indicated report reported reporting reports note
notes noted suggest suggests suggested omit omits omitted omission miss misses missed missing fail
fails failed add adds added addition include includes included finding findings error errors
incorrect incorrectly wrong wrongly false falsely correct correctly present presence absent absence
instead however rather unlike contrast different differs difference actual actually significant
insignificant clinically severity location size comparison line lines sentence statement
"""

_DESCRIBING = """
left right bilateral unilateral upper lower middle mid lateral medial anterior posterior superior
inferior apical basal basilar central peripheral small large tiny minimal mild moderate severe
marked extensive slight trace normal abnormal unremarkable stable unchanged new old acute chronic
increased decreased improved worsened worse better interval prior previous current clear intact
evidence seen identified visible visualized visualised likely possible probable definite limits lung
lungs chest side sided level region area areas zone zones lobe lobes view views study studies
examination exam image images radiograph radiographs frontal mildly moderately severely slightly
appears appear appearance
"""

# Words that name no finding, and those that describe one without naming it.
COMMON = frozenset((_ANY_SENTENCE + _JUDGES_WORDS).split())
MODIFIERS = frozenset(_DESCRIBING.split())
Span = tuple[int, int]

_TOKEN = re.compile(r"\w+|[^\w\s]")
_QUOTED = re.compile(
    r"\"([^\"]{1,600})\"|\u201c([^\u201d]{1,600})\u201d|\u00ab([^\u00bb]{1,600})\u00bb"
    r"|\u2018([^\u2019]{1,600})\u2019|(?<!\w)'([^']{1,600})'(?!\w)|`([^`]{1,600})`"
)
_GAP = re.compile(r"\.{3}|\u2026")

# Words of a report and of an error that are compared, and the errors of one piece of a report.
_MAX_TOKENS, _MAX_WANTED, _MAX_STARTS, _MAX_ERRORS = 2000, 400, 8, 100
_DISTINCTIVE = 4  # letters of the shortest word that can stand for a finding by itself
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
    marked = {}
    sides = {"reference": reference, "candidate": candidate}
    for side, text in sides.items():
        report = _Report(text)
        in_candidate = side == "candidate"
        marks: list[tuple[Span, int]] = []
        for number, error in enumerate(errors):
            spans = _spans(report, error, in_candidate=in_candidate)
            marks += [(span, number) for span in spans]
        marked[side] = segments(text, marks)
    return marked


def segments(text: str, marks: Sequence[tuple[Span, int]]) -> list[Segment]:
    """Return `text` cut where a mark begins or ends; neighbours differ in their errors."""
    changes: dict[int, Counter[int]] = defaultdict(Counter)
    changes[0] = Counter()
    changes[len(text)] = Counter()
    for (start, end), error in marks:
        changes[start][error] += 1
        changes[end][error] -= 1
    parts: list[Segment] = []
    active: Counter[int] = Counter()
    for start, end in pairwise(sorted(changes)):
        # The sum of counters has positive counts only: what ended here is gone.
        active += changes[start]
        errors = sorted(active)[:_MAX_ERRORS]
        piece = text[start:end]
        if parts and parts[-1]["errors"] == errors:
            parts[-1]["text"] += piece
        else:
            parts.append({"text": piece, "errors": errors})
    return parts


class _Report:
    """A report as words in lower case and single other characters, with their places."""

    def __init__(self, text: str) -> None:
        self.text = text
        matches = list(islice(_TOKEN.finditer(text), _MAX_TOKENS))
        self.tokens = [match.group().casefold() for match in matches]
        self.places = [match.span() for match in matches]

    def span(self, start: int, end: int) -> Span:
        first, _ = self.places[start]
        _, last = self.places[end - 1]
        return first, last

    def find(self, phrase: Sequence[str]) -> list[Span]:
        spans = []
        for start, token in enumerate(self.tokens):
            # One word first: to cut a piece at each place is slow in a long report.
            if token != phrase[0]:
                continue
            end = start + len(phrase)
            if self.tokens[start:end] == phrase:
                spans.append(self.span(start, end))
        return spans


def _spans(
    report: _Report, error: Mapping[str, Any], *, in_candidate: bool
) -> list[Span]:
    edit = error["edit"]
    if edit and in_candidate:
        if edit["kind"] == "insert":
            return []
        # Slices, since a line that a record names may lie behind the report's end.
        from_line = sentences(report.text)[edit["line"] :]
        return from_line[:1]
    phrases = list(_quotes(error["text"]))
    phrases += map(_tokens, error.get("quotes", ()))
    quoted: list[Span] = []
    for phrase in phrases:
        if not phrase:
            continue
        spans = report.find(phrase)
        # Of a single word that occurs several times nobody knows which is meant.
        if len(phrase) > 1 or len(spans) == 1:
            quoted += spans
    if quoted:
        return quoted
    text = error["text"]
    if edit:
        text = edit["corrected"]
    return _shared_phrases(text, report)


def _quotes(text: str) -> Iterator[list[str]]:
    for match in _QUOTED.finditer(text):
        quoted = "".join(filter(None, match.groups()))
        for part in _GAP.split(quoted):
            phrase = _tokens(part)
            if len(phrase) > 1 or any(map(_is_distinctive, phrase)):
                yield phrase


def _tokens(text: str) -> list[str]:
    """Return the tokens of `text` from its first word to its last."""
    tokens = [match.group().casefold() for match in _TOKEN.finditer(text)]
    words = [place for place, token in enumerate(tokens) if token[0].isalnum()]
    if not words:
        return []
    first, last = words[0], words[-1]
    return tokens[first : last + 1]


def _shared_phrases(text: str, report: _Report) -> list[Span]:
    """Return whole phrases of `text` that name a finding and that the report has too."""
    wanted = _tokens(text)[:_MAX_WANTED]
    tokens = report.tokens
    begins: dict[str, list[int]] = defaultdict(list)
    for place, token in enumerate(wanted):
        if _says_something(token) and len(begins[token]) < _MAX_STARTS:
            begins[token].append(place)
    phrases: list[tuple[int, int]] = []
    start = 0
    while start < len(tokens):
        length, at = _longest(wanted, begins, tokens, start)
        while length and not _says_something(tokens[start + length - 1]):
            length -= 1
        end = start + length
        is_whole = _is_whole(tokens, start, length) and _is_whole(wanted, at, length)
        if is_whole and any(map(_is_distinctive, tokens[start:end])):
            phrases.append((start, end))
        start += max(length, 1)
    single = Counter(tokens[start] for start, end in phrases if end - start == 1)
    spans = []
    for start, end in phrases:
        is_phrase = end - start > 1
        if is_phrase or single[tokens[start]] == 1:
            spans.append(report.span(start, end))
    return spans


def _longest(
    wanted: Sequence[str],
    begins: Mapping[str, Sequence[int]],
    tokens: Sequence[str],
    start: int,
) -> tuple[int, int]:
    """Return the length and the place of the longest part of `wanted` that begins at `start`."""
    length, at = 0, 0
    # Places ascend: of equally long parts the first is taken.
    for place in begins.get(tokens[start], ()):
        n = _n_common(wanted, place, tokens, start)
        if n > length:
            length, at = n, place
    return length, at


def _is_whole(tokens: Sequence[str], start: int, length: int) -> bool:
    """Whether no word beside a sequence belongs to it; words that describe may precede it."""
    noun = ""
    for token in islice(tokens, start + length, None):
        if token not in MODIFIERS:
            noun = token
            break
    before = ""
    if start:
        before = tokens[start - 1]
    return not (_names_something(before) or _names_something(noun))


def _names_something(token: str) -> bool:
    if token in _HYPHENS:
        return True
    return token[:1].isalpha() and token not in _NO_NAMES


def _n_common(left: Sequence[str], i: int, right: Sequence[str], j: int) -> int:
    longest = min(len(left) - i, len(right) - j)
    for n in range(longest):
        if left[i + n] != right[j + n]:
            return n
    return longest


def naming_words(text: str) -> frozenset[str]:
    """Return the words of `text` that can stand for a finding by themselves, in lower case."""
    return frozenset(filter(_is_distinctive, _tokens(text)))


def _says_something(token: str) -> bool:
    return token[0].isalnum() and token not in COMMON


def _is_distinctive(token: str) -> bool:
    return len(token) >= _DISTINCTIVE and _names_something(token)

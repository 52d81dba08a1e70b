"""Turns a sentence into words and the phrases of the lexicon that they make."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from judge.backends.lexicon.data import Kind, Lexicon, Node, Role, stem

_TOKEN = re.compile(r"\d+(?:\.\d+)?(?=(?:mm|cm)\b)|\d+\.\d+|[^\W_]+|[,;:()/]")
_DROPPED = frozenset({"the", "a", "an"})
JOIN, VERB, PREPOSITION, BREAK = "jvpb"
"""What may stand between two things in a sentence, a letter each."""

_BY_KIND = {Kind.VERBS: VERB, Kind.PREPOSITIONS: PREPOSITION, Kind.BREAKS: BREAK}
JOINS = frozenset({",", "and", "or", "nor", "(", ")", "/"})
_BY_WORD = dict.fromkeys(JOINS, JOIN) | {";": BREAK, ":": BREAK}
_NUMBER = re.compile(r"\d{1,4}(?:\.\d{1,3})?\Z")
_FORMERLY = frozenset({"previously", "formerly", "prior", "was"})
_MM = {"mm": 1.0, "millimeter": 1.0, "cm": 10.0, "centimeter": 10.0}
_BETWEEN_NUMBERS = frozenset({"x", "by", "to", *_MM})

_INNER = (Kind.SIDE, Kind.PLACE, Kind.ACUITY)

_MOST_TOKENS = 200
"""A sentence of more words than this is read in pieces, so that time stays linear."""

_SHORTEST = 6
"""A word of fewer letters is one slip away from too many others to be mended."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A phrase of the lexicon at the tokens `first` to `last` (exclusive), with its meanings."""

    first: int
    last: int
    roles: tuple[Role, ...]

    def role(self, *kinds: Kind) -> Role | None:
        """Return the first meaning of one of these kinds, if the phrase has one."""
        for role in self.roles:
            if role.kind in kinds:
                return role
        return None


@dataclass(frozen=True, slots=True)
class Measure:
    """A length in millimetres at the tokens `first` to `last` (exclusive)."""

    first: int
    last: int
    mm: float


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence as words: the spans in its text, the phrases, the lengths.

    `inner` holds the sides, places and acuity within a finding's phrase ("basilar atelectasis").
    `stops` has a letter for each join, verb, preposition and break, `offsets` how many of them lie
    before each token.
    """

    text: str
    lexicon: Lexicon
    words: list[str]
    spans: list[tuple[int, int]]
    marks: list[Mark]
    inner: list[Mark]
    measures: list[Measure]
    stops: str
    offsets: list[int]

    def between(self, first: int, last: int) -> str:
        """Return the letters of what stands from token `first` to `last` (exclusive)."""
        return self.stops[self.offsets[first] : self.offsets[last]]

    def marked(self, first: int, last: int, *kinds: Kind) -> bool:
        """Return whether a phrase of one of these kinds begins at `first` or before `last`."""
        return any(mark.role(*kinds) for mark in self.marks if first <= mark.first < last)


def lines(sentence: str, lexicon: Lexicon) -> list[Line]:
    """Return `sentence` as one line of words, or as several where it is very long."""
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(sentence):
        if word := _read_as(match.group(), lexicon):
            words.append(word)
            spans.append(match.span())
    return [
        _line(sentence, lexicon, words[at : at + _MOST_TOKENS], spans[at : at + _MOST_TOKENS])
        for at in range(0, len(words), _MOST_TOKENS)
    ]


@lru_cache(maxsize=65536)
def _read_as(token: str, lexicon: Lexicon) -> str:
    word = token.lower()
    if word in _DROPPED or (word.startswith("xxx") and not word.strip("x")):
        return ""
    word = stem(word)
    return word if word in lexicon.words else mended(word, lexicon)


def _line(text: str, lexicon: Lexicon, words: list[str], spans: list[tuple[int, int]]) -> Line:
    marks: list[Mark] = []
    inner: list[Mark] = []
    stops = [""] * len(words)
    at = 0
    while at < len(words):
        end, roles = _longest(words, at, lexicon.phrases)
        if roles:
            marks.append(Mark(at, end, roles))
            kinds = [role.kind for role in roles if words[at] != "of"]
            stops[at] = "".join(_BY_KIND[kind] for kind in kinds if kind in _BY_KIND)
            if Kind.FINDING in kinds and end > at + 1:
                inner += _inner(words, at, end, lexicon.phrases)
        else:
            is_heading = words[at] == ":" and len(marks) == 1 and marks[0].last == at
            # "Heart: enlarged" is "Heart is enlarged".
            is_said = is_heading and marks[0].role(Kind.STRUCTURE)
            stops[at] = VERB if is_said else _BY_WORD.get(words[at], "")
        at = end
    offsets = [0, *accumulate(map(len, stops))]
    return Line(
        text, lexicon, words, spans, marks, inner, _measures(words), "".join(stops), offsets
    )


def _inner(words: list[str], first: int, last: int, root: Node) -> list[Mark]:
    found: list[Mark] = []
    for at in range(first, last):
        # "Acute" is part of the phrase "acute fracture" and says how old it is.
        end, roles = _longest(words[:last], at, root)
        if at == first and end == last:
            end, roles = _longest(words[: last - 1], at, root)
            roles = tuple(role for role in roles if role.kind is Kind.ACUITY)
        kept = tuple(
            role
            for role in roles
            if role.kind in _INNER and (role.kind is not Kind.PLACE or role.name != "line")
        )
        if kept:
            found.append(Mark(at, end, kept))
    return found


def _longest(words: list[str], at: int, root: Node) -> tuple[int, tuple[Role, ...]]:
    node: Node | None = root.children.get(words[at])
    found: tuple[int, tuple[Role, ...]] = (at + 1, ())
    end = at + 1
    while node is not None:
        if node.roles:
            found = (end, node.roles)
        node = node.children.get(words[end]) if end < len(words) else None
        end += 1
    return found


def _measures(words: list[str]) -> list[Measure]:
    found: list[Measure] = []
    for at, word in enumerate(words):
        if word not in _MM:
            continue
        first, largest = at, 0.0
        while first > 0 and at - first < 7:
            before = words[first - 1]
            if _NUMBER.match(before):
                largest = max(largest, float(before))
            elif before not in _BETWEEN_NUMBERS:
                break
            first -= 1
        moved = words[first] == "by"  # how far to pull, not how large
        if largest and not moved and not (first and words[first - 1] in _FORMERLY):
            found.append(Measure(first, at + 1, largest * _MM[word]))
    return found


def mended(word: str, lexicon: Lexicon) -> str:
    """Return `word`, or the one word of the lexicon that it is a slip of.

    A slip is one letter too many, too few, wrong, or two neighbours swapped; never the
    first letter. Words that are right themselves, and slips of two words, stay as they are.
    """
    if len(word) < _SHORTEST or word in lexicon.words or word in lexicon.right_words:
        return word
    slips = [known for known in lexicon.long_words.get(word[0], ()) if _is_slip(word, known)]
    return slips[0] if len(slips) == 1 else word


def _is_slip(word: str, known: str) -> bool:
    if abs(len(word) - len(known)) > 1:
        return False
    same = 0
    while word[same : same + 1] == known[same : same + 1]:
        same += 1
    ours, theirs = word[same:], known[same:]
    swapped = ours[1::-1] + ours[2:]
    return swapped == theirs or ours[1:] in (theirs, theirs[1:]) or ours == theirs[1:]

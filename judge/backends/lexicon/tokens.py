"""Turns a sentence into words and the phrases of the lexicon that they make."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate

from judge.backends.lexicon.data import Kind, Lexicon, Node, Role, stem

_TOKEN = re.compile(r"\d+(?:\.\d+)?(?=(?:mm|cm)\b)|\d+\.\d+|[^\W_]+|[,;:()/]")
_DROPPED = frozenset({"the", "a", "an"})
_HIDDEN = re.compile(r"x{3,}")
_JOINS = frozenset({",", "and", "or", "nor", "(", ")", "/"})
_BREAKS = frozenset({";", ":"})
_NUMBER = re.compile(r"\d{1,4}(?:\.\d{1,3})?\Z")
_BETWEEN_NUMBERS = frozenset({"x", "by", "to"})
_MM = {"mm": 1.0, "millimeter": 1.0, "cm": 10.0, "centimeter": 10.0}

_MOST_TOKENS = 200
"""A sentence of more words than this is read in pieces, so that time stays linear."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A phrase of the lexicon at the tokens `first` to `last` (exclusive), with its meanings."""

    first: int
    last: int
    roles: tuple[Role, ...]

    def role(self, kind: Kind) -> Role | None:
        """Return the meaning of this kind, if the phrase has one."""
        for role in self.roles:
            if role.kind is kind:
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
    """A sentence as words: the spans in its text, the phrases, and running counts.

    `inner` holds the sides and places within a finding's own phrase ("basilar atelectasis").
    `joins`, `verbs`, `prepositions` and `breaks` hold at position i how many of them lie
    before token i, so that what stands between two tokens is one subtraction.
    """

    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    marks: tuple[Mark, ...]
    inner: tuple[Mark, ...]
    measures: tuple[Measure, ...]
    joins: tuple[int, ...]
    verbs: tuple[int, ...]
    prepositions: tuple[int, ...]
    breaks: tuple[int, ...]


def lines(sentence: str, lexicon: Lexicon) -> list[Line]:
    """Return `sentence` as one line of words, or as several where it is very long."""
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(sentence):
        word = match.group().lower()
        if word not in _DROPPED and not _HIDDEN.fullmatch(word):
            words.append(stem(word))
            spans.append(match.span())
    return [
        _line(words[at : at + _MOST_TOKENS], spans[at : at + _MOST_TOKENS], lexicon.phrases)
        for at in range(0, len(words), _MOST_TOKENS)
    ]


def _line(words: list[str], spans: list[tuple[int, int]], root: Node) -> Line:
    marks: list[Mark] = []
    inner: list[Mark] = []
    joins, verbs, prepositions, breaks = ([0] * (len(words) + 1) for _ in range(4))
    at = 0
    while at < len(words):
        end, roles = _longest(words, at, root)
        word = words[at]
        if roles:
            mark = Mark(at, end, roles)
            marks.append(mark)
            kinds = {role.kind for role in roles}
            if Kind.FINDING in kinds and end > at + 1:
                inner += _inner(words, at, end, root)
            verbs[at + 1] = Kind.VERB in kinds
            breaks[at + 1] = Kind.BREAK in kinds
            if Kind.PREPOSITION in kinds and word != "of":
                prepositions[at + 1] = 1
        elif word in _JOINS:
            joins[at + 1] = 1
        elif word in _BREAKS:
            breaks[at + 1] = 1
        at = end
    return Line(
        tuple(words),
        tuple(spans),
        tuple(marks),
        tuple(inner),
        tuple(_measures(words)),
        tuple(accumulate(joins)),
        tuple(accumulate(verbs)),
        tuple(accumulate(prepositions)),
        tuple(accumulate(breaks)),
    )


def _inner(words: list[str], first: int, last: int, root: Node) -> list[Mark]:
    found: list[Mark] = []
    for at in range(first, last):
        end, roles = _longest(words[:last], at, root)
        kept = tuple(
            role
            for role in roles
            if role.kind is Kind.SIDE or (role.kind is Kind.PLACE and role.name != "line")
        )
        if kept and end - at < last - first:
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
    """Return the lengths in `words`: the largest of "1.2 x 3 cm" or "2-3 cm"."""
    found: list[Measure] = []
    for at, word in enumerate(words):
        if word not in _MM:
            continue
        first = at
        largest = 0.0
        while first > 0 and at - first < 7:
            before = words[first - 1]
            if _NUMBER.match(before):
                largest = max(largest, float(before))
            elif before not in _BETWEEN_NUMBERS and before not in _MM:
                break
            first -= 1
        if largest:
            found.append(Measure(first, at + 1, largest * _MM[word]))
    return found

"""What a sentence denies, doubts or sets aside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from judge.backends.lexicon.data import Kind
from judge.backends.lexicon.heads import Head
from judge.backends.lexicon.tokens import Line, Mark

_FRESH = (Kind.LEVEL, Kind.CHANGE, Kind.STRUCTURE)
"""What opens a statement of its own after "no effusion, ..."."""


@dataclass(slots=True)
class Scope:
    """What is said of each head of a sentence, by its index, and the cue that says it."""

    denied: dict[int, Mark] = field(default_factory=dict)
    doubted: set[int] = field(default_factory=set)
    ignored: set[int] = field(default_factory=set)


def scope(line: Line, heads: Sequence[Head], used: set[int]) -> Scope:
    """Return which of `heads` are denied, doubted or set aside by the cues of `line`."""
    result = Scope()
    _forward(line, heads, used, result)
    for mark in line.marks:
        if mark.role(Kind.NEGATES_BEFORE):
            for index in _reach_back(line, heads, mark):
                result.denied.setdefault(index, mark)
        if mark.role(Kind.HEDGES_BEFORE):
            for index in _reach_back(line, heads, mark):
                result.denied.pop(index, None)
                result.doubted.add(index)
    return result


@dataclass(slots=True)
class _State:
    denial: Mark | None = None
    doubt: Mark | None = None
    aside: bool = False

    def clear(self) -> None:
        self.denial = self.doubt = None
        self.aside = False


def _forward(line: Line, heads: Sequence[Head], used: set[int], result: Scope) -> None:
    by_pivot: dict[int, list[int]] = {}
    for index, head in enumerate(heads):
        by_pivot.setdefault(head.pivot, []).append(index)
    state = _State()
    for token, mark in _steps(line):
        if mark is None:
            _pass_word(line, token, state, used)
        else:
            _pass_mark(mark, state)
        for index in by_pivot.get(token, ()):
            _apply(heads[index], index, state, result)


def _steps(line: Line) -> Iterator[tuple[int, Mark | None]]:
    """Yield each phrase at its first token, and each word that is in no phrase."""
    marks = {mark.first: mark for mark in line.marks}
    token = 0
    while token < len(line.words):
        mark = marks.get(token)
        yield token, mark
        token = mark.last if mark else token + 1


def _pass_mark(mark: Mark, state: _State) -> None:
    for role in mark.roles:
        if role.kind is Kind.BREAK:
            state.clear()
        elif role.kind is Kind.NEGATES_AFTER:
            state.denial = mark
        elif role.kind in (Kind.HEDGES_AFTER, Kind.MAY_READ_AS):
            state.doubt = mark
        elif role.kind is Kind.IGNORES_AFTER:
            state.aside = True


def _pass_word(line: Line, token: int, state: _State, used: set[int]) -> None:
    word = line.words[token]
    if word in (";", ":"):
        state.clear()
    elif word in (",", "and", ")") and (state.denial or state.doubt):
        if word == "," and line.words[token + 1 : token + 2] == ("and",):
            word = ", and"
        if _starts_afresh(line, token, word, used):
            state.denial = state.doubt = None
        elif word != "and" and state.denial and line.words[state.denial.last - 1] == "not":
            state.denial = None


def _starts_afresh(line: Line, token: int, word: str, used: set[int]) -> bool:
    """Return whether what follows a comma or "and" is a statement of its own."""
    upcoming = [mark for mark in line.marks if mark.first > token][:3]
    if not upcoming or _listed(line, token):
        return False
    first = upcoming[0]
    if first.role(Kind.FINDING) and first.first not in used:
        return _has_predicate(line, first)
    if first.role(Kind.SIDE) or first.role(Kind.PLACE):
        return word != "and" or any(mark.role(Kind.VERB) for mark in upcoming[1:])
    return first.first in used or any(first.role(kind) for kind in _FRESH)


def _has_predicate(line: Line, finding: Mark) -> bool:
    """Return whether "cardiomegaly is stable" follows, not just an item of a list."""
    for mark in line.marks:
        if mark.first >= finding.last:
            return bool(mark.first == finding.last and mark.role(Kind.VERB)) and any(
                later.role(Kind.CHANGE) or later.role(Kind.LEVEL)
                for later in line.marks
                if mark.last <= later.first <= mark.last + 2
            )
    return False


def _listed(line: Line, token: int) -> bool:
    """Return whether the list goes on to an "or": then every item is under the denial."""
    for later in range(token + 1, len(line.words)):
        if line.words[later] in ("or", "nor"):
            return True
        if line.verbs[later + 1] > line.verbs[token] or line.breaks[later + 1] > line.breaks[token]:
            return False
    return False


def _apply(head: Head, index: int, state: _State, result: Scope) -> None:
    if state.aside:
        result.ignored.add(index)
    if state.denial is not None:
        # "No pneumonia, heart is normal": only a denial next to "normal" is meant for it.
        if not head.normal or 0 <= head.pivot - state.denial.last <= 1:
            result.denied[index] = state.denial
    elif state.doubt is not None:
        result.doubted.add(index)


def _reach_back(line: Line, heads: Sequence[Head], cue: Mark) -> list[int]:
    """Return the heads that a cue after them is about: the subject that ends before it."""
    reached: list[int] = []
    if any(head.first <= cue.first < head.last for head in heads):
        return reached
    edge = cue.first
    while edge > 0 and line.verbs[edge] > line.verbs[edge - 1]:
        edge -= 1
    for index in range(len(heads) - 1, -1, -1):
        head = heads[index]
        if head.last > cue.first:
            continue
        if line.breaks[edge] > line.breaks[head.last] or line.verbs[edge] > line.verbs[head.last]:
            break
        if head.finding:
            reached.append(index)
        edge = head.first
    return reached

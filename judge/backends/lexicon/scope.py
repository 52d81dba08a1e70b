"""What a sentence denies, doubts or sets aside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from judge.backends.lexicon.data import Kind
from judge.backends.lexicon.heads import Head
from judge.backends.lexicon.tokens import Line, Mark

_FRESH = (Kind.LEVEL, Kind.CHANGE, Kind.STRUCTURE, Kind.LIKELY_AFTER, Kind.HEDGES_AFTER)
"""What opens a statement of its own after "no effusion, ..."."""

_REASONS = frozenset({"due", "secondary", "because"})
_LIMITS = frozenset({"limited", "suboptimal", "insufficient", "limit", "limiting"})

_FORWARD = {
    Kind.NEGATES_AFTER: "denial",
    Kind.HEDGES_AFTER: "doubt",
    Kind.MAY_READ_AS: "doubt",
    Kind.IGNORES_AFTER: "aside",
}
"""What a cue puts the words after it under."""

_State = dict[str, Mark]
"""The cues whose scope the token at hand is in, by what they do."""

_NEAR = 3


@dataclass(slots=True)
class Scope:
    """What is said of each head of a sentence, by its index, and the cue that says it."""

    denied: dict[int, Mark] = field(default_factory=dict)
    doubted: set[int] = field(default_factory=set)
    ignored: set[int] = field(default_factory=set)


def scope(line: Line, heads: Sequence[Head], used: set[int]) -> Scope:
    """Return which of `heads` are denied, doubted or set aside by the cues of `line`."""
    result = _forward(line, heads, used)
    for mark in line.marks:
        if mark.role(Kind.NEGATES_BEFORE) and not _looks_ahead(line, heads, mark):
            for index in _reach_back(line, heads, mark):
                result.denied.setdefault(index, mark)
        if mark.role(Kind.HEDGES_BEFORE):
            for index in _reach_back(line, heads, mark):
                result.denied.pop(index, None)
                result.doubted.add(index)
    return result


def _forward(line: Line, heads: Sequence[Head], used: set[int]) -> Scope:
    result = Scope()
    by_pivot: defaultdict[int, list[int]] = defaultdict(list)
    for index, head in enumerate(heads):
        by_pivot[head.pivot].append(index)
    marks = {mark.first: mark for mark in line.marks}
    state: _State = {}
    token = 0
    while token < len(line.words):
        mark = marks.get(token)
        if mark is None:
            _pass_word(line, token, state, used)
        elif not mark.role(Kind.NEGATES_BEFORE) or _looks_ahead(line, heads, mark):
            for role in mark.roles:
                if role.kind is Kind.BREAK:
                    state.clear()
                elif role.kind in _FORWARD:
                    state[_FORWARD[role.kind]] = mark
        for index in by_pivot[token]:
            _apply(heads[index], index, state, result)
        token = mark.last if mark else token + 1
    return result


def _apply(head: Head, index: int, state: _State, result: Scope) -> None:
    denial = state.get("denial")
    if "aside" in state:
        result.ignored.add(index)
    if denial is None and "doubt" in state:
        result.doubted.add(index)
    # "No pneumonia, heart is normal": only a denial next to "normal" is meant for it.
    if denial and (not head.normal or 0 <= head.pivot - denial.last <= 1):
        result.denied[index] = denial


def _pass_word(line: Line, token: int, state: _State, used: set[int]) -> None:
    word = line.words[token]
    if word in (";", ":"):
        state.clear()
    elif word in _REASONS and "aside" in state:
        # "Evaluation of the spine is limited due to osteopenia": what limits it is there.
        if not _LIMITS.isdisjoint(line.words[state["aside"].first : token]):
            del state["aside"]
    elif word in (",", "and", ")") and ("denial" in state or "doubt" in state):
        if word == "," and line.words[token + 1 : token + 2] == ("and",):
            word = ", and"
        denial = state.get("denial")
        afresh = _starts_afresh(line, token, word, used)
        if afresh or (word != "and" and denial and line.words[denial.last - 1] == "not"):
            state.pop("denial", None)
        if afresh:
            state.pop("doubt", None)


def _starts_afresh(line: Line, token: int, word: str, used: set[int]) -> bool:
    """Return whether what follows a comma or "and" is a statement of its own."""
    upcoming = [mark for mark in line.marks if mark.first > token][:3]
    if not upcoming or _listed(line, token):
        return False
    first = upcoming[0]
    if first.role(Kind.FINDING) and first.first not in used:
        return _has_predicate(line, first)
    if first.role(Kind.SIDE, Kind.PLACE):
        return word != "and" or any(mark.role(Kind.VERB) for mark in upcoming[1:])
    return first.first in used or first.role(*_FRESH) is not None


def _has_predicate(line: Line, finding: Mark) -> bool:
    """Return whether "cardiomegaly is stable" follows, not just an item of a list."""
    verb = next((mark for mark in line.marks if mark.first >= finding.last), None)
    if verb is None or verb.first > finding.last or not verb.role(Kind.VERB):
        return False
    return line.marked(verb.last, verb.last + 3, Kind.CHANGE, Kind.LEVEL)


def _listed(line: Line, token: int) -> bool:
    """Return whether the list goes on to an "or": then every item is under the denial."""
    for later in range(token + 1, len(line.words)):
        if line.words[later] in ("or", "nor"):
            return True
        between = line.between(token, later + 1)
        if between.verbs or between.breaks:
            return False
    return False


def _looks_ahead(line: Line, heads: Sequence[Head], cue: Mark) -> bool:
    """Return whether a cue that may look both ways is about what follows: "unlikely pneumonia"."""
    return cue.role(Kind.NEGATES_AFTER, Kind.HEDGES_AFTER) is not None and any(
        cue.last <= head.first <= cue.last + _NEAR and not any(line.between(cue.last, head.first))
        for head in heads
    )


def _reach_back(line: Line, heads: Sequence[Head], cue: Mark) -> list[int]:
    """Return the heads that a cue after them is about: the subject that ends before it."""
    reached: list[int] = []
    if any(head.first <= cue.first < head.last for head in heads):
        return reached
    edge = cue.first
    while edge > 0 and line.between(edge - 1, edge).verbs:
        edge -= 1
    for index in range(len(heads) - 1, -1, -1):
        head = heads[index]
        if head.last > cue.first:
            continue
        between = line.between(head.last, edge)
        if between.breaks or between.verbs:
            break
        if head.finding:
            reached.append(index)
        edge = head.first
    return reached

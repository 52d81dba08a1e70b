"""Finds what a sentence speaks of, and which of it the sentence denies, doubts or sets aside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from judge.backends.lexicon.data import Kind, Lexicon, Role
from judge.backends.lexicon.tokens import Line, Mark

_MAYBE = (Kind.LIKELY_AFTER, Kind.HEDGES_AFTER)
_FRESH = (Kind.LEVEL, Kind.CHANGE, Kind.STRUCTURE, *_MAYBE)
"""What opens a statement of its own after "no effusion, ..."."""

_ENDS = (Kind.FINDING, Kind.VERB, Kind.BREAK, Kind.NEGATES_AFTER, *_MAYBE)
"""What a quality does not reach across to a structure after it."""

_OLD = Role(Kind.ACUITY, "old", frozenset({"old"}))
_REASONS = frozenset({"due", "secondary", "because"})
_LIMITS = frozenset({"limited", "suboptimal", "insufficient", "limit", "limiting"})

_FORWARD = {
    Kind.NEGATES_AFTER: "denial",
    Kind.HEDGES_AFTER: "doubt",
    Kind.MAY_READ_AS: "doubt",
    Kind.IGNORES_AFTER: "aside",
}
"""What a cue puts the words after it under."""

_NEAR = 3


@dataclass(frozen=True, slots=True)
class Head:
    """A finding or a structure at the tokens `first` to `last` (exclusive).

    `finding` is empty where a structure is called normal (`normal`) or only named. `pivot`
    is the token that negation must cover: the quality of "heart ... enlarged".
    """

    first: int
    last: int
    pivot: int
    finding: str = ""
    structure: str = ""
    normal: bool = False


def heads(line: Line, lexicon: Lexicon) -> tuple[list[Head], set[int]]:
    """Return the heads of `line` in order, and the first tokens of the qualities they used."""
    found: list[Head] = []
    used: set[int] = set()
    bound: dict[int, list[Mark]] = {}
    for index, mark in enumerate(line.marks):
        subjects = _subjects(line, index, bound, lexicon) if mark.role(Kind.QUALITY) else []
        if subjects:
            bound[index] = subjects
            used.add(mark.first)
            found += [head for one in subjects if (head := _described(mark, one, lexicon))]
    taken = used | {token for head in found for token in (head.first, head.pivot)}
    taken |= {subject.first for subjects in bound.values() for subject in subjects}
    for mark in line.marks:
        if mark.first in taken:
            continue
        if finding := mark.role(Kind.FINDING):
            found.append(Head(mark.first, mark.last, mark.first, finding=finding.name))
        elif structure := mark.role(Kind.STRUCTURE):
            found.append(Head(mark.first, mark.last, mark.first, structure=structure.name))
    found.sort(key=lambda head: (head.pivot, head.first, head.finding, head.structure))
    return found, used


def _described(quality: Mark, subject: Mark, lexicon: Lexicon) -> Head | None:
    structure = subject.role(Kind.STRUCTURE)
    name = structure.name if structure else ""
    for role in quality.roles:
        normal = role.name == "normal"
        finding = lexicon.rules.get((name, role.name), "")
        if role.kind is Kind.QUALITY and (normal or finding):
            first, last = min(quality.first, subject.first), max(quality.last, subject.last)
            return Head(first, last, quality.first, finding, name, normal)
    return None


def _subjects(line: Line, index: int, bound: dict[int, list[Mark]], lexicon: Lexicon) -> list[Mark]:
    quality = line.marks[index]
    if quality.role(Kind.FINDING) and quality.last - quality.first > 1:
        return []
    before = [] if _adjectival(line, index) else _before(line, index, bound)
    fitting = [one for one in before if _described(quality, one, lexicon)]
    if fitting:
        edge = fitting[-1].last
        if line.between(edge, quality.first).verbs or quality.first - edge <= 1:
            return fitting
    return [one for one in _after(line, index) if _described(quality, one, lexicon)] or fitting


def _adjectival(line: Line, index: int) -> bool:
    quality = line.marks[index]
    if any(role.kind is Kind.QUALITY and role.name == "normal" for role in quality.roles):
        return False
    for mark in line.marks[index + 1 : index + 5]:
        between = line.words[quality.last : mark.first]
        if any(line.between(quality.last, mark.first)) or "of" in between:
            return False
        if mark.role(Kind.FINDING):
            return True
        if not mark.role(Kind.LEVEL, Kind.SIDE, Kind.PLACE, Kind.ACUITY):
            return False
    return False


def _before(line: Line, index: int, bound: dict[int, list[Mark]]) -> list[Mark]:
    run: list[Mark] = []
    for back in range(index - 1, -1, -1):
        mark = line.marks[back]
        if line.between(mark.first, line.marks[index].first).breaks:
            break
        if back in bound:
            # "the aorta is tortuous and calcified": both qualities have one subject.
            return run or bound[back]
        if mark.role(Kind.STRUCTURE):
            run.append(mark)
        elif mark.role(Kind.FINDING):
            break
    return run[::-1]


def _after(line: Line, index: int) -> list[Mark]:
    run: list[Mark] = []
    edge = line.marks[index].last
    for mark in line.marks[index + 1 :]:
        between = line.between(edge, mark.first)
        if between.stops:
            break
        if mark.role(Kind.STRUCTURE):
            listed = set(line.words[edge : mark.first]) <= {"and", "or", ","}
            if (not listed or _predicated(line, mark)) if run else between.joins:
                break
            run.append(mark)
            edge = mark.last
        elif mark.role(Kind.QUALITY):
            if run:
                break
            edge = mark.last
        elif mark.role(*_ENDS):
            break
    return run


def _predicated(line: Line, subject: Mark) -> bool:
    following = [mark for mark in line.marks if 0 <= mark.first - subject.last <= 1]
    return bool(following) and following[0].role(Kind.VERB, Kind.QUALITY) is not None


@dataclass(slots=True)
class Scope:
    """What is said of each head of a sentence, by its index, and the cue that says it."""

    denied: dict[int, Mark] = field(default_factory=dict)
    doubted: set[int] = field(default_factory=set)
    ignored: set[int] = field(default_factory=set)


def scope(line: Line, heads: Sequence[Head], used: set[int]) -> Scope:
    """Return which of `heads` are denied, doubted or set aside by the cues of `line`."""
    has_cues = any(role.kind in _FORWARD for mark in line.marks for role in mark.roles)
    result = _forward(line, heads, used) if has_cues else Scope()
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
    state: dict[str, Mark] = {}  # the cues whose scope `token` is in, by what they do
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
        denial = state.get("denial")
        for index in by_pivot[token]:
            if "aside" in state:
                result.ignored.add(index)
            if denial is None and "doubt" in state:
                result.doubted.add(index)
            # "No pneumonia, heart is normal": only a denial next to "normal" is meant for it.
            if denial and (not heads[index].normal or 0 <= token - denial.last <= 1):
                result.denied[index] = denial
        token = mark.last if mark else token + 1
    return result


def _pass_word(line: Line, token: int, state: dict[str, Mark], used: set[int]) -> None:
    word = line.words[token]
    if word in (";", ":"):
        state.clear()
    elif word in _REASONS and "aside" in state:
        # "Evaluation of the spine is limited due to osteopenia": what limits it is there.
        if not _LIMITS.isdisjoint(line.words[state["aside"].first : token]):
            del state["aside"]
    elif word in (",", "and", ")") and ("denial" in state or "doubt" in state):
        if word == "," and line.words[token + 1 : token + 2] == ["and"]:
            word = ", and"
        denial = state.get("denial")
        afresh = _starts_afresh(line, token, word, used)
        if afresh or (word != "and" and denial and line.words[denial.last - 1] == "not"):
            state.pop("denial", None)
        if afresh:
            state.pop("doubt", None)


def _starts_afresh(line: Line, token: int, word: str, used: set[int]) -> bool:
    upcoming = [mark for mark in line.marks if mark.first > token][:3]
    if not upcoming or _listed(line, token):
        return False
    first = upcoming[0]
    ages = [mark for mark in (first, *line.inner) if mark.first == first.first]
    if any(mark.roles[-1] == _OLD for mark in ages):
        return True  # "no effusion, old fracture"
    if first.role(Kind.ACUITY) and len(upcoming) > 1:
        first = upcoming[1]
    if first.role(Kind.FINDING) and first.first not in used:
        return _has_predicate(line, first)
    if first.role(Kind.SIDE, Kind.PLACE):
        return word != "and" or any(mark.role(Kind.VERB) for mark in upcoming[1:])
    return first.first in used or first.role(*_FRESH) is not None


def _has_predicate(line: Line, finding: Mark) -> bool:
    verbs = [mark for mark in line.marks if mark.first == finding.last and mark.role(Kind.VERB)]
    return any(line.marked(one.last, one.last + 3, Kind.CHANGE, Kind.LEVEL) for one in verbs)


def _listed(line: Line, token: int) -> bool:
    for later in range(token + 1, len(line.words)):
        if line.words[later] in ("or", "nor"):
            return True
        between = line.between(token, later + 1)
        if between.verbs or between.breaks:
            return False
    return False


def _looks_ahead(line: Line, heads: Sequence[Head], cue: Mark) -> bool:
    return cue.role(Kind.NEGATES_AFTER, Kind.HEDGES_AFTER) is not None and any(
        cue.last <= head.first <= cue.last + _NEAR and not any(line.between(cue.last, head.first))
        for head in heads
    )


def _reach_back(line: Line, heads: Sequence[Head], cue: Mark) -> list[int]:
    if any(head.first <= cue.first < head.last for head in heads):
        return []
    reached: list[int] = []
    edge = cue.first
    while edge > 0 and line.between(edge - 1, edge).verbs:
        edge -= 1
    for index, head in reversed([*enumerate(heads)]):
        if head.last > cue.first:
            continue
        between = line.between(head.last, edge)
        if between.breaks or between.verbs:
            break
        if head.finding:
            reached.append(index)
        edge = head.first
    return reached

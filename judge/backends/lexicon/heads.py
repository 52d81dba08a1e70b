"""Finds what a sentence speaks of: findings, and structures that it calls normal or names."""

from __future__ import annotations

from dataclasses import dataclass

from judge.backends.lexicon.data import Kind, Lexicon
from judge.backends.lexicon.tokens import Line, Mark


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
    """Return what the quality makes of the structure, if it says something about it."""
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
    """Return the structures that the quality at `index` says something about."""
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
    """Return whether the quality only colours a finding that follows ("large effusion")."""
    quality = line.marks[index]
    if any(role.kind is Kind.QUALITY and role.name == "normal" for role in quality.roles):
        return False
    for mark in line.marks[index + 1 : index + 5]:
        between = line.words[quality.last : mark.first]
        if any(line.between(quality.last, mark.first)) or "of" in between:
            return False
        if mark.role(Kind.FINDING):
            return True
        if not mark.role(Kind.LEVEL, Kind.SIDE, Kind.PLACE):
            return False
    return False


def _before(line: Line, index: int, bound: dict[int, list[Mark]]) -> list[Mark]:
    """Return the structures before the quality, back to the last quality, finding or break."""
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
    """Return the structures that follow the quality directly, and those joined to them."""
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


_ENDS = (
    Kind.FINDING,
    Kind.VERB,
    Kind.BREAK,
    Kind.NEGATES_AFTER,
    Kind.LIKELY_AFTER,
    Kind.HEDGES_AFTER,
)
"""What a quality does not reach across to a structure after it."""


def _predicated(line: Line, subject: Mark) -> bool:
    """Return whether `subject` has a predicate of its own ("... and the lungs are clear")."""
    following = next((mark for mark in line.marks if mark.first >= subject.last), None)
    return (
        following is not None
        and following.first - subject.last <= 1
        and following.role(Kind.VERB, Kind.QUALITY) is not None
    )

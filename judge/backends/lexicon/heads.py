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
        if mark.role(Kind.QUALITY) is None:
            continue
        subjects = _subjects(line, index, bound, lexicon)
        if subjects:
            bound[index] = subjects
            used.add(mark.first)
            found += _described(mark, subjects, lexicon)
    taken = {token for head in found for token in (head.first, head.pivot)}
    for subjects in bound.values():
        taken |= {subject.first for subject in subjects}
    for mark in line.marks:
        finding = mark.role(Kind.FINDING)
        structure = mark.role(Kind.STRUCTURE)
        if mark.first in used or mark.first in taken:
            continue
        if finding is not None:
            found.append(Head(mark.first, mark.last, mark.first, finding=finding.name))
        elif structure is not None:
            found.append(Head(mark.first, mark.last, mark.first, structure=structure.name))
    found.sort(key=lambda head: (head.pivot, head.first, head.finding, head.structure))
    return found, used


def _described(quality: Mark, subjects: list[Mark], lexicon: Lexicon) -> list[Head]:
    result = []
    for subject in subjects:
        first, last = min(quality.first, subject.first), max(quality.last, subject.last)
        for role in quality.roles:
            name = _structure(subject)
            if role.kind is not Kind.QUALITY:
                continue
            if role.name == "normal":
                result.append(Head(first, last, quality.first, structure=name, normal=True))
                break
            finding = lexicon.rules.get((name, role.name))
            if finding:
                result.append(Head(first, last, quality.first, finding=finding, structure=name))
                break
    return result


def _structure(mark: Mark) -> str:
    role = mark.role(Kind.STRUCTURE)
    return "" if role is None else role.name


def _fits(quality: Mark, subject: Mark, lexicon: Lexicon) -> bool:
    name = _structure(subject)
    return any(
        role.kind is Kind.QUALITY and (role.name == "normal" or (name, role.name) in lexicon.rules)
        for role in quality.roles
    )


def _subjects(line: Line, index: int, bound: dict[int, list[Mark]], lexicon: Lexicon) -> list[Mark]:
    """Return the structures that the quality at `index` says something about."""
    quality = line.marks[index]
    if quality.role(Kind.FINDING) and quality.last - quality.first > 1:
        return []
    before = [] if _adjectival(line, index) else _before(line, index, bound)
    fitting = [subject for subject in before if _fits(quality, subject, lexicon)]
    if fitting:
        nearest = fitting[-1]
        gap = quality.first - nearest.last
        if line.verbs[quality.first] > line.verbs[nearest.last] or gap <= 1:
            return fitting
    after = [s for s in _after(line, index) if _fits(quality, s, lexicon)]
    return after or fitting


def _adjectival(line: Line, index: int) -> bool:
    """Return whether the quality only colours a finding that follows ("large effusion")."""
    quality = line.marks[index]
    if any(role.kind is Kind.QUALITY and role.name == "normal" for role in quality.roles):
        return False
    for mark in line.marks[index + 1 : index + 5]:
        if _interrupted(line, quality.last, mark.first):
            return False
        if mark.role(Kind.FINDING):
            return True
        if not (mark.role(Kind.LEVEL) or mark.role(Kind.SIDE) or mark.role(Kind.PLACE)):
            return False
    return False


def _interrupted(line: Line, first: int, last: int) -> bool:
    return (
        line.joins[last] > line.joins[first]
        or line.verbs[last] > line.verbs[first]
        or line.prepositions[last] > line.prepositions[first]
        or line.breaks[last] > line.breaks[first]
        or "of" in line.words[first:last]
    )


def _before(line: Line, index: int, bound: dict[int, list[Mark]]) -> list[Mark]:
    """Return the structures before the quality, back to the last quality, finding or break."""
    quality = line.marks[index]
    run: list[Mark] = []
    for back in range(index - 1, -1, -1):
        mark = line.marks[back]
        if line.breaks[quality.first] > line.breaks[mark.first]:
            break
        if back in bound:
            # "the aorta is tortuous and calcified": both qualities have one subject.
            return run or bound[back]
        if mark.role(Kind.STRUCTURE):
            run.append(mark)
        elif mark.role(Kind.FINDING):
            break
    run.reverse()
    return run


def _after(line: Line, index: int) -> list[Mark]:
    """Return the structures that follow the quality directly, and those joined to them."""
    quality = line.marks[index]
    run: list[Mark] = []
    edge = quality.last
    for mark in line.marks[index + 1 :]:
        between = line.words[edge : mark.first]
        if any(
            counts[mark.first] > counts[edge]
            for counts in (line.verbs, line.breaks, line.prepositions)
        ):
            break
        if mark.role(Kind.STRUCTURE):
            if run and not set(between) <= {"and", "or", ","}:
                break
            if not run and line.joins[mark.first] > line.joins[edge]:
                break
            if run and _predicated(line, mark):
                break
            run.append(mark)
            edge = mark.last
        elif mark.role(Kind.QUALITY):
            if run:
                break
            edge = mark.last
        elif any(role.kind in _ENDS for role in mark.roles):
            break
    return run


_ENDS = (Kind.FINDING, Kind.VERB, Kind.BREAK, Kind.NEGATES_AFTER, Kind.HEDGES_AFTER)
"""What a quality does not reach across to a structure after it."""


def _predicated(line: Line, subject: Mark) -> bool:
    """Return whether `subject` has a predicate of its own ("... and the lungs are clear")."""
    for mark in line.marks:
        if mark.first >= subject.last:
            return mark.first - subject.last <= 1 and bool(
                mark.role(Kind.VERB) or mark.role(Kind.QUALITY)
            )
    return False

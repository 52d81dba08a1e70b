"""What two mentions of one finding say differently: side, place, severity, change, reading."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from judge.backends.lexicon.align import Pair, names, readings
from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.mentions import Mention, Placed
from judge.backends.lexicon.reports import Reports
from judge.backends.lexicon.weight import at_most, eased, label, weight
from judge.types import Category, Discrepancy, Severity

_SAME_SIZE = 1.25
_OTHER_SIZE = 1.5
"""Lengths whose ratio is below the first are equal, above the second clearly different."""

_DIRECTED = frozenset({"new", "worse", "better", "resolved"})
_UPWARD = frozenset({"new", "worse"})


@dataclass(frozen=True, slots=True)
class Found:
    """A discrepancy, and what it is about: one topic in one sentence makes one error."""

    discrepancy: Discrepancy
    topic: str


def discrepancy(
    category: Category,
    severity: Severity,
    finding: str,
    text: str,
    pair: tuple[Placed | None, Placed | None],
) -> Discrepancy:
    """Return a discrepancy about a reference mention, a candidate mention, or both."""
    reference, candidate = pair
    return Discrepancy(
        category=category,
        severity=severity,
        finding=finding,
        text=text,
        reference_sentence=None if reference is None else reference.sentence,
        candidate_sentence=None if candidate is None else candidate.sentence,
    )


def differences(pair: Pair, reports: Reports) -> list[Found]:
    """Return the errors in what the candidate says of a finding that both reports have.

    At most one each of reading, site, severity and change. What another mention of the
    same finding in the same report bears out is no error.
    """
    lexicon = reports.lexicon
    name = label(pair.reference.mention, lexicon)
    one, other = pair.reference.mention, pair.candidate.mention
    wanted = sorted({*names(one), *names(other)})
    mine = [one, *reports.reference.named(wanted)]
    theirs = [other, *reports.candidate.named(wanted)]
    found: list[_Error] = []
    reading = _reading(one, other, reports)
    if reading:
        found.append(reading)
    if _site_differs(one, other, mine, theirs, lexicon):
        found.append(_Error(Category.WRONG_LOCATION, weight(one, lexicon), "location", name))
    level = _level(one, other, mine, theirs, lexicon)
    if level:
        found.append(_Error(Category.WRONG_SEVERITY, level, "severity or size", name))
    change = _change(one, other, mine, theirs, reports)
    if change:
        found.append(change)
    said = f'The reference says "{one.words}", the candidate "{other.words}"'
    placed = (pair.reference, pair.candidate)
    return [
        Found(
            discrepancy(error.category, error.severity, name, f"{said} ({error.what}).", placed),
            error.topic,
        )
        for error in found
    ]


@dataclass(frozen=True, slots=True)
class _Error:
    category: Category
    severity: Severity
    what: str
    topic: str


def _reading(one: Mention, other: Mention, reports: Reports) -> _Error | None:
    """Return the error of reading one shadow as something else, if there is one."""
    lexicon = reports.lexicon
    first, second = readings(one), readings(other)
    clash = not any(lexicon.related(a, b) for a in first for b in second)
    denied = set(first).isdisjoint(second) and (
        reports.reference.denies_all(second) or reports.candidate.denies_all(first)
    )
    if not clash and not denied:
        return None
    ours = max(lexicon.findings[name].severity for name in first)
    theirs = max(lexicon.findings[name].severity for name in second)
    severity: Severity = max(ours, theirs)
    if denied or one.doubted or other.doubted or one.also or other.also:
        severity = eased(severity)
    if theirs >= ours:
        name = lexicon.findings[second[0]].label
        return _Error(Category.FALSE_FINDING, severity, f"read as {name}", name)
    name = lexicon.findings[first[0]].label
    return _Error(Category.MISSING_FINDING, severity, f"not read as {name}", name)


def _site_differs(
    one: Mention, other: Mention, mine: list[Mention], theirs: list[Mention], lexicon: Lexicon
) -> bool:
    if one.sides and other.sides and one.sides != other.sides:
        ours = _union(mention.sides for mention in mine)
        others = _union(mention.sides for mention in theirs)
        if not (one.sides <= others and other.sides <= ours):
            return True
    if one.places and other.places and not one.places & other.places:
        ours = _union(mention.places for mention in mine)
        others = _union(mention.places for mention in theirs)
        if not (one.places <= others and other.places <= ours):
            return True
    is_line = lexicon.findings[one.finding].where == "line"
    return is_line and _ratio(one.sizes, other.sizes) >= _OTHER_SIZE


def _level(
    one: Mention, other: Mention, mine: list[Mention], theirs: list[Mention], lexicon: Lexicon
) -> Severity | None:
    own = weight(one, lexicon)
    worst: list[Severity] = []
    if one.levels and other.levels:
        ours = {level for mention in mine for level in mention.levels}
        others = {level for mention in theirs for level in mention.levels}
        gaps = [_gap(level, one.levels) for level in other.levels - ours]
        gaps += [_gap(level, other.levels) for level in one.levels - others]
        if gaps:
            worst.append(1 if max(gaps) == 1 else own)
    if lexicon.findings[one.finding].where != "line":
        ratio = _ratio(one.sizes, other.sizes)
        if ratio >= _SAME_SIZE:
            worst.append(own if ratio >= _OTHER_SIZE else 1)
    return max(worst, default=None)


def _change(
    one: Mention, other: Mention, mine: list[Mention], theirs: list[Mention], reports: Reports
) -> _Error | None:
    ours = _union(mention.changes for mention in mine) | reports.reference.changes
    others = _union(mention.changes for mention in theirs) | reports.candidate.changes
    stated, claimed = one.changes - others, other.changes - ours
    if not stated and not claimed:
        return None
    directed = bool((stated | claimed) & _DIRECTED)
    severity: Severity = at_most(weight(one, reports.lexicon), 2) if directed else 1
    if claimed and one.changes and (claimed | one.changes) <= _UPWARD:
        severity = 1
    elif claimed:
        # It tells of an earlier study what the radiologist does not.
        severity = 2
    if claimed:
        what = f"comparison not in the reference: {', '.join(sorted(claimed))}"
        return _Error(Category.FALSE_COMPARISON, severity, what, what)
    what = f"comparison left out: {', '.join(sorted(stated))}"
    return _Error(Category.OMITTED_COMPARISON, severity, what, what)


def _gap(level: int, levels: frozenset[int]) -> int:
    return min(abs(level - other) for other in levels)


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)


def _ratio(ones: frozenset[float], others: frozenset[float]) -> float:
    """Return the largest length of one over that of the other, at least 1; 1 without both."""
    if not ones or not others:
        return 1.0
    small, large = sorted((max(ones), max(others)))
    return large / small if small > 0 else 1.0

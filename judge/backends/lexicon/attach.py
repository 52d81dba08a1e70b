"""Gives each side, place, severity word, change and length to the finding it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

from judge.backends.lexicon.data import Kind, Lexicon, Role
from judge.backends.lexicon.heads import Head
from judge.backends.lexicon.tokens import Line, Mark, Measure

_COUNTS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
_NUMBERS = {word: n for n, name in enumerate(_COUNTS, start=2) for word in (name, str(n))}
_MOST_BETWEEN = 5
_WITH = frozenset({"with", "adjacent", "associated", "accompanying", "overlying", "underlying"})
_TOLD = (Kind.SIDE, Kind.PLACE, Kind.ACUITY, Kind.ACTION)

_TOO_FAR = 9.0
"""A modifier that is dearer than this to attach belongs to no head (see `_price`)."""


@dataclass(slots=True)
class Draft:
    """A head and what has been found to belong to it; `first` to `last` is what to quote.

    `said_sides` and `said_levels` are sides and levels by the token where they stand.
    """

    head: Head
    first: int
    last: int
    sides: set[str] = field(default_factory=set)
    places: set[str] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)
    acuity: set[str] = field(default_factory=set)
    acts: bool = False
    sizes: set[float] = field(default_factory=set)
    count: int = 0
    said_sides: dict[int, frozenset[str]] = field(default_factory=dict)
    said_levels: dict[int, frozenset[int]] = field(default_factory=dict)

    def cover(self, first: int, last: int) -> None:
        """Widen what is quoted by the tokens `first` to `last` (exclusive)."""
        self.first, self.last = min(self.first, first), max(self.last, last)


def attach(
    line: Line, drafts: Sequence[Draft], used: set[int], lexicon: Lexicon
) -> list[tuple[Mark, str]]:
    """Fill `drafts` with their modifiers; return the changes that are of no finding.

    `used` holds the first tokens of the qualities that made a finding: they say nothing
    else ("heart size is large").
    """
    study: list[tuple[Mark, str]] = []
    findings = [draft for draft in drafts if draft.head.finding]
    for mark in (*line.marks, *line.inner):
        for role in mark.roles:
            if role.kind is Kind.CHANGE and mark.first not in used:
                changed = _changed(line, drafts, mark)
                for draft in changed:
                    draft.changes.add(role.name)
                    draft.cover(mark.first, mark.last)
                if not changed and role.name != "resolved":
                    study.append((mark, role.name))
            elif role.kind in _TOLD or (role.kind is Kind.LEVEL and mark.first not in used):
                _modify(line, drafts, mark, role, lexicon)
    for measure in line.measures:
        if measured := _nearest(line, findings, measure):
            measured.sizes.add(measure.mm)
            measured.cover(measure.first, measure.last)
    for draft in drafts:
        _count(line, draft)
    return study


def _count(line: Line, draft: Draft) -> None:
    head = draft.head
    for at in reversed(range(max(head.first - _MOST_BETWEEN, 0), head.first)):
        if any(line.between(at, head.first)):
            return
        word = line.words[at]
        if word in _NUMBERS and not any(m.first <= at < m.last for m in line.measures):
            draft.count = _NUMBERS[word]
            draft.cover(at, at + 1)
            return


def split(draft: Draft) -> list[Draft]:
    """Return a draft for each side where each has a level: "small right and large left"."""
    sides = {at: side for at, side in draft.said_sides.items() if len(side) == 1}
    kinds = [at in sides for at in sorted({*sides, *draft.said_levels})]
    in_turn = kinds in ([True, False, True, False], [False, True, False, True])
    if not in_turn or len(draft.said_levels) != 2 or len(set(sides.values())) != 2:
        return [draft]
    pairs = zip(sorted(sides.items()), sorted(draft.said_levels.items()), strict=True)
    return [replace(draft, sides=set(side[1]), said_levels=dict([level])) for side, level in pairs]


def _modify(line: Line, drafts: Sequence[Draft], mark: Mark, role: Role, lexicon: Lexicon) -> None:
    draft = _nearest(line, [one for one in drafts if _takes(one, role, lexicon)], mark)
    if draft is None:
        return
    if role.kind is Kind.SIDE:
        name = draft.head.finding or lexicon.structures[draft.head.structure].abnormal
        if not lexicon.findings[name].sided:
            return
        draft.sides |= role.tags
        draft.said_sides[mark.first] = role.tags
    elif role.kind is Kind.ACUITY:
        draft.acuity.add(role.name)
    elif role.kind is Kind.ACTION:
        draft.acts = True
    elif role.kind is Kind.PLACE:
        # Each place of a tube narrows down where it ends.
        narrowed = draft.places & role.tags if role.name == "line" else None
        draft.places = set(narrowed or draft.places | role.tags)
    else:
        known = draft.said_levels.get(mark.first, frozenset())
        draft.said_levels[mark.first] = known | {lexicon.levels[role.name]}
    draft.cover(mark.first, mark.last)


def _takes(draft: Draft, role: Role, lexicon: Lexicon) -> bool:
    if not draft.head.finding:
        return role.kind is Kind.SIDE and draft.head.normal
    finding = lexicon.findings[draft.head.finding]
    if role.kind is Kind.ACUITY:
        return not finding.rules_out  # "no acute process" is said as one
    if role.kind is Kind.ACTION:
        return finding.where == "line"
    return role.kind is not Kind.PLACE or finding.where == role.name


def _nearest(line: Line, drafts: Sequence[Draft], mark: Mark | Measure) -> Draft | None:
    """Return the head that is cheapest to attach `mark` to; on a tie the later one."""
    priced = ((_price(line, mark, draft.head), draft) for draft in reversed(drafts))
    near = (one for one in priced if one[0] <= _TOO_FAR)
    return min(near, key=itemgetter(0), default=(0.0, None))[1]


def _price(line: Line, mark: Mark | Measure, head: Head) -> float:
    """Return how much stands between a modifier and a head.

    A modifier before its head belongs to it directly ("small left effusion"); one after it
    follows a verb or a preposition ("effusion is small", "effusion on the left").
    """
    if head.first <= mark.first < head.last:
        return 0.0
    ahead = mark.first < head.first
    first, last = (mark.last, head.first) if ahead else (head.last, mark.first)
    joins, verbs, prepositions, breaks = line.between(first, last)
    if ahead:
        price = 2.5 * joins + 2.5 * verbs + 2.0 * prepositions + 3.5 * breaks
    else:
        price = 2.0 * joins + 0.5 * verbs + 0.2 * prepositions + 3.5 * breaks
    return price + 0.2 * max(last - first, 0)


def _changed(line: Line, drafts: Sequence[Draft], mark: Mark) -> list[Draft]:
    able = [draft for at, draft in enumerate(drafts) if _can_change(line, drafts, at)]
    nearest = _nearest(line, able, mark)
    if nearest is None:
        return []
    nearest = _principal(line, able, nearest, mark)
    changed = [nearest]
    if mark.last <= nearest.head.first and "of" in line.words[mark.last - 1 : mark.last + 1]:
        # "Removal of the tube and the line" is said of both.
        return changed + _joined_after(line, able, nearest)
    if line.between(nearest.head.last, mark.first).verbs:
        # "Effusion and atelectasis are unchanged" is said of both.
        edge = nearest.head.first
        for draft in reversed(able[: able.index(nearest)]):
            last = draft.head.last
            joins, verbs, _, breaks = line.between(last, edge)
            if not joins or verbs or breaks or line.marked(last, edge, Kind.CHANGE):
                break
            changed.append(draft)
            edge = draft.head.first
    return changed


def _principal(line: Line, able: Sequence[Draft], nearest: Draft, mark: Mark) -> Draft:
    """Return what a change after its verb is said of: not what only goes with it.

    "Effusion with adjacent atelectasis has increased" is about the effusion.
    """
    at = able.index(nearest)
    if at and mark.first >= nearest.head.last:
        before = able[at - 1]
        first, last = before.head.last, nearest.head.first
        goes_with = not _WITH.isdisjoint(line.words[first : last + 1])
        if goes_with and before.head.finding and not line.between(first, last).verbs:
            return before
    return nearest


def _joined_after(line: Line, able: Sequence[Draft], nearest: Draft) -> list[Draft]:
    joined: list[Draft] = []
    edge = nearest.head.last
    for draft in able:
        first = draft.head.first
        if first < edge:
            continue
        listed = not {"and", ","}.isdisjoint(line.words[edge:first])
        marked = line.marked(edge, first, Kind.CHANGE, Kind.LEVEL)
        if not listed or marked or line.between(edge, first).stops:
            break
        joined.append(draft)
        edge = draft.head.last
    return joined


def _can_change(line: Line, drafts: Sequence[Draft], at: int) -> bool:
    head = drafts[at].head
    if head.finding or head.normal:
        return True
    for other in drafts[:at]:
        if other.head.finding and other.head.last <= head.first:
            first, last = max(other.head.last, head.first - 4), head.first
            if line.between(first, last).prepositions or "of" in line.words[first:last]:
                return False
    for other in drafts[at + 1 :]:
        if other.head.finding and other.head.first >= head.last:
            return any(line.between(head.last, other.head.first))
    return True

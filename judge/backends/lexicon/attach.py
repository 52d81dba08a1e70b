"""Gives each side, place, severity word, change and length to the finding it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from judge.backends.lexicon.data import Kind, Lexicon, Role
from judge.backends.lexicon.heads import Head
from judge.backends.lexicon.tokens import Line, Mark, Measure

_TOO_FAR = 9.0
"""A modifier that is dearer than this to attach belongs to no head (see `_price`)."""


@dataclass(slots=True)
class Draft:
    """A head and what has been found to belong to it; `first` to `last` is what to quote."""

    head: Head
    first: int
    last: int
    sides: set[str] = field(default_factory=set)
    places: set[str] = field(default_factory=set)
    levels: set[int] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)
    sizes: set[float] = field(default_factory=set)

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
    draft: Draft | None
    for mark in (*line.marks, *line.inner):
        for role in mark.roles:
            if role.kind is Kind.CHANGE and mark.first not in used:
                changed = _changed(line, drafts, mark)
                for draft in changed:
                    draft.changes.add(role.name)
                    draft.cover(mark.first, mark.last)
                if not changed and role.name != "resolved":
                    study.append((mark, role.name))
            elif role.kind is not Kind.LEVEL or mark.first not in used:
                _modify(line, drafts, mark, role, lexicon)
    for measure in line.measures:
        draft = _nearest(line, drafts, measure, _is_finding)
        if draft is not None:
            draft.sizes.add(measure.mm)
            draft.cover(measure.first, measure.last)
    return study


def _modify(line: Line, drafts: Sequence[Draft], mark: Mark, role: Role, lexicon: Lexicon) -> None:
    if role.kind is Kind.SIDE:
        draft = _nearest(line, drafts, mark, _is_sideable)
        if draft is not None and _is_sided(draft, lexicon):
            draft.sides |= role.tags
            draft.cover(mark.first, mark.last)
    elif role.kind is Kind.PLACE:
        domain = role.name
        draft = _nearest(line, drafts, mark, lambda one: _domain(one, lexicon) == domain)
        if draft is not None:
            draft.places |= role.tags
            draft.cover(mark.first, mark.last)
    elif role.kind is Kind.LEVEL:
        draft = _nearest(line, drafts, mark, _is_finding)
        if draft is not None:
            draft.levels.add(lexicon.levels[role.name])
            draft.cover(mark.first, mark.last)


def _is_finding(draft: Draft) -> bool:
    return bool(draft.head.finding)


def _is_sideable(draft: Draft) -> bool:
    return bool(draft.head.finding) or draft.head.normal


def _is_sided(draft: Draft, lexicon: Lexicon) -> bool:
    head = draft.head
    if head.finding:
        return lexicon.findings[head.finding].sided
    return lexicon.findings[lexicon.structures[head.structure].abnormal].sided


def _domain(draft: Draft, lexicon: Lexicon) -> str:
    return lexicon.findings[draft.head.finding].where if draft.head.finding else ""


def _nearest(
    line: Line, drafts: Sequence[Draft], mark: Mark | Measure, fits: Callable[[Draft], bool]
) -> Draft | None:
    """Return the head that is cheapest to attach `mark` to; on a tie the later one."""
    best: Draft | None = None
    lowest = _TOO_FAR
    for draft in drafts:
        if fits(draft):
            price = _price(line, mark, draft.head)
            if price <= lowest:
                best, lowest = draft, price
    return best


def _price(line: Line, mark: Mark | Measure, head: Head) -> float:
    """Return how much stands between a modifier and a head.

    A modifier before its head belongs to it directly ("small left effusion"); one after it
    follows a verb or a preposition ("effusion is small", "effusion on the left").
    """
    if head.first <= mark.first < head.last:
        return 0.0
    ahead = mark.first < head.first
    first, last = (mark.last, head.first) if ahead else (head.last, mark.first)
    if first > last:
        return 0.0
    joins = line.joins[last] - line.joins[first]
    verbs = line.verbs[last] - line.verbs[first]
    prepositions = line.prepositions[last] - line.prepositions[first]
    breaks = line.breaks[last] - line.breaks[first]
    if ahead:
        price = 2.5 * joins + 2.5 * verbs + 2.0 * prepositions + 3.5 * breaks
    else:
        price = 2.0 * joins + 0.5 * verbs + 0.2 * prepositions + 3.5 * breaks
    return price + 0.2 * (last - first)


def _changed(line: Line, drafts: Sequence[Draft], mark: Mark) -> list[Draft]:
    """Return the heads that a change is said of: the nearest, and those joined to it."""
    able = [draft for at, draft in enumerate(drafts) if _can_change(line, drafts, at)]
    nearest = _nearest(line, able, mark, lambda _: True)
    if nearest is None:
        return []
    changed = [nearest]
    if mark.last <= nearest.head.first and "of" in line.words[mark.last - 1 : mark.last + 1]:
        # "Removal of the tube and the line" is said of both.
        return changed + _joined_after(line, able, nearest)
    edge = nearest.head.first
    if line.verbs[mark.first] > line.verbs[min(nearest.head.last, mark.first)]:
        # "Effusion and atelectasis are unchanged" is said of both.
        for draft in reversed(able[: able.index(nearest)]):
            last = draft.head.last
            if (
                last > edge
                or line.joins[edge] == line.joins[last]
                or line.verbs[edge] > line.verbs[last]
                or line.breaks[edge] > line.breaks[last]
                or any(mark.role(Kind.CHANGE) for mark in line.marks if last <= mark.first < edge)
            ):
                break
            changed.append(draft)
            edge = draft.head.first
    return changed


def _joined_after(line: Line, able: Sequence[Draft], nearest: Draft) -> list[Draft]:
    joined: list[Draft] = []
    edge = nearest.head.last
    for draft in able:
        first = draft.head.first
        if first < edge:
            continue
        between = line.words[edge:first]
        stops = line.verbs[first] + line.prepositions[first] + line.breaks[first]
        if stops > line.verbs[edge] + line.prepositions[edge] + line.breaks[edge]:
            break
        if not {"and", ","} & set(between) or any(
            mark.role(Kind.CHANGE) or mark.role(Kind.LEVEL)
            for mark in line.marks
            if edge <= mark.first < first
        ):
            break
        joined.append(draft)
        edge = draft.head.last
    return joined


def _can_change(line: Line, drafts: Sequence[Draft], at: int) -> bool:
    """Return whether a change may be said of this head: not of a structure that only says where."""
    head = drafts[at].head
    if head.finding or head.normal:
        return True
    for other in drafts[:at]:
        if other.head.finding and other.head.last <= head.first:
            first = max(other.head.last, head.first - 4)
            if (
                line.prepositions[head.first] > line.prepositions[first]
                or "of" in line.words[first : head.first]
            ):
                return False
    for other in drafts[at + 1 :]:
        first, last = head.last, other.head.first
        if other.head.finding and last >= first:
            return (
                line.joins[last] > line.joins[first]
                or line.verbs[last] > line.verbs[first]
                or line.prepositions[last] > line.prepositions[first]
                or line.breaks[last] > line.breaks[first]
            )
    return True

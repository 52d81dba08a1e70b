"""Levels of the spine in a report, `L4-L5`, `C5/6` or `T12`, and others that it does not name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COUNTS = {"C": 7, "T": 12, "L": 5, "S": 1}
VERTEBRAE = tuple(
    f"{part}{number}"
    for part, count in _COUNTS.items()
    for number in range(1, count + 1)
)
"""The vertebrae from above, the first sacral one as the last."""
# T1 and T2 are the weighting of an MR image as well, and are left alone.
_LEVEL = re.compile(
    r"(?<![\w/-])(?P<first>[CTL]\d{1,2})"
    r"(?:(?P<between> ?[-/\u2013] ?)(?P<part>[CTLS]?)(?P<number>\d{1,2}))?(?![\w/]|-\w)"
)
_WEIGHTINGS = {"T1", "T2"}
_STEPS = (2, -2, 1, -1, 3, -3)
_OPTIONS = 2


@dataclass(frozen=True, slots=True)
class Level:
    """A vertebra, or the disc below it, from `start` to `end` of a text.

    `at` is the number of the (upper) vertebra in `VERTEBRAE`. `between` and `part` are what the
    name of a disc has between its numbers, such as `-` and `L`; `between` is empty for a vertebra.
    """

    start: int
    end: int
    text: str
    at: int
    between: str = ""
    part: str = ""

    @property
    def is_disc(self) -> bool:
        """Whether it is a disc."""
        return bool(self.between)

    def moved(self, steps: int) -> str | None:
        """Return the name of the level so many steps below, None outside this part of the spine."""
        to = self.at + steps
        last = len(VERTEBRAE) - 1
        if self.is_disc:
            last -= 1
        if not 0 <= to <= last or VERTEBRAE[to][0] != VERTEBRAE[self.at][0]:
            return None
        if VERTEBRAE[to] == "C1" or VERTEBRAE[to] in _WEIGHTINGS:
            return None
        if not self.is_disc:
            return VERTEBRAE[to]
        below = VERTEBRAE[to + 1]
        if not self.part and below[0] != VERTEBRAE[to][0]:
            return None
        if not self.part:
            below = below[1:]
        return f"{VERTEBRAE[to]}{self.between}{below}"


def levels_in(text: str) -> list[Level]:
    """Return the vertebrae and discs that a text names; of a longer range, such as L1-L4, none."""
    return [level for level in _named(text) if isinstance(level, Level)]


def _named(text: str) -> Iterator[Level | tuple[int, int]]:
    """Yield the levels of a text, and a range as the numbers of its first and last vertebra."""
    for match in _LEVEL.finditer(text):
        first = match["first"]
        if first not in VERTEBRAE:
            continue
        at = VERTEBRAE.index(first)
        span = match.span()
        if not match["between"]:
            if first not in _WEIGHTINGS:
                yield Level(*span, match[0], at)
            continue
        last = f"{match['part'] or first[0]}{match['number']}"
        if {first, last} <= _WEIGHTINGS or last not in VERTEBRAE:
            continue
        if VERTEBRAE.index(last) == at + 1:
            yield Level(*span, match[0], at, match["between"], match["part"])
        else:
            yield at, VERTEBRAE.index(last)


def moved_levels(level: Level, report: str) -> Iterator[str]:
    """Yield other levels for one that a report names once, which the report does not name."""
    named = list(_named(report))
    others = [other for other in named if isinstance(other, Level)]
    if len(others) < len(named):
        # What a range says of its levels could be contradicted.
        return
    taken = [other.at for other in others if other.is_disc == level.is_disc]
    if taken.count(level.at) != 1:
        return
    n = 0
    for steps in _STEPS:
        name = level.moved(steps)
        if name is None or level.at + steps in taken or n == _OPTIONS:
            continue
        n += 1
        yield name

"""Sizes in reports: lengths with a unit, in up to three dimensions, and whether two agree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Agreement = Literal["right", "wrong_minor", "wrong_major"]

WRONG_FROM_MM = Decimal(2)
"""The least difference that is wrong, in millimetres: smaller ones are within how lengths vary."""
WRONG_ABOVE = Decimal("0.2")
"""The share of the reference's length that a wrong one differs by more than."""
MAJOR_FROM = Decimal("1.5")
"""How many times the shorter the longer length is, at least, where the error is major.

This threshold is ours, as are the other two.
"""

_ANY = Decimal("Infinity")
_MM = {"mm": Decimal(1), "cm": Decimal(10), "in": Decimal("25.4")}
_UNIT = (
    r"(?P<{name}>mm|cm|millimet(?:er|re)s?|centimet(?:er|re)s?|inch(?:es)?"
    # "2 in the left lung" is no length.
    r"|in\b(?!\s+(?:an?|the|both|each|either|left|right|all|number|total)\b))(?![a-z])"
)
# A comma before three digits may separate thousands: "1,200 mm" is not read.
_NUMBER = r"(?:[0-9]+(?:\.[0-9]+|,[0-9]{1,2}(?![0-9]))?|\.[0-9]+)"
_RANGE = rf"{_NUMBER}(?:\s*(?:-|\u2013|\u2212|\bto\b)\s*{_NUMBER})?"
# The axis of a length, as in "12 (AP) x 8 (TV) mm".
_AXIS = r"(?:\s*\([a-z]{1,12}\))?"
_TIMES = r"\s*(?:x|\u00d7|\*|\bby\b)\s*"


def _dimension(place: int) -> str:
    """Return the pattern of one length of several, whose unit may stand behind the last."""
    unit = _UNIT.format(name=f"unit{place}")
    return rf"(?P<length{place}>{_RANGE}){_AXIS}(?:[\s-]*{unit}{_AXIS})?"


_BELOW = r"less than|smaller than|shorter than|<|\u2264"
_ABOVE = r"more than|greater than|larger than|longer than|at least|exceeding|>|\u2265"
_SIZE = re.compile(
    rf"(?:(?P<below>{_BELOW})\s*|(?P<above>{_ABOVE})\s*)?(?<![\w.,/])"
    rf"{_dimension(0)}(?:{_TIMES}{_dimension(1)}(?:{_TIMES}{_dimension(2)})?)?",
    re.IGNORECASE,
)
_NUMBERS = re.compile(_NUMBER)


@dataclass(frozen=True, slots=True)
class Size:
    """A size as it is written, and the least and greatest length of each dimension in millimetres.

    The lengths are in descending order. A range has two ends that differ, "less than 5 mm" begins
    at 0, "more than 5 mm" has no end. `written` has the numbers alone, in their order.
    """

    text: str
    lengths: tuple[tuple[Decimal, Decimal], ...]
    written: tuple[Decimal, ...]

    @property
    def longest(self) -> float:
        """The greatest length that is written, in millimetres."""
        return float(max(self.written))


def find_sizes(text: str) -> Iterator[Size]:
    """Yield the sizes in a text, in its order; numbers without a unit of length are none."""
    for match in _SIZE.finditer(text):
        size = _size(match)
        if size is not None:
            yield size


def _size(match: re.Match[str]) -> Size | None:
    lengths: list[tuple[Decimal, Decimal]] = []
    written: list[Decimal] = []
    unit = None
    # The last unit holds for the lengths before it that have none.
    for place in (2, 1, 0):
        length = match[f"length{place}"]
        if length is None:
            continue
        named = match[f"unit{place}"]
        if named is not None:
            unit = _MM[_short(named)]
        if unit is None:
            return None
        numbers = [
            Decimal(number.replace(",", ".")) * unit
            for number in _NUMBERS.findall(length)
        ]
        least, most = min(numbers), max(numbers)
        if most == 0:
            return None
        if match["below"]:
            least = Decimal(0)
        if match["above"]:
            most = _ANY
        lengths.append((least, most))
        written += numbers
    lengths.sort(reverse=True)
    return Size(match[0].strip(), tuple(lengths), tuple(sorted(written)))


def _short(unit: str) -> str:
    """Return `mm`, `cm` or `in` of a unit in any spelling."""
    small = unit.lower()
    if small.startswith("milli"):
        return "mm"
    if small.startswith("centi"):
        return "cm"
    return small[:2]


def compare_sizes(reference: Sequence[Size], candidate: Sequence[Size]) -> Agreement:
    """Return whether the candidate's sizes of a finding agree with the reference's.

    A length is wrong that differs by more than 20% of the reference's and by at least 2 mm; the
    error is major where the longer of the two is at least one and a half times the shorter. Of two
    ranges the ends that are nearest to each other are compared. Sizes of several dimensions are
    compared longest with longest, as far as both have them.

    Where a report has several, each of the fewer is held against one of the others, in the order
    of their lengths and so that the worst is as good as can be; what is left over is not compared.
    Raises ValueError without a size.
    """
    if not reference or not candidate:
        raise ValueError("both reports state a size, or nothing is compared")
    ours = sorted(reference, key=_by_length)
    theirs = sorted(candidate, key=_by_length)
    agreements = [[_agreement(one, other) for other in theirs] for one in ours]
    if len(ours) > len(theirs):
        agreements = [list(column) for column in zip(*agreements, strict=True)]
    return _best(agreements)


def _by_length(size: Size) -> tuple[tuple[Decimal, Decimal], ...]:
    return size.lengths


def _best(agreements: Sequence[Sequence[Agreement]]) -> Agreement:
    """Return the worst agreement of the rows, each with a column of its own, in their order.

    Of all such choices of columns it is the best. There are no more rows than columns.
    """
    n_columns = len(agreements[0])
    # The worst of no rows, then of the first, of the first two, ..., within the first columns.
    before: list[Agreement] = ["right"] * (n_columns + 1)
    for n_rows, row in enumerate(agreements, 1):
        within: list[Agreement] = ["wrong_major"] * (n_columns + 1)
        for n in range(n_rows, n_columns + 1):
            taken = _worst((before[n - 1], row[n - 1]))
            within[n] = taken
            if n > n_rows:
                within[n] = min(taken, within[n - 1], key=_ORDER.index)
        before = within
    return before[n_columns]


_ORDER: tuple[Agreement, ...] = ("right", "wrong_minor", "wrong_major")


def _worst(agreements: Iterable[Agreement]) -> Agreement:
    return max(agreements, key=_ORDER.index)


def _agreement(reference: Size, candidate: Size) -> Agreement:
    pairs = zip(reference.lengths, candidate.lengths, strict=False)
    return _worst(_agreement_of_lengths(ours, theirs) for ours, theirs in pairs)


def _agreement_of_lengths(
    reference: tuple[Decimal, Decimal], candidate: tuple[Decimal, Decimal]
) -> Agreement:
    least, most = reference
    their_least, their_most = candidate
    if their_least > most:
        ours, theirs = most, their_least
    elif their_most < least:
        ours, theirs = least, their_most
    else:
        return "right"
    difference = abs(theirs - ours)
    if difference < WRONG_FROM_MM or difference <= WRONG_ABOVE * ours:
        return "right"
    if max(ours, theirs) >= MAJOR_FROM * min(ours, theirs):
        return "wrong_major"
    return "wrong_minor"

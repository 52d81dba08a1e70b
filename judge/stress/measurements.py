"""Sizes in a sentence of a report: `12 mm`, `1.2 x 0.9 cm`, `12 mm x 9 mm`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

MM = {"mm": Decimal(1), "cm": Decimal(10)}
"""The millimetres of each unit."""
_NUMBER = r"\d{1,3}(?:\.\d{1,2})?"
_DIMENSION = rf"{_NUMBER}(?:[ -]?(?:mm|cm))?"
_SIZE = re.compile(
    rf"(?<![\w.,/-]){_DIMENSION}(?: ?[x\u00d7] ?{_DIMENSION}){{0,2}}(?![\w\u00b2\u00b3/]| ?Hg\b)",
    re.I,
)
_PART = re.compile(rf"({_NUMBER})([ -]?)(mm|cm)?", re.I)
# A part of a range, of a list, of a longer product, or a limit.
_ARTICLE = re.compile(r"\b(?P<article>(?P<a>a)n?)(?P<gap> )\Z", re.I)
_SPOKEN_WITH_VOWEL = re.compile(r"(?:8|11(?!\d)|18(?!\d))")
_BEFORE = re.compile(
    r"(?:[x\u00d7]|\d\s*(?:-|\u2013|to|and|or|,)|[<>\u2264\u2265])\s*\Z", re.I
)
_AFTER = re.compile(r"\s*(?:(?:-|\u2013|to|and|or|,)\s*\d|[x\u00d7]\s)", re.I)


@dataclass(frozen=True, slots=True)
class Measurement:
    """A size, from `start` to `end` of a text: its numbers as they are written, and its unit."""

    start: int
    end: int
    text: str
    numbers: tuple[str, ...]
    unit: str

    @property
    def in_mm(self) -> tuple[Decimal, ...]:
        """The numbers in millimetres."""
        unit = MM[self.unit.lower()]
        return tuple(Decimal(number) * unit for number in self.numbers)

    def with_unit(self, unit: str) -> str:
        """Return the text with another unit and the same numbers."""
        return self._rewritten(self.numbers, unit)

    def times(self, factor: Decimal) -> str:
        """Return the text with each number times a factor, with a decimal more where needed."""
        numbers = []
        for number in self.numbers:
            _, _, decimals = number.partition(".")
            numbers.append(_written(Decimal(number) * factor, fewest=len(decimals)))
        return self._rewritten(numbers, self.unit)

    def converted(self) -> str:
        """Return the same size in the other unit: `12 mm` as `1.2 cm`."""
        other = "cm"
        if self.unit.lower() == "cm":
            other = "mm"
        numbers = [_written(value / MM[other]) for value in self.in_mm]
        if self.unit.isupper():
            other = other.upper()
        return self._rewritten(numbers, other)

    def put(self, text: str, after: str) -> tuple[int, int, str]:
        """Return where `after` goes in the place of the size, with `a` or `an` before it.

        Returns the start and the end of what goes from `text`, and what comes in its place.
        """
        article = _ARTICLE.search(text, 0, self.start)
        if article is None:
            return self.start, self.end, after
        fitting = article["a"]
        if _SPOKEN_WITH_VOWEL.match(after):
            fitting += (
                "N" if article["article"].isupper() and self.unit.isupper() else "n"
            )
        if fitting == article["article"]:
            return self.start, self.end, after
        return article.start(), self.end, f"{fitting}{article['gap']}{after}"

    def _rewritten(self, numbers: tuple[str, ...] | list[str], unit: str) -> str:
        left = list(numbers)

        def part(match: re.Match[str]) -> str:
            written = left.pop(0) + match[2]
            if match[3]:
                written += unit
            return written

        return _PART.sub(part, self.text)


def _written(value: Decimal, fewest: int = 0) -> str:
    """Return a number without needless zeros, with `fewest` decimals at least."""
    plain = value.normalize()
    decimals = max(0, -int(plain.as_tuple().exponent))
    return f"{plain:.{max(decimals, fewest)}f}"


def measurements(text: str) -> Iterator[Measurement]:
    """Yield the sizes of a text, without ranges, limits, areas and volumes."""
    for match in _SIZE.finditer(text):
        parts = _PART.findall(match[0])
        units = {unit.lower() for _, _, unit in parts if unit}
        # Without a unit at its end it is no size, or the product goes on.
        if len(units) != 1 or not parts[-1][2]:
            continue
        if _BEFORE.search(text[: match.start()]) or _AFTER.match(text, match.end()):
            continue
        numbers = tuple(number for number, _, _ in parts)
        if not all(Decimal(number) for number in numbers):
            continue
        yield Measurement(match.start(), match.end(), match[0], numbers, parts[-1][2])

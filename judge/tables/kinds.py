"""How numbers are printed: one formatter of an estimate for tables, pages, methods and ReXrank."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from judge.stats.estimate import Estimate
from judge.text import NOTHING, number


class Kind(Enum):
    """How the cells of a column are printed."""

    TEXT = "as it is"
    RANK = "1, and 1= where models share it"
    COUNT = "1,024"
    P = "0.012 or < 0.001"
    NUMBER = "0.712 [0.690, 0.734]"
    SHORT = "0.12 or 12.3"
    SHARE = "71.0% [65.5, 76.0]"
    RATE = "201/283 71.0% [65.5, 76.0]"
    PER_STUDY = "12 (0.800)"
    DIFFERENCE = "+0.256 [+0.089, +0.487]"
    POINTS = "+25.6 points [+8.9, +48.7]"
    RANGE = "1 to 3"
    FRACTION = "2/3"

    @property
    def is_percent(self) -> bool:
        """Whether a share is printed as a percentage."""
        return self in (Kind.SHARE, Kind.RATE, Kind.POINTS)

    @property
    def is_signed(self) -> bool:
        """Whether a number has its sign: a difference, the first less the second."""
        return self in (Kind.DIFFERENCE, Kind.POINTS)

    @property
    def factor(self) -> int:
        """What a number is multiplied with before it is printed."""
        if self.is_percent:
            return 100
        return 1

    def digits(self, wanted: int = 3) -> int:
        """Return the decimals: one of a percentage, else as many as are wanted."""
        if self.is_percent:
            return 1
        return wanted


def figure_kind(*, is_share: bool) -> Kind:
    """Return how the figures of a statistic are printed."""
    if is_share:
        return Kind.SHARE
    return Kind.NUMBER


def difference_kind(*, is_share: bool) -> Kind:
    """Return how the differences of a statistic are printed."""
    if is_share:
        return Kind.POINTS
    return Kind.DIFFERENCE


@dataclass(frozen=True, slots=True)
class Printed:
    """An estimate in words: its `number` and its `unit`, what stands before, and its two ends."""

    number: str
    low: str | None = None
    high: str | None = None
    unit: str = ""
    before: str = ""

    @property
    def figure(self) -> str:
        """The figure without its interval."""
        return f"{self.before}{self.number}{self.unit}"

    @property
    def brackets(self) -> str:
        """The interval as `[0.690, 0.734]`, empty where there is none."""
        if self.low is None or self.high is None:
            return ""
        return f"[{self.low}, {self.high}]"

    def ends(self, between: str = " to ", *, with_unit: bool = False) -> str:
        """Return the interval as `0.690 to 0.734`, empty where there is none."""
        if self.low is None or self.high is None:
            return ""
        unit = ""
        if with_unit:
            unit = self.unit
        return f"{self.low}{unit}{between}{self.high}{unit}"


def printed(estimate: Estimate, kind: Kind = Kind.NUMBER, digits: int = 3) -> Printed:
    """Return an estimate as it is printed, whatever writes it out."""
    value, low, high = estimate.value, estimate.low, estimate.high
    counts = f"{estimate.k}/{estimate.n}"
    if kind is Kind.FRACTION:
        return Printed(counts)
    before = ""
    if kind is Kind.RATE:
        before = f"{counts} "
    if value is None:
        return Printed(NOTHING, before=before)
    if kind is Kind.PER_STUDY:
        return Printed(f"{estimate.k} ({number(value, digits)})")
    if kind is Kind.SHORT:
        # Two significant digits would print 12.3 as 12, and 123 as 1.2e+02.
        if value >= 10:
            return Printed(f"{value:,.1f}")
        return Printed(f"{value:.2g}")
    if kind is Kind.RANGE:
        return Printed(f"{low} to {high}")
    unit = ""
    if kind is Kind.POINTS:
        unit = " points"
    elif kind.is_percent:
        unit = "%"
    return Printed(
        _form(value, kind, digits),
        low=_end(low, kind, digits),
        high=_end(high, kind, digits),
        unit=unit,
        before=before,
    )


def _end(value: float | None, kind: Kind, digits: int) -> str | None:
    if value is None:
        return None
    return _form(value, kind, digits)


def _form(value: float, kind: Kind, digits: int) -> str:
    scaled = kind.factor * value
    decimals = kind.digits(digits)
    if kind.is_signed:
        return signed(scaled, decimals)
    return number(scaled, decimals)


def p_value(value: float | None) -> str:
    """Return a p-value; below 0.001 it says just that."""
    if value is None:
        return NOTHING
    if value < 0.001:
        return "< 0.001"
    return f"{value:.3f}"


def signed(value: float, digits: int) -> str:
    """Return a difference with its sign; one that is rounded to 0 has none."""
    # z: a small negative number is rounded to 0, not to -0.
    text = f"{value:+z.{digits}f}"
    if float(text) == 0:
        return text.lstrip("+")
    return text

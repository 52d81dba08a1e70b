"""The weeks and months of a monitor's charts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, Self

Every = Literal["week", "month"]
PER_YEAR = {"week": 52, "month": 12}


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """A week from Monday to Sunday by ISO 8601, or a calendar month, by its first day."""

    start: date
    every: Every

    @classmethod
    def of(cls, day: date, every: Every) -> Self:
        """Return the period that a day is in."""
        if every == "week":
            return cls(day - timedelta(days=day.weekday()), every)
        return cls(day.replace(day=1), every)

    @property
    def end(self) -> date:
        """Its last day."""
        if self.every == "week":
            return self.start + timedelta(days=6)
        # The 32nd day after the first of a month is in the next one.
        in_next = self.start + timedelta(days=31)
        return in_next.replace(day=1) - timedelta(days=1)

    @property
    def name(self) -> str:
        """Its name, such as 2026-W05 or 2026-01."""
        if self.every == "week":
            year, week, _ = self.start.isocalendar()
            return f"{year}-W{week:02}"
        return f"{self.start:%Y-%m}"

    def before(self, n: int) -> Self:
        """Return the period that is `n` periods earlier."""
        period = self
        for _ in range(n):
            period = type(self).of(period.start - timedelta(days=1), self.every)
        return period

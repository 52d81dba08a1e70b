"""What may be spent, and by whom together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Budget(Protocol):
    """A sum of US dollars that several runs spend from, in whatever processes they are."""

    def reserve(self, most: float | None) -> str:
        """Set aside what an answer can cost, None for an unknown price; returns why not, or ""."""

    def settle(self, most: float, spent: float | None) -> None:
        """Count what the answer did cost instead; where that is unknown, its most stands."""


@dataclass(slots=True)
class Purse:
    """A budget for what one process asks, in one event loop or one after the other."""

    limit: float
    spent: float = 0.0

    def reserve(self, most: float | None) -> str:
        """Set aside what an answer can cost, None for an unknown price; returns why not, or ""."""
        if most is None:
            return "--max-cost is set and the price of an answer is unknown"
        if self.spent + most > self.limit:
            return f"the next request could pass --max-cost ({self.limit:g} dollars)"
        self.spent += most
        return ""

    def settle(self, most: float, spent: float | None) -> None:
        """Count what the answer did cost instead; where that is unknown, its most stands."""
        if spent is not None:
            self.spent += spent - most

"""The budget of a monitor for each calendar month, kept in its folder."""

from __future__ import annotations

from pathlib import Path

from judge.service.settings import Ledger


class MonthBudget(Ledger):
    """What a monitor's judge may cost in a month, and in one command.

    The table at `path` has a row for each month, such as 2026-05. `refusal` says why the last
    request was not sent, empty where all were.
    """

    def __init__(
        self, path: Path, month: str, limit: float | None, max_cost: float | None
    ) -> None:
        super().__init__(path, month, limit, max_cost)
        self.refusal = ""

    def reserve(self, most: float | None) -> str:
        """Set aside the most that an answer can cost; returns why that cannot be, or ""."""
        why = super().reserve(most)
        # Without a price nothing can ever be asked: that is no month that is over.
        if most is not None:
            self.refusal = why
        return why

    def _unpriced(self) -> str:
        return "--max-cost-month is set and the price of an answer is unknown"

    def _refusal(self) -> str:
        return (
            f"the next request could pass --max-cost-month ({self.limit:g} dollars): "
            f"${self.spent:,.4g} may be spent in {self.judge} already"
        )

"""Panels side by side that share their rows: where each stands, and its title."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from judge.plots.labels import fitted, one_line, room, width_of
from judge.plots.sheet import Sheet, line_height
from judge.plots.style import INK, MUTED, Width

_GAP = 0.14
NAMES_GAP = 0.06
"""Between a name and its panel, in inches."""
_RIGHT = 0.1
_LEAST_DOWN = 0.3


@dataclass(frozen=True, slots=True)
class PanelPosition:
    """The upper left corner of a panel, in inches; the first of its line shows the names."""

    left: float
    top: float
    is_first: bool


@dataclass(frozen=True)
class Grid:
    """Lines of panels, each with the models' names on its left and titles above.

    `row` is the height of a model's row and `head` the room above everything, in inches;
    `below` is written below all panels, a text a line.
    """

    width: Width
    models: Sequence[str]
    n_panels: int
    row: float
    head: float
    below: Sequence[str]

    @cached_property
    def names(self) -> float:
        """The room for the models' names and the gap after them."""
        return names_room(self.models, self.width)

    @property
    def labels(self) -> list[str]:
        """The models' names as they fit."""
        return fitted(self.models, self.names - NAMES_GAP, self.width.small)

    @property
    def n_across(self) -> int:
        """How many panels stand beside each other."""
        return min(self.width.across, self.n_panels)

    @property
    def across(self) -> float:
        """The width of a panel."""
        room = self.width.inches - self.names - _RIGHT - _GAP * (self.n_across - 1)
        return room / self.n_across

    @property
    def down(self) -> float:
        """The height of a panel."""
        return max(_LEAST_DOWN, self.row * len(self.models))

    @property
    def _above(self) -> float:
        return line_height(self.width.normal) + line_height(self.width.small) + 0.03

    @property
    def _below(self) -> float:
        return line_height(self.width.small) + 0.08

    @property
    def _foot(self) -> float:
        return line_height(self.width.small) * len(self.below) + 0.04

    @property
    def _line(self) -> float:
        return self._above + self.down + self._below

    @property
    def height(self) -> float:
        """The height of the figure."""
        lines = ceil(self.n_panels / self.n_across)
        return self.head + lines * self._line + self._foot

    def positions(self) -> Iterator[PanelPosition]:
        """Yield where each panel stands, line by line."""
        for index in range(self.n_panels):
            line, column = divmod(index, self.n_across)
            yield PanelPosition(
                self.names + column * (self.across + _GAP),
                self.head + line * self._line + self._above,
                is_first=column == 0,
            )

    def titles(self, titles: Sequence[str]) -> list[str]:
        """Return the panels' titles as they fit."""
        return fitted(titles, self.across + _GAP / 2, self.width.normal)

    def title(self, sheet: Sheet, position: PanelPosition, title: str, below: str) -> None:
        """Write a panel's title and, below it, how many studies it stands on."""
        middle = position.left + self.across / 2
        top = position.top - self._above
        sheet.text(title, middle, top, self.width.normal, across="center")
        top += line_height(self.width.normal)
        sheet.text(below, middle, top, self.width.small, across="center", colour=MUTED)

    def words_below(self, sheet: Sheet) -> None:
        """Write `below`, below all panels: the first line in ink, the others muted."""
        size = self.width.small
        middle = self.names + (self.width.inches - self.names - _RIGHT) / 2
        top = self.height - line_height(size) * len(self.below) - 0.02
        for index, words in enumerate(self.below):
            text = one_line(words, self.width.inches - 0.1, size)
            # A long line is centred on the sheet rather than on the panels.
            is_long = width_of(text, size) > self.width.inches - self.names
            across = self.width.inches / 2 if is_long else middle
            colour = INK if index == 0 else MUTED
            sheet.text(text, across, top, size, across="center", colour=colour)
            top += line_height(size)


def names_room(models: Sequence[str], width: Width) -> float:
    """Return the inches that models' names take: of the longest one, or what the width allows."""
    # A little more than it needs, so that rounding cuts nothing.
    return room(models, width.names - NAMES_GAP - 0.01, width.small) + NAMES_GAP + 0.01


def n_words(n: tuple[int, int]) -> str:
    """Return how many studies were scored, as a range where models differ."""
    low, high = n
    return f"n = {high:,}" if low == high else f"n = {low:,}\N{EN DASH}{high:,}"

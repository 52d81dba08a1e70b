"""A white sheet with panels placed in inches, so that nothing depends on a layout engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from judge.plots import style

_LINE = 1.25
_INCH = 72.0


def line_height(size: float) -> float:
    """Return the height in inches of a line of text at `size` points."""
    return size * _LINE / _INCH


class Sheet:
    """A figure of fixed size; distances are inches from the top left corner."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.figure = Figure(figsize=(width, height))

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Add a panel."""
        bottom = self.height - top - height
        return self.figure.add_axes(
            (left / self.width, bottom / self.height, width / self.width, height / self.height)
        )

    def text(
        self,
        text: str,
        left: float,
        top: float,
        size: float,
        *,
        across: Literal["left", "center", "right"] = "left",
        colour: str = style.INK,
        bold: bool = False,
    ) -> None:
        """Write one line whose upper edge is at `top`."""
        self.figure.text(
            left / self.width,
            1 - top / self.height,
            text,
            fontsize=size,
            ha=across,
            va="top",
            color=colour,
            fontweight="bold" if bold else "normal",
        )


def rows(axes: Axes, labels: Sequence[str] | None, n: int, size: float) -> None:
    """Make the panel a list of `n` rows, the first on top, labelled on the left or not."""
    axes.set_ylim(n - 0.5, -0.5)
    axes.set_yticks(range(n) if labels else [], labels or [], fontsize=size)
    for row in range(0, n, 2):
        axes.axhspan(row - 0.5, row + 0.5, color="#f6f6f6", linewidth=0, zorder=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def nothing(axes: Axes, across: float, row: float, size: float) -> None:
    """Say that there is no figure here."""
    axes.text(
        across,
        row,
        "n/a",
        fontsize=size,
        color=style.MUTED,
        ha="center",
        va="center",
        style="italic",
    )

"""How the figures look: widths, type sizes, colours, and the white sheet that they are drawn on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from judge.rubrics.contract import Tone

# The two differ in lightness by 25 of 100, so also in grey and for every kind of colour
# vision, and both keep 3:1 against white; their markers differ too.
SERIES = ("#004488", "#c46a00")
MARKERS = ("o", "s")
# The graver the darker: the four are at least 15 of 100 apart in lightness, so also in grey and for
# every kind of colour vision.
TONES: dict[Tone | None, str] = {
    "critical": "#5c0f2e",
    "serious": "#b5541c",
    "notable": "#7ab0e0",
    "mild": "#d3dbe3",
    None: "#d3dbe3",
    "good": "#e9f5ec",
}
HATCHES = (None, "////", "....", "xxxx")
"""What tells labels of one tone apart, in their order."""
INK = "#1a1a1a"
MUTED = "#595959"
GRID = "#dddddd"
NOTHING = "#f0f0f0"
BOX = "#c9d8e8"
# Rises evenly in lightness, also in grey and for every kind of colour vision.
SCALE = "cividis"
_DARK = 0.18
"""The relative luminance at which black and white have the same contrast."""


@dataclass(frozen=True, slots=True)
class Width:
    """A width in a journal's page: the figure's width in inches, its type sizes in points.

    `names` is the most room that models' names get, in inches; `across` how many panels
    stand beside each other; `least` the width that a figure of few things may shrink to.
    """

    name: str
    inches: float
    small: float
    normal: float
    names: float
    across: int
    least: float


COLUMN = Width("column", 3.4, 6.0, 6.5, 1.3, 2, 3.4)
PAGE = Width("page", 7.0, 7.0, 8.0, 2.4, 4, 3.4)
SCREEN = replace(PAGE, name="screen", least=PAGE.inches)
"""On a web page, which scales all figures alike: none is narrower than the others."""
WIDTHS = (COLUMN, PAGE)

RC: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "svg.fonttype": "path",
    "svg.hashsalt": "judge",
    # The font itself, as journals ask; some refuse letters that are drawings (type 3).
    "pdf.fonttype": 42,
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "axes.linewidth": 0.5,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "xtick.major.size": 2.0,
    "ytick.major.size": 0.0,
    "xtick.major.pad": 2.0,
    "ytick.major.pad": 2.0,
    "hatch.linewidth": 0.4,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}
"""What every figure is drawn and written with, whatever a user's own settings say."""


def luminance(colour: str | tuple[float, float, float]) -> float:
    """Return a colour's relative luminance, 0 black to 1 white [WCAG 2.2]."""
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in to_rgb(colour)
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def shade(share: float) -> tuple[float, float, float]:
    """Return the colour of `share`, from 0 to 1, on the scale of the heat maps."""
    return to_rgb(colormaps[SCALE](share))


def ink_on(colour: tuple[float, float, float]) -> str:
    """Return black or white, whichever is read more easily on `colour` (at least 4.5:1)."""
    return "white" if luminance(colour) < _DARK else "black"


def line_height(size: float) -> float:
    """Return the height in inches of a line of text at `size` points."""
    return size * 1.25 / 72


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
        colour: str = INK,
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
        across, row, "n/a", fontsize=size, color=MUTED, ha="center", va="center", style="italic"
    )

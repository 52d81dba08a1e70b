"""Lines of text with what they are, for whatever prints them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from judge.report.highlight import Segment

Style = Literal[
    "plain", "title", "heading", "significant", "insignificant", "removed", "added", "quiet"
]


@dataclass(frozen=True, slots=True)
class Piece:
    """Words of a line with a style of their own, and the errors that speak of them, from 1.

    `style` None leaves them in that of the line.
    """

    text: str
    style: Style | None = None
    errors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an audit. `style` is what it is; the text says the same without colour.

    Where it takes several lines on a narrow terminal, the further ones stand below `text`,
    not below `lead`.
    """

    text: str | tuple[Piece, ...]
    style: Style = "plain"
    lead: str = ""

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The text as pieces."""
        return (Piece(self.text),) if isinstance(self.text, str) else self.text


@dataclass(frozen=True, slots=True)
class Beside:
    """Two headed texts that stand side by side where there is room, else one below the other."""

    left: tuple[Line, Line]
    right: tuple[Line, Line]


def marked(segments: tuple[Segment, ...], styles: tuple[Style, ...]) -> Line:
    """Return a report as a line; `styles` holds the style of each error."""
    pieces = tuple(
        Piece(
            segment.text,
            _gravest([styles[error] for error in segment.errors]),
            tuple(error + 1 for error in segment.errors),
        )
        for segment in segments
    )
    return Line(pieces or "(empty)")


def _gravest(styles: list[Style]) -> Style | None:
    if not styles:
        return None
    return "significant" if "significant" in styles else styles[0]

"""A line of text with what it is, for whatever prints it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Style = Literal["plain", "title", "heading", "significant", "insignificant", "removed", "added"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an audit. `style` is what it is; the text says the same without colour."""

    text: str
    style: Style = "plain"

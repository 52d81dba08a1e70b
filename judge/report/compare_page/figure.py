"""A figure as a page takes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PageFigure:
    """A figure: its title, what it shows, and the SVG."""

    title: str
    caption: str
    svg: str

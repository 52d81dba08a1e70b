"""A figure as a page takes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PageFigure:
    """A figure: its title, what it shows, and the SVG."""

    title: str
    caption: str
    svg: str

    @property
    def words(self) -> dict[str, str]:
        """All but the picture, as JSON's types."""
        return {"title": self.title, "caption": self.caption}

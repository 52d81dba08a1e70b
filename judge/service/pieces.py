"""The files that a comparison's process leaves for the service."""

from __future__ import annotations

WHOLE = "comparison.json"
"""What `judge compare --format json` prints."""
OVERVIEW = "overview.json"
COLUMNS = "columns.json"
FIGURES = "figures.json"
"""The words of all figures; it is written last."""


def values_file(at: int) -> str:
    """Return the name of the file with the values of the metric at a place."""
    return f"values-{at}"


def figure_file(at: int) -> str:
    """Return the name of the file with the figure at a place."""
    return f"figure-{at}.svg"

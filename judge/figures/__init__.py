"""Figures of a comparison or a validation, as Vega-Lite (extra `figures`).

`comparison` and `validation` choose the rows, `specs` draws them, `files` writes them, and
`lettering` gives each text the same width in every font.
"""

COMPARISON_FIGURES = (
    "scores",
    "rates",
    "errors",
    "ranks",
    "correlations",
    "boxes",
)
"""The figures that `judge compare` can draw."""
VALIDATION_FIGURES = ("agreement", "limits", "counts")
"""The figures that `judge validate` can draw."""
ON_REQUEST = ("boxes", "limits", "counts")
"""Figures that are drawn only where they are named."""


def usual(figures: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of `figures` that are drawn where none is named."""
    return tuple(name for name in figures if name not in ON_REQUEST)

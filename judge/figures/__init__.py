"""Figures of a comparison, a validation or a stress test, as Vega-Lite (extra `figures`).

`comparison`, `validation` and `stress` choose the rows, `specs` draws them, `files` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from judge.figures.comparison import comparison_figures
from judge.figures.figure import FigureSet
from judge.figures.files import check_folder, page_svg, require_converter, write_figures
from judge.figures.stress import stress_figures
from judge.figures.validation import validation_figures
from judge.pages.comparison import PageFigure
from judge.stats.intervals import Values
from judge.stats.significance import Comparison

TOP_SITES = 30


@dataclass(frozen=True, slots=True)
class WrittenFigures:
    """The files that were written, and a line for each figure that could not be drawn."""

    files: tuple[Path, ...]
    notes: tuple[str, ...]


def available() -> bool:
    """Return whether figures can be drawn here."""
    return find_spec("vl_convert") is not None


def check_figures(folder: Path) -> None:
    """Raise `JudgeError` where vl-convert is missing, or `folder` cannot be written to."""
    require_converter()
    check_folder(folder)


def draw_figures(
    comparison: Comparison,
    folder: Path,
    *,
    top_sites: int = TOP_SITES,
    highlight: Sequence[str] = (),
) -> WrittenFigures:
    """Write every figure of a comparison to `folder`, each as SVG, PDF, PNG and Vega-Lite.

    `captions.md` says what each shows, with the models' full names and the signature; models in
    `highlight` are bold. Raises `JudgeError` as `check_figures` does; then nothing is written.
    """
    return _written(
        comparison_figures(comparison, top_sites=top_sites, highlight=highlight), folder
    )


def draw_validation(
    validation: Mapping[str, Any], values: Mapping[str, Values], folder: Path
) -> WrittenFigures:
    """Write the figures of judges beside readers to `folder`, as `draw_figures` does.

    Their captions are in `captions_validation.md`. `validation` is what `judge validate` prints
    as JSON, `values` what each rater counted: by quantity an array of studies by raters, the
    judges first, NaN for no value.
    """
    return _written(validation_figures(validation, values), folder)


def draw_stress(reports: Mapping[str, Mapping[str, Any]], folder: Path) -> WrittenFigures:
    """Write the figures of stress tests to `folder`, as `draw_figures` does.

    `reports` are as `judge stress report --format json` has them, by the judges' names.
    """
    return _written(stress_figures(reports), folder)


def page_figures(
    comparison: Comparison, top_sites: int = TOP_SITES, highlight: Sequence[str] = ()
) -> tuple[PageFigure, ...]:
    """Return every figure of a comparison for a page, as `draw_figures` draws them.

    Raises `JudgeError` where vl-convert is missing.
    """
    return _on_page(comparison_figures(comparison, top_sites=top_sites, highlight=highlight))


def stress_page_figures(report: Mapping[str, Any]) -> tuple[PageFigure, ...]:
    """Return the figures of one judge's stress test, as `page_figures` does."""
    return _on_page(stress_figures({report["judge"]["name"]: report}))


def _written(figures: FigureSet, folder: Path) -> WrittenFigures:
    notes = tuple(f"not drawn: {reason}" for reason in figures.left_out)
    return WrittenFigures(write_figures(figures, folder), notes)


def _on_page(figures: FigureSet) -> tuple[PageFigure, ...]:
    return tuple(
        PageFigure(figure.title, figure.caption, page_svg(figure, figures.signature))
        for figure in figures.figures
    )

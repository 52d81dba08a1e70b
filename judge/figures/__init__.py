"""Figures of a comparison, a validation or a stress test, as Vega-Lite (extra `figures`).

`comparison` and `judges` choose the rows, `specs` draws them, `files` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from judge.figures.comparison import comparison_figures
from judge.figures.files import FigureSet, check_folder, page_svg, require_converter, write_figures
from judge.figures.judges import stress_figures, validation_figures
from judge.pages.comparison import PageFigure
from judge.stats.significance import Comparison


def available() -> bool:
    """Return whether figures can be drawn here."""
    return find_spec("vl_convert") is not None


def check_figures(folder: Path) -> None:
    """Raise `JudgeError` where vl-convert is missing, or `folder` cannot be written to."""
    require_converter()
    check_folder(folder)


def draw_figures(comparison: Comparison, folder: Path) -> tuple[Path, ...]:
    """Write every figure of a comparison to `folder`, each as SVG, PDF, PNG and Vega-Lite.

    `captions.md` says what each shows, with the models' full names and the signature. Raises
    `JudgeError` as `check_figures` does; then nothing is written.
    """
    return write_figures(comparison_figures(comparison), folder)


def draw_validation(validation: Mapping[str, Any], folder: Path) -> tuple[Path, ...]:
    """Write the figures of judges beside readers to `folder`, as `draw_figures` does.

    `validation` is what `judge validate` prints as JSON.
    """
    return write_figures(validation_figures(validation), folder)


def draw_stress(report: Mapping[str, Any], folder: Path) -> tuple[Path, ...]:
    """Write the figures of a stress test to `folder`, as `draw_figures` does.

    `report` is as `judge stress report --format json` has it.
    """
    return write_figures(stress_figures(report), folder)


def page_figures(comparison: Comparison) -> tuple[PageFigure, ...]:
    """Return every figure of a comparison for a page, as `draw_figures` draws them.

    Raises `JudgeError` where vl-convert is missing.
    """
    return _on_page(comparison_figures(comparison))


def stress_page_figures(report: Mapping[str, Any]) -> tuple[PageFigure, ...]:
    """Return the figures of a stress test, as `page_figures` does."""
    return _on_page(stress_figures(report))


def _on_page(figures: FigureSet) -> tuple[PageFigure, ...]:
    return tuple(
        PageFigure(figure.title, figure.caption, page_svg(figure, figures.signature))
        for figure in figures.figures
    )

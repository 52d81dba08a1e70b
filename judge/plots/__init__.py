"""Figures of a comparison, a validation or a stress test, drawn with matplotlib (extra `plots`).

`build` turns a comparison into plain data, `raters` a validation, `stress` a stress test; one
module a kind of figure draws it at the width of a journal's column or page; `output` writes it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.plugins import install
from judge.report.compare_page.data import PageFigure
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.plots.data import Plan
    from judge.stats.compare import Comparison
    from judge.stats.panel import Values

TOP_SITES = 30
CAPTIONS = "captions.md"
CAPTIONS_OF = {
    "comparison": CAPTIONS,
    "validation": "captions_validation.md",
    "stress test": "captions_stress.md",
}
"""The file of captions of each, so that one folder can hold all."""


@dataclass(frozen=True, slots=True)
class WrittenFigures:
    """The files that were written, and a line for each figure that could not be drawn."""

    files: tuple[Path, ...]
    notes: tuple[str, ...]


def available() -> bool:
    """Whether figures can be drawn here."""
    return find_spec("matplotlib") is not None


def check_figures(folder: Path) -> None:
    """Raise `JudgeError` where matplotlib is missing, or `folder` cannot be written to."""
    _need_matplotlib()
    from judge.plots.output import check_folder

    check_folder(folder)


def draw_figures(c: Comparison, folder: Path, *, top_sites: int = TOP_SITES) -> WrittenFigures:
    """Write every figure of `c` to `folder`, each as SVG, PDF and PNG, at column and page width.

    `captions.md` says what each shows, with the models' full names and the signature.
    Raises `JudgeError` as `check_figures` does; then nothing is written.
    """
    _need_matplotlib()
    from judge.plots.build import plan

    return _written(plan(c, top_sites=top_sites), folder)


def draw_validation(
    found: Mapping[str, Any], values: Mapping[str, Values], folder: Path
) -> WrittenFigures:
    """Write the figures of judges beside readers to `folder`, as `draw_figures` does.

    Their captions are in `captions_validation.md`; figures of a comparison there stay.
    `found` is what `validate` says, `values` what each rater said of each study: by quantity an
    array of studies by raters, the judges first, NaN for nothing.
    """
    _need_matplotlib()
    from judge.plots.raters import plan

    return _written(plan(found, values), folder)


def draw_stress(reports: Mapping[str, Mapping[str, Any]], folder: Path) -> WrittenFigures:
    """Write the figures of stress tests to `folder`, as `draw_figures` does.

    `reports` are as `judge stress report --format json` has them, by the judges' names.
    """
    _need_matplotlib()
    from judge.plots.stress import plan

    return _written(plan(reports), folder)


def _written(planned: Plan, folder: Path) -> WrittenFigures:
    from judge.plots.output import FORMS, captions_text, rendered, write_all
    from judge.plots.style import WIDTHS

    files: dict[str, bytes] = {}
    for drawing in planned.drawings:
        for width in WIDTHS:
            stem = f"{drawing.name}.{width.name}"
            written = rendered(drawing, width, planned.signature)
            files |= {f"{stem}.{form}": data for form, data in zip(FORMS, written, strict=True)}
    files[CAPTIONS_OF[planned.of]] = captions_text(planned).encode(errors="replace")
    notes = tuple(f"not drawn: {reason}" for reason in planned.left_out)
    return WrittenFigures(write_all(folder, files), notes)


def page_figures(c: Comparison, *, top_sites: int = TOP_SITES) -> tuple[PageFigure, ...]:
    """Return every figure of `c` at page width, for a page.

    Raises `JudgeError` where matplotlib is missing.
    """
    _need_matplotlib()
    from judge.plots.build import plan

    return _on_page(plan(c, top_sites=top_sites))


def stress_page_figures(report: Mapping[str, Any]) -> tuple[PageFigure, ...]:
    """Return the figures of one judge's stress test, as `page_figures` does."""
    _need_matplotlib()
    from judge.plots.stress import plan

    return _on_page(plan({report["judge"]["name"]: report}))


def _on_page(planned: Plan) -> tuple[PageFigure, ...]:
    from judge.plots.output import rendered
    from judge.plots.style import SCREEN

    return tuple(
        PageFigure(d.title, d.caption, svg.decode())
        for d in planned.drawings
        for svg in rendered(d, SCREEN, planned.signature, ("svg",))
    )


def _need_matplotlib() -> None:
    if not available():
        raise JudgeError(
            "figures are drawn with matplotlib, which is not installed; " + install("matplotlib")
        )
    # Without its notices about its own folder and its list of fonts. Where a user's folder cannot
    # be written to it takes one for the while, and removes that: nothing that a user could act on.
    log = logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        import_module("matplotlib.font_manager")
    finally:
        log.setLevel(level)

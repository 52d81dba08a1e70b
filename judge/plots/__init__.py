"""Figures of a comparison, drawn with matplotlib (the extra `plots`).

`build` turns a comparison into plain data (`drawings`); one module a kind of figure draws
it at the width of a journal's column or page; `output` writes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from judge.report.compare_page.figure import PageFigure
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.stats.compare import Comparison

TOP_SITES = 10
CAPTIONS = "captions.md"


@dataclass(frozen=True, slots=True)
class Drawn:
    """The files that were written, and one line for each figure that could not be drawn."""

    files: tuple[Path, ...]
    left_out: tuple[str, ...]


def available() -> bool:
    """Whether figures can be drawn here."""
    return find_spec("matplotlib") is not None


def draw_figures(c: Comparison, folder: Path, *, top_sites: int = TOP_SITES) -> Drawn:
    """Write every figure of `c` to `folder`, each as SVG and PNG, at column and page width.

    `captions.md` says what each shows, with the models' full names and the signature.
    Raises `JudgeError` where matplotlib is missing or the folder cannot be written to; then
    nothing is written.
    """
    _need_matplotlib()
    from judge.plots.build import plan
    from judge.plots.drawings import Ranks
    from judge.plots.output import as_svg_and_png, write_all
    from judge.plots.style import WIDTHS

    planned = plan(c, top_sites=top_sites)
    files: dict[str, bytes] = {}
    for drawing in planned.drawings:
        for width in WIDTHS:
            stem = f"{drawing.name}.{width.name}"
            svg, png = as_svg_and_png(drawing, width, c.signature)
            files |= {f"{stem}.svg": svg, f"{stem}.png": png}
    lines = ["# Figures", ""]
    for drawing in planned.drawings:
        lines += [f"- `{drawing.name}`: {drawing.caption}"]
    lines += [f"- Not drawn: {reason}." for reason in planned.left_out]
    if c.notes:
        lines += ["", "Notes on the comparison:", ""]
        lines += [f"- {' '.join(note.split())}" for note in c.notes]
    lines += ["", "Models, in the order of the figures:", ""]
    lines += [f"{place}. {c.panel.models[at]}" for place, at in enumerate(c.order, 1)]
    for drawing in planned.drawings:
        if isinstance(drawing.data, Ranks):
            lines += ["", f"Sites, in the order of `{drawing.name}`:", ""]
            lines += [f"{place}. {site}" for place, site in enumerate(drawing.data.sites, 1)]
    lines += ["", f"Signature: `{c.signature}`", ""]
    files[CAPTIONS] = "\n".join(lines).encode()
    return Drawn(write_all(folder, files), planned.left_out)


def page_figures(c: Comparison, *, top_sites: int = TOP_SITES) -> tuple[PageFigure, ...]:
    """Return every figure of `c` at page width, for a page.

    Raises `JudgeError` where matplotlib is missing.
    """
    _need_matplotlib()
    from judge.plots.build import plan
    from judge.plots.output import as_svg
    from judge.plots.style import PAGE

    return tuple(
        PageFigure(d.title, d.caption, as_svg(d, PAGE, c.signature).decode())
        for d in plan(c, top_sites=top_sites).drawings
    )


def _need_matplotlib() -> None:
    if not available():
        raise JudgeError(
            "figures are drawn with matplotlib, which is not installed; "
            'install the extra: pip install "judge[plots]"'
        )

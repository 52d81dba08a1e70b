"""The figures of a pack's runs, and their comparison where they are of the same studies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from judge.comparing.alignment import RunChoice
from judge.comparing.comparison import ALLOWED, Remedies, compare_runs
from judge.comparing.run_names import named_apart
from judge.figures.comparison import comparison_figures
from judge.figures.files import DrawnFigure, draw_figures, require_converter
from judge.run_settings import DEFAULT_BY
from judge.stats.significance import Resampling
from judge.tables.comparison import comparison_document
from judge.tables.document import Document
from judge.types import JudgeError

COMPARISON = "comparison"
_REMEDIES = Remedies(
    allow={what: f"judge compare --allow {what}" for what in ALLOWED},
    common="judge compare --common",
)
"""What a pack does not do, and judge compare does."""
_WIDTH = re.compile(rb'<svg[^>]*? width="([0-9.]+)')
_RESOLUTION = 200  # dots an inch, of figures in the PDF


@dataclass(frozen=True, slots=True)
class PackedFigure:
    """A figure of the run `of`, or of the `COMPARISON`: as SVG, and as the PNG in the PDF."""

    of: str
    name: str
    title: str
    caption: str
    svg: bytes
    png: bytes

    @property
    def width(self) -> float:
        """Its width in points, a pixel being three quarters of one."""
        found = _WIDTH.search(self.svg)
        assert found is not None  # Vega writes it
        return float(found[1]) * 0.75

    @property
    def file(self) -> str:
        """Its SVG in the pack."""
        return f"figures/{self.of}/{self.name}.svg"


@dataclass(frozen=True, slots=True)
class PackedComparison:
    """The comparison of several runs with its tables, printed and complete, and what was drawn.

    Without a comparison the figures are each run's own, and `why_not` says why; it is empty for one
    run, which is compared with none.
    """

    figures: tuple[PackedFigure, ...]
    models: tuple[str, ...] = ()
    printed: Document | None = None
    complete: Document | None = None
    signature: str = ""
    why_not: str = ""


def packed_comparison(
    choices: Sequence[RunChoice], names: Sequence[str], by: Sequence[str] | None
) -> PackedComparison:
    """Compare the runs of a pack and draw their figures; `names` are theirs in the pack.

    Raises `JudgeError` where vl-convert is not installed.
    """
    require_converter()
    if by is None:
        by = DEFAULT_BY
    if len(choices) > 1:
        try:
            return _compared(named_apart(choices), by)
        except JudgeError as error:
            why_not = str(error)
    else:
        why_not = ""
    figures: list[PackedFigure] = []
    for choice, name in zip(choices, names, strict=True):
        _, alone = compare_runs([choice], None)
        drawn = draw_figures(comparison_figures(alone))
        figures += [_packed(figure, name) for figure in drawn.drawn]
    return PackedComparison(figures=tuple(figures), why_not=why_not)


def _compared(choices: Sequence[RunChoice], by: Sequence[str]) -> PackedComparison:
    runs, comparison = compare_runs(choices, Resampling(), by=by, remedies=_REMEDIES)
    drawn = draw_figures(comparison_figures(comparison))
    printed = comparison_document(comparison, runs, complete=False)
    return PackedComparison(
        figures=tuple(_packed(figure, COMPARISON) for figure in drawn.drawn),
        models=tuple(comparison.panel.models),
        printed=replace(printed, title="Comparison"),
        complete=comparison_document(comparison, runs, complete=True),
        signature=comparison.signature,
    )


def _packed(drawn: DrawnFigure, of: str) -> PackedFigure:
    figure = drawn.figure
    return PackedFigure(
        of=of,
        name=figure.name,
        title=figure.title,
        caption=figure.caption,
        svg=drawn.svg.encode(),
        png=bytes(require_converter().svg_to_png(drawn.svg, ppi=_RESOLUTION)),
    )

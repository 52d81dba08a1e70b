"""A stress test as one HTML file that needs nothing else: no server, no network.

Everything that comes from a report, a name or a judge is compressed and written in base64, so
that no text can end the element it stands in; the scripts put text on the page as text alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from judge.report.compare_page.data import PageFigure
from judge.report.frontend import as_json
from judge.report.stress_page import FRONTEND, data
from judge.rubrics import Rubric

MARK = "<!doctype html><!-- judge stress -->"
"""How such a file begins, so that it is known again."""


def page(
    report: Mapping[str, Any],
    rubric: Rubric,
    pairs: Iterable[data.Pair],
    figures: Sequence[PageFigure] | None = None,
) -> Iterator[str]:
    """Yield the file piece by piece; `pairs` are read once, a packet at a time.

    `report` is as `judge stress report --format json` has it. `figures` are None where they cannot
    be drawn here. The same input gives the same text.
    """
    title = f"Stress test of {report['judge']['name']} ({rubric.title})"
    return FRONTEND.file(MARK, title, _data(report, rubric, pairs, figures), images="blob:")


def _data(
    report: Mapping[str, Any],
    rubric: Rubric,
    pairs: Iterable[data.Pair],
    figures: Sequence[PageFigure] | None,
) -> Iterator[tuple[str, bytes]]:
    columns = data.Columns()
    for number, packet in enumerate(data.packets(report, rubric, pairs, columns)):
        yield f"packet-{number}", as_json(packet)
    yield "columns", as_json(columns.plain())
    n = None if figures is None else len(figures)
    yield "overview", as_json({**data.overview(report, rubric), "n_figures": n})
    yield "figures", as_json([figure.words for figure in figures or ()])
    for number, figure in enumerate(figures or ()):
        yield f"figure-{number}", figure.svg.encode()

"""The comparison as one HTML file that needs nothing else: no server, no network.

Everything that comes from a report, a model's name or a judge is compressed and written in
base64, so that no text can end the element it stands in; the scripts put text on the page
as text alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from judge.report.compare_page.data import Records, columns, overview, packets
from judge.report.compare_page.figure import PageFigure
from judge.report.compare_page.packing import coded
from judge.report.page import asset
from judge.report.page.bundle import closing, joined, opening
from judge.report.page.packing import element, packed, packed_json
from judge.stats.compare import Comparison

MARK = "<!doctype html><!-- judge compare -->"
"""How such a file begins, so that it is known again."""

STYLES = ("base.css", "compare.css")
SCRIPTS = (
    *("dom.js", "words.js", "packed.js", "store.js", "board.js", "pairs.js", "studies.js"),
    *("study.js", "figures.js", "main.js"),
)
"""ES modules, each importing only from those before it."""

_FOLDER = Path(__file__).parent / "static"


def page(
    c: Comparison,
    records: Records,
    figures: Sequence[PageFigure] = (),
    commands: Mapping[tuple[str, str], str] | None = None,
) -> str:
    """Return the file's text.

    `records` are those that `wanted` asked for; a study that they lack is shown without its
    reports, and with what `commands` says to type, the study's id after it. The same input
    gives the same text.
    """
    title = f"Comparison of {len(c.panel.models)} models"
    parts = [opening(MARK, title, script(), style(), images="blob:")]
    parts += [element(*piece) for piece in page_data(c, records, figures, commands or {})]
    return "".join([*parts, closing(script())])


def page_data(
    c: Comparison,
    records: Records,
    figures: Sequence[PageFigure],
    commands: Mapping[tuple[str, str], str],
) -> Iterator[tuple[str, str]]:
    """Yield each piece of the page's data: its name, and gzip in base64 of JSON or of codes."""
    codes = {metric.name: coded(c.panel.values[metric.name]) for metric in c.panel.metrics}
    n_records = sum(map(len, records.values()))
    titles = [{"title": figure.title, "caption": figure.caption} for figure in figures]
    yield "overview", packed_json({**overview(c, commands, n_records), "figures": titles})
    yield "columns", packed_json(columns(c, codes, records))
    for at, metric in enumerate(c.panel.metrics):
        yield f"values-{at}", packed(codes[metric.name].data)
    for at, packet in enumerate(packets(c, records)):
        yield f"packet-{at}", packed_json(packet)
    for at, figure in enumerate(figures):
        yield f"figure-{at}", packed(figure.svg.encode())


@cache
def script() -> str:
    """Return all scripts as one module."""
    return joined(_asset(name) for name in SCRIPTS)


@cache
def style() -> str:
    """Return all style sheets as one."""
    return "\n".join(_asset(name) for name in STYLES)


def _asset(name: str) -> str:
    """Return a script or style sheet of this page, or one that it shares with a run's."""
    own = _FOLDER / name
    return own.read_text("utf-8") if own.is_file() else asset(name).decode("utf-8")

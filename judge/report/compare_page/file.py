"""The comparison as one HTML file that needs nothing else: no server, no network.

Everything that comes from a report, a model's name or a judge is compressed and written in
base64, so that no text can end the element it stands in; the scripts put text on the page
as text alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from judge.report.compare_page import FRONTEND, data
from judge.report.frontend import as_json
from judge.stats.compare import Comparison

MARK = "<!doctype html><!-- judge compare -->"
"""How such a file begins, so that it is known again."""


def page(
    c: Comparison, records: data.Records, figures: Sequence[data.PageFigure] = ()
) -> Iterator[str]:
    """Yield the file piece by piece.

    `records` are those that `wanted` asked for; a study that they lack is shown without its
    reports. The same input gives the same text.
    """
    title = f"Comparison of {len(c.panel.models)} models"
    return FRONTEND.file(MARK, title, _data(c, records, figures), images="blob:")


def _data(
    c: Comparison, records: data.Records, figures: Sequence[data.PageFigure]
) -> Iterator[tuple[str, bytes]]:
    n_judged = len(c.panel.study_ids) * len(c.panel.models) * len(data.rubric_names(c))
    n_records = {"here": sum(map(len, records.values())), "all": n_judged}
    yield "overview", as_json({**data.overview(c), "records": n_records})
    yield "columns", as_json({**data.columns(c), "packets": data.packet_of_each(c, records)})
    for number, metric in enumerate(c.panel.metrics):
        yield f"values-{number}", data.values(c, metric)
    for number, packet in enumerate(data.packets(c, records)):
        yield f"packet-{number}", as_json(packet)
    yield "figures", as_json([figure.words for figure in figures])
    for number, figure in enumerate(figures):
        yield f"figure-{number}", figure.svg.encode()

"""Judges beside readers as one HTML file that needs nothing else: no server, no network.

Everything that comes from a report, a name or a judge is compressed and written in base64, so
that no text can end the element it stands in; the scripts put text on the page as text alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from judge.report.frontend import as_json
from judge.report.validate_page import FRONTEND, data

MARK = "<!doctype html><!-- judge validate -->"
"""How such a file begins, so that it is known again."""


def page(of: data.Beside, rows: Sequence[int], records: data.Records) -> Iterator[str]:
    """Yield the file piece by piece; `records` are those of the studies in `rows`.

    A study without them is shown with its counts alone. The same input gives the same text.
    """
    return FRONTEND.file(MARK, "Judges and readers", _data(of, rows, records))


def _data(
    of: data.Beside, rows: Sequence[int], records: data.Records
) -> Iterator[tuple[str, bytes]]:
    yield "overview", as_json(data.overview(of, rows))
    yield "columns", as_json(data.columns(of, rows))
    for number, name in enumerate(of.counted):
        yield f"counts-{number}", data.counted(of, name)
    for number, packet in enumerate(data.packets(of, rows, records)):
        yield f"packet-{number}", as_json(packet)

"""The comparison as one HTML file that needs nothing else: no server, no network.

Everything that comes from a report, a model's name or a judge is compressed and written in
base64, so that no text can end the element it stands in; the scripts put text on the page
as text alone.
"""

from __future__ import annotations

import html
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from judge.report.compare_page.data import Records, columns, overview, packets
from judge.report.compare_page.figure import PageFigure
from judge.report.compare_page.packing import coded, packed, packed_json
from judge.stats.compare import Comparison

MARK = "<!doctype html><!-- judge compare -->"
"""How such a file begins, so that it is known again."""

STYLES = ("base.css", "compare.css")
SCRIPTS = (
    *("dom.js", "words.js", "store.js", "board.js", "pairs.js", "studies.js", "study.js"),
    *("figures.js", "main.js"),
)
"""ES modules, each importing only from those before it."""

_FOLDER = Path(__file__).parent / "static"
_IMPORT = re.compile(r"^import \{[^}]*\} from \"\./[a-z]+\.js\";\n", re.M)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|let|class) )", re.M)


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
    title = html.escape(f"Comparison of {len(c.panel.models)} models")
    policy = (
        f"default-src 'none'; script-src {_hash(script())}; style-src {_hash(style())}; "
        "img-src blob:; base-uri 'none'; form-action 'none'"
    )
    head = (
        f'{MARK}\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>{style()}</style>\n</head>\n<body>\n"
        "<noscript>This page shows its tables with JavaScript, which is switched off."
        "</noscript>\n"
    )
    parts = [head]
    parts += [
        f'<script type="text/plain" id="{name}">{text}</script>\n'
        for name, text in page_data(c, records, figures, commands or {})
    ]
    # Last, so that all data stand before the script that reads them.
    parts.append(f'<script type="module">{script()}</script>\n</body>\n</html>\n')
    return "".join(parts)


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
    """Return all scripts as one module.

    They share no name at their top level, so that taking the words `import` and `export`
    away joins them.
    """
    text = "\n".join(_EXPORT.sub("", _IMPORT.sub("", _asset(name))) for name in SCRIPTS)
    if re.search(r"^(?:import|export)\b", text, re.M) or re.search(r"</script|<!--", text, re.I):
        raise ValueError("a script of the page is not in the form that can be joined")
    return text


@cache
def style() -> str:
    """Return all style sheets as one."""
    return "\n".join(_asset(name) for name in STYLES)


def _asset(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")


def _hash(text: str) -> str:
    """Return `text`'s hash as a Content-Security-Policy names it."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

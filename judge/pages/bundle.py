"""Scripts, styles and data of a page: files for the service, or one HTML file with all in it."""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from judge.tables.run import run_document

if TYPE_CHECKING:
    from judge.running.folder import Run

PACKET = 50
"""Studies in a packet: neighbours are unpacked together, and more of them compress better."""
_STATIC = Path(__file__).parent / "static"
_IMPORT = re.compile(r"^import \{[^}]*\} from \"\./[a-z]+\.js\";\n", re.M)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|let|class) )", re.M)
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


@dataclass(frozen=True)
class Frontend:
    """Style sheets and ES modules, each importing from those before it; the last starts the page.

    A file is taken from the first of `folders` that has it.
    """

    folders: tuple[Path, ...]
    styles: tuple[str, ...]
    scripts: tuple[str, ...]

    @cached_property
    def files(self) -> dict[str, bytes]:
        """The content of each file by its name."""
        paths = {path.name: path for folder in self.folders[::-1] for path in folder.iterdir()}
        return {name: paths[name].read_bytes() for name in (*self.styles, *self.scripts)}

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits over all files, for an address that a browser may keep."""
        digest = hashlib.sha256()
        for name, content in self.files.items():
            digest.update(name.encode() + b"\0" + content + b"\0")
        return digest.hexdigest()[:16]

    @cached_property
    def script(self) -> str:
        """All modules joined to one, which works since they share no name at their top level."""
        modules = (self.files[name].decode() for name in self.scripts)
        text = "\n".join(_EXPORT.sub("", _IMPORT.sub("", module)) for module in modules)
        if re.search(r"^(?:import|export)\b", text, re.M) or re.search(r"</script|<!--", text):
            raise ValueError("a script of the page is not in the form that can be joined")
        return text

    @cached_property
    def style(self) -> str:
        """All style sheets as one."""
        return "\n".join(self.files[name].decode() for name in self.styles)


RESULTS = Frontend(
    (_STATIC,),
    styles=("style.css",),
    scripts=(
        *("dom.js", "load.js", "format.js", "keys.js", "list.js", "study.js", "app.js"),
        *("review.js", "run.js", "comparison.js", "stress.js", "validation.js", "runs.js"),
    ),
)
READING = Frontend(
    (_STATIC / "reading", _STATIC),
    styles=("style.css", "read.css"),
    scripts=(
        *("dom.js", "load.js", "format.js", "keys.js", "marks.js", "report.js"),
        *("lines.js", "image.js", "saver.js", "editor.js", "practice.js", "main.js"),
    ),
)
"""The page of blind reading: no script that asks for a judge's verdicts."""


def page_file(mark: str, view: str, title: str, data: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    """Yield the page of a view as one file, part by part, with each piece of `data` by its name.

    `mark` is the first line, by which the program knows its own files. The policy allows the
    page its own script and style and images that it holds.
    """
    policy = (
        f"default-src 'none'; script-src {source_hash(RESULTS.script)}; "
        f"style-src {source_hash(RESULTS.style)}; img-src blob:; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    yield (
        f'{mark}\n<html lang="en" data-mode="file" data-view="{view}">\n<head>\n'
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{html.escape(title)}</title>\n<style>{RESULTS.style}</style>\n</head>\n<body>\n"
        "<noscript>This page shows its data with JavaScript, which is off.</noscript>\n"
    )
    for name, content in data:
        # In base64 no text can end the element that holds it.
        text = b64encode(gzip.compress(content, 6, mtime=0)).decode()
        yield f'<script type="text/plain" id="data-{name}">{text}</script>\n'
    yield f'<script type="module">{RESULTS.script}</script>\n</body>\n</html>\n'


def content_type(name: str) -> str:
    """Return the media type of a style sheet or a script."""
    return _TYPES[Path(name).suffix]


def as_json(value: object) -> bytes:
    """Return a value as JSON, half a surrogate pair as `?`; raises ValueError for NaN."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace")


def source_hash(text: str) -> str:
    """Return the hash of `text` as a Content-Security-Policy names it."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def site_index(mark: str, runs: Mapping[str, Run], *, has_comparison: bool) -> Iterator[str]:
    """Yield the index of a folder of pages; `runs` are by the names of their pages."""
    yield (
        f'{mark}\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f'style-src {source_hash(RESULTS.style)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Runs</title>\n<style>{RESULTS.style}</style>\n</head>\n<body>\n"
        '<header class="top"><h1>Runs</h1></header>\n<main>\n'
    )
    if has_comparison:
        yield '<p><a href="comparison.html">Comparison of the models</a></p>\n'
    for name, run in runs.items():
        document = run_document(run.summary(), run.rubric)
        facts = "".join(
            f"<div><dt>{html.escape(label)}</dt><dd><bdi>{html.escape(value)}</bdi></dd></div>"
            for label, value in document.head
        )
        title = html.escape(document.title)
        yield f'<h2><a href="{quote(name)}">{title}</a></h2>\n<dl class="facts">{facts}</dl>\n'
    yield "</main>\n</body>\n</html>\n"

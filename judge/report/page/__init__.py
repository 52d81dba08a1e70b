"""The page: its scripts and styles, written by hand, and the file that holds a whole run."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

STYLES = ("base.css", "overview.css", "studies.css", "study.css")
"""Style sheets, in the order in which they are to be read."""

SCRIPTS = (
    "dom.js",
    "words.js",
    "filtering.js",
    "packed.js",
    "embedded.js",
    "http.js",
    "figures.js",
    "overview.js",
    "filters.js",
    "list.js",
    "marks.js",
    "study.js",
    "review.js",
    "keys.js",
    "runs.js",
    "main.js",
)
"""ES modules, each importing only from those before it."""

MAIN = SCRIPTS[-1]
"""The module that starts the page."""

_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
_FOLDER = Path(__file__).parent / "static"


@cache
def asset(name: str) -> bytes:
    """Return a style sheet or a script; raises KeyError for any name but those listed."""
    if name not in STYLES and name not in SCRIPTS:
        raise KeyError(name)
    return (_FOLDER / name).read_bytes()


def content_type(name: str) -> str:
    """Return the media type of a style sheet or a script."""
    return _TYPES[Path(name).suffix]


@cache
def asset_digest() -> str:
    """Return 16 hexadecimal digits over all of them, so that a browser may keep them for good."""
    digest = hashlib.sha256()
    for name in (*STYLES, *SCRIPTS):
        digest.update(name.encode() + b"\0" + asset(name) + b"\0")
    return digest.hexdigest()[:16]

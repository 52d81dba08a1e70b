"""Scripts, styles and data of a page: files for the service, or one HTML file with all in it."""

from __future__ import annotations

import gzip
import hashlib
import html
import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel

MARK = "<!doctype html><!-- judge page -->"
"""How each file of ours begins, so that it is known again and may be replaced."""
PACKET = 50
"""Studies that are unpacked together."""
_STATIC = Path(__file__).parent / "static"


@dataclass(frozen=True)
class Frontend:
    """The script and the style sheet of a page; `web/` has the sources of the script."""

    name: str

    @cached_property
    def script(self) -> str:
        """The ES module that starts the page, with all that it needs."""
        text = (_STATIC / f"{self.name}.js").read_text("utf-8")
        for end in ("</script", "<!--"):
            if end in text:
                raise ValueError(f"{self.name}.js has {end}, which ends its element")
        return text

    @cached_property
    def style(self) -> str:
        """The style sheet."""
        return (_STATIC / "style.css").read_text("utf-8")

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits over both, for an address that a browser may keep."""
        return hashlib.sha256((self.script + self.style).encode()).hexdigest()[:16]


RESULTS = Frontend("results")
READING = Frontend("reading")
"""The page of blind reading: no script that asks for a judge's verdicts."""


def page_file(
    view: str, title: str, data: Iterable[tuple[str, bytes]]
) -> Iterator[str]:
    """Yield the page of a view as one file with each piece of `data`; it begins with `MARK`."""
    policy = (
        f"default-src 'none'; script-src {source_hash(RESULTS.script)}; "
        f"style-src {source_hash(RESULTS.style)}; img-src blob:; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    yield (
        f'{MARK}\n<html lang="en" data-mode="file" data-view="{view}">\n<head>\n'
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


def static_page(title: str, body: Iterable[str]) -> Iterator[str]:
    """Yield a page without scripts as one file; `body` is HTML, and `title` plain text."""
    heading = html.escape(title)
    yield (
        f'{MARK}\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f'style-src {source_hash(RESULTS.style)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{heading}</title>\n<style>{RESULTS.style}</style>\n</head>\n<body>\n"
        f'<header class="top"><h1>{heading}</h1></header>\n<main>\n'
    )
    yield from body
    yield "</main>\n</body>\n</html>\n"


def facts_list(facts: Iterable[tuple[str, str]]) -> str:
    """Return facts, each a label and a text, as HTML."""
    entries = "".join(
        f"<div><dt>{html.escape(label)}</dt><dd><bdi>{html.escape(value)}</bdi></dd></div>"
        for label, value in facts
    )
    return f'<dl class="facts">{entries}</dl>\n'


def as_json(value: object) -> bytes:
    """Return a value as JSON, half a surrogate pair as `?`; raises ValueError for NaN.

    Models, by themselves or within others, are written with all their fields.
    """
    text = json.dumps(
        value,
        ensure_ascii=False,
        separators=(",", ":"),
        allow_nan=False,
        default=_plain_model,
    )
    return text.encode("utf-8", "replace")


def _plain_model(value: object) -> dict[str, object]:
    if isinstance(value, BaseModel):
        return value.model_dump()
    raise TypeError(f"a page cannot hold {value!r:.80}")


def source_hash(text: str) -> str:
    """Return the hash of `text` as a Content-Security-Policy names it."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

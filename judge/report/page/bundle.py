"""The scripts and styles as one piece each, for a page that must do without a server."""

from __future__ import annotations

import html
import re
from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256

from judge.report.page import SCRIPTS, STYLES, asset

_IMPORT = re.compile(r"^import \{[^}]*\} from \"\./[a-z]+\.js\";\n", re.M)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|let|class) )", re.M)


def joined(scripts: Iterable[str]) -> str:
    """Return ES modules as one.

    They share no name at their top level, and each imports from those before it, so that
    taking the words `import` and `export` away joins them. Raises ValueError for a script
    in another form.
    """
    text = "\n".join(_EXPORT.sub("", _IMPORT.sub("", script)) for script in scripts)
    if re.search(r"^(?:import|export)\b", text, re.M) or re.search(r"</script|<!--", text, re.I):
        raise ValueError("a script of the page is not in the form that can be joined")
    return text


@cache
def script() -> str:
    """Return all scripts of a run's page as one module."""
    return joined(asset(name).decode("utf-8") for name in SCRIPTS)


@cache
def style() -> str:
    """Return all its style sheets as one."""
    return "\n".join(asset(name).decode("utf-8") for name in STYLES)


def opening(mark: str, title: str, script: str, style: str, *, images: str = "") -> str:
    """Return a file's beginning: what it may do, its title and style, and a word without script.

    It may run `script`, draw with `style`, and nothing else; `images` names where images
    may come from.
    """
    policy = (
        f"default-src 'none'; script-src {source_hash(script)}; style-src {source_hash(style)}; "
        f"{f'img-src {images}; ' if images else ''}base-uri 'none'; form-action 'none'"
    )
    return (
        f'{mark}\n<html lang="en" data-mode="file">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        "<noscript>This page shows its data with JavaScript, which is switched off.</noscript>\n"
    )


def closing(script: str) -> str:
    """Return a file's end: the script stands last, so that all data stand before it."""
    return f'<script type="module">{script}</script>\n</body>\n</html>\n'


def source_hash(text: str) -> str:
    """Return `text`'s hash as a Content-Security-Policy names it."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

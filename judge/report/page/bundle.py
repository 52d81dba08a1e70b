"""The scripts and styles as one piece each, for a page that must do without a server."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256

from judge.report.page import SCRIPTS, STYLES, asset

_IMPORT = re.compile(r"^import \{[^}]*\} from \"\./[a-z]+\.js\";\n", re.M)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|let|class) )", re.M)


@cache
def script() -> str:
    """Return all scripts as one module.

    They share no name at their top level, and each imports from those before it, so that
    taking the words `import` and `export` away joins them.
    """
    text = "\n".join(
        _EXPORT.sub("", _IMPORT.sub("", asset(name).decode("utf-8"))) for name in SCRIPTS
    )
    if re.search(r"^(?:import|export)\b", text, re.M) or re.search(r"</script|<!--", text, re.I):
        raise ValueError("a script of the page is not in the form that can be joined")
    return text


@cache
def style() -> str:
    """Return all style sheets as one."""
    return "\n".join(asset(name).decode("utf-8") for name in STYLES)


def source_hash(text: str) -> str:
    """Return `text`'s hash as a Content-Security-Policy names it."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

"""Data as a page holds them: JSON, and in a file compressed, in letters that end no element."""

from __future__ import annotations

import base64
import gzip
import json


def as_json(value: object) -> bytes:
    """Return a value as JSON; a number that is no number raises ValueError.

    Half a surrogate pair, which no file can hold, becomes `?`.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace")


def element(name: str, data: bytes) -> str:
    """Return the element that holds `data` under `name`; the same data always give the same."""
    text = base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()
    return f'<script type="text/plain" id="data-{name}">{text}</script>\n'

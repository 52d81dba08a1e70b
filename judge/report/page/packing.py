"""Data as a page in a file holds it: compressed, and in letters that end no element."""

from __future__ import annotations

import base64
import gzip
import json


def packed(data: bytes) -> str:
    """Return bytes as base64 of gzip; the same bytes always give the same text."""
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()


def packed_json(value: object) -> str:
    """Return a value as JSON, packed; a number that is no number raises ValueError."""
    return packed(as_json(value))


def as_json(value: object) -> bytes:
    """Return a value as JSON; half a surrogate pair, which no file can hold, becomes `?`."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace")


def element(name: str, text: str) -> str:
    """Return the element that holds a packed piece of data under `name`."""
    return f'<script type="text/plain" id="{name}">{text}</script>\n'

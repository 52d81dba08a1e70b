"""Python's way to write what JSON can hold, and trailing commas, as JSON.

Only the notation is changed, value by value: single quotes, None, True and False, tuples, keys
without quotes, a comma before a closing bracket. No comma or bracket, and no quote of a text, is
ever put in where one is missing: what is not JSON after this is refused as before.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""(?P<double>"(?:[^"\\]|\\.)*")|(?P<single>'(?:[^'\\]|\\.)*')|(?P<word>[A-Za-z_]+)"""
    r"""|(?P<mark>[\[\](){},:])|(?P<other>[^\s"'\[\](){},:A-Za-z_]+)|(?P<space>\s+)""",
    re.S,
)
_WORDS = {"None": "null", "True": "true", "False": "false"}
_COLON = re.compile(r"\s*:")
_CLOSED_BY = {"[": "]", "(": ")", "{": "}"}
_AS_LIST = {"(": "[", ")": "]"}
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(.))|(\")", re.S)


def as_json(text: str, start: int) -> tuple[str, int] | None:
    """Return the literal that begins at `start` as JSON, and where it ends in `text`.

    None where its brackets do not close in order or a quotation does not end.
    """
    written: list[str] = []
    closing: list[str] = []
    comma, is_value = False, False  # a comma that waits; whether a value stands before it
    at = start
    while match := _TOKEN.match(text, at):
        kind, token, at = match.lastgroup, match[0], match.end()
        if kind == "space":
            continue
        closes = token in _CLOSED_BY.values()
        if comma and not closes:
            written.append(",")
        comma = match["mark"] == "," and is_value
        if kind in ("single", "double"):
            token = '"' + _ESCAPE.sub(_escape, token[1:-1]) + '"'
        elif kind in ("word", "other") and _COLON.match(text, at):
            token = f'"{token}"'
        elif kind == "word":
            token = _WORDS.get(token, token)
        elif closes:
            if not closing or closing.pop() != token:
                return None
        elif token in _CLOSED_BY:
            closing.append(_CLOSED_BY[token])
        is_value = closes or (kind != "mark")
        # A space keeps two tokens apart that stood apart: neither is part of the other.
        written += () if comma else (_AS_LIST.get(token, token), " ")
        if not closing:
            return "".join(written), at
    return None


def _escape(found: re.Match[str]) -> str:
    code, char, quote = found.groups()
    if code:
        return f"\\u00{code}"
    if quote:
        return r"\""
    return "'" if char == "'" else f"\\{char}"

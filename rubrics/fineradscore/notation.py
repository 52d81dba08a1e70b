"""Finds the JSON in an answer, with every key that stands in it, and refuses what is in doubt."""

from __future__ import annotations

import json
import re
from typing import Any

from judge.types import UnparsedError

Pairs = list[tuple[str, Any]]
"""A JSON object as it was written: a key that stands twice is there twice."""

_FENCED = re.compile(r"^[ \t]*```[\w-]*[ \t]*\n(.*?)^[ \t]*```[ \t]*$", re.M | re.S)
_OPENING = re.compile(r"[{\[]")


class Object:
    """A JSON object with its pairs in the order of the text."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs

    def once(self) -> dict[str, Any]:
        """Return it as a dict; raises `UnparsedError` for a key that stands twice."""
        found = dict(self.pairs)
        if len(found) != len(self.pairs):
            raise UnparsedError("duplicate key", ", ".join(key for key, _ in self.pairs))
        return found


def read_json(text: str) -> Object | list[Any]:
    """Return the one JSON object or list in `text`.

    It may stand in a fence or among words. Raises `UnparsedError` for no JSON, for JSON that
    breaks off (it is never completed), and for a second one beside it.
    """
    fenced = _FENCED.findall(text)
    if len(fenced) > 1:
        raise UnparsedError("several answers", f"{len(fenced)} fenced blocks")
    around = ""
    if fenced and not text.lstrip().startswith(("{", "[")):
        around = _FENCED.sub("", text)
        text = fenced[0]
    start = _OPENING.search(text)
    if start is None:
        raise UnparsedError("no JSON", "the answer holds no JSON object")
    try:
        value, end = _DECODER.raw_decode(text, start.start())
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or "Unterminated" in error.msg
        raise UnparsedError("cut short" if cut else "not JSON", str(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnparsedError("not JSON", str(error)) from error
    if _OPENING.search(around + text[end:]):
        raise UnparsedError("several answers", "more stands beside the JSON")
    if not isinstance(value, Object | list):
        raise UnparsedError("unexpected form", "neither an object nor a list")
    return value


def plain(value: Any) -> Any:  # noqa: ANN401 - JSON is any of a few types
    """Return `value` with dicts for objects; raises `UnparsedError` for a key that stands twice."""
    if isinstance(value, Object):
        return {key: plain(item) for key, item in value.once().items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def _no_constant(name: str) -> Any:  # noqa: ANN401
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=Object, parse_constant=_no_constant)

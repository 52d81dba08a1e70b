"""The reply format of the original FineRadScore: an object of lines, "None" for an insertion."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from judge.rubrics.fineradscore.notation import Pairs, plain
from judge.types import UnparsedError

_LINE = re.compile(r"\s*\[?\s*(\d{1,6})\s*\]?\s*")
_INSERTION = re.compile(r"\s*none(?:[\s_-]*\d+)?\s*", re.I)
_FAILED = "failed"
_NOTHING = "[delete]"

_FIELDS = {
    "corrected": ("corrections", "correction", "corrected"),
    "severity": ("clinical severity", "severity", "clinical_severity"),
    "categories": ("error category", "error categories", "error_category", "categories"),
    "comment": ("comments", "comment"),
}
"""Our name of each field and the names that it has there."""


def corrections(pairs: Pairs) -> list[dict[str, Any]]:
    """Return the corrections in an object of lines, each as our own format has it.

    Every "None" key is an insertion of its own. Raises `UnparsedError` for a key that is no
    line, the mark of a failed answer, and an entry without one of its fields.
    """
    return [_correction(key, value) for key, value in pairs]


def _correction(key: str, value: object) -> dict[str, Any]:
    if key.strip().lower() == _FAILED:
        raise UnparsedError("judge failed", "the answer is the mark of a failed one")
    entry = plain(value)
    if not isinstance(entry, Mapping):
        raise UnparsedError("unexpected form", f"{key!r} is no correction")
    fields = {name: _field(entry, name, key) for name in _FIELDS}
    text = fields["corrected"]
    deletes = isinstance(text, str) and text.strip().lower() == _NOTHING
    if _INSERTION.fullmatch(key):
        return {**fields, "line": None, "edit": "insert"}
    number = _LINE.fullmatch(key)
    if number is None:
        raise UnparsedError("line off the report", f"{key!r} is no line number")
    return {**fields, "line": int(number[1]), "edit": "delete" if deletes else "change"}


def _field(entry: Mapping[str, Any], name: str, key: str) -> object:
    found = [value for given, value in entry.items() if given.strip().lower() in _FIELDS[name]]
    if len(found) != 1:
        raise UnparsedError("missing field" if not found else "duplicate key", f"{key}: {name}")
    return found[0]

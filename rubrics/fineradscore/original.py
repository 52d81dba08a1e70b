"""The reply format of the original FineRadScore: an object of lines, "None" for an insertion."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from judge.rubrics.fineradscore.notation import Pairs, plain
from judge.rubrics.fineradscore.scale import deletes
from judge.types import UnparsedError

_LINE = re.compile(r"\W*(?:line\s*)?([0-9]{1,6})\W*", re.I)
_INSERTION = re.compile(r"\W*(?:none|null)(?:[\s_-]*[0-9]+)?\W*", re.I)
_FAILED = "failed"

_FIELDS = {
    "corrected": ("corrections", "correction", "corrected"),
    "severity": ("clinical severity", "severity", "clinical_severity"),
    "categories": ("error category", "error categories", "error_category", "categories"),
    "comment": ("comments", "comment"),
}
"""Our name of each field and the names that it has there."""


def corrections(pairs: Pairs) -> list[dict[str, Any]]:
    """Return the corrections in an object of lines, each as our own format has it.

    Every "None" key is an insertion of its own, and so is each entry of a list under one.
    Raises `UnparsedError` for a key that is no line, the mark of a failed answer, and an
    entry without one of its fields.
    """
    found = []
    for key, value in pairs:
        if key.strip().lower() == _FAILED:
            raise UnparsedError("judge failed", "the answer is the mark of a failed one")
        inserts = _INSERTION.fullmatch(key) is not None
        number = None if inserts else _line(key)
        entries = value if inserts and isinstance(value, list) else [value]
        found += [_correction(key, number, plain(entry)) for entry in entries]
    return found


def _line(key: str) -> int:
    number = _LINE.fullmatch(key)
    if number is None:
        raise UnparsedError("line off the report", f"{key!r} is no line number")
    return int(number[1])


def _correction(key: str, line: int | None, entry: object) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise UnparsedError("unexpected form", f"{key!r} is no correction")
    fields = {name: _field(entry, name, key) for name in _FIELDS}
    text = fields["corrected"]
    edit = "insert" if line is None else "delete" if deletes(text) else "change"
    return {**fields, "line": line, "edit": edit}


def _field(entry: Mapping[str, Any], name: str, key: str) -> object:
    found = [value for given, value in entry.items() if given.strip().lower() in _FIELDS[name]]
    if len(found) != 1:
        raise UnparsedError("missing field" if not found else "duplicate key", f"{key}: {name}")
    return found[0]

"""The reply format of the original FineRadScore: an object of lines, "None" for an insertion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.rubrics.fineradscore.fields import fields_of
from judge.rubrics.fineradscore.wording import deletes, line_of
from judge.rubrics.notation import Pairs, plain
from judge.types import UnparsedError

_FAILED = "failed"


def corrections(pairs: Pairs) -> list[dict[str, Any]]:
    """Return the corrections in an object of lines, each as our own format has it.

    Every "None" key is an insertion of its own, and so is each entry of a list under one.
    Raises `UnparsedError` for a key that is no line, the mark of a failed answer, and an
    entry that is no correction.
    """
    found = []
    for key, value in pairs:
        if key.strip().lower() == _FAILED:
            raise UnparsedError("judge failed", "the answer is the mark of a failed one")
        try:
            line = line_of(key)
        except ValueError as error:
            raise UnparsedError("line off the report", str(error)) from error
        entries = value if line is None and isinstance(value, list) else [value]
        found += [_correction(key, line, plain(entry)) for entry in entries]
    return found


def _correction(key: str, line: object, entry: object) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise UnparsedError("unexpected form", f"{key!r} is no correction")
    fields = fields_of(entry, key)
    if fields.get("line", line) != line:
        raise UnparsedError("line off the report", f"{key!r} or {fields['line']!r}")
    edit = "insert" if line is None else "delete" if deletes(fields.get("corrected")) else "change"
    return {"edit": edit, **fields, "line": line}

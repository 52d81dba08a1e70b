"""The fields of a correction, under whatever name and in whichever of the two forms they stand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from judge.rubrics.fineradscore.wording import severity_of
from judge.types import UnparsedError

_NAMES = {
    "line": ("line", "line number"),
    "edit": ("edit", "action", "operation"),
    "corrected": ("corrected", "corrections", "correction", "corrected line", "corrected text"),
    "severity": ("severity", "clinical severity"),
    "categories": ("categories", "category", "error categories", "error category"),
    "comment": ("comment", "comments"),
}
"""Our name of each field and the names that it has, the original's among them."""


def plain_key(key: str) -> str:
    """Return a key in lower case with single spaces between its words."""
    return " ".join(re.split(r"[\W_]+", key.lower())).strip()


def fields_of(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the fields of a correction by our names; what is none of them is left out.

    A comment that is missing is an empty one. Raises `UnparsedError` for a field that
    stands twice and differs, and for a severity beside the severity that is another.
    """
    found: dict[str, Any] = {"comment": ""}
    for name, names in _NAMES.items():
        values = [value for key, value in entry.items() if plain_key(key) in names]
        if name != "severity" and any(value != values[0] for value in values):
            raise UnparsedError("duplicate key", f"{where}: {name}")
        if values:
            found[name] = values[0]
    severities = {severity_of(v) for key, v in entry.items() if "severity" in plain_key(key)}
    if len(severities - {None}) > 1:
        raise UnparsedError("severity off the scale", f"{where}: two that differ")
    return found

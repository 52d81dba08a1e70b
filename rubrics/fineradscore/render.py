"""Writes an annotation as the reply that a judge would give."""

from __future__ import annotations

import json

from judge.rubrics.categories import CATEGORY, ERROR
from judge.rubrics.fineradscore.measures import NAMES, SEVERITY
from judge.rubrics.fineradscore.wording import LEFT_OUT
from judge.types import Annotation, Item


def render(annotation: Annotation) -> str:
    """Return the annotation as JSON, a line a correction.

    The inverse of `parse`: where it left out a correction that changes nothing, there is one.
    Raises ValueError for an annotation that no reply expresses: an error without an edit or
    a category, matched findings, an explanation.
    """
    left_out = annotation.warnings == (LEFT_OUT,) and bool(annotation.items)
    others = () if left_out else annotation.warnings
    if annotation.explanation or annotation.stated_counts or annotation.values or others:
        raise ValueError("FineRadScore has corrections and nothing beside them")
    entries = [_entry(item) for item in annotation.items] + [_NOTHING] * left_out
    written = ",\n  ".join(map(json.dumps, entries))
    return f'{{"corrections": [\n  {written}\n]}}' if entries else '{"corrections": []}'


_NOTHING: dict[str, object] = {
    "line": None,
    "edit": "insert",
    "corrected": "No correction needed.",
    "severity": 1,
    "categories": ["a"],
    "comment": "",
}


def _entry(error: Item) -> dict[str, object]:
    categories = error.labels.get(CATEGORY.name)
    if error.kind != ERROR or error.edit is None or not categories:
        raise ValueError(f"a correction has an edit and a category: {error.text}")
    return {
        "line": error.edit.line,
        "edit": error.edit.kind,
        "corrected": error.edit.corrected,
        "severity": NAMES.index(error.label(SEVERITY.name)) + 1,
        "categories": list(categories),
        "comment": error.text,
    }

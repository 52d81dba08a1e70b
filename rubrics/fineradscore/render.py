"""From an annotation to the answer that a judge would give."""

from __future__ import annotations

import json

from judge.rubrics.categories import CATEGORY, ERROR
from judge.rubrics.fineradscore.measures import NAMES, SEVERITY
from judge.types import Annotation, Item

def render(annotation: Annotation) -> str:
    """Return the annotation as JSON, a line a correction.

    The inverse of `parse`. Raises ValueError for an annotation that no reply expresses: an error
    without an edit or a category, matched findings, an explanation.
    """
    if annotation != Annotation(annotation.items):
        raise ValueError("FineRadScore has corrections and nothing beside them")
    entries = [_entry(item) for item in annotation.items]
    written = ",\n  ".join(map(json.dumps, entries))
    return f'{{"corrections": [\n  {written}\n]}}' if entries else '{"corrections": []}'


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

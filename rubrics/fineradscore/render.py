"""Writes an annotation as the reply that a judge would give."""

from __future__ import annotations

import json

from judge.rubrics.fineradscore.scale import NAMES
from judge.types import Annotation, Error


def render(annotation: Annotation) -> str:
    """Return the annotation as JSON, a line a correction.

    The inverse of `parse`. Raises ValueError for an annotation that no reply expresses: an
    error without an edit or a category, matched findings, an explanation.
    """
    if annotation.matched or annotation.explanation or annotation.stated or annotation.remarks:
        raise ValueError("FineRadScore has corrections and nothing beside them")
    entries = ",\n  ".join(json.dumps(_entry(error)) for error in annotation.errors)
    return f'{{"corrections": [\n  {entries}\n]}}' if entries else '{"corrections": []}'


def _entry(error: Error) -> dict[str, object]:
    if error.edit is None or not error.categories:
        raise ValueError(f"a correction has an edit and a category: {error.text}")
    return {
        "line": error.edit.line,
        "edit": error.edit.kind,
        "corrected": error.edit.corrected,
        "severity": NAMES.index(error.level) + 1,
        "categories": [category.value for category in error.categories],
        "comment": error.text,
    }

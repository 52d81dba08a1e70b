"""Applies an annotation's edits to the candidate."""

from __future__ import annotations

from collections import defaultdict

from judge.sentences import sentences
from judge.types import Annotation, Edit, Study


def corrected(annotation: Annotation, study: Study) -> str:
    """Return the candidate with every correction made; unchanged text stays as it is."""
    text = study.candidate
    spans = sentences(text)
    changed: dict[int, Edit] = {}
    inserted: dict[int, list[str]] = defaultdict(list)
    for error in annotation.errors:
        edit = error.edit
        if edit is None:
            continue
        if edit.kind == "insert":
            at = len(spans) if edit.line is None else edit.line
            inserted[at].append(edit.corrected)
        elif edit.line is not None:
            changed[edit.line] = edit
    parts: list[str] = []
    end = 0
    for at, (start, stop) in enumerate(spans):
        gap, line = text[end:start], text[start:stop]
        for new in inserted[at]:
            _put(parts, new, gap)
        edit = changed.get(at)
        if edit is None or edit.kind == "change":
            _put(parts, edit.corrected if edit else line, gap)
        end = stop
    for new in inserted[len(spans)]:
        _put(parts, new, "")
    return "".join(parts) + text[end:]


def _put(parts: list[str], line: str, gap: str) -> None:
    """Append a line after the gap that stood before it, or a space where there was none."""
    parts.append(gap or (" " if parts else ""))
    parts.append(line)

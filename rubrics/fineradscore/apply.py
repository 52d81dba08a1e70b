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
    for item in annotation.items:
        edit = item.edit
        if edit is None:
            continue
        if edit.kind == "insert":
            at = len(spans) if edit.line is None else edit.line
            inserted[at].append(edit.corrected)
        elif edit.line is not None:
            changed[edit.line] = edit
    parts: list[str] = []
    end, touched = 0, False
    for at, (start, stop) in enumerate(spans):
        gap = text[end:start]
        for new in inserted[at]:
            parts.append(gap or _space(parts))
            parts.append(new)
            touched = True
        edit = changed.get(at)
        touched = touched or edit is not None
        if edit is None or edit.kind == "change":
            # Lines that stood without a space between them stay so where nothing is changed.
            parts.append(gap or (_space(parts) if touched else ""))
            parts.append(edit.corrected if edit else text[start:stop])
            touched = edit is not None
        end = stop
    for new in inserted[len(spans)]:
        parts += [_space(parts), new]
    return "".join(parts) + text[end:]


def _space(parts: list[str]) -> str:
    return " " if parts else ""

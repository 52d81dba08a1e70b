"""What a run's files must hold: the shape of each, and what is wrong with one that has not got it.

A shape is a type, several of which one must fit, a list of one shape, an object of names
and shapes, which may hold more, or, as `{str: shape}`, one of any names and one shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.rubrics import Rubric
from judge.stats.table import OUTCOMES
from judge.types import Category

FORMAT = 1
"""The form of a run's files that this program writes and reads."""

_TEXT = (str, type(None))
_NUMBER = (int, float, type(None))
_JUDGE = {"name": str, "version": str, "note": _TEXT}
_MADE_BY = {"signature": str, "rubric": str, "judge": _JUDGE, "prompt": _TEXT, "section": str}

MANIFEST = {
    **_MADE_BY,
    "fields": [str],
    "inputs": [{"path": str, "role": str, "sha256": str}],
    "arguments": (dict, type(None)),
}
SUMMARY = {
    **_MADE_BY,
    "omitted": {str: int},
    "notes": [str],
    "by": [str],
    "rates": [dict],
    "errors": [dict],
    "levels": dict,
    "scores": dict,
    **dict.fromkeys(("n_studies", "n_scored", "n_unparsed", "n_failed", "n_class_inferred"), int),
}
_EDIT = {"kind": str, "line": (int, type(None)), "corrected": str}
_ANNOTATION = {
    "errors": [{"categories": [str], "level": str, "text": str, "edit": (_EDIT, type(None))}],
    "matched": [str],
    "explanation": str,
    "stated": dict,
    "remarks": [str],
}
_USAGE = ({"prompt_tokens": int, "completion_tokens": int}, type(None))
_RECORD = {
    "study_id": str,
    "study_class": _TEXT,
    "class_inferred": bool,
    "fields": dict,
    "reference": str,
    "candidate": str,
    "outcome": str,
    "attempt": int,
    "answer": ({"text": str, "finish_reason": str, "model": str, "usage": _USAGE}, type(None)),
}
_UNSCORED = {
    "reason": str,
    "detail": _TEXT,
    **dict.fromkeys(("annotation", "scores", "counts"), type(None)),
}
_CATEGORIES = frozenset(map(str, Category))
_WORDS = {str: "text", int: "number", dict: "object", bool: "truth value", type(None): "null"}


def fault(value: object, shape: Any, what: str = "it") -> str | None:  # noqa: ANN401
    """Return what is wrong with `value`, in a few words, None where it has the shape."""
    if isinstance(shape, Mapping):
        if not isinstance(value, Mapping):
            return f"{what} is no object"
        parts = dict.fromkeys(value, shape[str]) if str in shape else shape
        for name, part in parts.items():
            if name not in value:
                return f"{what} holds no {name!r}"
            if wrong := fault(value[name], part, repr(name)):
                return wrong
        return None
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{what} is no list"
        found = (fault(each, shape[0], f"a part of {what}") for each in value)
        return next(filter(None, found), None)
    if isinstance(shape, tuple):
        faults = [fault(value, part, what) for part in shape]
        return None if None in faults else faults[0]
    return None if isinstance(value, shape) else f"{what} is no {_WORDS.get(shape, shape.__name__)}"


def record_fault(record: object) -> str | None:
    """Return what is wrong with a study's record, None for a whole one, of whatever version."""
    if wrong := fault(record, _RECORD):
        return wrong
    assert isinstance(record, Mapping)
    if record["outcome"] not in OUTCOMES.values():
        return f"'outcome' is {record['outcome']!r}"
    if record["outcome"] != "annotated":
        return fault(record, _UNSCORED)
    if wrong := fault(record, {"annotation": _ANNOTATION}):
        return wrong
    for error in record["annotation"]["errors"]:
        if not _CATEGORIES.issuperset(error["categories"]):
            return f"there are no categories {error['categories']}"
    return None


def outdated(record: Mapping[str, Any], rubric: Rubric) -> str | None:
    """Return what a whole record lacks of today's rubric, None where it has all."""
    if record["outcome"] != "annotated":
        return None
    scores = {score.name: _NUMBER for score in (*rubric.scores, *rubric.checks)}
    if wrong := fault(record, {"scores": scores, "counts": {"n_matched": _NUMBER}}):
        return wrong
    levels = {level.name for level in rubric.levels}
    odd = next((e for e in record["annotation"]["errors"] if e["level"] not in levels), None)
    return f"{rubric.title} has no level {odd['level']!r}" if odd else None

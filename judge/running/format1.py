"""Runs of format 1, whose only rubrics were GREEN and FineRadScore, in the form of today.

They are opened as they lie; `judge rescore` writes them in today's form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from judge.rubrics.contract import Rubric

COLUMNS = {"remarks": "warnings"}
"""Columns of the table of studies that have another name today."""
FIELDS = {name: f"field_{name}" for name in ("warnings", "statistics")}
"""Fields of the user's whose names are taken today, and what they are called now."""
NAMES = {**COLUMNS, **FIELDS}
GONE = {"n_actionable", "n_matched"}
"""Columns of the table of studies that were empty for a rubric that has no such measure."""


def record_of_today(record: Any, rubric: Rubric) -> Any:  # noqa: ANN401 - anything that is JSON
    """Return a record with its errors and matched findings as items.

    What has not the form of format 1 is given back as it is, for the check to find.
    """
    try:
        scores, counts, old = record["scores"], record["counts"], record["annotation"]
        rest = {name: value for name, value in record.items() if name not in ("scores", "counts")}
        rest = {"cache_key": None, "sha256": None, "earlier": [], **rest}
        rest["fields"] = {FIELDS.get(name, name): v for name, v in record["fields"].items()}
        if old is None:
            return {**rest, "measures": None}
        (graded,) = rubric.graded
        items = [_error(error, graded.name, str(graded.graded_by)) for error in old["errors"]]
        items += [_item("matched", text, {}, None) for text in old["matched"]]
        known = {**scores, **counts}
        return {
            **rest,
            "annotation": {
                "items": items,
                "explanation": old["explanation"],
                "values": {},
                "stated_counts": old["stated"],
                "warnings": old["remarks"],
            },
            "measures": {m.name: known[m.name] for m in rubric.measures if m.name in known},
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        return record


def _error(error: Mapping[str, Any], kind: str, graded_by: str) -> dict[str, Any]:
    labels = {"category": error["categories"], graded_by: [error["level"]]}
    return _item(kind, error["text"], labels, error["edit"])


def _item(kind: str, text: str, labels: Mapping[str, Any], edit: object) -> dict[str, Any]:
    return {"kind": kind, "text": text, "labels": labels, "side": None, "links": [], "edit": edit}


def fields_of_today(fields: Sequence[str]) -> list[str]:
    """Return what fields are called today."""
    return [FIELDS.get(name, name) for name in fields]

"""One study as a page shows it: values of JSON's types, all wording of the rubric's by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judge.report.edits import rows
from judge.report.highlight import Segment, highlights
from judge.rubrics import Rubric


def study_view(record: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    """Return what a page shows of one study's record.

    `reference` and `candidate` are lists of segments, each its text and the numbers of the
    errors that speak of it, from 0. `edits` is the candidate's edit, row by row, None where
    the rubric corrects no lines. `differs` lists the levels whose stated count is not the
    number of errors listed. Levels and categories stand by name; `overview` labels them.
    """
    annotation = record["annotation"]
    errors = annotation["errors"] if annotation else []
    marked = highlights(record["reference"], record["candidate"], errors)
    return {
        "study_id": record["study_id"],
        "study_class": record["study_class"],
        "class_inferred": record["class_inferred"],
        "fields": {name: value for name, value in record["fields"].items() if value is not None},
        "outcome": record["outcome"],
        "reason": record["reason"],
        "detail": record["detail"],
        "scores": record["scores"],
        "reference": _segments(marked.reference),
        "candidate": _segments(marked.candidate),
        "errors": [
            {name: error[name] for name in ("categories", "level", "text", "edit")}
            for error in errors
        ],
        "edits": (
            list(_edits(record["candidate"], errors)) if annotation and rubric.corrected else None
        ),
        "matched": annotation["matched"] if annotation and rubric.has_matched else None,
        "n_matched": record["counts"]["n_matched"] if record["counts"] else None,
        "explanation": annotation["explanation"] if annotation else "",
        "remarks": annotation["remarks"] if annotation else [],
        "differs": stated_otherwise(annotation, rubric) if annotation else [],
        "answer": record["answer"],
        "attempt": record["attempt"],
    }


def stated_otherwise(annotation: Mapping[str, Any], rubric: Rubric) -> list[dict[str, Any]]:
    """Return the levels of which an answer states another number of errors than it lists."""
    if not annotation["stated"]:
        return []
    found = []
    for level in rubric.levels:
        listed = sum(error["level"] == level.name for error in annotation["errors"])
        stated = sum(
            n for key, n in annotation["stated"].items() if key.startswith(f"{level.name}_")
        )
        if stated != listed:
            found.append({"level": level.name, "listed": listed, "stated": stated})
    return found


def search_text(record: Mapping[str, Any]) -> str:
    """Return what a search looks through, in lower case, a line break between its parts.

    The study's id, the values of its fields, both reports, each error with its correction,
    the matched findings, the explanation, and why the study is not scored.
    """
    return "\n".join(_searched(record)).lower()


def _searched(record: Mapping[str, Any]) -> Iterator[str]:
    yield record["study_id"]
    yield from (str(value) for value in record["fields"].values() if value is not None)
    yield record["reference"]
    yield record["candidate"]
    if annotation := record["annotation"]:
        for error in annotation["errors"]:
            yield error["text"]
            if error["edit"]:
                yield error["edit"]["corrected"]
        yield from annotation["matched"]
        yield annotation["explanation"]
    else:
        yield record["reason"] or ""
        yield record["detail"] or ""


def _segments(segments: Sequence[Segment]) -> list[list[Any]]:
    return [[segment.text, list(segment.errors)] for segment in segments]


def _edits(candidate: str, errors: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows(candidate, errors):
        yield {
            "kind": row.kind,
            "line": row.line,
            "before": row.before,
            "after": row.after,
            "error": row.error,
            "diff": row.pieces() if row.kind == "change" else None,
        }

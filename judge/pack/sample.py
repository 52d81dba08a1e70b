"""A sample of a run's studies for audit, drawn at random by outcome and study class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from judge.readers.sample import Sample, draw
from judge.rubrics.contract import Rubric
from judge.running.folder import RunFolder
from judge.stats.summary import codes
from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd

BY = ("outcome", "study_class")
SEED = 1
SIZE = 20


@dataclass(frozen=True, slots=True)
class AuditSample:
    """The drawn studies with what the run says of each; `reports` only where they were asked for.

    A row has `study_id`, `study_class`, `outcome`, `reason` and `categories`, the labels of its
    errors.
    """

    drawn: Sample
    rows: list[dict[str, str]]
    reports: list[dict[str, Any]]


def audit_sample(
    run: RunFolder, table: pd.DataFrame, n: int, seed: int, *, with_reports: bool
) -> AuditSample:
    """Draw `n` studies, or all if there are fewer; `table` has the run's studies.

    The draw is that of `judge.readers.sample.draw`. Raises `JudgeError` where `n` is smaller than
    two studies of each outcome and class need.
    """
    columns = {name: table[name].astype(object) for name in ("study_id", *BY)}
    known = {
        name: list(column.where(column.notna(), None))
        for name, column in columns.items()
    }
    try:
        drawn = draw(known, n, by=BY, seed=seed)
    except JudgeError as error:
        raise JudgeError(str(error).replace("--limit", "--sample")) from error
    rows = _rows(table, run.rubric)
    reports: list[dict[str, Any]] = []
    if with_reports:
        places = {study_id: place for place, study_id in enumerate(drawn.order)}
        reports = [
            _shown(record) for record in run.records() if record["study_id"] in places
        ]
        reports.sort(key=lambda record: places[record["study_id"]])
    return AuditSample(drawn, [rows[study_id] for study_id in drawn.order], reports)


def _rows(table: pd.DataFrame, rubric: Rubric) -> dict[str, dict[str, str]]:
    names = ("study_id", "study_class", "outcome", "reason")
    shown = table[list(names)].astype(object)
    shown = shown.where(shown.notna(), "")
    rows = {}
    for row, labels in zip(shown.to_dict("records"), codes(table, rubric), strict=True):
        texts = {str(name): str(value) for name, value in row.items()}
        rows[texts["study_id"]] = {**texts, "categories": labels}
    return rows


def _shown(record: dict[str, Any]) -> dict[str, Any]:
    """Return what an auditor reads of a study: the reports and what the judge wrote down."""
    annotation = record["annotation"] or {"items": [], "explanation": ""}
    items = []
    for item in annotation["items"]:
        labels = [name for names in item["labels"].values() for name in names]
        items.append({"kind": item["kind"], "labels": labels, "text": item["text"]})
    return {
        "study_id": record["study_id"],
        "reference": record["reference"],
        "candidate": record["candidate"],
        "items": items,
        "explanation": annotation["explanation"],
    }

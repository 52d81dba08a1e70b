"""One study as a person reads it: both reports, each error, what matched, the judge's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from judge.report.edits import edits
from judge.report.line import Line
from judge.report.words import number
from judge.rubrics import Rubric
from judge.types import Category


def audit(record: Mapping[str, Any], rubric: Rubric, *, raw: bool) -> Iterator[Line]:
    """Yield the lines that show one study's record, with the raw answer where asked for."""
    inferred = ", inferred" if record["class_inferred"] else ""
    yield Line(
        f"Study {record['study_id']} ({record['study_class'] or 'no class'}{inferred})", "title"
    )
    for name, value in record["fields"].items():
        if value is not None:
            yield Line(f"{name}: {value}")
    for name in ("reference", "candidate"):
        yield Line(name.capitalize(), "heading")
        yield Line(record[name] or "(empty)")
    if record["outcome"] == "annotated":
        yield from _annotation(record, rubric)
    else:
        yield Line(f"{record['outcome'].capitalize()}: {record['reason']}", "heading")
        yield Line(record["detail"] or "(nothing more is known)")
    if raw:
        yield Line("Raw answer", "heading")
        yield Line(record["answer"]["text"] if record["answer"] else "(the judge gave no answer)")


def _annotation(record: Mapping[str, Any], rubric: Rubric) -> Iterator[Line]:
    annotation = record["annotation"]
    scores = ", ".join(f"{s.label} {number(record['scores'][s.name])}" for s in rubric.scores)
    yield Line(f"Scores: {scores}", "heading")
    for check in rubric.checks:
        yield Line(f"{check.label}: {number(record['scores'][check.name])}")
    if rubric.corrected:
        yield Line(f"Corrections of the candidate: {len(annotation['errors'])}", "heading")
        yield from edits(record["candidate"], annotation["errors"], rubric)
    else:
        yield from _errors(annotation, rubric)
    if rubric.has_matched:
        yield Line(f"Matched findings: {record['counts']['n_matched']}", "heading")
        for finding in annotation["matched"]:
            yield Line(f"- {finding}")
    if annotation["explanation"] or not rubric.corrected:
        yield Line("The judge's explanation", "heading")
        yield Line(annotation["explanation"] or "(none)")
    for remark in annotation["remarks"]:
        yield Line(f"Remark: {remark}")


def _errors(annotation: Mapping[str, Any], rubric: Rubric) -> Iterator[Line]:
    for level in rubric.levels:
        errors = [error for error in annotation["errors"] if error["level"] == level.name]
        stated = sum(
            n for key, n in annotation["stated"].items() if key.startswith(f"{level.name}_")
        )
        differs = (
            f", the judge's counts say {stated}"
            if annotation["stated"] and stated != len(errors)
            else ""
        )
        yield Line(f"{level.label.capitalize()} errors: {len(errors)}{differs}", "heading")
        for error in errors:
            names = ", ".join(f"({c}) {Category(c).label}" for c in error["categories"])
            yield Line(
                f"{names}: {error['text']}", "significant" if level.significant else "insignificant"
            )

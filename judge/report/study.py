"""One study as a person reads it: both reports, each error, what matched, the judge's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from judge.report.edits import Row, rows
from judge.report.highlight import highlights
from judge.report.line import Beside, Line, Piece, Style, marked
from judge.report.view import stated_otherwise
from judge.report.words import number
from judge.rubrics import Level, Rubric
from judge.types import Category


def audit(record: Mapping[str, Any], rubric: Rubric, *, raw: bool) -> Iterator[Line | Beside]:
    """Yield the lines that show one study's record, with the raw answer where asked for.

    Words of the reports that an error speaks of carry its number, from 1.
    """
    inferred = ", inferred" if record["class_inferred"] else ""
    yield Line(
        f"Study {record['study_id']} ({record['study_class'] or 'no class'}{inferred})", "title"
    )
    for name, value in record["fields"].items():
        if value is not None:
            yield Line(str(value), lead=f"{name}: ")
    yield _reports(record, rubric)
    if record["outcome"] == "annotated":
        yield from _annotation(record, rubric)
    else:
        yield Line(f"{record['outcome'].capitalize()}: {record['reason']}", "heading")
        yield Line(record["detail"] or "(nothing more is known)")
    if raw:
        yield Line("Raw answer", "heading")
        yield Line(record["answer"]["text"] if record["answer"] else "(the judge gave no answer)")


def _reports(record: Mapping[str, Any], rubric: Rubric) -> Beside:
    errors = record["annotation"]["errors"] if record["annotation"] else []
    styles = tuple(_style(_level(error, rubric)) for error in errors)
    found = highlights(record["reference"], record["candidate"], errors)
    return Beside(
        (Line("Reference", "heading"), marked(found.reference, styles)),
        (Line("Candidate", "heading"), marked(found.candidate, styles)),
    )


def _annotation(record: Mapping[str, Any], rubric: Rubric) -> Iterator[Line]:
    annotation = record["annotation"]
    scores = ", ".join(f"{s.label} {number(record['scores'][s.name])}" for s in rubric.scores)
    yield Line(f"Scores: {scores}", "heading")
    for check in rubric.checks:
        yield Line(f"{check.label}: {number(record['scores'][check.name])}")
    if rubric.corrected:
        yield Line(f"Corrections of the candidate: {len(annotation['errors'])}", "heading")
        yield from _edit(record["candidate"], annotation["errors"], rubric)
    else:
        yield from _errors(annotation, rubric)
    if rubric.has_matched:
        yield Line(f"Matched findings: {record['counts']['n_matched']}", "heading")
        for finding in annotation["matched"]:
            yield Line(finding, lead="- ")
    if annotation["explanation"] or not rubric.corrected:
        yield Line("The judge's explanation", "heading")
        yield Line(annotation["explanation"] or "(none)")
    for remark in annotation["remarks"]:
        yield Line(remark, lead="Remark: ")


def _errors(annotation: Mapping[str, Any], rubric: Rubric) -> Iterator[Line]:
    stated = {each["level"]: each["stated"] for each in stated_otherwise(annotation, rubric)}
    for level in rubric.levels:
        errors = [
            (at, error)
            for at, error in enumerate(annotation["errors"], 1)
            if error["level"] == level.name
        ]
        differs = f", the judge's counts say {stated[level.name]}" if level.name in stated else ""
        yield Line(f"{level.label.capitalize()} errors: {len(errors)}{differs}", "heading")
        for at, error in errors:
            yield Line(f"{_categories(error)}: {error['text']}", _style(level), lead=f"{at}. ")


def _edit(candidate: str, errors: list[Mapping[str, Any]], rubric: Rubric) -> Iterator[Line]:
    """Yield the candidate's numbered lines with what is taken out (-) and put in (+).

    Below each correction stand its number, severity, categories and the judge's comment.
    """
    edit = list(rows(candidate, errors))
    width = max((len(str(row.line)) for row in edit if row.line is not None), default=1)
    for row in edit:
        number_ = f"{'' if row.line is None else row.line:>{width}}"
        if row.kind == "same":
            yield Line(row.before or "", lead=f"  {number_}  ")
            continue
        if row.before is not None:
            yield Line(_worded(row, "out", "removed"), "removed", lead=f"- {number_}  ")
        if row.after is not None:
            yield Line(_worded(row, "in", "added"), "added", lead=f"+ {number_}  ")
        if row.error is not None:
            error = errors[row.error]
            level = _level(error, rubric)
            why = f"[{level.label}] {_categories(error)}: {error['text']}"
            yield Line(why, _style(level), lead=f"  {'':{width}}    {row.error + 1}. ")


def _worded(row: Row, change: str, style: Style) -> tuple[Piece, ...]:
    """Return one side of a row; of a changed line the words that stay are plain."""
    if row.kind != "change":
        return (Piece((row.before if change == "out" else row.after) or ""),)
    return tuple(
        Piece(text, style if kind == change else "plain")
        for kind, text in row.pieces()
        if kind in ("same", change)
    )


def _categories(error: Mapping[str, Any]) -> str:
    return ", ".join(f"({c}) {Category(c).label}" for c in error["categories"])


def _level(error: Mapping[str, Any], rubric: Rubric) -> Level:
    return next(level for level in rubric.levels if level.name == error["level"])


def _style(level: Level) -> Style:
    return "significant" if level.significant else "insignificant"

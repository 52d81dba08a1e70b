"""One study on a terminal: both reports, each error, the matched findings, the explanation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from judge.rubrics.contract import PART_FACETS, Label, Measure, Rubric
from judge.study.edits import Row
from judge.study.marks import Segment
from judge.study.view import judged_view
from judge.text import capital, number
from judge.types import Measures

Style = Literal[
    "plain", "title", "heading", "significant", "insignificant", "removed", "added", "quiet"
]
NO_TEXT = "(no text)"
"""The text of an item that was counted without being described."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Words of a line, their style (None for the line's) and the numbers of their errors."""

    text: str
    style: Style | None = None
    errors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an audit; on a narrow terminal its text is indented behind `lead`."""

    text: str | tuple[Piece, ...]
    style: Style = "plain"
    lead: str = ""

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The text as pieces."""
        return (Piece(self.text),) if isinstance(self.text, str) else self.text


def audit(record: Mapping[str, Any], rubric: Rubric, *, raw: bool) -> Iterator[Line]:
    """Yield the lines that show one study's record, with the raw answer if `raw`."""
    inferred = ", inferred" if record["class_inferred"] else ""
    yield Line(
        f"Study {record['study_id']} ({record['study_class'] or 'no class'}{inferred})", "title"
    )
    for name, value in record["fields"].items():
        if value is not None:
            yield Line(str(value), lead=f"{name}: ")
    view = judged_view(record, rubric)
    for side in ("reference", "candidate"):
        yield Line(capital(side), "heading")
        yield _marked(view[side], [_style(_grade(item, rubric)) for item in view["items"]])
    if record["outcome"] == "annotated":
        yield from _annotation(view, record["measures"], rubric)
    else:
        yield Line(f"{record['outcome'].capitalize()}: {record['reason']}", "heading")
        yield Line(record["detail"] or "(nothing more is known)")
    if raw:
        yield Line("Raw answer", "heading")
        yield Line(_answer(record))


def _answer(record: Mapping[str, Any]) -> str:
    if record["answer"] is not None:
        return str(record["answer"]["text"])
    is_read = record["outcome"] == "annotated"
    return "(a reader's annotation has none)" if is_read else "(the judge gave no answer)"


def _marked(segments: Sequence[Segment], styles: Sequence[Style]) -> Line:
    pieces = tuple(
        Piece(
            segment["text"],
            # The gravest: "significant" comes after "insignificant".
            max((styles[error] for error in segment["errors"]), default=None),
            tuple(error + 1 for error in segment["errors"]),
        )
        for segment in segments
    )
    return Line(pieces or "(empty)")


def _annotation(view: Mapping[str, Any], measures: Measures, rubric: Rubric) -> Iterator[Line]:
    items = view["items"]
    if scores := [_measured(measures, measure) for measure in rubric.with_role("score")]:
        yield Line(f"Scores: {', '.join(scores)}", "heading")
    for check in rubric.with_role("check"):
        yield Line(_measured(measures, check, ": "))
    if rubric.editor:
        yield Line(f"Corrections of the candidate: {len(items)}", "heading")
        yield from _edit(view["edits"], items, rubric)
    else:
        yield from _graded(view, measures, rubric)
    for listed in view["lists"]:
        n = _combined(listed["n"], len(listed["texts"]), rubric)
        yield Line(f"{capital(rubric.kind(listed['kind']).plural)}: {n}", "heading")
        for text in listed["texts"]:
            yield Line(text or NO_TEXT, lead="- ")
    if view["explanation"]:
        yield Line("The judge's explanation", "heading")
        yield Line(view["explanation"])
    for warning in view["warnings"]:
        yield Line(warning, lead="Warning: ")


def _measured(measures: Measures, measure: Measure, between: str = " ") -> str:
    value = measures[measure.name]
    text = f"undefined ({measure.undefined})" if value is None else number(value)
    return f"{measure.label}{between}{text}{measure.unit and ' ' + measure.unit}"


def _combined(n: float | None, n_listed: int, rubric: Rubric) -> str:
    """Return a number of items, and how many the lists of a panel's judges have."""
    shown = "undefined" if n is None else str(n) if isinstance(n, int) else number(n)
    names = PART_FACETS.values()
    parts = next((facet.plural for facet in rubric.facets if facet.name in names), None)
    return f"{shown} (the {parts}' lists: {n_listed})" if parts else shown


def _graded(view: Mapping[str, Any], measures: Measures, rubric: Rubric) -> Iterator[Line]:
    stated = {row["grade"]: row["stated"] for row in view["differs"]}
    for kind in rubric.graded:
        for grade in rubric.facet(str(kind.graded_by)).labels:
            graded = [
                (n, item)
                for n, item in enumerate(view["items"], 1)
                if item["kind"] == kind.name and item["grade"] == grade.name
            ]
            differs = (
                f", the judge's counts say {stated[grade.name]}" if grade.name in stated else ""
            )
            n: float | None = len(graded)
            if any(facet in PART_FACETS.values() for facet in kind.facets):
                counts = rubric.counting(kind.name, {str(kind.graded_by): grade.name})
                numbers = [measures[measure.name] for measure in counts]
                n = None if not numbers or None in numbers else sum(filter(None, numbers))
            shown = _combined(n, len(graded), rubric)
            heading = f"{capital(grade.label)} {kind.plural}: {shown}{differs}"
            yield Line(heading, "heading")
            for n, item in graded:
                yield Line(_item_text(item, rubric), _style(grade), lead=f"{n}. ")


def _edit(
    edits: Sequence[Row], items: Sequence[Mapping[str, Any]], rubric: Rubric
) -> Iterator[Line]:
    """Yield the candidate's numbered lines, taken out (-) or put in (+), each with its error.

    Errors without an edit come last.
    """
    lines = ["" if row["line"] is None else str(row["line"]) for row in edits]
    width = max((1, *map(len, lines)))
    for row, line in zip(edits, lines, strict=True):
        kind, error = row["kind"], row["error"]
        if kind == "same":
            yield Line(_worded(row, "out", "plain"), lead=f"  {line:>{width}}  ")
        if kind in ("change", "delete"):
            yield Line(_worded(row, "out", "removed"), "removed", lead=f"- {line:>{width}}  ")
        if kind in ("change", "insert"):
            yield Line(_worded(row, "in", "added"), "added", lead=f"+ {line:>{width}}  ")
        if error is not None:
            yield _error(items[error], rubric, f"  {'':{width}}    {error + 1}. ")
    for n, item in enumerate(items, 1):
        if item["edit"] is None:
            yield _error(item, rubric, f"{n}. ")


def _error(item: Mapping[str, Any], rubric: Rubric, lead: str) -> Line:
    grade = _grade(item, rubric)
    return Line(f"[{grade.label}] {_item_text(item, rubric)}".rstrip(), _style(grade), lead=lead)


def _worded(row: Row, change: str, style: Style) -> tuple[Piece, ...]:
    """Return one side of a row, in which the words that stay are plain."""
    return tuple(
        Piece(text, style if kind == change else "plain")
        for kind, text in row["pieces"]
        if kind in ("same", change)
    )


def _item_text(item: Mapping[str, Any], rubric: Rubric) -> str:
    kind = rubric.kind(item["kind"])
    labels = [
        rubric.facet(facet).text(value)
        for facet in kind.facets
        if facet != kind.graded_by
        for value in item["labels"].get(facet, ())
    ]
    side = [f"in the {item['side']}"] if item["side"] else []
    linked = [f"with {', '.join(str(link + 1) for link in item['links'])}"] if item["links"] else []
    before = ", ".join([*labels, *side, *linked])
    text = item["text"] or ("" if item["edit"] else NO_TEXT)
    text += "".join(f' ("{quote}")' for quote in item["quotes"])
    return ": ".join(filter(None, (before, text)))


def _grade(item: Mapping[str, Any], rubric: Rubric) -> Label:
    return rubric.facet(str(rubric.kind(item["kind"]).graded_by))[item["grade"]]


def _style(grade: Label) -> Style:
    return "significant" if grade.is_grave else "insignificant"

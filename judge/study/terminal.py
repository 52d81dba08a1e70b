"""One study on a terminal: both reports, each error, the matched findings, the explanation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from judge.rubrics.contract import Label, Measure, Rubric
from judge.study.marks import Segment
from judge.study.view import Row, judged_view
from judge.text import capital, harmless, number
from judge.types import Measures

NO_TEXT = "(no text)"  # of an item that was counted without being described


def audit(
    record: Mapping[str, Any], rubric: Rubric, *, raw: bool, has_colour: bool
) -> Iterator[RenderableType]:
    """Yield what shows a study's record; without colour the marked words are in brackets."""
    inferred = ", inferred" if record["class_inferred"] else ""
    study_class = f"{record['study_class'] or 'no class'}{inferred}"
    yield _line(f"Study {record['study_id']} ({study_class})", "bold")
    for name, value in record["fields"].items():
        if value is not None:
            yield _line(str(value), lead=f"{name}: ")
    view = judged_view(record, rubric)
    styles = [_style(_grade(item, rubric)) for item in view["items"]]
    for side in ("reference", "candidate"):
        yield from _heading(capital(side))
        yield _marked(view[side], styles, has_colour=has_colour)
    if record["outcome"] == "annotated":
        yield from _annotation(view, record["measures"], rubric)
    else:
        yield from _heading(f"{record['outcome'].capitalize()}: {record['reason']}")
        yield _line(record["detail"] or "(nothing more is known)")
    if raw:
        yield from _heading("Raw answer")
        yield _line(record["answer"]["text"] if record["answer"] else "(there is none)")


def _line(text: str | Text, style: str = "", lead: str = "") -> RenderableType:
    """Return a line; on a narrow terminal its text is indented behind `lead`."""
    shown = Text(harmless(text), style) if isinstance(text, str) else text
    if not lead:
        return shown
    grid = Table.grid()
    grid.add_row(Text(harmless(lead), style), shown)
    return grid


def _heading(text: str) -> Iterator[RenderableType]:
    yield Text()
    yield _line(text, "bold cyan")


def _marked(
    segments: Sequence[Segment], styles: Sequence[str], *, has_colour: bool
) -> Text:
    text = Text()
    for segment in segments:
        words, errors = harmless(segment["text"]), segment["errors"]
        if not errors:
            text.append(words)
            continue
        style = min(
            styles[error] for error in errors
        )  # the gravest: "red" before "yellow"
        text.append(words if has_colour else f"[{words}]", f"{style} underline")
        text.append(
            f"({','.join(str(error + 1) for error in errors)})", f"{style} bold"
        )
    return text or Text("(empty)")


def _annotation(
    view: Mapping[str, Any], measures: Measures, rubric: Rubric
) -> Iterator[RenderableType]:
    scores = [_measured(measures, measure) for measure in rubric.with_role("score")]
    if scores:
        yield from _heading(f"Scores: {', '.join(scores)}")
    for check in rubric.with_role("check"):
        yield _line(_measured(measures, check, ": "))
    if rubric.editor:
        yield from _heading(f"Corrections of the candidate: {len(view['items'])}")
        yield from _edit(view["edits"], view["items"], rubric)
    else:
        yield from _graded(view, measures, rubric)
    for listed in view["lists"]:
        n = _counted(listed["n"], len(listed["texts"]))
        yield from _heading(f"{capital(rubric.kind(listed['kind']).plural)}: {n}")
        for text in listed["texts"]:
            yield _line(text or NO_TEXT, lead="- ")
    if view["explanation"]:
        yield from _heading("The judge's explanation")
        yield _line(view["explanation"])
    for warning in view["warnings"]:
        yield _line(warning, lead="Warning: ")


def _measured(measures: Measures, measure: Measure, between: str = " ") -> str:
    value = measures[measure.name]
    text = f"undefined ({measure.undefined})" if value is None else number(value)
    return f"{measure.label}{between}{text}{measure.unit and ' ' + measure.unit}"


def _graded(
    view: Mapping[str, Any], measures: Measures, rubric: Rubric
) -> Iterator[RenderableType]:
    for kind in rubric.graded:
        for grade in rubric.facet(str(kind.graded_by)).labels:
            graded = [
                (place, item)
                for place, item in enumerate(view["items"], 1)
                if item["kind"] == kind.name and item["grade"] == grade.name
            ]
            counts = rubric.counting(kind.name, {str(kind.graded_by): grade.name})
            numbers = [measures[measure.name] for measure in counts]
            n = None if None in numbers else sum(filter(None, numbers))
            shown = _counted(n if counts else len(graded), len(graded))
            yield from _heading(f"{capital(grade.label)} {kind.plural}: {shown}")
            for place, item in graded:
                yield _line(_item_text(item, rubric), _style(grade), f"{place}. ")


def _counted(n: float | None, n_listed: int) -> str:
    """Return a number of items, and how many are listed, where an answer or a panel has others."""
    shown = "undefined" if n is None else f"{n:g}"
    return shown if n == n_listed else f"{shown} ({n_listed} listed)"


def _edit(
    edits: Sequence[Row], items: Sequence[Mapping[str, Any]], rubric: Rubric
) -> Iterator[RenderableType]:
    """Yield the candidate's lines, taken out (-) or put in (+), then errors without an edit."""
    lines = ["" if row["line"] is None else str(row["line"]) for row in edits]
    width = max((1, *map(len, lines)))
    for row, line in zip(edits, lines, strict=True):
        kind, error = row["kind"], row["error"]
        if kind == "same":
            yield _line(_worded(row, "out", ""), lead=f"  {line:>{width}}  ")
        if kind in ("change", "delete"):
            yield _line(
                _worded(row, "out", "red strike"), "red", f"- {line:>{width}}  "
            )
        if kind in ("change", "insert"):
            yield _line(_worded(row, "in", "green"), "green", f"+ {line:>{width}}  ")
        if error is not None:
            yield _error(items[error], rubric, f"  {'':{width}}    {error + 1}. ")
    for place, item in enumerate(items, 1):
        if item["edit"] is None:
            yield _error(item, rubric, f"{place}. ")


def _error(item: Mapping[str, Any], rubric: Rubric, lead: str) -> RenderableType:
    grade = _grade(item, rubric)
    return _line(
        f"[{grade.label}] {_item_text(item, rubric)}".rstrip(), _style(grade), lead
    )


def _worded(row: Row, change: str, style: str) -> Text:
    """Return one side of a row, in which the words that stay are plain."""
    text = Text()
    for kind, words in row["pieces"]:
        if kind in ("same", change):
            text.append(harmless(words), style if kind == change else "")
    return text


def _item_text(item: Mapping[str, Any], rubric: Rubric) -> str:
    kind = rubric.kind(item["kind"])
    facets = [rubric.facet(name) for name in kind.facets if name != kind.graded_by]
    before: list[str] = []
    for facet in facets:
        before += map(facet.text, item["labels"].get(facet.name, ()))
    if item["side"]:
        before.append(f"in the {item['side']}")
    if item["links"]:
        before.append(f"with {', '.join(str(link + 1) for link in item['links'])}")
    text = item["text"] or ("" if item["edit"] else NO_TEXT)
    text += "".join(f' ("{quote}")' for quote in item["quotes"])
    return ": ".join(filter(None, (", ".join(before), text)))


def _grade(item: Mapping[str, Any], rubric: Rubric) -> Label:
    return rubric.facet(str(rubric.kind(item["kind"]).graded_by))[item["grade"]]


def _style(grade: Label) -> str:
    return "red" if grade.is_grave else "yellow"

"""One study on a terminal: both reports, each error, the matched findings, the explanation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from judge.rubrics.contract import Label, Measure, Rubric
from judge.study.marks import Segment
from judge.study.view import Row, judged_view, measured_text
from judge.text import capital, harmless
from judge.types import Measures

NO_TEXT = "(no text)"  # of an item that was counted without being described


def audit(
    record: Mapping[str, Any],
    rubric: Rubric,
    *,
    raw: bool,
    has_colour: bool,
    reviews: Sequence[str] = (),
) -> Iterator[RenderableType]:
    """Yield what shows a study's record; without colour the marked words are in brackets.

    `reviews` are lines on what readers said of it.
    """
    study_class = record["study_class"] or "no class"
    if record["class_inferred"]:
        study_class += ", inferred"
    yield _line(f"Study {record['study_id']} ({study_class})", "bold")
    for name, value in record["fields"].items():
        if value is not None:
            yield _line(str(value), lead=f"{name}: ")
    view = judged_view(record, rubric)
    styles = []
    for item in view["items"]:
        grade = _grade(item, rubric)
        styles.append(_style(grade))
    for side in ("reference", "candidate"):
        yield from _heading(capital(side))
        yield _marked(view[side], styles, has_colour=has_colour)
    if record["outcome"] == "scored":
        yield from _annotation(view, record["measures"], rubric)
    else:
        yield from _heading(f"{record['outcome'].capitalize()}: {record['reason']}")
        yield _line(record["detail"] or "(nothing more is known)")
    if reviews:
        yield from _heading("Reviews")
        for review in reviews:
            yield _line(review, lead="- ")
    if raw:
        yield from _heading("Raw answer")
        # A study can fail before the judge has replied.
        answer = record["answer"]
        text = "(there is none)"
        if answer:
            text = answer["text"]
        yield _line(text)


def _line(text: str | Text, style: str = "", lead: str = "") -> RenderableType:
    """Return a line; on a narrow terminal its text is indented behind `lead`."""
    shown = text
    if isinstance(text, str):
        shown = Text(harmless(text), style)
    if not lead:
        return shown
    before = Text(harmless(lead), style)
    grid = Table.grid()
    grid.add_row(before, shown)
    return grid


def _heading(text: str) -> Iterator[RenderableType]:
    yield Text()
    yield _line(text, "bold cyan")


def _marked(
    segments: Sequence[Segment], styles: Sequence[str], *, has_colour: bool
) -> Text:
    text = Text()
    for segment in segments:
        words = harmless(segment["text"])
        errors = segment["errors"]
        if not errors:
            text.append(words)
            continue
        # The gravest, since "red" sorts before "yellow".
        style = min(styles[error] for error in errors)
        if not has_colour:
            words = f"[{words}]"
        numbers = ",".join(str(error + 1) for error in errors)
        text.append(words, f"{style} underline")
        text.append(f"({numbers})", f"{style} bold")
    if not text:
        return Text("(empty)")
    return text


def _annotation(
    view: Mapping[str, Any], measures: Measures, rubric: Rubric
) -> Iterator[RenderableType]:
    scores = [_measured(measures, measure) for measure in rubric.with_role("score")]
    if scores:
        yield from _heading(f"Scores: {', '.join(scores)}")
    for check in rubric.with_role("check"):
        yield _line(_measured(measures, check, ": "))
    items = view["items"]
    if rubric.editor:
        yield from _heading(f"Corrections of the candidate: {len(items)}")
        yield from _edit(view["edits"], items, rubric)
    else:
        yield from _graded(view, measures, rubric)
    for listed in view["lists"]:
        texts = listed["texts"]
        n = _counted(listed["n"], len(texts))
        kind = rubric.kind(listed["kind"])
        yield from _heading(f"{capital(kind.plural)}: {n}")
        for text in texts:
            yield _line(text or NO_TEXT, lead="- ")
    if view["explanation"]:
        yield from _heading("The judge's explanation")
        yield _line(view["explanation"])
    for warning in view["warnings"]:
        yield _line(warning, lead="Warning: ")


def _measured(measures: Measures, measure: Measure, between: str = " ") -> str:
    text = measured_text(measures[measure.name], measure)
    return f"{measure.label}{between}{text}"


def _graded(
    view: Mapping[str, Any], measures: Measures, rubric: Rubric
) -> Iterator[RenderableType]:
    for kind in rubric.graded:
        graded_by = str(kind.graded_by)
        for grade in rubric.facet(graded_by).labels:
            graded = []
            for place, item in enumerate(view["items"], 1):
                if item["kind"] == kind.name and item["grade"] == grade.name:
                    graded.append((place, item))
            n: float | None = len(graded)
            counts = rubric.counting(kind.name, {graded_by: grade.name})
            if counts:
                n = _sum_of(measures[measure.name] for measure in counts)
            shown = _counted(n, len(graded))
            yield from _heading(f"{capital(grade.label)} {kind.plural}: {shown}")
            for place, item in graded:
                text = _item_text(item, rubric)
                yield _line(text, _style(grade), lead=f"{place}. ")


def _sum_of(numbers: Iterable[float | None]) -> float | None:
    """Return the sum, None where one of the numbers is not known."""
    total = 0.0
    for value in numbers:
        if value is None:
            return None
        total += value
    return total


def _counted(n: float | None, n_listed: int) -> str:
    """Return a number of items, and how many are listed, where an answer or a panel has others."""
    shown = "undefined"
    if n is not None:
        shown = f"{n:g}"
    if n != n_listed:
        shown += f" ({n_listed} listed)"
    return shown


def _edit(
    edits: Sequence[Row], items: Sequence[Mapping[str, Any]], rubric: Rubric
) -> Iterator[RenderableType]:
    """Yield the candidate's lines, taken out (-) or put in (+), then errors without an edit."""
    lines = []
    for row in edits:
        # A line that is put in has no number of its own.
        line = ""
        if row["line"] is not None:
            line = str(row["line"])
        lines.append(line)
    width = max(map(len, lines), default=0)
    width = max(width, 1)
    for row, line in zip(edits, lines, strict=True):
        kind = row["kind"]
        error = row["error"]
        lead = f"{line:>{width}}  "
        if kind == "same":
            same = _worded(row, "out", "")
            yield _line(same, lead=f"  {lead}")
        if kind in ("change", "delete"):
            taken_out = _worded(row, "out", "red strike")
            yield _line(taken_out, "red", lead=f"- {lead}")
        if kind in ("change", "insert"):
            put_in = _worded(row, "in", "green")
            yield _line(put_in, "green", lead=f"+ {lead}")
        if error is not None:
            margin = " " * width
            yield _error(items[error], rubric, f"  {margin}    {error + 1}. ")
    for place, item in enumerate(items, 1):
        if item["edit"] is None:
            yield _error(item, rubric, f"{place}. ")


def _error(item: Mapping[str, Any], rubric: Rubric, lead: str) -> RenderableType:
    grade = _grade(item, rubric)
    text = f"[{grade.label}] {_item_text(item, rubric)}"
    return _line(text.rstrip(), _style(grade), lead)


def _worded(row: Row, change: str, style: str) -> Text:
    """Return one side of a row, in which the words that stay are plain."""
    text = Text()
    for kind, words in row["pieces"]:
        if kind == change:
            text.append(harmless(words), style)
        elif kind == "same":
            text.append(harmless(words), "")
    return text


def _item_text(item: Mapping[str, Any], rubric: Rubric) -> str:
    kind = rubric.kind(item["kind"])
    before: list[str] = []
    for name in kind.facets:
        # The grade stands in the heading above, or in brackets before the text.
        if name == kind.graded_by:
            continue
        facet = rubric.facet(name)
        labels = item["labels"].get(name, ())
        before += map(facet.text, labels)
    if item["side"]:
        before.append(f"in the {item['side']}")
    if item["links"]:
        numbers = ", ".join(str(link + 1) for link in item["links"])
        before.append(f"with {numbers}")
    text = str(item["text"] or "")
    if not text and not item["edit"]:
        text = NO_TEXT
    for quote in item["quotes"]:
        text += f' ("{quote}")'
    described = ", ".join(before)
    if not described:
        return text
    if not text:
        return described
    return f"{described}: {text}"


def _grade(item: Mapping[str, Any], rubric: Rubric) -> Label:
    kind = rubric.kind(item["kind"])
    grades = rubric.facet(str(kind.graded_by))
    return grades[item["grade"]]


def _style(grade: Label) -> str:
    if grade.is_grave:
        return "red"
    return "yellow"

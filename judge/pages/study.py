"""One study as the pages show it: both reports, what a judge or a reader found, and the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from judge.pages.models import NO_CLASS, Fact, Number, PageModel
from judge.rubrics.contract import Kind, Rubric, Tone
from judge.study.view import (
    Change,
    cell,
    judged_view,
    measured_text,
    word_differences,
)
from judge.text import capital, counted

_NOT_LOCATED = "not located in the text"
_NO_SCORE = "This study has no score and is not part of any rate."
_TOO_LONG = "Too long to compare word by word."


class ReportSegment(PageModel):
    """A piece of a report, and the places of the items that speak of it."""

    text: str
    errors: list[int]


class Piece(PageModel):
    """Words that stay, are taken out of the first text, or put in by the second."""

    change: Change
    text: str


class EditRow(PageModel):
    """A line of the corrected candidate; `error` is the place of the item that corrects it."""

    kind: Literal["same", "change", "delete", "insert"]
    line: int | None
    error: int | None
    pieces: list[Piece]


class ShownItem(PageModel):
    """A graded item: an error, a correction.

    `tags` are its labels beside the grade, its side and the items that it goes with. The gravest
    of several items has the largest `weight`.
    """

    kind: str
    noun: str
    labels: dict[str, list[str]]
    grade: str
    grade_text: str
    tone: Tone | None
    weight: int
    tags: list[str]
    text: str
    quotes: list[str]
    note: str


class ItemTexts(PageModel):
    """The items of a kind that is not graded."""

    heading: str
    texts: list[str]


class Unscored(PageModel):
    """Why there is no score."""

    heading: str
    detail: str
    note: str


class Differences(PageModel):
    """The candidate against the reference, word by word; `note` says where that is too long."""

    note: str
    pieces: list[Piece]


class Findings(PageModel):
    """Both reports of a study, and what one judge or reader says about them.

    `heading` counts the graded `items`; it is empty where none are asked for. `notes` say where the
    answer states another number of items than it lists. `edits` is null without an editor.
    """

    outcome: Literal["scored", "unparsed", "failed"]
    unscored: Unscored | None
    reference: list[ReportSegment]
    candidate: list[ReportSegment]
    differences: Differences
    heading: str
    noun: str
    notes: list[str]
    items: list[ShownItem]
    edits: list[EditRow] | None
    lists: list[ItemTexts]
    explanation: str
    warnings: list[str]


class ShownAnswer(PageModel):
    """The judge's raw answer, with its circumstances; `missing` says why there is none."""

    text: str
    facts: list[Fact]
    missing: str


class AskedMessage(PageModel):
    """A message that the judge was sent."""

    name: str = Field(
        description="Its role; of several questions, the question before it."
    )
    text: str


class AskedQuestion(PageModel):
    """The messages of a first question about a study; `missing` says why there are none."""

    messages: list[AskedMessage]
    missing: str


class RunStudy(PageModel):
    """A study of a run."""

    study_id: str
    facts: list[Fact]
    measures: dict[str, Number | None] | None
    findings: Findings
    answer: ShownAnswer


def run_study(record: Mapping[str, Any], rubric: Rubric) -> RunStudy:
    """Return the study of a run's record."""
    measures = record["measures"]
    study_class = record["study_class"] or NO_CLASS
    if record["class_inferred"]:
        study_class += " (inferred)"
    facts = [Fact(name="class", value=study_class)]
    if measures is not None:
        for measure in rubric.with_role("score", "check"):
            text = measured_text(measures[measure.name], measure)
            facts.append(Fact(name=measure.label, value=text))
    for name, value in record["fields"].items():
        if value is not None:
            facts.append(Fact(name=name, value=str(cell(value))))
    return RunStudy(
        study_id=record["study_id"],
        facts=facts,
        measures=measures,
        findings=findings(record, rubric),
        answer=_answer(record),
    )


def findings(record: Mapping[str, Any], rubric: Rubric) -> Findings:
    """Return what the judge or the reader of a record says about its study."""
    view = judged_view(record, rubric)
    items = [
        _item(item, place, view, rubric) for place, item in enumerate(view["items"])
    ]
    noun = item_noun(rubric)
    heading = ""
    if rubric.graded and record["outcome"] == "scored":
        heading = f"No {noun.label}"
        if items:
            heading = counted(len(items), noun.label, noun.plural)
    edits = None
    if view["edits"] is not None:
        edits = [_edit_row(row) for row in view["edits"]]
    lists = []
    for each in view["lists"]:
        kind = rubric.kind(each["kind"])
        of_kind = ItemTexts(heading=_list_heading(each["n"], kind), texts=each["texts"])
        lists.append(of_kind)
    return Findings(
        outcome=record["outcome"],
        unscored=_unscored(record),
        reference=_segments(view["reference"]),
        candidate=_segments(view["candidate"]),
        differences=_differences(record["reference"], record["candidate"]),
        heading=heading,
        noun=noun.label,
        notes=[_stated_otherwise(row, rubric) for row in view["differs"]],
        items=items,
        edits=edits,
        lists=lists,
        explanation=view["explanation"],
        warnings=view["warnings"],
    )


def item_noun(rubric: Rubric) -> Kind:
    """Return the kind of the graded items; of several kinds, one that stands for all of them."""
    if len(rubric.graded) == 1:
        return rubric.graded[0]
    return Kind("item", "item", "items")


def _item(
    item: Mapping[str, Any], place: int, view: Mapping[str, Any], rubric: Rubric
) -> ShownItem:
    kind = rubric.kind(item["kind"])
    grade = rubric.facet(str(kind.graded_by))[item["grade"]]
    text = item["text"]
    if not text and not item["edit"]:
        text = "(no text)"
    # A quote that the text has already is not repeated.
    quotes = [quote for quote in item["quotes"] if quote and quote not in text]
    sides = (view["reference"], view["candidate"])
    is_located = any(place in segment["errors"] for side in sides for segment in side)
    note = ""
    if not is_located and item["text"] and not item["edit"]:
        note = _NOT_LOCATED
    return ShownItem(
        kind=kind.name,
        noun=capital(kind.label),
        labels=item["labels"],
        grade=grade.name,
        grade_text=grade.label,
        tone=grade.tone,
        weight=grade.weight,
        tags=_tags(item, kind, rubric),
        text=text,
        quotes=quotes,
        note=note,
    )


def _tags(item: Mapping[str, Any], kind: Kind, rubric: Rubric) -> list[str]:
    """Return the labels of an item beside its grade, its side and the items that it goes with."""
    tags: list[str] = []
    for name in kind.facets:
        if name != kind.graded_by:
            facet = rubric.facet(name)
            tags += map(facet.text, item["labels"].get(name, ()))
    if item["side"]:
        tags.append(f"in the {item['side']}")
    if item["links"]:
        numbers = [str(link + 1) for link in item["links"]]
        tags.append(f"with {', '.join(numbers)}")
    return tags


def _list_heading(n: float | None, kind: Kind) -> str:
    if n is None:
        return capital(kind.plural)
    # A mean of several judges may be no whole number.
    if n == 1:
        return f"1 {kind.label}"
    return f"{n:,g} {kind.plural}"


def _stated_otherwise(row: Mapping[str, Any], rubric: Rubric) -> str:
    """Return that an answer states another number of items than it lists."""
    assert rubric.grades is not None
    grade = rubric.grades[row["grade"]].label
    return (
        f"The answer states {row['stated']:g} {grade} and lists {row['listed']}. "
        "The stated number counts."
    )


def _segments(segments: Sequence[Mapping[str, Any]]) -> list[ReportSegment]:
    return [ReportSegment(**segment) for segment in segments]


def _differences(reference: str, candidate: str) -> Differences:
    pieces = word_differences(reference, candidate)
    if pieces is None:
        whole = Piece(change="same", text=candidate)
        return Differences(note=_TOO_LONG, pieces=[whole])
    shown = [Piece(change=change, text=text) for change, text in pieces]
    return Differences(note="", pieces=shown)


def _edit_row(row: Mapping[str, Any]) -> EditRow:
    pieces = [Piece(change=change, text=text) for change, text in row["pieces"]]
    return EditRow(
        kind=row["kind"], line=row["line"], error=row["error"], pieces=pieces
    )


def _unscored(record: Mapping[str, Any]) -> Unscored | None:
    if record["outcome"] == "scored":
        return None
    return Unscored(
        heading=f"{capital(record['outcome'])}: {record['reason']}",
        detail=record["detail"] or "No further details.",
        note=_NO_SCORE,
    )


def _answer(record: Mapping[str, Any]) -> ShownAnswer:
    reply = record["answer"]
    if reply is None:
        missing = "The judge gave no answer."
        if record["outcome"] == "scored":
            missing = "A reader's annotation has none."
        return ShownAnswer(text="", facts=[], missing=missing)
    facts = [("model", reply["model"]), ("ended by", reply["finish_reason"])]
    usage = reply["usage"]
    if usage:
        cached = usage.get("cached_tokens") or 0
        tokens = (
            f"{usage['prompt_tokens']:,} asked ({cached:,} cached by the provider), "
            f"{usage['completion_tokens']:,} answered"
        )
        facts.append(("tokens", tokens))
    if record["attempt"] > 0:
        facts.append(("attempt", str(record["attempt"] + 1)))
    shown = [Fact(name=name, value=value) for name, value in facts if value]
    return ShownAnswer(text=reply["text"] or "(empty)", facts=shown, missing="")

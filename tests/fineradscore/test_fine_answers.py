"""Reading, writing and applying corrections."""

from __future__ import annotations

from contextlib import suppress

import pytest
from fine_answers import STUDY, annotations
from hypothesis import example, given
from hypothesis import strategies as st

from judge import rubrics
from judge.rubrics.categories import error_item
from judge.rubrics.derived import for_prompt
from judge.rubrics.fineradscore.parse import Reply
from judge.sentences import lines
from judge.types import Annotation, Category, Edit, Item, Study, UnparsedError

RUBRIC = rubrics.load("fineradscore")


def error(edit: Edit | None) -> Item:
    return error_item([Category.FALSE_FINDING], "severity", "severity2", "why", edit)


@given(annotations())
def test_what_is_written_is_read_again(annotation: Annotation) -> None:
    text = RUBRIC.render(annotation)
    assert RUBRIC.parse(text, STUDY) == annotation
    Reply.model_validate_json(text, strict=True)


@given(annotations(), st.data())
def test_no_part_of_an_answer_is_an_answer(
    annotation: Annotation, data: st.DataObject
) -> None:
    text = RUBRIC.render(annotation)
    at = data.draw(st.integers(0, len(text) - 1))
    for cut in (text[:at], f"```json\n{text[:at]}", f"```json\n{text[:at]}\n```"):
        with pytest.raises(UnparsedError):
            RUBRIC.parse(cut, STUDY)


@given(annotations())
def test_scores_follow_from_the_severities(annotation: Annotation) -> None:
    measures = RUBRIC.measured(annotation, STUDY)
    severities = [int(item.label("severity")[-1]) for item in annotation.items]
    assert measures["fineradscore"] == max([1, *severities])
    assert measures["fineradscore_sum"] == sum(severities)
    assert measures["n_significant"] == sum(severity >= 3 for severity in severities)
    assert measures["n_actionable"] == sum(severity >= 2 for severity in severities)
    assert measures["n_insignificant"] == sum(severity < 3 for severity in severities)
    for n in (1, 2, 3, 4):
        assert measures[f"n_severity{n}"] == severities.count(n)
        for category in Category:
            assert measures[f"severity{n}_{category}"] == sum(
                item.labels
                == {"category": item.labels["category"], "severity": (f"severity{n}",)}
                and category in item.labels["category"]
                for item in annotation.items
            )


@example("Clear bilaterally.There is no effusion.")
@given(st.text(max_size=300))
def test_without_corrections_the_report_stays_as_it_is(text: str) -> None:
    assert RUBRIC.editor is not None
    assert RUBRIC.editor(Annotation(()), Study("s", "x", text)) == text


def test_corrections_are_made_where_they_say() -> None:
    edits = (
        Edit("change", 1, "Heart size is normal."),
        Edit("delete", 3, ""),
        Edit("insert", 0, "Port in place."),
        Edit("insert", None, "No pneumothorax."),
    )
    annotation = Annotation(tuple(error(edit) for edit in edits))
    assert RUBRIC.editor is not None
    assert RUBRIC.editor(annotation, STUDY) == (
        "Port in place. 1. Low lung volumes. Heart size is normal. No effusion. No pneumothorax."
    )


def test_lines_without_a_space_between_them_get_one_where_something_changes() -> None:
    study = Study("s", "x", "Clear bilaterally.There is no effusion.Normal heart.")
    assert len(lines(study.candidate)) == 3
    assert RUBRIC.editor is not None
    changed = Annotation((error(Edit("change", 1, "Large effusion.")),))
    assert (
        RUBRIC.editor(changed, study)
        == "Clear bilaterally. Large effusion. Normal heart."
    )
    deleted = Annotation((error(Edit("delete", 1, "")),))
    assert RUBRIC.editor(deleted, study) == "Clear bilaterally. Normal heart."


@pytest.mark.parametrize(
    "annotation",
    [
        Annotation((error(None),)),
        Annotation(
            (error_item([], "severity", "severity1", "why", Edit("delete", 0, "")),)
        ),
        Annotation((Item("matched", "lungs clear"),)),
        Annotation((), explanation="because"),
        Annotation((), values={"confidence": 0.5}),
        Annotation((), stated_counts={"severity1_a": 1}),
        Annotation((), warnings=("odd",)),
    ],
)
def test_what_no_reply_expresses_is_not_written(annotation: Annotation) -> None:
    with pytest.raises(ValueError, match=r"correction"):
        RUBRIC.render(annotation)


@given(st.text(max_size=60), st.text(max_size=60))
def test_whatever_comes_is_an_annotation_or_unparsed(before: str, after: str) -> None:
    for text in (
        before,
        f"{before}{{}}{after}",
        f'{before}{{"corrections": []}}{after}',
    ):
        with suppress(UnparsedError):
            assert RUBRIC.parse(text, STUDY).items == ()


def test_the_form_of_the_original_is_read_where_it_was_asked_for() -> None:
    rest = '"error category": ["Omission of finding"]}'
    text = f'{{"None": {{"corrections": "Small nodule.", "clinical severity": "Emergent", {rest}, '
    text += f'"None": {{"corrections": "Scar.", "clinical severity": "Not actionable", {rest}}}'
    with pytest.raises(UnparsedError, match="duplicate key"):
        RUBRIC.parse(text, STUDY)
    theirs = for_prompt(RUBRIC, "fineradscore-official", "gpt-4o")
    found = theirs.parse(text, STUDY)
    assert [item.label("severity") for item in found.items] == [
        "severity4",
        "severity1",
    ]
    assert theirs.parse("{}", STUDY).items == ()
    with pytest.raises(UnparsedError, match="missing field"):
        RUBRIC.parse("{}", STUDY)


def test_the_schema_is_one_that_strict_structured_output_takes() -> None:
    schema = Reply.model_json_schema()
    objects = [schema, *schema["$defs"].values()]
    for one in objects:
        assert one["additionalProperties"] is False
        assert set(one["required"]) == set(one["properties"])
    properties = schema["$defs"]["Correction"]["properties"]
    assert properties["severity"]["enum"] == [1, 2, 3, 4]
    assert properties["edit"]["enum"] == ["change", "delete", "insert"]
    assert properties["categories"]["items"]["enum"] == [c.value for c in Category]
    assert all(one["description"] for one in properties.values())

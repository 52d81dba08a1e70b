"""Right answers are known: a rubric reads them back, and reads none of the wrong ones."""

from __future__ import annotations

import pytest
from faultserver import ANNOTATE, annotation_for, corrections_for
from faultserver.answers import MALFORMED, REFUSAL, Answers
from hypothesis import given
from hypothesis import strategies as st

from judge import rubrics
from judge.types import Study, UnparsedError

STUDY = Study("1", "", "")


@given(st.integers(0, 99999), st.integers())
def test_green_reads_the_answer_back(number: int, seed: int) -> None:
    green = rubrics.load("green")
    key = f"study-{number}"
    assert green.structured is not None
    answers = Answers(annotation_for, green.render, green.structured.render)
    formed = answers.text(key, seed, formed=True)
    assert green.structured.parse(formed, Study(key, "", "")) == annotation_for(key, seed)
    text = answers.text(key, seed)
    assert green.parse(text, STUDY, complete=True) == annotation_for(key, seed)


def test_answers_differ_between_studies_and_seeds() -> None:
    assert (
        len({repr(annotation_for(f"study-{n}", seed)) for n in range(50) for seed in (1, 2)}) == 100
    )
    counts = {tuple(annotation_for(f"study-{n}").stated_counts.values()) for n in range(50)}
    assert len(counts) > 40


@pytest.mark.parametrize("rubric", rubrics.built_in())
@pytest.mark.parametrize("text", [*MALFORMED, REFUSAL, ""])
def test_no_rubric_reads_a_wrong_answer(rubric: str, text: str) -> None:
    with pytest.raises(UnparsedError):
        rubrics.load(rubric).parse(text, STUDY, complete=True)


@pytest.mark.parametrize("name", ANNOTATE)
def test_every_rubric_reads_its_right_answers(name: str) -> None:
    rubric = rubrics.load(name)
    for number in range(300):
        key = f"study-{number:04}"
        study = Study(key, f"{key}. Clear.", "The lungs are clear. Small left effusion.")
        right = ANNOTATE[name](key, 1)
        assert rubric.parse(rubric.render(right), study, complete=True) == right


def test_corrections_are_of_every_kind() -> None:
    found = [corrections_for(f"study-{number}").items for number in range(200)]
    assert {len(errors) for errors in found} == {0, 1, 2, 3}
    assert {error.edit.kind for errors in found for error in errors if error.edit} == {
        "change",
        "delete",
        "insert",
    }

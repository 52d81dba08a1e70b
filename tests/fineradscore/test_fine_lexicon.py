"""The built-in judge's corrections."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judge import rubrics
from judge.backends import lexicon
from judge.types import Annotation, Category, Discrepancy, ReportComparison, Study

RUBRIC = rubrics.load("fineradscore")


def annotate(reference: str, candidate: str) -> Annotation:
    comparison = lexicon.compare(reference, candidate, lexicon.load())
    study = Study("s", reference, candidate)
    annotation = RUBRIC.baseline(comparison, study)
    assert RUBRIC.parse(RUBRIC.render(annotation), study) == annotation
    return annotation


def told(annotation: Annotation) -> list[tuple[Any, ...]]:
    return [
        (
            *(error.edit.kind, error.edit.line, error.edit.corrected),
            "".join(error.labels["category"]),
            int(error.label("severity")[-1]),
        )
        for error in annotation.items
        if error.edit
    ]


def test_a_tension_pneumothorax_is_not_a_granuloma() -> None:
    def severity(missed: str) -> int:
        (found,) = told(annotate(f"Heart size normal. {missed}", "Heart size normal."))
        return int(found[-1])

    assert severity("Calcified granuloma in the right lung.") == 1
    assert severity("Tension pneumothorax on the left.") == 4


def test_one_place_gets_one_correction() -> None:
    """Several discrepancies of a line are one correction with all their categories."""
    study = Study(
        "s", "Small left effusion. Old text.", "Large right effusion. New text."
    )
    comparison = ReportComparison(
        (
            Discrepancy(Category.WRONG_SEVERITY, 2, "effusion", "Size.", 0, 0),
            Discrepancy(Category.WRONG_LOCATION, 3, "effusion", "Side.", 0, 0),
            Discrepancy(Category.MISSING_FINDING, 1, "text", "Left out.", 1, None),
            Discrepancy(Category.OMITTED_COMPARISON, 2, "text", "No change.", 1, None),
        ),
        (),
        "",
        ((0, 0),),
    )
    annotation = RUBRIC.baseline(comparison, study)
    assert told(annotation) == [
        ("change", 0, "Small left effusion.", "cd", 3),
        ("insert", None, "Old text.", "bf", 2),
    ]
    assert annotation.items[0].text == "Size. Side."
    assert RUBRIC.parse(RUBRIC.render(annotation), study) == annotation


@pytest.fixture
def reports(shared: Path) -> dict[str, dict[str, Any]]:
    return {
        path.stem: json.loads(path.read_text("utf-8")) for path in shared.glob("*.json")
    }


@pytest.mark.data
@pytest.mark.parametrize(
    "section", ["section_findings", "section_impression", "report"]
)
def test_a_report_needs_no_correction_into_itself(
    reports: dict[str, Any], section: str
) -> None:
    texts = [
        ref[section]
        for ref in reports["refs"].values()
        if isinstance(ref[section], str)
    ]
    assert len(texts) >= 500
    assert all(not annotate(text, text).items for text in texts)


def test_a_candidate_that_says_nothing_lacks_every_line() -> None:
    annotation = annotate(
        "Heart size normal. Large left pneumothorax. No effusion.", " \n"
    )
    assert told(annotation) == [
        ("insert", None, "Heart size normal.", "b", 1),
        ("insert", None, "Large left pneumothorax.", "b", 4),
        ("insert", None, "No effusion.", "b", 1),
    ]


def test_a_sentence_that_says_no_change_can_be_missing() -> None:
    """The built-in judge's own answer is read; so is a model's that inserts the same."""
    annotation = annotate("Lungs remain clear. No change.", "Lungs are clear.")
    assert ("insert", None, "No change.", "f") in [one[:4] for one in told(annotation)]

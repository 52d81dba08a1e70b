"""On well-formed answers the counts and the score are those of the reference implementation.

It is `radeval.metrics.green_score.green.GREEN` of the package `radeval`; `.ci/radeval`
installs it and runs this file.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from installed import module

from judge.rubrics.derived import for_prompt
from judge.rubrics.green import RUBRIC as STRICT
from judge.types import Category, Study

pytestmark = pytest.mark.ci

ANSWERS = 1500
RUBRIC = for_prompt(STRICT, "green-official", "hf:StanfordAIMI/GREEN-radllama2-7b")
STUDY = Study("s1", "No pneumothorax.", "No pneumothorax.")
HEADINGS = {
    "significant": "Clinically Significant Errors",
    "insignificant": "Clinically Insignificant Errors",
}
LABELS = [
    "False report of a finding in the candidate",
    "Missing a finding present in the reference",
    "Misidentification of a finding's anatomic location/position",
    "Misassessment of the severity of a finding",
    "Mentioning a comparison that isn't in the reference",
    "Omitting a comparison detailing a change from a prior study",
]
PHRASES = [
    "right pleural effusion not mentioned",
    "nodule of 2.5 cm (left upper lobe)",
    "T12: old fracture",
    "no pneumothorax",
    "heart size is normal.",
    "tip 3. intercostal space",
    'the word "unchanged"',
]
EXPLANATIONS = [
    "The reports agree.",
    "Two errors.\n\nIn (a) 1. effusion; matched findings: 3.",
    "No errors.",
]


@pytest.fixture(scope="module")
def reference() -> Any:
    """The reference scorer, without a model."""
    green = module("metrics.green_score.green")
    return green.GREEN(model_name=None, cpu=True)


def _answer(rng: random.Random) -> str:
    marks = rng.choice(["abcdef", "abcdef", "123456"])
    labels = rng.choice(
        [LABELS, [category.label.capitalize() for category in Category]]
    )
    sections = [f"[Explanation]:\n{rng.choice(EXPLANATIONS)}"]
    for heading in HEADINGS.values():
        counts = [rng.choice([0, 0, 0, 1, 2, 3, 11]) for _ in labels]
        if rng.random() < 0.1:
            sections.append(f"[{heading}]:\nNo errors.")
            continue
        lines = [
            f"({mark}) {label}: {_listed(rng, count)}"
            for mark, label, count in zip(marks, labels, counts, strict=True)
        ]
        sections.append("\n".join([f"[{heading}]:", *lines]))
    sections.append(
        f"[Matched Findings]:\n{_listed(rng, rng.choice([0, 1, 2, 4, 7, 12]))}"
    )
    return "\n\n".join(sections) + rng.choice(["", "\n", "\n\n"])


def _listed(rng: random.Random, count: int) -> str:
    if count == 0:
        return rng.choice(["0.", "0. None", "0. "])
    return (
        f"{count}. {'; '.join(rng.choices(PHRASES, k=rng.choice([count, count, 1])))}"
    )


def test_counts_and_score_are_the_reference_implementations(reference: Any) -> None:
    rng = random.Random(2024)
    scores = set()
    for _ in range(ANSWERS):
        text = _answer(rng)
        measures = RUBRIC.measured(RUBRIC.parse(text, STUDY, complete=True), STUDY)
        for level, heading in HEADINGS.items():
            total, by_category = reference.parse_error_counts(text, heading)
            assert measures[f"n_{level}"] == total, text
            assert [
                measures[f"{level}_{category}"] for category in Category
            ] == by_category
        assert (
            measures["n_matched"]
            == reference.parse_error_counts(text, "Matched Findings")[0]
        )
        assert measures["green"] == pytest.approx(reference.compute_green(text)), text
        scores.add(measures["green"])
    # The answers are of many kinds, so that agreement is no accident.
    assert len(scores) > 50
    assert {0.0, 1.0} <= scores


def test_what_render_writes_is_read_alike(reference: Any) -> None:
    rng = random.Random(7)
    for _ in range(200):
        annotation = RUBRIC.parse(_answer(rng), STUDY, complete=True)
        score = RUBRIC.measured(annotation, STUDY)["green"]
        assert reference.compute_green(RUBRIC.render(annotation)) == pytest.approx(
            score
        )

"""The score and the official prompts are those of the reference implementation.

It is `radeval.metrics.crimson` of the package `radeval`; `.ci/radeval` installs it and runs this
file. Only its scoring and its prompt are called: no model is loaded.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from installed import module

from judge.prompts import official
from judge.rubrics.crimson import RUBRIC
from judge.rubrics.crimson.parse import ATTRIBUTES, LEVELS, MODALITY_OF, WEIGHTS
from judge.types import Study

pytestmark = pytest.mark.ci

REPLIES = 1000
_USUAL = [name for name in ATTRIBUTES if name not in MODALITY_OF]
STUDY = Study("s1", "Pneumothorax.", "Pneumothorax.")
CONTEXTS = ({}, {"Age": "70-80", "Indication": "Cough, 5 days; costs $3 {x}"})


@pytest.fixture(scope="module")
def scorer() -> Any:
    """The reference scorer, without a model: its constructor, which loads one, is not called."""
    crimson = module("metrics.crimson.crimson")
    return object.__new__(crimson.CRIMSONScore)


def _reply(rng: random.Random) -> dict[str, Any]:
    """Return a reply of the form that is asked for, with whatever may stand in it."""
    sides = [
        [
            {
                "id": f"{letter}{at}",
                # Each report in its own words: what both have in the same words is not missing.
                "finding": f"{word} {at}",
                "clinical_significance": rng.choice(
                    rng.choice([LEVELS, LEVELS, LEVELS[-1:]])
                ),
            }
            for at in range(1, rng.choice([0, 1, 2, 3, 6]) + 1)
        ]
        for letter, word in (("R", "nodule"), ("P", "opacity"))
    ]
    reference, candidate = ([one["id"] for one in side] for side in sides)
    pairs = [
        (ref, pred)
        for ref in reference
        for pred in candidate
        if rng.random() < rng.choice([0, 0.4])
    ]
    attributes = [
        {
            "ref_id": ref,
            "pred_id": pred,
            "severity": rng.choice(["significant", "negligible"]),
            "error_types": rng.sample(_USUAL, rng.choice([1, 1, 2])),
            "explanation": f"why {rng.random()}",
        }
        for ref, pred in pairs
        for _ in range(rng.choice([0, 0, 1, 2]))
    ]
    return {
        "reference_findings": sides[0],
        "predicted_findings": sides[1],
        "matched_findings": [{"ref_id": ref, "pred_id": pred} for ref, pred in pairs],
        "errors": {
            "false_findings": [
                one for one in candidate if one not in {pred for _, pred in pairs}
            ],
            "missing_findings": [
                one for one in reference if one not in {ref for ref, _ in pairs}
            ],
            "attribute_errors": attributes,
        },
    }


def test_a_thousand_replies_have_the_same_score(scorer: Any) -> None:
    rng = random.Random(19)
    scores = set()
    for _ in range(REPLIES):
        reply = _reply(rng)
        expected = scorer._calculate_crimson(reply)
        for text in (
            json.dumps(reply),
            RUBRIC.render(RUBRIC.parse(json.dumps(reply), STUDY)),
        ):
            measures = RUBRIC.measured(RUBRIC.parse(text, STUDY), STUDY)
            # The package rounds to four digits.
            assert round(measures["crimson"], 4) == expected["crimson_score"], text
        found = expected["metrics"]
        assert measures["reference_weight"] == found["N_G"]
        assert measures["matched_weight"] == pytest.approx(found["correct"])
        weighted = expected["weighted_error_counts"]
        assert measures["false_weight"] == weighted["false_findings"]
        assert measures["missing_weight"] == weighted["missing_findings"]
        for name in _USUAL:
            n = sum(measures[f"{grade}_{name}"] for grade in (*LEVELS, "negligible"))
            assert n == expected["error_counts"][f"{name}_errors"]
        scores.add(expected["crimson_score"])
    # The replies are of many kinds, so that agreement is no accident.
    assert len(scores) > 50
    assert 1.0 in scores
    assert min(scores) < -0.5
    assert set(WEIGHTS.values()) == {0, 0.25, 0.5, 1}


@pytest.mark.parametrize("context", CONTEXTS, ids=["without context", "with context"])
@pytest.mark.parametrize("name", ["crimson-official", "crimson-medgemma-official"])
def test_the_official_prompts_are_what_the_package_asks(
    name: str, context: dict[str, str]
) -> None:
    recipe = official.recipes()[name]
    parts = module("metrics.crimson.prompt_parts")
    prompt = recipe.extract(official.read_copy(recipe, Path(str(parts.__file__))))
    reports = ("Effusion of 3 cm; {x} $y.\nNo pneumothorax.", "No effusion.")
    has_guidelines = name == "crimson-official"
    asked = parts.build_prompt(
        *reports,
        patient_context=context or None,
        include_significance_examples=has_guidelines,
        include_attribute_guidelines=has_guidelines,
        include_context_guidelines=has_guidelines,
    )
    system, user = prompt.messages(*reports, context)
    assert user.content == asked
    assert system.content == module("metrics.crimson.crimson")._SYSTEM_MSG

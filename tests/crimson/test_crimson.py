"""Reading, writing and scoring of CRIMSON's answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge import rubrics
from judge.rubrics.crimson.parse import ATTRIBUTES, LEVELS, MODALITY_OF, WEIGHTS, Reply
from judge.types import Annotation, Item, Measures, Study, UnparsedError

RUBRIC = rubrics.load("crimson")
STUDY = Study("s", "Left effusion.", "Left effusion.")
Found = dict[str, Any]

_TEXT = st.text(alphabet="abc {}[]\":,\\'\n\u00e9\u2028\ud83e", max_size=12)

_USUAL = [name for name in ATTRIBUTES if name not in MODALITY_OF]


@st.composite
def replies(draw: st.DrawFn) -> Found:
    """Replies in which every finding is accounted for."""
    sides = {
        letter: [
            {
                "id": f"{letter}{at}",
                "finding": f"{letter}x{at} {draw(_TEXT)}",
                "clinical_significance": draw(st.sampled_from(LEVELS)),
            }
            for at in range(1, draw(st.integers(0, 4)) + 1)
        ]
        for letter in "RP"
    }
    reference, candidate = ([one["id"] for one in sides[letter]] for letter in "RP")
    every = [(ref, pred) for ref in reference for pred in candidate]
    pairs = draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    attributes = [
        {
            "ref_id": ref,
            "pred_id": pred,
            "severity": draw(st.sampled_from(["significant", "negligible"])),
            "error_types": draw(
                st.lists(st.sampled_from(_USUAL), min_size=1, max_size=3, unique=True)
            ),
            "explanation": f"differs {draw(_TEXT)} {at}",
        }
        for ref, pred in pairs
        for at in range(draw(st.integers(0, 2)))
    ]
    matched = {one for pair in pairs for one in pair}
    return {
        "reference_findings": sides["R"],
        "predicted_findings": sides["P"],
        "matched_findings": [{"ref_id": ref, "pred_id": pred} for ref, pred in pairs],
        "errors": {
            "false_findings": [one for one in candidate if one not in matched],
            "missing_findings": [one for one in reference if one not in matched],
            "attribute_errors": attributes,
        },
    }


def read(reply: Found) -> Annotation:
    return RUBRIC.parse(json.dumps(reply), STUDY)


def measured(reply: Found) -> Measures:
    return RUBRIC.measured(read(reply), STUDY)


def value(reply: Found) -> float:
    found = measured(reply)["crimson"]
    assert found is not None
    return found


@given(replies())
def test_what_is_written_is_read_again(reply: Found) -> None:
    annotation = read(reply)
    written = RUBRIC.render(annotation)
    assert RUBRIC.parse(written, STUDY) == annotation
    Reply.model_validate_json(written, strict=True)


@given(replies(), st.data())
def test_no_part_of_an_answer_is_an_answer(reply: Found, data: st.DataObject) -> None:
    text = json.dumps(reply)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    for part in (cut, f"```json\n{cut}\n```"):
        with pytest.raises(UnparsedError):
            RUBRIC.parse(part, STUDY)


@given(replies(), st.data())
def test_what_is_taken_out_anywhere_is_never_scored(
    reply: Found, data: st.DataObject
) -> None:
    """Each finding is in one place: a reply that loses one of those is no reply."""
    places = [
        *((reply["errors"], name) for name in ("false_findings", "missing_findings")),
        *((reply, name) for name in ("reference_findings", "predicted_findings")),
    ]
    places = [(holder, name) for holder, name in places if holder[name]]
    if places:
        holder, name = data.draw(st.sampled_from(places))
        del holder[name][data.draw(st.integers(0, len(holder[name]) - 1))]
        with pytest.raises(UnparsedError, match=r"contradiction|id of no finding"):
            read(reply)


@given(replies())
def test_the_score_is_on_its_scale(reply: Found) -> None:
    found = measured(reply)
    assert -1 < value(reply) <= 1
    assert found["matched_weight"] <= found["reference_weight"]
    n_errors = sum(len(one) for one in reply["errors"].values())
    assert found["n_significant"] + found["n_insignificant"] == n_errors
    assert found["n_actionable"] >= found["n_urgent"] == found["n_significant"]


@given(replies(), st.sampled_from(LEVELS))
def test_a_false_finding_more_never_helps(reply: Found, level: str) -> None:
    before = value(reply)
    reply["predicted_findings"].append(
        {"id": "P9", "finding": "more", "clinical_significance": level}
    )
    reply["errors"]["false_findings"].append("P9")
    after = value(reply)
    assert after < before if WEIGHTS[level] else after == before


def test_an_urgent_error_is_one_at_an_urgent_finding() -> None:
    finding = {"id": "R1", "finding": "Pneumothorax", "clinical_significance": "urgent"}
    pair = {"ref_id": "R1", "pred_id": "P1"}
    location = {**pair, "error_types": ["location"], "explanation": "Other side."}
    reply = {
        "reference_findings": [finding],
        "predicted_findings": [
            {
                "id": "P1",
                "finding": "A pneumothorax",
                "clinical_significance": LEVELS[2],
            }
        ],
        "matched_findings": [pair],
        "errors": {
            "false_findings": [],
            "missing_findings": [],
            "attribute_errors": [],
        },
    }
    for severity, n in (("negligible", 0), ("significant", 1)):
        reply["errors"]["attribute_errors"] = [{**location, "severity": severity}]  # type: ignore[index]
        found = measured(reply)
        # What the reference's finding matters decides, not what the candidate's does.
        assert (found["n_urgent"], found["n_actionable"]) == (n, n)
        assert found[f"n_{LEVELS[2]}"] == 0


def test_a_reader_who_links_nothing_has_no_score() -> None:
    items = (
        Item(
            "reference_finding", "Effusion", {"significance": (LEVELS[1],)}, "reference"
        ),
        Item("match", "Effusion"),
    )
    found = RUBRIC.measured(Annotation(items), STUDY)
    assert (found["crimson"], found["matched_weight"]) == (None, None)
    assert found["reference_weight"] == 0.5
    bare = Annotation((Item("reference_finding", "Effusion", {}, "reference"),))
    found = RUBRIC.measured(bare, STUDY)
    assert (found["crimson"], found["reference_weight"]) == (None, None)


@pytest.mark.parametrize(
    "annotation",
    [
        Annotation(explanation="why"),
        Annotation((Item("match", "x", links=(0, 1)),)),
        Annotation(
            (
                Item(
                    "reference_finding", "x", {"significance": ("urgent",)}, "reference"
                ),
            )
        ),
        Annotation((Item("error", "x", {"significance": ("urgent",)}),)),
    ],
)
def test_what_no_reply_expresses_is_not_written(annotation: Annotation) -> None:
    with pytest.raises(ValueError, match="no reply expresses"):
        RUBRIC.render(annotation)

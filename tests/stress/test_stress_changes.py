"""What each change does to reports that are made for it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from support import with_rules

from judge import rubrics
from judge.stress.changes import known
from judge.stress.making import made_of
from judge.stress.text import NotMade
from judge.types import Study


def made(change: str, text: str, seed: int = 1) -> str | NotMade:
    ((_, found),) = made_of(Study("s", text, text), [known()[change]], seed)
    return found if isinstance(found, NotMade) else found.after


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        (
            "denied",
            "Clear. There is a small left pleural effusion.",
            "Clear. There is no pleural effusion.",
        ),
        ("denied", "LARGE PNEUMOTHORAX.", "THERE IS NO PNEUMOTHORAX."),
        ("removed", "Lungs clear. Hiatal hernia. Heart normal.", "Lungs clear. Heart normal."),
        ("removed", "Hiatal hernia. Heart normal.", "Heart normal."),
        ("affirmed", "No pneumothorax.", "There is a right pneumothorax."),
        (
            "affirmed",
            "No pleural thickening, adenopathy, or pneumothorax.",
            "No pleural thickening or adenopathy. There is a right pneumothorax.",
        ),
        ("side_swapped", "A bright nodule in the right lung.", "A bright nodule in the left lung."),
        ("side_swapped", "Left-sided pneumothorax.", "Right-sided pneumothorax."),
        ("side_swapped", "LEFT PNEUMOTHORAX", "RIGHT PNEUMOTHORAX"),
        ("side_swapped", "Small R pleural effusion.", "Small L pleural effusion."),
        ("level_changed", "Nodule in the left upper lobe.", "Nodule in the left lower lobe."),
        ("severity_up", "The heart is mildly enlarged.", "The heart is severely enlarged."),
        ("severity_up", "Small effusion.", "Large effusion."),
        ("severity_up", "Moderate effusion.", "Large effusion."),
        ("severity_down", "Severe pulmonary edema.", "Mild pulmonary edema."),
        ("measurement_changed", "There is a 6 mm nodule.", "There is a 12 mm nodule."),
        ("measurement_changed", "There is a 2.2 cm mass.", "There is a 4.4 cm mass."),
        ("measurement_changed", "A mass of 3 x 4 cm.", "A mass of 6 x 8 cm."),
        ("measurement_changed", "A 7 cm mass.", "A 3.5 cm mass."),
        (
            "tip_moved",
            "PICC with its tip in the lower SVC.",
            "PICC with its tip in the right ventricle.",
        ),
        (
            "tip_moved",
            "The endotracheal tube ends 4 cm above the carina.",
            "The endotracheal tube ends in the right main bronchus.",
        ),
        ("device_renamed", "Aortic valve prosthesis.", "Coronary stent."),
        ("device_renamed", "Endotracheal tube in place.", "Tracheostomy tube in place."),
        ("device_removed", "Clear lungs. Left chest tube.", "Clear lungs."),
        ("comparison_added", "Hiatal hernia.", "Hiatal hernia, unchanged since the prior study."),
        ("comparison_removed", "Stable cardiomegaly.", "Cardiomegaly."),
        ("comparison_removed", "Cardiomegaly, unchanged.", "Cardiomegaly."),
        ("comparison_turned", "Stable cardiomegaly.", "Worsening cardiomegaly."),
        ("comparison_turned", "The effusion has improved.", "The effusion has worsened."),
        ("contradicted", "Small effusion.", "Small effusion. There is no pleural effusion."),
        ("contradicted", "No pneumothorax", "No pneumothorax. There is a right pneumothorax."),
        ("bulleted", "Lungs clear. Heart normal.", "- Lungs clear.\n- Heart normal."),
        ("reordered", "Lungs clear. Heart normal.", "Heart normal. Lungs clear."),
        ("numbers_as_words", "A 6 mm and a 2.2 cm nodule.", "A six mm and a 2.2 cm nodule."),
        (
            "written_out",
            "Tip in the SVC, 4 cm deep.",
            "Tip in the superior vena cava, 4 centimeter deep.",
        ),
        ("abbreviated", "Right lower lobe nodule.", "RLL nodule."),
        ("synonyms", "No evidence of edema.", "No sign of edema."),
        ("terse", "There is a nodule. There are no masses.", "Nodule. No masses."),
        ("verbose", "No pneumothorax.", "There is no evidence of pneumothorax."),
        (
            "structured",
            "Ribs intact. A nodule over a rib. Lung edema with B-lines.",
            "Bones: Ribs intact.\nLungs and pleura: A nodule over a rib. Lung edema with B-lines.",
        ),
        ("repeated", "Lungs clear.", "Lungs clear. Lungs clear."),
        ("homophone", "The heart.", "The hart."),
        ("upper_case", "Größe 5 mm.", "GRÖSSE 5 MM."),
    ],
)
def test_a_change(change: str, before: str, after: str) -> None:
    assert made(change, before) == after


@pytest.mark.parametrize(
    ("change", "text"),
    [
        # Denied, doubted, or said of by another sentence too.
        ("denied", "No pneumothorax."),
        ("denied", "Possible pneumothorax."),
        ("denied", "Pneumothorax. The pneumothorax is small."),
        ("denied", "Consolidation. This opacity is new."),
        ("removed", "Hiatal hernia."),
        ("side_swapped", "The patient left. No nodule."),
        ("side_swapped", "The nodule was left out."),
        ("side_swapped", "An alright nodule."),
        ("side_swapped", "Right middle lobe nodule."),
        ("side_swapped", "Nodules of the left and right lung."),
        ("side_swapped", "No right pneumothorax."),
        ("side_swapped", "Nodule at L5, r/o mass."),
        ("severity_up", "No large effusion."),
        ("severity_up", "Mild to moderate edema."),
        ("severity_up", "Large effusion."),
        ("severity_up", "Moderate pneumothorax, 3 cm."),
        ("severity_down", "Small effusion."),
        ("measurement_changed", "The tube is 4 cm above the carina."),
        ("measurement_changed", "The nodule measures 5 mm, previously 4 mm."),
        ("comparison_added", "Stable heart. Hiatal hernia."),
        ("comparison_removed", "Cardiomegaly is stable."),
        ("affirmed", "Lungs are clear. No consolidation."),
        ("affirmed", "No consolidation. No opacity."),
        ("upper_case", "ALL CLEAR."),
        ("reordered", "Lungs clear."),
        ("reordered", "1. Lungs clear. 2. Heart normal."),
        ("terse", "Lungs clear."),
        ("errors_5", "Lungs clear."),
    ],
)
def test_a_change_that_cannot_be_made_says_why(change: str, text: str) -> None:
    found = made(change, text)
    assert isinstance(found, NotMade)
    assert found.reason


def test_a_finding_is_added_where_its_part_of_the_chest_is_not_spoken_of() -> None:
    text = "Lungs clear. Heart and mediastinum normal. No effusion. Diaphragm normal. No hernia."
    assert made("added", text) == f"{text} There is a displaced fracture of the left seventh rib."


def test_hostile_texts_stand_behind_the_one_error() -> None:
    text = "Small right apical pneumothorax. Heart size is normal."
    one = made("errors_1", text)
    assert one != text
    without_rules = {*rubrics.names()} - {*with_rules()}
    for name, change in known().items():
        if change.group == "hostile":
            found = made(name, text)
            if name.removeprefix("fake_reply_") in without_rules:
                assert found == NotMade("the rubric cannot write an answer")
                continue
            assert isinstance(found, str)
            assert isinstance(one, str)
            assert found.startswith(f"{one}\n\n"), name


def test_more_errors_are_those_of_fewer_and_one_more() -> None:
    text = (
        "Small right pneumothorax. The heart is mildly enlarged. There is a 6 mm nodule in the "
        "left upper lobe. Hiatal hernia. Severe scoliosis. Left chest tube."
    )
    study = Study("s", text, text)
    chain = [known()[f"errors_{k}"] for k in range(6)]
    errors = []
    for _, found in made_of(study, chain, 3):
        assert not isinstance(found, NotMade), found
        errors.append(found.errors)
    assert [len(one) for one in errors] == [0, 1, 2, 3, 4, 5]
    assert all(more[: len(fewer)] == fewer for fewer, more in pairwise(errors))
    assert len({one.finding for one in errors[5]}) == 5

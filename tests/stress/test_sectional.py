"""Errors in reports of CT and MR: each that is made of made-up reports, and what is left alone."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support import EXAMPLES, Invoke, write_json

from judge.jsonio import read_yaml
from judge.stress.candidates import all_perturbations
from judge.stress.error_injection import ERROR_KINDS
from judge.stress.measurements import measurements
from judge.stress.report_edits import (
    NotApplicable,
    Reference,
    SeededChoice,
    apply_edits,
)
from judge.stress.sectional import error_options
from judge.stress.spine import VERTEBRAE, levels_in
from judge.studies import read_pair

CASES: dict[str, list[dict[str, Any]]] = read_yaml(
    Path(__file__).parent / "data" / "sectional.yaml"
)[0]
REPORTS = [case["report"] for cases in CASES.values() for case in cases]


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def options(kind: str, text: str, modality: str = "CT") -> list[str]:
    """Each report that has one error of a kind."""
    report = Reference(text, modality)
    return [
        apply_edits(text, edits)
        for edits, _ in error_options(ERROR_KINDS[kind], report)
    ]


@pytest.mark.parametrize("examination", CASES)
def test_each_change_of_made_up_reports(examination: str) -> None:
    assert len(CASES[examination]) >= 10
    for case in CASES[examination]:
        report = Reference(case["report"])
        assert report.is_sectional
        made = []
        for name, kind in ERROR_KINDS.items():
            for edits, error in error_options(kind, report):
                categories = ",".join(error.categories)
                words = f"{error.before} -> {error.after}"
                made.append(f"{name}, {error.finding}, {categories}: {words}")
                assert error.before in report.text
                assert error.after in apply_edits(report.text, edits)
        assert made == case["changes"]


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        (
            *("measurement_changed", "A 40 mm mass in the liver."),
            "An 80 mm mass in the liver.",
        ),
        ("measurement_changed", "A 12 mm x 9 mm lesion.", "A 24 mm x 18 mm lesion."),
        ("unit_changed", "Cyst of 3 x 2 x 2 cm.", "Cyst of 3 x 2 x 2 mm."),
        ("side_swapped", "RIGHT RENAL CYST.", "LEFT RENAL CYST."),
        ("level_changed", "Disc bulge at C6/7.", "Disc bulge at C4/5."),
        (
            "level_changed",
            "Lesion in hepatic segment VI.",
            "Lesion in hepatic segment I.",
        ),
        (
            "count_changed",
            "There are multiple enlarged lymph nodes.",
            "There is a single enlarged lymph node.",
        ),
        (
            *("count_changed", "A solitary lesion is seen."),
            "Multiple lesions are seen.",
        ),
        ("comparison_changed", "A stable cyst.", "An enlarging cyst."),
        (
            *("comparison_changed", "The edema remains unchanged."),
            "The edema has worsened.",
        ),
    ],
)
def test_a_change(kind: str, before: str, after: str) -> None:
    assert after in options(kind, before)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        # Limits, ranges, earlier sizes, distances, techniques, volumes, and half of a product.
        ("measurement_changed", "No nodule larger than 5 mm."),
        ("measurement_changed", "Nodules of 3-4 mm. Lesions of 4 and 6 mm."),
        ("measurement_changed", "The mass measured 8 mm previously."),
        ("measurement_changed", "A lesion 4 cm from the anal verge."),
        ("measurement_changed", "Axial 5 mm slices show a lesion."),
        ("measurement_changed", "Nodule of 120 mm3. Cyst of 1.2 (AP) x 0.9 (TR) cm."),
        # Said again: the report would contradict itself.
        ("measurement_changed", "A 9 mm cyst is seen. Impression: 9 mm cyst."),
        ("unit_changed", "A 40 mm mass. A 0.5 cm nodule."),
        ("side_swapped", "Left renal cyst. Impression: left renal cyst."),
        ("side_swapped", "Cyst of the left kidney. Cyst of the right kidney."),
        ("side_swapped", "Stenosis of the left anterior descending artery."),
        ("side_swapped", "Abscess in the right lower quadrant."),
        # T1 and T2 are weightings, a range has more levels, a heading heads other sentences.
        ("level_changed", "T1 hyperintense lesion, T2 hypointense."),
        ("level_changed", "Disc protrusions from L2-L5."),
        ("level_changed", "L4-L5: Disc bulge. Mild stenosis. L5-S1: Normal."),
        ("level_changed", "Lesion in segment 4a of the liver. M1 segment lesion."),
        ("level_changed", "Nodule in the lingula, left upper lobe."),
        ("count_changed", "Multiple bilateral renal cysts."),
        ("count_changed", "Multiple nodules, the largest in the left lung."),
        ("count_changed", "Two nodules measuring 4 mm and 6 mm."),
        ("count_changed", "No more than two cysts."),
        ("comparison_changed", "The nodule has increased from 8 mm to 12 mm."),
        ("comparison_changed", "New lesion, increased since the prior study."),
    ],
)
def test_what_is_no_certain_error_is_left_alone(kind: str, text: str) -> None:
    assert options(kind, text) == []


def test_what_is_made_up_suits_the_examination() -> None:
    text = "The ventricles and the brainstem are normal on T2 images."
    made_up = options("added", text)
    assert made_up
    assert not any(re.search("lung|pleura|pneumo|heart|rib", one) for one in made_up)
    assert not options("added", "The menisci and the ligaments are normal.")


def test_no_error_is_the_same_report_and_every_one_keeps_the_other_sentences() -> None:
    for text in REPORTS:
        report = Reference(text)
        for kind in ERROR_KINDS.values():
            for edits, _ in error_options(kind, report):
                after = apply_edits(text, edits)
                assert after != text
                kept = [one.text in after for one in report.sentences]
                # One sentence changes, goes or comes.
                assert sum(kept) >= len(kept) - 1


def test_the_modality_of_the_file_decides_before_the_words() -> None:
    text = "There is a 6 mm nodule in the right upper lobe."
    assert not Reference(text).is_sectional
    assert Reference(text, "CT chest").is_sectional
    assert Reference(text, "MRI").is_sectional
    for case in REPORTS:
        assert not Reference(case, "CR").is_sectional


@pytest.mark.data
def test_no_chest_radiograph_is_taken_for_ct_or_mr() -> None:
    shared = Path(__file__).parents[3] / "shared" / "data" / "iu_xray" / "refs.json"
    if not shared.exists():
        pytest.skip("the shared reports are absent")
    records = json.loads(shared.read_text("utf-8")).values()
    reports = [record.get("report") or "" for record in records]
    assert not [text for text in reports if Reference(text).is_sectional]


@pytest.mark.parametrize("text", REPORTS)
def test_converted_units_are_the_same_sizes(text: str) -> None:
    change = all_perturbations()["converted_units"]
    sizes = [size.in_mm for size in measurements(text)]
    try:
        edits, errors = change.make(Reference(text), SeededChoice(1, "s", "u"))
    except NotApplicable:
        assert not sizes
        return
    after = list(measurements(apply_edits(text, edits)))
    assert not errors
    assert [size.in_mm for size in after] == sizes
    units = [size.unit for size in measurements(text)]
    assert all(old != new.unit for old, new in zip(units, after, strict=True))


def test_sizes_are_read_with_their_units() -> None:
    (size,) = measurements("A 1.25 x 0.9 cm cyst, 3-4 mm, > 5 mm, 80 mm Hg, 2 cm3.")
    assert size.text == "1.25 x 0.9 cm"
    assert size.in_mm == (Decimal("12.5"), Decimal(9))
    assert size.converted() == "12.5 x 9 mm"
    assert size.times(Decimal(2)) == "2.50 x 1.8 cm"


def test_levels_of_the_spine() -> None:
    text = "T1 and T2 images. L4-L5, L5/S1, C5-6, T12 and C2-C7; T1-weighted, VL5-6."
    levels = levels_in(text)
    assert [level.text for level in levels] == ["L4-L5", "L5/S1", "C5-6", "T12"]
    assert [level.moved(-1) for level in levels] == ["L3-L4", "L4/L5", "C4-5", "T11"]
    assert levels[1].moved(1) is None
    assert VERTEBRAE[-1] == "S1"


def test_the_fields_have_what_was_changed(invoke: Invoke, tmp_path: Path) -> None:
    write_json(
        tmp_path / "ct.json",
        [
            {"study_id": str(n), "report": text, "modality": "CT"}
            for n, text in enumerate(REPORTS[::4])
        ],
    )
    assert invoke("stress", "make", "ct.json", "--out", "made").exit_code == 0
    made = tmp_path / "made"
    studies = {
        study.study_id: study
        for study in read_pair(str(made / "preds.jsonl"), str(made / "refs.jsonl"))
    }
    truth = read_lines(made / "truth.jsonl")
    n_compared = 0
    for line in truth:
        if not line["made"]:
            assert line["why_not"]
            continue
        study = studies[line["study_id"]]
        for error in line["errors"]:
            assert error["before"] in study.reference
            assert error["after"] in study.candidate
            assert error["before"] or error["after"]
            n_compared += 1
        before = [error["before"] for error in line["errors"]]
        assert (study.fields["before"] or "") == ";".join(before).strip()
    assert n_compared > 200
    changes = {study.fields["change"] for study in studies.values()}
    assert {"count_changed", "unit_changed", "errors_5"} <= changes


def test_radiographs_have_no_such_fields(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("stress", "make", EXAMPLES / "refs.json", "--out", "made")
    assert done.exit_code == 0
    for record in read_lines(tmp_path / "made" / "refs.jsonl"):
        assert "before" not in record
        assert record["change"] not in ("count_changed", "unit_changed")

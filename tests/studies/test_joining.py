"""By which fields two files are joined: any that both share, and by position only without one."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import pytest

from judge.studies import NamedFields, StudySet, from_python, read_pair
from judge.studies.pairing import is_id_name
from judge.types import JudgeError

Put = Callable[..., str]
N = 12
REPORTS = [f"Nodule of {size} mm." for size in range(N)]
ORDER = random.Random(3).sample(range(N), N)


def sides(
    preds: dict[str, Sequence[Any]], refs: dict[str, Sequence[Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Records of both sides; those of PREDS are shuffled."""
    candidates = [
        {name: column[row] for name, column in preds.items()} for row in ORDER
    ]
    for record, row in zip(candidates, ORDER, strict=True):
        record["prediction"] = REPORTS[row]
    references = [
        {name: column[row] for name, column in refs.items()} for row in range(N)
    ]
    for row, record in enumerate(references):
        record["reference"] = REPORTS[row]
    return candidates, references


def are_right(studies: StudySet) -> bool:
    return len(studies) == N and studies.references == studies.candidates


IMAGES = [f"images/p{row:02}.png" for row in range(N)]


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("image_id", IMAGES),
        ("dicom_id", list(range(100, 100 + N))),
        ("StudyInstanceUID", [f"1.2.840.{row}" for row in range(N)]),
        ("filename", IMAGES),
        ("VolumeName", [f"valid_{row}_a_1.nii.gz" for row in range(N)]),
        ("case no", list(range(1, N + 1))),
        ("whatever", [f"w{row}" for row in range(N)]),
        ("age", [40 + row for row in range(N)]),
    ],
)
@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_shared_field_joins_whatever_its_name(
    put: Put, name: str, ids: Sequence[Any], form: str
) -> None:
    preds, refs = sides({name: ids}, {name: ids})
    files = []
    for called, records in (("p", preds), ("r", refs)):
        text = (
            pd.DataFrame(records).to_csv(index=False)
            if form == "csv"
            else json.dumps(records)
        )
        files.append(put(f"{called}.{form}", text))
    studies = read_pair(*files)
    assert are_right(studies)
    assert studies.read_from["id"] == name
    assert not any("position" in note for note in studies.notes)
    assert are_right(from_python(pd.DataFrame(refs), pd.DataFrame(preds)))


def test_fields_of_two_names_join_where_their_values_are_the_same(put: Put) -> None:
    preds, refs = sides({"id": IMAGES}, {"dicom_id": IMAGES})
    studies = read_pair(put("p.json", preds), put("r.json", refs))
    assert are_right(studies)
    assert studies.read_from["id"] == "dicom_id (id in PREDS)"
    keyed = {record["id"]: record["prediction"] for record in preds}
    assert are_right(read_pair(put("k.json", keyed), put("r.json", refs)))
    # Numbers of rows are alike by chance: a rank is no id.
    ranks, rows = list(reversed(range(N))), list(range(N))
    preds, refs = sides({"rank": ranks}, {"order": rows})
    assert not are_right(read_pair(put("p.json", preds), put("r.json", refs)))


def test_ids_may_be_numbers_on_one_side_and_texts_on_the_other(put: Put) -> None:
    preds, refs = sides({"image": [f"{row}" for row in range(50, 50 + N)]},
                        {"image": [float(row) for row in range(50, 50 + N)]})  # fmt: skip
    assert are_right(read_pair(put("p.json", preds), put("r.json", refs)))


def test_fields_that_disagree_are_refused_and_named(put: Put) -> None:
    numbers = list(range(1, N + 1))
    preds, refs = sides({"image_id": IMAGES}, {"image_id": IMAGES, "id": numbers})
    for number, record in enumerate(preds, 1):
        record["id"] = number  # numbered again after the shuffling
    files = put("p.json", preds), put("r.json", refs)
    with pytest.raises(JudgeError, match=r"--column id=id or --column id=image_id"):
        read_pair(*files)
    assert are_right(read_pair(*files, fields=NamedFields(id="image_id")))
    # The same for a field that is no usual id.
    for record in (*preds, *refs):
        record["serial"] = f"s{record.pop('id')}"
    with pytest.raises(JudgeError, match="which put different records together"):
        read_pair(put("p.json", preds), put("r.json", refs))


def test_fields_that_agree_are_no_trouble_and_the_likeliest_is_the_id(put: Put) -> None:
    ages = [40 + row for row in range(N)]
    both = {"age": ages, "image_id": IMAGES, "site": ["north"] * N}
    preds, refs = sides(both, both)
    studies = read_pair(put("p.json", preds), put("r.json", refs))
    assert are_right(studies)
    assert studies.read_from["id"] == "image_id"


@pytest.mark.parametrize("name", ["index", "Unnamed: 0", ""])
def test_numbers_of_rows_join_nothing_where_another_field_does(
    put: Put, name: str
) -> None:
    preds, refs = sides({"image_id": IMAGES}, {"image_id": IMAGES})
    files = []
    for called, records in (("p.csv", preds), ("r.csv", refs)):
        frame = pd.DataFrame(records)
        frame.insert(0, name or "none", range(N))
        files.append(
            put(called, frame.rename(columns={"none": ""}).to_csv(index=False))
        )
    studies = read_pair(*files)
    assert are_right(studies)
    assert studies.read_from["id"] == "image_id"


def test_repeated_usual_ids_give_way_to_a_field_that_joins(put: Put) -> None:
    exams = [f"e{row // 2}" for row in range(N)]
    both = {"study_id": exams, "dicom_id": IMAGES}
    preds, refs = sides(both, both)
    assert are_right(read_pair(put("p.json", preds), put("r.json", refs)))


def test_usual_ids_of_which_some_are_missing_still_join(put: Put) -> None:
    preds, refs = sides({"image_id": IMAGES}, {"image_id": IMAGES})
    files = put("p.json", preds[1:]), put("r.json", refs)
    with pytest.raises(JudgeError, match="only in REFS: 1 "):
        read_pair(*files)
    studies = read_pair(*files, allow_missing=True)
    assert (len(studies), studies.references) == (N - 1, studies.candidates)


def test_ids_that_are_written_in_two_ways_are_refused_with_the_difference(
    put: Put,
) -> None:
    preds, refs = sides({"filename": [f"P{row}.PNG" for row in range(N)]},
                        {"filename": [f"images/p{row}.jpg" for row in range(N)]})  # fmt: skip
    with pytest.raises(
        JudgeError, match="12 would match without folders and file endings"
    ):
        read_pair(put("p.json", preds), put("r.json", refs))


def test_by_position_only_where_no_field_says_otherwise(put: Put) -> None:
    preds, refs = sides({}, {"site": ["north"] * N})
    studies = read_pair(put("p.json", preds), put("r.json", refs))
    assert studies.read_from["id"] == "position"
    assert any(note.startswith("joined by position") for note in studies.notes)
    # A field of both that is not unique tells that the order is another.
    ages = [40 + row // 2 for row in range(N)]
    preds, refs = sides({"age": ages}, {"age": ages})
    with pytest.raises(JudgeError, match="values of age stand in another order"):
        read_pair(put("p.json", preds), put("r.json", refs))
    preds = [preds[ORDER.index(row)] for row in range(N)]
    assert are_right(read_pair(put("p.json", preds), put("r.json", refs)))
    with pytest.raises(JudgeError, match=r"11 records against 12.*add ids"):
        read_pair(put("p.json", preds[1:]), put("r.json", refs))


def test_one_record_a_side_goes_by_position_or_its_id(put: Put) -> None:
    one, other = (
        {"prediction": "A.", "split": "test"},
        {"reference": "B.", "split": "test"},
    )
    studies = read_pair(put("p.json", [one]), put("r.json", [other]))
    assert studies.read_from["id"] == "position"
    files = (
        put("p.json", [one | {"image": "a"}]),
        put("r.json", [other | {"image": "b"}]),
    )
    with pytest.raises(JudgeError, match="no id in common"):
        read_pair(*files)


def test_reports_join_nothing(put: Put) -> None:
    preds = [{"report": REPORTS[row], "prediction": "x"} for row in ORDER]
    refs = [{"report": report} for report in REPORTS]
    studies = read_pair(put("p.json", preds), put("r.json", refs))
    assert studies.read_from["id"] == "position"


def test_a_named_field_may_stand_in_one_file_alone(put: Put) -> None:
    keyed = {f"p{row}": REPORTS[row] for row in ORDER[1:]}
    refs = [{"scan": f"p{row}", "reference": REPORTS[row]} for row in range(N)]
    files = put("p.json", keyed), put("r.json", refs)
    with pytest.raises(JudgeError, match="--column id: scan"):
        read_pair(*files)
    studies = read_pair(*files, fields=NamedFields(id="scan"), allow_missing=True)
    assert (len(studies), studies.references) == (N - 1, studies.candidates)


@pytest.mark.parametrize(
    ("name", "is_id"),
    [
        *(
            ("image_id", True),
            ("SOPInstanceUID", True),
            ("dicomId", True),
            ("accession no.", True),
        ),
        *(
            ("age", False),
            ("indication", False),
            ("valid", False),
            ("sidedness", False),
        ),
    ],
)
def test_names_of_ids(name: str, is_id: bool) -> None:
    assert is_id_name(name) is is_id


def test_swapped_files_and_files_with_the_same_texts_are_said(put: Put) -> None:
    preds = put(
        "predictions.json",
        {"a": {"model_prediction": "x"}, "b": {"model_prediction": "y"}},
    )
    refs = put(
        "refs.json", {"a": {"section_findings": "x"}, "b": {"section_findings": "y"}}
    )
    assert any("same texts" in note for note in read_pair(preds, refs).notes)
    with pytest.raises(JudgeError, match="Are PREDS and REFS swapped"):
        read_pair(refs, preds)
    texts = put("refs.json", {"a": "x"}), put("preds.json", {"a": "z"})
    assert any("swapped" in note for note in read_pair(*texts).notes)
    assert read_pair(*reversed(texts)).notes == ()

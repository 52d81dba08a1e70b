"""By which fields two files are joined: any that both share, and by position only without one."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support import Invoke

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


# By row, where the user asks for it

BY_ROW = NamedFields(id="row")
BARE = [{"prediction": report} for report in REPORTS]


def with_ids(field: str) -> list[dict[str, object]]:
    return [{field: f"s{row}", "reference": REPORTS[row]} for row in range(N)]


@pytest.mark.parametrize("field", ["study_id", "image_id", "accession"])
@pytest.mark.parametrize("has_refs_ids", [True, False])
def test_a_file_without_ids_goes_by_row_only_where_that_is_asked_for(
    put: Put, field: str, *, has_refs_ids: bool
) -> None:
    refs = with_ids(field)
    preds: list[dict[str, object]] = [*BARE]
    if not has_refs_ids:
        preds = [{field: row[field], "prediction": row["reference"]} for row in refs]
        refs = [{"reference": report} for report in REPORTS]
    files = put("p.json", preds), put("r.json", refs)
    if field == "study_id":
        with pytest.raises(JudgeError, match="in their order with --column id=row"):
            read_pair(*files)
    studies = read_pair(*files, fields=BY_ROW)
    assert are_right(studies)
    assert studies.study_ids == tuple(f"s{row}" for row in range(N))
    holder = files[1] if has_refs_ids else files[0]
    assert studies.read_from["id"] == f"position, called by {field} of {holder}"
    (note,) = [note for note in studies.notes if "by position" in note]
    assert note.startswith("joined by position, as --column id=row asks: record 1 of ")
    assert note.endswith(f"the ids are {field} of {holder}")


def test_no_row_is_paired_that_cannot_be(put: Put) -> None:
    refs = put("r.json", with_ids("study_id"))
    for preds in (BARE[1:], [*BARE, *BARE[:1]]):
        with pytest.raises(JudgeError, match="cannot be paired by row"):
            read_pair(put("p.json", preds), refs, fields=BY_ROW)
    # Ids and fields that both files have say that the order is another.
    preds = [
        {"study_id": f"s{row}", "prediction": REPORTS[row]} for row in (*range(1, N), 0)
    ]
    with pytest.raises(
        JudgeError, match=r"by study_id it goes with record 12:.*id=study_id"
    ):
        read_pair(put("p.json", preds), refs, fields=BY_ROW)
    few = [
        *preds[:3],
        *({**row, "study_id": f"x{at}"} for at, row in enumerate(preds[3:])),
    ]
    with pytest.raises(JudgeError, match="by study_id it goes with record"):
        read_pair(put("p.json", few), refs, fields=BY_ROW)
    ages = [{**row, "age": at // 2} for at, row in enumerate(with_ids("study_id"))]
    aged = [{**row, "age": (N - 1 - at) // 2} for at, row in enumerate(BARE)]
    with pytest.raises(JudgeError, match="values of age stand in another order"):
        read_pair(put("p.json", aged), put("r2.json", ages), fields=BY_ROW)
    both = [{**one, **other} for one, other in zip(BARE, with_ids("id"), strict=True)]
    with pytest.raises(JudgeError, match="leave it out"):
        read_pair(put("both.json", both), None, fields=BY_ROW)


def test_ids_of_their_own_kinds_go_by_row_too(put: Put) -> None:
    preds = [{"case": f"c{at}", **row} for at, row in enumerate(BARE)]
    files = put("p.json", preds), put("r.json", with_ids("study_id"))
    studies = read_pair(*files, fields=BY_ROW)
    assert are_right(studies)
    assert studies.study_ids[0] == "s0"
    assert list(studies.fields["case"]) == [f"c{at}" for at in range(N)]


def test_a_field_called_row_is_meant_before_the_order(put: Put) -> None:
    preds = [{"row": f"s{row}", "prediction": REPORTS[row]} for row in ORDER]
    refs = [{**one, "row": one["study_id"]} for one in with_ids("study_id")]
    studies = read_pair(put("p.json", preds), put("r.json", refs), fields=BY_ROW)
    assert are_right(studies)
    assert studies.read_from["id"] == "row"
    assert not any("position" in note for note in studies.notes)


def test_the_manifest_says_that_studies_were_paired_by_row(
    put: Put, invoke: Invoke
) -> None:
    files = put("p.json", BARE), put("r.json", with_ids("study_id"))
    more = ("--column", "id=row", "--out", "run", "--min-coverage", 0)
    done = invoke("green", *files, *more)
    assert done.exit_code == 0, done.stderr
    assert "as --column id=row asks" in done.stdout
    manifest = json.loads(Path("run/manifest.json").read_text("utf-8"))
    assert manifest["settings"]["columns"]["id"] == "row"
    assert any("as --column id=row asks" in note for note in manifest["notes"])
    assert manifest["read_from"]["id"].startswith("position, called by study_id of ")

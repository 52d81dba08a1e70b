"""Several references of a study: as lists, as records of one id, in two files or in one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import write_json

from judge.studies import NamedFields, StudySet, read_pair
from judge.types import JudgeError

PREDS = {"a": "Clear lungs.", "b": "Left effusion.", "c": "Large heart."}
ADAMS, BAKER = "No effusion.", "Small effusion."
Record = dict[str, Any]
ROWS: list[Record] = [
    {"study_id": "a", "reference_id": "Adams", "findings": ADAMS, "site": "north"},
    {"study_id": "b", "reference_id": "Adams", "findings": "One."},
    {"study_id": "a", "reference_id": "Baker", "findings": BAKER},
    {"study_id": "b", "reference_id": "Baker", "findings": ""},
    {"study_id": "c", "reference_id": "Chen", "findings": "Three."},
]
READ = (
    (("Adams", ADAMS), ("Baker", BAKER)),
    (("Adams", "One."),),
    (("Chen", "Three."),),
)


def read(folder: Path, refs: object, preds: object = PREDS, **named: str) -> StudySet:
    one = write_json(folder / "preds.json", preds)
    other = write_json(folder / "refs.json", refs) if refs else None
    fields = NamedFields(several=True, **named)
    return read_pair(str(one), other and str(other), fields=fields)


def test_records_of_one_id(tmp_path: Path) -> None:
    studies = read(tmp_path, ROWS)
    assert studies.study_ids == ("a", "b", "c")
    assert studies.every_reference == READ
    assert studies.references == (ADAMS, "One.", "Three.")
    assert dict(studies.fields) == {"site": ("north", None, None)}
    assert "empty references, left out: 1 (b)" in studies.notes
    assert studies.take([2, 0]).every_reference == (READ[2], READ[0])


def test_without_names_references_are_numbered(tmp_path: Path) -> None:
    rows = [{k: v for k, v in row.items() if k != "reference_id"} for row in ROWS]
    assert read(tmp_path, rows).every_reference[0] == (("1", ADAMS), ("2", BAKER))


def test_lists_of_texts_keep_their_places(tmp_path: Path) -> None:
    lists = {"a": [ADAMS, BAKER], "b": ["", "Two."], "c": "Three."}
    numbered = ((("1", ADAMS), ("2", BAKER)), (("2", "Two."),), (("1", "Three."),))
    assert read(tmp_path, lists).every_reference == numbered
    keyed = {key: {"findings": value, "age": 40} for key, value in lists.items()}
    studies = read(tmp_path, keyed)
    assert studies.every_reference == numbered
    assert studies.fields["age"] == (40, 40, 40)


def test_one_file_with_both_sides(tmp_path: Path) -> None:
    rows = [{**row, "prediction": PREDS[row["study_id"]]} for row in ROWS]
    studies = read(tmp_path, None, rows)
    assert studies.every_reference == READ
    assert studies.candidates == tuple(PREDS.values())


BAD: dict[str, tuple[object, dict[str, str], str]] = {
    "one each": (PREDS, {}, "--references"),
    "no name": ([*ROWS, {"study_id": "c", "findings": "x"}], {}, "reference_id"),
    "twice": ([*ROWS, ROWS[0]], {}, "'Adams'"),
    "no text": ({"a": {"findings": ["x", 3]}}, {}, "'a'"),
    "lengths": ({"a": {"findings": ["x", "y"], "impression": ["z"]}}, {}, "lengths"),
}


@pytest.mark.parametrize(("refs", "named", "words"), BAD.values(), ids=BAD)
def test_what_cannot_be_read(
    refs: object, named: dict[str, str], words: str, tmp_path: Path
) -> None:
    with pytest.raises(JudgeError) as found:
        read(tmp_path, refs, **named)
    assert words in str(found.value)


def test_without_the_option_the_error_names_it(tmp_path: Path) -> None:
    for refs in (ROWS, {"a": [ADAMS, BAKER], "b": "One.", "c": "Three."}):
        files = zip(("preds.json", "refs.json"), (PREDS, refs), strict=True)
        pair = [str(write_json(tmp_path / name, data)) for name, data in files]
        with pytest.raises(JudgeError, match="--references"):
            read_pair(*pair)

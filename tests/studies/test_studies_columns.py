"""Studies from Python's own lists, and the study set itself."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from judge.studies import from_columns
from judge.types import JudgeError, Study


def test_defaults():
    studies = from_columns(["r1 ", "r2\r\nx"], ["c1", ""])
    assert list(studies) == [Study("0", "r1", "c1"), Study("1", "r2\nx", "")]
    assert len(studies) == 2
    assert studies.section == "report"
    assert studies.full_references == studies.references
    assert (studies.omitted, studies.inputs, studies.class_field) == ({}, (), None)


def test_all_that_can_be_given():
    studies = from_columns(
        ["r"],
        ["c"],
        study_ids=[7],
        study_classes=["Normal"],
        fields={"site": ["a"], "outcome": [1], "age": [np.int64(3)]},
        section="findings",
    )
    fields = {"site": "a", "field_outcome": 1, "age": 3}
    assert list(studies) == [Study("7", "r", "c", "normal", fields=fields)]
    assert (studies.section, studies.class_field) == ("findings", "study_class")
    assert type(studies.fields["age"][0]) is int


def test_columns_of_a_frame():
    frame = pd.DataFrame(
        {"id": [3, 4], "r": ["a", "b"], "c": ["x", "y"], "k": ["normal", None], "s": [1.5, None]},
        index=[8, 9],
    )
    studies = from_columns(
        frame["r"], frame["c"], study_ids=frame["id"], study_classes=frame["k"], fields=frame[["s"]]
    )
    assert studies.study_ids == ("3", "4")
    assert studies.study_classes == ("normal", None)
    assert studies.fields == {"s": (1.5, None)}


def test_classes_from_a_field():
    studies = from_columns(["r"], ["c"], fields={"study_class": ["Abnormal"]})
    assert (studies.study_classes, studies.class_field, studies.fields) == (
        ("abnormal",),
        "study_class",
        {},
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], ["b", "c"]), "candidates has 2 values but there are 1 references"),
        (([], []), "no studies"),
        (("ab", "cd"), "references is one text"),
        (([None], ["b"]), "the reference of study '0' is missing; it must be a text"),
        ((["a"], [float("nan")]), "the candidate of study '0' is missing"),
        ((["a"], [pd.NA]), "the candidate of study '0' is missing"),
        ((["a"], [3]), "the candidate of study '0' is a int"),
        ((["a", " "], ["b", "c"]), r"1 references are empty \(1\)"),
    ],
)
def test_bad_texts(arguments, message):
    with pytest.raises(JudgeError, match=message):
        from_columns(*arguments)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"study_ids": ["a"]}, "study_ids has 1 values"),
        ({"study_ids": ["a", "a"]}, r"1 study ids stand more than once \(a\)"),
        ({"study_ids": [1, "1"]}, r"more than once \(1\)"),
        ({"study_ids": ["a", None]}, r"study_ids\[1\] is None"),
        ({"study_classes": ["normal"]}, "study_classes has 1 values"),
        ({"fields": {"site": [1]}}, "the field 'site' has 1 values"),
    ],
)
def test_bad_columns(named, message):
    with pytest.raises(JudgeError, match=message):
        from_columns(["a", "b"], ["c", "d"], **named)


def test_a_set_can_not_be_changed_nor_be_wrong():
    studies = from_columns(["a", "b"], ["c", "d"])
    with pytest.raises(dataclasses.FrozenInstanceError):
        studies.section = "findings"
    with pytest.raises(ValueError, match="differ in length"):
        dataclasses.replace(studies, references=("a",))
    with pytest.raises(ValueError, match="not unique"):
        dataclasses.replace(studies, study_ids=("a", "a"))

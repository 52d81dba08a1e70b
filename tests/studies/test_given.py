"""Studies from Python's own lists, and the study set itself."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from judge.studies import from_given
from judge.types import JudgeError, Study


def test_lists():
    studies = from_given(["r1 ", "r2\r\nx"], ["c1", ""])
    assert list(studies) == [Study("0", "r1", "c1"), Study("1", "r2\nx", "")]
    assert (studies.section, studies.class_field) == ("report", None)
    assert studies.full_references == studies.references


def test_all_that_can_be_given():
    studies = from_given(
        ["r"],
        ["c"],
        study_ids=[7],
        study_classes=["Normal"],
        fields={"site": ["a"], "outcome": [1], "age": [np.int64(3)]},
    )
    fields = {"site": "a", "field_outcome": 1, "age": 3}
    assert list(studies) == [Study("7", "r", "c", "normal", fields=fields)]
    assert type(studies.fields["age"][0]) is int


def test_columns_of_a_frame():
    frame = pd.DataFrame(
        {"id": [3, 4], "r": ["a", "b"], "c": ["x", "y"], "k": ["normal", None], "s": [1.5, None]},
        index=[8, 9],
    )
    studies = from_given(
        frame["r"], frame["c"], study_ids=frame["id"], study_classes=frame["k"], fields=frame[["s"]]
    )
    assert studies.study_ids == ("3", "4")
    assert studies.study_classes == ("normal", None)
    assert studies.fields == {"s": (1.5, None)}


@pytest.mark.parametrize(
    ("references", "candidates", "more", "message"),
    [
        (["a"], ["b", "c"], {}, "candidates has 2 values but there are 1 references"),
        ([], [], {}, "no studies"),
        ("ab", "cd", {}, "references is one text"),
        ([None], ["b"], {}, r"no reference report in references: 1 \(0\)"),
        (["a"], [pd.NA], {}, r"no candidate text in candidates: 1 \(0\)"),
        (["a"], [3], {}, "'candidates' of study '0'"),
        (["a", "b"], ["c", "d"], {"study_ids": [1, "1"]}, r"more than once .*: 1 \(1\)"),
        (["a", "b"], ["c", "d"], {"study_ids": ["a", None]}, "no value in 'study_ids'"),
        (["a", "b"], ["c", "d"], {"study_classes": ["x"]}, "study_classes has 1 values"),
        (["a", "b"], ["c", "d"], {"fields": {"site": [1]}}, "'site' has 1 values"),
    ],
)
def test_what_cannot_be_joined(references, candidates, more, message):
    with pytest.raises(JudgeError, match=message):
        from_given(references, candidates, **more)


def test_what_lacks_a_text_can_be_left_out_and_counted():
    studies = from_given(
        ["a", None, "c"], ["x", "y", None], fields={"site": ["n", "s", "w"]}, allow_missing=True
    )
    assert list(studies) == [Study("0", "a", "x", fields={"site": "n"})]
    assert studies.omitted == {"no reference section": 1, "no candidate text": 1}


def test_a_set_can_not_be_wrong():
    studies = from_given(["a", "b"], ["c", "d"])
    with pytest.raises(ValueError, match="differ in length"):
        dataclasses.replace(studies, references=("a",))
    with pytest.raises(ValueError, match="not unique"):
        dataclasses.replace(studies, study_ids=("a", "a"))

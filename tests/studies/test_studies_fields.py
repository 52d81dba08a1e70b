"""Fields that are kept, and the study class."""

import json

import pytest

from judge.studies import NamedFields, read_pair
from judge.types import JudgeError


def by(name):
    return NamedFields(study_class=name)


def read(put, refs, preds=None, **options):
    preds = preds or [{}] * len(refs)
    refs = [{"id": str(n), "reference": "x", **record} for n, record in enumerate(refs)]
    preds = [{"id": str(n), "candidate": "y", **record} for n, record in enumerate(preds)]
    return read_pair(put("p.json", preds), put("r.json", refs), **options)


def test_fields_of_both_sides(put):
    studies = read(
        put,
        [{"site": "n", "view": "PA", "age": 3, "candidate_view": "?"}, {"site": "s", "age": None}],
        [{"site": "n", "view": "AP", "age": "3", "model": "m"}, {"model": "m"}],
    )
    assert dict(studies.fields) == {
        "site": ("n", "s"),
        "view": ("PA", None),
        "age": (3, None),
        "candidate_view": ("?", None),
        "candidate_view_2": ("AP", None),
        "model": ("m", "m"),
    }


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ([1, 2.5, None], (1.0, 2.5, None)),
        ([1, "a", None], ("1", "a", None)),
        ([True, None, False], (True, None, False)),
        ([True, 1, 1.0], ("true", "1", "1")),
        (["", " \n", " b\r\nc "], (None, None, "b\nc")),
        ([{"a": [1, "é"]}, [], float("nan")], ('{"a":[1,"é"]}', "[]", None)),
        ([2**70, 1, None], (str(2**70), "1", None)),
        ([float("inf"), None, None], ("inf", None, None)),
        ([None, None, None], (None, None, None)),
    ],
)
def test_columns_have_one_type(put, values, kept):
    studies = read(put, [{"f": value} for value in values])
    assert studies.fields["f"] == kept
    assert [type(value) for value in studies.fields["f"]] == [type(value) for value in kept]


def test_types_of_parquet(put, tmp_path):
    import datetime as dt

    import pandas as pd

    frame = pd.DataFrame(
        {
            "id": ["0"],
            "reference": ["x"],
            "day": [dt.date(2020, 1, 2)],
            "when": [pd.Timestamp("2020-01-02 03:04")],
            "codes": [[1, 2]],
            "raw": [b"ab"],
        }
    )
    frame.to_parquet(tmp_path / "r.parquet")
    studies = read_pair(put("p.json", {"0": "y"}), str(tmp_path / "r.parquet"))
    assert dict(studies.fields) == {
        "day": ("2020-01-02",),
        "when": ("2020-01-02 03:04:00",),
        "codes": ("[1,2]",),
        "raw": ("ab",),
    }


def test_fields_that_would_hide_a_column_of_the_table(put):
    names = [
        "outcome",
        "reason",
        "green",
        "n_images",
        "significant_a",
        "mine",
        "field_strength",
        "",
    ]
    studies = read(put, [dict.fromkeys(names, "v")], reserved=["mine"])
    assert list(studies.fields) == [
        *("field_outcome", "field_reason", "field_green", "field_n_images"),
        *("field_significant_a", "field_mine", "field_strength", "field_"),
    ]
    assert "the field n_images is kept as field_n_images" in studies.notes


def test_a_second_id_is_a_field(put):
    assert dict(read(put, [{"id": "u", "study_id": "0"}]).fields) == {"id": ("u",)}


def test_an_id_inside_the_entry_is_no_field(put):
    refs = put("r.json", {"a": {"study_id": "a", "text": "x"}, "b": {"study_id": "b", "text": "x"}})
    assert read_pair(put("p.json", {"a": "", "b": ""}), refs).fields == {}


@pytest.mark.parametrize(
    ("name", "values", "classes"),
    [
        ("study_class", ["Normal ", "ABNORMAL", None], ("normal", "abnormal", None)),
        ("study_class", ["Mild", "", None], ("mild", None, None)),
        ("Study-Class", ["normal", None, None], ("normal", None, None)),
        ("class", ["Normal", "abnormal", None], ("normal", "abnormal", None)),
        ("normality", ["Normal", "abnormal", None], ("normal", "abnormal", None)),
        ("abnormal", [True, False, None], ("abnormal", "normal", None)),
        ("is_abnormal", [1, 0, None], ("abnormal", "normal", None)),
        ("Normal", ["yes", "No", None], ("normal", "abnormal", None)),
        ("is_normal", [1.0, 0.0, None], ("normal", "abnormal", None)),
        ("study_class", [None, "", float("nan")], (None, None, None)),
        # A likely name that says something else is only a field.
        ("class", ["pneumonia", "normal", None], (None, None, None)),
        ("abnormal", ["lungs", None, None], (None, None, None)),
        ("label", ["normal", "normal", "normal"], (None, None, None)),
    ],
)
def test_the_class_from_a_likely_field(put, name, values, classes):
    studies = read(put, [{name: value} for value in values])
    assert studies.study_classes == classes
    assert studies.class_field == (name if any(classes) else None)
    assert studies.class_inferred == (False, False, False)
    assert [study.study_class for study in studies] == list(classes)
    assert (name in studies.fields) == (name.lower().replace("-", "_") != "study_class")
    assert not any(field.startswith("field_") for field in studies.fields)


def test_study_class_comes_before_other_names(put):
    studies = read(put, [{"class": "normal", "study_class": "abnormal"}])
    assert studies.study_classes == ("abnormal",)


def test_the_class_from_a_chosen_field(put):
    records = [{"mesh": "Opacity/lung", "study_class": "normal", "abnormal": True, "n": 2}]
    studies = read(put, records, fields=by("mesh"))
    assert (studies.study_classes, studies.class_field) == (("Opacity/lung",), "mesh")
    assert studies.fields["mesh"] == ("Opacity/lung",)
    assert studies.fields["field_study_class"] == ("normal",)
    assert read(put, records, fields=by("MESH")).class_field == "mesh"
    assert read(put, records, fields=by("abnormal")).study_classes == ("abnormal",)
    assert read(put, records, fields=by("n")).study_classes == ("2",)
    assert read(put, [{"mesh": "Normal"}], fields=by("mesh")).study_classes == ("normal",)


def test_the_class_may_be_in_preds(put):
    assert read(put, [{}], [{"study_class": "normal"}]).study_classes == ("normal",)


def test_an_unknown_class_field_names_those_there_are(put):
    with pytest.raises(JudgeError, match=r"no field 'clas' .*there are: site, mesh$"):
        read(put, [{"site": "a", "mesh": "b"}], fields=by("clas"))
    with pytest.raises(JudgeError, match="no further fields"):
        read(put, [{}], fields=by("clas"))


def test_kept_fields_fit_into_json_and_parquet(put):
    import pandas as pd

    studies = read(put, [{"a": [1], "b": 1, "c": 2**80}, {"a": "x", "b": "y", "c": 1.5}])
    json.dumps({name: list(column) for name, column in studies.fields.items()}, allow_nan=False)
    pd.DataFrame(dict(studies.fields)).to_parquet()

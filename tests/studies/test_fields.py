"""Fields that are kept beside a study, its class and its patient."""

import pandas as pd
import pytest

from judge.studies import NamedFields, read_pair
from judge.types import JudgeError


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
        ([True, 1, 1.0], ("true", "1", "1")),
        (["", " \n", " b\r\nc "], (None, None, "b\nc")),
        ([{"a": [1, "é"]}, [], float("nan")], ('{"a":[1,"é"]}', "[]", None)),
        ([2**70, 1, None], (str(2**70), "1", None)),
    ],
)
def test_columns_have_one_type(put, values, kept):
    studies = read(put, [{"f": value} for value in values])
    assert studies.fields["f"] == kept
    assert [type(value) for value in studies.fields["f"]] == [type(value) for value in kept]
    pd.DataFrame(dict(studies.fields)).to_parquet()


def test_fields_that_would_hide_a_column_of_the_table(put):
    names = ["outcome", "green", "n_images", "significant_a", "mine", "field_strength", ""]
    studies = read(put, [dict.fromkeys(names, "v")], reserved=["mine"])
    assert list(studies.fields) == [
        *("field_outcome", "field_green", "field_n_images", "field_significant_a"),
        *("field_mine", "field_strength", "field_"),
    ]
    assert "the field n_images is kept as field_n_images" in studies.notes


@pytest.mark.parametrize(
    ("name", "values", "classes"),
    [
        ("Study-Class", ["Normal ", "ABNORMAL", None], ("normal", "abnormal", None)),
        ("study_class", ["Mild", "", None], ("mild", None, None)),
        ("normality", ["Normal", "abnormal", None], ("normal", "abnormal", None)),
        ("abnormal", [True, False, None], ("abnormal", "normal", None)),
        ("is_normal", [1.0, 0.0, None], ("normal", "abnormal", None)),
        ("Normal", ["yes", "No", None], ("normal", "abnormal", None)),
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
    assert [study.study_class for study in studies] == list(classes)


def test_the_class_from_a_chosen_field(put):
    records = [{"mesh": "Opacity/lung", "study_class": "normal", "abnormal": True, "n": 2}]
    studies = read(put, records, fields=NamedFields(study_class="MESH"))
    assert (studies.study_classes, studies.class_field) == (("Opacity/lung",), "mesh")
    assert studies.fields["field_study_class"] == ("normal",)
    for name, value in (("abnormal", "abnormal"), ("n", "2")):
        assert read(put, records, fields=NamedFields(study_class=name)).study_classes == (value,)
    assert read(put, [{}], [{"study_class": "normal"}]).study_classes == ("normal",)
    with pytest.raises(JudgeError, match=r"no field 'clas' .*there are: site, mesh$"):
        read(put, [{"site": "a", "mesh": "b"}], fields=NamedFields(study_class="clas"))


def test_the_patient_is_kept_by_a_known_name(put):
    record = {"mrn": "p", "subject_id": 1, "patient": "x"}
    studies = read(put, [record], fields=NamedFields(patient="MRN"))
    assert studies.fields["patient"] == ("p",)
    assert studies.fields["field_patient"] == ("x",)
    assert studies.read_from["patient"] == "mrn", "as the file calls it"
    assert "the field mrn is kept as patient" in studies.notes
    named = read(put, [record], fields=NamedFields(patient="subject_id"))
    assert named.fields["patient"] == (1,), "the one that was named, not the usual one"
    with pytest.raises(JudgeError, match=r"no field 'no', for --patient-field; .*: mrn"):
        read(put, [record], fields=NamedFields(patient="no"))


@pytest.mark.parametrize(
    ("name", "column", "model"),
    [
        ("preds_maira2.json", None, "maira2"),
        ("preds.json", None, "preds"),
        ("maira2-preds.json.gz", None, "maira2"),
        ("preds_maira2.json", ["b", "b"], "b"),
        ("preds_maira2.json", ["b", "c"], "maira2"),
        ("preds_m.json", [{"a": 1}, {"a": 1}], "m"),
    ],
)
def test_the_model(put, name, column, model):
    models = [{"model": value} for value in column] if column else [{}, {}]
    records = [{"id": str(n), "pred": "x", **models[n]} for n in (0, 1)]
    refs = put("r.json", [{"id": str(n), "gt": "y", "model": "a scanner"} for n in (0, 1)])
    assert read_pair(put(name, records), refs).model == model
    assert read_pair(put(name, records), refs, model="given").model == "given"

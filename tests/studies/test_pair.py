"""Two files as one set of studies: the fields, the strict join, and omissions that are counted."""

import json

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judge.studies import NamedFields, read_pair
from judge.types import JudgeError

GIVEN = ["The lungs are clear.", "Left effusion."]
SAID = ["Clear lungs.", "Right effusion."]


def error(preds, refs, **options):
    with pytest.raises(JudgeError) as caught:
        read_pair(preds, refs, **options)
    return str(caught.value)


def rows(**columns):
    return [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]


def read(put, refs, preds=None, **options):
    preds = preds or [{}] * len(refs)
    refs = [{"id": str(n), "reference": "x", **record} for n, record in enumerate(refs)]
    preds = [
        {"id": str(n), "candidate": "y", **record} for n, record in enumerate(preds)
    ]
    return read_pair(put("p.json", preds), put("r.json", refs), **options)


def check(studies, ids=("1", "2")):
    assert (studies.study_ids, studies.references) == (ids, tuple(GIVEN))
    assert studies.candidates == tuple(SAID)
    return studies


def test_what_is_left_out_is_refused_in_one_message_or_counted(put):
    preds = put("p.json", '{"a": "1", "b": "2", "x": "", "n": null, "f": ""}')
    texts = {"y": "t", "b": "t", "n": "t", "a": "___", "f": None}
    refs = put("r.json", {study: {"findings": text} for study, text in texts.items()})
    found = error(preds, refs, section="findings")
    for named in (preds, refs, "1 (x)", "1 (y)", "2 (a, f)", "2 with --allow-missing"):
        assert named in found
    studies = read_pair(preds, refs, allow_missing=True)
    # A null candidate is an empty one.
    assert (studies.study_ids, studies.candidates) == (("b", "n"), ("2", ""))
    assert studies.empty_candidates == ["n"]
    assert studies.omitted_ids == {
        "only in PREDS": ("x",),
        "only in REFS": ("y",),
        "no reference section": ("a", "f"),
    }
    assert studies.omitted["no reference section"] == 2


@pytest.mark.parametrize(
    "content",
    [
        '{"a": "1", "a": "1"}',
        '[{"id": 7, "text": "1"}, {"id": "7", "text": "1"}, {"id": "a", "text": "t"}]',
        "id,text\na,1\na,2\n",
    ],
)
def test_duplicates_are_never_allowed(put, content):
    other, twice = put("p.json", {"a": "1"}), put("d", content)
    for files in ((other, twice), (twice, other)):
        assert twice in error(*files, allow_missing=True)


@pytest.mark.parametrize(("ours", "theirs"), [("a", "b"), ("a ", "a"), ("007", "7")])
def test_no_study_in_common(put, ours, theirs):
    found = error(
        put("p.json", {ours: ""}), put("r.json", {theirs: "x"}), allow_missing=True
    )
    assert "no id in common" in found
    assert f"1 ({ours})" in found
    assert f"1 ({theirs})" in found
    assert "--allow-missing" not in found


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(["", "y", "None."])),
    st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(["", "x", None])),
)
def test_every_id_is_a_study_or_an_omission(put, preds, refs):
    preds, refs = preds | {"z": "x"}, refs | {"z": "x"}
    studies = read_pair(put("p.json", preds), put("r.json", refs), allow_missing=True)
    omitted = set().union(*map(set, studies.omitted_ids.values()))
    assert len(studies) + sum(studies.omitted.values()) == len(
        preds.keys() | refs.keys()
    )
    assert not omitted & set(studies.study_ids)
    assert list(studies.study_ids) == [i for i in refs if i in studies.study_ids]
    for study in studies:
        written = preds[study.study_id] or ""
        assert (study.reference, study.candidate) == (
            refs[study.study_id],
            written.strip("None."),
        )
    if studies.omitted:
        error(put("p.json", json.dumps(preds)), put("r.json", refs))


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        *(
            ("gt", "pred"),
            ("ref", "hyp"),
            ("target", "output"),
            ("Ground-Truth", "generated"),
        ),
        *(
            ("reference report", "model_prediction"),
            ("radiologist_report", "generated report"),
        ),
    ],
)
def test_names_of_reports_in_one_file_without_ids(put, reference, candidate):
    table = rows(**{"image": ["a.png", "b.png"], reference: GIVEN, candidate: SAID})
    studies = check(read_pair(put("pairs.json", table), None))
    assert studies.fields["image"] == ("a.png", "b.png")
    assert studies.read_from == {
        "id": "row",
        "reference": reference,
        "candidate": candidate,
    }


def test_named_fields(put):
    both = put("b.csv", "key,Their Report,ours\n1,The lungs are clear.,Clear lungs.\n"
                        "2,Left effusion.,Right effusion.\n")  # fmt: skip
    fields = NamedFields(id="key", candidate="ours", reference="their_report")
    assert check(read_pair(both, None, fields=fields)).read_from["candidate"] == "ours"
    for needed in ("key, Their Report, ours", "--column candidate"):
        assert needed in error(both, None)
    assert "--column candidate" in error(
        both, None, fields=NamedFields(candidate="theirs")
    )
    assert "ours" in error(
        both, None, fields=NamedFields(candidate="ours", reference="ours")
    )
    section = put(
        "s.json", rows(id=[1, 2], findings=GIVEN, report=["x", "y"], prediction=SAID)
    )
    assert check(read_pair(section, None, fields=NamedFields(reference="findings")))
    assert "--column id" not in error(section, None, fields=NamedFields(patient="no"))


def test_equals_that_differ_are_refused(put):
    both = put(
        "b.json", rows(id=["1", "2"], gt=GIVEN, pred=SAID, hyp=["A log.", "Another."])
    )
    assert "pred, hyp" in error(both, None)
    assert "--column candidate" in error(both, None)
    check(read_pair(both, None, fields=NamedFields(candidate="pred")))
    check(
        read_pair(
            put("s.json", rows(id=["1", "2"], gt=GIVEN, pred=SAID, hyp=SAID)), None
        )
    )
    assert "--column reference" in error(
        put("d.json", rows(id=[1, 2], response=SAID)), None
    )


def test_fields_of_both_sides(put):
    studies = read(
        put,
        [{"site": "n", "view": "PA", "age": 3}, {"site": "s", "age": None}],
        [{"site": "n", "view": "AP", "age": "3", "model": "m"}, {"model": "m"}],
    )
    assert dict(studies.fields) == {
        "site": ("n", "s"),
        "view": ("PA", None),
        "age": (3, None),
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
    assert [type(value) for value in studies.fields["f"]] == [
        type(value) for value in kept
    ]
    pd.DataFrame(dict(studies.fields)).to_parquet()


def test_fields_that_would_hide_a_column_of_the_table(put):
    names = [
        "outcome",
        "green",
        "n_images",
        "significant_a",
        "mine",
        "field_strength",
        "",
    ]
    studies = read(put, [dict.fromkeys(names, "v")], reserved=["mine"])
    assert list(studies.fields) == [
        *("field_outcome", "field_green", "field_n_images", "field_significant_a"),
        *("field_mine", "field_strength", "field_"),
    ]
    assert any("n_images" in note for note in studies.notes)


@pytest.mark.parametrize(
    ("name", "values", "classes"),
    [
        ("Study-Class", ["Normal ", "ABNORMAL", None], ("normal", "abnormal", None)),
        ("study_class", ["Mild", "", None], ("Mild", None, None)),
        ("study_class", [True, 1, None], ("true", "1", None)),
        ("label", ["normal", "normal", "normal"], (None, None, None)),
    ],
)
def test_the_class_from_a_likely_field(put, name, values, classes):
    studies = read(put, [{name: value} for value in values])
    assert studies.study_classes == classes
    assert studies.class_field == (name if any(classes) else None)


def test_the_class_and_the_patient_from_a_chosen_field(put):
    records = [
        {"mesh": "Opacity/lung", "study_class": "normal", "abnormal": True, "n": 2}
    ]
    studies = read(put, records, fields=NamedFields(study_class="MESH"))
    assert (studies.study_classes, studies.class_field) == (("Opacity/lung",), "mesh")
    assert studies.fields["field_study_class"] == ("normal",)
    for name, value in (("abnormal", "true"), ("n", "2")):
        assert read(
            put, records, fields=NamedFields(study_class=name)
        ).study_classes == (value,)
    assert read(put, [{}], [{"study_class": "normal"}]).study_classes == ("normal",)
    record = {"mrn": "p", "subject_id": 1, "patient": "x"}
    studies = read(put, [record], fields=NamedFields(patient="MRN"))
    assert (studies.fields["patient"], studies.fields["field_patient"]) == (
        ("p",),
        ("x",),
    )
    assert studies.read_from["patient"] == "mrn", "as the file calls it"
    named = read(put, [record], fields=NamedFields(patient="subject_id"))
    assert named.fields["patient"] == (1,), "the one that was named, not the usual one"
    for option, fields in (
        ("class", {"study_class": "x"}),
        ("patient", {"patient": "x"}),
    ):
        with pytest.raises(JudgeError, match=rf"--column {option}; .*mrn"):
            read(put, [{"mrn": "p"}], fields=NamedFields(**fields))


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
    refs = put(
        "r.json", [{"id": str(n), "gt": "y", "model": "a scanner"} for n in (0, 1)]
    )
    assert read_pair(put(name, records), refs).model == model
    assert read_pair(put(name, records), refs, model="given").model == "given"

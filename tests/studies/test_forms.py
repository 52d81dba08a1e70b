"""Every form of file, with the dirt that real files hold."""

import hashlib
import io
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from judge.studies import NamedFields, read_pair
from judge.studies.texts import says_nothing
from judge.types import JudgeError

REFS = [
    {"study_id": "s1", "findings": "Clear lungs.", "site": "north", "context": "Cough"},
    {"study_id": "s2", "findings": 'Left effusion,\n"small".', "site": "süd", "context": "a; b\tc"},
]
PREDS = [
    {"study_id": "s2", "prediction": "Right effusion."},
    {"study_id": "s1", "prediction": "Lungs are clear."},
]


def check(studies):
    assert studies.study_ids == ("s1", "s2")
    assert studies.references == ("Clear lungs.", 'Left effusion,\n"small".')
    assert studies.candidates == ("Lungs are clear.", "Right effusion.")
    assert dict(studies.fields) == {"site": ("north", "süd"), "context": ("Cough", "a; b\tc")}
    assert studies.section == "findings"
    assert studies.study_classes == (None, None)


def test_each_form_plain_and_gzipped_whatever_its_name(put, form):
    name, write = form
    for called in (name, "x.csv", "x"):
        check(read_pair(put("p" + called, write(PREDS)), put("r" + called, write(REFS))))
    check(read_pair(put("p.gz", write(PREDS), gz=True), put("r.gz", write(REFS), gz=True)))


@pytest.mark.parametrize("gz", [False, True])
def test_standard_input(put, forms, gz, monkeypatch):
    path = put("in", forms["table.csv"](PREDS), gz=gz)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(path).read_bytes())))
    check(read_pair("-", put("other.json", REFS)))


@pytest.mark.parametrize("form", ["list.json", "table.csv"], indirect=True)
def test_encodings(put, form):
    name, write = form
    text = write(REFS).decode()
    text = text.replace("s\\u00fcd", "süd")
    preds = put("p.json", PREDS)
    for with_mark in ("utf-8-sig", "utf-16"):
        check(read_pair(preds, put(name, text.encode(with_mark))))
    refs = put(name, text.encode("cp1252"))
    with pytest.raises(JudgeError, match=f"{name} is not UTF-8 .*0xfc.*--encoding"):
        read_pair(preds, refs)
    check(read_pair(preds, refs, fields=NamedFields(encoding="cp1252")))
    with pytest.raises(JudgeError, match="encoding 'none'"):
        read_pair(preds, refs, fields=NamedFields(encoding="none"))


def test_semicolons_and_a_field_of_a_megabyte(put):
    long = "word " * 220_000
    studies = read_pair(put("p.csv", f"ID;Prediction\r\ns1;{long}\r\n"), put("r.json", {"s1": "a"}))
    assert studies.candidates == (long.strip(),)


def test_rexrank_with_nan_and_both_sides_in_one_file(put):
    text = """{
      "a": {"section_findings": "F1", "section_impression": NaN, "report": "Findings: F1",
            "context": "c1", "model_prediction": "M1"},
      "b": {"section_findings": NaN, "section_impression": "I2", "report": "Impression: I2",
            "context": NaN, "model_prediction": "M2"}}"""
    studies = read_pair(put("prediction.json", text), None, allow_missing=True)
    assert (studies.study_ids, studies.references, studies.candidates) == (("a",), ("F1",), ("M1",))
    assert studies.section == "findings"
    assert dict(studies.fields) == {"context": ("c1",)}
    assert studies.omitted == {"no reference section": 1}
    assert studies.omitted_ids == {"no reference section": ("b",)}
    assert [file.role for file in studies.inputs] == ["both"]


def test_pandas_writes_ids_as_an_index_without_a_name(tmp_path, put):
    import pandas as pd

    frame = pd.DataFrame({"text": ["a", "b"]}, index=["s1", "s2"])
    preds = put("p.json", {"s1": "", "s2": ""})
    frame.to_csv(tmp_path / "r.csv")
    frame.to_parquet(tmp_path / "r.parquet")
    for name in ("r.csv", "r.parquet"):
        assert read_pair(preds, str(tmp_path / name)).references == ("a", "b")


def test_keys_that_number_rows_are_not_ids(put):
    """As pandas writes a frame with orient="index": joined by row, they would match wrongly."""
    preds = put(
        "p.json",
        {"0": {"study_id": "s2", "prediction": "B"}, "1": {"study_id": "s1", "prediction": "A"}},
    )
    refs = put(
        "r.json", {"0": {"study_id": "s1", "text": "a"}, "1": {"study_id": "s2", "text": "b"}}
    )
    studies = read_pair(preds, refs)
    assert studies.candidates == ("A", "B")
    assert all("number the rows" in note for note in studies.notes)


def test_ids_of_numbers_are_one_in_every_form(put, forms):
    records = [{"study_id": 17.0, "text": "a"}, {"study_id": 18.0, "text": "b"}]
    numbers = put("p.json", [{"id": 17, "text": "x"}, {"id": 18, "text": r"\ud83d y"}])
    texts = put("q.json", {"17": "x", "18": "y"})
    assert read_pair(numbers, put("r", forms["table.parquet"](records))).study_ids == ("17", "18")
    for preds in (numbers, texts):
        studies = read_pair(preds, put("r", "id,text\n17,a\n18,b\n"))
        assert studies.study_ids == ("17", "18")
    digests = [hashlib.sha256(Path(file.path).read_bytes()).hexdigest() for file in studies.inputs]
    assert [file.sha256 for file in studies.inputs] == digests


def test_missing_and_empty_candidates(put):
    """Null and NaN are missing; an empty text is a study whose candidate says nothing."""
    preds = '[{"id": "a", "text": null}, {"id": "b", "text": NaN}, {"id": "c", "text": " "}]'
    refs = put("r.json", {"a": "1", "b": "2", "c": "3"})
    studies = read_pair(put("p.json", preds), refs, allow_missing=True)
    assert (studies.study_ids, studies.candidates) == (("c",), ("",))
    assert studies.omitted == {"no candidate text": 2}


text = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t\r"), max_size=40
)
solid = text.filter(str.strip)
record = st.fixed_dictionaries(
    {
        "findings": text.filter(lambda one: not says_nothing(one)),
        "prediction": text,
        "site": text,
        "patient": text,
        "age": st.integers(0, 99) | st.none(),
    }
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(solid, record, min_size=1, max_size=5))
def test_the_same_studies_in_every_form_are_the_same_set(put, forms, studies):
    refs = [
        {"study_id": study_id, "findings": r["findings"], "site": r["site"], "age": r["age"]}
        for study_id, r in studies.items()
    ]
    preds = [
        {"study_id": study_id, "prediction": r["prediction"], "patient": r["patient"]}
        for study_id, r in studies.items()
    ]
    # A CSV cell can't tell this text from a missing value: tested above.
    assume(not any(v in ("nan", "NaN") for r in [*refs, *preds] for v in r.values()))
    sets = []
    for name, write in forms.items():
        read = read_pair(put("p" + name, write(preds)), put("r" + name, write(refs)))
        assert read.study_ids == tuple(studies)
        assert read.notes == ()
        ages = read.fields["age"]
        untyped = tuple(None if age is None else str(age) for age in ages)
        fields = {**read.fields, "age": untyped}
        sets.append((read.references, read.candidates, fields))
    assert all(other == sets[0] for other in sets)

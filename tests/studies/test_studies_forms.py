"""Every form of file, with the dirt that real files hold."""

import hashlib
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from judge.studies import read_pair
from judge.studies.texts import says_nothing

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


@pytest.mark.parametrize("gz", [False, True])
def test_each_form(put, form, gz):
    name, write = form
    check(read_pair(put("p" + name, write(PREDS), gz=gz), put("r" + name, write(REFS), gz=gz)))


def test_forms_mix(put, form, forms):
    name, write = form
    for other, write_other in forms.items():
        check(read_pair(put("p" + name, write(PREDS)), put("r" + other, write_other(REFS))))


def test_the_content_decides_and_not_the_name(put, form):
    _, write = form
    for name in ("x.json", "x.csv", "x.parquet", "x.gz", "x"):
        check(read_pair(put("p" + name, write(PREDS)), put("r" + name, write(REFS))))


@pytest.mark.parametrize("side", ["preds", "refs"])
@pytest.mark.parametrize("gz", [False, True])
def test_standard_input(put, form, forms, side, gz, monkeypatch):
    name, write = form
    records = PREDS if side == "preds" else REFS
    path = put("in" + name, write(records), gz=gz)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(path).read_bytes())))
    other = put("other.json", forms["list.json"](REFS if side == "preds" else PREDS))
    check(read_pair("-", other) if side == "preds" else read_pair(other, "-"))


def test_standard_input_of_a_process(put):
    code = "from judge.studies import read_pair as r; print(r('-', %r).candidates)"
    refs = put("refs.json", REFS)
    done = subprocess.run(
        [sys.executable, "-c", code % refs], input=json.dumps(PREDS).encode(), capture_output=True
    )
    assert done.stdout.decode().strip() == "('Lungs are clear.', 'Right effusion.')"


def test_flat_objects(put):
    studies = read_pair(put("p.json", {"s1": "b", "s2": ""}), put("r.json", {"s2": "c", "s1": "d"}))
    assert studies.section == "report"
    assert studies.study_ids == ("s2", "s1")
    assert studies.references == ("c", "d")
    assert studies.candidates == ("", "b")


@pytest.mark.parametrize("text", ['{"id": "s1", "text": "a"}', '{"id": "s1", "text": "a"}\n'])
@pytest.mark.parametrize("name", ["r.jsonl", "r.json"])
def test_one_line_of_jsonl(put, text, name):
    assert read_pair(put("p.json", {"s1": "b"}), put(name, text)).references == ("a",)


def test_objects_that_follow_one_another_over_several_lines(put):
    text = '{"id": "s1",\n "text": "a"}\n\n{"id": "s2",\r\n "text": "b\u2028c"} '
    studies = read_pair(put("p.json", {"s1": "", "s2": ""}), put("r.json", text))
    assert studies.references == ("a", "b\u2028c")


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


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("form", ["list.json", "table.csv"], indirect=True)
def test_byte_order_marks(put, form, encoding):
    name, write = form
    mark = "\ufeff" if encoding[-2:] in ("le", "be") else ""
    refs = (mark + write(REFS).decode()).encode(encoding)
    check(read_pair(put("p.json", PREDS), put(name, refs)))


def test_latin_1_is_read_and_noted(put):
    refs = put("r.json", json.dumps(REFS, ensure_ascii=False, indent=1).encode("latin-1"))
    studies = read_pair(put("p.json", PREDS), refs)
    check(studies)
    assert studies.notes == (f"{refs} is not UTF-8 (byte 0xfc in line 11): read as Windows-1252",)


def test_bytes_that_windows_1252_lacks_are_latin_1(put):
    refs = put("r.csv", b"id,text\ns1,a \xe9 \x81\n")
    studies = read_pair(put("p.json", {"s1": ""}), refs)
    assert studies.references == ("a é \x81",)
    assert "Latin-1" in studies.notes[0]


def test_crlf_in_files_and_in_texts(put, form):
    name, write = form
    refs = write([{"id": "s1", "study_id": "s1", "text": " a\r\nb\rc\n"}])
    studies = read_pair(put("p.json", {"s1": "x\r\ny "}), put(name, refs))
    assert (studies.references, studies.candidates) == (("a\nb\nc",), ("x\ny",))


def test_old_line_ends_in_csv(put):
    assert read_pair(put("p.json", {"s1": ""}), put("r.csv", "id,text\rs1,a\r")).references == (
        "a",
    )


def test_blank_rows_and_an_unnamed_index_column(put):
    refs = "\n,study_id,text,\n0,s1,a,x\n\n,,,\n1,s2,b,y\n"
    studies = read_pair(put("p.json", {"s1": "", "s2": ""}), put("r.csv", refs))
    assert dict(studies.fields) == {"column_1": ("0", "1"), "column_4": ("x", "y")}


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


def test_other_keys_are_the_ids_whatever_the_entries_hold(put):
    refs = put("r.json", {"s1": {"id": 17, "text": "a"}, "s2": {"id": 18, "text": "b"}})
    studies = read_pair(put("p.json", {"s1": "", "s2": ""}), refs)
    assert studies.study_ids == ("s1", "s2")
    assert dict(studies.fields) == {"id": (17, 18)}


def test_whole_numbers_as_floats_are_the_same_ids(tmp_path, put):
    import pandas as pd

    pd.DataFrame({"study_id": [17.0, 18.0], "text": ["a", "b"]}).to_parquet(tmp_path / "r.parquet")
    preds = put("p.json", [{"study_id": 17, "text": "x"}, {"study_id": 18, "text": "y"}])
    assert read_pair(preds, str(tmp_path / "r.parquet")).study_ids == ("17", "18")


def test_csv_ids_match_numbers_and_texts(put):
    refs = put("r.csv", "id,text\n17,a\n")
    for preds in ([{"id": 17, "text": "x"}], [{"id": "17", "text": "x"}]):
        assert read_pair(put("p.json", preds), refs).candidates == ("x",)


def test_missing_and_empty_candidates(put):
    """Null and NaN are missing; an empty text is a study whose candidate says nothing."""
    preds = '[{"id": "a", "text": null}, {"id": "b", "text": NaN}, {"id": "c", "text": " "}]'
    refs = put("r.json", {"a": "1", "b": "2", "c": "3"})
    studies = read_pair(put("p.json", preds), refs, allow_missing=True)
    assert (studies.study_ids, studies.candidates) == (("c",), ("",))
    assert studies.omitted == {"no candidate text": 2}


def test_missing_and_empty_candidates_in_csv(put):
    preds = put("p.csv", "id,prediction,site\na,nan,x\nb,NaN,\nc,,nan\n")
    refs = put("r.json", {"a": "1", "b": "2", "c": "3"})
    studies = read_pair(preds, refs, allow_missing=True)
    assert (studies.study_ids, studies.candidates) == (("c",), ("",))
    assert studies.fields["site"] == (None,)


def test_half_a_surrogate_pair_cannot_break_the_output(put):
    studies = read_pair(
        put("p.json", r'{"s1": "a\ud83d b\ud83d\ude00"}'), put("r.json", {"s1": "c"})
    )
    assert studies.candidates == ("a\ufffd b\U0001f600",)


def test_inputs_are_identified_by_their_bytes(put):
    preds, refs = put("p.json.gz", PREDS, gz=True), put("r.json", [*REFS, {"study_id": "s3"}])
    studies = read_pair(preds, refs, allow_missing=True)
    digest = hashlib.sha256(Path(preds).read_bytes()).hexdigest()
    assert studies.inputs[0].path == preds
    assert studies.inputs[0].sha256 == digest
    assert [(file.role, file.n_records) for file in studies.inputs] == [("preds", 2), ("refs", 3)]


def test_nothing_heavy_is_imported():
    code = "import judge.studies, sys; print({'pyarrow', 'pandas', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.decode().strip() == "set()"


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

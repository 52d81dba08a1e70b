"""Every form of file, with the dirt that real files hold, and one message for what is none."""

import gzip
import hashlib
import io
import json
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from judge.studies import NamedFields, from_python, read_pair
from judge.text import says_nothing
from judge.types import JudgeError

REFS = [
    {"study_id": "s1", "findings": "Clear lungs.", "site": "north", "context": "Cough"},
    {
        "study_id": "s2",
        "findings": 'Left effusion,\n"small".',
        "site": "süd",
        "context": "a; b\tc",
    },
]
PREDS = [
    {"study_id": "s2", "prediction": "Right effusion."},
    {"study_id": "s1", "prediction": "Lungs are clear."},
]


def message(*args, **options):
    with pytest.raises(JudgeError) as caught:
        read_pair(*args, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def check(studies):
    assert studies.study_ids == ("s1", "s2")
    assert studies.references == ("Clear lungs.", 'Left effusion,\n"small".')
    assert studies.candidates == ("Lungs are clear.", "Right effusion.")
    assert dict(studies.fields) == {
        "site": ("north", "süd"),
        "context": ("Cough", "a; b\tc"),
    }
    assert studies.section == "findings"
    assert studies.study_classes == (None, None)


def test_each_form_plain_and_gzipped_whatever_its_name(put, form):
    name, write = form
    for called in (name, "x.csv", "x"):
        check(
            read_pair(put("p" + called, write(PREDS)), put("r" + called, write(REFS)))
        )
    check(
        read_pair(put("p.gz", write(PREDS), gz=True), put("r.gz", write(REFS), gz=True))
    )


@pytest.mark.parametrize("gz", [False, True])
def test_standard_input(put, forms, gz, monkeypatch):
    path = put("in", forms["table.csv"](PREDS), gz=gz)
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(path).read_bytes()))
    )
    check(read_pair("-", put("other.json", REFS)))
    assert "standard input" in message("-", "-")


@pytest.mark.parametrize("form", ["list.json", "table.csv"], indirect=True)
def test_encodings(put, form):
    name, write = form
    text = write(REFS).decode().replace("s\\u00fcd", "süd")
    preds = put("p.json", PREDS)
    check(read_pair(preds, put(name, text.encode("utf-8-sig"))))
    check(read_pair(preds, put(name, text.encode("utf-16"))))  # with a byte order mark
    refs = put(name, text.encode("cp1252"))
    assert "--encoding" in message(preds, refs)
    check(read_pair(preds, refs, fields=NamedFields(encoding="cp1252")))
    # A file in UTF-8 beside it stays what it is.
    utf8 = put("utf8-" + name, text.encode())
    check(read_pair(preds, utf8, fields=NamedFields(encoding="cp1252")))
    assert "not text in ascii" in message(
        preds, refs, fields=NamedFields(encoding="ascii")
    )
    assert "no encoding" in message(preds, refs, fields=NamedFields(encoding="base64"))


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        lambda records: pd.DataFrame(records).set_index("study_id"),
        lambda records: pd.DataFrame(records, index=[r["study_id"] for r in records]),
        lambda records: {record["study_id"]: record for record in records},
    ],
)
def test_what_python_holds_takes_the_road_of_files(make):
    check(from_python(make(REFS), make(PREDS)))
    check(
        from_python(
            make([refs | preds for refs, preds in zip(REFS, PREDS[::-1], strict=True)])
        )
    )


def test_semicolons_and_a_field_of_a_megabyte(put):
    long = "word " * 220_000
    studies = read_pair(
        put("p.csv", f"ID;Prediction\r\ns1;{long}\r\n"), put("r.json", {"s1": "a"})
    )
    assert studies.candidates == (long.strip(),)


def test_rexrank_with_nan_and_both_sides_in_one_file(put):
    text = """{
      "a": {"section_findings": "F1", "section_impression": NaN, "report": "Findings: F1",
            "context": "c1", "model_prediction": "M1"},
      "b": {"section_findings": NaN, "section_impression": "I2", "report": "Impression: I2",
            "context": NaN, "model_prediction": "M2"}}"""
    studies = read_pair(put("prediction.json", text), None, allow_missing=True)
    assert (studies.study_ids, studies.references, studies.candidates) == (
        ("a",),
        ("F1",),
        ("M1",),
    )
    assert studies.section == "findings"
    assert dict(studies.fields) == {"context": ("c1",)}
    assert studies.omitted_ids == {"no reference section": ("b",)}
    assert [file.role for file in studies.inputs] == ["both"]


def test_pandas_writes_ids_as_an_index_without_a_name(tmp_path, put):
    frame = pd.DataFrame({"text": ["a", "b"]}, index=["s1", "s2"])
    preds = put("p.json", {"s1": "", "s2": ""})
    frame.to_csv(tmp_path / "r.csv")
    frame.to_parquet(tmp_path / "r.parquet")
    for name in ("r.csv", "r.parquet"):
        assert read_pair(preds, str(tmp_path / name)).references == ("a", "b")
    # orient="index": joined by row, these would match wrongly.
    refs = {"0": {"study_id": "s1", "text": "a"}, "1": {"study_id": "s2", "text": "b"}}
    preds = {"0": {"study_id": "s2", "text": "B"}, "1": {"study_id": "s1", "text": "A"}}
    assert read_pair(put("p.json", preds), put("r.json", refs)).candidates == ("A", "B")


def test_ids_are_texts_whatever_a_form_makes_of_them(put, forms):
    records = [{"study_id": 17.0, "text": "a"}, {"study_id": 18.0, "text": "b"}]
    numbers = put("p.json", [{"id": 17, "text": "x"}, {"id": 18, "text": r"\ud83d y"}])
    for refs in (
        forms["table.parquet"](records),
        b"id,text\n17,a\n18,b\n",
        b'{"17":"a","18":"b"}',
    ):
        studies = read_pair(numbers, put("r", refs))
        assert studies.study_ids == ("17", "18")
        digests = [
            hashlib.sha256(Path(one.path).read_bytes()).hexdigest()
            for one in studies.inputs
        ]
        assert [one.sha256 for one in studies.inputs] == digests
    found = message(numbers, put("r", "id,text\n017,a\n018,b\n"))
    assert "17, 18" in found
    assert "without leading zeros" in found


text = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t\r"),
    max_size=40,
)
record = st.fixed_dictionaries(
    {
        "findings": text.filter(lambda one: not says_nothing(one)),
        "prediction": text.filter(lambda one: not says_nothing(one)),
        "site": text,
        "patient": text,
        "age": st.integers(0, 99) | st.none(),
    }
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(text.filter(str.strip), record, min_size=1, max_size=5))
def test_the_same_studies_in_every_form_are_the_same_set(put, forms, studies):
    names = {"refs": ("findings", "site", "age"), "preds": ("prediction", "patient")}
    sides = {
        side: [
            {"study_id": one} | {name: r[name] for name in wanted}
            for one, r in studies.items()
        ]
        for side, wanted in names.items()
    }
    # A CSV cell can't tell this text from a missing value.
    assume(
        not any(
            v in ("nan", "NaN")
            for side in sides.values()
            for r in side
            for v in r.values()
        )
    )
    sets = []
    for name, write in forms.items():
        read = read_pair(
            *(put(side + name, write(sides[side])) for side in ("preds", "refs"))
        )
        assert read.study_ids == tuple(studies)
        assert not [note for note in read.notes if "same texts" not in note]
        ages = tuple(None if age is None else str(age) for age in read.fields["age"])
        sets.append((read.references, read.candidates, {**read.fields, "age": ages}))
    assert all(other == sets[0] for other in sets)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b" \r\n", ""),
        (b"[]", ""),
        (b'{"a": "x",\n "b": y}', "line 2 column 7"),
        (b"[" * 100_000, "more than 100 levels"),
        (b"[1, 2]", "'text'"),
        (b"3", "taken for a header"),
        (b"id,text\n", "no rows"),
        (b'{"a": ["x", "y"], "b": "z"}', "--references"),
        (b'{"a": "x", "b": {"text": "y"}}', "record of 'a'"),
        (
            b'{"train": [{"id": "a", "text": "x"}], "test": [{"id": "b"}]}',
            "keys train, test",
        ),
        (b'{"name": "x", "config": {"data": 1}}', "record of 'name'"),
        (b'[{"id": "a", "text": "x"}, {"text": "y"}]', "record 2 of 2"),
        (b'{"a": {"text": "x"}, "a": {"text": "y"}}', "a"),
        (b'[{"id": "a", "foo": "x"}]', "id, foo"),
        (
            b'[{"id": "a", "text": "x"}, {"id": "b", "text": [1]}]',
            "'text' of study 'b'",
        ),
        (b'{"a": ""}', ""),
        (b"Dear all,\nhere is the file\n", "line 2"),
        (b"name,text\nb,x\n", "--column id: name"),
        (b"\n\nid,text\na,x,y\n", "line 4"),
        (b"id,text\na\n", "line 2"),
        (b'id,text\na,"x\n', "line 2"),
        (b"id,text,text\na,x,y\n", "text"),
        (b"PAR1 and no more", "damaged Parquet"),
        (b"PK\x03\x04\x14\x00", "unpack it"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "before 2007"),
        (b"id,text\na,\x00", ""),
        (b"\xff\xfea", "UTF-8"),
        (gzip.compress(b'{"a": "x"}', mtime=0)[:-6], ""),
    ],
)
def test_a_file_that_cannot_be_read_is_one_message_with_its_name(put, content, named):
    refs = put("refs", content)
    found = message(put("p.json", {"a": "x"}), refs)
    assert named in found
    assert refs in found


def test_paths_and_a_section_that_is_none(tmp_path):
    for path in (str(tmp_path / "none.json"), str(tmp_path), "a\0b", "x" * 5000):
        assert path in message(path, path)
        assert path in message(path, None)
    assert "findngs" in message("none", "none", section="findngs")


RECORDS = [
    {"study_id": "a", "reference": "x\ny", "candidate": "é", "site": 1},
    {"study_id": "b", "reference": "Findings: x", "candidate": "", "site": None},
]


@pytest.mark.ci
def test_a_file_that_unpacks_to_too_much_is_refused(put, tmp_path, monkeypatch):
    report = pa.DictionaryArray.from_arrays(
        pa.array([0] * 20_000, pa.int32()), ["lung " * 80_000]
    )
    path = tmp_path / "r.parquet"  # 8 GB, though each report stands in it once
    pq.write_table(pa.table({"text": report}), path, compression="zstd")
    assert path.stat().st_size < 50_000
    assert "4 GB" in message(str(path), None)
    pq.write_table(pa.table({"id": pa.array([1] * 10**6, pa.int8())}), path)
    monkeypatch.setattr("judge.studies.load.MAX_INPUT", 10**5)
    bomb = put("p.json.gz", b" " * 2 * 10**6, gz=True)
    for source in (str(path), bomb, put("p.json", b" " * 2 * 10**6)):
        assert source in message(source, None)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_gives_studies_or_a_message(put, form, data):
    """Cut, overwritten and doubled bytes: never another exception."""
    name, write = form
    whole = write(RECORDS)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 8)))
    damaged = whole[:start] + data.draw(st.binary(max_size=6)) + whole[end:]
    cut = data.draw(st.booleans())
    try:
        studies = read_pair(
            put(name, damaged[:end] if cut else damaged), None, allow_missing=True
        )
    except JudgeError:
        return
    assert len(studies) > 0


def test_a_line_of_jsonl_is_a_record(put):
    line = json.dumps({"study_id": "a", "reference": "x", "prediction": "y"})
    assert read_pair(put("one.jsonl", line), None).study_ids == ("a",)


def test_a_field_that_is_not_text_is_named(put):
    for record, named in (
        ({"candidate": 5, "reference": True}, "no field of candidates"),
        ({"candidate": "x", "reference": True}, "no field of references"),
    ):
        found = message(
            put("pairs.jsonl", json.dumps({"study_id": "a", **record}).encode()), None
        )
        assert named in found

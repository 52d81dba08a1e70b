"""One clear message for whatever can't be read."""

import gzip
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judge.studies import NamedFields, read_pair
from judge.types import JudgeError


def message(preds, refs, **options):
    with pytest.raises(JudgeError) as caught:
        read_pair(preds, refs, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("r.json", b"", "is empty"),
        ("r.json", b" \r\n", "is empty"),
        ("r.csv", b"\xef\xbb\xbf", "is empty"),
        ("r.json", b"[]", "holds no study: its list is empty"),
        ("r.json", b"{}", "holds no study: its object is empty"),
        ("r.csv", b"id,text\n", "holds no study: it has no rows"),
        ("r.json", b'{"a": "x"', "is not JSON: .* at line 1, column 10"),
        ("r.json", b'{"a": "x",\n "b": y}', "is not JSON: Expecting value at line 2, column 7"),
        ("r.jsonl", b'{"id": "a", "text": "x"}\n{"id": }', "not JSON: .* at line 2, column 8"),
        ("r.json", b"hello", "is not JSON: Expecting value at line 1, column 1"),
        ("r.json", b"[" * 100_000, "can't be read as JSON"),
        ("r.json", b"17", "wrong shape: the number 17; expected an object"),
        ("r.json", b'"a"', "wrong shape: a text; expected"),
        ("r.json", b"null", "wrong shape: null; expected"),
        ("r.json", b"[1, 2]", "wrong shape: record 1 is the number 1; expected"),
        ("r.json", b'[{"id": "a", "text": "x"}, "b"]', "record 2 is a text"),
        ("r.json", b'{"a": ["x"]}', "wrong shape: 'a' holds a list"),
        ("r.json", b'{"a": "x", "b": {"text": "y"}}', "'a' holds a text beside objects"),
        ("r.json", b'{"a": "x", "b": true}', "'b' holds true or false; expected"),
        ("r.json", b'[{"text": "x"}]', "has no ids and .* its fields are: text. .*--id-field"),
        ("r.json", b'[{"id": "a", "text": "x"}, {"text": "y"}]', "record 2 of 2 has no value in"),
        ("r.json", b'[{"id": ["a"], "text": "x"}]', r"record 1 of 1 has \['a'\] in 'id'"),
        ("r.json", b'[{"id": true, "text": "x"}]', "record 1 of 1 has True in 'id'"),
        ("r.json", b'[{"id": "a", "ID": "b", "text": "x"}]', "ids twice, and they differ: id, ID"),
        (
            "r.json",
            b'[{"id": "a", "text": "x", "text": "y"}]',
            "record 1 has 'text' more than once",
        ),
        ("r.json", b'{"a": {"text": "x", "text": "y"}}', "'a' has 'text' more than once"),
        ("r.json", b'[{"id": "a", "text": "x", "m": {"k": 1, "k": 2}}]', "'k' more than once"),
        (
            "r.json",
            b'[{"id": "a", "foo": "x"}]',
            r"no field for the references; .*: id, foo\. Name",
        ),
        ("r.json", b'[{"id": "a", "prediction": "x"}]', "Are PREDS and REFS swapped"),
        ("r.json", b'{"a": null}', "every reference .* is empty"),
        ("r.json", b'{"a": ""}', "every reference in .* is empty"),
        ("r.csv", b"hello\n", "neither JSON nor a table of studies: its first line is 'hello'"),
        (
            "r.csv",
            b"name,text\na,x\n",
            "has no ids and .* are: name, text. .*--id-field row",
        ),
        ("r.csv", b"id,text\na,x,y\n", "row that ends in line 2 has 3 cells, the header 2"),
        ("r.csv", b"Dear all,\nhere is the file\n", "neither JSON nor a table of studies"),
        ("r.csv", b"word " * 100_000 + b"\nx", "neither JSON nor a table of studies"),
        ("r.csv", b"\n\nid,text\na,x,y\n", "row that ends in line 4 has 3 cells"),
        ("r.json", b'{"a": {"text": "x", "m": ' + b"[" * 500 + b"]" * 500 + b"}}", "nests more"),
        ("r.csv", b"id,text\na,x\nb\n", "row that ends in line 3 has 1 cells, the header 2"),
        ("r.csv", b'id,text\na,"x\n', "not a readable CSV or TSV file: unexpected end"),
        ("r.csv", b"id,text,text\na,x,y\n", "columns of the same name: text"),
        ("r.csv", b"id,text\n,x\n", "record 1 of 1 has no value in 'id'"),
        ("r", b"PAR1 and no more", "is a broken Parquet file"),
        ("r", b"PK\x03\x04....", "is a zip archive or an Excel workbook"),
        ("r", b"id,text\na,\x00", "neither text nor Parquet"),
        ("r", b"\xff\xfea", "begins like UTF-16 but"),
        ("r.gz", b"\x1f\x8bgarbage", "is a broken gzip file"),
        ("r.gz", gzip.compress(b'{"a": "x"}', mtime=0)[:-6], "is a broken gzip file"),
        ("r.gz", gzip.compress(b"", mtime=0), "is empty"),
    ],
)
@pytest.mark.parametrize("side", ["preds", "refs"])
def test_files_that_can_not_be_read(put, name, content, expected, side):
    if side == "preds" and re.search("references|reference|swapped", expected.lower()):
        return
    files = {"preds": put("ok-p.json", {"a": "x"}), "refs": put("ok-r.json", {"a": "x"})}
    files[side] = put(name, content)
    found = message(**files)
    assert re.search(expected, found)
    assert files[side] in found


def test_truncated_parquet(put, forms):
    whole = forms["table.parquet"]([{"study_id": "a", "text": "x"}])
    assert "broken Parquet" in message(put("p.json", {"a": ""}), put("r.parquet", whole[:-20]))


def test_parquet_with_columns_of_one_name(put, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [pa.array(["a"]), pa.array(["x"]), pa.array(["y"])]
    table = pa.Table.from_arrays(columns, names=["id", "text", "text"])
    pq.write_table(table, tmp_path / "r.parquet")
    found = message(put("p.json", {"a": ""}), str(tmp_path / "r.parquet"))
    assert "columns of the same name: text" in found


def test_parquet_without_rows(put, tmp_path):
    import pandas as pd

    pd.DataFrame({"id": [], "text": []}).to_parquet(tmp_path / "r.parquet")
    found = message(put("p.json", {"a": ""}), str(tmp_path / "r.parquet"))
    assert "holds no study: it has no rows" in found


def test_paths(put, tmp_path):
    refs = put("r.json", {"a": "x"})
    assert message(str(tmp_path / "none.json"), refs) == f"no such file: {tmp_path}/none.json"
    assert message(str(tmp_path), refs) == (
        f"{tmp_path} is a folder, and none that datasets has written (save_to_disk); give a file"
    )
    assert "can't read" in message("a\0b", refs)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_no_permission(put):
    refs = put("r.json", {"a": "x"})
    Path(refs).chmod(0)
    assert f"can't read {refs}: Permission denied" in message(put("p.json", {"a": ""}), refs)


def test_standard_input_is_there_once():
    assert "only one of PREDS and REFS" in message("-", "-")


def test_unknown_section():
    found = message("none", "none", section="findngs")
    assert found == "unknown section 'findngs'; there are: findings, impression, report"


def test_one_file_without_both_sides(put):
    refs = put("r.json", {"a": {"findings": "x"}})
    preds = put("p.json", {"a": {"model_prediction": "x"}})
    assert "no field for the candidates; its fields are" in message(refs, None)
    assert "no field for the references; its fields are" in message(preds, None)


def test_candidates_called_references(put):
    refs = put("r.json", {"a": {"report": "x"}})
    preds = put("p.json", {"a": {"ground_truth": "x"}})
    found = message(preds, refs)
    assert "no field for the candidates" in found
    assert "swapped" in found


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.json", b'[{"image": "a", "id": "z", "text": "x"}]'),
        ("r.jsonl", b'{"image": "a", "text": "x"}'),
        ("r.csv", b"Image,text\na,x\n"),
    ],
)
def test_id_field(put, name, content):
    both = put(name, content)
    assert read_pair(both, both, fields=NamedFields("image")).study_ids == ("a",)
    assert "picture" in message(both, both, fields=NamedFields("picture"))


def test_id_field_of_one_file_only(put):
    preds = put("p.json", [{"image": "a", "text": "x"}])
    image = NamedFields("image")
    refs = put("r.json", {"a": {"text": "x"}})
    assert read_pair(preds, refs, fields=image).study_ids == ("a",)
    inner = put("r.json", {"z": {"image": "a", "text": "x"}})
    assert read_pair(preds, inner, fields=image).study_ids == ("a",)


def test_one_line_of_jsonl_without_an_id(put):
    refs = put("r.jsonl", '{"name": "a", "text": "x"}')
    assert "r.jsonl has no ids and" in message(put("p.json", {"a": ""}), refs)


RECORDS = [
    {"study_id": "a", "reference": "x\ny", "candidate": "é", "site": 1},
    {"study_id": "b", "reference": "Findings: x", "candidate": "", "site": None},
]


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
        studies = read_pair(put(name, damaged[:end] if cut else damaged), None, allow_missing=True)
    except JudgeError:
        return
    assert len(studies) > 0


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "study_id", "text", "report", "candidate", "findings", "0", "a", ""]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(json_values, json_values | st.none())
def test_any_json_gives_studies_or_a_message(put, preds, refs):
    paths = (
        put("p.json", json.dumps(preds)),
        None if refs is None else put("r.json", json.dumps(refs)),
    )
    try:
        studies = read_pair(*paths, allow_missing=True)
    except JudgeError:
        return
    assert len(studies) > 0

"""One clear message for whatever can't be read."""

import gzip
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judge import prompts
from judge.backends.lexicon.data import load as load_lexicon
from judge.studies import read_pair
from judge.types import JudgeError


def message(preds, refs, **options):
    with pytest.raises(JudgeError) as caught:
        read_pair(preds, refs, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b" \r\n", "is empty"),
        (b"[]", "holds no study"),
        (b"id,text\n", "holds no study"),
        (b'{"a": "x",\n "b": y}', "line 2 column 7"),
        (b"[" * 100_000, "nested too deeply.*line 1 column 101"),
        (b'{"a": {"text": "x", "m": ' + b"[" * 500 + b"]" * 500 + b"}}", "nested too deeply"),
        (b"[1, 2]", "record 1 is the number 1"),
        (b'{"a": ["x"]}', "'a' holds a list"),
        (b'{"a": "x", "b": {"text": "y"}}', "'a' holds a text beside objects"),
        (b'{"results": [{"id": "1", "text": "x"}], "config": {}}', "under 'results'"),
        (b'[{"id": "a", "text": "x"}, {"text": "y"}]', "record 2 of 2 has no value in 'id'"),
        (b'[{"id": "a", "ID": "b", "text": "x"}]', "ids twice, and they differ: id, ID"),
        (b'[{"id": "a", "text": "x", "text": "y"}]', "'text' more than once"),
        (b'[{"id": "a", "foo": "x"}]', "no field for the references.*: id, foo"),
        (b'[{"id": "a", "prediction": "x"}]', "PREDS and REFS swapped"),
        (b'[{"id": "a", "text": "x"}, {"id": "b", "text": [1]}]', "'text' of study 'b'"),
        (b'{"a": ""}', "every reference"),
        (b"Dear all,\nhere is the file\n", "neither JSON nor a table of studies"),
        (b"name,text\na,x\n", "name, text.*--id-field row"),
        (b"\n\nid,text\na,x,y\n", "line 4 has 3 cells, the header 2"),
        (b'id,text\na,"x\n', "not a readable CSV or TSV file"),
        (b"id,text,text\na,x,y\n", "columns of the same name: text"),
        (b"PAR1 and no more", "is a broken Parquet file"),
        (b"PK\x03\x04....", "is a zip archive"),
        (b"id,text\na,\x00", "neither text nor Parquet"),
        (b"\xff\xfea", "not UTF-16"),
        (gzip.compress(b'{"a": "x"}', mtime=0)[:-6], "is a broken gzip file"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_message_with_its_name(put, content, expected):
    refs = put("refs", content)
    found = message(put("p.json", {"a": "x"}), refs)
    assert re.search(expected, found)
    assert refs in found


def test_paths(put, tmp_path):
    refs = put("r.json", {"a": "x"})
    for path in (str(tmp_path / "none.json"), str(tmp_path), "a\0b"):
        assert path in message(path, refs)
    assert "only one of PREDS and REFS" in message("-", "-")
    found = message("none", "none", section="findngs")
    assert "findngs" in found
    assert "findings, impression, report" in found


def test_parquet_with_columns_of_one_name_or_without_rows(put, tmp_path):
    path = tmp_path / "r.parquet"
    columns = [pa.array(["a"]), pa.array(["x"]), pa.array(["y"])]
    for rows, said in ((1, "columns of the same name: text"), (0, "holds no study")):
        names = ["id", "text", "text" if rows else "more"]
        pq.write_table(pa.Table.from_arrays(columns, names=names).slice(0, rows), path)
        assert said in message(put("p.json", {"a": ""}), str(path))


RECORDS = [
    {"study_id": "a", "reference": "x\ny", "candidate": "é", "site": 1},
    {"study_id": "b", "reference": "Findings: x", "candidate": "", "site": None},
]


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
        studies = read_pair(put(name, damaged[:end] if cut else damaged), None, allow_missing=True)
    except JudgeError:
        return
    assert len(studies) > 0


PAIR = {"study_id": ["a", "b"], "reference": ["Clear lungs."] * 2, "candidate": ["Clear."] * 2}


def test_thousands_of_columns_are_one_message(put, forms):
    record = {name: values[0] for name, values in PAIR.items()} | {f"c{n}": 1 for n in range(1001)}
    for name in ("table.csv", "list.json", "table.parquet"):
        assert "fields" in message(put(name, forms[name]([record])), None)


@pytest.mark.parametrize("value", ["inf", "nan", "-1"])
@pytest.mark.parametrize("option", ["--max-outage", "--max-cost"])
def test_a_number_that_is_none_is_refused(invoke, option, value):
    done = invoke("green", "none.csv", f"{option}={value}")
    assert done.exit_code == 2
    assert option in done.stderr
    assert "no such file" not in done.stderr


@pytest.mark.parametrize("text", ["a: [", "a: 2026-13-45", "a: " + "x" * 5_000_000])
def test_yaml_that_cannot_be_read_is_one_message(tmp_path, text):
    path = tmp_path / "bad.yaml"
    path.write_text(text, "utf-8")
    for read in (load_lexicon, lambda path: prompts.load(str(path))):
        with pytest.raises(JudgeError) as caught:
            read(path)
        assert "bad.yaml" in str(caught.value)
        assert len(str(caught.value)) < 2000

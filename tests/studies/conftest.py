"""Writes the same studies in every form that is read."""

import gzip
import io
import json

import pandas as pd
import pytest


def keyed(records):
    return json.dumps(
        {
            r["study_id"]: {k: v for k, v in r.items() if k != "study_id"}
            for r in records
        }
    ).encode()


def lines(records):
    return "\n".join(json.dumps(record) for record in records).encode()


def delimited(records, delimiter):
    frame = pd.DataFrame(records, dtype=object)
    return frame.to_csv(index=False, sep=delimiter, lineterminator="\r\n").encode()


def parquet(records):
    out = io.BytesIO()
    pd.DataFrame(records, dtype=object).to_parquet(out, index=False)
    return out.getvalue()


FORMS = {
    "keyed.json": keyed,
    "list.json": lambda records: json.dumps(records).encode(),
    "lines.jsonl": lines,
    "table.csv": lambda records: delimited(records, ","),
    "table.tsv": lambda records: delimited(records, "\t"),
    "table.parquet": parquet,
}


@pytest.fixture(params=FORMS)
def form(request):
    """A file name and the function that writes records in that form."""
    return request.param, FORMS[request.param]


@pytest.fixture
def forms():
    return FORMS


@pytest.fixture
def put(tmp_path):
    """Write a file and return its path; anything but bytes and text goes out as JSON."""

    def write(name, content, *, gz=False):
        if isinstance(content, str):
            content = content.encode()
        elif not isinstance(content, bytes):
            content = json.dumps(content).encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if gz else content)
        return str(path)

    return write

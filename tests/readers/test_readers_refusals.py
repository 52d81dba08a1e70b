"""What is wrong in a reader's file is one message with file and row, and nothing is written."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from readersfiles import DATA, RADPREF, REXVAL, imported, measures
from support import Invoke

TIDY = "study_id,reader,category,level,count,text,reference\n"


def refused(invoke: Invoke, out: Path, *files: Path, layout: str = "auto") -> str:
    """The one message of a refused import; there is no folder, and no trace beside it."""
    before = set(out.parent.iterdir())
    done = invoke("import", layout, *files, "--out", out)
    assert done.exit_code == 2, done.stdout
    assert not done.stdout
    assert "Traceback" not in done.stderr
    assert set(out.parent.iterdir()) == before
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("1,a,g,significant,1,,", "row 2: category is 'g'"),
        ("1,a,7,significant,1,,", "row 2: category is '7'"),
        ("1,a,a,grave,1,,", "row 2: level is 'grave'"),
        ("1,a,a,5,1,,", "row 2: level is '5'"),
        ("1,a,a,significant,1,,\n2,a,a,3,1,,", "row 2: level is 'significant'"),
        ("1,a,a,significant,-1,,", "row 2: count is '-1'"),
        ("1,a,a,significant,1.5,,", "row 2: count is '1.5'"),
        ("1,a,a,significant,1e9,,", "row 2: count is '1e9'"),
        ("1,a,a,significant,99999,,", "row 2: count is '99999'"),
        ("1,a,a,significant,2,words,", "row 2: count is 2 beside a text"),
        ("1,a,a,significant,1,,\n1,a,a,significant,2,,", "row 3: it says 2 where row 2 says 1"),
        ("1,a,a,significant,1,,\n1,a,a,significant,1,,", "row 3: it repeats row 2"),
        ("1,a,a,significant,,x,\n1,a,a,significant,,x,", "row 3: it repeats row 2"),
        ("1,a,a,significant,,x,\n1,a,a,significant,3,,", "row 3: it counts errors that row 2"),
        ("1,a,,,0,,\n1,a,a,significant,1,,", "row 3: it has an error where row 2 says"),
        ("1,a,a,significant,1,,\n1,a,,significant,1,,", "row 3: category is blank where other"),
        ("1,a,a,significant,1,,X.\n1,b,a,significant,1,,Y.", "row 3: the reference of study '1'"),
        ("1,,a,significant,1,,", "row 2: reader is blank"),
        (",a,a,significant,1,,", "row 2: study_id is blank"),
        ("1,a,,,3,,", "row 2: it says nothing"),
        ("1,a,matched,,2,,\n2,a,a,significant,1,,", "row 3: other studies have a row of matched"),
    ],
)
def test_tidy(invoke: Invoke, tmp_path: Path, rows: str, said: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(f"{TIDY}{rows}\n")
    assert f"bad.csv, {said}" in refused(invoke, tmp_path / "out", file)


def test_a_blank_level_or_count_is_missing_and_no_zero(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "blank.csv"
    file.write_text(f"{TIDY}1,a,a,,1,,\n2,a,a,significant,,,\n3,a,a,significant,1,,\n")
    (run,) = imported(invoke, tmp_path / "out", file).values()
    assert {k: v["n_significant"] for k, v in measures(run).items()} == {"3": 1}
    assert run.record("1")["detail"] == "row 2: the level is blank"
    assert run.record("2")["detail"] == "row 3: the count is blank"


def changed(source: Path, target: Path, row: int, /, **cells: object) -> Path:
    """A copy of a CSV file with other cells in a row, as a spreadsheet numbers it."""
    rows = list(csv.DictReader(io.StringIO(source.read_text())))
    assert set(cells) <= set(rows[0])
    rows[row - 2] |= {name: str(value) for name, value in cells.items()}
    with target.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return target


@pytest.mark.parametrize(
    ("row", "cells", "said"),
    [
        (2, {"score": "Grave"}, "row 2: score is 'Grave'"),
        (2, {"score": "Urgent error"}, "row 2: the score is 'Urgent error' and nothing is edited"),
        (3, {"score": "No error"}, "row 3: the score is 'No error' and the line is edited"),
        (3, {"impression_edited": ""}, "row 3: impression_edited is blank"),
        (5, {"impression_edited": "[delete]"}, "row 5: there is no line to delete"),
        (2, {"annotator": ""}, "row 2: annotator is blank"),
        (
            6,
            {"impression_original": "Other words."},
            "the candidate of study 's1/alder' is another",
        ),
        (2, {"source": ""}, "row 2: study 's1' has several impressions, and source is blank"),
        (3, {"impression_original": "..."}, "row 3: the line '...' has no word"),
    ],
)
def test_refisco(
    invoke: Invoke, tmp_path: Path, row: int, cells: dict[str, str], said: str
) -> None:
    file = changed(DATA / "refisco.csv", tmp_path / "bad.csv", row, **cells)
    assert said in refused(invoke, tmp_path / "out", file)


@pytest.mark.parametrize(
    ("row", "cells", "said"),
    [
        (2, {"error_category": 7}, "row 2: error_category is '7'"),
        (2, {"clinically_significant": "maybe"}, "row 2: clinically_significant is 'maybe'"),
        (2, {"num_errors": -1}, "row 2: num_errors is '-1'"),
        (2, {"study_number": 9}, "row 2: study_number is 9, and"),
        (2, {"candidate_type": "rouge"}, "has no column 'rouge'"),
        (3, {"clinically_significant": "True", "num_errors": 4}, "row 3: it says 4 and row 2 0"),
        (3, {"clinically_significant": "True"}, "row 3: it repeats row 2"),
    ],
)
def test_rexval(
    invoke: Invoke, tmp_path: Path, row: int, cells: dict[str, object], said: str
) -> None:
    file = changed(REXVAL[1], tmp_path / "bad.csv", row, **cells)
    assert said in refused(invoke, tmp_path / "out", REXVAL[0], file)


def test_rexval_counts_that_are_not_all_there_are_no_zeros(invoke: Invoke, tmp_path: Path) -> None:
    file = changed(REXVAL[1], tmp_path / "blank.csv", 2, num_errors="")
    run = imported(invoke, tmp_path / "out", REXVAL[0], file)["0"]
    assert run.summary()["n_unparsed"] == 1
    assert run.record("p10/radgraph")["detail"] == (
        "row 2: no count of significant errors of category 1"
    )


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("q1", "C1", "finding_errors", 0, "clinical_significance"), "mild", "finding_errors 1: c"),
        (("q1", "C1", "missing_findings"), None, "missing_findings is no list"),
        (("q1", "C1", "finding_errors", 0, "type"), 3, "finding_errors 1: type is 3"),
        (("q1", "C2", "finding_errors", 0, "attributes"), {}, "has no attributes"),
        (("q1", "C2", "finding_errors", 0, "attributes", "severity"), "x", "severity is 'x'"),
        (("q1", "C1", "rating"), "good", "the rating is 'good'"),
        (("q3",), {"C1": {}}, "study 'q3': no such study"),
    ],
)
def test_radpref(
    invoke: Invoke, tmp_path: Path, path: tuple[str | int, ...], value: object, said: str
) -> None:
    data: Any = json.loads(RADPREF[1].read_text())
    place = data["annotations"]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    file = tmp_path / "user_9.json"
    file.write_text(json.dumps(data))
    assert said in refused(invoke, tmp_path / "out", RADPREF[0], file)


def test_radevalx(invoke: Invoke, tmp_path: Path) -> None:
    file = changed(DATA / "radevalx.csv", tmp_path / "bad.csv", 3, error_type="significant")
    assert "row 3: it has the significant errors" in refused(invoke, tmp_path / "out", file)
    file = changed(DATA / "radevalx.csv", tmp_path / "bad.csv", 3, seven="0.5")
    assert "row 3: seven is '0.5'" in refused(invoke, tmp_path / "out", file)


def test_the_layout_is_that_of_the_content(invoke: Invoke, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = refused(invoke, out, DATA / "refisco.csv", layout="tidy")
    assert "these are no files of tidy" in said
    assert "refisco.csv looks like refisco" in said
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    assert "other.csv is of no layout that is known" in refused(invoke, out, other)
    assert "needs the columns study_id, reader" in refused(invoke, out, other, layout="tidy")
    assert "unknown layout 'excel'" in refused(invoke, out, other, layout="excel")
    assert "given twice" in refused(invoke, out, other, other)
    mixed = refused(invoke, out, DATA / "refisco.csv", DATA / "radevalx.csv")
    assert "looks like refisco" in mixed
    assert "looks like radevalx" in mixed


def test_files_may_be_compressed_or_parquet(invoke: Invoke, tmp_path: Path) -> None:
    import pandas as pd

    plain = DATA / "radevalx.csv"
    zipped, parquet = tmp_path / "radevalx.csv.gz", tmp_path / "radevalx.parquet"
    zipped.write_bytes(gzip.compress(plain.read_bytes()))
    pd.read_csv(plain).to_parquet(parquet)
    found = [
        measures(next(iter(imported(invoke, tmp_path / f"o{n}", file).values())))
        for n, file in enumerate((plain, zipped, parquet))
    ]
    assert found[0] == found[1] == found[2]


def test_two_readers_of_one_folder(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "names.csv"
    file.write_text(f"{TIDY}1,Dr A,a,significant,1,,\n1,dr a,a,significant,1,,\n")
    assert "would share the folder" in refused(invoke, tmp_path / "out", file)


def test_what_fails_while_runs_are_written_leaves_no_trace(invoke: Invoke, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "er" / "out"
    done = invoke("import", "auto", DATA / "radevalx.csv", "--out", out, "--by", "site")
    assert done.exit_code == 2
    assert "cannot group by 'site'" in done.stderr
    assert list(tmp_path.iterdir()) == []
    out.mkdir(parents=True)  # an empty folder is taken
    (run,) = imported(invoke, out, DATA / "radevalx.csv").values()
    assert run.path == out / "reader-radevalx"
    assert list(out.parent.iterdir()) == [out]


def test_rows_are_numbered_as_in_a_spreadsheet(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "gaps.csv"
    file.write_text(f'{TIDY}1,a,a,significant,,"two\nlines",\n\n,,,,,,\n2,a,x,significant,1,,\n')
    assert "row 5: category is 'x'" in refused(invoke, tmp_path / "out", file)
    twice = tmp_path / "twice.csv"
    twice.write_text("study_id,reader,level,note,note\n1,a,3,x,y\n")
    assert "columns of the same name: note" in refused(invoke, tmp_path / "out", twice)

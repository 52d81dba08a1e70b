"""`judge import`: each layout as its files are published, and what is refused.

What the synthetic files hold was counted by hand.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from readersfiles import imported, measures, totals
from support import EXAMPLES, Invoke

from judge.running.folder import Run

DATA = Path(__file__).parent / "data"
TIDY = EXAMPLES / "readers" / "readings.csv"
REXVAL = (DATA / "rexval_reports.csv", DATA / "rexval_counts.csv")
RADPREF = (DATA / "preference_data.json", DATA / "user_1.json", DATA / "user_2.json")
FINDINGS = ("--section", "findings")
HEAD = "study_id,reader,category,level,count,text,reference\n"


# What the layouts say.


def test_tidy(invoke: Invoke, tmp_path: Path) -> None:
    runs = imported(invoke, tmp_path / "out", TIDY)
    assert {name: run.summary()["n_scored"] for name, run in runs.items()} == {
        "fern": 15,
        "moss": 15,
        "reed": 13,  # who did not read ex-005 and ex-009: no zero for them
    }
    assert {"ex-005", "ex-009"}.isdisjoint(measures(runs["reed"]))
    found = totals(runs["fern"])
    assert (found["n_significant"], found["n_insignificant"]) == (12, 6)
    assert (found["significant_a"], found["insignificant_poor_wording"]) == (4, 1)
    # A count of three is three items without text.
    items = runs["reed"].record("ex-015")["annotation"]["items"]
    assert [(*one["labels"]["category"], one["text"]) for one in items] == [
        *[("b", "")] * 3,
        *[("a", "")] * 2,
    ]
    # A score that nobody was asked for is undefined, and says why.
    green = runs["fern"].summary()["statistics"]["green"]
    assert (green["value"], green["n"], green["n_undefined"]) == (None, 0, 15)
    assert any("no matched findings" in note for note in runs["fern"].summary()["notes"])
    for args in (("rates",), ("audit",), ("errors",)):
        assert invoke(*args, runs["reed"].path).exit_code == 0


def test_matched_findings_and_severities(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "full.csv"
    file.write_text(
        "study_id,reader,category,significant,count\n"
        "1,ann,matched,,3\n1,ann,b,yes,1\n1,ann,a,no,2\n"
        "2,ann,matched finding,,0\n2,ann,a,true,1\n"
    )
    (run,) = imported(invoke, tmp_path / "green", file).values()
    assert {k: v["green"] for k, v in measures(run).items()} == {"1": 0.75, "2": 0.0}
    file.write_text(
        "study_id,reader,category,level,count,text,model\n"
        "1,ann,b,4,,pneumothorax left out,m\n1,ann,Poor wording,not actionable,2,,m\n"
        "2,ann,,,0,,m\n"
        "1,ann,c,3,1,,n\n"
    )
    (run,) = imported(invoke, tmp_path / "fine", file).values()
    found = measures(run)
    # Two candidates of study 1; the study's own id is the patient.
    assert set(found) == {"1/m", "1/n", "2"}
    assert [run.record(one)["fields"]["patient"] for one in ("1/m", "1/n", "2")] == ["1", "1", None]
    one = found["1/m"]
    assert (one["fineradscore"], one["fineradscore_sum"], one["n_actionable"]) == (4.0, 6.0, 1)
    assert (one["severity1_poor_wording"], one["severity4_b"]) == (2, 1)
    assert found["2"]["fineradscore"] == 1.0


def test_refisco(invoke: Invoke, tmp_path: Path) -> None:
    runs = imported(invoke, tmp_path / "out", DATA / "refisco.csv")
    ann, ben = measures(runs["ann"]), measures(runs["ben"])
    score = {k: (v["fineradscore"], v["fineradscore_sum"]) for k, v in ann.items()}
    assert score == {"s1/alder": (3.0, 6.0), "s1/birch": (1.0, 0.0), "s2": (4.0, 5.0)}
    assert ann["s1/alder"]["severity3_c"] is None  # no category was given: not 0
    # A blank score is no "no error": the study is not scored.
    assert set(ben) == {"s1/alder"}
    record = runs["ben"].record("s2")
    assert (record["outcome"], record["reason"]) == ("unparsed", "blank score")
    assert "row 13" in record["detail"]
    # The lines as they were edited; of two sentences changed at once neither has a line.
    record = runs["ann"].record("s1/alder")
    assert record["candidate"] == "No pneumothorax.\nSmall left effusion.\nOld rib fracture."
    assert [one["edit"] for one in record["annotation"]["items"]] == [
        {"kind": "change", "line": 1, "corrected": "Small right effusion."},
        {"kind": "delete", "line": 2, "corrected": ""},
        {"kind": "insert", "line": None, "corrected": "Nodule in the right upper lobe."},
    ]
    corrected = "No pneumothorax.\nSmall right effusion. Nodule in the right upper lobe."
    assert record["corrected"] == corrected
    other = runs["ann"].record("s2")
    assert [one["edit"] for one in other["annotation"]["items"]] == [
        {"kind": "change", "line": 2, "corrected": "Heart is normal."},
        None,
    ]
    assert other["corrected"] is None


def by_level(runs: dict[str, Run]) -> dict[str, dict[str, tuple[float | None, ...]]]:
    return {
        reader: {study: (m["n_significant"], m["n_insignificant"]) for study, m in found.items()}
        for reader, found in ((reader, measures(run)) for reader, run in runs.items())
    }


def test_rexval(invoke: Invoke, tmp_path: Path) -> None:
    runs = imported(invoke, tmp_path / "out", *REXVAL)
    found = by_level(runs)
    assert found["0"] == {
        "p10/radgraph": (0, 1),
        "p10/bertscore": (1, 0),
        "p11/radgraph": (1, 0),
        "p11/bertscore": (2, 0),
        "p11/s_emb": (1, 0),
    }
    assert found["1"]["p11/bertscore"] == (0, 1)
    one = measures(runs["0"])["p11/bertscore"]
    assert (one["significant_d"], one["significant_c"]) == (2, 0)  # category 4 is d
    record = runs["0"].record("p11/s_emb")
    assert record["candidate"] == "Large left pneumothorax."
    assert record["fields"] == {"model": "s_emb", "patient": "p11"}
    # The published table says the same, with the reports and without.
    table = DATA / "rexval_table.csv"
    assert by_level(imported(invoke, tmp_path / "texts", REXVAL[0], table)) == found
    alone = by_level(imported(invoke, tmp_path / "alone", table))
    assert alone["0"]["1/bertscore"] == (2, 0)
    assert {reader: len(of) for reader, of in alone.items()} == {"0": 5, "1": 4}


def test_radevalx(invoke: Invoke, tmp_path: Path) -> None:
    plain = DATA / "radevalx.csv"
    zipped, parquet = tmp_path / "radevalx.csv.gz", tmp_path / "radevalx.parquet"
    zipped.write_bytes(gzip.compress(plain.read_bytes()))
    pd.read_csv(plain).to_parquet(parquet)
    for at, file in enumerate((plain, zipped, parquet)):
        options = ("--reader", "team")
        (run,) = imported(invoke, tmp_path / f"o{at}", file, options=options).values()
        assert run.manifest["judge"]["name"] == "reader:team"
        assert totals(run) == {
            "n_matched": None,
            "n_significant": 2,
            "significant_a": 1,
            "significant_seven": 1,
            "n_insignificant": 3,
            "insignificant_d": 1,
            "insignificant_eight": 2,
        }


def test_radpref(invoke: Invoke, tmp_path: Path) -> None:
    runs = imported(invoke, tmp_path / "out", *RADPREF)
    found = measures(runs["user_1"])
    assert set(found) == {"q1/C1", "q1/C2", "q2/C1"}  # q2/C2 was not read
    one = found["q1/C1"]
    assert (one["n_significant"], one["n_actionable"], one["n_insignificant"]) == (1, 2, 2)
    assert (one["severity2_a"], one["severity3_b"], one["severity1_b"]) == (1, 1, 1)
    assert found["q1/C2"]["severity3_attribute"] == 1
    # The readers' scale has no "emergent", and no category of wrong locations.
    for name in ("fineradscore", "fineradscore_sum", "n_severity4", "severity3_c"):
        assert one[name] is None, name
    assert runs["user_1"].record("q1/C1")["fields"] == {
        "model": "C1",
        "patient": "q1",
        "rating": 1,
        "preference": "C2",
        "benign_expected": 1,
    }
    blank = runs["user_2"].record("q1/C1")
    assert (blank["outcome"], blank["reason"]) == ("unparsed", "blank score")


# What is refused: file and row, and nothing is written.


def refused(invoke: Invoke, out: Path, *files: Path, layout: str = "auto") -> str:
    before = set(out.parent.iterdir())
    done = invoke("import", layout, *files, "--out", out)
    assert (done.exit_code, done.stdout) == (2, "")
    assert set(out.parent.iterdir()) == before
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ("1,a,g,significant,1,,", "row 2: category is 'g'"),
        ("1,a,a,grave,1,,", "row 2: level is 'grave'"),
        ("1,a,a,significant,1,,\n2,a,a,3,1,,", "row 2: level is 'significant'"),
        ("1,a,a,significant,1e9,,", "row 2: count is '1e9'"),
        ("1,a,a,significant,1,,\n1,a,a,significant,2,,", "row 3"),
        ("1,a,a,significant,,x,\n1,a,a,significant,,x,", "row 3"),
        ("1,a,,,0,,\n1,a,a,significant,1,,", "row 3"),
        ("1,a,a,significant,1,,X.\n1,b,a,significant,1,,Y.", "reference of study '1'"),
        ("1,,a,significant,1,,", "row 2: reader"),
        ("1,a,matched,,2,,\n2,a,a,significant,1,,", "row 3"),
        # Rows are numbered as in a spreadsheet.
        ('1,a,a,significant,,"two\nlines",\n\n,,,,,,\n2,a,x,significant,1,,', "row 5: category"),
        ("1,Dr A,a,significant,1,,\n1,dr a,a,significant,1,,", "'Dr A'"),
    ],
)
def test_bad_rows_of_tidy(invoke: Invoke, tmp_path: Path, rows: str, names: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(f"{HEAD}{rows}\n")
    assert names in refused(invoke, tmp_path / "out", file)


def test_a_blank_level_or_count_is_missing_and_no_zero(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "blank.csv"
    file.write_text(f"{HEAD}1,a,a,,1,,\n2,a,a,significant,,,\n3,a,a,significant,1,,\n")
    (run,) = imported(invoke, tmp_path / "out", file).values()
    assert {k: v["n_significant"] for k, v in measures(run).items()} == {"3": 1}
    assert "row 2" in run.record("1")["detail"]
    assert "row 3" in run.record("2")["detail"]


def changed(source: Path, target: Path, row: int, cells: dict[str, object]) -> Path:
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
    ("source", "row", "cells", "names"),
    [
        ("refisco", 2, {"score": "Grave"}, "row 2: score"),
        ("refisco", 2, {"score": "Urgent error"}, "row 2"),
        ("refisco", 3, {"impression_edited": ""}, "row 3: impression_edited"),
        ("refisco", 5, {"impression_edited": "[delete]"}, "row 5"),
        ("refisco", 6, {"impression_original": "Other words."}, "'s1/alder'"),
        ("refisco", 2, {"source": ""}, "row 2: study 's1'"),
        ("rexval_counts", 2, {"error_category": 7}, "row 2: error_category"),
        ("rexval_counts", 2, {"clinically_significant": "maybe"}, "row 2: clinically_significant"),
        ("rexval_counts", 2, {"candidate_type": "rouge"}, "'rouge'"),
        ("rexval_counts", 3, {"clinically_significant": "True"}, "row 3"),
        ("radevalx", 3, {"error_type": "significant"}, "row 3"),
        ("radevalx", 3, {"seven": "0.5"}, "row 3: seven"),
    ],
)
def test_bad_cells_of_other_layouts(
    invoke: Invoke, tmp_path: Path, source: str, row: int, cells: Any, names: str
) -> None:
    file = changed(DATA / f"{source}.csv", tmp_path / "bad.csv", row, cells)
    files = (REXVAL[0], file) if source == "rexval_counts" else (file,)
    assert names in refused(invoke, tmp_path / "out", *files)


def test_rexval_counts_that_are_not_all_there(invoke: Invoke, tmp_path: Path) -> None:
    file = changed(REXVAL[1], tmp_path / "blank.csv", 2, {"num_errors": ""})
    run = imported(invoke, tmp_path / "out", REXVAL[0], file)["0"]
    assert run.summary()["n_unparsed"] == 1
    assert "row 2" in run.record("p10/radgraph")["detail"]
    names = [f"{reader}{again}" for reader in range(6) for again in ("", ".1")]
    head = ["study_number", "origin", "error_category", *names]  # in another order
    rows = [["0", "bleu", str(category), *["0"] * 12] for category in range(1, 7)]
    (tmp_path / "t.csv").write_text("\n".join(",".join(row) for row in (head, *rows)))
    assert "t.csv" in refused(invoke, tmp_path / "table", tmp_path / "t.csv", layout="rexval")


@pytest.mark.parametrize(
    ("path", "value", "names"),
    [
        (("q1", "C1", "finding_errors", 0, "clinical_significance"), "mild", "finding_errors 1: c"),
        (("q1", "C1", "missing_findings"), None, "missing_findings"),
        (("q1", "C2", "finding_errors", 0, "attributes", "severity"), "x", "severity"),
        (("q1", "C1", "rating"), "good", "rating"),
        (("q1", "c1"), {"rating": 3}, "'c1'"),
        (("q3",), {"C1": {}}, "study 'q3'"),
    ],
)
def test_bad_values_of_radpref(
    invoke: Invoke, tmp_path: Path, path: tuple[Any, ...], value: object, names: str
) -> None:
    data = json.loads(RADPREF[1].read_text())
    place = data["annotations"]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    file = tmp_path / "user_9.json"
    file.write_text(json.dumps(data))
    assert names in refused(invoke, tmp_path / "out", RADPREF[0], file)


def test_the_layout_is_that_of_the_content(invoke: Invoke, tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    refisco = DATA / "refisco.csv"
    assert "looks like refisco" in refused(invoke, out, refisco, layout="tidy")
    assert "other.csv" in refused(invoke, out, other)
    assert "study_id, reader" in refused(invoke, out, other, layout="tidy")
    assert "'excel'" in refused(invoke, out, other, layout="excel")
    assert "twice" in refused(invoke, out, other, other)
    assert "looks like radevalx" in refused(invoke, out, refisco, DATA / "radevalx.csv")
    other.write_text("study_id,reader,level,note,note\n1,a,3,x,y\n")
    assert "note" in refused(invoke, out, other)


# A reader's run is a run.


def test_readers_are_compared_with_judges(
    invoke: Invoke, tmp_path: Path, judged_examples: Path
) -> None:
    readers = imported(invoke, tmp_path / "readers", TIDY, options=FINDINGS)
    runs = (f"lexicon={judged_examples}", f"fern={readers['fern'].path}")
    refusal = invoke("compare", *runs)
    assert refusal.exit_code == 2
    assert "--allow judge" in refusal.stderr
    done = invoke("compare", *runs, "--allow", "judge")
    assert done.exit_code == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if "fern   " in line and "n 0" in line)
    assert "n/a (n 0)" in row  # GREEN
    assert "1.200" in row  # 18 errors in 15 studies, the reader's own category among them
    two = [f"{name}={readers[name].path}" for name in ("fern", "reed")]
    done = invoke("compare", *two, "--allow", "judge", "--common")
    assert "13 studies" in done.stderr + done.stdout


def test_what_a_reader_was_not_asked_for_is_never_counted_as_none(
    invoke: Invoke, tmp_path: Path
) -> None:
    """The lexicon, and a reader who wrote down the same errors without categories."""
    texts = ("No pleural effusion.", "There is a pleural effusion.")
    rows = [f"q{at},ann,yes,pleural effusion,{','.join(texts)}" for at in range(12)]
    head = "study_id,reader,significant,text,reference,candidate"
    (tmp_path / "readings.csv").write_text("\n".join([head, *rows]))
    options = ("--section", "report")
    ann = imported(invoke, tmp_path / "r", tmp_path / "readings.csv", options=options)["ann"].path
    assert invoke("green", ann, "--judge", "lexicon", "--out", "lexicon").exit_code == 0
    runs = ("lexi=lexicon", f"ann={ann}", "--allow", "judge")
    text = invoke("compare", *runs, "--format", "errors").stdout
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["model"] == "ann"]
    assert [row["errors"] for row in rows if not row["category"]] == ["12", "0"]
    by_category = {(row["n"], row["errors"]) for row in rows if row["category"]}
    assert by_category == {("0", "")}
    done = invoke("errors", *runs)
    assert done.exit_code == 2
    assert "categories" in done.stderr


def test_killed_while_it_writes_it_leaves_no_run(tmp_path: Path) -> None:
    """All runs or none, and it can be repeated."""
    file, out = tmp_path / "many.csv", tmp_path / "out"
    rows = [f"{study},r{reader},a,significant,1" for reader in range(40) for study in range(60)]
    file.write_text("study_id,reader,category,level,count\n" + "\n".join(rows) + "\n")
    command = [sys.executable, "-m", "judge", "import", "tidy", str(file), "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    staged = tmp_path / ".out.new" / ".writing"
    deadline = time.monotonic() + 120
    while not list(staged.glob("*/reader-r2")) and time.monotonic() < deadline:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not out.exists()
    subprocess.run(command, check=True, capture_output=True)
    assert {path.name for path in tmp_path.iterdir()} == {"many.csv", "out"}
    assert {Run(path).summary()["n_scored"] for path in out.iterdir()} == {60}

"""`judge readers import`: each layout as its files are published, and what is refused.

What the synthetic files hold was counted by hand.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from radprefdata import radpref_files
from readersfiles import imported, measures, totals
from support import EXAMPLES, Invoke

from judge.running.folder import RunFolder

DATA = Path(__file__).parent / "data"
TIDY = EXAMPLES / "readers" / "readings.csv"
REXVAL = (DATA / "rexval_reports.csv", DATA / "rexval_counts.csv")
READERS = Path(__file__).parents[3] / "shared" / "data" / "readers"
FINDINGS = ("--section", "findings")
HEAD = "study_id,reader,category,level,count,text,reference\n"


# What the layouts say.


def test_tidy(invoke: Invoke, tmp_path: Path) -> None:
    runs = imported(invoke, tmp_path / "out", TIDY)
    assert {name: run.summary().n_scored for name, run in runs.items()} == {
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
    green = runs["fern"].summary().statistics["green"]
    assert (green.value, green.n, green.n_undefined) == (None, 0, 15)
    assert any("no matched findings" in note for note in runs["fern"].summary().notes)
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
    assert [run.record(one)["fields"]["patient"] for one in ("1/m", "1/n", "2")] == [
        "1",
        "1",
        None,
    ]
    one = found["1/m"]
    assert (one["fineradscore"], one["fineradscore_sum"], one["n_actionable"]) == (
        4.0,
        6.0,
        1,
    )
    assert (one["severity1_poor_wording"], one["severity4_b"]) == (2, 1)
    assert found["2"]["fineradscore"] == 1.0


def test_refisco(invoke: Invoke, tmp_path: Path) -> None:
    runs = imported(invoke, tmp_path / "out", DATA / "refisco.csv")
    ann, ben = measures(runs["ann"]), measures(runs["ben"])
    score = {k: (v["fineradscore"], v["fineradscore_sum"]) for k, v in ann.items()}
    assert score == {"s1/alder": (3.0, 6.0), "s1/birch": (1.0, 0.0), "s2": (4.0, 5.0)}
    assert ann["s1/alder"]["severity3_c"] is None  # no category was given: not 0
    # A blank score is no "no error": the study is left out, counted and named.
    assert set(ben) == {"s1/alder"}
    assert runs["ben"].manifest.omitted_ids == {"unreadable": ["s2"]}
    assert "|omitted:1|" in runs["ben"].signature
    (note,) = [note for note in runs["ben"].summary().notes if "left out" in note]
    assert "row 13" in note
    # The lines as they were edited; a row of several sentences has none.
    record = runs["ann"].record("s1/alder")
    assert (
        record["candidate"]
        == "No pneumothorax.\n\nSmall left effusion.\n\nOld rib fracture."
    )
    assert [one["edit"] for one in record["annotation"]["items"]] == [
        {"kind": "change", "line": 1, "corrected": "Small right effusion."},
        {"kind": "delete", "line": 2, "corrected": ""},
        {
            "kind": "insert",
            "line": None,
            "corrected": "Nodule in the right upper lobe.",
        },
    ]
    corrected = (
        "No pneumothorax.\n\nSmall right effusion. Nodule in the right upper lobe."
    )
    assert record["corrected"] == corrected
    other = runs["ann"].record("s2")
    assert [one["edit"] for one in other["annotation"]["items"]] == [None, None]
    assert other["corrected"] is None


def test_refisco_v1_has_other_names_and_whole_reports(
    invoke: Invoke, tmp_path: Path
) -> None:
    v1 = tmp_path / "v1.csv"
    v1.write_text(
        "data_id,report_type,report_text,original_line,corrected_line,error_clinical_severity,"
        "comments,annotator_id\n1,xrem,No effusion. Clear.,Clear.,Left nodule.,Urgent error,,ann\n"
    )
    (run,) = imported(invoke, tmp_path / "whole", v1).values()
    record = run.record("1")
    assert record["candidate"] == "No effusion. Clear."
    assert record["annotation"]["items"][0]["edit"]["line"] == 1


def by_level(
    runs: dict[str, RunFolder],
) -> dict[str, dict[str, tuple[float | None, ...]]]:
    return {
        reader: {
            study: (m["n_significant"], m["n_insignificant"])
            for study, m in found.items()
        }
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
    alone = by_level(
        imported(invoke, tmp_path / "alone", REXVAL[1])
    )  # without the reports
    assert alone["0"]["1/bertscore"] == (2, 0)


def test_radevalx(invoke: Invoke, tmp_path: Path) -> None:
    plain, zipped = DATA / "radevalx.csv", tmp_path / "radevalx.csv.gz"
    zipped.write_bytes(gzip.compress(plain.read_bytes()))
    for at, file in enumerate((plain, zipped)):
        options = ("--reader", "team")
        (run,) = imported(invoke, tmp_path / f"o{at}", file, options=options).values()
        assert run.manifest.judge.name == "reader:team"
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
    files, _ = radpref_files(tmp_path)
    runs = imported(invoke, tmp_path / "out", *files)
    assert set(runs) == {"user_1", "user_2"}
    found = measures(runs["user_1"])
    assert set(found) == {"p1_s1/C1", "p1_s1/C2", "p2_s1/C2"}  # p2's C1 was not read
    one = found["p1_s1/C1"]
    assert (one["n_significant"], one["n_actionable"], one["n_insignificant"]) == (
        1,
        2,
        2,
    )
    assert (one["severity3_a"], one["severity2_b"], one["severity1_a"]) == (1, 1, 1)
    # An attribute error weighs by its attributes, and may be of several categories.
    two = found["p1_s1/C2"]
    assert (two["n_actionable"], two["severity2_d"], two["severity2_measurement"]) == (
        1,
        1,
        1,
    )
    assert two["severity1_certainty"] == 1
    # The readers' scale has no "emergent", and no category of comparisons.
    for name in ("fineradscore", "fineradscore_sum", "n_severity4", "severity3_e"):
        assert one[name] is None, name
    record = runs["user_1"].record("p1_s1/C1")
    assert [(item["side"], item["text"]) for item in record["annotation"]["items"]] == [
        ("candidate", "Small right pleural effusion"),
        ("candidate", "Rib fracture: Old"),
        ("reference", "Right internal jugular catheter"),
    ]
    assert record["annotation"]["explanation"] == "Most findings agree."
    fields = {"age": "050Y", "model": "medgemma", "patient": "p1", "rating": 2}
    assert record["fields"] == fields
    texts = [
        item["text"]
        for item in runs["user_1"].record("p1_s1/C2")["annotation"]["items"]
    ]
    assert texts[0].startswith("Large right pleural effusion (severity significant")


@pytest.mark.skipif(not READERS.is_dir(), reason="shared/data/readers is not there")
def test_the_published_layouts_are_read_with_nothing_silently_lost(
    invoke: Invoke, tmp_path: Path
) -> None:
    """Every reading and every error of the files is in a run, or left out by name."""
    users = sorted(READERS.glob("user_*.json"))
    runs = imported(invoke, tmp_path / "rp", READERS / "preference_data.json", *users)
    for user in users:
        annotations = json.loads(user.read_text())["annotations"].values()
        sides = [
            study[side]
            for study in annotations
            for side in ("C1", "C2")
            if side in study
        ]
        n_errors = sum(
            len(s["finding_errors"]) + len(s["missing_findings"]) for s in sides
        )
        run = runs[user.stem]
        assert run.manifest.omitted_ids == {}
        assert len(measures(run)) == len(sides)
        items = [len(record["annotation"]["items"]) for record in run.records()]
        assert sum(items) == n_errors
    for name, id_, score in (
        ("refisco-v0.csv", ("id", "source", "annotator"), "score"),
        (
            "refisco-v1.csv",
            ("data_id", "report_type", "annotator_id"),
            "error_clinical_severity",
        ),
    ):
        rows = pd.read_csv(READERS / name, dtype=str, keep_default_na=False)
        runs = imported(invoke, tmp_path / name, READERS / name)
        readings = len(rows.groupby(list(id_)))
        left_out = [run.manifest.omitted.get("unreadable", 0) for run in runs.values()]
        assert (
            sum(len(measures(run)) for run in runs.values()) + sum(left_out) == readings
        )
        errors = [run.summary().totals["n_severity4"].n for run in runs.values()]
        assert sum(errors) == (rows[score] == "Emergent error").sum()


# What is refused: file and row, and nothing is written.


def refused(invoke: Invoke, out: Path, *files: Path, layout: str = "auto") -> str:
    before = set(out.parent.iterdir())
    done = invoke("readers", "import", layout, *files, "--out", out)
    assert (done.exit_code, done.stdout) == (2, "")
    assert set(out.parent.iterdir()) == before
    (line,) = done.stderr.splitlines()
    return line


def left_out(
    invoke: Invoke, out: Path, *files: Path
) -> tuple[dict[str, list[str]], str]:
    """The studies of each reader that are left out of the runs, and the notes on them."""
    runs = imported(invoke, out, *files)
    assert all(measures(run) for run in runs.values())
    lost = {reader: run.manifest.omitted_ids for reader, run in runs.items()}
    notes = [note for run in runs.values() for note in run.summary().notes]
    found = {reader: ids["unreadable"] for reader, ids in lost.items() if ids}
    return found, "\n".join(note for note in notes if "left out" in note)


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ("1,a,g,significant,1,,", "row 2: category is 'g'"),
        ("1,a,a,grave,1,,", "row 2: level is 'grave'"),
        ("1,a,a,3,1,,", "row 2: level is '3'"),
        ("1,a,a,significant,1e9,,", "row 2: count is '1e9'"),
        ("1,a,a,,1,,", "row 2: level is blank"),
        ("1,a,a,significant,,,", "row 2: count is blank"),
        ("1,a,a,significant,1,,\n1,a,a,significant,2,,", "row 3: it repeats"),
        ("1,a,a,significant,,x,\n1,a,a,significant,,x,", "row 3: it repeats"),
        ("1,a,,,0,,\n1,a,a,significant,1,,", "row 3"),
        ("1,a,a,significant,1,,X.\n1,b,a,significant,1,,Y.", "row 3: reference"),
        # Blank rows are not counted.
        (
            '1,a,a,significant,,"two\nlines",\n\n,,,,,,\n1,a,6x,significant,1,,',
            "row 3: category",
        ),
        ("1,a,a,significant,,x,\n1,a,a,significant,1,,", "lists or counts"),
    ],
)
def test_a_study_with_contradictory_rows_is_left_out(
    invoke: Invoke, tmp_path: Path, rows: str, names: str
) -> None:
    file = tmp_path / "bad.csv"
    more = "".join(
        f"{study},a,a,significant,1,,\n{study},b,,,0,,\n" for study in ("8", "9")
    )
    file.write_text(f"{HEAD}{rows}\n{more}")
    lost, notes = left_out(invoke, tmp_path / "out", file)
    assert lost["a"] == ["1"]
    assert names in notes


def test_a_reader_of_whom_nothing_can_be_read_is_named(
    invoke: Invoke, tmp_path: Path
) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(f"{HEAD}1,ann,a,significant,1,,\n1,ben,a,grave,1,,\n")
    runs = imported(invoke, tmp_path / "out", file)
    assert set(runs) == {"ann"}
    assert any(
        "'ben'" in note and "row 3" in note for note in runs["ann"].summary().notes
    )


def test_rows_without_a_study_or_reader_are_refused(
    invoke: Invoke, tmp_path: Path
) -> None:
    file = tmp_path / "bad.csv"
    for rows, names in (
        ("1,,a,significant,1,,", "row 2: reader"),
        ("1,Dr A,a,significant,1,,\n1,dr a,a,significant,1,,", "'Dr A'"),
    ):
        file.write_text(f"{HEAD}{rows}\n")
        assert names in refused(invoke, tmp_path / "out", file)


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
        ("refisco", 2, {"impression_edited": "[delete]"}, "row 2"),
        ("refisco", 3, {"impression_edited": ""}, "row 3: impression_edited"),
        ("refisco", 5, {"impression_edited": "[delete]"}, "row 5"),
        ("rexval_counts", 2, {"error_category": 7}, "row 2: error_category"),
        (
            "rexval_counts",
            2,
            {"clinically_significant": "maybe"},
            "row 2: clinically_significant",
        ),
        ("rexval_counts", 2, {"candidate_type": "rouge"}, "/rouge"),
        ("rexval_counts", 3, {"clinically_significant": "True"}, "row 3"),
        ("rexval_counts", 2, {"num_errors": ""}, "11 of 12"),
        ("radevalx", 3, {"error_type": "significant"}, "significant and significant"),
        ("radevalx", 3, {"seven": "0.5"}, "row 3: seven"),
    ],
)
def test_bad_cells_of_other_layouts(
    invoke: Invoke, tmp_path: Path, source: str, row: int, cells: Any, names: str
) -> None:
    file = changed(DATA / f"{source}.csv", tmp_path / "bad.csv", row, cells)
    files = (REXVAL[0], file) if source == "rexval_counts" else (file,)
    before = {"ben": ["s2"]} if source == "refisco" else {}  # which the file has anyhow
    lost, notes = left_out(invoke, tmp_path / "out", *files)
    assert names in notes
    studies = [
        study for reader, ids in lost.items() for study in ids if reader not in before
    ]
    assert len(studies) == (2 if "candidate_type" in cells else 1)


def test_readers_who_saw_other_lines_read_another_candidate(
    invoke: Invoke, tmp_path: Path
) -> None:
    file = changed(
        DATA / "refisco.csv",
        tmp_path / "r.csv",
        6,
        {"impression_original": "Other words."},
    )
    runs = imported(invoke, tmp_path / "out", file)
    assert "s1/alder/ann" in measures(runs["ann"])
    assert "s1/alder/ben" in measures(runs["ben"])


@pytest.mark.parametrize(
    ("path", "value", "names"),
    [
        (("C1", "finding_errors", "0", "clinical_significance"), "mild", "mild"),
        (("C1", "finding_errors", "7"), {"error_type": "false"}, ""),
        (("C1", "finding_errors", "0", "error_type"), "true", "true"),
        (("C1", "missing_findings"), None, "NoneType"),
        (("C1", "missing_findings"), [], "list"),
        (("C2", "finding_errors", "0", "attributes", "severity"), "x", "x"),
        (("C2", "finding_errors", "0", "attributes"), {}, ""),
        (("C1", "rating"), "good", ""),
    ],
)
def test_bad_values_of_radpref(
    invoke: Invoke, tmp_path: Path, path: tuple[Any, ...], value: object, names: str
) -> None:
    files, annotations = radpref_files(tmp_path)
    place: Any = annotations["p1_s1"]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    files[2].write_text(json.dumps({"user_id": "2", "annotations": annotations}))
    lost, notes = left_out(invoke, tmp_path / "out", *files)
    assert lost == {"user_2": [f"p1_s1/{path[0]}"]}
    assert names in notes


def test_a_study_of_radpref_with_two_texts_is_left_out(
    invoke: Invoke, tmp_path: Path
) -> None:
    files, _ = radpref_files(tmp_path)
    reports = json.loads(files[0].read_text())
    files[0].write_text(
        json.dumps([*reports, reports[0] | {"C1_report": "Other words."}])
    )
    lost, _ = left_out(invoke, tmp_path / "out", *files)
    assert lost == {"user_1": ["p1_s1/C1"], "user_2": ["p1_s1/C1"]}
    # A reading of a study that the file of reports lacks is named too.
    files[0].write_text(json.dumps(reports[1:]))
    lost, _ = left_out(invoke, tmp_path / "fewer", *files)
    assert lost["user_1"] == ["p1_s1/C1", "p1_s1/C2"]


def test_the_layout_is_that_of_the_content(invoke: Invoke, tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    refisco = DATA / "refisco.csv"
    assert "refisco.csv" in refused(invoke, out, refisco, layout="tidy")
    assert "other.csv" in refused(invoke, out, other)
    assert "study_id, reader" in refused(invoke, out, other, layout="tidy")
    assert "'excel'" in refused(invoke, out, other, layout="excel")
    assert "twice" in refused(invoke, out, other, other)
    assert "radevalx.csv" in refused(invoke, out, refisco, DATA / "radevalx.csv")
    other.write_text("study_id,reader,level\n1,a,3,x\n")
    assert "other.csv" in refused(invoke, out, other)


# A reader's run is a run.


def test_what_a_reader_was_not_asked_for_is_never_counted_as_none(
    invoke: Invoke, tmp_path: Path
) -> None:
    """The lexicon, and a reader who wrote down the same errors without categories."""
    texts = ("No pleural effusion.", "There is a pleural effusion.")
    rows = [f"q{at},ann,yes,pleural effusion,{','.join(texts)}" for at in range(12)]
    head = "study_id,reader,significant,text,reference,candidate"
    (tmp_path / "readings.csv").write_text("\n".join([head, *rows]))
    options = ("--section", "report")
    ann = imported(invoke, tmp_path / "r", tmp_path / "readings.csv", options=options)[
        "ann"
    ].path
    assert invoke("green", ann, "--judge", "lexicon", "--out", "lexicon").exit_code == 0
    runs = ("lexi=lexicon", f"ann={ann}", "--allow", "judge")
    text = invoke("compare", *runs, "--format", "csv", "--table", "errors").stdout
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["model"] == "ann"]
    assert [row["all_k"] for row in rows] == ["12", "0"]
    assert {(row["false_finding_n"], row["false_finding_k"]) for row in rows} == {
        ("0", "")
    }
    done = invoke("errors", *runs)
    assert done.exit_code == 2
    assert "not compared" in done.stderr


def test_a_finding_that_a_reader_added_is_read(invoke: Invoke, tmp_path: Path) -> None:
    files, annotations = radpref_files(tmp_path)
    study = annotations["p1_s1"]
    n_items = len(study["C1"]["finding_errors"]) + len(study["C1"]["missing_findings"])
    record = next(
        one for one in json.loads(files[0].read_text()) if one["id"] == "p1_s1"
    )
    beyond = len(record["C1_findings"])
    added = {
        "error_type": "false",
        "clinical_significance": "urgent",
        "explanation": "symptom",
    }
    study["C1"]["finding_errors"][str(beyond)] = added
    for listed in (
        {"C1": [beyond], "C2": [], "GT": []},
        None,
    ):  # one published file lacks the list
        study["new_finding_indices"] = listed
        files[2].write_text(json.dumps({"user_id": "2", "annotations": annotations}))
        out = tmp_path / f"out-{listed is None}"
        run = imported(invoke, out, *files)["user_2"]
        assert run.manifest.omitted_ids == {}
        items = run.record("p1_s1/C1")["annotation"]["items"]
        assert len(items) == n_items + 1
        texts = [item["text"] for item in items]
        assert "a finding that the reader added: symptom" in texts
    # A number with a gap before it is a mistake.
    study["C1"]["finding_errors"][str(beyond + 5)] = study["C1"]["finding_errors"].pop(
        str(beyond)
    )
    files[2].write_text(json.dumps({"user_id": "2", "annotations": annotations}))
    lost, notes = left_out(invoke, tmp_path / "gap", *files)
    assert lost == {"user_2": ["p1_s1/C1"]}
    assert f"none with the number {beyond + 5}" in notes

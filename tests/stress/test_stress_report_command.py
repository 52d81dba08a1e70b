"""`judge stress report`: each format, 80 columns, and what is wrong with what is given."""

from __future__ import annotations

import csv
import io
import json
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from scriptedhelp import at_random, by_text, error, judged, line, with_errors, written
from support import EXAMPLES, Invoke

from judge.stress.report import report_of

KEYS = {
    *("format", "rubric", "judge", "prompts", "repeats", "level", "score", "categories", "runs"),
    *("candidates", "notes", "verdict", "detection", "detection_all", "false_alarms"),
    *("false_alarms_all", "matrix", "monotone", "stability", "hostile", "hostile_all"),
    "signature",
}
TITLES = (
    *("One error that was put in", "What it was taken for", "Reports without an error of a"),
    *("By the number of errors put in", "Studies that move the wrong way", "Asked again"),
    *("Hostile texts", "Readings that a hostile text changed", "Not scored"),
)


@pytest.fixture
def made(invoke: Invoke, tmp_path: Path) -> Path:
    assert invoke("stress", "make", EXAMPLES / "refs.json", "--out", "made").exit_code == 0
    for at in range(2):
        judged(tmp_path / "made", tmp_path / "made" / "runs" / str(at), at_random(at), repeat=at)
    return tmp_path / "made"


def test_json_has_all_of_it(invoke: Invoke, made: Path) -> None:
    done = invoke("stress", "report", made, "--format", "json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.keys() == KEYS
    assert found == json.loads(json.dumps(report_of(made).plain()))
    assert found["candidates"]["seed"] == 1
    assert found["candidates"]["section"] == "findings"
    assert sum(one["not_made"] != {} for one in found["detection"]) > 10
    assert "truth:" in found["signature"]
    assert invoke("stress", "report", made / "runs/0", made / "runs/1").stdout != ""


def test_the_same_answers_give_the_same_report(invoke: Invoke, made: Path) -> None:
    first = invoke("stress", "report", made, "--format", "json").stdout
    assert invoke("stress", "report", made, "--format", "json").stdout == first


def test_tables_and_markdown(invoke: Invoke, made: Path) -> None:
    found = report_of(made).plain()
    table = invoke("stress", "report", made).stdout
    text = invoke("stress", "report", made, "--format", "md").stdout
    for title in TITLES:
        assert title in table, title
        assert f"## {title}" in text, title
    for one in found["verdict"]:
        assert one in " ".join(table.split())
    side = next(one for one in found["detection"] if one["class"] == "side_swapped")
    k, n = side["found"]["k"], side["found"]["n"]
    row = next(row for row in text.splitlines() if row.startswith("| side swapped |"))
    assert f"{k}/{n} {100 * k / n:.1f}%" in row
    assert found["signature"] in table
    assert found["signature"] in text


def test_csv_has_each_figure_unrounded(invoke: Invoke, made: Path) -> None:
    found = report_of(made).plain()
    done = invoke("stress", "report", made, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    at = {(one["table"], one["name"], one["figure"]): one for one in rows}
    assert len(at) == len(rows)
    for one in found["detection"]:
        for name in ("found", "right_category", "right_significance"):
            row = at["detection", one["class"], name]
            assert [row[key] for key in ("k", "n")] == [str(one[name][key]) for key in ("k", "n")]
            assert row["value"] == ("" if one[name]["rate"] is None else str(one[name]["rate"]))
            assert row["made"] == str(one["made"])
            assert row["unparsed"] == str(one["lost"]["unparsed"])
    again = found["stability"]["repeats"]
    assert float(at["stability", "repeats", "again"]["value"]) == again["rate"]["again"]
    assert float(at["stability", "repeats", "score_sd"]["value"]) == again["score_sd"]
    assert float(at["stability", "repeats", "icc"]["low"]) == again["icc"]["low"]
    step = found["monotone"]["by_k"][1]["step_count"]
    assert float(at["monotone", "1", "step_count"]["value"]) == step["mean"]


def test_a_terminal_of_80_columns(made: Path) -> None:
    leader, follower = pty.openpty()
    program = (
        "import fcntl, struct, sys, termios;"
        "fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 80, 0, 0));"
        "from judge.cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", program, "stress", "report", str(made)]
    with subprocess.Popen(command, stdout=follower, stderr=subprocess.PIPE) as process:
        import os

        os.close(follower)
        parts = []
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            parts.append(part)
        assert process.wait() == 0
    import re

    text = re.sub(r"\x1b\[[0-9;]*m", "", b"".join(parts).decode())
    rows = [one.rstrip("\r") for one in text.split("\n") if not one.startswith("signature")]
    assert "One error that was put in" in text
    assert max(map(len, rows)) <= 80
    assert "one error: denied" not in text  # a table, not a list of records


def test_a_report_of_a_run_elsewhere_names_its_truth(invoke: Invoke, tmp_path: Path) -> None:
    lines = [line("s1", "identical", "unchanged"), with_errors("s1", "denied", "error", error("b"))]
    run = judged(written(tmp_path / "made", lines), tmp_path / "run", by_text({}))
    (tmp_path / "made").rename(tmp_path / "elsewhere")
    done = invoke("stress", "report", run)
    assert done.exit_code == 2
    assert "--truth" in done.stderr
    assert "Traceback" not in done.stderr
    done = invoke("stress", "report", run, "--truth", "elsewhere")
    assert done.exit_code == 0, done.stderr
    assert "(0 of 1)" in done.stdout


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["missing"], "no such run: missing"),
        (["made"], "made"),
        ([], "Missing argument"),
        (["made/runs/0", "--truth", "gone"], "cannot read gone"),
    ],
)
def test_what_is_wrong_is_one_message(
    invoke: Invoke, tmp_path: Path, given: list[str], why: str
) -> None:
    made = written(tmp_path / "made", [line("s1", "identical", "unchanged")])
    if "made/runs/0" in given:
        judged(made, made / "runs" / "0", by_text({}))
    done = invoke("stress", "report", *given)
    assert done.exit_code == 2
    assert why in done.stderr
    assert done.stdout == ""


def test_from_python(made: Path) -> None:
    import judge

    report = judge.stress_report(made)
    assert isinstance(report, judge.StressReport)
    assert report.plain() == report_of(made).plain()
    assert list(report.verdict) == report.plain()["verdict"]
    rows = report.figures
    (row,) = rows[(rows["name"] == "denied") & (rows["figure"] == "found")].to_dict("records")
    found = next(one for one in report.plain()["detection"] if one["class"] == "denied")["found"]
    assert (row["k"], row["n"], row["value"]) == (found["k"], found["n"], found["rate"])
    with pytest.raises(judge.JudgeError):
        judge.stress_report("nowhere")

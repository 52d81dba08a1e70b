"""The commands as a user meets them."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from support import EXAMPLES, Invoke, write_json

from judge import rubrics

PREDS, REFS = EXAMPLES / "preds.json", EXAMPLES / "refs.json"


def test_help_lists_every_rubric_and_command(invoke: Invoke) -> None:
    text = invoke("--help").stdout
    for name in (*rubrics.names(), "audit", "cache", "prompts", "rates", "rescore"):
        assert re.search(rf"^  {name} ", text, re.MULTILINE)


@pytest.mark.parametrize(
    "command", [*rubrics.names(), "audit", "rates", "rescore", "prompts list", "cache prune"]
)
def test_every_command_and_option_has_help(invoke: Invoke, command: str) -> None:
    text = invoke(*command.split(), "--help").stdout
    for option in re.findall(r"^  (--\S+)(.*(?:\n   .*)*)", text, re.MULTILINE):
        assert len(" ".join(option[1].split())) > 15, option


def test_the_table_shows_everything(invoke: Invoke) -> None:
    done = invoke("green", PREDS, REFS)
    assert done.exit_code == 0
    for needed in (
        r"rubric +GREEN",
        r"judge +lexicon \(the built-in rule-based baseline",
        r"section +findings",
        r"studies +15",
        r"scored +15",
        r"unparsed +0",
        r"failed +0",
        r"\(a\) false finding",
        r"\(f\) omitted comparison",
        r"normal .* \d/5 ",
        r"abnormal .* \d+/10 ",
        r"signature  green:2\|judge:lexicon",
    ):
        assert re.search(needed, done.stdout), needed
    assert "No --judge given: using lexicon" in done.stderr
    folder = Path(re.search(r"run folder  (\S+)", done.stderr)[1])
    assert (folder / "manifest.json").is_file()


def test_a_named_judge_is_not_announced(invoke: Invoke) -> None:
    assert "No --judge" not in invoke("green", PREDS, REFS, "--judge", "lexicon").stderr


def test_json_has_the_promised_names(invoke: Invoke) -> None:
    data = json.loads(invoke("green", PREDS, REFS, "--format", "json").stdout)
    assert data["signature"].startswith("green:2|")
    assert [data[f"n_{k}"] for k in ("studies", "scored", "unparsed", "failed")] == [15, 15, 0, 0]
    assert set(data["statistics"]["green"]) == {"n", "value", "low", "high", "n_undefined"}
    assert set(data["statistics"]) == {"green", "errors", "no_significant_error"}
    normal = next(row for row in data["rates"] if row["study_class"] == "normal")
    assert normal["n_scored"] == 5
    rate = normal["statistics"]["no_significant_error"]
    assert set(rate) == {"k", "n", "value", "low", "high", "n_undefined"}
    assert "actionable" not in json.dumps(data), "what GREEN does not declare is nowhere"


def test_csv_has_a_row_a_group_and_one_for_all(invoke: Invoke) -> None:
    text = invoke("green", PREDS, REFS, "--format", "csv", "--by", "site,study_class").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["row"], row["site"], row["study_class"]) for row in rows] == [
        ("group", "harbour", "abnormal"),
        ("group", "harbour", "normal"),
        ("group", "riverside", "abnormal"),
        ("group", "riverside", "normal"),
        ("all", "", ""),
    ]
    assert sum(int(row["n_studies"]) for row in rows[:-1]) == int(rows[-1]["n_studies"]) == 15
    assert all(row["signature"].startswith("green:2|") for row in rows)


def test_markdown_tables_are_whole(invoke: Invoke) -> None:
    text = invoke("green", PREDS, REFS, "--format", "md").stdout
    tables = [block for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) == 3
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1
    assert "Signature: `green:2|" in text


def test_examples_hold_each_category_the_perfect_and_the_hopeless(example_run: Path) -> None:
    table = pd.read_parquet(example_run / "studies.parquet").set_index("study_id")
    for letter in "abcdef":
        assert table[[f"significant_{letter}", f"insignificant_{letter}"]].to_numpy().sum() >= 1, (
            letter
        )
    assert table.loc["ex-001", "green"] == 1
    assert table.loc["ex-002", "n_significant"] == 0
    assert table.loc["ex-015", "green"] == 0
    assert set(table["site"]) == {"harbour", "riverside"}
    # One study, one error, of the kind that examples/README.md tells of.
    for study_id, letter in {
        "ex-003": "a", "ex-006": "b", "ex-007": "b", "ex-008": "c", "ex-009": "c",
        "ex-010": "d", "ex-011": "d", "ex-012": "e", "ex-013": "f",
    }.items():  # fmt: skip
        row = table.loc[study_id]
        assert row["n_significant"] + row["n_insignificant"] == 1, study_id
        assert row[f"significant_{letter}"] + row[f"insignificant_{letter}"] == 1, study_id


def test_rates_again_are_the_rates(invoke: Invoke, example_run: Path) -> None:
    first = json.loads((example_run / "summary.json").read_text("utf-8"))
    again = json.loads(invoke("rates", example_run, "--format", "json").stdout)
    assert again == first
    by_site = invoke("rates", example_run, "--by", "site", "--by", "study_class").stdout
    assert re.search(r"harbour +normal +2 ", by_site)


def test_audit_shows_one_study(invoke: Invoke, example_run: Path) -> None:
    text = invoke("audit", example_run, "ex-008").stdout
    for needed in ("Moderate left pleural", "Moderate right pleural", "wrong location"):
        assert needed in text
    assert "Raw answer" not in text
    raw = invoke("audit", example_run, "ex-008", "--raw").stdout
    assert "[Clinically Significant Errors]:" in raw


def test_audit_lists_the_worst_first(invoke: Invoke, example_run: Path) -> None:
    text = invoke("audit", example_run, "--worst", "3").stdout
    ids = re.findall(r"ex-\d+", text)
    assert len(ids) == 3
    assert ids[0] == "ex-015"
    alone = invoke("audit", example_run)
    assert len(re.findall(r"ex-\d+", alone.stdout)) == 10
    assert f"judge audit {example_run} STUDY_ID" in alone.stderr


@pytest.mark.parametrize("args", [["nope"], ["ex-001", "--worst", "2"], ["--worst", "0"]])
def test_audit_bad_calls(invoke: Invoke, example_run: Path, args: list[str]) -> None:
    done = invoke("audit", example_run, *args)
    assert done.exit_code == 2
    assert done.stderr
    assert "Traceback" not in done.output


def test_audit_makes_control_characters_visible(invoke: Invoke, tmp_path: Path) -> None:
    nasty = "Heart normal. The lungs are clear. \x1b[31m[bold]red[/bold] \x07\u202eabc"
    preds = write_json(tmp_path / "p.json", {"1": nasty})
    refs = write_json(tmp_path / "r.json", {"1": "Heart normal."})
    assert invoke("green", preds, refs, "--out", "run").exit_code == 0
    text = invoke("audit", "run", "1").stdout
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert "[bold]red[/bold]" in text


def test_a_study_id_is_any_text(invoke: Invoke, tmp_path: Path) -> None:
    ids = ["Müller-7", "患者", 'a "b"', "../x", "\x1b[31mred"]
    preds = write_json(tmp_path / "p.json", dict.fromkeys(ids, "Large effusion."))
    refs = write_json(tmp_path / "r.json", dict.fromkeys(ids, "Lungs are clear."))
    assert invoke("green", preds, refs, "--out", "run").exit_code == 0
    for study_id in ids[:4]:
        assert f"Study {study_id} (" in invoke("audit", "run", study_id).stdout
    assert "\x1b" not in invoke("audit", "run", "--worst", "9").stdout


def test_a_field_never_hides_a_number(invoke: Invoke, tmp_path: Path) -> None:
    names = ("statistics", "no_significant_error", "green", "n_scored")
    rows = [
        {
            "id": 1,
            "report": "Clear lungs.",
            "prediction": "Clear lungs.",
            **dict.fromkeys(names, "x"),
        }
    ]
    path = write_json(tmp_path / "rows.json", rows)
    done = invoke(
        "green", path, "--by", "field_statistics,field_no_significant_error", "--format", "json"
    )
    (group,) = json.loads(done.stdout)["rates"]
    assert group["field_statistics"] == group["field_no_significant_error"] == "x"
    assert group["statistics"]["green"]["value"] == 1
    assert group["statistics"]["no_significant_error"]["k"] == 1


def test_what_was_left_out_is_named(invoke: Invoke, tmp_path: Path) -> None:
    preds = write_json(tmp_path / "p.json", {"1": "Clear.", "2": "Clear."})
    refs = write_json(tmp_path / "r.json", {"1": "Clear.", "3": "Clear."})
    done = invoke("green", preds, refs, "--allow-missing", "--out", "run")
    assert re.search(r"left out +1 only in PREDS, 1 only in REFS", done.stdout)
    manifest = json.loads(Path("run/manifest.json").read_text("utf-8"))
    assert manifest["omitted_ids"] == {"only in PREDS": ["2"], "only in REFS": ["3"]}
    assert "left study '3' out: only in REFS" in invoke("audit", "run", "3").stderr


def test_rescore_changes_nothing_while_the_parser_is_the_same(
    invoke: Invoke, example_run: Path
) -> None:
    before = (example_run / "studies.csv").read_text("utf-8")
    done = invoke("rescore", example_run)
    assert done.exit_code == 0
    assert "0 of 15 studies read differently" in done.stderr
    assert (example_run / "studies.csv").read_text("utf-8") == before
    history = json.loads((example_run / "manifest.json").read_text("utf-8"))["rescored"]
    assert history[0]["n_changed"] == 0


def test_rescore_reads_the_raw_answers(invoke: Invoke, example_run: Path) -> None:
    path = example_run / "annotations.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    lines[0]["answer"]["text"] = "I'm sorry, but I can't help with that."
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    done = invoke("rescore", example_run, "--out", "again", "--format", "json")
    data = json.loads(done.stdout)
    assert "1 of 15 studies read differently" in done.stderr
    assert (data["n_scored"], data["n_unparsed"]) == (14, 1)
    assert pd.isna(pd.read_parquet("again/studies.parquet").loc[0, "green"])
    assert json.loads((example_run / "summary.json").read_text("utf-8"))["n_scored"] == 15


BAD = {
    "no such file": (["green", "absent.json", REFS], "absent.json"),
    "a folder": (["green", EXAMPLES, REFS], "folder"),
    "unknown section": (["green", PREDS, REFS, "--section", "history"], "findings"),
    "a slip of a judge": (["green", PREDS, REFS, "--judge", "lexcion"], "lexicon"),
    "no key": (["green", PREDS, REFS, "--judge", "gpt-4o"], "OPENAI_API_KEY"),
    "a base url for the lexicon": (
        ["green", PREDS, REFS, "--judge", "lexicon", "--base-url", "http://127.0.0.1/v1"],
        "--base-url",
    ),
    "unknown prompt": (["green", PREDS, REFS, "--prompt", "nope"], "nope"),
    "unknown class field": (["green", PREDS, REFS, "--class-field", "ward"], "ward"),
    "unknown by field": (["green", PREDS, REFS, "--by", "ward"], "ward"),
    "unknown format": (["green", PREDS, REFS, "--format", "xml"], "xml"),
    "unknown rubric": (["pink", PREDS, REFS], "pink"),
    "no run": (["rates", "nowhere"], "nowhere"),
    "not a run": (["rates", EXAMPLES], "manifest.json"),
    "lexicon file absent": (["green", PREDS, REFS, "--judge", "lexicon:no.yaml"], "no.yaml"),
    "out is a file": (["green", PREDS, REFS, "--out", PREDS], "file"),
    "out holds something else": (["green", PREDS, REFS, "--out", EXAMPLES], "no run"),
}


@pytest.mark.parametrize(("args", "says"), BAD.values(), ids=BAD)
def test_bad_input_is_one_clear_message(
    invoke: Invoke, tmp_path: Path, args: list[object], says: str
) -> None:
    done = invoke(*args)
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_out_holds_another_run(invoke: Invoke, example_run: Path) -> None:
    before = (example_run / "manifest.json").read_bytes()
    done = invoke("green", PREDS, REFS, "--section", "report", "--out", example_run)
    assert done.exit_code == 2
    assert "another run" in done.stderr
    assert (example_run / "manifest.json").read_bytes() == before


def test_the_same_run_may_be_written_again(invoke: Invoke, example_run: Path) -> None:
    before = (example_run / "studies.csv").read_bytes()
    assert invoke("green", PREDS, REFS, "--out", example_run).exit_code == 0
    assert (example_run / "studies.csv").read_bytes() == before
    assert not (example_run / ".writing").exists()


def test_class_is_inferred_and_marked_everywhere(invoke: Invoke, tmp_path: Path) -> None:
    refs = {
        k: {"section_findings": v["section_findings"]}
        for k, v in json.loads(REFS.read_text("utf-8")).items()
    }
    path = write_json(tmp_path / "refs.json", refs)
    done = invoke("green", PREDS, path, "--out", "run")
    assert "inferred by the lexicon for 15 of 15 studies" in done.stdout
    assert "study_class (inferred)" in done.stdout
    assert "class:inferred(lexicon" in done.stdout
    summary = json.loads(Path("run/summary.json").read_text("utf-8"))
    assert summary["n_class_inferred"] == 15
    assert pd.read_csv("run/studies.csv")["class_inferred"].all()
    record = json.loads(Path("run/annotations.jsonl").read_text("utf-8").splitlines()[0])
    assert record["class_inferred"] is True
    assert "inferred" in invoke("audit", "run", "ex-001").stdout
    assert "(inferred)" in invoke("rates", "run", "--format", "md").stdout


def test_prompts_are_listed_and_shown(invoke: Invoke) -> None:
    assert "green" in invoke("prompts", "list").stdout
    assert "(the candidate report)" in invoke("prompts", "show", "green").stdout


def test_prompt_has_no_effect_on_a_judge_without_one(invoke: Invoke) -> None:
    done = invoke("green", PREDS, REFS, "--judge", "lexicon", "--prompt", "green")
    assert done.exit_code == 0
    assert "no effect" in done.stderr


def test_the_id_may_have_any_name(invoke: Invoke, tmp_path: Path) -> None:
    rows = [{"image": "a", "report": "Lungs are clear.", "prediction": "Lungs are clear."}]
    path = write_json(tmp_path / "rows.json", rows)
    numbered = invoke("green", path, "--format", "json")
    assert "has no field for the id: its 1 records are numbered" in numbered.stdout
    done = invoke("green", path, "--id-field", "image", "--format", "json")
    assert json.loads(done.stdout)["n_scored"] == 1


def test_standard_input(invoke: Invoke) -> None:
    done = invoke("green", "-", REFS, "--format", "json", stdin=PREDS.read_bytes())
    assert json.loads(done.stdout)["n_scored"] == 15


@pytest.mark.parametrize("columns", ["60", "200"])
def test_a_terminal_of_any_width_gets_lines_that_fit(tmp_path: Path, columns: str) -> None:
    """A real terminal: every line of a table fits its width; none is lost when piped."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "judge", "green", str(PREDS), str(REFS)]
    env = {**os.environ, "COLUMNS": columns, "TERM": "xterm"}
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=slave, stderr=subprocess.DEVNULL, env=env
    ) as child:
        os.close(slave)
        chunks = []
        while True:
            try:
                chunk = os.read(master, 65536)
            except OSError:
                break
            if not chunk:
                break
            chunks.append(chunk)
        child.wait()
    os.close(master)
    text = re.sub(r"\x1b\[[0-9;]*m", "", b"".join(chunks).decode()).replace("\r", "")
    body = [line for line in text.splitlines() if not line.startswith("signature")]
    assert body
    assert max(map(len, body)) <= int(columns)


def test_no_colour_and_no_lost_cell_when_piped(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "judge", "green", str(PREDS), str(REFS)]
    env = {**os.environ, "COLUMNS": "40"}
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, env=env
    )
    assert "\x1b" not in done.stdout
    assert "no significant error" in done.stdout
    assert "…" not in done.stdout


def test_ctrl_c_while_reading_is_130(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "judge", "green", "-", str(REFS)]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        time.sleep(4)  # by then it waits for its standard input
        child.send_signal(signal.SIGINT)
        assert child.stderr is not None
        err = child.stderr.read()
    assert child.returncode == 130
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_closed_pipe_is_no_crash(tmp_path: Path) -> None:
    command = f"{sys.executable} -m judge green {PREDS} {REFS} --format json | head -1"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "{\n"
    assert "Traceback" not in done.stderr


def test_no_line_ends_in_blanks(invoke: Invoke, example_run: Path) -> None:
    for line in (
        ("rates", example_run),
        ("compare", example_run),
        ("audit", example_run, "ex-001"),
    ):
        printed = invoke(*line).stdout.splitlines()
        assert len(printed) > 5
        assert not [text for text in printed if text != text.rstrip()]

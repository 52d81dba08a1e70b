"""The commands as a user meets them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pandas as pd
import pytest
from answered_runs import records_of, rewrite
from support import EXAMPLES, Invoke, write_json

from judge.cli import COMMANDS, main
from judge.running.progress import Progress

PREDS, REFS = EXAMPLES / "preds.json", EXAMPLES / "refs.json"


def commands(
    command: click.Command = main, name: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command there is, with the words that call it."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for word in command.list_commands(context):
            below = command.get_command(context, word)
            assert below is not None
            yield from commands(below, (*name, word))


def test_help_names_every_command_and_every_option_under_a_heading(
    invoke: Invoke,
) -> None:
    seen = 0
    for name, command in commands():
        is_long = any(getattr(option, "hidden", False) for option in command.params)
        text = invoke(*name, "--help-all" if is_long else "--help").stdout
        assert max(map(len, text.splitlines())) <= 80, name
        for option in command.params:
            if isinstance(option, click.Option):
                seen += 1
                assert option.help, (name, option.name)
                shown = rf"^  (-\w, )?{option.opts[-1]}(?![\w-])"
                assert re.search(shown, text, re.MULTILINE), (name, option.name)
        if isinstance(command, click.Group):
            for below in command.list_commands(click.Context(command)):
                assert re.search(rf"^  {below} ", text, re.MULTILINE)
    assert seen > 60


def test_the_help_has_groups(invoke: Invoke) -> None:
    text = invoke("--help").stdout
    assert re.findall(r"^([A-Z].*):$", text, re.MULTILINE) == [
        "Options",
        *COMMANDS,
        "Examples",
    ]
    first = text.partition("Judge reports:")[2].partition("Look at")[0]
    names = re.findall(r"^  (\w+) ", first, re.MULTILINE)
    assert names[:6] == [
        "green",
        "fineradscore",
        "crimson",
        "facts",
        "counts",
        "direct",
    ]
    assert names[-1] == "check"
    usual, every = (
        invoke("green", option).stdout for option in ("--help", "--help-all")
    )
    listed = [
        re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE)
        for text in (usual, every)
    ]
    assert len(listed[0]) <= 30
    assert {*listed[0]} - {"--help-all"} < {*listed[1]}
    assert "--reask" in listed[1]
    headings = re.findall(r"^([A-Z]\w+):$", usual, re.MULTILINE)
    assert headings == ["Reports", "Judge", "Run", "Output", "Help", "Examples"]


def test_old_option_names_work_and_name_the_new_ones(
    invoke: Invoke, tmp_path: Path
) -> None:
    records = [{"key": "a", "said": "Clear lungs.", "class": "normal", "who": "p"}]
    both = write_json(tmp_path / "both.json", records)
    fields = (
        "--id-field",
        "key",
        "--candidate-field",
        "said",
        "--reference-field=said",
    )
    old = invoke("green", both, *fields, "--patient-field", "who", "--out", "old")
    assert old.exit_code == 2  # both reports in one field
    refs = write_json(tmp_path / "refs.json", [{"key": "a", "true": "Effusion."}])
    fields = (
        "--id-field",
        "key",
        "--candidate-field",
        "said",
        "--reference-field=true",
    )
    old = invoke("green", both, refs, *fields, "--out", "old")
    assert old.exit_code == 0, old.stderr
    for line in ("write --column id=key", "write --column reference=true"):
        assert line in old.stderr
    columns = ("id=key", "candidate=said", "reference=true")
    named = [word for column in columns for word in ("--column", column)]
    new = invoke("green", both, refs, *named, "--out", "new")
    assert "write" not in new.stderr
    assert old.stdout == new.stdout
    assert (
        json.loads(Path("old/manifest.json").read_text())["settings"]["columns"]["id"]
        == "key"
    )
    asked = ("--judge", "gpt-4o", "--dry-run")
    old = invoke("green", PREDS, REFS, *asked, "--seed", "3")
    assert "write --body seed=3" in old.stderr
    assert old.stdout == invoke("green", PREDS, REFS, *asked, "--body", "seed=3").stdout
    assert "needs a value" in invoke("green", PREDS, REFS, "--seed").stderr
    assert "No such option" in invoke("rates", "run", "--id-field", "x").stderr


def test_an_option_that_takes_one_value_is_refused_when_it_is_given_twice(
    invoke: Invoke,
) -> None:
    tried = 0
    for name, command in commands():
        for option in command.params:
            is_option = isinstance(option, click.Option)
            if (
                not is_option
                or option.multiple
                or option.is_flag
                or option.expose_value is False
            ):
                continue
            tried += 1
            word = max(option.opts, key=len)
            result = invoke(*name, word, "1", f"{word}=2")
            assert result.exit_code == 2, (name, word)
            assert f"{word} takes one value and was given twice" in result.stderr
    assert tried > 100


def test_a_flag_may_be_given_twice(invoke: Invoke) -> None:
    result = invoke(
        "check", str(PREDS), str(REFS), "--allow-missing", "--allow-missing"
    )
    assert result.exit_code == 0


def test_the_file_of_a_prompt_starts_another(invoke: Invoke, tmp_path: Path) -> None:
    shown = invoke("prompts", "show", "green", "--file")
    (tmp_path / "mine.yaml").write_text(shown.stdout, "utf-8")
    mine = invoke("prompts", "show", str(tmp_path / "mine.yaml"))
    assert mine.stdout == invoke("prompts", "show", "green").stdout
    refused = invoke("prompts", "show", "green-official", "--file")
    assert refused.exit_code == 2
    assert "green-official has no file to start from" in refused.stderr


def test_settings_of_servers_are_given_by_key(invoke: Invoke) -> None:
    for judge, setting, says in (
        ("lexicon", "replicas=2", "takes no setting 'replicas'"),
        ("gpt-4o", "enforce-eager", "takes no setting"),
    ):
        done = invoke(
            "green", PREDS, REFS, "--dry-run", "--judge", judge, "--server", setting
        )
        assert (done.exit_code, done.stdout) == (2, "")
        assert says in " ".join(done.stderr.split()), judge


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("green", PREDS, REFS, "--batch-size", "3"), "--batch-size goes with --batch"),
        (("green", PREDS, REFS, "--column", "name=x"), "ROLE=NAME"),
        (("green", PREDS, REFS, "--column", "id=x", "--column", "id=y"), "given twice"),
        (
            ("green", PREDS, REFS, "--body", "seed=x1y", "--body", "top_p=0,5"),
            "KEY=JSON",
        ),
        (("compare", "a", "b", "--no-tests", "--flips", "200"), "--tests"),
        (("errors", "a", "--common"), "two runs"),
        (("rates", "a", "--drawn-at-random"), "--readers"),
        (("audit", "a", "--raw"), "STUDY_ID"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    invoke: Invoke, words: tuple[object, ...], says: str
) -> None:
    done = invoke(*words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr


def test_a_run_is_printed_in_each_form(invoke: Invoke) -> None:
    done = invoke("green", PREDS, REFS, "--model", "maira2")
    assert done.exit_code == 0
    for needed in (
        r"model +maira2",
        r"judge +lexicon \(the built-in",
        r"studies +15",
        r"scored +15",
    ):
        assert re.search(needed, done.stdout), needed
    assert (
        "candidate from model_prediction; reference from section_findings"
        in done.stderr
    )
    assert "No --judge given: using lexicon" in done.stderr
    (folder,) = Path("judge-runs").iterdir()
    assert folder.name.startswith("maira2-green-lexicon-")
    assert f"run folder  {folder}" in done.stderr
    data = json.loads(invoke("rates", folder, "--format", "json").stdout)
    assert data == json.loads((folder / "summary.json").read_text("utf-8"))
    by = ("--by", "site,study_class")
    rows = list(
        csv.DictReader(
            io.StringIO(invoke("rates", folder, *by, "--format", "csv").stdout)
        )
    )
    assert [(row["row"], row["site"], row["study_class"]) for row in rows] == [
        ("group", "harbour", "abnormal"),
        ("group", "harbour", "normal"),
        ("group", "riverside", "abnormal"),
        ("group", "riverside", "normal"),
        ("all", "", ""),
    ]
    assert (
        sum(int(row["n_studies"]) for row in rows[:-1])
        == int(rows[-1]["n_studies"])
        == 15
    )
    by = ("--by", "site", "--by", "study_class")
    rows = list(
        csv.DictReader(
            io.StringIO(invoke("rates", folder, *by, "--format", "csv").stdout)
        )
    )
    assert [(row["row"], row["site"], row["study_class"]) for row in rows] == [
        ("site", "harbour", ""),
        ("site", "riverside", ""),
        ("study_class", "", "abnormal"),
        ("study_class", "", "normal"),
        ("all", "", ""),
    ]
    printed = invoke("rates", folder, *by, "--format", "md").stdout
    assert (printed.count("| site |"), printed.count("| study_class |")) == (1, 1), (
        printed
    )
    markdown = invoke("rates", folder, "--format", "md").stdout
    tables = [block for block in markdown.split("\n\n") if block.startswith("|")]
    assert len(tables) == 3
    for table in tables:
        assert (
            len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()})
            == 1
        )


def test_check_says_what_would_be_judged(invoke: Invoke) -> None:
    done = invoke("check", PREDS, REFS)
    for line in (
        r"candidate from +model_prediction",
        r"reference from +section_findings, section_impression, report",
        r"study class +abnormal 10, normal 5",
        r"study ex-003\s+reference +Heart",
    ):
        assert re.search(line, done.stdout), line
    data = json.loads(invoke("check", PREDS, REFS, "--format", "json").stdout)
    assert data["n_studies"] == 15
    assert data["study_classes"] == {"abnormal": 10, "normal": 5}
    assert [study["study_id"] for study in data["first"]] == [
        "ex-001",
        "ex-002",
        "ex-003",
    ]


def test_a_dry_run_needs_no_key_and_a_run_does(invoke: Invoke) -> None:
    done = invoke("green", PREDS, REFS, "--judge", "gpt-4o", "--dry-run")
    assert done.exit_code == 0
    assert re.search(r"worst +30 requests, 61,440 tokens out, \$\d\.\d\d", done.stdout)


def test_a_limit_is_the_same_draw_each_time(invoke: Invoke) -> None:
    for out in ("first", "again"):
        done = invoke("green", PREDS, REFS, "--limit", "5", "--out", out)
        assert done.exit_code == 0, done.stderr
    first, again = (pd.read_csv(f"{out}/studies.csv") for out in ("first", "again"))
    assert len(first) == 5
    assert (
        list(first["study_id"]) == list(again["study_id"]) == sorted(first["study_id"])
    )
    summary = json.loads(Path("first/summary.json").read_text("utf-8"))
    assert any("5 of 15 studies" in note for note in summary["notes"])


def test_runs_are_listed(invoke: Invoke, example_run: Path) -> None:
    other = example_run.parent / "other"
    assert (
        invoke(
            "fineradscore", PREDS, REFS, "--model", "m" * 80, "--out", other
        ).exit_code
        == 0
    )
    listed = json.loads(invoke("runs", example_run.parent, "--format", "json").stdout)
    rows = {row["run"]: row for row in listed}
    first, second = rows[str(example_run)], rows[str(other)]
    assert (first["rubric"], first["scored"], first["model"]) == ("green", 15, "preds")
    assert (second["rubric"], second["scored"], second["model"]) == (
        "fineradscore",
        15,
        "m" * 80,
    )
    assert first["figures"]["green"].keys() >= {"value", "low", "high", "n"}
    assert json.loads(invoke("runs", example_run, "--format", "json").stdout) == [first]
    above = json.loads(
        invoke("runs", example_run.parent.parent, "--format", "json").stdout
    )
    assert rows.keys() <= {row["run"] for row in above}
    assert "preds" in invoke("runs", example_run).stdout
    (other / "manifest.json").write_text("{", "utf-8")
    assert str(other) in invoke("runs", example_run.parent).stderr
    for command in (("audit",), ("runs", "rescore")):
        done = invoke(*command, example_run.parent)
        assert done.exit_code == 2
        assert f"{example_run.parent} is not a run" in done.stderr


def test_audit_shows_one_study_or_the_worst(
    invoke: Invoke, judged_examples: Path
) -> None:
    text = invoke("audit", judged_examples, "ex-008").stdout
    for needed in ("Moderate left pleural", "Moderate right pleural", "wrong location"):
        assert needed in text
    raw = invoke("audit", judged_examples, "ex-008", "--raw").stdout
    assert "[Clinically Significant Errors]:" in raw
    ids = re.findall(r"ex-\d+", invoke("audit", judged_examples, "--rows", "3").stdout)
    assert len(ids) == 3
    assert ids[0] == "ex-015"
    for odd in (["nope"], ["ex-001", "--rows", "2"], ["--rows", "0"]):
        done = invoke("audit", judged_examples, *odd)
        assert (done.exit_code, done.stdout) == (2, "")


def test_nothing_of_the_input_steers_the_terminal(
    invoke: Invoke, tmp_path: Path
) -> None:
    nasty = "Heart normal. The lungs are clear. \x1b[31m[bold]red[/bold] \x07\u202eabc"
    ids = ["Müller-7", "患者", 'a "b"', "../x", "\x1b[31mred"]
    preds = write_json(tmp_path / "p.json", dict.fromkeys(ids, nasty))
    refs = write_json(tmp_path / "r.json", dict.fromkeys(ids, "Heart normal."))
    assert invoke("green", preds, refs, "--out", "run").exit_code == 0
    for study_id in ids:
        text = invoke("audit", "run", study_id).stdout
        assert "[bold]red[/bold]" in text
        assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert "\x1b" not in invoke("audit", "run", "--rows", "9").stdout
    waiting = Progress(2, trouble="busy \x1b[31m" + "x" * 500).line(1.0)
    assert "\x1b" not in waiting
    assert len(waiting) < 200


BAD = {
    "no such file": (["green", "absent.json", REFS], "absent.json"),
    "unknown section": (["green", PREDS, REFS, "--section", "history"], "findings"),
    "a slip of a judge": (["green", PREDS, REFS, "--judge", "lexcion"], "lexicon"),
    "no key": (["green", PREDS, REFS, "--judge", "gpt-4o"], "OPENAI_API_KEY"),
    "prompt of the lexicon": (["green", PREDS, REFS, "--prompt", "nope"], "--prompt"),
    "unknown by field": (["green", PREDS, REFS, "--by", "ward"], "ward"),
    "no run": (["rates", "nowhere"], "nowhere"),
    "not a run": (["rates", EXAMPLES], "manifest.json"),
    "lexicon file absent": (
        ["green", PREDS, REFS, "--judge", "lexicon:no.yaml"],
        "no.yaml",
    ),
    "out is a file": (["green", PREDS, REFS, "--out", PREDS], "--out"),
    "out holds something else": (["green", PREDS, REFS, "--out", EXAMPLES], "--out"),
    "two ways of context": (
        ["green", PREDS, REFS, "--no-context", "--context-field", "age"],
        "--no-context",
    ),
}


@pytest.mark.parametrize(("args", "says"), BAD.values(), ids=BAD)
def test_bad_input_is_one_message_and_leaves_nothing(
    invoke: Invoke, tmp_path: Path, args: list[object], says: str
) -> None:
    done = invoke(*args)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_taken_by_one_run(invoke: Invoke, example_run: Path) -> None:
    before = {path.name: path.read_bytes() for path in example_run.iterdir()}
    done = invoke("green", PREDS, REFS, "--section", "report", "--out", example_run)
    assert done.exit_code == 2
    assert "--out" in done.stderr
    assert {path.name: path.read_bytes() for path in example_run.iterdir()} == before
    assert invoke("green", PREDS, REFS, "--out", example_run).exit_code == 0
    assert (example_run / "studies.csv").read_bytes() == before["studies.csv"]


def test_a_class_is_inferred_and_marked_everywhere(
    invoke: Invoke, tmp_path: Path
) -> None:
    whole = json.loads(REFS.read_text("utf-8"))
    refs = {
        one: {"section_findings": of["section_findings"]} for one, of in whole.items()
    }
    done = invoke(
        "green", PREDS, write_json(tmp_path / "refs.json", refs), "--out", "run"
    )
    assert "study_class (inferred)" in done.stdout
    assert "class:inferred(lexicon" in done.stdout
    assert (
        json.loads(Path("run/summary.json").read_text("utf-8"))["n_class_inferred"]
        == 15
    )
    assert pd.read_csv("run/studies.csv")["class_inferred"].all()
    assert "inferred" in invoke("audit", "run", "ex-001").stdout


def test_piped_output_has_no_colour_and_loses_no_cell(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "judge", "green", str(PREDS), str(REFS)]
    env = {**os.environ, "COLUMNS": "40"}
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, env=env
    )
    assert "\x1b" not in done.stdout
    assert "no significant error" in done.stdout
    assert "…" not in done.stdout
    assert not [line for line in done.stdout.splitlines() if line != line.rstrip()]


def closed_early(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    """What becomes of `judge` where nobody reads its standard output."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "judge", *map(str, arguments)]
        return subprocess.run(
            command, stdout=writing, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(writing)


def test_a_pipe_that_was_closed_early_costs_no_run(invoke: Invoke) -> None:
    done = closed_early("green", PREDS, REFS, "--out", "run")
    assert (done.returncode, done.stderr.decode().splitlines()[-1]) == (
        141,
        "run folder  run",
    )
    assert invoke("rates", "run").exit_code == 0
    done = closed_early("audit", "run", "ex-008")
    assert (done.returncode, done.stderr) == (141, b"")


def test_ctrl_c_is_130_and_leaves_nothing(tmp_path: Path) -> None:
    """numpy is imported when the judging is done, before the run is written."""
    (tmp_path / "numpy.py").write_text("raise KeyboardInterrupt\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "judge", "green", str(PREDS), str(REFS), "--out", "run"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_the_examples_are_copied_and_nothing_is_written_over(invoke: Invoke) -> None:
    done = invoke("examples")
    assert (done.exit_code, done.stdout) == (0, "")
    for path in EXAMPLES.rglob("*.json*"):
        assert (
            Path("examples") / path.relative_to(EXAMPLES)
        ).read_bytes() == path.read_bytes()
    Path("file").write_text("")
    for line in (("examples",), ("examples", "--out", "file/in/it")):
        done = invoke(*line)
        assert done.exit_code == 2
        assert line[-1] in done.stderr


def test_rescore_reads_the_raw_answers(invoke: Invoke, example_run: Path) -> None:
    records = records_of(example_run)
    records[0]["answer"]["text"] = "I'm sorry, but I can't help with that."
    rewrite(example_run, records)
    done = invoke("runs", "rescore", example_run, "--out", "again", "--format", "json")
    data = json.loads(done.stdout)
    assert "1 of 15 studies read differently" in done.stderr
    assert (data["n_scored"], data["n_unparsed"]) == (14, 1)
    assert pd.isna(pd.read_parquet("again/studies.parquet").loc[0, "green"])
    assert (
        json.loads((example_run / "summary.json").read_text("utf-8"))["n_scored"] == 15
    )


def test_metrics_have_a_table_for_each_field(invoke: Invoke) -> None:
    done = invoke("metrics", PREDS, REFS, "--by", "site", "--by", "site,study_class")
    assert done.exit_code == 0, done.stderr
    first, second = done.stdout.split("Metrics of preds")[1:]
    assert "site harbour" in first
    assert "abnormal" not in first
    assert "abnormal" in second
    assert (
        "no field 'ward'" in invoke("metrics", PREDS, REFS, "--by", "site,ward").stderr
    )

"""The command line in a user's first hour: checking, estimating, naming models, finding help."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from support import EXAMPLES, Invoke

from judge.cli import main, progress
from judge.running.progress import Progress

PREDS, REFS = EXAMPLES / "preds.json", EXAMPLES / "refs.json"


def test_a_dry_run_needs_no_key(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = invoke("green", PREDS, REFS, "--judge", "gpt-4o", "--dry-run")
    assert done.exit_code == 0
    assert re.search(
        r"worst +30 requests, 61,440 tokens out, \$0\.\d\d, minutes unknown\n", done.stdout
    )
    assert re.search("typical +unknown until some answers are there: --sample 50\n", done.stdout)
    assert "needs a key" in invoke("green", PREDS, REFS, "--judge", "gpt-4o").stderr


def test_check_says_what_would_be_judged(invoke: Invoke) -> None:
    done = invoke("check", PREDS, REFS)
    for line in (
        r"candidate from +model_prediction",
        r"reference from +section_findings, section_impression, report",
        r"studies +15\n",
        r"study class +abnormal 10, normal 5",
        r"study ex-003\nreference  Heart",
    ):
        assert re.search(line, done.stdout), line
    assert "ex-004" not in done.stdout
    data = json.loads(invoke("check", PREDS, REFS, "--format", "json").stdout)
    assert data["study_classes"] == {"abnormal": 10, "normal": 5}
    assert [study["study_id"] for study in data["first"]] == ["ex-001", "ex-002", "ex-003"]


def test_the_model_stands_in_folder_title_and_lists(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke("green", PREDS, REFS, "--model", "maira2", "--format", "md")
    assert "maira2: GREEN by lexicon" in done.stdout
    (folder,) = (tmp_path / "judge-runs").iterdir()
    assert folder.name.startswith("maira2-green-lexicon-")
    assert json.loads((folder / "summary.json").read_text())["model"] == "maira2"
    listed = invoke("runs")
    assert re.search(r"maira2 +lexicon +15 +15 ", listed.stdout)
    assert "just now" in listed.stdout
    (run,) = json.loads(invoke("runs", folder, "--format", "json").stdout)
    assert (run["model"], run["rubric"], run["judge"]) == ("maira2", "green", "lexicon")
    (folder / "manifest.json").write_text("{", "utf-8")
    damaged = invoke("runs")
    assert damaged.stdout == ""
    assert str(Path("judge-runs", folder.name)) in damaged.stderr
    assert "no such folder: nope" in invoke("runs", "nope").stderr
    for name, said in (("a/b", "write 'a-b'"), ("..", "is no name of a model"), ("", "is no name")):
        refused = invoke("green", PREDS, REFS, "--model", name)
        assert refused.exit_code == 2
        assert said in refused.stderr


@pytest.mark.parametrize("rubric", ["green", "fineradscore"])
def test_a_run_says_which_fields_it_read(invoke: Invoke, tmp_path: Path, rubric: str) -> None:
    records = [
        {"id": "1", "prediction": "Clear lungs.", "response": "Opacity.", "gt": "Clear.", "mrn": 7}
    ]
    both = tmp_path / "both.json"
    both.write_text(json.dumps(records), "utf-8")
    done = invoke(rubric, both, "--patient-field", "mrn", "--out", tmp_path / "run")
    assert done.exit_code == 0
    assert "candidate from prediction; reference from gt\n" in done.stderr
    assert "response could be meant too, and differs" in " ".join(done.stdout.split())
    manifest = json.loads((tmp_path / "run/manifest.json").read_text("utf-8"))
    read_from = {"id": "id", "reference": "gt", "candidate": "prediction", "patient": "mrn"}
    assert manifest["read_from"] == read_from
    assert re.search(r"^patient from +mrn$", invoke("check", both, "--patient-field", "mrn").stdout,
                     re.MULTILINE)  # fmt: skip
    del manifest["read_from"]  # as in runs made before
    (tmp_path / "run/manifest.json").write_text(json.dumps(manifest), "utf-8")
    assert invoke("audit", tmp_path / "run").exit_code == 0


def test_one_name_of_a_model_in_every_place(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke("green", PREDS, REFS).exit_code == 0
    (folder,) = (tmp_path / "judge-runs").iterdir()
    assert folder.name.startswith("preds-green-lexicon-")
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    assert manifest["model"] == "preds"
    for kept in (manifest, {**manifest, "model": None}):  # that of a run made before has none
        path.write_text(json.dumps(kept), "utf-8")
        (run,) = json.loads(invoke("runs", "--format", "json").stdout)
        assert run["model"] == "preds"
        compared = invoke("compare", folder, f"other={folder}", "--format", "json")
        assert '"preds"' in compared.stdout, compared.stderr


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


@pytest.mark.parametrize("name", ["green", "compare", "serve", "check", "metrics"])
def test_help_has_groups(invoke: Invoke, name: str) -> None:
    found = re.findall(r"^([A-Z]\w+):$", invoke(name, "--help").stdout, re.MULTILINE)
    assert (
        found
        == {
            "green": [
                *("Files", "Context", "Judge", "Sampling"),
                *("Running", "Batch", "Output", "Other"),
            ],
            "compare": ["Studies", "Metrics", "Readers", "Tests", "Output", "Other"],
            "serve": ["Address", "Runs", "Limits", "Other"],
            "check": ["Files", "Output", "Other"],
            "metrics": ["Files", "Metrics", "Output", "Other"],
        }[name]
    )


@pytest.mark.parametrize("name", ["green", "check"])
def test_help_names_forms_and_fields(invoke: Invoke, name: str) -> None:
    text = " ".join(invoke(name, "--help").stdout.split())
    assert "a usual name" not in text
    for usual in ("model_prediction, prediction", "subject_id", "accession_number", "is_abnormal"):
        assert usual in text
    if name == "green":
        for form in ("objects or of texts", "text file (.txt)", "folder of Hugging Face datasets"):
            assert form in text


@pytest.mark.parametrize("width", [80, 60])
def test_help_is_whole(width: int) -> None:
    seen = 0
    for name, command in commands():
        text = CliRunner().invoke(main, [*name, "--help"], terminal_width=width).stdout
        assert max(map(len, text.splitlines())) <= width or name == ("completion",)
        records = re.split(r"^[A-Z]\w+:$", text, maxsplit=1, flags=re.MULTILINE)[1]
        assert not any(line.endswith("...") for line in text.partition("Commands:")[2].splitlines())
        options = [o for o in command.params if isinstance(o, click.Option)]
        for option in options:
            seen += 1
            assert option.help, (name, option.name)
            shown = rf"^  (-\w, )?{option.opts[-1]}(?![\w-])"
            assert len(re.findall(shown, records, re.MULTILINE)) == 1, (name, option.name)
        if len(options) > 6:
            assert "\nOptions:\n" not in text, name
            assert re.search(r"\nOther:\n  -h, --help[^\n]*\n( {10,}[^\n]*\n)*$", text), name
    assert seen > 60


def test_a_command_that_is_misspelled_is_guessed(invoke: Invoke) -> None:
    done = invoke("gren", "preds.json")
    assert done.exit_code == 2
    assert done.stderr.endswith("Error: No such command 'gren'. Did you mean green?\n")
    assert "mean" not in invoke("xyz").stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(invoke: Invoke, shell: str) -> None:
    assert f"_JUDGE_COMPLETE={shell}_complete" in invoke("completion", shell).stdout


def test_a_server_s_words_do_not_steer_the_terminal() -> None:
    text = progress.line(Progress(2, trouble="busy \x1b[31m" + "x" * 500), 1.0)
    assert "waiting: busy" in text
    assert "\x1b" not in text
    assert len(text) < 200


@pytest.mark.parametrize("other", [["--out", "x"], ["--dry-run"]])
def test_a_sample_writes_no_run(invoke: Invoke, other: list[str]) -> None:
    done = invoke("green", PREDS, REFS, "--sample", "3", *other)
    assert done.exit_code == 2
    assert "--sample writes no run" in done.stderr

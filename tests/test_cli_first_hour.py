"""The command line in a user's first hour: checking, estimating, naming models, finding help."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support import EXAMPLES, Invoke

from judge.cli import progress
from judge.running.progress import Progress

PREDS, REFS = EXAMPLES / "preds.json", EXAMPLES / "refs.json"


def test_a_dry_run_needs_no_key(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = invoke("green", PREDS, REFS, "--judge", "gpt-4o", "--dry-run")
    assert done.exit_code == 0
    assert re.search(r"longest answers 30,720 tokens out, \$0\.\d\d\n", done.stdout)
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


def test_help_has_groups_and_whole_summaries(invoke: Invoke) -> None:
    text = invoke("green", "--help").stdout
    assert [line[:-1] for line in text.splitlines() if re.fullmatch(r"[A-Z]\w+:", line)] == [
        *("Files", "Judge", "Sampling", "Running", "Output", "Other")
    ]
    assert "..." not in invoke("--help").stdout.partition("Commands:")[2]


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

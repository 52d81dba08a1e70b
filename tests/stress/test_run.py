"""`judge stress REFS`: candidates, a run for each prompt and repeat, and going on."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultserver import Behaviour, Fault, FaultServer
from support import EXAMPLES, Invoke

from judge.running.cost import Budget
from judge.running.folder import Run

REFS = EXAMPLES / "refs.json"
FEW = ("--changes", "identical,reordered,denied,instruction", "-n", "4")
PROMPTS = ("--prompt", "green", "--prompt", "green-structured")


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(Behaviour()) as running:
        yield running


def asked_of(server: FaultServer, *more: object) -> tuple[object, ...]:
    return (*FEW, "--judge", "model-x", "--base-url", server.url, "--cache", "cache", *more)


def runs_in(folder: Path) -> list[Run]:
    return [Run(path) for path in sorted((folder / "runs").iterdir())]


def truth_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "truth.jsonl").read_text("utf-8").splitlines()]


def questions_of(folder: Path) -> set[tuple[str, str]]:
    """Of each run a question whose texts are the same is asked once: identical and errors_0."""
    return {(one["before"], one["after"]) for one in truth_of(folder)}


def test_the_built_in_judge_is_run_once_and_found_again(invoke: Invoke, tmp_path: Path) -> None:
    words = ("stress", REFS, "--out", "made", *FEW, "--repeats", "3")
    assert invoke("stress", "make", REFS, "--out", "made", *FEW).exit_code == 0
    done = invoke(*words)
    assert done.exit_code == 0, done.stderr
    made = tmp_path / "made"
    (run,) = runs_in(made)
    assert run.summary()["n_scored"] == len(truth_of(made)) > 10
    assert run.summary()["by"] == ["change"]
    assert {"study", "change", "group", "patient"} <= {*run.manifest["fields"]}
    before = {path: path.stat().st_mtime_ns for path in made.iterdir() if path.is_file()}
    again = invoke(*words)
    assert (again.exit_code, again.stdout) == (0, done.stdout)
    assert before == {path: path.stat().st_mtime_ns for path in made.iterdir() if path.is_file()}
    assert len(runs_in(made)) == 1


def test_each_prompt_and_repeat_asks_for_itself_and_goes_on_without_a_question(
    invoke: Invoke, server: FaultServer, tmp_path: Path
) -> None:
    made = tmp_path / "made"
    words = ("stress", REFS, "--out", "made", *asked_of(server, "--repeats", "3", *PROMPTS))
    dry = invoke(*words, "--dry-run")
    assert dry.exit_code == 0, dry.stderr
    assert (made.exists(), server.stats().requests) == (False, 0)
    done = invoke(*words)
    assert done.exit_code == 0, done.stderr
    runs = runs_in(made)
    assert {(one.manifest["prompt"], one.repeat) for one in runs} == {
        (name, k) for name in ("green", "green-structured") for k in range(3)
    }
    assert len({one.signature for one in runs}) == len(runs) == 6
    assert {one.summary()["n_scored"] for one in runs} == {len(truth_of(made))}
    n = 6 * len(questions_of(made))
    assert server.stats().requests == n
    assert int(re.search(r"requests +(\d+) \(0 cached", dry.stdout)[1]) == n
    again = invoke(*words)
    assert (again.exit_code, again.stdout) == (0, done.stdout)
    assert re.search(rf"requests +0 \({n} cached", invoke(*words, "--dry-run").stdout)
    assert server.stats().requests == n
    more = invoke("stress", REFS, "--out", "made", *asked_of(server, "--temperature", "1"))
    assert more.exit_code == 0, more.stderr
    assert invoke("stress", REFS, "--out", "made", *FEW).exit_code == 0
    assert len(runs_in(made)) == 8


def test_kill_9_and_the_same_command_asks_only_what_is_missing(
    server: FaultServer, tmp_path: Path
) -> None:
    options = ("--out", "made", *asked_of(server, "--repeats", "2", "--concurrency", "2"))
    command = [sys.executable, "-m", "judge", "stress", str(REFS), *map(str, options)]
    environ = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI")}
    server.set_faults(latency=0.05)
    with subprocess.Popen(command, cwd=tmp_path, env=environ, stderr=subprocess.DEVNULL) as process:
        server.wait_for(lambda stats: stats.answered >= 20)
        process.kill()
    server.wait_for(lambda stats: stats.in_flight == 0)
    before = server.stats().requests
    server.set_faults(latency=0.0)
    subprocess.run(command, cwd=tmp_path, env=environ, check=True, capture_output=True)
    n = 2 * len(questions_of(tmp_path / "made"))
    assert before < server.stats().requests
    assert n <= server.stats().requests <= n + 2  # the two in flight were not kept
    assert len(runs_in(tmp_path / "made")) == 2


def test_answers_that_cannot_be_read(invoke: Invoke, server: FaultServer) -> None:
    server.set_faults(rates={Fault.MALFORMED: 0.5})
    done = invoke("stress", REFS, "--out", "made", *asked_of(server))
    assert done.exit_code == 3
    assert done.stdout  # the report, with fewer candidates
    assert "--min-coverage" in done.stderr


def test_one_budget_is_for_all_runs(invoke: Invoke, server: FaultServer) -> None:
    done = invoke("stress", REFS, "--out", "made", *asked_of(server, "--max-cost", "1"))
    assert done.exit_code == 3
    assert "--max-cost" in done.stderr  # the price is unknown
    assert server.stats().requests == 0
    purse = Budget(1.0)
    assert purse.reserve(0.6) == ""
    assert "--max-cost" in purse.reserve(0.6)
    purse.settle(0.6, 0.1)
    assert purse.reserve(0.6) == ""
    purse.settle(0.6, None)  # what an answer cost that was cut off is not known: its most counts
    assert purse.reserve(0.4)
    assert purse.reserve(0.3) == ""
    assert purse.reserve(None)


def test_other_or_changed_candidates_are_not_judged(invoke: Invoke, tmp_path: Path) -> None:
    made, words = tmp_path / "made", ("stress", REFS, "--out", "made", *FEW)
    assert invoke(*words).exit_code == 0
    whole = {path.name: path.read_text("utf-8") for path in made.iterdir() if path.is_file()}
    for change, names in (
        (("--seed", "2"), "seed"),
        (("--changes", "added"), "changes"),
    ):
        done = invoke(*words, *change)
        assert done.exit_code == 2
        assert names in done.stderr
    preds = json.loads(whole["preds.json"])
    preds[next(iter(preds))]["section_findings"] += " Pneumothorax."
    lines = whole["truth.jsonl"].splitlines(keepends=True)
    for name, text in (
        ("preds.json", json.dumps(preds)),
        ("truth.jsonl", "".join(lines[:-1])),
        ("stress.json", "{"),
    ):
        assert text != whole[name]
        (made / name).write_text(text, "utf-8")
        done = invoke(*words)
        assert done.exit_code == 2, name
        assert name in done.stderr
        (made / name).write_text(whole[name], "utf-8")
    assert invoke(*words).exit_code == 0


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["nowhere.json"], "nowhere.json"),
        ([REFS, "--rubric", "nothing"], "'nothing'"),
        ([REFS, "--prompt", "nothing"], "'nothing'"),
        ([REFS, "--repeats", "2", "--sampling-seed", "5"], "--sampling-seed"),
        ([REFS, "--temperature", "1"], "--temperature"),
        ([REFS, "--out", "mine"], "stress.json"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    invoke: Invoke, tmp_path: Path, words: list[object], names: str
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    done = invoke("stress", *words)
    assert done.exit_code == 2, done.stdout
    assert names in done.output
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.rglob("*")) == before

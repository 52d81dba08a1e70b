"""An experiment from its file to its leaderboards, and what becomes of one that is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from faultserver import Behaviour, Fault, FaultServer, always
from support import EXAMPLES, ROOT, Invoke, write_json

from judge.run_files.manifest import MANIFEST
from judge.run_files.study_record import ANNOTATIONS
from judge.run_files.summary import SUMMARY
from judge.running.cost import Prices
from judge.running.folder import TABLE_CSV, TABLE_PARQUET

FILES = f"""\
references: {EXAMPLES}/refs.json
candidates: ["{EXAMPLES}/preds_*.json"]
out: runs
"""
MODELS = ("elm", "fir", "oak")


def manifests(folder: Path) -> dict[str, dict[str, Any]]:
    found = {}
    for path in sorted(folder.glob(f"*/{MANIFEST}")):
        found[path.parent.name] = json.loads(path.read_text("utf-8"))
    return found


def write_reports(folder: Path, n: int, url: str, more: str = "") -> Path:
    """Three models on `n` studies, judged by the model of a server."""
    refs = {f"study-{at:04}": f"study-{at:04}. The lungs are clear." for at in range(n)}
    write_json(folder / "refs.json", refs)
    for model in MODELS:
        preds = {key: f"{text} The {model} stands." for key, text in refs.items()}
        write_json(folder / f"preds_{model}.json", preds)
    file = folder / "experiment.yaml"
    file.write_text(
        "references: refs.json\ncandidates: [preds_*.json]\nout: runs\n"
        f"judges: [model-x]\nbase_url: {url}\nconcurrency: 4\n{more}",
        "utf-8",
    )
    return file


def test_the_runs_of_a_file_and_the_same_command_again(
    invoke: Invoke, tmp_path: Path
) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(FILES + "rubrics: [green, counts]\nby: study_class\n", "utf-8")
    words = ("run", file, "--no-tests")
    dry = invoke(*words, "--dry-run")
    assert dry.exit_code == 0, dry.stderr
    assert "runs to judge  4" in dry.stdout
    assert not (tmp_path / "runs").exists()
    done = invoke(*words)
    assert done.exit_code == 0, done.stderr
    assert "4/4 birch-counts-lexicon: scored 15 of 15" in done.stderr
    assert ": study_class abnormal (10)" in done.stdout
    made = manifests(tmp_path / "runs")
    assert len(made) == 4
    entry = made["birch-green-lexicon"]["experiment"]
    assert entry["text"] == file.read_text("utf-8")
    assert entry["matrix"]["rubric"] == ["green", "counts"]
    assert (entry["model"], entry["rubric"]) == ("birch", "green")
    times = [manifest["finished"] for manifest in made.values()]
    again = invoke(*words)
    assert again.stdout == done.stdout
    assert "4 runs, 4 finished" in again.stderr
    after = manifests(tmp_path / "runs")
    assert [manifest["finished"] for manifest in after.values()] == times


@pytest.mark.parametrize("form", ["table", "md", "latex", "csv"])
def test_the_price_of_an_experiment_that_is_finished_is_an_empty_table(
    invoke: Invoke, tmp_path: Path, form: str
) -> None:
    write_json(tmp_path / "refs.json", [{"id": "1", "report": "Clear lungs."}])
    write_json(tmp_path / "a.json", [{"id": "1", "report": "Clear lungs."}])
    file = tmp_path / "small.yaml"
    file.write_text("references: refs.json\ncandidates: [a.json]\nout: runs\n")
    assert invoke("run", file).exit_code == 0
    dry = invoke("run", file, "--dry-run", "--format", form)
    assert dry.exit_code == 0, dry.output
    assert dry.exception is None
    assert "typical" in dry.stdout
    assert "lexicon" not in dry.stdout
    refused = invoke("run", file, "--dry-run", "--table", "tests")
    assert refused.exit_code == 2
    assert "--table is of the leaderboards" in refused.stderr


def test_a_leaderboard_that_cannot_be_made_is_no_success(
    invoke: Invoke, tmp_path: Path
) -> None:
    reports = [{"id": str(at), "report": "Clear lungs."} for at in range(2)]
    write_json(tmp_path / "refs.json", reports)
    for name, report in zip("ab", reports, strict=True):
        write_json(tmp_path / f"{name}.json", [report])
    file = tmp_path / "apart.yaml"
    file.write_text(
        "references: refs.json\ncandidates: [a.json, b.json]\nallow_missing: true\n"
        "out: runs\n"
    )
    done = invoke("run", file)
    assert done.exit_code == 2
    assert "no leaderboard of lexicon" in done.stderr
    assert "no study is in all runs" in done.stderr
    assert len(manifests(tmp_path / "runs")) == 2


def test_a_run_equals_that_of_the_rubric_s_command(
    invoke: Invoke, tmp_path: Path
) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(FILES, "utf-8")
    assert invoke("run", file, "--only", "model=alder").exit_code == 0
    files = (EXAMPLES / "preds_alder.json", EXAMPLES / "refs.json")
    assert invoke("green", *files, "--out", "alone").exit_code == 0
    for name in (ANNOTATIONS, TABLE_CSV, TABLE_PARQUET, SUMMARY):
        inside = tmp_path / "runs/alder-green-lexicon" / name
        assert inside.read_bytes() == (tmp_path / "alone" / name).read_bytes()
    alone = json.loads((tmp_path / "alone" / MANIFEST).read_text("utf-8"))
    assert "experiment" not in alone


def test_tables_of_several_data_sets_as_json_and_csv(
    invoke: Invoke, tmp_path: Path
) -> None:
    file = tmp_path / "experiment.yaml"
    one = (
        f"{{references: {EXAMPLES}/refs.json, candidates: ['{EXAMPLES}/preds_*.json']}}"
    )
    file.write_text(f"data:\n  north: {one}\n  south: {one}\nlimit: 6\n", "utf-8")
    done = invoke("run", file, "--out", "runs", "--format", "json", "--no-tests")
    assert done.exit_code == 0, done.stderr
    boards = json.loads(done.stdout)
    assert [board["data"] for board in boards] == ["north", "south"]
    assert boards[0]["models"] == ["alder", "birch"]
    assert len(manifests(tmp_path / "runs/limit-6")) == 4
    table = invoke("run", file, "--out", "runs", "--format", "csv", "--no-tests")
    head, *rows = table.stdout.splitlines()
    assert head.startswith("data,section,judge,row,")
    assert [row.split(",")[0] for row in rows] == 2 * ["north"] + 2 * ["south"]


def test_changed_data_under_one_folder_are_refused_before_anything_is_judged(
    invoke: Invoke, tmp_path: Path
) -> None:
    refs = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
    write_json(tmp_path / "refs.json", refs)
    file = tmp_path / "experiment.yaml"
    text = FILES.replace(f"{EXAMPLES}/refs.json", "refs.json")
    file.write_text(text, "utf-8")
    assert invoke("run", file, "--only", "model=alder").exit_code == 0
    write_json(tmp_path / "refs.json", dict(reversed(refs.items())))
    changed = invoke("run", file)
    assert changed.exit_code == 2
    assert "another file of references" in changed.stderr
    assert "--out" in changed.stderr
    assert len(manifests(tmp_path / "runs")) == 1
    write_json(tmp_path / "refs.json", refs)
    file.write_text(text + "sections: report\n", "utf-8")
    assert invoke("run", file, "--only", "model=birch").exit_code == 0
    file.write_text(text + "allow_missing: true\n", "utf-8")
    other = invoke("run", file)
    assert other.exit_code == 2
    assert "another allow_missing" in other.stderr
    file.write_text(text + "by: [study_class]  # as before\n", "utf-8")
    same = invoke("run", file)
    assert same.exit_code == 0, same.stderr
    assert "an earlier text of the experiment" in same.stderr
    assert "1 run that this experiment does not ask for" in same.stderr


def test_faults_of_all_files_are_named_before_anything_is_judged(
    invoke: Invoke, tmp_path: Path
) -> None:
    write_json(tmp_path / "preds_elm.json", {"other": "No effusion."})
    (tmp_path / "preds_fir.json").write_text("no JSON", "utf-8")
    file = tmp_path / "experiment.yaml"
    file.write_text(
        f"references: {EXAMPLES}/refs.json\n"
        f"candidates: ['preds_*.json', '{EXAMPLES}/preds_alder.json']\nout: runs\n",
        "utf-8",
    )
    done = invoke("run", file)
    assert done.exit_code == 2
    assert "nothing was asked, for 2 reasons" in done.stderr
    assert "elm-green-lexicon: " in done.stderr
    assert "fir-green-lexicon: " in done.stderr
    assert not (tmp_path / "runs").exists()
    field = invoke("run", file, "--only", "model=alder", "--by", "hospital")
    assert field.exit_code == 2
    assert "hospital" in field.stderr


def test_one_price_before_and_one_budget_for_all_runs(
    invoke: Invoke, tmp_path: Path
) -> None:
    with FaultServer() as server:
        file = write_reports(tmp_path, 4, server.url, "max_cost: 5\n")
        unpriced = invoke("run", file, "--cache", "cache", "--no-tests")
        assert unpriced.exit_code == 3
        assert "--max-cost" in unpriced.stderr
        assert server.stats().requests == 0
        file = write_reports(tmp_path, 4, server.url)
        dry = invoke("run", file, "--cache", "cache", "--dry-run", "--format", "json")
        (price,) = json.loads(dry.stdout)
        assert (price["n_runs"], price["requests"], price["cached"]) == (3, 12, 0)
        done = invoke("run", file, "--cache", "cache", "--no-tests")
        assert done.exit_code == 0, done.stderr
        assert "model-x: 3 runs, 12 studies, 12 requests (0 cached)" in done.stderr
        assert server.stats().requests == 12


def test_the_budget_holds_for_all_runs_and_commands(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Prices, "dollars", lambda _prices, _usage: 0.01)
    words = ("run", "experiment.yaml", "--cache", "cache", "--no-tests")
    with FaultServer() as server:
        write_reports(tmp_path, 4, server.url, "max_cost: 0.065\n")
        for _ in range(2):
            stopped = invoke(*words)
            assert stopped.exit_code == 3
            assert "1 run is finished, and stays" in stopped.stderr
            assert "--max-cost (0.065 dollars)" in stopped.stderr
            # Four studies of the first model and two of the second.
            assert server.stats().requests == 6
        assert [*manifests(tmp_path / "runs")] == ["elm-green-model-x"]
        done = invoke(*words, "--max-cost", 0.125)
        assert done.exit_code == 0, done.stderr
        assert server.stats().requests == 12
        assert "of it by earlier commands" not in done.stderr


def test_a_judge_that_cannot_be_read_is_left_and_the_others_go_on(
    invoke: Invoke, tmp_path: Path
) -> None:
    faults = {f"study-{at:04}": always(Fault.REFUSAL_TEXT) for at in range(9)}
    with FaultServer(Behaviour(studies=faults)) as server:
        file = write_reports(tmp_path, 9, server.url)
        file.write_text(
            "references: refs.json\ncandidates: [preds_*.json]\nout: runs\n"
            "judges:\n  lexicon:\n  bad:\n    judge: model-x\n"
            f"    base_url: {server.url}\n    concurrency: 1\n    give_up_after: 2\n",
            "utf-8",
        )
        done = invoke("run", file, "--cache", "cache", "--no-tests")
    assert done.exit_code == 3, done.stderr
    assert "elm-green-bad was not judged: 2 of the first 2 answers" in done.stderr
    assert "fir-green-bad was not judged: not tried" in done.stderr
    assert len(manifests(tmp_path / "runs")) == 3
    assert "lexicon" in done.stdout


@pytest.mark.ci
def test_killed_in_the_middle_it_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    n, in_flight = 40, 4
    with FaultServer(Behaviour(latency=0.03)) as server:
        file = write_reports(tmp_path, n, server.url)
        words = [sys.executable, "-m", "judge", "run", str(file), "--cache", "cache"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        environ = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI")}
        with subprocess.Popen(words, cwd=tmp_path, env=environ, **quiet) as process:
            # In the midst of the second of three runs.
            while process.poll() is None and server.stats().requests < n + n // 2:
                time.sleep(0.005)
            process.kill()
        assert process.returncode == -signal.SIGKILL
        finished = manifests(tmp_path / "runs")
        assert [*finished] == ["elm-green-model-x"]
        again = subprocess.run(
            words, cwd=tmp_path, env=environ, capture_output=True, text=True
        )
        assert again.returncode == 0, again.stderr
        assert "3 runs, 1 finished" in again.stderr
        asked = server.stats().requests
        assert 3 * n <= asked <= 3 * n + in_flight
        whole = subprocess.run(
            [*words, "--out", "whole"],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
        )
        assert whole.returncode == 0, whole.stderr
        assert server.stats().requests == asked
    assert whole.stdout == again.stdout
    after = manifests(tmp_path / "runs")
    assert after["elm-green-model-x"] == finished["elm-green-model-x"]
    for name in after:
        for part in (ANNOTATIONS, TABLE_CSV, TABLE_PARQUET, SUMMARY):
            killed, at_once = (
                tmp_path / out / name / part for out in ("runs", "whole")
            )
            assert killed.read_bytes() == at_once.read_bytes()


@pytest.mark.ci
def test_a_small_challenge_of_recorded_answers_is_killed_and_goes_on(
    tmp_path: Path,
) -> None:
    bench = [sys.executable, "bench/bench_experiment.py", "--folder", str(tmp_path)]
    done = subprocess.run(
        [*bench, "--models", "3", "--data", "2", "--studies", "200"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "1,200 recorded answers" in done.stdout
    assert "until kill -9" in done.stdout
    assert "once more, all finished" in done.stdout

"""Runs that ask the same again: each has its own answers, keeps them, and says which it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from faultserver import Fault, FaultServer
from running import Runner, study_set
from support import Invoke

from judge import backends
from judge.cache import CompletionCache, canonical, key
from judge.rubrics import load
from judge.running.answers import rescore
from judge.running.asking import RequestPolicy
from judge.running.dry import forecast
from judge.running.folder import Run
from judge.running.run import Finished, run
from judge.running.session import JudgeSession

N = 6


def session(runner: Runner, repeat: int, cache: Path | None = None) -> JudgeSession:
    settings = backends.JudgeSettings(base_url=runner.server.url, sampling={"temperature": 0.8})
    judge = backends.load("model-x", runner.rubric, settings)
    folder = cache or runner.cache
    return JudgeSession(runner.rubric, judge, RequestPolicy(), folder, repeat=repeat)


def judged(runner: Runner, repeat: int, out: Path, cache: Path | None = None) -> Finished:
    with session(runner, repeat, cache) as opened:
        return run(opened, study_set(N), out=out)


def test_k_runs_ask_k_times_and_go_on_without_a_question(
    server: FaultServer, runner: Runner, tmp_path: Path
) -> None:
    for repeat in range(3):
        with session(runner, repeat) as opened:
            coming = forecast(opened, study_set(N))
        assert coming is not None
        assert (coming.requests, coming.cached) == (N, 0), "an answer of another run is counted"
        done = judged(runner, repeat, tmp_path / f"run-{repeat}")
        assert (done.progress.asked, done.progress.from_cache) == (N, 0)
    assert server.stats().requests == 3 * N
    assert set(server.stats().by_study.values()) == {3}
    for repeat in range(3):
        done = judged(runner, repeat, tmp_path / f"run-{repeat}")
        assert (done.progress.asked, done.progress.from_cache) == (0, N)
    assert server.stats().requests == 3 * N
    runs = [Run(tmp_path / f"run-{repeat}") for repeat in range(3)]
    assert [one.repeat for one in runs] == [0, 1, 2]
    assert "repeat" not in runs[0].manifest
    parts = [{*one.signature.split("|")} for one in runs]
    assert parts[1] - parts[0] == {"repeat:1"}
    assert parts[2] - parts[1] == {"repeat:2"}
    assert not parts[0] - parts[1]
    keys = [{record["cache_key"] for record in one.records()} for one in runs]
    assert len(keys[0] | keys[1] | keys[2]) == 3 * N


def test_answers_that_are_asked_for_again_are_each_run_s_own(
    server: FaultServer, runner: Runner, tmp_path: Path
) -> None:
    server.set_faults(rates={Fault.MALFORMED: 1.0})
    for repeat in range(2):
        judged(runner, repeat, tmp_path / f"run-{repeat}")
    found = []
    for repeat in range(2):
        records = [*Run(tmp_path / f"run-{repeat}").records()]
        found.append({part["cache_key"] for one in records for part in (one, *one["earlier"])})
    assert [len(one) for one in found] == [2 * N, 2 * N]
    assert not found[0] & found[1]


def test_rescore_keeps_which_run_it_is(runner: Runner, tmp_path: Path) -> None:
    judged(runner, 2, tmp_path / "run")
    rescore(Run(tmp_path / "run"), tmp_path / "again")
    again = Run(tmp_path / "again")
    assert again.repeat == 2
    assert again.signature == Run(tmp_path / "run").signature


@pytest.mark.parametrize("way", ["export", "run"])
def test_what_is_taken_elsewhere_is_still_of_its_run(
    server: FaultServer, runner: Runner, tmp_path: Path, invoke: Invoke, way: str
) -> None:
    for repeat in range(2):
        judged(runner, repeat, tmp_path / f"run-{repeat}")
    other = tmp_path / "other"
    if way == "export":
        assert invoke("cache", "export", "all.jsonl", "--cache", runner.cache).exit_code == 0
        sources = [tmp_path / "all.jsonl"]
    else:
        sources = [tmp_path / "run-0", tmp_path / "run-1"]
    taken = invoke("cache", "import", *sources, "--cache", other)
    assert taken.exit_code == 0, taken.stderr
    assert f"{2 * N} entries taken" in taken.stderr
    assert invoke("cache", "verify", "--cache", other).exit_code == 0
    asked = server.stats().requests
    for repeat in range(2):
        done = judged(runner, repeat, tmp_path / f"there-{repeat}", other)
        assert (done.progress.asked, done.progress.from_cache) == (0, N)
    assert server.stats().requests == asked
    assert judged(runner, 2, tmp_path / "there-2", other).progress.asked == N


def test_an_entry_whose_repeat_was_changed_is_refused(
    runner: Runner, tmp_path: Path, invoke: Invoke
) -> None:
    judged(runner, 1, tmp_path / "run")
    assert invoke("cache", "export", "all.jsonl", "--cache", runner.cache).exit_code == 0
    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert all(row["request"]["repeat"] == 1 for row in rows)
    wrong: tuple[Any, ...] = (0, 2, -1, "1", None)
    for row, repeat in zip(rows, wrong, strict=False):
        row["request"]["repeat"] = repeat
    del rows[5]["request"]["repeat"]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, rows)))
    taken = invoke("cache", "import", "all.jsonl", "--cache", tmp_path / "other")
    assert "0 entries taken, 0 were there already, 6 refused" in taken.stderr


def test_a_first_run_s_key_is_as_it_was_before_there_were_repeats(runner: Runner) -> None:
    with session(runner, 0) as opened:
        request = opened.judge.request(study_set(1).study(0))
    assert "repeat" not in canonical(request)
    assert key(request) == key(request, 0, 0) != key(request, 0, 1) != key(request, 1, 0)
    with CompletionCache(runner.cache) as cache:
        assert cache.get(request, repeat=1) is None


def test_the_built_in_judge_says_that_it_answers_the_same() -> None:
    assert backends.load("lexicon", load("green")).is_deterministic
    settings = backends.JudgeSettings(sends=False)
    assert not backends.load("gpt-4o", load("green"), settings).is_deterministic

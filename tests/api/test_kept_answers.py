"""Answers kept, told why they could not be read, asked for again as repeats, and taken back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from answered_runs import records_of
from faultserver import Fault, FaultServer, always, first
from running import Runner, Shell, keys, study_set
from support import REPLIES

from judge import backends
from judge.cache.answers import KeptAnswer, intact
from judge.cache.store import CompletionCache
from judge.rubrics import Rubric
from judge.running.combining import rescore
from judge.running.evidence import with_evidence
from judge.running.folder import RunFolder
from judge.running.forecast import forecast
from judge.running.policy import RequestPolicy
from judge.running.run import RunResult, run
from judge.running.session import JudgeSession
from judge.types import Annotated

Made = Callable[[int], Shell]
N = 8
both = pytest.mark.parametrize("rubric", REPLIES, indirect=True)


@both
def test_both_replies_agree(
    server: FaultServer, runner: Runner, rubric: Rubric
) -> None:
    structured, _ = runner(20)
    text, _ = runner(20, asking={"reply": "text"})
    assert server.stats().by_mode == {"json_schema": 20, "text": 20}
    for name, end in structured.items():
        expected = with_evidence(server.annotation(name), rubric, end.study)
        assert end.outcome == text[name].outcome == Annotated(expected)
        assert end.measures == rubric.measured(server.annotation(name), end.study)


@both
def test_an_unread_text_is_told_why(
    server: FaultServer, runner: Runner, rubric: Rubric
) -> None:
    server.set_faults(studies={"study-0001": first(Fault.REFUSAL_TEXT)}, record=True)
    ends, progress = runner(3, asking={"reply": "text"})
    end = ends["study-0001"]
    assert end.measures == rubric.measured(server.annotation("study-0001"), end.study)
    assert progress.asked == 4
    one, two = (
        each["body"] for each in server.requests() if each["study"] == "study-0001"
    )
    assert two["messages"][:-2] == one["messages"]
    assert [turn["role"] for turn in two["messages"][-2:]] == ["assistant", "user"]
    server.reset()
    again, resumed = runner(3, asking={"reply": "text"})
    assert (again, resumed.asked, resumed.from_cache) == (ends, 0, 4)


# Repeats


def session(runner: Runner, repeat: int) -> JudgeSession:
    settings = backends.JudgeSettings(
        base_url=runner.server.url, sampling={"temperature": 0.8}
    )
    judge = backends.load("model-x", runner.rubric, settings)
    return JudgeSession(
        runner.rubric, judge, RequestPolicy(), runner.cache, repeat=repeat
    )


def repeated(runner: Runner, repeat: int, out: Path) -> RunResult:
    with session(runner, repeat) as opened:
        return run(opened, study_set(N), out=out)


def test_each_repeat_asks_for_itself(
    server: FaultServer, runner: Runner, tmp_path: Path
) -> None:
    server.set_faults(studies={"study-0003": always(Fault.MALFORMED)})
    for repeat in range(2):
        with session(runner, repeat) as opened:
            coming = forecast(opened, study_set(N))
        assert coming is not None
        assert (coming.requests, coming.cached) == (N, 0), (
            "an answer of another run is counted"
        )
        done = repeated(runner, repeat, tmp_path / f"run-{repeat}")
        assert (done.progress.asked, done.progress.from_cache) == (N + 1, 0)
        done = repeated(runner, repeat, tmp_path / f"run-{repeat}")
        assert (done.progress.asked, done.progress.from_cache) == (0, N + 1)
    assert server.stats().requests == 2 * (N + 1)
    rescore(RunFolder.open(tmp_path / "run-1"), tmp_path / "run-2")
    runs = [RunFolder.open(tmp_path / f"run-{at}") for at in range(3)]
    assert [one.repeat for one in runs] == [0, 1, 1]
    parts = [{*one.signature.split("|")} for one in runs]
    assert (parts[1] - parts[0], parts[0] - parts[1]) == ({"repeat:1"}, set())
    assert parts[2] == parts[1]
    used = []
    for one in runs[:2]:
        records = [*one.records()]
        used.append(
            {part["cache_key"] for each in records for part in (each, *each["earlier"])}
        )
    assert (len(used[0] | used[1]), used[0] & used[1]) == (2 * (N + 1), set())


# Taken back from run folders: what was paid for is not paid for twice.


@pytest.fixture
def judged(server: FaultServer, shell: Made) -> Shell:
    """A run with answers of every kind, whose cache is lost, and a server that gives no more."""
    ready = shell(N)
    faults = {
        "study-0002": first(Fault.MALFORMED),
        "study-0003": always(Fault.MALFORMED),
        "study-0004": first(Fault.MALFORMED, then=Fault.TOO_LONG),
        "study-0005": always(Fault.REFUSAL_TEXT),
        "study-0006": always(Fault.TRUNCATED),
    }
    server.set_faults(studies=faults)
    code, _, err = ready.run("--out", "run", "--min-coverage", "0")
    assert code == 0, err
    (ready.folder / "cache").rename(ready.folder / "lost")
    server.set_faults(studies={name: always(Fault.TOO_LONG) for name in keys(N)})
    server.reset()
    return ready


def answers_in(folder: Path) -> list[KeptAnswer]:
    with CompletionCache(folder, must_exist=True) as cache:
        return [*intact(cache.iterate(), [])]


def test_a_run_gives_every_answer_back(server: FaultServer, judged: Shell) -> None:
    before = answers_in(judged.folder / "lost")
    for taken, there in ((len(before), 0), (0, len(before))):
        code, _, err = judged.judge("cache", "import", "run", "--cache", "cache")
        assert code == 0, err
        assert f"{taken} entries added, {there} were there already" in err
    after = answers_in(judged.folder / "cache")
    assert {(e.key, e.model, e.completion) for e in after} == {
        (e.key, e.model, e.completion) for e in before
    }
    # Where the second attempt got no answer it is made again, but not the first.
    assert judged.run("--out", "again", "--min-coverage", "0")[0] == 0
    assert server.stats().by_study == {"study-0004": 1}
    assert records_of(judged.folder / "run") == records_of(judged.folder / "again")
    assert judged.judge("cache", "info", "--check", "--cache", "cache")[0] == 0
    _, _, err = judged.judge("cache", "import", "cache", "--cache", "third")
    assert f"{len(before)} entries added" in err

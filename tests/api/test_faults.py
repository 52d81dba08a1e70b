"""What must hold when a server goes wrong, and when its answers cannot be read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from faultserver import Behaviour, Fault, FaultServer, Outage, always, first
from running import Runner, keys, study_set
from support import REPLIES

from judge import annotate
from judge.rubrics import Rubric
from judge.running.progress import RunStoppedError
from judge.running.records import StudyResult
from judge.studies import from_python
from judge.types import Failed, JudgeError, Scored, Unparsed

both = pytest.mark.parametrize("rubric", REPLIES, indirect=True)


@both
def test_every_kind_of_trouble(
    server: FaultServer, runner: Runner, rubric: Rubric
) -> None:
    plans = [first(Fault.RATE_LIMIT)] * 15 + [first(Fault.SERVER_ERROR)] * 6
    plans += (
        [first(Fault.DROP)] * 3
        + [first(Fault.CUT_BODY)] * 3
        + [always(Fault.MALFORMED)] * 6
    )
    plans = dict(zip(keys(300)[::9], plans, strict=False))
    malformed = {key for key, plan in plans.items() if plan.then is Fault.MALFORMED}
    server.set_faults(studies=plans)
    ends, progress = runner(300)
    assert set(ends) == set(keys(300))
    assert len(malformed) == 6
    for key, end in ends.items():
        if key in malformed:
            assert isinstance(end.outcome, Unparsed)
            assert end.measures is None
            assert end.attempt == 1
        else:
            assert isinstance(end.outcome, Scored)
            assert end.measures == rubric.measured(server.annotation(key), end.study)
    by_study = server.stats().by_study
    assert {key for key in keys(300) if by_study[key] > 1} == set(plans)
    assert all(by_study[key] == 2 for key in plans)
    assert progress.asked == 300 + 6
    assert sum(progress.retries.values()) == 15 + 6 + 3 + 3


def test_one_study_that_always_fails_costs_itself_only_and_is_asked_by_the_next_run(
    server: FaultServer, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judge.running.cached_client._LONGEST_PAUSE", 0.5)
    server.set_faults(studies={"study-0007": always(Fault.SERVER_ERROR)})
    ends, _ = runner(40)
    assert isinstance(ends["study-0007"].outcome, Failed)
    assert ends["study-0007"].outcome.reason == "status 500"
    assert sum(isinstance(end.outcome, Scored) for end in ends.values()) == 39
    stats = server.stats()
    assert stats.by_study["study-0007"] <= 8
    assert all(stats.by_study[key] == 1 for key in keys(40) if key != "study-0007")
    server.set_faults(studies={})
    server.reset()
    ends, _ = runner(40)
    assert isinstance(ends["study-0007"].outcome, Scored)
    assert server.stats().by_study == {"study-0007": 1}


@pytest.mark.ci
def test_an_outage_costs_its_time_and_little_more(
    server: FaultServer, runner: Runner
) -> None:
    server.set_faults(latency=0.1, outage=Outage(Fault.UNAVAILABLE, 0.5, 2.5))
    began = time.monotonic()
    ends, progress = runner(300)
    took = time.monotonic() - began
    assert len(ends) == 300
    assert all(isinstance(end.outcome, Scored) for end in ends.values())
    assert took >= 2.5
    assert "timeout" not in progress.retries, "nothing waits for what is lost"
    # Those that were under way, and then one at a time, at most every quarter of a second.
    assert (
        sum(progress.retries.values()) <= 4 * 32
    )  # each on its own would try 32 x 8 times


@pytest.mark.ci
def test_an_outage_longer_than_patience_ends_the_run(
    server: FaultServer, runner: Runner
) -> None:
    server.set_faults(latency=0.05, outage=Outage(Fault.UNAVAILABLE, 0.3))
    with pytest.raises(JudgeError, match="--max-outage"):
        runner(400, max_outage=1.0, concurrency=8)
    answered = server.stats().answered
    assert answered
    server.set_faults(outage=None)
    server.reset()
    ends, progress = runner(400)
    assert len(ends) == 400
    assert progress.from_cache == answered
    assert server.stats().requests == 400 - answered


@both
@pytest.mark.parametrize(
    ("fault", "reasons"),
    [
        (Fault.TRUNCATED, {"truncated"}),
        (Fault.REFUSAL, {"refusal"}),
        (Fault.REFUSAL_TEXT, {"no JSON"}),
        (Fault.EMPTY, {"empty", "no JSON"}),
    ],
)
def test_an_answer_that_is_none_is_unparsed_with_its_reason(
    server: FaultServer, runner: Runner, fault: Fault, reasons: set[str]
) -> None:
    server.set_faults(studies={"study-0003": always(fault)})
    outcome = runner(6)[0]["study-0003"].outcome
    assert isinstance(outcome, Unparsed)
    assert outcome.reason in reasons
    assert server.stats().by_study["study-0003"] == 2, "asked again once"
    runner(6, reask=0)
    assert server.stats().by_study["study-0003"] == 2


def test_identical_requests_in_flight_are_asked_once(
    server: FaultServer, runner: Runner
) -> None:
    server.set_faults(latency=0.1)
    one = study_set(1)
    same = from_python(
        one.references * 30, one.candidates * 30, study_classes=["normal"] * 30
    )
    ends, progress = runner(same)
    assert len(ends) == 30
    assert server.stats().requests == 1
    assert (progress.asked, progress.from_cache) == (1, 29)


def test_a_refused_parameter_is_left_out(server: FaultServer, runner: Runner) -> None:
    server.set_faults(
        record=True,
        refused_parameters={
            "temperature": "unsupported_value",
            "max_tokens": "unsupported_parameter",
        },
    )
    ends, _ = runner(20, concurrency=1)
    assert all(isinstance(end.outcome, Scored) for end in ends.values())
    assert server.stats().requests == 20 + 2
    last = server.requests()[-1]["body"]
    assert "temperature" not in last
    assert "max_tokens" not in last
    assert last["max_completion_tokens"] == 8192
    assert sum("refuses" in line for line in runner.said) == 2


def test_the_key_is_sent_and_kept_nowhere(
    server: FaultServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    secret = "sk-a-secret-that-must-not-leak"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    asking = {"judge": "model-x", "base_url": server.url, "cache": tmp_path}
    server.set_faults(api_keys=(secret,))
    assert list(annotate(["study-0001"], ["Clear."], **asking)["outcome"]) == ["scored"]
    server.set_faults(api_keys=("another",))
    with pytest.raises(JudgeError) as caught:
        annotate(["study-0002"], ["Clear."], **asking)
    assert secret not in str(caught.value)
    assert secret not in "".join(capfd.readouterr())
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes()


# Answers that cannot be read


def unreadable(server: FaultServer, n: int) -> None:
    server.set_faults(studies={key: always(Fault.MALFORMED) for key in keys(n)})


def test_it_stops_and_stops_there_again(server: FaultServer, runner: Runner) -> None:
    unreadable(server, 200)
    with pytest.raises(RunStoppedError) as given_up:
        runner(200, concurrency=8)
    done = given_up.value.progress.done
    assert 50 <= done < 50 + 8
    asked = server.stats().requests
    assert 2 * done <= asked < 2 * done + 8, "each is asked again once"
    server.reset()
    with pytest.raises(RunStoppedError):
        runner(200, concurrency=8)
    assert server.stats().requests < 8
    asked += server.stats().requests
    unreadable(server, 60)
    ends, progress = runner(200, concurrency=8, give_up_after=0)
    assert len(ends) == 200
    assert sum(isinstance(end.outcome, Scored) for end in ends.values()) == 140
    assert progress.from_cache == asked


# Several servers


@pytest.fixture
def pool(
    server: FaultServer, runner: Runner
) -> Iterator[tuple[FaultServer, Callable[..., Any]]]:
    """A second server, and what asks both."""
    server.set_faults(latency=0.02)
    with FaultServer(Behaviour(latency=0.02)) as other:

        def run(n: int, **policy: object) -> dict[str, StudyResult]:
            urls = [server.url, other.url]
            return runner(
                n, timeout=5.0, asking={"base_url": urls}, concurrency=16, **policy
            )[0]

        yield other, run


def test_they_share_the_load(server: FaultServer, runner: Runner, pool: Any) -> None:
    other, run = pool
    assert all(isinstance(end.outcome, Scored) for end in run(100).values())
    asked = [each.stats().requests for each in (server, other)]
    assert sum(asked) == 100, "each question goes to one of them"
    assert min(asked) > 20
    assert not runner.said
    for each in (server, other):
        each.set_faults(studies={"study-0103": always(Fault.SERVER_ERROR)})
    assert isinstance(run(110, max_requests=2)["study-0103"].outcome, Failed)
    assert not runner.said, "a question that no server can answer costs no server"


def test_a_dead_server_is_left_out(
    server: FaultServer, runner: Runner, pool: Any
) -> None:
    other, run = pool
    other.stop()
    assert all(isinstance(end.outcome, Scored) for end in run(300).values())
    assert [line.split()[0] for line in runner.said] == [other.url]
    assert server.stats().requests == 300

"""Several servers that share the load: who is asked, who is left out, who is back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from faultserver import Behaviour, Fault, FaultServer, Outage
from running import keys, study_set

from judge import backends, rubrics
from judge.running.asking import RequestPolicy
from judge.running.engine import ProgressListener, judge_set
from judge.running.records import Judged
from judge.running.session import JudgeSession
from judge.types import Annotated, Failed

GREEN = rubrics.load("green")


@pytest.fixture
def two() -> Iterator[tuple[FaultServer, FaultServer]]:
    with FaultServer(Behaviour(latency=0.02)) as one, FaultServer(Behaviour(latency=0.02)) as other:
        yield one, other


class Runs:
    def __init__(self, servers: tuple[FaultServer, ...], cache: Path) -> None:
        self.servers, self.cache = servers, cache
        self.said: list[str] = []

    def __call__(self, n: int, **policy: object) -> dict[str, Judged]:
        settings = backends.JudgeSettings(
            base_url=[server.url for server in self.servers], timeout=5.0, say=self.said.append
        )
        ends: dict[str, Judged] = {}
        judge = backends.load("model-x", GREEN, settings)
        asked = RequestPolicy(**({"concurrency": 16} | policy))  # type: ignore[arg-type]
        with JudgeSession(GREEN, judge, asked, self.cache) as session:
            judge_set(
                session,
                study_set(n),
                lambda end: ends.update({end.study.study_id: end}),
                ProgressListener(),
            )
        return ends


def test_they_share_the_load(two: tuple[FaultServer, FaultServer], tmp_path: Path) -> None:
    runs = Runs(two, tmp_path / "cache")
    ends = runs(200)
    assert all(isinstance(end.outcome, Annotated) for end in ends.values())
    asked = [server.stats().requests for server in two]
    assert sum(asked) == 200, "each question goes to one of them"
    assert min(asked) > 60
    assert not runs.said


@pytest.mark.parametrize("fault", [Fault.REFUSED, Fault.UNAVAILABLE, Fault.SERVER_ERROR])
def test_one_that_dies_is_left_out(
    two: tuple[FaultServer, FaultServer], tmp_path: Path, fault: Fault
) -> None:
    dying, other = two
    dying.set_faults(outage=Outage(fault, 0.2))
    runs = Runs(two, tmp_path / "cache")
    ends = runs(300)
    assert all(isinstance(end.outcome, Annotated) for end in ends.values())
    assert [line.partition(" does")[0] for line in runs.said] == [dying.url]
    # After the first failures it is asked once in a while, to see whether it is back.
    lost = dying.stats().requests - dying.stats().answered
    assert lost <= 32
    assert other.stats().answered + dying.stats().answered >= 300


def test_one_that_comes_back_is_asked_again(
    two: tuple[FaultServer, FaultServer], tmp_path: Path
) -> None:
    away, other = two
    away.set_faults(outage=Outage(Fault.UNAVAILABLE, 0.0, 1.0))
    runs = Runs(two, tmp_path / "cache")
    other.set_faults(latency=0.1)
    ends = runs(500, concurrency=8)
    assert all(isinstance(end.outcome, Annotated) for end in ends.values())
    assert [line.split()[1] for line in runs.said] == ["does", "answers"]
    assert away.stats().answered > 20


def test_when_all_are_gone_the_run_waits_for_one(
    two: tuple[FaultServer, FaultServer], tmp_path: Path
) -> None:
    for server in two:
        server.set_faults(outage=Outage(Fault.UNAVAILABLE, 0.2, 2.0))
    ends = Runs(two, tmp_path / "cache")(200)
    assert all(isinstance(end.outcome, Annotated) for end in ends.values())


def test_a_question_that_no_server_can_answer_costs_no_server(
    two: tuple[FaultServer, FaultServer], tmp_path: Path
) -> None:
    from faultserver import always

    for server in two:
        server.set_faults(studies={"study-0003": always(Fault.SERVER_ERROR)})
    runs = Runs(two, tmp_path / "cache")
    ends = runs(40, max_requests=2)
    assert isinstance(ends["study-0003"].outcome, Failed)
    assert sum(isinstance(ends[key].outcome, Annotated) for key in keys(40)) == 39
    assert not runs.said


def test_an_address_given_twice_is_one_server() -> None:
    settings = backends.JudgeSettings(base_url=["http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1/"])
    assert settings.base_urls == ("http://127.0.0.1:1/v1",)

"""Threads, caches and calls of one process pay once for a question, and end alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from faultserver import Behaviour, Fault, FaultServer, StudyPlan, always

import judge
from judge import RequestPolicy
from judge.api import BackgroundJudge, session_of
from judge.cache import key_of
from judge.cache.store import CompletionCache
from judge.reward import Reward
from judge.running.asking import coming
from judge.running.records import CachedAnswer
from judge.studies import StudySet, from_python

N = 12
REFERENCES = [f"study-{at:04}. The lungs are clear." for at in range(N)]
CANDIDATES = ["Clear."] * N


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(Behaviour(latency=0.1)) as running:
        yield running


def annotate(server: FaultServer, cache: Path) -> list[str]:
    frame = judge.annotate(
        REFERENCES, CANDIDATES, judge="model-x", base_url=server.url, cache=cache
    )
    return list(frame["outcome"])


def test_three_threads_pay_once(server: FaultServer, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(annotate, server, tmp_path / "cache") for _ in range(3)]
    assert [run.result() for run in runs] == [["scored"] * N] * 3
    assert server.stats().requests == N


def test_two_rewards_pay_once_and_closing_another_cache_drops_no_claim(
    server: FaultServer, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    make = partial(Reward, judge="model-x", base_url=server.url, cache=cache)
    columns = {"prompts": [""] * N, "completions": CANDIDATES, "reference": REFERENCES}
    with make() as one, make() as other, ThreadPoolExecutor(2) as pool:
        asked = [
            pool.submit(reward.trl(unscored=0.0), **columns) for reward in (one, other)
        ]
        with CompletionCache(cache):
            pass  # closing this one must not matter
        first, second = (each.result() for each in asked)
    assert first == second
    assert server.stats().requests == N


def test_a_claim_is_of_one_opened_cache(tmp_path: Path) -> None:
    key = key_of({"model": "m", "schema": None})
    with CompletionCache(tmp_path) as one, CompletionCache(tmp_path) as other:
        assert one.claim(key)
        assert not other.claim(key)
        with CompletionCache(tmp_path):
            pass
        assert not other.claim(key), "a third that is closed drops nobody's claim"
        one.release(key)
        assert other.claim(key)
    with CompletionCache(tmp_path) as third:
        assert third.claim(key), "claims end with their cache"


# Calls of one judge's thread


@pytest.fixture
def background(server: FaultServer, tmp_path: Path) -> Iterator[BackgroundJudge]:
    policy = RequestPolicy(concurrency=8, give_up_after=0)
    options: judge.api.JudgeOptions = {"base_url": server.url, "policy": policy}
    thread = BackgroundJudge(
        session_of("green", "model-x", {**options, "cache": tmp_path / "c"})
    )
    yield thread
    thread.close()


def studies(*numbers: int) -> StudySet:
    return from_python(
        [REFERENCES[at] for at in numbers], [CANDIDATES[at] for at in numbers]
    )


def outcomes(thread: BackgroundJudge, *numbers: int) -> Callable[[], list[str]]:
    future = thread.submit(partial(thread.judge, studies(*numbers)))
    return lambda: [type(end.outcome).__name__ for end in future.result(60)]


def test_a_cancelled_call_takes_no_answer_from_the_others(
    background: BackgroundJudge, server: FaultServer
) -> None:
    server.set_faults(latency=0.6)
    cancelled = background.submit(partial(background.judge, studies(0, 1)))
    server.wait_for(lambda stats: stats.in_flight == 2)
    same, another = outcomes(background, 0), outcomes(background, 2)
    server.wait_for(lambda stats: stats.in_flight == 3)
    assert cancelled.cancel()
    assert same() == another() == ["Scored"]
    with pytest.raises(CancelledError):
        cancelled.result()
    # What the cancelled call had sent is paid for, and was kept.
    assert outcomes(background, 1)() == ["Scored"]
    assert server.stats().requests == 3


def test_an_error_of_one_call_is_not_another_s(
    background: BackgroundJudge, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rubric of a package that fails on one answer."""
    from judge.running import asking

    whole = asking.read

    def reads(rubric: object, study: object, completion: object) -> object:
        if study.reference.startswith("study-0003"):  # type: ignore[attr-defined]
            raise judge.JudgeError("the rubric failed")
        return whole(rubric, study, completion)  # type: ignore[arg-type]

    monkeypatch.setattr(asking, "read", reads)
    server.set_faults(latency=0.3)
    well = outcomes(background, 0, 1)
    with pytest.raises(judge.JudgeError, match="the rubric failed"):
        outcomes(background, 3)()
    assert well() == ["Scored"] * 2
    assert outcomes(background, 2)() == ["Scored"]


def test_a_cancelled_question_is_not_sent_again(
    background: BackgroundJudge, server: FaultServer
) -> None:
    server.set_faults(studies={"study-0000": always(Fault.RATE_LIMIT)})
    asked = background.submit(partial(background.judge, studies(0)))
    server.wait_for(lambda stats: stats.requests >= 1)
    asked.cancel()
    before = server.stats().requests
    threading.Event().wait(1.0)
    assert server.stats().requests <= before + 1
    assert isinstance(server.behaviour.studies["study-0000"], StudyPlan)


def test_a_question_that_is_asked_again_as_its_first_asking_ends_holds_up_nobody(
    server: FaultServer, tmp_path: Path
) -> None:
    """As when a client of the service hangs up, and another asks the same in that moment."""
    server.set_faults(studies={"study-0000": always(Fault.RATE_LIMIT)})
    options = {"base_url": server.url, "cache": tmp_path / "c"}
    session = session_of("green", "model-x", options)
    (exchange,) = coming(session.plan, studies(0).study(0), [])
    question = exchange.question
    assert question is not None

    async def ask() -> None:
        before = asyncio.all_tasks()
        first = asyncio.create_task(session.answer(question))
        while server.stats().requests == 0:
            await asyncio.sleep(0.01)
        (sending,) = asyncio.all_tasks() - before - {first}
        first.cancel()
        while not sending.done():
            await asyncio.sleep(0)
        server.set_faults(studies={})
        answer = await session.answer(question)
        answered.append(answer)
        await session.judge.aclose()

    answered: list[CachedAnswer] = []
    # A daemon: a loop that turns for ever could not be ended.
    asking = threading.Thread(target=lambda: asyncio.run(ask()), daemon=True)
    asking.start()
    asking.join(30)
    assert len(answered) == 1
    with session:  # closes what it opened
        pass

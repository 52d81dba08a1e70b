"""What a dry run foretells, from answers that a real server gave to other studies."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from faultserver import Fault, FaultServer, always
from running import Runner, keys, study_set

from judge import backends, prompts
from judge.cache import CompletionCache, canonical, key_of
from judge.cache.contents import Contents
from judge.running.asking import RequestPolicy
from judge.running.dry import Forecast, forecast
from judge.running.session import JudgeSession
from judge.types import Completion, CompletionRequest, Message, Usage

LATENCY = 0.2
KIND = "0123456789abcdef"


def coming(
    runner: Runner,
    n: int,
    after: int,
    *,
    model: str = "model-x",
    url: str | None = None,
    concurrency: int = 4,
    reask: int = 1,
    **asking: Any,
) -> Forecast:
    """What judging n studies, after those that were judged, would take."""
    settings = backends.JudgeSettings(base_url=url, sends=False, **asking)
    judge = backends.load(model, runner.rubric, settings)
    policy = RequestPolicy(concurrency=concurrency, reask=reask)
    with JudgeSession(runner.rubric, judge, policy, runner.cache) as session:
        found = forecast(session, study_set(n, after))
    assert found is not None
    return found


def tags(runner: Runner) -> list[str | None]:
    with closing(sqlite3.connect(runner.cache / "cache.db")) as data:
        return [tag for (tag,) in data.execute("SELECT tag FROM Cache")]


def test_typical_comes_from_answers_about_other_studies(
    server: FaultServer, runner: Runner
) -> None:
    server.set_faults(latency=LATENCY)
    began = time.monotonic()
    _, progress = runner(6)
    took = time.monotonic() - began
    found = coming(runner, 10, 6, url=server.url)
    assert (found.requests, found.cached, found.n_seen) == (10, 0, 6)
    assert found.typical is not None
    each = progress.completion_tokens / 6
    assert found.typical.usage == Usage(found.prompt_tokens, round(10 * each))
    assert found.typical.minutes is not None
    # No answer took less than the server's wait, nor longer than all of them beside one another.
    assert LATENCY <= found.typical.minutes * 60 * 4 / 10 <= took
    # At most four of the requests are under way, and no more than there are.
    more = coming(runner, 10, 6, url=server.url, concurrency=40).typical
    assert more is not None
    assert more.minutes == pytest.approx(found.typical.minutes * 4 / 10)
    # At worst each is asked for twice, and its answer is as long as it may be.
    longest = 2048
    worst = found.worst
    assert (worst.requests, worst.usage.completion_tokens) == (20, 20 * longest)
    assert worst.usage.prompt_tokens == 2 * found.prompt_tokens + 10 * longest
    assert worst.minutes == pytest.approx(
        found.typical.minutes * worst.usage.completion_tokens / (10 * each)
    )
    assert coming(runner, 10, 6, url=server.url, reask=0).worst.requests == 10


def test_dollars_are_those_of_the_model_that_would_be_asked(
    server: FaultServer, runner: Runner
) -> None:
    runner(4, model="gpt-4o")  # a server of our own, under the name of the one that costs
    found = coming(runner, 100, 4, model="gpt-4o")
    assert found.typical is not None
    used = found.typical.usage
    dollars = (2.5 * used.prompt_tokens + 10 * used.completion_tokens) / 1e6
    assert found.typical.dollars == pytest.approx(dollars)
    assert found.worst.dollars is not None
    assert found.worst.dollars > dollars
    assert coming(runner, 1, 4, model="model-x", url=server.url).worst.dollars is None


def test_other_questions_do_not_count(server: FaultServer, runner: Runner, tmp_path: Path) -> None:
    runner(3)
    kept = Path(prompts.__file__).parent / f"{runner.rubric.prompt}.yaml"
    prompt = yaml.safe_load(kept.read_text("utf-8"))
    prompt["system"] += " Be brief."
    worded = tmp_path / "worded.yaml"
    worded.write_text(yaml.safe_dump(prompt), "utf-8")
    assert coming(runner, 2, 3, url=server.url).n_seen == 3
    for asking in (
        {"model": "model-y"},
        {"prompt": str(worded)},
        {"max_tokens": 99},
        {"sampling": {"temperature": 1}},
    ):
        found = coming(runner, 2, 3, url=server.url, **asking)
        assert (found.n_seen, found.typical, found.worst.minutes) == (0, None, None), asking


def test_answers_without_a_kind_answer_as_ever_and_foretell_nothing(
    server: FaultServer, runner: Runner
) -> None:
    runner(5)
    with closing(sqlite3.connect(runner.cache / "cache.db", isolation_level=None)) as data:
        data.execute("UPDATE Cache SET tag = NULL")
    found = coming(runner, 6, 0, url=server.url)
    assert (found.requests, found.cached, found.n_seen) == (1, 5, 0)
    server.reset()
    _, progress = runner(5)
    assert (progress.asked, server.stats().requests) == (0, 0)


def test_what_is_asked_again_is_another_question(server: FaultServer, runner: Runner) -> None:
    server.set_faults(studies={key: always(Fault.MALFORMED) for key in keys(2)})
    _, progress = runner(5, reask=1)
    assert progress.asked == 7
    assert sum(tag is not None for tag in tags(runner)) == 5
    assert coming(runner, 1, 5, url=server.url).n_seen == 5


def asked(at: int) -> CompletionRequest:
    return CompletionRequest("chat", "m", (Message("user", f"question {at}"),))


def answer(tokens: int) -> Completion:
    return Completion("text", "stop", "m", Usage(1, tokens))


def keep(cache: CompletionCache, at: int, tokens: int, kind: str = KIND) -> None:
    record = canonical(asked(at))
    cache.keep(key_of(record), record, answer(tokens), (kind, tokens / 10)).result()


def test_only_the_newest_of_many_are_looked_at(tmp_path) -> None:
    with CompletionCache(tmp_path / "cache") as cache:
        assert cache.seen(KIND) is None
        for at, tokens in enumerate((1000, 20, 40)):
            keep(cache, at, tokens)
        keep(cache, 9, 5, "f" * 16)
        cache.put(asked(10), answer(7))
        every, two = cache.seen(KIND), cache.seen(KIND, most=2)
        assert every is not None
        assert two is not None
        assert (every.n, two.n) == (3, 2)
        assert (two.completion_tokens, two.seconds) == (30, pytest.approx(3.0))
        assert cache.get(asked(0)) == answer(1000)
    assert len(list(Contents(tmp_path / "cache"))) == 5


@pytest.mark.parametrize("tag", [f"{KIND} x", f"{KIND} 1e9 5", f"{KIND} ", b"\xff", 7, KIND])
def test_what_others_wrote_there_counts_for_nothing(tmp_path, tag: object) -> None:
    with CompletionCache(tmp_path / "cache") as cache:
        keep(cache, 0, 50)
        keep(cache, 1, 70)
        with closing(
            sqlite3.connect(tmp_path / "cache" / "cache.db", isolation_level=None)
        ) as data:
            data.execute("UPDATE Cache SET tag = ? WHERE rowid = 1", (tag,))
            data.execute("UPDATE Cache SET tag = CAST(tag AS TEXT) WHERE tag = x'ff'")
        seen = cache.seen(KIND)
        assert seen is not None
        assert (seen.n, seen.completion_tokens) == (1, 70)

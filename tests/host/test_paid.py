"""Money and memory: the unknown stays reserved, odd usage loses nothing, replies are bounded."""

from __future__ import annotations

import asyncio
import gzip
import json
import resource
from pathlib import Path
from typing import Any

import pytest
from hostile import Hostile, completion, reply
from running import study_set

from judge import JudgeError, RequestPolicy, RunStoppedError, backends, jsonio, rubrics
from judge.backends.base import AskError
from judge.backends.openai import OPENAI_URL
from judge.backends.replies import MOST_BYTES
from judge.cache.store import CompletionCache
from judge.running.cost import Prices
from judge.running.judging import judge_set
from judge.running.progress import Progress, ProgressListener
from judge.running.session import JudgeSession
from judge.types import Usage

USAGE = {"prompt_tokens": 1000, "completion_tokens": 200}
PRICE = 1000 * 2.5e-6 + 200 * 10e-6
LIMIT = 0.4


def judged(
    url: str, cache: Path, n: int = 20, **policy: Any
) -> tuple[Progress, list[Any]]:
    """Judge n studies by a server whose answers cost what GPT-4o's do at OpenAI."""
    rubric = rubrics.load("green")
    settings = backends.JudgeSettings(base_url=url, timeout=policy.pop("timeout", 20.0))
    judge = backends.load("gpt-4o", rubric, settings)
    judge.billing_url = OPENAI_URL
    ends: list[Any] = []
    asked = RequestPolicy(**{"concurrency": 4, "max_requests": 2, "reask": 0, **policy})
    with JudgeSession(rubric, judge, asked, cache) as session:
        progress = judge_set(session, study_set(n), ends.append, ProgressListener())
    return progress, ends


async def break_off(writer: asyncio.StreamWriter) -> None:
    writer.close()  # after the work was done, for all that anybody knows


@pytest.mark.parametrize(
    ("serve", "words"),
    [
        (break_off, "connection"),
        (reply({}, "504 Gateway Timeout"), "504"),
        (reply({}, "500 Internal Server Error"), "500"),
        (reply(b"<html>"), "unreadable"),
    ],
)
def test_what_may_be_paid_for_stays_reserved_also_for_later_commands(
    tmp_path: Path, serve: Any, words: str
) -> None:
    """Six times the same command do not send more requests than the limit pays for."""
    most = Prices("gpt-4o", OPENAI_URL).at_most(
        backends.load(
            "gpt-4o", rubrics.load("green"), backends.JudgeSettings(sends=False)
        ).request(study_set(1).study(0))
    )
    assert most is not None
    with Hostile(serve) as server:
        for _ in range(3):
            with pytest.raises((RunStoppedError, JudgeError)) as stopped:
                judged(
                    server.url,
                    tmp_path,
                    max_cost=LIMIT,
                    max_outage=0.2,
                    max_requests=99,
                )
        n = len(server.requests)
    assert n * most <= LIMIT * 1.01, words
    assert "--max-" in str(stopped.value) or "completion" in str(stopped.value)


def test_what_surely_cost_nothing_is_given_back(tmp_path: Path) -> None:
    with Hostile(
        reply({"error": {"message": "slow down"}}, "429 Too Many Requests")
    ) as server:
        progress, ends = judged(
            server.url, tmp_path, n=3, max_cost=LIMIT, max_requests=1
        )
    assert [end.outcome.reason for end in ends] == ["rate limit"] * 3
    assert (progress.dollars, progress.unknown_requests) == (0.0, 0)


def test_usage_that_comes_with_a_failure_is_priced(tmp_path: Path) -> None:
    filtered = completion(usage=USAGE)
    filtered["choices"][0]["finish_reason"] = "content_filter"  # type: ignore[index]
    with Hostile(reply(filtered)) as server:
        progress, ends = judged(server.url, tmp_path, n=3, max_cost=LIMIT)
        assert [end.outcome.reason for end in ends] == ["content filter"] * 3
        assert progress.dollars == pytest.approx(3 * PRICE)
        with pytest.raises(RunStoppedError, match="of it by earlier commands"):
            judged(server.url, tmp_path, n=3, max_cost=3 * PRICE)
        assert len(server.requests) == 3


def test_answers_in_the_cache_count_towards_the_limit(tmp_path: Path) -> None:
    with Hostile(reply(completion(usage=USAGE))) as server:
        with pytest.raises(RunStoppedError):
            judged(server.url, tmp_path, n=200, max_cost=LIMIT)
        first = len(server.requests)
        for _ in range(2):
            with pytest.raises(RunStoppedError, match="--max-cost"):
                judged(server.url, tmp_path, n=200, max_cost=LIMIT)
        assert first * PRICE <= len(server.requests) * PRICE <= LIMIT
        assert len(judged(server.url, tmp_path, n=200, max_cost=10.0)[1]) == 200


ODD = [
    {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 99},
    },
    {"prompt_tokens": -1, "completion_tokens": 5},
    {"prompt_tokens": "10", "completion_tokens": 5},
    {"prompt_tokens": 10},
    [1, 2],
    "many",
]
TEXT = json.dumps(completion())
TWICE = [
    TEXT[:-1] + ', "usage": {"prompt_tokens": 1, "completion_tokens": 1}}',
    TEXT.replace('"prompt_tokens": 10', '"prompt_tokens": 10, "prompt_tokens": 11'),
]


@pytest.mark.parametrize("odd", [*ODD, *TWICE], ids=str)
def test_odd_usage_is_an_unknown_cost_and_no_loss(tmp_path: Path, odd: Any) -> None:
    body = odd.encode() if odd in TWICE else completion(usage=odd)
    with Hostile(reply(body)) as server:
        progress, ends = judged(server.url, tmp_path, n=2)
        assert [type(end.outcome).__name__ for end in ends] == ["Scored"] * 2
        assert progress.cost == "unknown"
        assert len(server.requests) == 2
    with CompletionCache(tmp_path) as cache:
        assert len(cache) == 2


def test_a_key_twice_elsewhere_is_no_reply(tmp_path: Path) -> None:
    body = TEXT.replace(
        '"finish_reason": "stop"', '"finish_reason": "stop", "finish_reason": "x"'
    )
    with Hostile(reply(body.encode())) as server:
        _, ends = judged(server.url, tmp_path, n=1)
    assert ends[0].outcome.reason == "unreadable response"


def test_whatever_the_prices_raise_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    import genai_prices

    def fails(*_args: object, **_named: object) -> None:
        raise RuntimeError("odd")

    monkeypatch.setattr(genai_prices, "calc_price", fails)
    assert Prices("gpt-4o", OPENAI_URL).dollars(Usage(1, 1)) is None


def test_repeated_keys_of_a_long_object_are_found_in_linear_time() -> None:
    keys = ", ".join(f'"{at}": 0' for at in range(100_000))
    with pytest.raises(jsonio.JsonError, match="duplicate key: 7"):
        jsonio.read(f'{{{keys}, "7": 1}}')


# Memory


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while True:
        writer.write(b" " * 2**20)
        await writer.drain()


def bomb(status: str) -> bytes:
    packed = gzip.compress(b" " * (20 * MOST_BYTES))
    return reply(packed, status, "Content-Encoding: gzip")


@pytest.mark.parametrize(
    "serve",
    [endless, bomb("200 OK"), bomb("400 Bad Request")],
    ids=["endless", "200", "400"],
)
def test_a_reply_has_16_mb(tmp_path: Path, serve: Any) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with Hostile(serve) as server:
        _, ends = judged(server.url, tmp_path, n=1, concurrency=1, max_requests=1)
    assert ends[0].outcome.reason == "unreadable response"
    assert "longer than 16 MB" in ends[0].outcome.detail
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * 1024 < 8 * MOST_BYTES


def test_a_small_packed_reply_is_read(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT.encode())
    with Hostile(reply(packed, "200 OK", "Content-Encoding: gzip")) as server:
        _, ends = judged(server.url, tmp_path, n=1)
    assert type(ends[0].outcome).__name__ == "Scored"


def test_certificates_that_cannot_be_read_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    expected = pytest.raises(JudgeError, match="SSL_CERT_FILE")
    with Hostile(reply(completion())) as server, expected:
        judged(server.url, tmp_path, n=1)


def test_an_error_is_free_only_where_that_is_known() -> None:
    assert not AskError("timeout").is_free
    assert Progress(0, unknown_requests=2, unknown_dollars=0.5).cost == (
        "$0.00, and up to $0.50 for 2 requests without an answer"
    )

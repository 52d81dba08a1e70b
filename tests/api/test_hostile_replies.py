"""Replies that never end, are too large, or are none: each ends, in bounded time and memory."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import tracemalloc
import zlib
from pathlib import Path

import pytest
from hostile import ANSWER, Hostile, Serve, completion, judged, reply

from judge.backends.openai_client import MOST_BYTES
from judge.types import Annotated, Failed, JudgeError, Usage


def outcome(serve: Serve | bytes, folder: Path, **options: object) -> object:
    with Hostile(serve) as server:
        ends, _ = judged(server.url, folder, **options)  # type: ignore[arg-type]
        found = ends["study-0000"].outcome
        return (found, len(server.requests))


async def drip(writer: asyncio.StreamWriter) -> None:
    """The head, then a byte now and then, for ever: each read succeeds."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


def test_a_timeout_is_for_the_whole_answer(tmp_path: Path) -> None:
    began = time.monotonic()
    found, asked = outcome(drip, tmp_path, timeout=0.5)  # type: ignore[misc]
    assert found == Failed("timeout", found.detail)
    assert asked == 2
    assert time.monotonic() - began < 30


async def flood(writer: asyncio.StreamWriter) -> None:
    """Chunks without end."""
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    while True:
        writer.write(piece)
        await writer.drain()


async def head_flood(writer: asyncio.StreamWriter) -> None:
    """Header fields without end."""
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"x-more: " + b"y" * 4000 + b"\r\n")
        await writer.drain()


def bomb(size: int) -> bytes:
    """A reply of `size` blanks that travels in a thousandth of it."""
    return reply(gzip.compress(b" " * size), "200 OK", "Content-Encoding: gzip")


@pytest.mark.parametrize("name", ["flood", "head_flood", "bomb", "deflate"])
def test_a_reply_without_end_is_not_held_in_memory(tmp_path: Path, name: str) -> None:
    size = 20 * MOST_BYTES
    serves = {"flood": flood, "head_flood": head_flood}.get(name)
    if name == "bomb":
        serves = bomb(size)
    elif name == "deflate":
        packed = zlib.compress(b" " * size)
        serves = reply(packed, "200 OK", "Content-Encoding: deflate")
    tracemalloc.start()
    try:
        found, asked = outcome(serves, tmp_path)  # type: ignore[misc]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(found, Failed)
    assert found.reason in ("unreadable response", "connection")
    assert asked == 2
    assert peak < 6 * MOST_BYTES


def test_a_packed_reply_of_sensible_size_is_read(tmp_path: Path) -> None:
    data = gzip.compress(json.dumps(completion()).encode())
    found, _ = outcome(reply(data, "200 OK", "Content-Encoding: gzip"), tmp_path)  # type: ignore[misc]
    assert isinstance(found, Annotated)


NO_COMPLETION = {
    "a page": reply(b"<html>Sign in</html>", "200 OK", "Content-Type: text/html"),
    "empty": reply(b""),
    "a list": reply([1]),
    "a number": reply(7),
    "an error": reply({"error": {"message": "Input validation error", "code": 422}}),
    "no choices": reply(completion(choices=[])),
    "text that is none": reply(
        completion(choices=[{"finish_reason": "stop", "message": {"content": [{"a": 1}]}}])
    ),
    "deep": reply(b"[" * 200_000),
    "deep object": reply(b'{"a":' * 200_000),
    "long number": reply(b'{"choices": ' + b"9" * 100_000 + b"}"),
    "not UTF-8": reply(b'{"choices": "\xff"}'),
    "packed as br": reply(b"xx", "200 OK", "Content-Encoding: br"),
    "broken gzip": reply(b"\x1f\x8bxx", "200 OK", "Content-Encoding: gzip"),
    "204": reply(b"", "204 No Content"),
    "not HTTP": b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n",
}


@pytest.mark.parametrize("name", NO_COMPLETION)
def test_what_is_no_completion_is_asked_for_twice_and_no_more(tmp_path: Path, name: str) -> None:
    found, asked = outcome(NO_COMPLETION[name], tmp_path, max_requests=8)  # type: ignore[misc]
    assert isinstance(found, Failed), found
    assert found.reason == "unreadable response"
    assert asked == 2
    if name == "an error":
        assert "Input validation error" in found.detail


def test_a_run_of_no_completions_stops_after_ten_studies(tmp_path: Path) -> None:
    with Hostile(NO_COMPLETION["a page"]) as server:
        with pytest.raises(JudgeError, match="10 studies in a row are no completions") as caught:
            judged(server.url, tmp_path, 300, max_requests=8)
        assert len(str(caught.value).splitlines()) == 1
        assert 20 <= len(server.requests) <= 20 + 4


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        "many",
        {"prompt_tokens": "7", "completion_tokens": 1},
        {"prompt_tokens": -1, "completion_tokens": 1},
        {"prompt_tokens": 1.5, "completion_tokens": 1},
        {"prompt_tokens": 10**400, "completion_tokens": 1},
        {"prompt_tokens": True, "completion_tokens": 1},
        {"completion_tokens": 1},
        {
            "prompt_tokens": 1,
            "completion_tokens": 1,
            "prompt_tokens_details": {"cached_tokens": []},
        },
    ],
)
def test_an_odd_usage_is_no_reason_to_lose_an_answer(tmp_path: Path, usage: object) -> None:
    with Hostile(reply(completion(usage=usage))) as server:
        ends, _ = judged(server.url, tmp_path)
    end = ends["study-0000"]
    assert isinstance(end.outcome, Annotated)
    assert end.completion is not None
    is_known = isinstance(usage, dict) and "prompt_tokens_details" in usage
    assert end.completion.usage == (Usage(1, 1) if is_known else None)


def test_infinite_tokens(tmp_path: Path) -> None:
    body = json.dumps(completion()).replace('"prompt_tokens": 10', '"prompt_tokens": 1e999')
    with Hostile(reply(body.encode())) as server:
        ends, _ = judged(server.url, tmp_path)
    completed = ends["study-0000"].completion
    assert completed is not None
    assert completed.text == ANSWER
    assert completed.usage is None


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/vnd.api+json", "text/html; charset=no-such", ";;;"]
)
def test_a_completion_is_read_whatever_it_is_called(tmp_path: Path, kind: str) -> None:
    found, _ = outcome(reply(completion(), "200 OK", f"Content-Type: {kind}"), tmp_path)  # type: ignore[misc]
    assert isinstance(found, Annotated)


@pytest.mark.parametrize("status", ["301", "302", "303", "307", "308"])
def test_no_redirect_is_followed(tmp_path: Path, status: str) -> None:
    with Hostile(reply(completion())) as other:
        where = f"{other.url.replace('http://', 'http://me:hunter2@')}/chat/completions?key=hunter3"
        with Hostile(reply(b"", f"{status} Moved", f"Location: {where}")) as server:
            with pytest.raises(JudgeError, match="redirects to") as caught:
                judged(server.url, tmp_path)
            assert len(server.requests) == 1
        assert not other.requests
    assert f"127.0.0.1:{other.port}/v1/chat/completions" in str(caught.value)
    assert "hunter" not in str(caught.value)


def test_a_key_that_the_server_echoes_is_masked(tmp_path: Path) -> None:
    said = {"error": {"message": "Incorrect API key provided: sk-secret-key. Mind sk-secret-key"}}
    with (
        Hostile(reply(said, "401 Unauthorized")) as server,
        pytest.raises(JudgeError, match="refuses the key") as caught,
    ):
        judged(server.url, tmp_path)
    assert "secret" not in str(caught.value)
    assert "***" in str(caught.value)

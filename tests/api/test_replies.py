"""What replies mean, in the servers' own words; replies without end, too large, or none."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx2
import pytest
from hostile import ANSWER, Hostile, Serve, completion, judged, reply

from judge.backends.base import (
    AskError,
    OverloadError,
    RefusedError,
    StudyError,
    TransientError,
    UnavailableError,
)
from judge.backends.openai_client import OpenAIReplies
from judge.backends.waits import LONGEST_WAIT
from judge.types import Failed, JudgeError, Scored, Usage


def openais(
    message: str, code: str | None = None, kind: str = "invalid_request_error"
) -> object:
    return {
        "error": {"message": message, "type": kind, "param": "messages", "code": code}
    }


def flat(message: str) -> object:
    """As vLLM and SGLang put it before they followed OpenAI."""
    return {
        "object": "error",
        "message": message,
        "type": "BadRequestError",
        "code": 400,
    }


def error(status: int, body: object, **headers: str) -> Exception:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    said = httpx2.Response(status, headers=headers, content=data)
    return OpenAIReplies("http://127.0.0.1/v1", "none").meaning(said, {})


# From the servers' issue trackers: vllm 20409, 3785 (xinference), 12165, 4667; sglang 4048,
# Qwen3 1321; text-generation-inference 340 (chat-ui), llama 1103, h2ogpt 373; azure-sdk 41892.
TOO_LONG: list[tuple[int, object]] = [
    (400, openais("Your input exceeds the context window.", "context_length_exceeded")),
    (
        400,
        openais(
            "This model's maximum context length is 32768 tokens. You requested 35969."
        ),
    ),
    (
        400,
        flat(
            "The decoder prompt (length 9) is longer than the maximum model length of 8."
        ),
    ),
    (
        400,
        flat(
            "The prompt (total length 25938) is too long to fit into the model (4096)."
        ),
    ),
    (400, flat("max_tokens must be at least 1, got -186.")),
    (
        400,
        openais(
            "request (4476 tokens) exceeds the available context size (4096 tokens)"
        ),
    ),
    (500, openais("input is too large to process. increase the physical batch size")),
    (400, openais("the input length exceeds the context length")),
    (400, {"error": "prompt too long; exceeded max context length by 12 tokens"}),
    (422, {"error": "`inputs` tokens + `max_new_tokens` must be <= 1512. Given: 1024"}),
    (422, {"error": "`inputs` must have less than 4096 tokens. Given: 4545"}),
    (
        400,
        flat(
            "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens)."
        ),
    ),
    (413, {"detail": "Request Entity Too Large"}),
]
STOPS: list[tuple[int, object]] = [
    (307, b""),
    (402, {"error": {"message": "Insufficient balance"}}),
    (429, openais("You exceeded your current quota", None, "insufficient_quota")),
]
REFUSED: list[tuple[int, object]] = [
    (400, openais("Invalid value: 'robot'. Supported values are: 'system'.")),
    (400, flat("A chat template is required.")),
    (400, openais("Invalid 'max_tokens': integer below minimum value.")),
    (422, {"error": "Input validation error: `temperature` must be strictly positive"}),
    (400, b"<h1>Bad Request</h1>"),
    (401, openais("Incorrect API key provided", "invalid_api_key")),
    (403, openais("Country not supported", "unsupported_country")),
    (404, openais("The model `x` does not exist", "model_not_found")),
    (501, {"detail": "not implemented"}),
]
OTHERS: list[tuple[int, object, type[Exception]]] = [
    (400, openais("The response was filtered", "content_filter"), StudyError),
    (400, openais("JSON does not match", "json_validate_failed"), TransientError),
    (429, openais("Rate limit reached", "rate_limit_exceeded"), OverloadError),
    (409, {}, TransientError),
    (500, openais("The server had an error", None, "server_error"), TransientError),
    (500, b"", TransientError),
    (500, b"null", TransientError),
    (502, b"<html>502 Bad Gateway</html>", UnavailableError),
    (503, {"error": {"message": "overloaded"}}, UnavailableError),
]


@pytest.mark.parametrize("said", TOO_LONG)
def test_too_long_fails_its_study_whoever_says_it(said: tuple[int, object]) -> None:
    meant = error(*said)
    assert isinstance(meant, RefusedError), meant
    assert meant.is_too_long


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_refused_is_weighed_by_what_was_accepted(
    said: tuple[int, object],
) -> None:
    meant = error(*said)
    assert isinstance(meant, RefusedError)
    assert not meant.is_too_long


@pytest.mark.parametrize("said", STOPS)
def test_what_stops_a_run(said: tuple[int, object]) -> None:
    meant = error(*said)
    assert isinstance(meant, JudgeError)
    assert not isinstance(meant, AskError)


@pytest.mark.parametrize(("status", "body", "kind"), OTHERS)
def test_what_one_request_meets(
    status: int, body: object, kind: type[Exception]
) -> None:
    assert isinstance(error(status, body), kind)


# How long a server asks to wait


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("1e999", LONGEST_WAIT),
        ("nan", None),
        ("Mon, 01 Jan 2001 00:00:00", 0.0),
        ("soon", None),
    ],
)
def test_retry_after_is_read_or_ignored(value: str, seconds: float | None) -> None:
    limited = error(429, {}, **{"retry-after": value})
    assert isinstance(limited, OverloadError)
    assert limited.retry_after == seconds


# Replies that are none


def outcome(
    serve: Serve | bytes, folder: Path, **options: object
) -> tuple[object, int]:
    with Hostile(serve) as server:
        ends, _ = judged(server.url, folder, **options)  # type: ignore[arg-type]
        return ends["study-0000"].outcome, len(server.requests)


async def drip(writer: asyncio.StreamWriter) -> None:
    """The head, then a byte now and then, for ever: each read succeeds."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


def test_a_timeout_is_for_the_whole_answer(tmp_path: Path) -> None:
    found, asked = outcome(drip, tmp_path, timeout=0.5)
    assert isinstance(found, Failed)
    assert (found.reason, asked) == ("timeout", 2)


NO_COMPLETION = {
    "a page": reply(b"<html>Sign in</html>", "200 OK", "Content-Type: text/html"),
    "empty": reply(b""),
    "an error": reply({"error": {"message": "Input validation error"}}),
    "no choices": reply(completion(choices=[])),
    "text that is none": reply(
        completion(
            choices=[{"finish_reason": "stop", "message": {"content": [{"a": 1}]}}]
        )
    ),
    "deep": reply(b"[" * 200_000),
    "broken gzip": reply(b"\x1f\x8bxx", "200 OK", "Content-Encoding: gzip"),
    "not HTTP": b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n",
}


@pytest.mark.parametrize("name", NO_COMPLETION)
def test_what_is_no_completion_is_asked_for_twice_and_no_more(
    tmp_path: Path, name: str
) -> None:
    found, asked = outcome(NO_COMPLETION[name], tmp_path, max_requests=8)
    assert isinstance(found, Failed), found
    assert (found.reason, asked) == ("unreadable response", 2)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {"prompt_tokens": -1, "completion_tokens": 1},
        {"prompt_tokens": float("inf"), "completion_tokens": 1},
        {"prompt_tokens": 1, "completion_tokens": 1, "prompt_tokens_details": []},
    ],
)
def test_an_odd_usage_is_no_reason_to_lose_an_answer(
    tmp_path: Path, usage: object
) -> None:
    with Hostile(reply(completion(usage=usage))) as server:
        end = judged(server.url, tmp_path)[0]["study-0000"]
    assert isinstance(end.outcome, Scored)
    assert end.completion is not None
    assert end.completion.text == ANSWER
    is_known = isinstance(usage, dict) and "prompt_tokens_details" in usage
    assert end.completion.usage == (Usage(1, 1) if is_known else None)


def test_a_key_that_the_server_echoes_is_masked(tmp_path: Path) -> None:
    said = {
        "error": {
            "message": "Incorrect API key provided: sk-secret-key. Mind sk-secret-key"
        }
    }
    with (
        Hostile(reply(said, "401 Unauthorized")) as server,
        pytest.raises(JudgeError, match="key") as caught,
    ):
        judged(server.url, tmp_path)
    assert "secret" not in str(caught.value)

"""What servers' error replies mean, in their own words, and beside OpenAI's own client."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import openai
import pytest
from hostile import GREEN, Hostile, completion, judged, reply
from running import study_set

from judge import backends
from judge.backends.connection import Connection
from judge.backends.errors import (
    AskError,
    OverloadError,
    StudyError,
    TransientError,
    UnavailableError,
)
from judge.backends.openai_client import Client
from judge.backends.replies import ErrorReply, RefusedError
from judge.types import Annotated, Failed, JudgeError


def openais(message: str, code: str | None = None, kind: str = "invalid_request_error") -> object:
    return {"error": {"message": message, "type": kind, "param": "messages", "code": code}}


def flat(message: str) -> object:
    """As vLLM and SGLang put it before they followed OpenAI."""
    return {"object": "error", "message": message, "type": "BadRequestError", "code": 400}


def vllm(message: str) -> object:
    return {"error": {"message": message, "type": "BadRequestError", "param": None, "code": 400}}


# From the servers' issue trackers: vllm 20409, 3785 (xinference), 12165, 4667; sglang 4048,
# Qwen3 1321; text-generation-inference 340 (chat-ui), llama 1103, h2ogpt 373; azure-sdk 41892.
TOO_LONG = {
    "openai": (
        400,
        openais(
            "This model's maximum context length is 4097 tokens. However, your messages resulted "
            "in 4113 tokens. Please reduce the length of the messages.",
            "context_length_exceeded",
        ),
    ),
    "openai, newer": (
        400,
        openais("Your input exceeds the context window of this model.", "context_length_exceeded"),
    ),
    "azure": (
        400,
        openais(
            "This model's maximum context length is 32768 tokens. However, you requested 35969 "
            "tokens (9969 in the messages, 26000 in the completion).",
            "context_length_exceeded",
        ),
    ),
    "vllm": (
        400,
        vllm(
            "This model's maximum context length is 16384 tokens. However, you requested 19591 "
            "tokens (9591 in the messages, 10000 in the completion). None"
        ),
    ),
    "vllm, flat": (400, flat("This model's maximum context length is 2048 tokens.")),
    "vllm, decoder": (
        400,
        vllm("The decoder prompt (length 2136) is longer than the maximum model length of 2048."),
    ),
    "vllm, does not fit": (
        400,
        vllm(
            "The prompt (total length 25938) is too long to fit into the model (context length "
            "4096). Make sure that `max_model_len` is no smaller than the number of text tokens."
        ),
    ),
    "vllm, no room": (400, flat("max_tokens must be at least 1, got -186.")),
    "llama.cpp": (
        400,
        {
            "error": {
                "code": 400,
                "message": "request (4476 tokens) exceeds the available context size (4096 tokens)",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 4476,
                "n_ctx": 4096,
            }
        },
    ),
    "llama.cpp, older": (
        500,
        {
            "error": {
                "code": 500,
                "message": "input is too large to process. increase the physical batch size",
                "type": "server_error",
            }
        },
    ),
    "ollama": (400, openais("the input length exceeds the context length")),
    "ollama, plain": (400, {"error": "prompt too long; exceeded max context length by 12 tokens"}),
    "tgi": (
        422,
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 1512. "
            "Given: 1000 `inputs` tokens and 1024 `max_new_tokens`",
            "error_type": "validation",
        },
    ),
    "tgi, inputs": (
        422,
        {
            "error": "Input validation error: `inputs` must have less than 4096 tokens. "
            "Given: 4545",
            "error_type": "validation",
        },
    ),
    "sglang": (
        400,
        flat("The input (61709 tokens) is longer than the model's context length (40960 tokens)."),
    ),
    "sglang, allowed": (
        400,
        flat("Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens)."),
    ),
    "too large": (413, {"detail": "Request Entity Too Large"}),
}
OTHER = {
    "a bad value": (400, openais("Invalid value: 'robot'. Supported values are: 'system'.")),
    "no such template": (400, flat("A chat template is required.")),
    "max_tokens": (400, openais("Invalid 'max_tokens': integer below minimum value.")),
    "tgi": (422, {"error": "Input validation error: `temperature` must be strictly positive"}),
    "not json": (400, b"<h1>Bad Request</h1>"),
}


def error(status: int, body: object, **headers: str) -> ErrorReply:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ErrorReply("http://127.0.0.1/v1", status, headers, data)


@pytest.mark.parametrize("name", TOO_LONG)
def test_too_long_fails_its_study_whoever_says_it(name: str) -> None:
    meant = error(*TOO_LONG[name]).meaning({}, None, "none")
    assert isinstance(meant, StudyError), meant
    assert meant.reason == "too long"


@pytest.mark.parametrize("name", OTHER)
def test_another_refusal_is_not_taken_for_too_long(name: str) -> None:
    assert isinstance(error(*OTHER[name]).meaning({}, None, "none"), JudgeError)


def test_one_long_study_does_not_stop_a_run(tmp_path: Path) -> None:
    status, body = TOO_LONG["llama.cpp"]
    n = 0

    async def serve(writer: asyncio.StreamWriter) -> None:
        nonlocal n
        n += 1
        writer.write(reply(body, f"{status} Bad") if n == 3 else reply(completion()))
        await writer.drain()

    with Hostile(serve) as server:
        ends, _ = judged(server.url, tmp_path, 6, concurrency=1)
    kinds = [type(end.outcome) for end in ends.values()]
    assert kinds == [Annotated] * 2 + [Failed] + [Annotated] * 3


BODIES = {
    **TOO_LONG,
    **{f"other {name}": case for name, case in OTHER.items()},
    "key": (401, openais("Incorrect API key provided", "invalid_api_key")),
    "forbidden": (403, openais("Country not supported", "unsupported_country")),
    "model": (404, openais("The model `x` does not exist", "model_not_found")),
    "azure deployment": (404, {"error": {"code": "DeploymentNotFound", "message": "no such"}}),
    "azure filter": (
        400,
        {
            "error": {
                "code": "content_filter",
                "message": "The response was filtered",
                "param": "prompt",
                "innererror": {"code": "ResponsibleAIPolicyViolation"},
            }
        },
    ),
    "rate": (429, openais("Rate limit reached", "rate_limit_exceeded", "tokens")),
    "quota": (429, openais("You exceeded your current quota", None, "insufficient_quota")),
    "conflict": (409, {}),
    "error": (500, openais("The server had an error", None, "server_error")),
    "gateway": (502, b"<html>502 Bad Gateway</html>"),
    "overloaded": (503, {"error": {"message": "overloaded"}}),
    "empty": (500, b""),
    "null": (500, b"null"),
    "a text": (500, b'"no"'),
}


@pytest.mark.parametrize("name", BODIES)
def test_an_error_is_read_as_openais_client_reads_it(name: str) -> None:
    """Its taxonomy is the oracle: message, code, param and type are its own."""
    status, body = BODIES[name]
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with Hostile(reply(raw, f"{status} Error")) as server:
        client = openai.OpenAI(base_url=server.url, api_key="none", max_retries=0)
        with client, pytest.raises(openai.APIStatusError) as caught:
            client.chat.completions.create(model="m", messages=[])
    theirs, ours = caught.value, error(status, body)
    assert theirs.status_code == status
    assert (ours.message, ours.param) == (theirs.message, theirs.param)
    assert (ours.code, ours.kind) == (theirs.code, theirs.type)
    expected: dict[type[Exception], type[Exception] | tuple[type[Exception], ...]] = {
        openai.AuthenticationError: JudgeError,
        openai.PermissionDeniedError: JudgeError,
        openai.NotFoundError: JudgeError,
        openai.RateLimitError: (OverloadError, JudgeError),
        openai.ConflictError: TransientError,
        openai.InternalServerError: (TransientError, UnavailableError, StudyError),
    }
    meant = ours.meaning({}, None, "none")
    assert isinstance(meant, expected.get(type(theirs), (StudyError, JudgeError)))
    assert isinstance(meant, AskError | JudgeError)


def test_a_request_is_the_one_that_openais_client_sends() -> None:
    bodies: list[object] = []
    settings = backends.JudgeSettings(base_url="http://127.0.0.1:1/v1")
    judge = backends.load("model-x", GREEN, settings)
    request = judge.request(next(iter(study_set(1))))
    messages = [{"role": turn.role, "content": turn.content} for turn in request.messages]
    body = {"model": "model-x", "messages": messages, **request.sampling}

    class Recording(Hostile):
        async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            read = reader.readexactly

            async def noted(n: int) -> bytes:
                data = await read(n)
                if n > 1:
                    bodies.append(json.loads(data))
                return data

            reader.readexactly = noted  # type: ignore[method-assign]
            await super()._client(reader, writer)

    with Recording(reply(completion())) as server:
        theirs = openai.OpenAI(base_url=server.url, api_key="sk-k", max_retries=0)
        with theirs:
            theirs.chat.completions.create(**body)  # type: ignore[call-overload]

        async def ours() -> None:
            client = Client(Connection(server.url), "sk-k")
            await client.ask(body)
            await client.aclose()

        asyncio.run(ours())
        one, other = server.requests
    assert bodies[0] == bodies[1]
    assert one.split("\r\n")[0] == other.split("\r\n")[0]
    for name in ("authorization: bearer sk-k", "content-type: application/json"):
        assert name in one.lower()
        assert name in other.lower()


def test_a_refused_parameter_is_told_from_a_refused_request() -> None:
    body = openais("Unsupported parameter: 'max_tokens' is not supported with this model.")
    meant = error(400, body).meaning({"model": "m", "max_tokens": 5}, None, "none")
    assert isinstance(meant, RefusedError)
    assert meant.what == "max_tokens"

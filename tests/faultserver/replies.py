"""What the server says: requests read, answers and errors in OpenAI's shapes."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any

from faultserver.answers import MALFORMED, REFUSAL
from faultserver.faults import Behaviour, Fault
from judge.types import Usage

# How many characters of text the server counts as a token.
_TOKEN = 4


NOTHING = Usage(0, 0)


@dataclass(frozen=True, slots=True)
class Reply:
    """A response, with the tokens that it bills."""

    status: int
    body: bytes
    headers: Mapping[str, str] | None = None
    usage: Usage = NOTHING


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for a completion; `formed` where a structured reply is asked for."""

    is_chat: bool
    key: str
    prompt_tokens: int
    payload: Mapping[str, Any]
    mode: str
    formed: bool


def read_ask(payload: Mapping[str, Any], pattern: str) -> Ask:
    is_chat = "messages" in payload
    if is_chat:
        texts = [message["content"] or "" for message in payload["messages"]]
    else:
        prompt = payload["prompt"]
        # Token ids are read as the characters' code points.
        texts = [prompt if isinstance(prompt, str) else "".join(map(chr, prompt))]
    mode = (payload.get("response_format") or {}).get("type", "text")
    matches = [found[0] for text in reversed(texts) if (found := re.search(pattern, text))]
    key = matches[0] if matches else hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
    tokens = sum(map(len, texts)) // _TOKEN + 1
    formed = mode != "text" or '"properties": {' in texts[0]
    return Ask(is_chat, key, tokens, payload, mode, formed)


def error(status: int, message: str, code: str | None = None, param: str | None = None) -> Reply:
    kind = code or "invalid_request_error"
    body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return Reply(status, json.dumps(body).encode())


_LONG = "This model's maximum context length is 128 tokens; shorten the messages."
_SOON = {"Retry-After": "0.05"}
_ERRORS = {
    Fault.RATE_LIMIT: replace(error(429, "Too many.", "rate_limit_exceeded"), headers=_SOON),
    Fault.SERVER_ERROR: error(500, "The server had an error."),
    Fault.UNAVAILABLE: error(503, "The server is overloaded or not ready."),
    Fault.TOO_LONG: error(400, _LONG, "context_length_exceeded", "messages"),
    Fault.WRONG_KEY: error(401, "Incorrect API key provided.", "invalid_api_key"),
}


def plus(one: Usage, other: Usage) -> Usage:
    return Usage(*(a + b for a, b in zip(astuple(one), astuple(other), strict=True)))


def error_for(fault: Fault | None) -> Reply | None:
    return _ERRORS.get(fault) if fault else None


def refusal_of(ask: Ask, behaviour: Behaviour) -> Reply | None:
    for name, code in behaviour.refused_parameters.items():
        value = ask.payload.get(name)
        if value is not None and not (code == "unsupported_value" and value == 1):
            text = f"Unsupported parameter or value: '{name}' {value} with this model."
            return error(400, text, code, name)
    if ask.mode in behaviour.refused_modes:
        return error(
            400, f"'response_format' of type '{ask.mode}' is not supported with this model."
        )
    return None


def answer(ask: Ask, right: str, fault: Fault | None) -> Reply:
    spoilt = {
        Fault.MALFORMED: MALFORMED,
        Fault.EMPTY: "",
        Fault.REFUSAL: None,
        Fault.REFUSAL_TEXT: REFUSAL,
        Fault.TRUNCATED: right[: len(right) // 2],
    }
    text = spoilt.get(fault, right) if fault else right
    refusal = REFUSAL if fault is Fault.REFUSAL else None
    finish = "length" if fault is Fault.TRUNCATED else "stop"
    if not ask.is_chat:
        text, refusal = refusal or text, None
    written = len(text or refusal or "") // _TOKEN + 1
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": refusal}
    said: dict[str, Any] = {"message": message} if ask.is_chat else {"text": text or ""}
    body = {
        "id": "cmpl",
        "object": "chat.completion" if ask.is_chat else "text_completion",
        "created": int(time.time()),
        "model": ask.payload["model"],
        "choices": [{"index": 0, "logprobs": None, "finish_reason": finish, **said}],
        "usage": {
            "prompt_tokens": ask.prompt_tokens,
            "completion_tokens": written,
            "total_tokens": ask.prompt_tokens + written,
        },
    }
    data = json.dumps(body).encode()
    return Reply(200, data, usage=Usage(ask.prompt_tokens, written))

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
    matches = [
        found[0] for text in reversed(texts) if (found := re.search(pattern, text))
    ]
    key = (
        matches[0]
        if matches
        else hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
    )
    tokens = sum(map(len, texts)) // _TOKEN + 1
    formed = mode != "text" or '"properties": {' in texts[0]
    return Ask(is_chat, key, tokens, payload, mode, formed)


def error(
    status: int, message: str, code: str | None = None, param: str | None = None
) -> Reply:
    kind = code or "invalid_request_error"
    body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return Reply(status, json.dumps(body).encode())


_LONG = "This model's maximum context length is 128 tokens; shorten the messages."
_SOON = {"Retry-After": "0.05"}
_ERRORS = {
    Fault.RATE_LIMIT: replace(
        error(429, "Too many.", "rate_limit_exceeded"), headers=_SOON
    ),
    Fault.SERVER_ERROR: error(500, "The server had an error."),
    Fault.UNAVAILABLE: error(503, "The server is overloaded or not ready."),
    Fault.TOO_LONG: error(400, _LONG, "context_length_exceeded", "messages"),
    Fault.WRONG_KEY: error(401, "Incorrect API key provided.", "invalid_api_key"),
    Fault.ODD_REFUSAL: error(400, "Your text has patterns that we do not process."),
    Fault.MODERATION: error(403, "Your input was flagged."),
    Fault.ERROR_INSIDE: Reply(
        200,
        json.dumps(
            {"choices": None, "error": {"message": "busy", "code": 503}}
        ).encode(),
    ),
    Fault.PAGE: Reply(200, b"<html><body>Sign in</body></html>"),
}


_ENDINGS = {
    Fault.TRUNCATED: "length",
    Fault.ABORTED: "abort",
    Fault.OTHER_STOP: "eos_token",
    Fault.ODD_END: "moonrise",
    Fault.NO_END: None,
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
    for name, sentence in behaviour.sentences.items():
        roles = {turn["role"] for turn in ask.payload.get("messages", ())}
        if name in ask.payload or name in roles:
            return Reply(400, json.dumps({"detail": sentence}).encode())
    wanted = (
        ask.payload.get("max_tokens") or ask.payload.get("max_completion_tokens") or 0
    )
    if behaviour.context and wanted > behaviour.context * 3 // 4:
        return error(
            400,
            f"This model's maximum context length is {behaviour.context} tokens. However, you "
            f"requested {wanted} tokens in the completion.",
        )
    if ask.mode in behaviour.refused_modes:
        return error(
            400,
            f"'response_format' of type '{ask.mode}' is not supported with this model.",
        )
    return None


def answer(ask: Ask, right: str, fault: Fault | None) -> Reply:
    spoilt = {
        Fault.MALFORMED: MALFORMED,
        Fault.EMPTY: "",
        Fault.REFUSAL: None,
        Fault.REFUSAL_TEXT: REFUSAL,
        Fault.TRUNCATED: right[: len(right) // 2],
        Fault.ABORTED: right[: len(right) // 2],
        Fault.REASONING: None,
    }
    text: Any = spoilt.get(fault, right) if fault else right
    refusal = REFUSAL if fault is Fault.REFUSAL else None
    finish = _ENDINGS.get(fault, "stop") if fault else "stop"
    prompt_tokens = 256 if fault is Fault.CUT_PROMPT else ask.prompt_tokens
    if not ask.is_chat:
        text, refusal = refusal or text, None
    written = len(text or refusal or "") // _TOKEN + 1
    if fault is Fault.PARTS:
        thought = {
            "type": "thinking",
            "thinking": [{"type": "text", "text": "Let me see."}],
        }
        parts = (right[:30], right[30:])
        text = [thought, *({"type": "text", "text": part} for part in parts)]
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": refusal}
    if fault is Fault.REASONING:
        message["reasoning_content"] = right
    said: dict[str, Any] = {"message": message} if ask.is_chat else {"text": text or ""}
    body = {
        "id": "cmpl",
        "object": "chat.completion" if ask.is_chat else "text_completion",
        "created": int(time.time()),
        "model": ask.payload["model"],
        "choices": [{"index": 0, "logprobs": None, "finish_reason": finish, **said}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": written,
            "total_tokens": prompt_tokens + written,
        },
    }
    if fault is Fault.NO_END:
        del body["model"]
    data = json.dumps(body).encode()
    return Reply(200, data, usage=Usage(ask.prompt_tokens, written))

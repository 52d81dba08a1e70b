"""What the server says: requests read, answers and errors in OpenAI's shapes."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from faultserver.answers import MALFORMED, REFUSAL
from faultserver.faults import Behaviour, Fault, unit

_NUMBERS = itertools.count(1)
# How many characters of text the server counts as a token.
_TOKEN = 4
_INVALID = "invalid_request_error"


@dataclass(frozen=True, slots=True)
class Reply:
    """A response, with the tokens that it bills: prompt, cached ones among them, completion."""

    status: int
    body: bytes
    headers: Mapping[str, str] | None = None
    content_type: str = "application/json"
    tokens: tuple[int, int, int] = (0, 0, 0)


PAGE = Reply(200, b"<html><body>The proxy wants a name</body></html>", content_type="text/html")


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for a completion; `formed` where a structured reply is asked for."""

    is_chat: bool
    model: str
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
    mode = "tools" if payload.get("tools") else "text"
    mode = (payload.get("response_format") or {}).get("type", mode)
    matches = [found[0] for text in reversed(texts) if (found := re.search(pattern, text))]
    key = matches[0] if matches else hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
    tokens = sum(map(len, texts)) // _TOKEN + 1
    formed = mode != "text" or '"properties": {' in texts[0]
    return Ask(is_chat, payload["model"], key, tokens, payload, mode, formed)


def digest_of(payload: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()


def error(
    status: int,
    message: str,
    code: str | None = None,
    param: str | None = None,
    kind: str = _INVALID,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return Reply(status, json.dumps(body).encode(), headers)


_LONG = "This model's maximum context length is 128 tokens; shorten the messages."
_QUOTA = "insufficient_quota"
_SOON = {"Retry-After": "1", "retry-after-ms": "50"}
_ERRORS = {
    Fault.RATE_LIMIT: error(429, "Too many.", "rate_limit_exceeded", None, "requests", _SOON),
    Fault.NO_QUOTA: error(429, "You exceeded your current quota.", _QUOTA, None, _QUOTA),
    Fault.SERVER_ERROR: error(500, "The server had an error.", kind="server_error"),
    Fault.UNAVAILABLE: error(503, "The server is overloaded or not ready.", kind="server_error"),
    Fault.BAD_GATEWAY: Reply(502, b"<html>502 Bad Gateway</html>", content_type="text/html"),
    Fault.FILTERED_PROMPT: error(400, "The prompt was filtered.", "content_filter", "prompt"),
    Fault.TOO_LONG: error(400, _LONG, "context_length_exceeded", "messages"),
    Fault.WITHHELD: error(400, "The JSON does not match.", "json_validate_failed"),
    Fault.WRONG_KEY: error(401, "Incorrect API key provided.", "invalid_api_key"),
    Fault.FORBIDDEN: error(403, "This key may not use this model.", "forbidden"),
    Fault.UNKNOWN_MODEL: error(404, "The model `x` does not exist.", "model_not_found"),
}


def error_for(fault: Fault | None) -> Reply | None:
    return _ERRORS.get(fault) if fault else None


def refusal_of(ask: Ask, behaviour: Behaviour) -> Reply | None:
    if behaviour.models is not None and ask.model not in behaviour.models:
        return _ERRORS[Fault.UNKNOWN_MODEL]
    for name, code in behaviour.refused_parameters.items():
        value = ask.payload.get(name)
        if value is not None and not (code == "unsupported_value" and value == 1):
            text = f"Unsupported parameter or value: '{name}' {value} with this model."
            return error(400, text, code, name)
    if ask.mode in behaviour.refused_modes:
        part = "tools" if ask.mode == "tools" else "response_format"
        return error(400, f"'{part}' of type '{ask.mode}' is not supported with this model.")
    return None


def answer(ask: Ask, right: str, fault: Fault | None, behaviour: Behaviour) -> Reply:
    if fault is Fault.HTML:
        return PAGE
    text, finish, refusal = _spoilt(ask, right, fault)
    if not ask.is_chat:
        text, refusal = refusal or text, None
    written = len(text or refusal or "") // _TOKEN + 1
    cached = min(behaviour.cached_tokens, ask.prompt_tokens)
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": refusal}
    if ask.mode == "tools" and refusal is None:
        message |= {"content": None, "tool_calls": _calls(ask, text, fault)}
        finish = "tool_calls" if finish == "stop" else finish
    said: dict[str, Any] = {"message": message} if ask.is_chat else {"text": text or ""}
    body = {
        "id": f"cmpl-{next(_NUMBERS)}",
        "object": "chat.completion" if ask.is_chat else "text_completion",
        "created": int(time.time()),
        "model": (behaviour.models or {}).get(ask.model, ask.model),
        "choices": [{"index": 0, "logprobs": None, "finish_reason": finish, **said}],
        "usage": {
            "prompt_tokens": ask.prompt_tokens,
            "completion_tokens": written,
            "total_tokens": ask.prompt_tokens + written,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }
    if fault is Fault.NO_CHOICES:
        del body["choices"]
    elif fault is Fault.EMPTY_CHOICES:
        body["choices"] = []
    data = json.dumps(body).encode()
    if fault is Fault.BROKEN_JSON:
        data = data[: len(data) // 2]
    return Reply(200, data, tokens=(ask.prompt_tokens, cached, written))


def _calls(ask: Ask, arguments: str | None, fault: Fault | None) -> list[dict[str, Any]]:
    name = ask.payload["tools"][0]["function"]["name"]
    function = {"name": "another" if fault is Fault.OTHER_CALL else name, "arguments": arguments}
    call = {"type": "function", "function": function}
    return [{"id": f"call{n}", **call} for n in range(2 if fault is Fault.SEVERAL_CALLS else 1)]


def _spoilt(ask: Ask, right: str, fault: Fault | None) -> tuple[str | None, str, str | None]:
    malformed = MALFORMED[int(unit(0, ask.key, "form") * len(MALFORMED))]
    half = right[: len(right) // 2]
    kinds: dict[Fault | None, tuple[str | None, str, str | None]] = {
        Fault.MALFORMED: (malformed, "stop", None),
        Fault.EMPTY: ("", "stop", None),
        Fault.NULL: (None, "stop", None),
        Fault.REFUSAL: (None, "stop", REFUSAL),
        Fault.REFUSAL_TEXT: (REFUSAL, "stop", None),
        Fault.TRUNCATED: (half, "length", None),
        Fault.FILTERED: (half, "content_filter", None),
    }
    return kinds.get(fault, (right, "stop", None))

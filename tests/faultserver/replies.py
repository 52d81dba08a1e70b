"""What the server says: requests read, answers and errors in OpenAI's shapes."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from typing import Any

from faultserver.answers import MALFORMED, REFUSAL
from faultserver.behaviour import Behaviour
from faultserver.faults import Fault, unit
from faultserver.modes import error_body, mode_of, refusal_words
from faultserver.wire import Reply

_NUMBERS = itertools.count(1)
_GATEWAY = b"<html><head><title>502 Bad Gateway</title></head><body>no server behind</body></html>"
PAGE = Reply(
    200,
    b"<html><head><title>Sign in</title></head><body>The proxy wants a name</body></html>",
    content_type="text/html",
)
"""What a proxy on the way answers."""
# How many characters of text the server counts as a token.
_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for a completion: which study it is about and what it needs for an answer.

    `formed` says that a structured reply is asked for, by its `mode` or by a schema in words.
    """

    endpoint: str
    model: str
    key: str
    prompt_tokens: int
    max_tokens: int | None
    payload: Mapping[str, Any]
    mode: str = "text"
    formed: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """A reply with the tokens that it bills: of the prompt, cached ones among them, and its own."""

    reply: Reply
    tokens: tuple[int, int, int] = (0, 0, 0)


def read_ask(
    endpoint: str,
    body: bytes,
    pattern: re.Pattern[str],
    decode: Callable[[Sequence[int]], str],
) -> Ask | None:
    """Return what a request with this body asks for; None where it is no such request.

    `endpoint` is `chat` or `completions`; `decode` turns token ids into text.
    """
    try:
        payload = json.loads(body)
        if endpoint == "chat":
            texts = [_content(message["content"]) for message in payload["messages"]]
        else:
            texts = [_prompt(payload["prompt"], decode)]
        model = payload["model"]
        limit = payload.get("max_completion_tokens") or payload.get("max_tokens")
        mode = mode_of(payload)
        matches = [found[0] for text in reversed(texts) if (found := pattern.search(text))]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None
    key = matches[0] if matches else hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
    tokens = sum(map(len, texts)) // _TOKEN + 1
    formed = mode != "text" or '"properties": {' in texts[0]
    return Ask(endpoint, model, key, tokens, limit, payload, mode, formed)


def _content(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part["text"] for part in content if part["type"] == "text")


def _prompt(prompt: Any, decode: Callable[[Sequence[int]], str]) -> str:
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list):
        prompt = prompt[0]
    if isinstance(prompt, str):
        return prompt
    if not all(isinstance(token, int) for token in prompt):
        raise TypeError("several prompts in one request")
    return decode(prompt)


def refusal_of(ask: Ask | None, behaviour: Behaviour) -> Reply | None:
    """Return the error for a request that this server does not take; None for a good one."""
    style = behaviour.error_style
    if ask is None:
        return error(400, "The body is not a request that this server reads.", style=style)
    payload = ask.payload
    if payload.get("stream"):
        return error(400, "This server does not stream.", param="stream", style=style)
    if (payload.get("n") or 1) != 1:
        return error(400, "This server gives one choice.", param="n", style=style)
    if behaviour.models is not None and ask.model not in behaviour.models:
        return unknown_model(ask.model, style)
    for name, code in behaviour.refused_parameters.items():
        if name in payload and not (code == "unsupported_value" and payload[name] == 1):
            return _refused_parameter(name, code, payload[name], style)
    if ask.mode in behaviour.refused_modes:
        status, text, param = refusal_words(ask.mode, style)
        return error(status, text, param=param, style=style)
    return None


def _refused_parameter(name: str, code: str, value: object, style: str) -> Reply:
    if code == "unsupported_value":
        text = (
            f"Unsupported value: '{name}' does not support {value} with this model. "
            "Only the default (1) value is supported."
        )
    else:
        text = f"Unsupported parameter: '{name}' is not supported with this model."
        if name == "max_tokens":
            text += " Use 'max_completion_tokens' instead."
    return error(400, text, param=name, code=code, style=style)


def error(
    status: int,
    message: str,
    *,
    kind: str = "invalid_request_error",
    param: str | None = None,
    code: str | None = None,
    headers: tuple[tuple[str, str], ...] = (),
    style: str = "openai",
) -> Reply:
    """Return an error in OpenAI's shape, or in that of another style."""
    body: dict[str, object] = {"message": message, "type": kind, "param": param, "code": code}
    name = HTTPStatus(status).phrase.replace(" ", "").removesuffix("Error") + "Error"
    body = error_body(status, body, name, style)
    return Reply(status, json.dumps({"error": body}).encode(), headers)


def unknown_model(model: str, style: str) -> Reply:
    """Return the error for a model that is not served."""
    text = f"The model `{model}` does not exist or you do not have access to it."
    return error(404, text, code="model_not_found", style=style)


def wrong_key(style: str) -> Reply:
    """Return the error for a key that is not known."""
    return error(401, "Incorrect API key provided.", code="invalid_api_key", style=style)


def rate_limited(seconds: float, behaviour: Behaviour) -> Reply:
    """Return a 429 that asks to wait `seconds`."""
    return error(
        429,
        "Rate limit reached. Please try again later.",
        kind="requests",
        code="rate_limit_exceeded",
        headers=_retry_after(seconds, behaviour.retry_after_form),
        style=behaviour.error_style,
    )


def _retry_after(seconds: float, form: str) -> tuple[tuple[str, str], ...]:
    if form == "none":
        return ()
    if form == "seconds":
        return (("Retry-After", f"{seconds:.3f}"),)
    if form == "date":
        return (("Retry-After", formatdate(math.ceil(time.time() + seconds), usegmt=True)),)
    return (
        ("Retry-After", str(math.ceil(seconds))),
        ("retry-after-ms", str(math.ceil(seconds * 1000))),
    )


def error_for(fault: Fault, model: str, behaviour: Behaviour) -> Reply | None:
    """Return the error response that `fault` is; None for a fault that is no error response."""
    style = behaviour.error_style
    match fault:
        case Fault.RATE_LIMIT:
            return rate_limited(behaviour.retry_after, behaviour)
        case Fault.NO_QUOTA:
            kind = "insufficient_quota"
            return error(429, "You exceeded your current quota.", kind=kind, code=kind, style=style)
        case Fault.SERVER_ERROR:
            text = "The server had an error while processing the request."
            return error(500, text, kind="server_error", style=style)
        case Fault.UNAVAILABLE:
            text = "The server is overloaded or not ready."
            return error(503, text, kind="server_error", style=style)
        case Fault.BAD_GATEWAY:
            return Reply(502, _GATEWAY, content_type="text/html")
        case Fault.FILTERED_PROMPT:
            text = "The response was filtered: the prompt triggered the content filter."
            return error(400, text, param="prompt", code="content_filter", style=style)
        case Fault.TOO_LONG:
            text = "This model's maximum context length is 128 tokens; shorten the messages."
            code = "context_length_exceeded"
            return error(400, text, param="messages", code=code, style=style)
        case Fault.WITHHELD:
            text = "The generated JSON does not match the response_format."
            return error(400, text, code="json_validate_failed", style=style)
        case Fault.WRONG_KEY:
            return wrong_key(style)
        case Fault.FORBIDDEN:
            return error(403, "This key may not use this model.", code="forbidden", style=style)
        case Fault.UNKNOWN_MODEL:
            return unknown_model(model, style)
        case _:
            return None


def answer(ask: Ask, right: str, fault: Fault | None, behaviour: Behaviour) -> Said:
    """Return the completion of `ask`: `right`, or what `fault` makes of it."""
    text, finish, refusal = _spoilt(ask, right, fault, behaviour.seed)
    if ask.max_tokens is not None and len(text or "") > ask.max_tokens * _TOKEN:
        text, finish = (text or "")[: ask.max_tokens * _TOKEN], "length"
    chat = ask.endpoint == "chat"
    if not chat:
        text, refusal = refusal or text, None
    written = len(text or refusal or "") // _TOKEN + 1
    cached = min(behaviour.cached_tokens, ask.prompt_tokens)
    model = (behaviour.models or {}).get(ask.model, ask.model)
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": refusal}
    if ask.mode == "tools" and refusal is None and fault is not Fault.CONTENT_FOR_CALL:
        message |= {"content": None, "tool_calls": _calls(ask, text, fault)}
        finish = "tool_calls" if finish == "stop" else finish
    choice = {"index": 0, "logprobs": None, "finish_reason": finish}
    body = {
        "id": f"{'chatcmpl' if chat else 'cmpl'}-{next(_NUMBERS)}",
        "object": "chat.completion" if chat else "text_completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{**choice, "message": message} if chat else {**choice, "text": text or ""}],
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
    if fault is Fault.HTML:
        return Said(PAGE)
    return Said(Reply(200, data), (ask.prompt_tokens, cached, written))


def _calls(ask: Ask, arguments: str | None, fault: Fault | None) -> list[dict[str, Any]]:
    """Return the calls with which a model answers that was given a tool."""
    name = ask.payload["tools"][0]["function"]["name"]
    function = {
        "name": "another" if fault is Fault.OTHER_CALL else name,
        "arguments": arguments,
    }
    call = {"type": "function", "function": function}
    return [{"id": f"call{n}", **call} for n in range(2 if fault is Fault.SEVERAL_CALLS else 1)]


def _spoilt(
    ask: Ask, right: str, fault: Fault | None, seed: int
) -> tuple[str | None, str, str | None]:
    """Return the text, the finish reason and the refusal that `fault` makes of a right answer."""
    match fault:
        case Fault.MALFORMED:
            return MALFORMED[int(unit(seed, ask.key, "form") * len(MALFORMED))], "stop", None
        case Fault.EMPTY:
            return "", "stop", None
        case Fault.NULL:
            return None, "stop", None
        case Fault.REFUSAL:
            return None, "stop", REFUSAL
        case Fault.REFUSAL_TEXT:
            return REFUSAL, "stop", None
        case Fault.TRUNCATED:
            return right[: len(right) // 2], "length", None
        case Fault.FILTERED:
            return right[: len(right) // 2], "content_filter", None
        case _:
            return right, "stop", None

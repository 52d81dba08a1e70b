"""Replies of a fixed form: how a request asks for one, and how servers say that they can't."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MODES = ("json_schema", "json_object", "tools", "text")
"""What a request may ask for. Instructions in the prompt are `text`."""

STYLES = ("openai", "azure", "vllm", "llamacpp", "ollama")
"""Whose shapes and words errors have."""

# status, message, param; as those servers answer, which is all that tells a client.
_REFUSED: dict[tuple[str, str], tuple[int, str, str | None]] = {
    ("openai", "response_format"): (
        400,
        "Invalid parameter: 'response_format' of type '{mode}' is not supported with this model.",
        None,
    ),
    ("openai", "tools"): (400, "'tools' is not supported with this model.", "tools"),
    ("azure", "response_format"): (
        400,
        "response_format value as {mode} is enabled only for later api versions",
        "",
    ),
    ("azure", "tools"): (400, "Unrecognized request argument supplied: tools", None),
    ("vllm", "response_format"): (
        422,
        "[{{'type': 'literal_error', 'loc': ('body', 'response_format'), 'input': '{mode}'}}]",
        None,
    ),
    ("vllm", "tools"): (
        400,
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        None,
    ),
    ("llamacpp", "response_format"): (
        500,
        'response_format type must be one of "text" or "json_object", but got: {mode}',
        None,
    ),
    ("llamacpp", "tools"): (500, "tools param requires --jinja flag", None),
    ("ollama", "response_format"): (400, "invalid response_format: {mode}", None),
    ("ollama", "tools"): (400, "registry.ollama.ai/library/model-x does not support tools", None),
}


def mode_of(payload: Mapping[str, Any]) -> str:
    """Return how a request asks for its reply, one of `MODES`."""
    if payload.get("tools"):
        return "tools"
    asked = (payload.get("response_format") or {}).get("type", "text")
    return str(asked)


def refusal_words(mode: str, style: str) -> tuple[int, str, str | None]:
    """Return status, message and param of the error for a mode that a server does not take."""
    status, message, param = _REFUSED[style, "tools" if mode == "tools" else "response_format"]
    return status, message.format(mode=mode), param


def error_body(status: int, body: dict[str, object], name: str, style: str) -> dict[str, object]:
    """Return an error of OpenAI's shape in the shape of another server.

    `name` is the status's own name; only OpenAI and Azure have words of their own for a code.
    """
    message = body["message"]
    if style == "vllm":
        return {"message": message, "type": name, "param": None, "code": status}
    if style == "llamacpp":
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return {"code": status, "message": message, "type": kind}
    if style == "ollama":
        return {"message": message, "type": "api_error", "param": None, "code": None}
    return body

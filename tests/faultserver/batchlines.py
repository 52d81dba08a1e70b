"""The lines of batch files: what comes in, what is wrong with it, what goes out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faultserver.batching import FAILURES, Batching
from faultserver.wire import Reply

SERVED = {"/v1/chat/completions": "chat", "/v1/completions": "completions"}
"""The endpoints whose requests can stand in a batch."""

_REQUIRED = ("custom_id", "method", "url", "body")
_TOKEN = 4
# What a program may add to a request without asking for another answer.
_BESIDE = ("user", "metadata", "stream", "service_tier", "store")


@dataclass(frozen=True, slots=True)
class Line:
    """One request of an input file, and where it lies there."""

    custom_id: str
    digest: str
    start: int
    length: int


@dataclass(slots=True)
class Input:
    """An input file as read: its requests, its errors as a batch has them, its tokens."""

    lines: list[Line] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    model: str | None = None
    tokens: int = 0


def digest_of(payload: Mapping[str, Any]) -> str:
    """Return what is the same for two requests that ask for the same answer."""
    asked = {name: value for name, value in payload.items() if name not in _BESIDE}
    text = json.dumps(asked, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def failure(code: str, *words: object, line: int | None = None) -> dict[str, Any]:
    """Return an entry of a batch's `errors`; a line's, `FAILURES` willing, number 1 without one."""
    message, param, of_line = FAILURES[code]
    if code == "missing_required_parameter":
        param = str(words[0]) if words else param
        words = words or (param,)
    where = (line or 1) if of_line else None
    return {"code": code, "line": where, "message": message.format(*words), "param": param}


def read_input(
    path: Path, endpoint: str, batching: Batching, models: Iterable[str] | None
) -> Input:
    """Return the requests and the errors of the input file at `path`, each line looked at."""
    found = Input()
    seen: set[str] = set()
    start = 0
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            wrong, line = _read_line(raw, start, endpoint, found, seen, models)
            if line:
                found.lines.append(line)
            if wrong:
                found.errors.append(failure(*wrong, line=number))
            start += len(raw)
    found.tokens = start // _TOKEN + 1
    if not found.lines and not found.errors:
        found.errors.append(failure("empty_file"))
    if len(found.lines) > batching.max_requests:
        found.errors.append(failure("max_requests_exceeded"))
    return found


def _read_line(
    raw: bytes,
    start: int,
    endpoint: str,
    found: Input,
    seen: set[str],
    models: Iterable[str] | None,
) -> tuple[tuple[str, ...] | None, Line | None]:
    """Return what is wrong with a line, None for nothing, and the line where it has an id."""
    try:
        request = json.loads(raw)
        request.keys()
    except (ValueError, AttributeError):
        return ("invalid_json_line",), None
    for name in _REQUIRED:
        if not request.get(name):
            return ("missing_required_parameter", name), None
    custom_id, body = str(request["custom_id"]), request["body"]
    line = Line(custom_id, digest_of(body), start, len(raw))
    model = body.get("model")
    found.model = found.model or model
    if custom_id in seen:
        return ("duplicate_custom_id",), line
    seen.add(custom_id)
    if request["method"] != "POST":
        return ("invalid_method",), line
    if request["url"] != endpoint:
        return ("invalid_url",), line
    if model != found.model:
        return ("mismatched_model",), line
    if models is not None and model not in models:
        return ("model_not_found",), line
    return None, line


def body_of(path: Path, line: Line) -> bytes:
    """Return the body of a request as a client would have sent it."""
    with path.open("rb") as file:
        file.seek(line.start)
        return json.dumps(json.loads(file.read(line.length))["body"]).encode()


def answered_line(number: int, custom_id: str, reply: Reply) -> bytes:
    """Return the line of an output or error file for a request that was carried out."""
    response = {
        "status_code": reply.status,
        "request_id": f"req_{number:08d}",
        "body": json.loads(reply.body),
    }
    return _line(number, custom_id, response, None)


def unanswered_line(number: int, custom_id: str, code: str) -> bytes:
    """Return the line of an error file for a request that never got a response."""
    message = {
        "batch_expired": "This request could not be executed before the completion window expired.",
        "batch_cancelled": "The batch was cancelled before this request was executed.",
        "request_timeout": "The underlying call to the model timed out.",
    }[code]
    return _line(number, custom_id, None, {"code": code, "message": message})


def _line(number: int, custom_id: str, response: Any, error: Any) -> bytes:
    name = f"batch_req_{number:08d}"
    line = {"id": name, "custom_id": custom_id, "response": response, "error": error}
    return json.dumps(line).encode() + b"\n"

"""Completions on disk, so that nothing is paid for twice: where they lie, and under which keys.

A key is a versioned hash of everything that decides an answer.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.types import CompletionRequest, JudgeError

VERSION = "v1"
"""A contract: a key of this version is derived in this way for ever."""


def place(option: Path | None, environ: Mapping[str, str]) -> Path:
    """Return the cache's folder: the one asked for, else `JUDGE_CACHE`, else the platform's own."""
    if folder := option or environ.get("JUDGE_CACHE"):
        # Unlike Path's, this one leaves the name of an unknown user as it is.
        return Path(os.path.expandvars(os.path.expanduser(folder)))  # noqa: PTH111
    from platformdirs import user_cache_path

    return user_cache_path("judge", appauthor=False)


def canonical(
    request: CompletionRequest, attempt: int = 0, repeat: int = 0, sample: int = 0
) -> dict[str, Any]:
    """Return what is hashed: the request and how often it was asked.

    `attempt` counts the questions after an unreadable answer, `repeat` the runs that ask all again,
    `sample` the answers to one question in a run. 1 and 1.0 are one value.
    """
    again = {"repeat": repeat, "sample": sample}
    return {
        "endpoint": request.endpoint,
        "model": request.model,
        "messages": [[message.role, message.content] for message in request.messages],
        "sampling": _plain(request.sampling),
        "schema": _plain_schema(request.schema),
        "attempt": attempt,
        **{name: number for name, number in again.items() if number},
    }


def key(
    request: CompletionRequest, attempt: int = 0, repeat: int = 0, sample: int = 0
) -> str:
    """Return the key of the `attempt`-th answer to `request` in the run with that `repeat`."""
    return key_of(canonical(request, attempt, repeat, sample))


def key_of(record: Mapping[str, Any]) -> str:
    """Return the key of a canonical request."""
    # The schema is written last, and not in the order of names as the others.
    parts = {name: value for name, value in record.items() if name != "schema"}
    try:
        others = _text(parts)
        schema = _schema_text(record["schema"])
    except ValueError as error:
        raise JudgeError(
            f"the request to {record['model']} holds a number that cannot be sent: {error}"
        ) from error
    text = f"{others[:-1]},{schema[1:]}"
    return f"{VERSION}-{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def _text(part: Mapping[str, Any]) -> str:
    return json.dumps(part, sort_keys=True, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, slots=True)
class _KnownSchema:
    """A schema that was asked for, as it stands in a record, and the JSON of that."""

    schema: object
    plain: Any
    text: str


# A judge has the same few objects in all its requests: those of the last ones are written once.
_known_schemas: deque[_KnownSchema] = deque(maxlen=8)


def _plain_schema(schema: Mapping[str, object] | None) -> Any:  # noqa: ANN401
    for known in tuple(_known_schemas):
        if known.schema is schema:
            return known.plain
    plain = _plain(schema)
    try:
        text = _text({"schema": plain})
    except ValueError:
        return plain  # `key_of` says so, with the name of the model
    _known_schemas.append(_KnownSchema(schema, plain, text))
    return plain


def _schema_text(plain: object) -> str:
    for known in tuple(_known_schemas):
        if known.plain is plain:
            return known.text
    return _text({"schema": plain})


def _plain(value: object) -> Any:  # noqa: ANN401 - JSON is any of a few types
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value

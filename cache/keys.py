"""Under what a completion is kept: a versioned hash of everything that decides it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from judge.types import CompletionRequest, JudgeError

VERSION = "v1"
"""A contract: a key of this version is derived in this way for ever."""


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


def key(request: CompletionRequest, attempt: int = 0, repeat: int = 0, sample: int = 0) -> str:
    """Return the key of the `attempt`-th answer to `request` in the run with that `repeat`."""
    return key_of(canonical(request, attempt, repeat, sample))


def key_of(record: Mapping[str, Any]) -> str:
    """Return the key of a canonical request."""
    try:
        others = {name: value for name, value in record.items() if name != "schema"}
        text = f'{_written(others)[:-1]},"schema":{_written_schema(record["schema"])}}}'
    except ValueError as error:
        raise JudgeError(
            f"the request to {record['model']} holds a number that cannot be sent: {error}"
        ) from error
    return f"{VERSION}-{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def _written(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _plain(value: object) -> Any:  # noqa: ANN401 - JSON is any of a few types
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


_Result = TypeVar("_Result")


def _once(function: Callable[[Any], _Result]) -> Callable[[Any], _Result]:
    """Remember the result for the last object: a run has one schema in all requests."""
    last: tuple[Any, _Result] = (None, function(None))

    def remembered(value: Any) -> _Result:  # noqa: ANN401
        nonlocal last
        latest = last  # one name: several threads may ask
        if latest[0] is not value:
            latest = last = (value, function(value))
        return latest[1]

    return remembered


_plain_schema = _once(_plain)
_written_schema = _once(_written)

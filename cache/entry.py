"""One kept answer: its value in the cache, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from judge import jsonio
from judge.cache.keys import key_of
from judge.types import Completion, JudgeError, Usage

_REQUEST, _COMPLETION = b'{"request": ', b', "completion": '
_sorted_json = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class UnreadableError(Exception):
    """An entry that is not what this program writes. Its text says why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One kept answer with the canonical request that it answers.

    `request` is None for an answer from a run folder, where requests are not kept. `stored` is
    when it was kept, in seconds since 1970.
    """

    key: str
    model: str
    request: Mapping[str, Any] | None
    completion: Completion
    stored: float

    @property
    def time(self) -> datetime:
        """When the judge answered; when it was kept where the answer does not say."""
        if not self.completion.created:
            return datetime.fromtimestamp(self.stored, UTC)
        time = datetime.fromisoformat(self.completion.created)
        return time if time.tzinfo else time.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An entry that cannot be used: its key or place, and why."""

    name: str
    reason: str


def encode(about: Mapping[str, Any], completion: Completion) -> bytes:
    """Return the value that keeps an answer, as JSON in ASCII.

    `about` is its request, or key and model.
    """
    plain = completion.plain()
    if completion.mode is None:  # as in entries from before there were modes
        del plain["mode"]
    value = {**about, "completion": plain, "sha256": checksum(plain)}
    return json.dumps(value).encode("ascii")


def checksum(completion: Mapping[str, Any]) -> str:
    """Return the SHA-256 of an answer's JSON object, written in one way."""
    return hashlib.sha256(_sorted_json(completion).encode("ascii")).hexdigest()


def decode_completion(value: bytes) -> Completion:
    """Return the answer in a value of the cache; raises `UnreadableError` for a damaged one."""
    if value.startswith(_REQUEST):
        # Within a JSON string there is no plain quotation mark, and an answer has no such field.
        value = b'{"completion": ' + value.rpartition(_COMPLETION)[2]
    try:
        return _completion(json.loads(value))
    except (ValueError, RecursionError) as error:
        raise UnreadableError("not the JSON text of an entry") from error


def decode_entry(key: str, value: bytes, stored: float) -> Entry:
    """Return the entry in a value of the cache, its key derived again from its request."""
    try:
        return entry_of(key, jsonio.read(value), stored)
    except jsonio.JsonError as error:
        raise UnreadableError("not the JSON text of an entry") from error


def entry_of(key: str, data: Any, stored: float) -> Entry:  # noqa: ANN401
    """Return the entry that a JSON object describes; raises `UnreadableError`."""
    completion = _completion(data)
    try:
        request = data.get("request")
        if request is None:  # only the checksum speaks for it
            model, derived = data["model"], data["sha256"] and data["key"]
        else:
            model, derived = request["model"], key_of(request)
    except (KeyError, TypeError, ValueError, AttributeError, JudgeError) as error:
        raise UnreadableError("not the request of an entry") from error
    if derived != key or not isinstance(model, str):
        raise UnreadableError("its key is not the one that its request has")
    return Entry(key, model, request, completion, stored)


def _completion(data: Mapping[str, Any]) -> Completion:
    """Return the answer in an entry's object; one from before there were checksums has none."""
    try:
        plain, written = data["completion"], data.get("sha256")
        if written is not None and written != checksum(plain):
            raise UnreadableError("its answer is not the one that was written")
        usage = None if plain["usage"] is None else Usage(**plain["usage"])
        return Completion(**{**plain, "usage": usage})
    except (KeyError, TypeError, AttributeError) as error:
        raise UnreadableError("not the fields of an entry") from error

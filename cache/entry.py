"""One kept completion: its value in the database, and back with every doubt refused."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from judge import jsonio
from judge.cache.keys import VERSION, canonical, key_of, request_of
from judge.types import Completion, JudgeError, Usage

_PARTS = {"request", "completion", "sha256", "key", "model", "stored"}
_KEY = re.compile(f"{VERSION}-[0-9a-f]{{64}}")


class UnreadableError(Exception):
    """An entry that is not what this program writes. Its text says why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One kept completion with the canonical request that it answers.

    `request` is None for one that came from a run folder, where requests are not kept. `row` is its
    row in the database, or its line in a file; `stored` when it was kept, in seconds since 1970.
    `is_checked` is False for one from before answers carried a checksum.
    """

    row: int
    key: str
    model: str
    request: Mapping[str, Any] | None
    completion: Completion
    stored: float
    is_checked: bool

    @property
    def time(self) -> datetime:
        """When the judge answered; when it was kept where the answer does not say."""
        try:
            time = datetime.fromisoformat(self.completion.created or "")
        except ValueError:
            return datetime.fromtimestamp(self.stored, UTC)
        return time if time.tzinfo else time.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An entry that cannot be used: its row or line, its key where it has one, and why."""

    row: int
    name: str
    reason: str


def encode(record: Mapping[str, Any], completion: Completion) -> bytes:
    """Return the value that keeps the answer to a canonical request: JSON text, in ASCII."""
    kept = _plain(completion)
    entry = {"request": record, "completion": kept, "sha256": checksum(kept)}
    return json.dumps(entry).encode("ascii")


def as_object(entry: Entry) -> dict[str, Any]:
    """Return the JSON object of an entry, of which `entry_of` is the inverse."""
    kept = _plain(entry.completion)
    found = {"key": entry.key, "completion": kept, "stored": entry.stored}
    found |= {"model": entry.model} if entry.request is None else {"request": dict(entry.request)}
    if entry.is_checked:
        found["sha256"] = checksum(kept)
    return found


def _plain(completion: Completion) -> dict[str, object]:
    kept = completion.plain()
    if completion.mode is None:  # as in entries from before there were modes
        del kept["mode"]
    return kept


def checksum(completion: Mapping[str, Any]) -> str:
    """Return the SHA-256 of an answer's JSON object, written in one way."""
    text = json.dumps(completion, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def decode(
    row: int, name: str, value: bytes, stored: float, asked: Mapping[str, Any] | None = None
) -> Entry:
    """Return the entry in a value; `asked` is the canonical request of the key, if known."""
    try:
        data = jsonio.read(value)
    except jsonio.JsonError:
        raise UnreadableError("not the JSON text of an entry") from None
    return entry_of(row, name, data, stored, asked)


def entry_of(
    row: int,
    name: str,
    data: Any,  # noqa: ANN401
    stored: float,
    asked: Mapping[str, Any] | None = None,
) -> Entry:
    """Return the entry that a JSON object describes."""
    if not isinstance(data, dict) or set(data) - _PARTS:  # a checksum by another name is none
        raise UnreadableError("not the fields of an entry")
    try:
        record, model, derived = _request(name, data, asked)
        completion, written = _completion(data["completion"]), data.get("sha256")
        entry = Entry(row, name, model, record, completion, float(stored), written is not None)
        datetime.fromtimestamp(entry.stored, UTC)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableError("not the fields of an entry") from error
    except (OverflowError, OSError, JudgeError) as error:
        raise UnreadableError("a value that no entry has") from error
    if record != data.get("request") or not isinstance(model, str):
        raise UnreadableError("not the request of an entry")
    if record is None and not (entry.is_checked and _KEY.fullmatch(name)):
        raise UnreadableError("neither a request nor a key with a checksum")
    if derived != name:
        raise UnreadableError("its key is not the one that its request has")
    if entry.is_checked and written != checksum(data["completion"]):
        raise UnreadableError("its answer is not the one that was written")
    return entry


def _request(
    name: str, data: Mapping[str, Any], asked: Mapping[str, Any] | None
) -> tuple[Mapping[str, Any] | None, Any, Any]:
    if "request" not in data:
        return None, data["model"], data["key"]
    # A request that is word for word the one that was asked needs no other proof.
    if asked is not None and data["request"] == asked:
        return asked, asked["model"], name
    record = canonical(*request_of(data["request"]))
    return record, record["model"], key_of(record)


def _completion(data: Mapping[str, Any]) -> Completion:
    usage = None if data["usage"] is None else Usage(**data["usage"])
    completion = Completion(**{**data, "usage": usage})
    texts = (completion.text, completion.finish_reason, completion.model)
    maybe = (completion.created or "", completion.mode or "")
    counts = (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) if usage else ()
    if not (
        all(isinstance(text, str) for text in (*texts, *maybe))
        and all(type(n) is int for n in counts)
    ):
        raise TypeError("a field of another type")
    return completion

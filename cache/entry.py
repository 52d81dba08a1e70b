"""One kept completion: its value in the database, and back with every doubt refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from judge.cache.keys import canonical, key_of, request_of
from judge.types import Completion, JudgeError, Usage


class UnreadableError(Exception):
    """An entry that is not what this program writes. Its text says why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One kept completion with the canonical request that it answers.

    `row` is its row in the database, or its line in an exported file; `stored` when it was
    kept, in seconds since 1970.
    """

    row: int
    key: str
    request: Mapping[str, Any]
    completion: Completion
    stored: float

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
    """Return the value that keeps a completion: JSON text, in ASCII."""
    kept = asdict(completion)
    if completion.mode is None:  # as in entries from before there were modes
        del kept["mode"]
    return json.dumps({"request": record, "completion": kept}).encode("ascii")


def decode(row: int, name: str, value: bytes, stored: float) -> Entry:
    """Return the entry in a value; raises `UnreadableError` for anything that is none."""
    try:
        data = json.loads(value)
    except (ValueError, RecursionError):
        raise UnreadableError("not the JSON text of an entry") from None
    return entry_of(row, name, data, stored)


def entry_of(row: int, name: str, data: Any, stored: float) -> Entry:  # noqa: ANN401
    """Return the entry that a JSON object describes.

    Raises `UnreadableError` where it describes none, or one that has another key.
    """
    try:
        record = canonical(*request_of(data["request"]))
        entry = Entry(row, name, record, _completion(data["completion"]), float(stored))
        datetime.fromtimestamp(entry.stored, UTC)
        derived = key_of(record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableError("not the fields of an entry") from error
    except (OverflowError, OSError, RecursionError, JudgeError) as error:
        raise UnreadableError("a value that no entry has") from error
    if record != data["request"] or not isinstance(record["model"], str):
        raise UnreadableError("not the request of an entry")
    if derived != name:
        raise UnreadableError("its key is not the one that its request has")
    return entry


def _completion(data: Mapping[str, Any]) -> Completion:
    usage = None if data["usage"] is None else Usage(**data["usage"])
    completion = Completion(**{**data, "usage": usage})
    texts = (completion.text, completion.finish_reason, completion.model)
    maybe = (completion.created or "", completion.mode or "")
    counts = asdict(usage).values() if usage else ()
    if not (
        all(isinstance(text, str) for text in (*texts, *maybe))
        and all(type(n) is int for n in counts)
    ):
        raise TypeError("a field of another type")
    return completion

"""What was asked in which batch: a SQLite file beside the cache.

A batch is written down before it is made, and found again at the provider by its mark.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NotRequired, Self

from pydantic import ConfigDict, FiniteFloat, NonNegativeInt, ValidationError
from typing_extensions import TypedDict

from judge.files import holding_lock
from judge.run_files.checked import adapter, first_of
from judge.types import JudgeError

_FOLDER, _DATABASE = "batches", "ledger.db"
CREATING, RUNNING, OVER = "creating", "running", "over"
"""The states of a batch: perhaps made, made, read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch of `n` questions that cost at most `most` US dollars (None if unknown).

    `server` is an address of `provider`. `mode` is how the replies are held to their form.
    """

    id: str
    run: str
    rubric: str
    judge: str
    kind: str
    server: str
    mode: str | None
    command: str
    created: str
    provider: str = "openai"
    state: str = CREATING
    remote_id: str | None = None
    remote_state: str | None = None
    n: int = 0
    most: float | None = None
    answered: int = 0


class _BatchRecord(TypedDict):
    """A batch as it is written down; what earlier versions wrote besides is left aside."""

    __pydantic_config__ = ConfigDict(extra="ignore")  # type: ignore[misc]

    id: str
    run: str
    rubric: str
    judge: str
    kind: str
    server: str
    mode: str | None
    command: str
    created: str
    provider: NotRequired[str]
    state: NotRequired[Literal["creating", "running", "over"]]
    remote_id: NotRequired[str | None]
    remote_state: NotRequired[str | None]
    n: NotRequired[NonNegativeInt]
    most: NotRequired[FiniteFloat | None]
    answered: NotRequired[NonNegativeInt]


_SCHEMA = """
    PRAGMA auto_vacuum = FULL;
    PRAGMA journal_mode = WAL;
    PRAGMA secure_delete = ON; -- questions hold reports: a deleted one leaves no trace
    CREATE TABLE IF NOT EXISTS batch (id TEXT PRIMARY KEY, data TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS question (
        key TEXT PRIMARY KEY, batch TEXT, record TEXT
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS question_batch ON question (batch);
"""


class Ledger:
    """The batches whose answers go to the cache in `folder`; several processes may share it."""

    def __init__(self, folder: Path, *, create: bool = True) -> None:
        self.folder = folder / _FOLDER
        self._file = self.folder / _DATABASE
        with self._explained():
            if create:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._file.touch(mode=0o600)
            place = self._file if self._file.exists() else ":memory:"
            self._data = sqlite3.connect(place, timeout=60.0, isolation_level=None)
            self._data.executescript(_SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._data.close()

    def lock(self) -> AbstractAsyncContextManager[None]:
        """Return the lock of the only process that makes and reads batches."""
        return holding_lock(self.folder / "making.lock")

    @contextmanager
    def change(self) -> Iterator[None]:
        """Make all changes inside, or none of them."""
        self._sql("BEGIN IMMEDIATE")
        with self._data:
            yield

    def batches(self, **having: str) -> list[Batch]:
        """Return the batches whose fields have these values, the oldest first."""
        rows = self._sql("SELECT data FROM batch ORDER BY rowid")
        # An earlier version wrote more.
        every = [self._batch(data) for (data,) in rows]
        return [
            b for b in every if all(getattr(b, name) == having[name] for name in having)
        ]

    def _batch(self, data: object) -> Batch:
        """Return the batch that a row holds; raises `JudgeError` for another thing."""
        try:
            return Batch(
                **adapter(_BatchRecord).validate_python(self._json(data), strict=True)
            )
        except ValidationError as error:
            raise self._damaged(first_of(error)) from error

    def _json(self, data: object) -> Any:  # noqa: ANN401
        try:
            # Not by pydantic, which takes no half of a surrogate pair: a report may have one.
            return json.loads(data)  # type: ignore[arg-type]
        except (TypeError, ValueError, RecursionError) as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, why: str) -> JudgeError:
        return JudgeError(
            f"the record of batches {self._file} is damaged ({why}): move it away (the provider's "
            "page lists the batches; their questions are asked and paid for again)"
        )

    def batch(self, batch_id: str) -> Batch:
        """Return the batch with this id; raises `JudgeError` for an unknown id."""
        if batches := self.batches(id=batch_id):
            return batches[0]
        raise JudgeError(
            f"there is no batch {batch_id!r} here (--cache): see judge batch list"
        )

    def put(self, batch: Batch) -> Batch:
        """Write a batch down as it is now."""
        insert = "INSERT INTO batch VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data"
        self._sql(insert, batch.id, json.dumps(asdict(batch)))
        return batch

    def ask(self, batch: Batch, key: str, record: Mapping[str, Any]) -> None:
        """Write a question down as one of `batch`, with its canonical form."""
        insert = "INSERT INTO question (key, batch, record) VALUES (?, ?, ?)"
        update = "DO UPDATE SET batch = excluded.batch, record = excluded.record"
        self._sql(f"{insert} ON CONFLICT {update}", key, batch.id, json.dumps(record))

    def batch_of(self, key: str) -> str | None:
        """Return the id of the batch that has a question, None where none has."""
        rows = self._sql("SELECT batch FROM question WHERE key = ?", key)
        return rows[0][0] if rows else None

    def keys(self, batch: Batch) -> set[str]:
        """Return the keys of the questions in a batch."""
        return {
            key
            for (key,) in self._sql(
                "SELECT key FROM question WHERE batch = ?", batch.id
            )
        }

    def record(self, batch: Batch, key: str) -> Mapping[str, Any] | None:
        """Return the canonical form of a question in `batch`, None for another."""
        select = "SELECT record FROM question WHERE key = ? AND batch = ?"
        rows = self._sql(select, key, batch.id)
        if not rows:
            return None
        record = self._json(rows[0][0])
        if not isinstance(record, dict) or not isinstance(record.get("sampling"), dict):
            raise self._damaged(f"question {key[:20]} has no 'sampling'")
        return record

    def end(self, batch: Batch) -> None:
        """Write down that a batch is over; it has no questions any more."""
        with self.change():
            self._sql("DELETE FROM question WHERE batch = ?", batch.id)
            self.put(batch)

    def drop(self, batch: Batch) -> None:
        """Forget a batch; its questions may be asked in another."""
        with self.change():
            self._sql("DELETE FROM question WHERE batch = ?", batch.id)
            self._sql("DELETE FROM batch WHERE id = ?", batch.id)

    def _sql(self, statement: str, *values: object) -> list[Any]:
        with self._explained():
            return self._data.execute(statement, values).fetchall()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise JudgeError(
                f"cannot use the record of batches {self._file} ({error}): make it writable"
            ) from error


def pending(cache: Path, kind: str) -> str:
    """Return the ids of the batches in which questions of a kind are being answered."""
    with Ledger(cache, create=False) as ledger:
        return ", ".join(
            batch.id for batch in ledger.batches(kind=kind) if batch.state != OVER
        )

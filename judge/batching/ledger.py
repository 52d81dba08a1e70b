"""What was asked in which batch, written down before anything is sent.

A SQLite file beside the cache. A batch is there, with all its questions, before it is made; a
question is taken out when its answer is in the cache. Whoever finds a batch that was being made
when its process ended looks for it at the provider, by the mark that it carries there.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Self

from filelock import AsyncFileLock, Timeout
from pydantic import BaseModel, ConfigDict

from judge.types import JudgeError

_FOLDER, _DATABASE = "batches", "ledger.db"
CREATING, RUNNING, OVER = "creating", "running", "over"
"""The states of a batch: perhaps made, made, read."""
_SCHEMA = """
    PRAGMA auto_vacuum = FULL;
    PRAGMA journal_mode = WAL;
    PRAGMA secure_delete = ON; -- reports stand in the questions: what is taken out is gone
    CREATE TABLE IF NOT EXISTS batch (id TEXT PRIMARY KEY, data TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS question (
        key TEXT PRIMARY KEY, batch TEXT NOT NULL, record BLOB NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS question_batch ON question (batch);
"""


class Batch(BaseModel):
    """One batch, as it is in the ledger.

    `run` is the run that it was made for, `kind` what its questions have in common
    (`JudgeSession.kind`), `mode` and `tool` how a reply of a fixed form was asked for. `server`
    is where it is, `billed_at` the address whose prices hold, None where nothing is paid for.
    `longest` is the most bytes that an answer can have, `most` the US dollars that all of them
    can cost, None where that is unknown. `command` is the command line that made it, `asked_at`
    when the provider was told to make it, in seconds, 0 before that. Then what came of it:
    answers with their tokens and dollars (None where a price is unknown), questions that can
    have none, those to be asked again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    run: str
    rubric: str
    judge: str
    kind: str
    server: str
    billed_at: str | None
    mode: str | None
    tool: str | None
    longest: int
    command: str
    created: str
    state: str = CREATING
    asked_at: float = 0.0
    remote_id: str | None = None
    remote_state: str | None = None
    n: int = 0
    most: float | None = None
    answered: int = 0
    failed: int = 0
    again: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    dollars: float | None = 0.0

    def changed(self, **change: object) -> Batch:
        """Return it with other values."""
        return self.model_copy(update=change)


class Ledger:
    """The batches whose answers go to the cache in `folder`. Several processes may share it.

    With `create` False it is empty where none was made yet, and none is made. Raises `JudgeError`
    where the file cannot be used.
    """

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

    @asynccontextmanager
    async def making(self, say: Callable[[str], None]) -> AsyncIterator[None]:
        """Be the only process that makes and reads batches; `say` is told where another does."""
        lock = AsyncFileLock(self.folder / "making.lock")
        try:
            await lock.acquire(timeout=0)
        except Timeout:
            say("Another process is at work on batches; waiting for it.")
            await lock.acquire()
        try:
            yield
        finally:
            await lock.release()

    @contextmanager
    def change(self) -> Iterator[None]:
        """Make all changes inside, or none of them."""
        self._sql("BEGIN IMMEDIATE")
        with self._data:
            yield

    def batches(self, **having: str) -> list[Batch]:
        """Return the batches whose fields have these values, the oldest first."""
        rows = self._sql("SELECT data FROM batch ORDER BY rowid")
        every = (Batch.model_validate_json(data) for (data,) in rows)
        return [b for b in every if all(getattr(b, name) == having[name] for name in having)]

    def batch(self, batch_id: str) -> Batch:
        """Return the batch with this id, here or at the provider; raises `JudgeError` for none."""
        for batch in self.batches():
            if batch_id in (batch.id, batch.remote_id):
                return batch
        raise JudgeError(
            f"there is no batch {batch_id!r} here (--cache); judge batch list shows them"
        )

    def put(self, batch: Batch) -> Batch:
        """Write a batch down as it is now."""
        insert = "INSERT INTO batch VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data"
        self._sql(insert, batch.id, batch.model_dump_json())
        return batch

    def ask(self, batch: Batch, key: str, record: Mapping[str, Any]) -> None:
        """Write a question down as one of `batch`, with its canonical form."""
        packed = zlib.compress(json.dumps(record).encode("ascii"), 1)
        self._sql("INSERT INTO question VALUES (?, ?, ?)", key, batch.id, packed)

    def batch_of(self, key: str) -> str | None:
        """Return the id of the batch that a question stands in, None for no batch."""
        return next(
            (row[0] for row in self._sql("SELECT batch FROM question WHERE key = ?", key)), None
        )

    def keys(self, batch: Batch) -> list[str]:
        """Return the keys of the questions in a batch."""
        return [key for (key,) in self._sql("SELECT key FROM question WHERE batch = ?", batch.id)]

    def record(self, batch: Batch, key: object) -> Mapping[str, Any] | None:
        """Return the canonical form of a question in `batch`, None for another."""
        select = "SELECT record FROM question WHERE key = ? AND batch = ?"
        rows = self._sql(select, key, batch.id)
        return json.loads(zlib.decompress(rows[0][0])) if rows else None

    def end(self, batch: Batch) -> None:
        """Note that a batch was read; what has no answer then may be asked in another."""
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
                f"the record of batches {self._file} cannot be used ({error}); make its folder one "
                "that can be written and has room, or choose another with --cache. If it is "
                "damaged, move it away: batches under way are then not known here any more"
            ) from error

"""What was asked in which batch, written down before anything is sent.

A SQLite file beside the cache. A batch is there, with all its questions, before it is made; a
question is taken out when its answer is in the cache. Whoever finds a batch that was being made
when its process ended looks for it at the provider, by the mark that it carries there.
"""

from __future__ import annotations

import fcntl
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from judge.running.questions import Question
from judge.types import JudgeError, Usage

BATCHES = "batches"
"""The folder in the cache's that says what was asked in which batch."""
_DATABASE, _LOCK = "ledger.db", "making.lock"
_FORM = 1
_BUSY_SECONDS = 60.0
WRITTEN, CREATING, RUNNING, OVER = "written", "creating", "running", "over"
"""The states of a batch: not sent yet, perhaps made, made, read."""
OPEN, ANSWERED, AGAIN, FAILED = "open", "answered", "again", "failed"
"""The states of a question: in a batch, in the cache, to be asked again, not to be answered."""
MOST_TIMES = 3
"""In how many batches a question is asked that none of them answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch. `run` is the run that it was made for, `server` where.

    `kind` is what its questions have in common (`JudgeSession.kind`), `mode` and `tool` how a
    reply of a fixed form was asked for. `command` is the command line that made it. `most` is
    the US dollars that its answers can cost, None where that is unknown. `asked_at` is when
    the provider was told to make it, in seconds. Then what came of it so far: answers with
    their tokens and dollars (None where a price is unknown), questions that failed, those to be
    asked again.
    """

    id: str
    run: str
    rubric: str
    judge: str
    kind: str
    server: str
    mode: str | None
    tool: str | None
    command: str
    created: str
    state: str = WRITTEN
    asked_at: float | None = None
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


Spent = tuple[Usage | None, float | None]
"""The tokens of an answer and its US dollars; None for what is unknown."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a question: its batch, its state and in how many batches it was asked."""

    batch: str
    state: str
    times: int
    reason: str
    detail: str


_NAMES = [field.name for field in fields(Batch)]
_COLUMNS = ", ".join(_NAMES)
_SQL = {
    "str": "TEXT NOT NULL",
    "str | None": "TEXT",
    "int": "INTEGER NOT NULL",
    "float | None": "REAL",
}
_SCHEMA = f"""
    PRAGMA user_version = {_FORM};
    CREATE TABLE batch (
        {", ".join(f"{one.name} {_SQL[str(one.type)]}" for one in fields(Batch))}, PRIMARY KEY (id)
    );
    CREATE TABLE question (
        key TEXT PRIMARY KEY, batch TEXT NOT NULL, record BLOB NOT NULL, state TEXT NOT NULL,
        times INTEGER NOT NULL, reason TEXT NOT NULL DEFAULT '', detail TEXT NOT NULL DEFAULT ''
    ) WITHOUT ROWID;
    CREATE INDEX question_batch ON question (batch, state);
"""


class Ledger:
    """The batches whose answers go to the cache in `folder`. Several processes may share it.

    Raises `JudgeError` where the file cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / BATCHES
        self._file = self._folder / _DATABASE
        with self._explained():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file.touch(mode=0o600)
            self._data = sqlite3.connect(self._file, timeout=_BUSY_SECONDS, isolation_level=None)
            # Reports stand in the questions: what is taken out is to be gone.
            self._data.execute("PRAGMA secure_delete = ON").fetchall()
            # Others read while a large batch is written down.
            self._data.execute("PRAGMA journal_mode = WAL").fetchall()
            self._data.execute("PRAGMA synchronous = FULL")
            if self._form() == 0:
                with self.change():
                    if self._form() == 0:  # no other process was faster
                        for statement in _SCHEMA.split(";"):
                            self._data.execute(statement)
            if (form := self._form()) != _FORM:
                raise JudgeError(f"{self._file} is of another version of judge (form {form})")

    @classmethod
    def found(cls, folder: Path) -> Self | None:
        """Return the ledger beside the cache in `folder`, None where no batch was ever made."""
        return cls(folder) if (folder / BATCHES / _DATABASE).exists() else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._data.close()

    @property
    def folder(self) -> Path:
        """Where files of requests and answers are put for a while."""
        return self._folder

    @contextmanager
    def making(self, say: Callable[[str], None]) -> Iterator[None]:
        """Be the only process that makes batches; `say` is told where another does."""
        with self._explained():
            lock = (self._folder / _LOCK).open("ab")
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("Another process is at work on batches; waiting for it.")
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextmanager
    def change(self) -> Iterator[None]:
        """Make all changes inside, or none of them."""
        with self._explained():
            self._data.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._data.execute("ROLLBACK")
                raise
            self._data.execute("COMMIT")

    def batches(self, **having: str) -> list[Batch]:
        """Return the batches whose columns have these values, the oldest first."""
        where = " AND ".join(f"{name} = ?" for name in having) or "1"
        select = f"SELECT {_COLUMNS} FROM batch WHERE {where} ORDER BY rowid"  # noqa: S608
        with self._explained():
            rows = self._data.execute(select, tuple(having.values())).fetchall()
        return [Batch(**dict(zip(_NAMES, row, strict=True))) for row in rows]

    def batch(self, batch_id: str) -> Batch:
        """Return the batch with this id, here or at the provider; raises `JudgeError` for none."""
        for column in ("id", "remote_id"):
            if found := self.batches(**{column: batch_id}):
                return found[0]
        raise JudgeError(f"there is no batch {batch_id!r} here; judge batch list shows them")

    def put(self, batch: Batch) -> None:
        """Write a batch down as it is now."""
        marks = ", ".join(f":{name}" for name in _NAMES)
        update = ", ".join(f"{name} = excluded.{name}" for name in _NAMES)
        with self._explained():
            self._data.execute(
                f"INSERT INTO batch ({_COLUMNS}) VALUES ({marks}) "  # noqa: S608
                f"ON CONFLICT (id) DO UPDATE SET {update}",
                asdict(batch),
            )

    def ask(self, batch: Batch, asked: Question) -> None:
        """Write a question down as one of `batch`."""
        record = zlib.compress(json.dumps(asked.record).encode("ascii"), 1)
        with self._explained():
            self._data.execute(
                "INSERT INTO question (key, batch, record, state, times) VALUES (?, ?, ?, ?, 1) "
                "ON CONFLICT (key) DO UPDATE SET batch = excluded.batch, state = excluded.state, "
                "record = excluded.record, times = times + 1",
                (asked.key, batch.id, record, OPEN),
            )

    def entry(self, key: str) -> Entry | None:
        """Return what is known of a question; None where it is in no batch."""
        select = "SELECT batch, state, times, reason, detail FROM question WHERE key = ?"
        with self._explained():
            row = self._data.execute(select, (key,)).fetchone()
        return Entry(*row) if row else None

    def record(self, key: str) -> Mapping[str, Any]:
        """Return the canonical form of an open question."""
        select = "SELECT record FROM question WHERE key = ?"
        with self._explained():
            ((record,),) = self._data.execute(select, (key,)).fetchall()
            found: Mapping[str, Any] = json.loads(zlib.decompress(record))
        return found

    def answered(self, batch: str, answers: Mapping[str, Spent]) -> None:
        """Note questions whose answers are in the cache, with their tokens and US dollars."""
        used = [usage for usage, _ in answers.values() if usage]
        dollars = [dollars for _, dollars in answers.values()]
        known = [one for one in dollars if one is not None]
        values = (
            len(answers),
            sum(usage.prompt_tokens for usage in used),
            sum(usage.cached_tokens for usage in used),
            sum(usage.completion_tokens for usage in used),
            sum(known) if len(known) == len(dollars) else None,
            batch,
        )
        with self.change():
            self._data.executemany(
                "UPDATE question SET state = ? WHERE key = ?", [(ANSWERED, key) for key in answers]
            )
            self._data.execute(
                "UPDATE batch SET answered = answered + ?, prompt_tokens = prompt_tokens + ?, "
                "cached_tokens = cached_tokens + ?, completion_tokens = completion_tokens + ?, "
                "dollars = dollars + ? WHERE id = ?",
                values,
            )
            # An answer to a question that had been given up; else both are counted at the end.
            self._data.execute(
                "UPDATE batch SET "
                "failed = (SELECT COUNT(*) FROM question WHERE batch = id AND state = ?), "
                "again = (SELECT COUNT(*) FROM question WHERE batch = id AND state = ?) "
                "WHERE id = ? AND state = ?",
                (FAILED, AGAIN, batch, OVER),
            )

    def end(self, batch: str, remote_state: str) -> Batch:
        """Note that a batch is over; what it did not answer is to be asked again."""
        with self.change():
            self._data.execute(
                "UPDATE question SET state = CASE WHEN times >= ? THEN ? ELSE ? END, "
                "reason = 'no answer', detail = ? WHERE batch = ? AND state = ?",
                (MOST_TIMES, FAILED, AGAIN, f"the batch is {remote_state}", batch, OPEN),
            )
            self._data.execute(
                "DELETE FROM question WHERE batch = ? AND state = ?", (batch, ANSWERED)
            )
            ends = dict(
                self._data.execute(
                    "SELECT state, COUNT(*) FROM question WHERE batch = ? GROUP BY state", (batch,)
                )
            )
            self._data.execute(
                "UPDATE batch SET state = ?, remote_state = ?, failed = ?, again = ? WHERE id = ?",
                (OVER, remote_state, ends.get(FAILED, 0), ends.get(AGAIN, 0), batch),
            )
        return self.batch(batch)

    def without_answer(self, key: str, reason: str, detail: str, *, for_good: bool) -> None:
        """Note why a question was not answered, and whether another try is in vain."""
        state = FAILED if for_good else AGAIN
        with self._explained():
            self._data.execute(
                "UPDATE question SET state = CASE WHEN times >= ? THEN ? ELSE ? END, "
                "reason = ?, detail = ? WHERE key = ?",
                (MOST_TIMES, FAILED, state, reason, detail, key),
            )

    def drop(self, batch: str) -> None:
        """Forget a batch; its open questions may be asked in another, as if it had held none."""
        with self.change():
            self._data.execute(
                "DELETE FROM question WHERE batch = ? AND (state = ? OR state = ? AND times <= 1)",
                (batch, ANSWERED, OPEN),
            )
            self._data.execute(
                "UPDATE question SET state = ?, times = times - 1 WHERE batch = ? AND state = ?",
                (AGAIN, batch, OPEN),
            )
            self._data.execute("DELETE FROM batch WHERE id = ?", (batch,))

    def forget(self, batches: Iterable[str]) -> None:
        """Forget the questions of batches that are over: the next run asks them afresh."""
        with self.change():
            self._data.executemany(
                "DELETE FROM question WHERE batch = ? AND state != ?",
                [(batch, OPEN) for batch in batches],
            )
        with self._explained():
            ((n,),) = self._data.execute("SELECT COUNT(*) FROM question").fetchall()
            if not n:  # what large batches took is given back
                self._data.execute("VACUUM")

    def _form(self) -> int:
        ((form,),) = self._data.execute("PRAGMA user_version").fetchall()
        return int(form)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error, zlib.error) as error:
            said = error.strerror if isinstance(error, OSError) else str(error)
            raise JudgeError(
                f"the record of batches {self._file} cannot be used ({said}); make its folder one "
                "that can be written and has room, or choose another with --cache. If it is "
                "damaged, move it away: batches under way are then not known here any more"
            ) from error

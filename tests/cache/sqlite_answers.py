"""Another store of answers: one table of a SQLite database, and claims in another.

It shows that a store is one module: what `AnswerStore` asks for, and nothing of diskcache. One for
a database server differs in the connection and in how a claim ends with its owner. This one never
ends the claims of a process that was killed, and so is for tests.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import mean
from threading import RLock
from typing import Self

from judge.cache.answers import (
    DamagedAnswer,
    DamagedError,
    KeptAnswer,
    decode,
    decode_whole,
    encode,
    is_batched_by,
    tokens_in,
)
from judge.types import Completion

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS answer (
        n INTEGER PRIMARY KEY, key TEXT UNIQUE, value BLOB, tag TEXT
    );
    CREATE TABLE IF NOT EXISTS claim (key TEXT PRIMARY KEY);
"""


class SqliteAnswers:
    """The answers in the file `answers.sqlite` of a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.notice = ""
        self._damaged: set[str] = set()
        self._lock = RLock()
        self._data = sqlite3.connect(
            folder / "answers.sqlite", isolation_level=None, check_same_thread=False
        )
        self._data.executescript(_SCHEMA)

    def _sql(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        with self._lock:
            return self._data.execute(statement, values).fetchall()

    @property
    def n_damaged(self) -> int:
        return len(self._damaged)

    def get(self, key: str) -> Completion | None:
        for (value,) in self._sql("SELECT value FROM answer WHERE key = ?", key):
            try:
                return decode(value)
            except DamagedError:
                self._damaged.add(key)
        return None

    def put(self, answer: KeptAnswer) -> None:
        insert = "INSERT OR REPLACE INTO answer (key, value, tag) VALUES (?, ?, ?)"
        self._sql(insert, answer.key, encode(answer), answer.tag)

    def claim(self, key: str) -> bool:
        insert = "INSERT OR IGNORE INTO claim VALUES (?) RETURNING key"
        return bool(self._sql(insert, key))

    def release(self, key: str) -> None:
        self._sql("DELETE FROM claim WHERE key = ?", key)

    def iterate(self) -> Iterator[KeptAnswer | DamagedAnswer]:
        rows = self._sql("SELECT key, value, tag FROM answer ORDER BY n")
        for key, value, tag in rows:
            try:
                yield decode_whole(str(key), value, None if tag is None else str(tag))
            except DamagedError as error:
                yield DamagedAnswer(str(key), str(error))

    def remove(self, keys: Iterable[str]) -> int:
        delete = "DELETE FROM answer WHERE key = ? RETURNING key"
        return sum(len(self._sql(delete, key)) for key in keys)

    def is_batched(self, key: str) -> bool:
        rows = self._sql("SELECT tag FROM answer WHERE key = ?", key)
        return any(is_batched_by(str(tag)) for (tag,) in rows)

    def answer_tokens(self, kind: str) -> float | None:
        rows = self._sql("SELECT tag FROM answer ORDER BY n DESC LIMIT 1000")
        tokens = [tokens_in(str(tag), kind) for (tag,) in rows]
        known = [n for n in tokens if n is not None]
        return mean(known) if known else None

    def leave_thread(self) -> None:
        """Do nothing: all threads share one connection."""

    def __len__(self) -> int:
        ((n,),) = self._sql("SELECT count(*) FROM answer")
        return int(str(n))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._data.close()

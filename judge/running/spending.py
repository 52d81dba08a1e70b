"""What requests may have cost whose answers never came: a SQLite file beside the cache.

A request under a limit of money is written down before it is sent and taken out when its price is
known. What a broken connection, a timeout or `kill -9` leaves counts at its highest price when the
same questions are asked by a later command.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from judge.types import JudgeError

FILE = "spending.db"
_BUSY_SECONDS = 60.0
_SCHEMA = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS sent (
        id INTEGER PRIMARY KEY, key TEXT NOT NULL, dollars REAL NOT NULL CHECK (dollars >= 0)
    ) STRICT;
"""


class UnansweredRequests(AbstractContextManager["UnansweredRequests"]):
    """The requests about the questions of one cache that have no known price."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        with self._explained():
            self._file.touch(mode=0o600)
            self._data = sqlite3.connect(
                self._file,
                timeout=_BUSY_SECONDS,
                isolation_level=None,
                # Opened and closed by the session, and used by its thread of answers in between.
                check_same_thread=False,
            )
            self._data.executescript(_SCHEMA)

    def __exit__(self, *_error: object) -> None:
        self._data.close()

    def send(self, key: str, most: float) -> int:
        """Write down that a question is sent whose answer costs `most` dollars at the most."""
        with self._explained():
            insert = "INSERT INTO sent (key, dollars) VALUES (?, ?)"
            return int(self._data.execute(insert, (key, most)).lastrowid or 0)

    def settle(self, number: int, dollars: float) -> None:
        """Write down what a request has cost that brought no answer, or 0 with an answer.

        The price of an answer is that of its usage, which is in the cache.
        """
        with self._explained():
            if dollars > 0:
                update = "UPDATE sent SET dollars = ? WHERE id = ?"
                self._data.execute(update, (dollars, number))
            else:
                self._data.execute("DELETE FROM sent WHERE id = ?", (number,))

    def by_key(self) -> dict[str, float]:
        """Return the dollars that requests may have cost, by the keys of their questions."""
        with self._explained():
            rows = self._data.execute(
                "SELECT key, sum(dollars) FROM sent GROUP BY key"
            ).fetchall()
        return {str(key): float(dollars) for key, dollars in rows}

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise JudgeError(
                f"cannot use the record of unanswered requests {self._file} ({error}): make it "
                "writable, or move it away to count from 0"
            ) from error

"""The settings of a service, which no client can change, and the spending of its judges.

`.jobs/spent.sqlite` in the folder of new runs has a row for each judge: the US dollars that its
answers have cost. An answer under way counts at its highest price, also after its process was
killed, since it may be billed. No transaction waits for the disk: a power cut may lose those of the
last seconds, a killed process loses none.
"""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from judge import backends, rubrics
from judge.backends import LEXICON
from judge.running.cost import Prices, SpendingLimit
from judge.types import JudgeError, Usage

FILE = "spent.sqlite"
_BUSY_SECONDS = 30.0
_JOURNAL = """PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;"""
_TABLE = """CREATE TABLE IF NOT EXISTS spent
    (judge TEXT PRIMARY KEY, dollars REAL NOT NULL CHECK (dollars >= 0)) STRICT"""
_CHANGE = """UPDATE spent SET dollars = max(0, dollars + ?1)
    WHERE judge = ?2 AND dollars + ?1 <= ?3"""


class Ledger(SpendingLimit):
    """The budget of one judge, kept in its row of the table at `path`.

    `max_cost` limits this run beside the budget, which all runs of the judge share.
    Each change is one transaction, so that the processes of runs share the sum. Threads may share
    one; `close` lets go of the table, which the next use opens again. Raises `JudgeError` where
    the table cannot be read or written.
    """

    def __init__(
        self,
        path: str | Path,
        judge: str,
        limit: float | None = None,
        max_cost: float | None = None,
    ) -> None:
        super().__init__(limit)
        self._of_run = SpendingLimit(max_cost)
        # The table has all that was ever spent, but not by which run.
        self.counts_earlier = max_cost is not None
        self.notes_unanswered = max_cost is not None
        self.path = Path(path)
        self.judge = judge
        self._table: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Let go of the table."""
        with self._lock:
            self._close()

    @property
    def spent(self) -> float:
        """The dollars spent, with those of the answers under way."""
        with self._open() as table:
            query = "SELECT dollars FROM spent WHERE judge = ?"
            return float(table.execute(query, (self.judge,)).fetchone()[0])

    def left(self) -> float | None:
        """Return the dollars left, None for no limit."""
        return None if self.limit is None else max(0.0, self.limit - self.spent)

    def reserve(self, most: float | None) -> str:
        """Set aside the most that an answer can cost; returns why that cannot be, or ""."""
        if why := self._of_run.reserve(most):
            return why
        why = super().reserve(most)
        if why:
            self._of_run.settle(most, 0.0)
        return why

    def count_earlier(self, dollars: float) -> None:
        """Count what earlier commands spent on this run; the table of the budget has it already."""
        self._of_run.count_earlier(dollars)

    def settle(self, most: float | None, spent: float | None) -> None:
        """Replace the most that an answer could cost by its cost, if that is known."""
        self._of_run.settle(most, spent)
        super().settle(most, spent)

    def _add(self, dollars: float, limit: float | None) -> bool:
        most = math.inf if limit is None else limit
        with self._open() as table:
            return table.execute(_CHANGE, (dollars, self.judge, most)).rowcount > 0

    def _unpriced(self) -> str:
        return f"{self.judge} has a budget, and no known price"

    def _refusal(self) -> str:
        left = math.floor(100 * (self.left() or 0.0) + 1e-6) / 100
        return (
            f"the budget of {self.judge} has no room for another answer: ${left:,.2f} of "
            f"${self.limit or 0:,.2f} left. The owner of this service can raise it; answers in "
            "the cache stay free"
        )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Return the table, which has the judge's row, in a transaction."""
        with self._lock:
            try:
                if self._table is None:
                    self._table = self._opened()
                with (
                    self._table as table
                ):  # the transaction, which begins with a change
                    yield table
            except (OSError, sqlite3.Error) as error:
                self._close()
                raise JudgeError(
                    f"the spending in .jobs/{FILE} of the folder of runs cannot be read "
                    f"({error}); to count from 0, remove it and lower --budget by the dollars spent"
                ) from error

    def _opened(self) -> sqlite3.Connection:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        table = sqlite3.connect(
            self.path, timeout=_BUSY_SECONDS, check_same_thread=False
        )
        try:
            table.executescript(_JOURNAL)
            table.execute(_TABLE)
            with table:
                insert = "INSERT OR IGNORE INTO spent VALUES (?, 0)"
                table.execute(insert, (self.judge,))
        except sqlite3.Error:
            table.close()
            raise
        return table

    def _close(self) -> None:
        if self._table is not None:
            self._table.close()
            self._table = None


MEGABYTE = 2**20
JOBS = ".jobs"
"""The folder of the jobs in a folder of runs."""


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The settings of a service.

    New runs are written below the first of the folders `runs`; `named` are run folders anywhere.
    `judges` maps each allowed judge besides the built-in one to the address of its server, None for
    the usual one; `budgets` are US dollars by judge, `max_upload` is in bytes. `concurrency` is how
    many questions about single studies a judge behind an API is asked at a time, None for as many
    as come.
    """

    runs: tuple[Path, ...]
    named: tuple[Path, ...] = ()
    judges: Mapping[str, str | None] = field(default_factory=dict)
    budgets: Mapping[str, float] = field(default_factory=dict)
    cache: Path | None = None
    token: str | None = None
    max_upload: int = 256 * MEGABYTE
    concurrency: int | None = None

    @property
    def allowed(self) -> list[str]:
        """The judges that a client may ask."""
        return [LEXICON, *self.judges]

    def ledger(
        self, judge: str, max_cost: float | None = None
    ) -> tuple[str, str, float | None, float | None]:
        """Return the arguments of the `Ledger` of `judge`, for a run of at most `max_cost`."""
        path = self.runs[0].absolute() / JOBS / FILE
        return str(path), judge, self.budgets.get(judge), max_cost

    def hide_folders(self, text: object) -> str:
        """Return a message without the paths of the folders of runs."""
        for folder in (*self.runs, *(run.absolute().parent for run in self.named)):
            text = (
                str(text).replace(f"{folder.absolute()}/", "").replace(f"{folder}/", "")
            )
        return str(text)


def limits(
    options: Mapping[str, str | None],
    judges: Mapping[str, str | None],
    environ: Mapping[str, str],
) -> dict[str, float]:
    """Return the limits of `--budget [JUDGE=]DOLLARS` by judge; raises `JudgeError` for others."""
    budgets: dict[str, float] = {}
    for name, amount in options.items():
        if amount is None and len(judges) == 1:
            amount, (name,) = name, judges
        try:
            dollars = float(amount or "nan")
        except ValueError:
            dollars = math.nan
        if name not in judges or name in budgets or not 0 < dollars < math.inf:
            raise JudgeError(
                f"--budget {name}={amount}: write --budget JUDGE=DOLLARS once for each judge that "
                f"--offer names ({', '.join(judges) or 'none'})"
            )
        _check_price(name, judges[name], environ)
        budgets[name] = dollars
    return budgets


def _check_price(name: str, url: str | None, environ: Mapping[str, str]) -> None:
    rubric = rubrics.load(rubrics.built_in()[0])
    settings = backends.JudgeSettings(base_url=url, environ=environ, sends=False)
    judge = backends.load(name, rubric, settings)
    if Prices.of(judge).dollars(Usage(0, 1)) is None:
        raise JudgeError(
            f"{name} cannot have a --budget: the package genai-prices knows no price for it at "
            f"{judge.billing_url or 'this machine'}"
        )

"""What the judges may cost the service's owner, and what they have cost.

`.jobs/spent.json` in the folder of new runs holds one number for each judge: the US dollars
that all its answers have cost, to runs and single pairs of every service on that folder.
Answers under way count at their most. Where no answer comes, nothing is counted, unless a
process was ended in between: whether such an answer is billed is not known, and its most stands.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge import backends, rubrics
from judge.running.progress import Prices
from judge.service import ProblemError
from judge.types import JudgeError, Usage

FILE = "spent.json"
PAYMENT_REQUIRED = 402
SPENT = "the budget of "
"""What the reason begins with why nothing is asked any more."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The US dollars that a judge may cost, and the least that one more answer sets aside."""

    dollars: float
    least: float


@dataclass(frozen=True, slots=True)
class Ledger:
    """One judge's number in the file at `path`; `limit` in US dollars is None for none.

    Each change is one write under a lock that all processes keep to.
    """

    path: Path
    judge: str
    limit: float | None = None

    @classmethod
    def of(cls, plain: Mapping[str, Any] | None) -> Ledger | None:
        """Return the ledger that `plain` gave."""
        return cls(Path(plain["path"]), plain["judge"], plain["limit"]) if plain else None

    def plain(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return {"path": str(self.path), "judge": self.judge, "limit": self.limit}

    def spent(self) -> float:
        """Return what was spent; raises `JudgeError` where that cannot be read."""
        with self._locked() as known:
            return known.get(self.judge, 0.0)

    def left(self) -> float | None:
        """Return the dollars that are left, None for no limit; raises `JudgeError` as `spent`."""
        return None if self.limit is None else max(0.0, self.limit - self.spent())

    def shown(self) -> str:
        """Return what is left of the limit in words, rounded down."""
        cents = math.floor(100 * (self.left() or 0.0) + 1e-6)
        return f"${cents / 100:,.2f} of ${self.limit or 0:,.2f} left"

    def check(self, least: float) -> None:
        """Raise `ProblemError` 402 where not even `least` dollars are left."""
        if self.limit is not None and self.spent() + least > self.limit:
            raise ProblemError(PAYMENT_REQUIRED, self._refusal())

    def reserve(self, most: float | None) -> str:
        """Set aside what an answer can cost; returns why not, or ""."""
        if most is None:
            return "" if self.limit is None else f"{self.judge} has a budget, and no known price"
        with self._locked() as known:
            total = known.get(self.judge, 0.0) + most
            is_within = self.limit is None or total <= self.limit
            if is_within:
                known[self.judge] = total
        return "" if is_within else self._refusal()

    def settle(self, most: float, spent: float | None) -> None:
        """Count what an answer did cost instead of its most, which stands where that is unknown."""
        if spent is not None:
            with self._locked() as known:
                known[self.judge] = max(0.0, known.get(self.judge, 0.0) + spent - most)

    def _refusal(self) -> str:
        return (
            f"{SPENT}{self.judge} has no room for another answer: {self.shown()}. The owner "
            "of this service sets it (--budget); what was answered is in the cache and stays free"
        )

    @contextmanager
    def _locked(self) -> Iterator[dict[str, float]]:
        """Give the file's numbers, and write down what the block makes of them."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise JudgeError(f"what was spent is not known: {FILE}: {error.strerror}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            size = os.fstat(file).st_size
            known = _numbers(os.pread(file, size, 0)) if size else {}
            before = dict(known)
            yield known
            if known != before:
                # One write that is never shorter than the last: no reader finds half of it.
                os.pwrite(file, json.dumps(known).encode().ljust(size), 0)
                if not size:
                    os.fsync(file)
        finally:
            os.close(file)


def _numbers(data: bytes) -> dict[str, float]:
    try:
        known = json.loads(data)
        if isinstance(known, dict) and all(_is_sum(value) for value in known.values()):
            return known
    except ValueError:
        pass
    raise JudgeError(
        f"what was spent is not known: .jobs/{FILE} in the folder of runs is damaged. Write the "
        'dollars of each judge into it, such as {"gpt-4o": 12.5}, or remove it to count from 0'
    )


def _is_sum(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value >= 0


def limits(
    options: tuple[str, ...], judges: Mapping[str, str | None], environ: Mapping[str, str]
) -> dict[str, Limit]:
    """Return the limits of `--budget DOLLARS` or `JUDGE=DOLLARS`, by judge.

    Raises `JudgeError` for one that does not say which judge it is for, is no sum, or is for
    a judge without a known price.
    """
    found: dict[str, Limit] = {}
    for option in options:
        name, mark, amount = option.rpartition("=")
        dollars = _dollars(option, amount)
        judge = name if mark else _only_one(option, judges, environ)
        if judge not in judges:
            raise JudgeError(f"--budget {option}: no --allow-judge names {judge!r}")
        if judge in found:
            raise JudgeError(f"--budget {option}: {judge} has a budget already")
        found[judge] = Limit(dollars, _least(judge, judges[judge], environ))
    return found


def _dollars(option: str, amount: str) -> float:
    try:
        dollars = float(amount)
    except ValueError:
        dollars = math.nan
    if not (math.isfinite(dollars) and dollars > 0):
        raise JudgeError(f"--budget {option}: {amount!r} is no sum of dollars above 0")
    return dollars


def _only_one(option: str, judges: Mapping[str, str | None], environ: Mapping[str, str]) -> str:
    """Return the one judge that costs something."""
    if not judges:
        raise JudgeError(f"--budget {option} needs a judge: add --allow-judge NAME")
    paid = list(judges)
    if len(judges) > 1:
        loaded = {name: _loaded(name, judges[name], environ) for name in judges}
        paid = [name for name, judge in loaded.items() if judge.billing_url]
    if len(paid) != 1:
        each = " ".join(f"--budget {name}={option}" for name in paid or judges)
        raise JudgeError(f"--budget {option} does not say which judge it is for; write {each}")
    return paid[0]


def _least(name: str, url: str | None, environ: Mapping[str, str]) -> float:
    """Return the dollars that any answer of a judge sets aside: the longest, to no prompt."""
    judge = _loaded(name, url, environ)
    longest = judge.sampling.get("max_tokens")
    prices = Prices(judge.version, judge.billing_url)
    dollars = prices.dollars(Usage(0, longest)) if isinstance(longest, int) else None
    if dollars is None:
        raise JudgeError(
            f"{name} cannot have a budget: no price is known for it at {judge.billing_url}. Prices "
            "are those of the package genai-prices; a newer one may have it. Without --budget what "
            "it costs is not bounded"
            if judge.billing_url
            else f"{name} needs no --budget: it runs on this machine and costs nothing here"
        )
    return dollars


def _loaded(name: str, url: str | None, environ: Mapping[str, str]) -> backends.Judge:
    rubric = rubrics.load(rubrics.built_in()[0])
    settings = backends.JudgeSettings(base_url=url, environ=environ, sends=False)
    return backends.load(name, rubric, settings)

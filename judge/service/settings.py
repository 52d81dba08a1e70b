"""What the owner of a service decides, and no client can change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from judge.backends import LEXICON
from judge.service.budget import FILE, Ledger, Limit
from judge.studies.names import MAX_INPUT
from judge.types import JudgeError

MEGABYTE = 2**20
JOBS = ".jobs"
"""The folder in a folder of runs that holds what their service knows besides."""


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """How a service runs.

    `runs` are the folders whose runs are shown; new ones are written below the first. `named` are
    run folders anywhere. `judges` maps each judge that is allowed, besides the built-in one, to
    the address of its server, None for the usual one; `budgets` are what some of them may cost.
    `cache` is the folder of answers, None for the usual place. `token` is what a client must
    show, None where only this machine is served. `max_upload` bounds the body of a request with a
    run's files, `max_body` that of any other, in bytes. `images` is the folder that readers are
    shown studies' images from, None where they are shown none.
    """

    runs: tuple[Path, ...]
    named: tuple[Path, ...] = ()
    judges: Mapping[str, str | None] = field(default_factory=dict)
    budgets: Mapping[str, Limit] = field(default_factory=dict)
    cache: Path | None = None
    token: str | None = None
    max_upload: int = 256 * MEGABYTE
    max_body: int = 4 * MEGABYTE
    pair_seconds: float = 60.0
    compare_seconds: float = 600.0
    check_seconds: float = 120.0
    images: Path | None = None

    @property
    def max_input(self) -> int:
        """How many bytes an upload may unpack to."""
        return min(4 * self.max_upload, MAX_INPUT)

    def allows(self, judge: str) -> bool:
        """Whether a client may ask `judge`."""
        return judge == LEXICON or judge in self.judges

    def ledger(self, judge: str) -> Ledger:
        """Return what `judge` has cost and may."""
        limit = self.budgets.get(judge)
        path = self.runs[0].absolute() / JOBS / FILE
        return Ledger(path, judge, limit.dollars if limit else None)

    def check_budget(self, judge: str) -> None:
        """Raise `ProblemError` 402 where a judge's budget has no room for another answer."""
        if limit := self.budgets.get(judge):
            self.ledger(judge).check(limit.least)


def allowed_judges(options: tuple[str, ...]) -> dict[str, str | None]:
    """Return the judges of `--allow-judge NAME` or `NAME=URL`, each with its server's address."""
    judges: dict[str, str | None] = {}
    for option in options:
        name, _, url = option.partition("=")
        if not url.startswith(("http://", "https://")):
            name, url = option, ""
        if not name.strip():
            raise JudgeError(f"--allow-judge {option!r} names no judge; write NAME or NAME=URL")
        judges[name] = url or None
    return judges

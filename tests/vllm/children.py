"""Processes, as the system lists them."""

from __future__ import annotations

import time
from collections.abc import Callable, Set
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def sessions() -> dict[int, tuple[int, int, str]]:
    """Every living process: its parent, its session and its command line."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            after = (
                (entry / "stat")
                .read_text("utf-8", "replace")
                .rpartition(")")[2]
                .split()
            )
            line = (
                (entry / "cmdline")
                .read_bytes()
                .replace(b"\0", b" ")
                .decode("utf-8", "replace")
            )
        except OSError:
            continue
        if after[0] != "Z":
            found[int(entry.name)] = int(after[1]), int(after[3]), line
    return found


OTHERS: set[int] = set()
"""Processes that were there before the test: those of other tests may stay."""


def below(pid: int) -> set[int]:
    """The living processes that come from `pid` and were not there before the test."""
    return descendants(pid, OTHERS)


def descendants(pid: int, but: Set[int] = frozenset()) -> set[int]:
    """The living processes that come from `pid`; none of `but`, nor what comes from them alone."""
    known = {pid: one for pid, one in sessions().items() if pid not in but}
    found: set[int] = set()
    grown = True
    while grown:
        more = {
            p for p, (parent, _, _) in known.items() if parent in found | {pid}
        } - found
        grown = bool(more)
        found |= more
    return found


def wait_for(reached: Callable[[], T], seconds: float) -> T:
    """Return the first true value of `reached`; raises `TimeoutError`."""
    until = time.monotonic() + seconds
    while not (value := reached()):
        if time.monotonic() > until:
            raise TimeoutError(f"not reached in {seconds:g} s")
        time.sleep(0.1)
    return value


def gone(pids: set[int], seconds: float = 20.0) -> bool:
    """Whether all of `pids` have ended within so many seconds."""
    try:
        return wait_for(lambda: not pids & set(sessions()), seconds)
    except TimeoutError:
        return False

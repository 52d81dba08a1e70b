"""How a run that is under way is ended from outside: by a signal, or by another thread."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any

from judge.running.progress import (
    INTERRUPTED,
    TERMINATED,
    ProgressListener,
    StopSignal,
)

# After SIGTERM the answers under way get so many seconds: who sends it soon kills. Ctrl-C in a
# notebook is to be over within a second.
_GRACE, _SHORT_GRACE = 5.0, 0.6


class Interruption:
    """Ends one run; made within its event loop, in the task that runs it."""

    def __init__(self, stop: StopSignal, listener: ProgressListener) -> None:
        self._stop, self._listener = stop, listener
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        self._run = task

    def from_thread(self) -> None:
        """Stop asking, and end within a second: what is answered by then is kept."""
        self._soon(partial(self.end, INTERRUPTED, _SHORT_GRACE))

    def by_signal(self, number: int, _frame: object) -> None:
        """Stop asking, as a handler of signals; a second Ctrl-C ends at once."""
        if number == signal.SIGINT:
            self._soon(self._by_ctrl_c)
        else:
            self._soon(self._by_system)

    def _soon(self, work: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the run has ended, and its loop is closed
            self._loop.call_soon_threadsafe(work)

    def _by_ctrl_c(self) -> None:
        if self._stop.why is not None:
            self._run.cancel()
            return
        self._stop.set(INTERRUPTED)
        self._listener.say(
            "Stopping: collecting the answers under way. Ctrl-C again stops at once."
        )

    def _by_system(self) -> None:
        self.end(TERMINATED, _GRACE)

    def end(self, why: str, grace: float) -> None:
        """Stop asking, and give the answers under way so many seconds."""
        self._stop.set(why)
        self._loop.call_later(grace, self._run.cancel)


@contextmanager
def handling(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Have the signals that end a run call `handler`; the handlers before it come back.

    SIGTERM and SIGHUP are left alone in a program that lets them end it at once, or that ignores
    them, as below `nohup`.
    """
    before: dict[signal.Signals, Any] = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        known = signal.getsignal(number)
        # None is a handler that is no Python function: it could not be put back.
        if callable(known) or (number == signal.SIGINT and known is not None):
            before[number] = known
    try:
        for number in before:
            # Not by the loop: that would take the place of the program's own wake-up descriptor.
            signal.signal(number, handler)
        yield
    finally:
        for number, known in before.items():
            signal.signal(number, known)

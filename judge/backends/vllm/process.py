"""A child process that never outlives its owner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from judge.types import JudgeError

_GUARD = Path(__file__).with_name("guard.py")
# The guard is gentle for five seconds; then it kills.
_PATIENCE = 15.0


class Process:
    """A command under the guard's eye, with all that it writes going to the file `log`.

    It is gone when this process is, whatever happens to it (see `guard`). Raises
    `JudgeError` where the log cannot be written.
    """

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], log: Path) -> None:
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            # For its owner alone: it may quote reports.
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise JudgeError(f"cannot write the server's log {log}: {error.strerror}") from error
        try:
            self._guard = subprocess.Popen(  # noqa: S603 - the guard, no shell
                [sys.executable, "-I", "-S", str(_GUARD), *command],
                stdin=subprocess.PIPE,
                stdout=descriptor,
                stderr=descriptor,
                env=dict(environ),
                start_new_session=True,
            )
        finally:
            os.close(descriptor)
        self._buried = False

    @property
    def exit_status(self) -> int | None:
        """The command's exit status, 128 and more for a signal; None while it runs."""
        status = self._guard.poll()
        if status is None:
            return None
        self._bury()
        return status if status >= 0 else 128 - status

    def stop(self) -> None:
        """End the command and everything it started; returns when nothing is left."""
        self._let_go()
        try:
            self._guard.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._guard.kill()
            self._guard.wait()
        self._bury()

    def _let_go(self) -> None:
        if self._guard.stdin is not None:
            with suppress(OSError):
                self._guard.stdin.close()

    def _bury(self) -> None:
        """Kill what is left of the process group, should the guard not have done its work."""
        self._let_go()
        if not self._buried:  # later the number may be somebody else's
            self._buried = True
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._guard.pid, signal.SIGKILL)

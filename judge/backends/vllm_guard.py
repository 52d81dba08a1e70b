"""Run a command, and end all that it started when its owner is gone, even by `kill -9`.

    python -I -S vllm_guard.py COMMAND [ARGUMENT ...]

The owner holds the other end of standard input. The exit status is the command's.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

_DEATH_SIGNAL, _CHILD_SUBREAPER = 1, 36  # of prctl
_GRACE, _TICK = 5.0, 0.1


def main(command: list[str]) -> int:
    """Run `command` until it or standard input ends; returns its exit status."""
    _prctl(_CHILD_SUBREAPER, 1)
    stopped: list[int] = []
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda number, _frame: stopped.append(number))
    child = subprocess.Popen(  # noqa: S603 - the owner's own command, no shell
        command,
        stdin=subprocess.DEVNULL,
        preexec_fn=lambda: _prctl(_DEATH_SIGNAL, signal.SIGKILL),
    )
    while child.poll() is None and not stopped:
        if select.select([0], [], [], _TICK)[0] and not os.read(0, 1):
            break
    deadline = time.monotonic() + _GRACE
    signalled: set[int] = set()
    while children := _children(child):
        is_late = time.monotonic() > deadline
        for pid in children if is_late else children - signalled:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if is_late else signal.SIGTERM)
        signalled |= children
        time.sleep(_TICK)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _children(child: subprocess.Popen[bytes]) -> set[int]:
    living = {child.pid} if child.poll() is None else set()
    with suppress(FileNotFoundError):  # where there is no /proc
        text = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii")
        for pid in {int(word) for word in text.split()} - {child.pid}:
            if not os.waitpid(pid, os.WNOHANG)[0]:
                living.add(pid)
    return living


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

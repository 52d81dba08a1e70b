"""Runs a command and makes sure that nothing of it is left when its owner is gone.

    python -I -S guard.py COMMAND [ARGUMENT ...]

The owner holds the other end of standard input. The kernel closes that pipe however the owner
ends, `kill -9` included: the sign to stop. On Linux orphans are handed to the guard, so nothing
that the command started gets away. Should the guard be killed, the kernel kills the command.

It ends with the command's exit status, or 128 and the signal. It imports no other package.
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

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_GRACE = 5.0
_TICK = 0.1


def main(command: list[str]) -> int:
    """Run `command` until it ends or standard input does; returns its exit status."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    told = False

    def tell(_signal: int, _frame: object) -> None:
        nonlocal told
        told = True

    for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(each, tell)
    child = subprocess.Popen(  # noqa: S603 - the owner's own command, no shell
        command,
        stdin=subprocess.DEVNULL,
        preexec_fn=lambda: _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),
    )
    try:
        while child.poll() is None and not told:
            readable, _, _ = select.select([0], [], [], _TICK)
            if readable and not os.read(0, 1):
                break
    finally:
        _end(child)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _end(child: subprocess.Popen[bytes]) -> None:
    # The group is this process's own: it must not hear the signal that it sends.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(os.getpgrp(), signal.SIGTERM)
    asked = {child.pid}
    until = time.monotonic() + _GRACE
    while left := _children(child):
        is_late = time.monotonic() > until
        for pid in left if is_late else left - asked:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if is_late else signal.SIGTERM)
        asked |= left
        time.sleep(_TICK)


def _children(child: subprocess.Popen[bytes]) -> set[int]:
    left = set() if child.poll() is not None else {child.pid}
    for entry in Path("/proc").glob("[0-9]*/stat"):  # where there is one
        pid = int(entry.parent.name)
        with suppress(OSError, IndexError):
            # The name in brackets may hold anything, brackets and spaces included.
            parent = entry.read_text("utf-8", "replace").rpartition(")")[2].split()[1]
            if (
                int(parent) == os.getpid()
                and pid != child.pid
                and not os.waitpid(pid, os.WNOHANG)[0]
            ):
                left.add(pid)
    return left


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

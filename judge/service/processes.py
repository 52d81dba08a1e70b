"""The processes of a service: each run, check and comparison has one of its own.

What a request breaks or outlasts is its own process, and so no other's work. It is told on its
standard input what to do (see `judge.service.worker`); that this ends tells it that the service
is gone, also where it was killed.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from judge.service import ProblemError

_LONGEST_LINE = 2**28


@asynccontextmanager
async def process(
    task: str,
    request: Mapping[str, Any],
    patience: float = 0.0,
    **how: Any,  # noqa: ANN401 - as asyncio takes them
) -> AsyncIterator[Process]:
    """Start a process for a task; after the block it ends, within `patience` seconds in order."""
    started = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "judge.service.worker", task),
        stdin=PIPE,
        stdout=PIPE,
        limit=_LONGEST_LINE,
        start_new_session=True,  # Ctrl-C at the terminal is for the service alone
        **how,
    )
    assert started.stdin is not None
    try:
        with suppress(ConnectionError):
            started.stdin.write(json.dumps(request).encode() + b"\n")
            await started.stdin.drain()
        yield started
    finally:
        started.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(started.wait(), patience)
        if started.returncode is None:
            started.kill()
            await started.wait()


async def reply(started: Process, task: str) -> dict[str, Any]:
    """Return the next reply; raises the `ProblemError` that it is, 502 where there is none."""
    assert started.stdout is not None
    if not (line := await started.stdout.readline()):
        why = ended_by(await started.wait())
        raise ProblemError(
            502, f"the process of this {task} broke off ({why}); the service's log says more"
        )
    answer: dict[str, Any] = json.loads(line)
    if "status" in answer:
        raise ProblemError(answer["status"], answer["detail"])
    return answer


def ended_by(code: int) -> str:
    """Return what ended a process, a signal's name or its exit code."""
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


@asynccontextmanager
async def time_limit(seconds: float, task: str) -> AsyncIterator[None]:
    """Raise `ProblemError` 504 where the block takes longer than so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise ProblemError(504, f"the {task} took longer than {seconds:g} seconds") from None

"""A process that judges studies for a run: `python -m judge.running.worker`.

See `judge.running.workers`, which starts it and speaks with it.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from judge.running.asking import RequestPolicy
from judge.running.engine import judge_one
from judge.running.notes import Notes
from judge.running.progress import Progress
from judge.running.records import Judged
from judge.running.session import JudgeSession
from judge.running.waiting import Stop
from judge.running.workers import SIZE, packed
from judge.types import Study

# What comes back says nothing that who asked has.
_NO_STUDY = Study("", "", "")


def main() -> None:
    """Judge what comes on standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it says when it is over
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a judge prints is no reply
    with open(0, "rb", closefd=False) as requests:
        received = _received(requests)
        for rubric, judge in received:  # the first alone
            session = JudgeSession(rubric, judge, RequestPolicy(), Path())
            break
        for studies in received:
            ends = asyncio.run(_judged(session, studies))
            try:
                replies.write(packed((ends, Notes.of(session.judge))))
                replies.flush()
            except BrokenPipeError:  # nobody waits any more
                os._exit(0)


def _received(requests: IO[bytes]) -> Iterator[Any]:
    while len(size := requests.read(SIZE)) == SIZE:
        data = requests.read(wanted := int.from_bytes(size))
        if len(data) < wanted:
            return
        yield pickle.loads(data)  # noqa: S301 - of the process that started this one


async def _judged(session: JudgeSession, studies: list[Study]) -> list[Judged]:
    answer = session.answerer(Progress(total=len(studies)), Stop())
    ends = [await judge_one(session, 0, study, answer) for study in studies]
    return [replace(end, study=_NO_STUDY) for end in ends]


if __name__ == "__main__":
    main()

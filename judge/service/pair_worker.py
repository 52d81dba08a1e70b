"""Annotating single pairs in a process of its own, any number of them at a time.

It is the engine of a run: the same cache, the same questions, the same outcomes.
"""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Mapping
from functools import cache
from typing import Any

from judge import backends
from judge.running.asking import RequestPolicy
from judge.running.engine import RunStoppedError
from judge.running.records import to_record
from judge.running.run import with_classes
from judge.running.session import JudgeSession
from judge.running.standing import StandingJudge
from judge.service import ProblemError
from judge.service.budget import PAYMENT_REQUIRED, SPENT, Ledger
from judge.service.worker import Channel, memory_limit, say
from judge.studies import from_given
from judge.studies.told import with_told
from judge.types import JudgeError

# A reader waits for the answer: an outage is theirs to sit out, not ours.
_POLICY = RequestPolicy(max_outage=20.0)
_JUDGE, _SERVER = 503, 502
_WHICH = ("rubric", "judge", "prompt", "reply", "base_url", "cache")


@cache
def _session(
    rubric: str,
    judge: str,
    prompt: str | None,
    reply: str,
    url: str | None,
    folder: str | None,
    budget: Ledger | None,
) -> JudgeSession:
    """Return what stays loaded from one pair to the next; `folder` is that of answers."""
    settings = backends.JudgeSettings(
        prompt=prompt,
        reply=None if reply == "auto" else reply,
        base_url=url,
        environ=os.environ,
        say=say,
    )
    return JudgeSession.load(rubric, judge, settings, policy=_POLICY, cache=folder, budget=budget)


class PairAnnotator:
    """Annotates pairs with judges that stay loaded, and asks nothing twice."""

    def __init__(self) -> None:
        self._standing: dict[JudgeSession, StandingJudge] = {}

    async def annotate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the record of one pair, with its signature and the judge's note.

        Raises `JudgeError` for a pair that cannot be judged; `ProblemError` 503 where the
        judge cannot be had, 502 where it gives no answer, and 402 where its budget has no
        room for one.
        """
        try:
            session = _session(*(asked[name] for name in _WHICH), Ledger.of(asked["ledger"]))
            standing = self._standing.setdefault(session, StandingJudge(session))
            standing.ready()
        except JudgeError as error:
            raise ProblemError(_JUDGE, str(error)) from error
        with memory_limit(asked["max_memory"]):  # what a judge loads is no task's
            return await self._judged(standing, asked)

    async def _judged(self, standing: StandingJudge, asked: Mapping[str, Any]) -> dict[str, Any]:
        session = standing.session
        given = from_given(
            [asked["reference"]],
            [asked["candidate"]],
            study_ids=[asked["study_id"]],
            fields={} if asked["context"] is None else {"context": [asked["context"]]},
        )
        studies, class_source = with_classes(
            with_told(given, context=None if session.rubric.takes_context else ())
        )
        try:
            (end,) = await standing.judge(studies)
        except JudgeError as error:
            raise ProblemError(_SERVER, str(error)) from error
        except RunStoppedError as error:
            if error.why.startswith(SPENT):
                raise ProblemError(PAYMENT_REQUIRED, error.why) from error
            raise ProblemError(_SERVER, "asking was stopped before there was an answer") from error
        judge = session.judge
        return {
            **to_record(end, session.rubric),
            "rubric": session.rubric.name,
            "judge": {"name": judge.name, "version": judge.version, "note": judge.note},
            "signature": session.signature(studies, class_source),
        }


async def serve(channel: Channel) -> None:
    """Answer requests until the process ends."""
    annotator = PairAnnotator()
    under_way: set[asyncio.Task[None]] = set()

    async def answer(request: Mapping[str, Any]) -> None:
        with channel.replying(request) as reply:
            reply["record"] = await annotator.annotate(request)

    def end(task: asyncio.Task[None]) -> None:
        under_way.discard(task)
        if error := task.exception():  # a fault of ours: who asked is told by the process's end
            traceback.print_exception(error)
            os._exit(1)

    while True:
        task = asyncio.create_task(answer(await asyncio.to_thread(channel.receive)))
        under_way.add(task)
        task.add_done_callback(end)


if __name__ == "__main__":
    asyncio.run(serve(Channel()))

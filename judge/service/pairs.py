"""Annotating single pairs in the service's own process, any number of them at a time.

It is the engine of a run: the same cache, the same questions, the same outcomes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from judge import backends
from judge.running.engine import RunStoppedError
from judge.running.records import to_record
from judge.running.session import JudgeSession, RequestPolicy, with_classes
from judge.running.thread import JudgeThread
from judge.service import ProblemError
from judge.service.budget import PAYMENT_REQUIRED, SPENT
from judge.service.settings import ServiceSettings
from judge.service.worker import say, time_limit
from judge.studies import StudySet, from_given
from judge.studies.study_set import attach_context
from judge.types import JudgeError

# A reader waits for the answer: an outage is theirs to sit out, not ours.
_POLICY = RequestPolicy(max_outage=20.0)
_WRONG, _JUDGE, _SERVER = 422, 503, 502
_WHICH = ("rubric", "judge", "prompt", "reply")


class Pairs:
    """Annotates pairs with judges that stay loaded, and asks nothing twice.

    Each judge of a rubric has a thread with an event loop, so that pages never wait for one. The
    built-in judge answers one pair at a time there; the others wait for many answers at once.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._loading = asyncio.Lock()
        self._threads: dict[tuple[Any, ...], JudgeThread] = {}

    async def annotate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the record of one pair, with its signature and the judge's note.

        Raises `ProblemError` 422 for a pair that cannot be judged, 503 where the judge cannot be
        had, 502 where it gives no answer, 402 where its budget has no room for one, and 504 after
        `pair_seconds`, or ten times as long for a judge whose server may be gone and come back.
        """

        async def judged(standing: JudgeThread) -> dict[str, Any]:
            return await _judged(standing, asked)

        is_built_in = asked["judge"].partition(":")[0] == backends.LEXICON
        seconds = self._settings.pair_seconds * (1 if is_built_in else 10)
        try:
            thread = await self._thread(asked)
            async with time_limit(seconds, "annotation"):
                return await asyncio.wrap_future(thread.submit(judged))
        except ProblemError:
            raise
        except JudgeError as error:
            raise ProblemError(_JUDGE, str(error)) from error

    async def _thread(self, asked: Mapping[str, Any]) -> JudgeThread:
        which = tuple(asked[name] for name in _WHICH)
        async with self._loading:
            if which not in self._threads:
                session = await asyncio.to_thread(self._load, *which)
                self._threads[which] = JudgeThread(session)
        return self._threads[which]

    def _load(self, rubric: str, judge: str, prompt: str | None, reply: str) -> JudgeSession:
        settings = backends.JudgeSettings(
            prompt=prompt,
            reply=None if reply == "auto" else reply,
            base_url=self._settings.judges.get(judge),
            environ=os.environ,
            say=say,
        )
        budget = self._settings.ledger(judge) if judge in self._settings.judges else None
        cache = self._settings.cache
        return JudgeSession.load(
            rubric, judge, settings, policy=_POLICY, cache=cache, budget=budget
        )

    async def close(self) -> None:
        """Stop asking, and let go of the judges."""
        threads = list(self._threads.values())
        await asyncio.gather(*(asyncio.to_thread(thread.close) for thread in threads))


async def _judged(standing: JudgeThread, asked: Mapping[str, Any]) -> dict[str, Any]:
    standing.ready()
    session = standing.session
    studies, class_source = _studies(asked, takes_context=session.rubric.takes_context)
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


def _studies(asked: Mapping[str, Any], *, takes_context: bool) -> tuple[StudySet, str]:
    try:
        given = from_given(
            [asked["reference"]],
            [asked["candidate"]],
            study_ids=[asked["study_id"]],
            fields={} if asked["context"] is None else {"context": [asked["context"]]},
        )
        return with_classes(attach_context(given, context=None if takes_context else ()))
    except JudgeError as error:
        raise ProblemError(_WRONG, str(error)) from error

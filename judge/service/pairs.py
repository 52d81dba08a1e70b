"""Single pairs over HTTP, judged in the service's own loop, and the rubrics and judges for them.

A pair goes through the engine of a run, with the same cache, questions and outcomes. A spent budget
or a lost server ends one pair and no other.
"""

from __future__ import annotations

import asyncio
import copy
import os
from contextlib import ExitStack
from typing import Annotated, Any
from weakref import WeakValueDictionary

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import ConfigDict, Field

from judge import backends, prompts, rubrics
from judge.backends import LEXICON
from judge.pages.run import declared
from judge.running.engine import judge_all
from judge.running.records import StudyResult, to_record
from judge.running.session import JudgeSession, RequestPolicy, with_classes
from judge.service import ProblemError
from judge.service.jobs import JudgeChoice
from judge.service.service import ServiceDep, as_json, log
from judge.service.settings import PAYMENT_REQUIRED, SPENT, Ledger, ServiceSettings
from judge.studies import StudySet, from_python
from judge.studies.study_set import attach_context
from judge.types import JudgeError

Text = Annotated[str, Field(max_length=100_000)]
"""A report, short enough that the built-in judge takes seconds for it."""
# Somebody waits for the answer, so a long outage is reported and not waited for.
_POLICY = RequestPolicy(max_outage=20.0)

routes = APIRouter(prefix="/v1", tags=["annotations"])


class Pair(JudgeChoice):
    """A pair of reports to judge."""

    model_config = ConfigDict(extra="forbid")

    reference: Text = Field(description="The radiologist's report.", examples=["No effusion."])
    candidate: Text = Field(description="The model's report; it may be empty.")
    study_id: Annotated[str, Field(min_length=1, max_length=200)] = "study"
    context: Text | None = Field(default=None, description="Clinical context of the study.")


class Pairs:
    """Judges pairs with judges that stay loaded."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._loading = asyncio.Lock()
        self._sessions: dict[tuple[Any, ...], JudgeSession] = {}
        self._locks: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()
        self._opened = ExitStack()

    async def annotate(self, pair: Pair) -> dict[str, Any]:
        """Return the record of one pair, with its signature and the judge's note.

        Raises `ProblemError` 422 for a pair that cannot be judged, 503 where the judge cannot be
        loaded, 502 where it gives no answer, and 402 where its budget has no room for one.
        """
        try:
            loaded = await self._session(pair)
        except JudgeError as error:
            raise ProblemError(503, str(error)) from error
        studies, class_source = await asyncio.to_thread(_studies, pair, loaded.rubric)
        session = copy.copy(loaded)
        session.begin()
        # A second request for the same reports waits and finds the answer in the cache; a judge
        # that computes here takes one pair at a time.
        key = "" if session.judge.runs_inline else pair.reference + pair.candidate
        async with self._locks.setdefault((id(loaded), key), asyncio.Lock()):
            result = await _judge_pair(session, studies)
        judge = session.judge
        return {
            **to_record(result, session.rubric),
            "rubric": session.rubric.name,
            "judge": {"name": judge.name, "version": judge.version, "note": judge.note},
            "signature": session.signature(studies, class_source),
        }

    async def _session(self, pair: Pair) -> JudgeSession:
        key = (pair.rubric, pair.judge, pair.prompt, pair.reply)
        async with self._loading:
            if key not in self._sessions:
                session = await asyncio.to_thread(self._load, *key)
                _ = session.cache  # one for all pairs
                self._sessions[key] = self._opened.enter_context(session)
        return self._sessions[key]

    def _load(self, rubric: str, judge: str, prompt: str | None, reply: str) -> JudgeSession:
        settings = backends.JudgeSettings(
            prompt=prompt or None,
            reply=None if reply == "auto" else reply,
            base_url=self._settings.judges.get(judge),
            environ=os.environ,
            say=log,
        )
        return JudgeSession.load(
            *(rubric, judge, settings),
            policy=_POLICY,
            cache=self._settings.cache,
            budget=Ledger(*self._settings.ledger(judge)),
        )

    async def close(self) -> None:
        """Let go of the judges."""
        for session in self._sessions.values():
            await session.judge.aclose()
        self._opened.close()


async def _judge_pair(session: JudgeSession, studies: StudySet) -> StudyResult:
    results: list[StudyResult] = []
    judging = judge_all(session, studies, results.append)
    try:
        if session.judge.runs_inline:  # pages must not wait while it computes
            await asyncio.to_thread(asyncio.run, judging)
        else:
            await judging
    except JudgeError as error:
        raise ProblemError(502, str(error)) from error
    if not results:
        why = session.stop.why or ""
        raise ProblemError(PAYMENT_REQUIRED if why.startswith(SPENT) else 502, why)
    return results[0]


def _studies(pair: Pair, rubric: rubrics.Rubric) -> tuple[StudySet, str]:
    fields = {} if pair.context is None else {"context": [pair.context]}
    try:
        studies = from_python(
            [pair.reference], [pair.candidate], study_ids=[pair.study_id], fields=fields
        )
        return with_classes(attach_context(studies, context=None if rubric.takes_context else ()))
    except JudgeError as error:
        raise ProblemError(422, str(error)) from error


def check_names(settings: ServiceSettings, choice: JudgeChoice) -> None:
    """Raise `ProblemError` for a judge that is not allowed, and an unknown rubric or prompt.

    A client names no prompt by a path.
    """
    rubric, judge = choice.rubric, choice.judge
    if rubric not in rubrics.names():
        known = ", ".join(rubrics.names())
        raise ProblemError(422, f"unknown rubric {rubric!r}; there are: {known}")
    if not settings.allows(judge):
        allowed = ", ".join([LEXICON, *settings.judges])
        raise ProblemError(
            403, f"the owner of this service allows the judges {allowed}; not {judge!r}"
        )
    of_rubric = [name for name in prompts.names() if prompts.load(name).rubric == rubric]
    if choice.prompt and choice.prompt not in of_rubric:
        known = ", ".join(of_rubric)
        raise ProblemError(422, f"unknown prompt {choice.prompt!r}; {rubric} has: {known}")


@routes.post("/annotations")
async def annotate(pair: Pair, service: ServiceDep) -> Response:
    """Judge one candidate against its reference; return the study's record.

    An answer that was paid for once is free. A judge that fails, or whose answer cannot be read,
    gives an `outcome` without `measures`. Without room in the budget a new answer is refused (402).
    """
    check_names(service.settings, pair)
    return as_json(await service.pairs.annotate(pair))


@routes.get("/rubrics")
def list_rubrics() -> Response:
    """List the rubrics with everything that they declare."""
    return as_json({"rubrics": [_rubric(rubrics.load(name)) for name in rubrics.names()]})


@routes.get("/judges")
def list_judges(service: ServiceDep) -> Response:
    """List the judges that the service's owner allows: `name`, `built_in`, `budget` and `left`.

    `budget` is null for none, `left` also where it is not known. In US dollars; answers under way
    count at their most.
    """
    names = (LEXICON, *service.settings.judges)
    return as_json({"judges": [_judge(Ledger(*service.settings.ledger(name))) for name in names]})


def _judge(ledger: Ledger) -> dict[str, Any]:
    try:
        left = ledger.left()
    except JudgeError:  # a request for an answer says why
        left = None
    name = ledger.judge
    return {"name": name, "built_in": name == LEXICON, "budget": ledger.limit, "left": left}


def _rubric(rubric: rubrics.Rubric) -> dict[str, Any]:
    names = ("name", "version", "title", "summary", "prompt", "modality")
    return {**{name: getattr(rubric, name) for name in names}, **declared(rubric)}

"""The judges that answer single questions: loaded once, shared by all who ask, and kept open.

Each is a session of its own for a rubric, a judge and its settings, in a thread with an event
loop: no page waits while an answer is read. A question goes the way of a run's, with the same
cache and claims, so that the same one is paid for once, whoever asks.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial

from judge.api import BackgroundJudge
from judge.backends import LEXICON, Judge
from judge.backends.hosted import HostedJudge
from judge.run_settings import RunSettings
from judge.running.engine import judge_study
from judge.running.progress import Progress, StoppedError
from judge.running.records import StudyResult
from judge.running.session import JudgeSession
from judge.running.settings import session_of
from judge.service import ProblemError
from judge.service.asked import AskedStudies
from judge.service.questions import QuestionSettings
from judge.service.settings import Ledger, ServiceSettings
from judge.signature import signature_line
from judge.types import Failed, JudgeError, Study

_LOG = logging.getLogger("judge.service")
_MOST_OPEN = 32
_MOST_SIGNATURES = 1000
_USUAL_RUBRIC = "green"
# Somebody waits for the answer: a server that is gone for longer is said to be, not waited for.
_MAX_OUTAGE = 20.0
# As many as there can be connections to the service; a judge that takes fewer at a time says so.
_CONCURRENCY = 256
# So many studies of one request are judged at a time, or one where the judge computes here: the
# others who ask have their turns in between.
_AT_ONCE = 16
# When the service ends, the answers under way get so many seconds to come and be kept.
_GRACE = 5.0
_ENDING = "the service is ending; ask again when it is there"
# The parts of a run's signature that tell of its studies.
_OF_STUDIES = ("class", "omitted", "studies")

_PAYER: ContextVar[Progress] = ContextVar("payer")


class SharedProgress(Progress):
    """The counts of a judge that many ask, which adds to those of the one who pays as well."""

    def add_spent(self, other: Progress) -> None:
        """Count the answers that were bought for `other`."""
        super().add_spent(other)
        payer = _PAYER.get(None)
        if payer is not None:
            payer.add_spent(other)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What came of a question: the studies' results, in their order, and what they cost."""

    results: list[StudyResult]
    paid: Progress
    signature: str


class OpenJudge:
    """A judge that is loaded for a rubric and stays so."""

    def __init__(self, session: JudgeSession, ledger: Ledger | None) -> None:
        session.is_shared = True
        session.progress = SharedProgress(total=0)
        self.session = session
        self._ledger = ledger
        self._background = BackgroundJudge(session)
        self._was_asked = False
        self._n_users = 0
        self._signatures: dict[str, str] = {}

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits for it."""
        return self._n_users == 0

    @contextmanager
    def used(self) -> Iterator[None]:
        """Keep it open in the block."""
        self._n_users += 1
        try:
            yield
        finally:
            self._n_users -= 1

    async def ask(self, asked: AskedStudies) -> Judgement:
        """Judge the studies; cancelling it asks nothing more, and keeps what is paid for."""
        self._was_asked = True
        work = partial(self._judge, asked)
        return await asyncio.wrap_future(self._background.submit(work))

    async def _judge(self, asked: AskedStudies) -> Judgement:
        """Do the work, in the judge's own thread."""
        paid = Progress(total=len(asked.studies))
        _PAYER.set(paid)
        results: dict[int, StudyResult] = {}
        rows = iter(range(len(asked.studies)))

        async def work() -> None:
            for row in rows:
                study = asked.studies.study(row)
                if row in asked.unjudged:
                    results[row] = _unjudged(row, study, asked.unjudged[row])
                    continue
                results[row] = await self._judge_one(row, study)
                await asyncio.sleep(0)  # the others' turn

        n_at_once = 1 if self.session.judge.runs_inline else _AT_ONCE
        async with asyncio.TaskGroup() as group:
            for _ in range(min(n_at_once, len(asked.studies))):
                group.create_task(work())
        return Judgement(
            results=[results[row] for row in sorted(results)],
            paid=paid,
            signature=self._signature(asked),
        )

    async def _judge_one(self, row: int, study: Study) -> StudyResult:
        """Judge one study. What is wrong with it, or with the judge, is its outcome."""
        try:
            return await judge_study(self.session, row, study)
        except StoppedError:
            why = self.session.stop.why or _ENDING
            return _unjudged(row, study, Failed("not asked", why))
        except JudgeError as error:
            return _unjudged(row, study, Failed("not judged", str(error)))

    def _signature(self, asked: AskedStudies) -> str:
        """Return all that changes a number, as a run's signature has it.

        To make it takes longer than all else here: the schema of the replies is a part of it.
        """
        studies, judge = asked.studies, self.session.judge
        sent = sorted(judge.sent_sampling.items())
        key = repr((judge.mode, sent, studies.section, studies.judge_context))
        if key not in self._signatures:
            if len(self._signatures) >= _MOST_SIGNATURES:
                self._signatures.clear()
            identity = self.session.identity(studies, class_source="none")
            parts = identity.signature_parts(without=_OF_STUDIES)
            self._signatures[key] = signature_line(parts)
        return self._signatures[key]

    def close(self) -> None:
        """Ask nothing more, wait a little for the answers under way, and let go of the judge."""
        if self._was_asked:
            self._background.wait(self._land)
        self._background.close()
        if self._ledger is not None:
            self._ledger.close()

    async def _land(self) -> None:
        self.session.stop.set(_ENDING)
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await self.session.landed()


def run_settings(question: QuestionSettings, service: ServiceSettings) -> RunSettings:
    """Return the settings of a run that asks the same."""
    address = service.judges.get(question.judge)
    return RunSettings(
        rubric=question.rubric,
        judge=question.judge,
        modality=question.modality,
        max_tokens=question.max_tokens,
        temperature=question.temperature,
        reply=question.reply,
        reask=question.reask,
        base_url=[address] if address else [],
        max_outage=_MAX_OUTAGE,
    )


class Judges:
    """The judges of a service that answer single questions, the latest used last."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._opening = asyncio.Lock()
        self._open: dict[str, OpenJudge] = {}

    async def of(self, question: QuestionSettings) -> OpenJudge:
        """Return the judge for a question, which is loaded at the first of its kind.

        Raises `ProblemError` 422 where it does not take the settings, and 503 where it cannot be
        loaded or too many are in use.
        """
        settings = run_settings(question, self._settings)
        key = settings.model_dump_json()
        found = self._open.get(key)
        if found is None or found.session.has_failed:
            async with self._opening:
                found = self._open.get(key)
                if found is not None and found.session.has_failed and found.is_idle:
                    # The disk was full, say; it may have room by now.
                    await asyncio.to_thread(self._open.pop(key).close)
                    found = None
                if found is None:
                    await self._make_room()
                    found = await asyncio.to_thread(self._load, settings)
        self._open.pop(key, None)
        self._open[key] = found
        return found

    async def _make_room(self) -> None:
        """Close the judge that was not used for longest, where there is no room for another."""
        if len(self._open) < _MOST_OPEN:
            return
        idle = [key for key, judge in self._open.items() if judge.is_idle]
        if not idle:
            raise ProblemError(
                503,
                f"{_MOST_OPEN} judges with other settings are busy; ask again in a while",
            )
        await asyncio.to_thread(self._open.pop(idle[0]).close)

    def _load(self, settings: RunSettings) -> OpenJudge:
        try:
            return self._loaded(settings)
        except JudgeError as error:
            status = 422 if self._loads_at_all(settings) else 503
            raise ProblemError(status, str(error)) from error

    def _loads_at_all(self, settings: RunSettings) -> bool:
        """Return whether the judge loads for the usual rubric: then it is the client's choice."""
        usual = RunSettings(
            rubric=_USUAL_RUBRIC, judge=settings.judge, base_url=settings.base_url
        )
        try:
            self._loaded(usual).close()
        except JudgeError:
            return False
        return True

    def _loaded(self, settings: RunSettings) -> OpenJudge:
        """Load a judge; raises `JudgeError`. Nothing is asked, and nothing is opened."""
        ledger = None
        if settings.judge != LEXICON:
            ledger = Ledger(*self._settings.ledger(settings.judge))
        make = partial(
            session_of,
            environ=os.environ,
            say=_LOG.warning,
            cache=self._settings.cache,
            budget=ledger,
        )
        session = make(settings)
        if _takes_any_number(session.judge):
            n_at_once = self._settings.concurrency or _CONCURRENCY
            session = make(settings.model_copy(update={"concurrency": n_at_once}))
        return OpenJudge(session, ledger)

    async def close(self) -> None:
        """Close all judges; what is paid for is kept."""
        judges = list(self._open.values())
        self._open.clear()
        await asyncio.gather(*(asyncio.to_thread(judge.close) for judge in judges))


def _takes_any_number(judge: Judge) -> bool:
    """Return whether the judge is a model behind an API that states no most of requests."""
    if not isinstance(judge, HostedJudge) or judge.servers is None:
        return False
    return judge.servers.max_in_flight is None


def _unjudged(row: int, study: Study, why: Failed) -> StudyResult:
    return StudyResult(
        row=row, study=study, outcome=why, measures=None, completion=None
    )

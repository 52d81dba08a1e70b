"""The questions about a study: one walk through them asks, foretells and looks into the cache."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from judge import plugins
from judge.backends.errors import AskError, StudyError
from judge.rubrics.questions import Step, Steps, check_end, composed
from judge.running.records import Answered, Judged, read
from judge.types import (
    Annotated,
    Annotation,
    Completion,
    CompletionRequest,
    Failed,
    Measures,
    Outcome,
    Study,
    Unparsed,
    UnparsedError,
)

if TYPE_CHECKING:
    from judge.cache import CompletionCache
    from judge.running.session import JudgeSession

COMPOSED = "composed"
"""What stands for the key of a completion that was made of several answers in the cache."""
_READ = Annotated(Annotation())


@dataclass(frozen=True)
class Question:
    """A request and how often it is asked.

    `attempt` counts the times of asking from 0, `repeat` the runs that ask the same.
    """

    request: CompletionRequest
    attempt: int = 0
    repeat: int = 0

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """What its key is the hash of."""
        from judge.cache.keys import canonical  # an inline judge's questions have no key

        return canonical(self.request, self.attempt, self.repeat)

    @cached_property
    def key(self) -> str:
        """The key of its answer in the cache."""
        from judge.cache.keys import key_of

        return key_of(self.record)


Answer = Callable[[int, Question], Awaitable[Answered]]
"""Gets the answer to a question about the study at a place; raises `AskError` without one."""


class Exchange:
    """One question about a study, its answers so far and what was read off the last of them.

    `question` is what is to be asked next, None where nothing is.
    """

    def __init__(
        self,
        session: JudgeSession,
        request: CompletionRequest,
        read: Callable[[Completion], tuple[Outcome, Measures | None]],
        step: Step | None = None,
    ) -> None:
        self.step = step.name if step else ""
        self.first = Question(request, 0, session.repeat)
        self.question: Question | None = self.first
        self.answers: list[Answered] = []
        self.outcome: Outcome | None = None
        self.measures: Measures | None = None
        self._session = session
        self._read = read

    @property
    def attempt(self) -> int:
        """How often it was asked again."""
        return len(self.answers) - (not isinstance(self.outcome, Failed))

    def take(self, answered: Answered) -> None:
        """Read an answer; one that cannot be read is followed by the next time of asking."""
        assert self.question is not None
        asked, self.question = self.question, None
        self.answers.append(answered)
        self.outcome, self.measures = self._read(answered.completion)
        if isinstance(self.outcome, Unparsed) and asked.attempt < self._session.policy.reask:
            judge, completion = self._session.judge, answered.completion
            again = judge.repair_request(asked.request, completion, self.outcome)
            if again is not None:
                self.question = replace(asked, request=again, attempt=asked.attempt + 1)

    def lose(self, error: AskError) -> None:
        """Note that the question that was to be asked next has no answer."""
        self.question = None
        # Told what was wrong it would be too long: the answer stays as it was.
        if not self.answers or not isinstance(error, StudyError):
            self.outcome, self.measures = Failed(error.reason, error.detail), None


class Inquiry:
    """All that is asked about one study: one question, or several that follow from answers.

    A judge that runs inline answers several as one.
    """

    def __init__(self, session: JudgeSession, study: Study) -> None:
        self.exchanges: list[Exchange] = []
        self._session = session
        self._study = study
        self._steps = None if session.judge.runs_inline else session.rubric.steps

    def coming(self) -> list[Exchange]:
        """Return what can be asked now, all of it at once; nothing where an answer is missing.

        Raises ValueError for a rubric that asks a step twice.
        """
        session, study, steps = self._session, self._study, self._steps
        judge = session.judge
        if steps is None:
            if self.exchanges:
                return []
            now = [Exchange(session, judge.request(study), partial(read, session.rubric, study))]
        elif not all(isinstance(exchange.outcome, Annotated) for exchange in self.exchanges):
            return []
        else:
            texts = {
                exchange.step: exchange.answers[-1].completion.text for exchange in self.exchanges
            }
            now = [
                Exchange(session, judge.request_step(step), partial(_read_step, steps, step), step)
                for step in steps.coming(study, texts)
            ]
            if again := texts.keys() & {exchange.step for exchange in now}:
                raise ValueError(f"the step {min(again)} is asked twice")
        self.exchanges += now
        return now

    def end(self, place: int) -> Judged:
        """Return the study's end, at its place among the studies.

        Of several questions the last completion is made of the last answer to each that can be read
        and of the first that cannot. Raises ValueError for a rubric that reads as a whole what it
        cannot read as a part.
        """
        answers = [answered for exchange in self.exchanges for answered in exchange.answers]
        attempt = max(exchange.attempt for exchange in self.exchanges)
        for exchange in self.exchanges:
            if isinstance(failed := exchange.outcome, Failed):
                if exchange.step:
                    failed = replace(failed, detail=f"{exchange.step}: {failed.detail}")
                return Judged(place, self._study, failed, None, None, attempt, earlier=(*answers,))
        if self._steps is None:
            (only,) = self.exchanges
            outcome, measures = only.outcome, only.measures
        else:
            read_parts: dict[str, Completion] = {}
            unread: dict[str, Completion] = {}
            for exchange in self.exchanges:
                parts = unread if isinstance(exchange.outcome, Unparsed) else read_parts
                parts[exchange.step] = exchange.answers[-1].completion
            whole = composed(read_parts | dict(islice(unread.items(), 1)))
            outcome, measures = read(self._session.rubric, self._study, whole)
            if unread and not isinstance(outcome, Unparsed):
                raise ValueError(f"the answer to {min(unread)} cannot be read, and all of them can")
            answers.append(Answered(whole, COMPOSED))
        assert outcome is not None
        *earlier, final = answers
        end = (outcome, measures, final.completion, attempt, final.key)
        return Judged(place, self._study, *end, earlier=(*earlier,))


def _read_step(steps: Steps, step: Step, completion: Completion) -> tuple[Outcome, None]:
    try:
        check_end(completion)
        check = steps.questions[step.asks].check
        check(completion.text, step.study, complete=completion.finish_reason == "stop")
    except UnparsedError as error:
        return Unparsed(error.reason, error.detail), None
    return _READ, None


async def judge_study(session: JudgeSession, place: int, study: Study, answer: Answer) -> Judged:
    """Ask about one study until its answers are read or nothing is left to ask."""
    inquiry = Inquiry(session, study)

    async def settle(exchange: Exchange) -> None:
        while exchange.question is not None:
            try:
                exchange.take(await answer(place, exchange.question))
            except AskError as error:
                exchange.lose(error)
            except SystemExit as error:  # of a judge that a package adds
                kind = session.judge.name.partition(":")[0]
                raise plugins.BACKENDS.error(kind, f"failed: SystemExit: {error}") from error

    while now := inquiry.coming():
        if len(now) == 1:
            await settle(now[0])
            continue
        # All are waited for: what is under way is paid for.
        for error in await asyncio.gather(*map(settle, now), return_exceptions=True):
            if error is not None:
                raise error
    return inquiry.end(place)


def recall(session: JudgeSession, cache: CompletionCache, study: Study) -> list[Exchange]:
    """Return how far the answers in the cache lead with the questions about `study`."""
    inquiry = Inquiry(session, study)
    while now := inquiry.coming():
        for exchange in now:
            while question := exchange.question:
                completion = cache.find(question.key)
                if completion is None:
                    break
                exchange.take(Answered(completion, question.key))
    return inquiry.exchanges

"""What is asked about a study: its questions, their answers, and what to ask next.

One walk through the questions about a study asks them (`judge.running.engine`), foretells them and
looks into the cache (`recall`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from judge.backends import Judge
from judge.backends.base import AskError, StudyError
from judge.backends.hosted import HostedJudge
from judge.cache import canonical, key_of
from judge.cache.answers import AnswerStore
from judge.rubrics import Rubric
from judge.rubrics.questions import Step, Steps, check_end, combine_answers, is_complete
from judge.running.policy import RequestPolicy
from judge.running.records import CachedAnswer, StudyResult, read
from judge.types import (
    Annotation,
    Completion,
    CompletionRequest,
    Failed,
    Measures,
    Outcome,
    Scored,
    Study,
    Unparsed,
    UnparsedError,
)

COMPOSED = "composed"
"""The key of a completion that was put together from several answers in the cache."""


@dataclass(frozen=True, kw_only=True)
class AskingPlan:
    """What is asked about each study, by whom, and how often again.

    Attributes:
        rubric: What is asked, and how an answer is read.
        judge: Who is asked.
        policy: How many requests at a time, how often again, and when to give up.
        repeat: Which of several runs that ask the same it is, from 0.
    """

    rubric: Rubric
    judge: Judge
    policy: RequestPolicy
    repeat: int = 0

    @property
    def steps(self) -> Steps | None:
        """The rubric's questions that follow from one another; None where there is one."""
        return None if self.judge.runs_inline else self.rubric.steps

    @property
    def concurrency(self) -> int:
        """The most requests in flight."""
        return self.policy.concurrency or self.judge.concurrency


@dataclass(frozen=True)
class StudyQuestion:
    """A request, the time of asking from 0, and which of several runs asks it."""

    request: CompletionRequest
    attempt: int = 0
    repeat: int = 0
    study_id: str = ""
    """The study that it is about: of several questions about one, the first to be asked."""

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """What its key is the hash of."""
        return canonical(self.request, self.attempt, self.repeat)

    @cached_property
    def key(self) -> str:
        """The key of its answer in the cache."""
        return key_of(self.record)


class Exchange:
    """One question about a study, its answers, what the last says, and what to ask next, if any."""

    def __init__(
        self,
        plan: AskingPlan,
        request: CompletionRequest,
        read: Callable[[Completion], tuple[Outcome, Measures | None]],
        *,
        step: str = "",
        study_id: str = "",
    ) -> None:
        self.step = step
        self.first = StudyQuestion(
            request, attempt=0, repeat=plan.repeat, study_id=study_id
        )
        self.question: StudyQuestion | None = self.first
        self.answers: list[CachedAnswer] = []
        self.outcome: Outcome | None = None
        self.measures: Measures | None = None
        self._plan = plan
        self._read = read

    def take(self, answered: CachedAnswer) -> None:
        """Read an answer; one that cannot be read is followed by the next time of asking."""
        assert self.question is not None
        question, self.question = self.question, None
        self.answers.append(answered)
        self.outcome, self.measures = self._read(answered.completion)
        if (
            isinstance(self.outcome, Unparsed)
            and question.attempt < self._plan.policy.reask
        ):
            judge, completion = self._plan.judge, answered.completion
            again = judge.repair_request(question.request, completion, self.outcome)
            if again is not None:
                self.question = replace(
                    question, request=again, attempt=question.attempt + 1
                )

    def lose(self, error: AskError) -> None:
        """Note that the question that was to be asked next has no answer."""
        self.question = None
        # Told what was wrong it would be too long: the answer stays as it was.
        if not self.answers or not isinstance(error, StudyError):
            self.outcome, self.measures = Failed(error.reason, error.detail), None


def coming(plan: AskingPlan, study: Study, before: list[Exchange]) -> list[Exchange]:
    """Return what can be asked about a study now, all of it at once.

    Nothing where an answer that it depends on is missing, and where all has been asked.
    """
    if plan.steps is not None:
        return _coming_steps(plan, plan.steps, study, before)
    if before:
        return []
    reading = partial(read, plan.rubric, study)
    request = plan.judge.request(study)
    return [Exchange(plan, request, reading, study_id=study.study_id)]


def _coming_steps(
    plan: AskingPlan, steps: Steps, study: Study, before: list[Exchange]
) -> list[Exchange]:
    if not all(isinstance(exchange.outcome, Scored) for exchange in before):
        return []
    texts = {exchange.step: exchange.answers[-1].completion.text for exchange in before}
    return [
        Exchange(
            plan,
            plan.judge.request_step(step),
            partial(_read_step, steps, step),
            step=step.name,
            study_id=study.study_id,
        )
        for step in steps.coming(study, texts)
    ]


def _read_step(
    steps: Steps, step: Step, completion: Completion
) -> tuple[Outcome, None]:
    try:
        check_end(completion)
        check = steps.questions[step.asks].check
        check(completion.text, step.study, complete=is_complete(completion))
    except UnparsedError as error:
        return Unparsed(error.reason, error.detail), None
    return Scored(Annotation()), None


def study_result(
    plan: AskingPlan, row: int, study: Study, exchanges: list[Exchange]
) -> StudyResult:
    """Return the end of a study about which nothing is left to ask."""
    if not exchanges:
        sentence = f"{plan.rubric.name} asks nothing about this study"
        nothing = Failed("nothing to ask", sentence)
        return StudyResult(row, study, nothing, None, None)
    answers = [answered for exchange in exchanges for answered in exchange.answers]
    attempt = max(_last_attempt(exchange) for exchange in exchanges)
    for exchange in exchanges:
        failed = exchange.outcome
        if not isinstance(failed, Failed):
            continue
        if exchange.step:
            failed = replace(failed, detail=f"{exchange.step}: {failed.detail}")
        return StudyResult(
            row, study, failed, None, None, attempt=attempt, earlier=tuple(answers)
        )
    first = exchanges[0]
    outcome, measures = first.outcome, first.measures
    if plan.steps is not None:
        whole = _combined(exchanges)
        outcome, measures = read(plan.rubric, study, whole)
        answers.append(CachedAnswer(whole, COMPOSED))
    assert outcome is not None
    final = answers[-1]
    return StudyResult(
        row,
        study,
        outcome,
        measures,
        final.completion,
        attempt=attempt,
        key=final.key,
        earlier=tuple(answers[:-1]),
    )


def _last_attempt(exchange: Exchange) -> int:
    """Return how often a question was asked again; the last time may have brought no answer."""
    n_asked = len(exchange.answers)
    return n_asked if isinstance(exchange.outcome, Failed) else n_asked - 1


def _combined(exchanges: list[Exchange]) -> Completion:
    """Return the last answers to all steps as one; of several unreadable ones the first alone."""
    readable = [each for each in exchanges if not isinstance(each.outcome, Unparsed)]
    unreadable = [each for each in exchanges if isinstance(each.outcome, Unparsed)]
    kept = readable + unreadable[:1]
    parts = {exchange.step: exchange.answers[-1].completion for exchange in kept}
    return combine_answers(parts)


def recall(
    plan: AskingPlan,
    find: Callable[[StudyQuestion], CachedAnswer | None],
    study: Study,
) -> list[Exchange]:
    """Return how far the answers that `find` has lead with the questions about `study`."""
    exchanges: list[Exchange] = []
    while now := coming(plan, study, exchanges):
        exchanges += now
        for exchange in now:
            _take_known(exchange, find)
    return exchanges


def _take_known(
    exchange: Exchange, find: Callable[[StudyQuestion], CachedAnswer | None]
) -> None:
    while exchange.question is not None:
        answered = find(exchange.question)
        if answered is None:
            return
        exchange.take(answered)


def find_answer(
    store: AnswerStore, judge: Judge, question: StudyQuestion
) -> CachedAnswer | None:
    """Return the kept answer to a question, None where there is none.

    A whole answer to the question as an earlier version asked it is one too.
    """
    completion = store.get(question.key)
    if completion is not None:
        return CachedAnswer(completion, question.key)
    if not isinstance(judge, HostedJudge):
        return None
    earlier = judge.as_earlier(question.request)
    if earlier is None:
        return None
    asked = replace(question, request=earlier)
    completion = store.get(asked.key)
    if completion is None or not is_complete(completion):
        return None
    return CachedAnswer(completion, asked.key)

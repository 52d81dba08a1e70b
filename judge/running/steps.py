"""Asking about a study until the answers are read: one question, or several that follow."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from judge.backends import Judge
from judge.backends.errors import AskError, StudyError
from judge.rubrics.steps import Step, Steps, check_end, composed
from judge.running.asking import Answered
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

COMPOSED = "composed"
"""What stands for the key of a completion that was made of several answers in the cache."""

Read = Callable[[Completion], tuple[Outcome, Measures | None]]
Ask = Callable[[CompletionRequest, int, int], Awaitable[Answered]]
"""Gets the answer to a request, the n-th time of asking, the n-th of several to the same."""


@dataclass(frozen=True, slots=True)
class Asked:
    """All answers about a study, the last of which counts, and what was read off that.

    `outcome` is `Failed` where the last time of asking brought none. `attempt` is how often a
    question was asked again, of several the most.
    """

    answers: tuple[Answered, ...]
    outcome: Outcome
    measures: Measures | None
    attempt: int


async def until_read(
    judge: Judge, first: CompletionRequest, ask: Ask, read: Read, reask: int, sample: int = 0
) -> Asked:
    """Ask a question until its answer is read or nothing new can be asked."""
    asked: Asked | None = None
    answers: tuple[Answered, ...] = ()
    request: CompletionRequest | None = first
    while request is not None:
        attempt = len(answers)
        try:
            answered = await ask(request, attempt, sample)
        except AskError as error:
            if asked is not None and isinstance(error, StudyError):
                break  # told what was wrong it would be too long: the answer stays as it was
            return Asked(answers, Failed(error.reason, error.detail), None, attempt)
        outcome, measures = read(answered.completion)
        answers = (*answers, answered)
        asked = Asked(answers, outcome, measures, attempt)
        if not isinstance(outcome, Unparsed) or attempt == reask:
            break
        request = judge.repair_request(request, answered.completion, outcome)
    assert asked is not None
    return asked


def read_step(steps: Steps, step: Step, completion: Completion) -> tuple[Outcome, None]:
    """Return `Unparsed` for an answer to a step that cannot be read."""
    check = steps.questions[step.asks].check
    try:
        check_end(completion)
        check(completion.text, step.study, complete=completion.finish_reason == "stop")
    except UnparsedError as error:
        return Unparsed(error.reason, error.detail), None
    return _READ, None


_READ = Annotated(Annotation())


async def all_read(
    judge: Judge, steps: Steps, study: Study, ask: Ask, read: Read, reask: int
) -> Asked:
    """Ask all that `steps` ask about a study, together what can be asked together.

    Returns all answers, those of a step in their order, and at the end the one made of the last
    of each. Where one cannot be read, that is made of those that can and of it. Where one failed
    there is none, and the outcome says which step it was. Raises ValueError for a rubric that
    asks a step twice, or reads as a whole what it cannot read as a part.
    """
    found: dict[str, Completion] = {}
    unread: dict[str, Completion] = {}
    answers: tuple[Answered, ...] = ()
    attempt = 0

    async def asked(step: Step) -> Asked:
        request, understand = judge.request_step(step), partial(read_step, steps, step)
        return await until_read(judge, request, ask, understand, reask, step.sample)

    while not unread and (
        now := steps.coming(study, {name: one.text for name, one in found.items()})
    ):
        if again := found.keys() & {step.name for step in now}:
            raise ValueError(f"the step {min(again)} is asked twice")
        # All are waited for: what is under way is paid for.
        ends: dict[str, Asked] = {}
        waited = await asyncio.gather(*map(asked, now), return_exceptions=True)
        for step, end in zip(now, waited, strict=True):
            if isinstance(end, BaseException):
                raise end
            ends[step.name] = end
            answers += end.answers
            attempt = max(attempt, end.attempt)
            if not isinstance(end.outcome, Failed):
                of = unread if isinstance(end.outcome, Unparsed) else found
                of[step.name] = end.answers[-1].completion
        for name, end in ends.items():
            if isinstance(why := end.outcome, Failed):
                failed = replace(why, detail=f"{name}: {why.detail}")
                return Asked(answers, failed, None, attempt)
    whole = composed(found | dict(islice(unread.items(), 1)))
    outcome, measures = read(whole)
    if unread and not isinstance(outcome, Unparsed):
        raise ValueError(f"the answer to {min(unread)} cannot be read, and all of them can")
    return Asked((*answers, Answered(whole, COMPOSED)), outcome, measures, attempt)

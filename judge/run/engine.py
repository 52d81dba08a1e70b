"""The engine: ask the judge about each study and read what it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from judge.backends import Judge
from judge.backends.errors import AskError
from judge.rubrics import Rubric
from judge.run.progress import Progress
from judge.run.stop import Stop, StoppedError
from judge.types import (
    Annotated,
    Completion,
    CompletionRequest,
    Failed,
    Outcome,
    Study,
    StudyCounts,
    Unparsed,
    UnparsedError,
)

Answer = Callable[[int, CompletionRequest, int], Awaitable[Completion]]
"""Gets the answer for the study at a place, to a request, the n-th time of asking."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One study's end: its place among the studies, its outcome and what that rests on.

    `counts` is there for an annotated outcome and for no other; `completion` is None where
    the judge gave no answer. `attempt` counts from 0 and says which answer it is.
    """

    at: int
    study: Study
    outcome: Outcome
    counts: StudyCounts | None
    completion: Completion | None
    attempt: int = 0


def read(
    rubric: Rubric, study: Study, completion: Completion
) -> tuple[Outcome, StudyCounts | None]:
    """Return what `completion` says of `study`, and what it counts for.

    An answer that was cut at the token limit, one that the model itself marked as a refusal
    and one that called tools in another way than it was asked to are never read, whatever
    they look like.
    """
    if completion.finish_reason == "length":
        return Unparsed("truncated", "the answer was cut at the token limit"), None
    if completion.finish_reason == "refusal":
        return Unparsed("refusal", completion.text), None
    if completion.finish_reason == "tool_calls":
        return Unparsed("wrong tool call", "not one call of the tool that was given"), None
    try:
        annotation = rubric.parse(
            completion.text, study, complete=completion.finish_reason == "stop"
        )
    except UnparsedError as error:
        return Unparsed(error.reason, error.detail), None
    return Annotated(annotation), rubric.score(annotation, study)


async def judge_all(
    studies: Iterable[Study],
    judge: Judge,
    rubric: Rubric,
    sink: Callable[[Judged], None],
    *,
    answer: Answer,
    stop: Stop,
    progress: Progress,
    workers: int = 1,
    reask: int = 0,
) -> None:
    """Judge every study and give each end to `sink` as soon as it is known, in any order.

    At most `workers` studies are in memory at once, drawn from one shared iterator. An
    answer that cannot be read is asked for again up to `reask` times, in the words that the
    judge has for it (`Judge.again`); the last one counts.
    Returns early when `stop` is set; studies without an end are then not given to `sink`.
    """
    numbered = enumerate(studies)

    async def end_of(at: int, study: Study) -> Judged:
        request = judge.request(study)
        for attempt in range(reask + 1):
            try:
                completion = await answer(at, request, attempt)
            except AskError as error:
                return Judged(at, study, Failed(error.reason, error.detail), None, None, attempt)
            outcome, counts = read(rubric, study, completion)
            if not isinstance(outcome, Unparsed):
                break
            request = judge.again(request, completion, outcome)
        return Judged(at, study, outcome, counts, completion, attempt)

    async def work() -> None:
        try:
            for at, study in numbered:
                end = await end_of(at, study)
                progress.ended(end.outcome)
                sink(end)
                await asyncio.sleep(0)  # a signal or a progress bar gets its turn
                if stop.why is not None:
                    return
        except StoppedError:
            return
        except BaseException:
            stop.set("an error")
            raise

    ends = await asyncio.gather(*(work() for _ in range(workers)), return_exceptions=True)
    for error in ends:
        if error is not None:
            raise error

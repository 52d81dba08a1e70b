"""The engine: ask the judge about each study and read what it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from judge.backends import Judge
from judge.rubrics import Rubric
from judge.types import (
    Annotated,
    Completion,
    Outcome,
    Study,
    StudyCounts,
    Unparsed,
    UnparsedError,
)


@dataclass(frozen=True, slots=True)
class Judged:
    """One study's end: its place among the studies, its outcome and what that rests on.

    `counts` is there for an annotated outcome and for no other; `completion` is None where
    the judge gave no answer.
    """

    at: int
    study: Study
    outcome: Outcome
    counts: StudyCounts | None
    completion: Completion | None


def read(
    rubric: Rubric, study: Study, completion: Completion
) -> tuple[Outcome, StudyCounts | None]:
    """Return what `completion` says of `study`, and what it counts for.

    An answer that was cut at the token limit is never read, whatever it looks like.
    """
    if completion.finish_reason == "length":
        return Unparsed("truncated", "the answer was cut at the token limit"), None
    try:
        annotation = rubric.parse(
            completion.text, study, complete=completion.finish_reason == "stop"
        )
    except UnparsedError as error:
        return Unparsed(error.reason, error.detail), None
    return Annotated(annotation), rubric.score(annotation)


async def judge_all(
    studies: Iterable[Study],
    judge: Judge,
    rubric: Rubric,
    sink: Callable[[Judged], None],
    *,
    concurrency: int = 1,
) -> None:
    """Judge every study and give each end to `sink` as soon as it is known, in any order.

    At most `concurrency` studies are in memory at once, drawn from one shared iterator.
    """
    numbered = enumerate(studies)

    async def work() -> None:
        for at, study in numbered:
            completion = await judge.complete(judge.request(study))
            outcome, counts = read(rubric, study, completion)
            sink(Judged(at, study, outcome, counts, completion))

    async with asyncio.TaskGroup() as tasks:
        for _ in range(concurrency):
            tasks.create_task(work())

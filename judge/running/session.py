"""A judge with all that asking it takes: from settings to answers that are kept."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Self

from judge import backends, rubrics
from judge.backends import Judge, JudgeSettings
from judge.cache import CompletionCache, place
from judge.rubrics import Rubric
from judge.running.asking import Answer, Answered, Asker, RequestPolicy
from judge.running.progress import Prices, Progress
from judge.running.signature import signature
from judge.running.waiting import Stop
from judge.studies import StudySet
from judge.types import CompletionRequest


class JudgeSession(AbstractContextManager["JudgeSession"]):
    """A judge for one rubric, how it is asked, and the folder that keeps its answers.

    The cache is opened when it is first needed and closed at the end of the `with` block. A
    judge that runs inline has none.
    """

    def __init__(self, rubric: Rubric, judge: Judge, policy: RequestPolicy, folder: Path) -> None:
        self.rubric = rubric
        self.judge = judge
        if judge.runs_inline:  # one at a time, and the same each time
            policy = replace(policy, concurrency=1, reask=0, give_up_after=0)
        self.policy = policy
        self._folder = folder
        self._opened = ExitStack()

    @classmethod
    def load(
        cls,
        rubric: str,
        judge: str,
        settings: JudgeSettings,
        *,
        policy: RequestPolicy | None = None,
        cache: str | Path | None = None,
    ) -> Self:
        """Return the session of the judge that is called `judge`, for the rubric of that name.

        `cache` is the folder of answers, by default the one that `settings.environ` names,
        else the platform's. Nothing is asked, started or written. Raises `JudgeError` as
        `judge.rubrics.load` and `judge.backends.load` do.
        """
        chosen = rubrics.load(rubric)
        return cls(
            chosen,
            backends.load(judge, chosen, settings),
            policy or RequestPolicy(),
            place(Path(cache) if cache else None, settings.environ),
        )

    @cached_property
    def cache(self) -> CompletionCache | None:
        """The answers that are kept; raises `JudgeError` where the cache cannot be used."""
        if self.judge.runs_inline:
            return None
        return self._opened.enter_context(CompletionCache(self._folder))

    def signature(self, studies: StudySet, class_source: str) -> str:
        """Return the signature of a run of `studies`, as `judge.running.signature` does."""
        return signature(self.rubric, self.judge, studies, class_source, self.policy.reask)

    def answerer(self, progress: Progress, stop: Stop) -> Answer:
        """Return how answers are got: from the cache or the judge, or from the judge at once."""
        if self.cache is None:
            return self._at_once
        prices = Prices(self.judge.version, self.judge.billing_url)
        return Asker(self.judge, self.cache, prices, self.policy, progress, stop).answer

    async def _at_once(self, _at: int, request: CompletionRequest, _attempt: int) -> Answered:
        return Answered(await self.judge.complete(request), key=None)

    def __exit__(self, *_error: object) -> None:
        self._opened.close()

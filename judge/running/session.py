"""A judge with all that asking it takes, and the line that names all that changes a number."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from judge import backends, plugins, rubrics
from judge.backends import Judge, JudgeSettings
from judge.backends.base import Notes
from judge.backends.errors import StudyError
from judge.distribution import version
from judge.prompts import TEXT
from judge.rubrics import Rubric
from judge.rubrics.questions import asked_by, on_scale
from judge.running.asking import Asker, RequestPolicy, Stop
from judge.running.cost import Budget, Prices, Progress
from judge.running.questions import Answer, Question
from judge.running.records import Answered
from judge.signature import Signature, studies_digest
from judge.studies import StudySet
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.cache import CompletionCache
    from judge.running.shards import Shard

_PACKAGE = "package"


class JudgeSession(AbstractContextManager["JudgeSession"]):
    """A judge for one rubric, how it is asked, and the folder that keeps its answers.

    The cache is opened when it is first needed and closed at the end of the `with` block. A
    judge that runs inline has none. `budget` is what its answers are paid from beside the policy's
    `max_cost`, None for no other limit. `repeat` is which of several runs it makes that ask the
    same, from 0. `batches` are those that answers came in, for the manifest, `unanswerable` the
    questions of theirs that brought none, `asked_before` what they took.
    `notes_of_workers` is what the judge's copies in other processes say. Raises `JudgeError` for a
    policy with several of these and a judge that does not run inline.
    """

    def __init__(
        self,
        rubric: Rubric,
        judge: Judge,
        policy: RequestPolicy,
        folder: Path,
        budget: Budget | None = None,
        repeat: int = 0,
    ) -> None:
        if judge.prompt is not None:
            rubric = on_scale(rubric, judge.prompt.scale)
            rubric = asked_by(rubric, judge.prompt.name, judge.version)
        self.rubric = rubric
        self.judge = judge
        if judge.runs_inline:  # one at a time, and the same each time
            policy = replace(policy, concurrency=1, reask=0, give_up_after=0)
        elif policy.workers > 1:
            raise JudgeError(
                "--workers (RequestPolicy.workers) is for a judge that answers in this process by "
                f"itself, such as {backends.LEXICON}; how many questions {judge.name} is asked at "
                "a time is --concurrency (RequestPolicy.concurrency)"
            )
        self.policy = policy
        self.repeat = repeat
        self.batches: Sequence[Mapping[str, object]] = ()
        self.unanswerable: Mapping[str, StudyError] = {}
        self.asked_before = Progress(total=0)
        self.notes_of_workers = Notes()
        self._folder = folder
        self.budget = budget if policy.max_cost is None else Budget(policy.max_cost, budget)
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
        budget: Budget | None = None,
        repeat: int = 0,
    ) -> Self:
        """Return the session of the judge that is called `judge`, for the rubric of that name.

        `cache` is the folder of answers, by default the one that `settings.environ` names,
        else the platform's. Nothing is asked, started or written. Raises `JudgeError` as
        `judge.rubrics.load` and `judge.backends.load` do.
        """
        chosen = rubrics.load(rubric)
        loaded, folder = backends.load(judge, chosen, settings), Path()
        if not loaded.runs_inline:
            from judge.cache import place

            folder = place(Path(cache) if cache else None, settings.environ)
        return cls(chosen, loaded, policy or RequestPolicy(), folder, budget, repeat)

    @cached_property
    def cache(self) -> CompletionCache | None:
        """The answers that are kept; raises `JudgeError` where the cache cannot be used."""
        if self.judge.runs_inline:
            return None
        # The built-in judge needs neither it nor diskcache.
        from judge.cache import CompletionCache

        return self._opened.enter_context(CompletionCache(self._folder))

    def signature(self, studies: StudySet, class_source: str, shard: Shard | None = None) -> str:
        """Return the signature of a run, such as `green:3|judge:lexicon-1+3fa9c1d2|...`.

        Parts: who judged (see `judged_by`), which of several runs it is that ask the same (nothing
        for the first), the section, the fields with the patient's context, an earlier report and
        the modality that the judge is told of (nothing for those that it is not; a rubric that
        takes context says `none` where it has none), where the study class comes from, how many
        studies were left out of the join, a digest of the studies that were judged, which shard of
        these studies it is (nothing for all of them), and the version of this program.
        """
        is_untold = self.rubric.takes_context and not studies.judge_context.context
        parts = [
            *self.judged_by(),
            *([f"repeat:{self.repeat}"] if self.repeat else []),
            f"section:{studies.section}",
            *(["context:none"] if is_untold else []),
            *studies.judge_context.signature,
            f"class:{class_source}",
            f"omitted:{sum(studies.omitted.values())}",
            f"studies:{studies_digest(studies)}",
            *([f"shard:{shard}"] if shard else []),
            f"version:{version()}",
        ]
        return str(Signature(parts))

    def judged_by(self) -> list[str]:
        """Return the parts of a signature that say who judged by what, whatever the studies.

        The rubric and its version, the package that adds it and its version (nothing for one that
        is built in), the judge, the prompt and its digest; the sampling parameters, the reply that
        is asked for (`text`, or a digest of the form that it is held to; nothing where there is
        only text) and how often an unreadable answer was asked for again (none of these for a judge
        that runs inline).
        """
        rubric, judge = self.rubric, self.judge
        return [
            *_rubric(rubric),
            f"judge:{judge.version}",
            _prompt(judge),
            *(() if judge.runs_inline else _asked(rubric, judge)),
            *(() if judge.runs_inline else [f"reask:{self.policy.reask}"]),
        ]

    @property
    def notes(self) -> Notes:
        """What a reader must be told of the questions asked so far, in whatever process."""
        return Notes.of(self.judge) + self.notes_of_workers

    @property
    def kind(self) -> str:
        """What all questions of this judge with this prompt and sampling have in common."""
        parts = (self.judge.version, _prompt(self.judge), *_asked(self.rubric, self.judge))
        return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]

    @property
    def concurrency(self) -> int:
        """The most requests in flight."""
        return self.policy.concurrency or self.judge.concurrency

    def answerer(self, progress: Progress, stop: Stop) -> Answer:
        """Return how answers are got: from the cache or the judge, or from the judge at once."""
        if self.cache is None:
            return self._at_once
        prices = Prices(self.judge.version, self.judge.billing_url)
        return Asker(
            *(self.judge, self.cache, prices, self.policy, self.concurrency, progress, stop),
            kind=self.kind,
            budget=self.budget,
            unanswerable=self.unanswerable,
        ).answer

    async def _at_once(self, _place: int, question: Question) -> Answered:
        return Answered(await self.judge.complete(question.request), key=None)

    def __exit__(self, *_error: object) -> None:
        self._opened.close()


def _prompt(judge: Judge) -> str:
    prompts = (f"{prompt.name}@{prompt.version}+{prompt.digest}" for prompt in judge.prompts)
    return f"prompt:{','.join(prompts) or 'none'}"


def _asked(rubric: Rubric, judge: Judge) -> list[str]:
    sampling = ",".join(
        f"{name}={json.dumps(value, sort_keys=True)}"
        for name, value in sorted(judge.sampling.items())
    )
    return [f"sampling:{sampling}", *_reply(rubric, judge)]


def _reply(rubric: Rubric, judge: Judge) -> list[str]:
    if judge.reply == TEXT:
        return [f"reply:{TEXT}"]
    # Without a choice a reply is in the only form that the rubric reads.
    if rubric.reply_model is None or (judge.reply is None and rubric.structured is not None):
        return []
    several = [form for _, form in judge.questions.values() if form]
    forms = several or [rubric.reply_model()]
    written = (json.dumps(form.model_json_schema(), sort_keys=True) for form in forms)
    return [f"reply:{hashlib.sha256(''.join(written).encode()).hexdigest()[:8]}"]


def read_today(line: str, rubric: Rubric) -> Signature:
    """Return the signature `line` with today's rubric and program, for answers read again."""
    _, *judged, _ = Signature.parse(line).without(_PACKAGE).parts
    return Signature([*_rubric(rubric), *judged, f"version:{version()}"])


def _rubric(rubric: Rubric) -> list[str]:
    packages = plugins.RUBRICS.packages(rubric.name)
    parts = (f"{_PACKAGE}:{package.replace(' ', '@')}" for package in packages)
    return [f"{rubric.name}:{rubric.version}", *parts]

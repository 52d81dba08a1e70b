"""A judge with all that asking it takes, and the line that names all that changes a number."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
)
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from judge import backends, plugins, rubrics
from judge.backends import Judge, JudgeSettings
from judge.backends.base import Mode, StudyError
from judge.backends.hosted import HostedJudge
from judge.backends.refusals import Refusals
from judge.cache import place
from judge.cache.answers import AnswerStore
from judge.plugins import version
from judge.prompts import TEXT
from judge.rubrics import Rubric
from judge.rubrics.derived import for_prompt, on_scale
from judge.run_files.entries import JudgeEntry, PromptEntry, ShardEntry
from judge.run_files.identity import CombinedEntry, JudgedBy, RunIdentity
from judge.running.asking import AskingPlan, StudyQuestion, find_answer
from judge.running.interrupting import Interruption
from judge.running.policy import RequestPolicy
from judge.running.progress import Progress, StopSignal
from judge.running.records import CachedAnswer
from judge.signature import studies_digest
from judge.studies import StudySet

# What follows, and what methods import, is for judges that are asked over a network: the built-in
# judge does without its time to load.
if TYPE_CHECKING:
    from judge.cache.store_thread import StoreThread
    from judge.running.cached_client import CachedClient
    from judge.running.cost import SpendingLimit
    from judge.running.spending import UnansweredRequests

Identity = TypeVar("Identity", bound=RunIdentity)


def open_cache(folder: Path) -> AnswerStore:
    """Open the answers in a folder; raises `JudgeError` where they cannot be used."""
    from judge.cache.store import CompletionCache

    return CompletionCache(folder)


class JudgeSession(AbstractContextManager["JudgeSession"]):
    """A judge for one rubric, how it is asked, and the folder that keeps its answers.

    Attributes:
        rubric: The rubric, on the scale of the judge's prompt.
        judge: Who is asked.
        policy: How often, and when to give up.
        repeat: Which of several runs that ask the same it is, from 0.
        plan: These four together.
        folder: Where its answers are kept, with what is learned of its server.
        budget: What its answers may cost; None without a limit.
        runner: The event loop of all runs of a block `kept_open`; None where each has its own.
        progress, stop: The counts and the end of the run that `begin` began.
        is_shared: Whether many ask who know nothing of each other: a question that the budget has
            no room for fails alone, and does not end what the others ask.
        batches, unanswerable, asked_before: What batches brought: their records, the questions
            that can have no answer, and what was spent on them.
    """

    def __init__(
        self,
        rubric: Rubric,
        judge: Judge,
        policy: RequestPolicy,
        folder: Path,
        budget: SpendingLimit | None = None,
        repeat: int = 0,
        open_store: Callable[[Path], AnswerStore] = open_cache,
    ) -> None:
        """Put them together; nothing is asked, and nothing is opened yet.

        `open_store` opens the answers in `folder`, which a judge that runs inline has no use for.
        """
        if judge.prompt is not None:
            rubric = on_scale(rubric, judge.prompt.scale)
            rubric = for_prompt(rubric, judge.prompt.name, judge.version)
        self.rubric, self.judge = rubric, judge
        if judge.runs_inline:  # one at a time, and the same each time
            policy = replace(policy, concurrency=1, reask=0, give_up_after=0)
        self.policy, self.repeat = policy, repeat
        self.is_shared = False
        self.plan = AskingPlan(rubric=rubric, judge=judge, policy=policy, repeat=repeat)
        self.batches: Sequence[Mapping[str, object]] = ()
        self.unanswerable: Mapping[str, StudyError] = {}
        self.asked_before = Progress(total=0)
        self._interruption: Interruption | None = None
        self._is_interrupted = False
        if budget is None and policy.max_cost is not None:
            from judge.running.cost import SpendingLimit

            budget = SpendingLimit(policy.max_cost)
        self.budget = budget
        self._counts_earlier = budget is not None and budget.counts_earlier
        self._spending: UnansweredRequests | None = None
        self.folder = folder
        self._open_store = open_store
        self._opened = ExitStack()
        self.runner: asyncio.Runner | None = None
        if isinstance(judge, HostedJudge) and judge.refusals.address:
            self._recall_server(judge.refusals)
        self.begin()

    @classmethod
    def load(
        cls,
        rubric: str,
        judge: str,
        settings: JudgeSettings,
        *,
        policy: RequestPolicy | None = None,
        cache: str | Path | None = None,
        budget: SpendingLimit | None = None,
        repeat: int = 0,
    ) -> Self:
        """Return the session of the judge and the rubric of these names; nothing is asked."""
        chosen = rubrics.load(rubric)
        loaded, folder = backends.load(judge, chosen, settings), Path()
        if not loaded.runs_inline:
            folder = place(Path(cache) if cache else None, settings.environ)
        return cls(chosen, loaded, policy or RequestPolicy(), folder, budget, repeat)

    def _recall_server(self, refusals: Refusals) -> None:
        """Begin with what earlier runs learned of the server, and keep what this one learns."""
        from judge.cache.servers import keep_facts, known_facts

        name = f"{refusals.address} {refusals.model}"
        refusals.recall(known_facts(self.folder, name))

        def remember(facts: Mapping[str, object]) -> None:
            keep_facts(self.folder, name, facts)

        refusals.remember = remember

    @cached_property
    def cache(self) -> AnswerStore | None:
        """The answers that are kept; raises `JudgeError` where the cache cannot be used."""
        if self.judge.runs_inline:
            return None
        store = self._open_store(self.folder)
        self._opened.enter_context(store)
        return store

    @cached_property
    def _store_thread(self) -> StoreThread:
        """The thread that reads and writes the answers while judges are asked."""
        from judge.cache.store_thread import StoreThread

        assert self.cache is not None
        return self._opened.enter_context(StoreThread(self.cache))

    @property
    def has_failed(self) -> bool:
        """Whether its answers can no longer be kept: only a new session asks again."""
        return "_store_thread" in vars(self) and self._store_thread.has_failed

    def identity(
        self,
        studies: StudySet,
        class_source: str,
        *,
        shard: ShardEntry | None = None,
        combined: CombinedEntry | None = None,
        as_asked: bool = False,
    ) -> RunIdentity:
        """Return all that changes a number of a run; its `signature` is `green:3|judge:...`.

        It says what is sent, as far as that is known by now; `as_asked`, what was asked for.
        """
        shown = studies.judge_context.shown
        context = shown.get("context", [])
        if self.rubric.takes_context and not context:
            context = ["none"]
        judged_by = self.judged_by(as_asked=as_asked).model_copy(
            update={
                "repeat": self.repeat,
                "context": context,
                "prior": shown.get("prior", []),
                "modality": shown.get("modality", []),
            }
        )
        return RunIdentity(
            **dict(judged_by),
            section=studies.section,
            class_source=class_source,
            omitted=dict(studies.omitted),
            studies_digest=studies_digest(studies),
            shard=shard,
            combined=combined,
            version=version(),
        )

    def judged_by(self, *, as_asked: bool = False) -> JudgedBy:
        """Return who judges and by what, whatever the studies and what is shown of them."""
        judge = self.judge
        judged_by = JudgedBy(
            **_rubric(self.rubric),
            judge=JudgeEntry(name=judge.name, version=judge.version, note=judge.note),
            prompts=_prompts(judge),
        )
        if judge.runs_inline:
            return judged_by
        if as_asked:
            asked = _asked(self.rubric, judge, judge.sampling, None)
        else:
            asked = _asked(self.rubric, judge, judge.sent_sampling, judge.mode)
        return judged_by.model_copy(update={**asked, "reask": self.policy.reask})

    @cached_property
    def kind(self) -> str:
        """What all questions of this judge with this prompt and sampling have in common.

        As in the keys of answers, it is what was asked for, whatever the model refuses of it.
        """
        asked = _asked(self.rubric, self.judge, self.judge.sampling, None)
        return kind_of(
            self.judge.version,
            _prompts(self.judge),
            sampling=asked["sampling"],
            reply=asked["reply"],
        )

    @property
    def concurrency(self) -> int:
        """The most requests in flight."""
        return self.plan.concurrency

    def begin(self, n_studies: int = 0) -> None:
        """Reset the counts and the stop signal for a new run."""
        self.progress, self.stop = Progress(total=n_studies), StopSignal()
        self._client: CachedClient | None = None

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """Keep what is started for the judge, such as a server, over all runs in the block."""
        with asyncio.Runner() as runner:
            self.runner = runner
            try:
                yield
            finally:
                self.runner = None
                runner.run(self.judge.aclose())

    @contextmanager
    def interruptible(self, interruption: Interruption) -> Iterator[None]:
        """Let `interrupt` end what is done in the block."""
        self._interruption = interruption
        try:
            if self._is_interrupted:  # before it had begun
                interruption.from_thread()
            yield
        finally:
            self._interruption = None

    def interrupt(self) -> None:
        """End the run of this session within a second; called in another thread."""
        self._is_interrupted = True
        if self._interruption is not None:
            self._interruption.from_thread()

    async def landed(self) -> None:
        """Return when all that was sent has been answered and kept, or has failed."""
        if self._client is not None:
            await self._client.landed()

    async def count_earlier(self, studies: StudySet) -> None:
        """Count what these studies have cost in earlier commands towards `max_cost`, once."""
        store = self.cache
        if store is None or self.budget is None or not self.budget.notes_unanswered:
            return
        from judge.running.cost import spent_earlier
        from judge.running.spending import UnansweredRequests

        if self._spending is None:
            spending = UnansweredRequests(self.folder)
            self._spending = self._opened.enter_context(spending)
        spending = self._spending
        if not self._counts_earlier:
            return
        self._counts_earlier = False

        def count() -> float:
            return spent_earlier(self.plan, store, studies, spending.by_key())

        self.budget.count_earlier(await self._store_thread.do(count))

    def find(self, question: StudyQuestion) -> CachedAnswer | None:
        """Return the answer to a question in the cache, None where it has none."""
        assert self.cache is not None
        return find_answer(self.cache, self.judge, question)

    async def answer(self, question: StudyQuestion) -> CachedAnswer:
        """Return an answer from the cache or the judge; raises `AskError` without one."""
        if self.judge.runs_inline:
            return CachedAnswer(await self.judge.complete(question.request), key=None)
        if self._client is None:
            self._client = self._connected()
        return await self._client.answer(question)

    def _connected(self) -> CachedClient:
        from judge.running.cached_client import CachedClient

        return CachedClient(
            plan=self.plan,
            kind=self.kind,
            answers=self._store_thread,
            progress=self.progress,
            stop=self.stop,
            budget=self.budget,
            spending=self._spending,
            unanswerable=self.unanswerable,
            is_shared=self.is_shared,
        )

    def conclude(self) -> None:
        """Raise `JudgeError` where the server has refused all that it was asked in this run."""
        if self._client is not None:
            self._client.refusals.conclude()

    def __exit__(self, *_error: object) -> None:
        self._opened.close()
        self._client = self._spending = None
        for name in ("cache", "_store_thread"):  # the next block opens them anew
            vars(self).pop(name, None)


def _prompts(judge: Judge) -> list[PromptEntry]:
    return [
        PromptEntry(name=prompt.name, version=str(prompt.version), digest=prompt.digest)
        for prompt in judge.prompts
    ]


def kind_of(
    judge: str,
    prompts: Sequence[PromptEntry],
    *,
    sampling: str | None,
    reply: str | None,
) -> str:
    """Return the `kind` of the questions of a run: a digest of judge, prompts and sampling.

    It is that of the session that made the run where all was sent that was asked for.
    """
    parts = [judge, f"prompt:{','.join(map(str, prompts)) or 'none'}"]
    if sampling is not None:
        parts.append(f"sampling:{sampling}")
    if reply is not None:
        parts.append(f"reply:{reply}")
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]


def _asked(
    rubric: Rubric, judge: Judge, sampling: Mapping[str, object], mode: Mode | None
) -> dict[str, str | None]:
    """Return `sampling` and `reply` of `JudgedBy`: how a judge was asked."""
    values = (
        f"{name}={json.dumps(sampling[name], sort_keys=True)}"
        for name in sorted(sampling)
    )
    sent = ",".join(values)
    return {"sampling": sent, "reply": _reply(rubric, judge, mode)}


def _reply(rubric: Rubric, judge: Judge, mode: Mode | None) -> str | None:
    """Return the form of a reply: `text`, a digest of its schemas, None where there is no choice.

    Without a choice a reply is in the only form that the rubric reads.
    """
    if judge.reply == TEXT:
        return TEXT
    if rubric.reply_model is None:
        return None
    if judge.reply is None and rubric.structured is not None:
        return None
    forms = [form for _, form in judge.questions.values() if form]
    if not forms:
        forms = [rubric.reply_model()]
    schemas = [json.dumps(form.model_json_schema(), sort_keys=True) for form in forms]
    digest = hashlib.sha256("".join(schemas).encode()).hexdigest()[:8]
    if mode is Mode.JSON:  # without the schema's hold
        return f"{digest},{Mode.JSON.value}"
    return digest


def _rubric(rubric: Rubric) -> dict[str, Any]:
    """Return the rubric, its version and the packages that add it, as `JudgedBy` has them."""
    packages = plugins.RUBRICS.packages(rubric.name)
    return {
        "rubric": rubric.name,
        "rubric_version": str(rubric.version),
        "packages": [package.replace(" ", "@") for package in packages],
    }


def with_current_version(identity: Identity, rubric: Rubric) -> Identity:
    """Return what made a run with today's rubric and program, for answers read again."""
    return identity.model_copy(update={**_rubric(rubric), "version": version()})

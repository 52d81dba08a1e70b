"""A judge with all that asking it takes, and the line that names all that changes a number."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from judge import backends, plugins, rubrics
from judge.backends import Judge, JudgeSettings
from judge.backends.errors import StudyError
from judge.plugins import version
from judge.prompts import TEXT
from judge.rubrics import Rubric
from judge.rubrics.questions import asked_by, on_scale
from judge.running.engine import (
    INTERRUPTED,
    Answer,
    Progress,
    Question,
    RunStoppedError,
    Stop,
    judge_all,
)
from judge.running.records import Answered, Judged
from judge.signature import Signature, studies_digest
from judge.studies import StudySet
from judge.types import JudgeError

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from judge.cache import CompletionCache
    from judge.running.asking import Asker
    from judge.running.cost import Budget
    from judge.running.shards import Shard

_PACKAGE = "package"
_LEAST = {
    "concurrency": 1,
    "max_requests": 1,
    "reask": 0,
    "give_up_after": 0,
    "max_outage": 0,
    "max_cost": 0,
}


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """How many requests at a time, how often again, and when to give up.

    `concurrency` is the most requests in flight, None for what the server takes (16 for a model
    behind an API); `reask` how often an answer that cannot be read is asked for again;
    `max_requests` how many requests one question may take; `max_outage` for how many seconds a
    server may be gone; `max_cost` how many US dollars the run may spend, None for no limit. The run
    is given up where more than half of the first `give_up_after` answers cannot be read, 0 for
    never. Raises `JudgeError` for a number that cannot be.
    """

    concurrency: int | None = None
    reask: int = 1
    max_requests: int = 8
    max_outage: float = 1800.0
    max_cost: float | None = None
    give_up_after: int = 50

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            kinds = (int, float) if name in ("max_outage", "max_cost") else (int,)
            if value is None and name in ("concurrency", "max_cost"):
                continue
            if type(value) not in kinds or not value >= least:  # NaN is not
                what = "whole number" if kinds == (int,) else "number"
                raise JudgeError(f"{name} is a {what} from {least} on, not {value!r:.80}")


class JudgeSession(AbstractContextManager["JudgeSession"]):
    """A judge for one rubric, how it is asked, and the folder that keeps its answers.

    `budget` is what its answers are paid from beside the policy's `max_cost`, `repeat` which of
    several runs that ask the same it makes, `batches` those that answers came in, `unanswerable`
    the questions of theirs that brought none, `asked_before` what they took.
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
        self.policy = policy
        self.repeat = repeat
        self.batches: Sequence[Mapping[str, object]] = ()
        self.unanswerable: Mapping[str, StudyError] = {}
        self.asked_before = Progress(total=0)
        self.budget = budget
        if policy.max_cost is not None:
            from judge.running.cost import Budget

            self.budget = Budget(policy.max_cost, budget)
        self._folder = folder
        self._opened = ExitStack()
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
        budget: Budget | None = None,
        repeat: int = 0,
    ) -> Self:
        """Return the session of the judge and the rubric of these names; nothing is asked."""
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
        """Return the signature of a run, such as `green:3|judge:lexicon-1+3fa9c1d2|...`."""
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
        """Return the parts of a signature that say who judged by what, whatever the studies."""
        rubric, judge = self.rubric, self.judge
        asked = [*_asked(rubric, judge), f"reask:{self.policy.reask}"]
        return [
            *_rubric(rubric),
            f"judge:{judge.version}",
            _prompt(judge),
            *([] if judge.runs_inline else asked),
        ]

    @property
    def kind(self) -> str:
        """What all questions of this judge with this prompt and sampling have in common."""
        parts = (self.judge.version, _prompt(self.judge), *_asked(self.rubric, self.judge))
        return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]

    @property
    def concurrency(self) -> int:
        """The most requests in flight."""
        return self.policy.concurrency or self.judge.concurrency

    def begin(self, n_studies: int = 0) -> None:
        """Count anew, for a run that nobody has stopped yet."""
        self.progress, self.stop = Progress(total=n_studies), Stop()
        self._asker: Asker | None = None

    @property
    def answer(self) -> Answer:
        """How answers are got: from the cache or the judge, or from the judge at once."""
        if self.cache is None:
            return self._at_once
        if self._asker is None:
            from judge.running.asking import Asker

            self._asker = Asker(self, self.cache)
        return self._asker.answer

    async def _at_once(self, question: Question) -> Answered:
        return Answered(await self.judge.complete(question.request), key=None)

    def __exit__(self, *_error: object) -> None:
        self._opened.close()
        vars(self).pop("cache", None)  # the next block opens it anew


def _prompt(judge: Judge) -> str:
    prompts = (f"{prompt.name}@{prompt.version}+{prompt.digest}" for prompt in judge.prompts)
    return f"prompt:{','.join(prompts) or 'none'}"


def _asked(rubric: Rubric, judge: Judge) -> list[str]:
    sampling = ",".join(
        f"{name}={json.dumps(value, sort_keys=True)}"
        for name, value in sorted(judge.sampling.items())
    )
    if judge.reply == TEXT:
        return [f"sampling:{sampling}", f"reply:{TEXT}"]
    # Without a choice a reply is in the only form that the rubric reads.
    if rubric.reply_model is None or (judge.reply is None and rubric.structured is not None):
        return [f"sampling:{sampling}"]
    several = [form for _, form in judge.questions.values() if form]
    forms = several or [rubric.reply_model()]
    written = "".join(json.dumps(form.model_json_schema(), sort_keys=True) for form in forms)
    return [f"sampling:{sampling}", f"reply:{hashlib.sha256(written.encode()).hexdigest()[:8]}"]


def _rubric(rubric: Rubric) -> list[str]:
    packages = plugins.RUBRICS.packages(rubric.name)
    parts = (f"{_PACKAGE}:{package.replace(' ', '@')}" for package in packages)
    return [f"{rubric.name}:{rubric.version}", *parts]


def read_today(line: str, rubric: Rubric) -> Signature:
    """Return the signature `line` with today's rubric and program, for answers read again."""
    _, *judged, _ = Signature.parse(line).without(_PACKAGE).parts
    return Signature([*_rubric(rubric), *judged, f"version:{version()}"])


T = TypeVar("T")
_CLOSED = "this judge was closed: make a new one"


class JudgeThread:
    """Judges sets of studies as they come, any number at a time, in a thread with an event loop.

    All share the session's cache, limits and budget. After an end for all, such as a server that is
    gone, the next call finds out anew. The thread starts with the first question and ends with
    `close`.
    """

    def __init__(self, session: JudgeSession) -> None:
        self.session = session
        self._lock = threading.Lock()
        self._portal: BlockingPortal | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._is_closed = False

    def ready(self) -> None:
        """Raise `JudgeError` where the cache cannot be used; after a stop begin anew."""
        if self.session.stop.why is not None:
            self.session.begin()
        _ = self.session.cache

    async def judge(self, studies: StudySet) -> list[Judged]:
        """Return the end of every study, in their order; to be awaited in the thread."""
        self.ready()
        ends: list[Judged] = []
        stop, progress = self.session.stop, self.session.progress
        await judge_all(self.session, studies, ends.append)
        if len(ends) < len(studies):
            raise RunStoppedError(stop.why or INTERRUPTED, progress)
        return sorted(ends, key=lambda end: end.at)

    def submit(self, work: Callable[[JudgeThread], Coroutine[Any, Any, T]]) -> Future[T]:
        """Have a piece of work done in the thread, which gives it this judge.

        Cancelling the future stops asking for it. Raises `JudgeError` after `close`, and in a
        process that was forked off since the thread started, which has none.
        """
        if self._portal is not None and self._pid != os.getpid():
            raise JudgeError("a forked process cannot use the judge of the first: make a new one")
        with self._lock:
            if self._is_closed:
                raise JudgeError(_CLOSED)
            return (self._portal or self._started()).start_task_soon(self._done, work)

    async def _done(self, work: Callable[[JudgeThread], Coroutine[Any, Any, T]]) -> T:
        try:
            return await work(self)
        except asyncio.CancelledError:
            if self._is_closed:
                raise JudgeError(_CLOSED) from None
            raise

    def wait(self, work: Callable[[JudgeThread], Coroutine[Any, Any, T]]) -> T:
        """Have it done and return what it gives, or raise what it raises."""
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:  # Ctrl-C among them
            future.cancel()
            raise

    def close(self) -> None:
        """Stop asking, and let go of the judge; returns when nothing of it is left."""
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
        if self._portal is not None and not was_closed and self._pid == os.getpid():
            assert self._thread is not None
            self._portal.call(self._portal.stop, True)  # noqa: FBT003 - it takes it by its place
            self._thread.join()

    def _started(self) -> BlockingPortal:
        opened: Future[BlockingPortal] = Future()
        # At the end of the process there is nothing to do: what a judge started goes with it.
        self._thread = threading.Thread(target=self._live, args=(opened,), daemon=True)
        self._thread.start()
        self._portal, self._pid = opened.result(), os.getpid()
        return self._portal

    def _live(self, opened: Future[BlockingPortal]) -> None:
        import anyio
        from anyio.from_thread import BlockingPortal

        async def until_stopped() -> None:
            async with BlockingPortal() as portal:
                opened.set_result(portal)
                await portal.sleep_until_stopped()
            with self.session:
                await self.session.judge.aclose()

        anyio.run(until_stopped)

"""The questions of a run, asked in batches until each has its answer or can have none."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from judge import jsonio
from judge.backends.errors import AskError, StudyError, TransientError
from judge.backends.openai import OpenAIJudge
from judge.backends.openai_client import MOST_BYTES as MOST_ANSWER
from judge.backends.replies import RefusedError
from judge.backends.structured import Mode
from judge.batching.ledger import (
    AGAIN,
    CREATING,
    FAILED,
    OPEN,
    OVER,
    RUNNING,
    WRITTEN,
    Batch,
    Ledger,
)
from judge.batching.provider import GoneError, Provider, Remote, answer, line_of
from judge.cache import CompletionCache
from judge.report.words import counted
from judge.running.cost import Prices, Progress
from judge.running.engine import FirstAnswers, ProgressListener, RunStoppedError, UnreadableError
from judge.running.questions import Question, recall
from judge.running.session import JudgeSession
from judge.signature import studies_digest
from judge.studies import StudySet
from judge.types import Completion, JudgeError

MOST_BYTES = 200_000_000
"""The largest file of requests that OpenAI takes."""
_MOST_LINE = 2**20
# An answer is no longer than this, and so many bytes a token: \u escapes and all.
_ANSWER_BYTES, _TOKEN_BYTES = 2**16, 2**8
# How much of a file may be lines that are no answers: nothing of them is kept.
_STRANGE_BYTES = 2**30
_CHUNK = 500
_DOWNLOADS, _PAUSE = 3, 1.0
# A provider that was told to make a batch has it in its list after so many looks and seconds.
_LOOKS, _LEAST_WAIT = 2, 5.0
_MOST_UNMADE = 3
_IN_MANIFEST = {
    *("id", "remote_id", "remote_state", "created", "n", "answered", "failed", "again"),
    *("prompt_tokens", "cached_tokens", "completion_tokens", "dollars"),
}


@dataclass(frozen=True, slots=True)
class BatchPolicy:
    """How a run is asked in batches.

    `most` is the most requests of a batch; `poll` how many seconds lie between two looks at
    one. `command` is the command line that leads back here.
    """

    most: int
    poll: float
    command: str = ""


def batch_judge(session: JudgeSession) -> OpenAIJudge:
    """Return the session's judge, which can be asked in batches; raises `JudgeError` for others."""
    judge = session.judge
    if session.rubric.steps is not None:
        raise JudgeError(
            f"{session.rubric.title} asks several questions about a study, the later ones by what "
            "was answered before, and a batch takes single questions: ask directly, without batches"
        )
    if not isinstance(judge, OpenAIJudge) or not judge.servers.places:
        raise JudgeError(f"--batch belongs to a model behind an API, which {judge.name} is not")
    if len(judge.servers.places) > 1:
        raise JudgeError("a batch goes to one server: give --base-url once")
    return judge


@contextmanager
def in_batches(
    session: JudgeSession, studies: StudySet, policy: BatchPolicy, listener: ProgressListener
) -> Iterator[None]:
    """Ask all questions about `studies` in batches, before the block that reads the answers.

    They are in the session's cache then; the session knows the batches, and the questions that
    have no answer. After the block those are forgotten, so that another run asks them afresh.
    Raises `RunStoppedError` where the budget has no more or a batch was cancelled,
    `UnreadableError` where most of the first answers cannot be read, and `JudgeError`.
    """
    judge, cache = batch_judge(session), session.cache
    assert cache is not None
    digest = hashlib.sha256(f"{session.kind}|{studies_digest(studies)}".encode()).hexdigest()
    with Ledger(cache.path) as ledger:

        async def ask() -> Plan:
            async with Provider(*judge.servers.places[0]) as provider:
                return await BatchRun(
                    *(session, studies, policy, listener, ledger, provider, judge, cache),
                    run=digest[:16],
                ).ask()

        plan = asyncio.run(ask())
        over = ledger.batches(run=digest[:16], state=OVER)
        session.unanswerable = plan.unanswerable
        session.batches = [batch.model_dump(include=_IN_MANIFEST) for batch in over]
        yield
        ledger.forget(plan.met | {batch.id for batch in over})


@dataclass(slots=True)
class Plan:
    """What a look at the studies found.

    `waiting` are the batches that hold questions of theirs, each with how many; `unanswerable`
    the questions that will have no answer, by their keys; `met` the batches that those and the
    ones to be asked again were in. `short_of_money` says why the budget had none for a question.
    """

    waiting: Counter[str] = field(default_factory=Counter)
    unanswerable: dict[str, StudyError] = field(default_factory=dict)
    met: set[str] = field(default_factory=set)
    short_of_money: str = ""


@dataclass(slots=True)
class BatchRun:
    """One run that is asked in batches."""

    session: JudgeSession
    studies: StudySet
    policy: BatchPolicy
    listener: ProgressListener
    ledger: Ledger
    provider: Provider
    judge: OpenAIJudge
    cache: CompletionCache
    run: str
    _unmade: int = 0
    _reserved: set[str] = field(default_factory=set)

    async def ask(self) -> Plan:
        """Return when nothing is left to ask."""
        while True:
            async with self.ledger.making(self.listener.say):
                await reconcile(self.provider, self.ledger, self.policy.poll)
                self._check_readable()
                plan = await self._send()
            if not plan.waiting and not self._unmade:
                return plan
            await self._wait(plan)

    async def _send(self) -> Plan:
        sent = self.ledger.batches(run=self.run, server=self.provider.url, state=RUNNING)
        for batch in sent:  # what is under way is paid from the budget before more is sent
            self._reserve(batch)
        plan, path = Plan(), self.ledger.folder / "requests.jsonl"
        questions = self._questions(plan)
        try:
            for first in questions:
                batch = self._write(chain([first], questions), path)
                cost = "" if batch.most is None else f", at the most ${batch.most:,.2f}"
                what = counted(batch.n, "question", "questions")
                self.listener.say(f"Sending batch {batch.id} to {batch.server}: {what}{cost}.")
                await self._make(batch, path, plan)
        finally:
            path.unlink(missing_ok=True)
        if plan.short_of_money and not plan.waiting and not self._unmade:
            if not sent:
                raise RunStoppedError(plan.short_of_money, self._progress())
            # Their answers may cost less than they could.
            plan.waiting.update({batch.id: batch.n for batch in sent})
        return plan

    def _questions(self, plan: Plan) -> Iterator[tuple[Question, float | None]]:
        """Yield what is in no batch, with what it can cost; `plan` is told of the rest."""
        prices = Prices(self.judge.version, self.judge.billing_url, in_batches=True)
        budget = self.session.budget
        for study in self.studies:
            question = recall(self.session, self.cache, study)[0].question
            if question is None:
                continue
            if found := self.ledger.question(question.key):
                batch, state, reason, detail = found
                if state == OPEN:
                    plan.waiting[batch] += 1
                    continue
                plan.met.add(batch)
                if state == FAILED:
                    plan.unanswerable[question.key] = StudyError(reason, detail)
                    continue
            cost = prices.at_most(question.request)
            if budget is not None and (why := budget.reserve(cost)):
                plan.short_of_money = why
                return
            yield question, cost

    def _write(self, questions: Iterator[tuple[Question, float | None]], path: Path) -> Batch:
        """Write the next batch down, in the ledger and as a file, whole or not at all."""
        judge, session = self.judge, self.session
        tokens = judge.sampling["max_tokens"]
        assert isinstance(tokens, int)
        batch = Batch(
            id=f"b-{secrets.token_hex(4)}",
            run=self.run,
            rubric=session.rubric.name,
            judge=judge.version,
            kind=session.kind,
            server=self.provider.url,
            billed_at=judge.billing_url,
            mode=judge.mode.value if judge.mode else None,
            tool=judge.tool,
            longest=min(_ANSWER_BYTES + _TOKEN_BYTES * tokens, MOST_ANSWER),
            command=self.policy.command,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        n, size, most = 0, 0, 0.0 if judge.billing_url else None
        path.touch(mode=0o600)  # reports stand in it
        with self.ledger.change(), path.open("wb") as file:
            for question, cost in questions:
                line = line_of(question.key, judge.body(question.request))
                if len(line) > _MOST_LINE:
                    raise JudgeError(
                        f"a question of {len(line):,} bytes is too long for a batch: ask without "
                        "--batch"
                    )
                self.ledger.ask(batch, question.key, question.record)
                n, size = n + 1, size + file.write(line)
                most = None if most is None or cost is None else most + cost
                if n == self.policy.most or size > MOST_BYTES - _MOST_LINE:
                    break
            self._reserved.add(batch.id)
            return self.ledger.put(batch.changed(n=n, most=most))

    async def _make(self, batch: Batch, path: Path, plan: Plan) -> None:
        """Have the provider make a batch from its file, and `plan` wait for it."""
        try:
            file_id = await self.provider.upload(path, f"{batch.id}.jsonl")
            batch = self.ledger.put(batch.changed(state=CREATING, asked_at=time.time()))
            remote = await self.provider.create(file_id, batch.id)
            self.ledger.put(batch.changed(state=RUNNING, remote_id=remote.id))
        except TransientError:
            await reconcile(self.provider, self.ledger, self.policy.poll)
        except JudgeError:
            self.ledger.drop(batch.id)
            raise
        if self.ledger.batches(id=batch.id):
            plan.waiting[batch.id], self._unmade = batch.n, 0
            return
        self._settle(batch, 0.0)
        self._unmade += 1
        if self._unmade == _MOST_UNMADE:
            raise JudgeError(
                f"{batch.server} made no batch, tried {_MOST_UNMADE} times; none of its "
                "questions was asked: come back later with the same command"
            )
        self.listener.say(f"Batch {batch.id} was not made; its questions are sent again.")

    def _check_readable(self) -> None:
        if not self.ledger.batches(run=self.run, state=OVER):
            return
        first = FirstAnswers(self.session.policy.give_up_after)
        for study in self.studies:
            (exchange,) = recall(self.session, self.cache, study)
            if exchange.outcome is not None:
                first.add(study, exchange.outcome, exchange.answers[-1].completion)
            if first.is_full:
                break
        if first.are_unreadable:
            raise UnreadableError(first.message(), self._progress())

    async def _wait(self, plan: Plan) -> None:
        """Return when all batches are over and their answers are taken.

        Where the provider has no room for one, those that are under way are enough.
        """
        left = self._waited_for(plan)
        total = sum(batch.n for batch in left)
        progress = Progress(total=total)
        no_room, has_ended, silent_since = "", False, 0.0
        while left:
            under_way = 0
            try:
                for batch in [*left]:
                    remote = await self._look(batch)
                    if not remote.is_over:
                        under_way += remote.n_answered + remote.n_failed
                        continue
                    left.remove(batch)
                    if remote.has_no_room:
                        no_room = self._no_room(batch, remote)
                    else:
                        await self._end(batch, remote)
                        has_ended = True
                progress.trouble = None
            except TransientError as error:
                if progress.trouble is None:
                    self.listener.say(f"No answer: {error}. The batches go on; looking again.")
                    silent_since = time.monotonic()
                progress.trouble = str(error)
                self._check_silence(time.monotonic() - silent_since)
            over = total - sum(batch.n for batch in left)
            progress.done = max(progress.done, over + under_way)
            self.listener.tick(progress)
            if no_room and has_ended:
                return
            if left:
                await asyncio.sleep(self.policy.poll)
        if no_room:
            raise JudgeError(no_room)

    def _waited_for(self, plan: Plan) -> list[Batch]:
        found = [self.ledger.batch(name) for name in plan.waiting]
        for batch in found:
            n = counted(plan.waiting[batch.id], "question stands", "questions stand")
            if batch.server != self.provider.url:
                raise JudgeError(
                    f"{n} in batch {batch.id} at {batch.server}: wait for it with --base-url "
                    f"{batch.server}, or end it with judge batch cancel {batch.id}"
                )
            if batch.run != self.run:
                self.listener.say(f"{n} in batch {batch.id} of another run: waiting for that.")
            self._reserve(batch)
        return found

    async def _look(self, batch: Batch) -> Remote:
        assert batch.remote_id is not None
        try:
            return await self.provider.look(batch.remote_id)
        except GoneError as error:
            raise lost(batch, error) from error

    def _check_silence(self, seconds: float) -> None:
        most = self.session.policy.max_outage
        if seconds > most:
            raise JudgeError(
                f"{self.provider.url} has not answered for {most / 60:.3g} minutes (--max-outage); "
                "the batches go on there: come back with the same command"
            )

    def _no_room(self, batch: Batch, remote: Remote) -> str:
        """Keep a batch for later; returns what to say where no other batch ends before."""
        self._settle(batch, 0.0)
        self.ledger.drop(batch.id)
        self.listener.say(f"No room for batch {batch.id} yet; it is sent when others are over.")
        return (
            f"{self.provider.url} has no room for a batch of {batch.n:,} questions: "
            f"{'; '.join(remote.faults)} "
            "Give a smaller --batch-size, or come back later with the same command"
        )

    async def _end(self, batch: Batch, remote: Remote) -> None:
        if remote.state == "failed":
            self._settle(batch, 0.0)
            self.ledger.drop(batch.id)
            why = "; ".join(remote.faults) or "it does not say why"
            raise JudgeError(f"{self.provider.url} refused batch {batch.id}: {why}")
        async with self.ledger.making(lambda _text: None):
            batch = self.ledger.batch(batch.id)
            if batch.state == OVER:  # another process was here
                return
            batch, taken = await collect(self.provider, self.ledger, self.cache, batch, remote)
        self._settle(batch, batch.dollars)
        self.listener.say(described(batch))
        if taken.strange:
            what = counted(taken.strange, "line is no answer", "lines are no answers")
            self.listener.say(f"Passed over: {what} to what was asked.")
        if taken.refused:
            ((why, n),) = taken.refused.most_common(1)
            raise JudgeError(f"of batch {batch.id}, {counted(n, 'request', 'requests')}: {why}")
        for what_refused in taken.left_out:
            self.judge.leave_out(what_refused)
        if remote.state == "cancelled":
            raise RunStoppedError(f"batch {batch.id} was cancelled", self._progress())

    def _reserve(self, batch: Batch) -> None:
        if batch.id not in self._reserved:
            self._reserved.add(batch.id)
            self._settle(batch, batch.most, reserved=0.0)

    def _settle(self, batch: Batch, dollars: float | None, reserved: float | None = None) -> None:
        if self.session.budget is not None and batch.most is not None:
            self.session.budget.settle(batch.most if reserved is None else reserved, dollars)

    def _progress(self) -> Progress:
        progress = Progress(total=len(self.studies))
        for study in self.studies:
            (exchange,) = recall(self.session, self.cache, study)
            progress.from_cache += len(exchange.answers)
            if exchange.question is None and exchange.outcome is not None:
                progress.ended(exchange.outcome)
        return progress


async def reconcile(provider: Provider, ledger: Ledger, pause: float) -> None:
    """Find out about all batches that were being made; only under `Ledger.making`.

    One that carries its mark at the provider was made; one that does not show there some time
    after it was asked for was not, and its questions were not asked.
    """
    for batch in ledger.batches(state=WRITTEN, server=provider.url):
        ledger.drop(batch.id)
    looks = 0
    while creating := ledger.batches(state=CREATING, server=provider.url):
        latest = max(batch.asked_at for batch in creating)
        is_last = looks >= _LOOKS and time.time() > latest + max(_LOOKS * pause, _LEAST_WAIT)
        made = await provider.marked()
        for batch in creating:
            if batch.id in made:
                ledger.put(batch.changed(state=RUNNING, remote_id=made[batch.id].id))
            elif is_last:
                ledger.drop(batch.id)
        if ledger.batches(state=CREATING, server=provider.url):
            await asyncio.sleep(pause)
        looks += 1


@dataclass(slots=True)
class Taken:
    """What was in the files of a batch.

    `answered` are the questions whose answers are in the cache; `lost` says of others why they
    have none, and whether they are asked again. `strange` lines answer nothing that was asked,
    or a second time. `refused` says why the provider refuses requests, with how many it refused
    so; `left_out` are parameters and modes that the model does not take.
    """

    batch: Batch
    prices: Prices
    answered: set[str] = field(default_factory=set)
    lost: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    strange: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    left_out: set[str | Mode] = field(default_factory=set)

    def take(self, line: bytes, ledger: Ledger, cache: CompletionCache) -> Future[None] | None:
        """Take one line; an answer is on its way to the cache then."""
        batch = self.batch
        try:
            value = jsonio.read(line)
            key = str(value["custom_id"])
        except (ValueError, LookupError, TypeError):
            self.strange += 1
            return None
        record = ledger.record(batch, key)
        if record is None or key in self.answered:
            self.strange += 1
            return None
        mode = Mode(batch.mode) if batch.mode else None
        try:
            completion = answer(value, record["sampling"], mode, batch.tool)
        except RefusedError as error:
            self.left_out.add(error.what)
            self.lost[key] = AGAIN, "refused", str(error.what)
        except AskError as error:
            state = FAILED if isinstance(error, StudyError) else AGAIN
            self.lost[key] = state, error.reason, error.detail
        except JudgeError as error:
            self.refused[str(error)] += 1
            self.lost[key] = AGAIN, "refused", str(error)
        else:
            self._pay(key, completion)
            if cache.find(key) is None:  # it is, where a process was killed after it was kept
                return cache.keep(key, record, completion)
        return None

    def _pay(self, key: str, completion: Completion) -> None:
        self.answered.add(key)
        batch, usage = self.batch, completion.usage
        dollars = self.prices.dollars(usage)
        is_known = batch.dollars is not None and dollars is not None
        self.batch = batch.changed(
            answered=batch.answered + 1,
            prompt_tokens=batch.prompt_tokens + (usage.prompt_tokens if usage else 0),
            cached_tokens=batch.cached_tokens + (usage.cached_tokens if usage else 0),
            completion_tokens=batch.completion_tokens + (usage.completion_tokens if usage else 0),
            dollars=batch.dollars + dollars if is_known else None,  # type: ignore[operator]
        )


async def collect(
    provider: Provider, ledger: Ledger, cache: CompletionCache, batch: Batch, remote: Remote
) -> tuple[Batch, Taken]:
    """Put the answers of a batch that is over into the cache; returns it as it is now.

    The files are read as they come, no further than the answers to what was asked can reach, and
    a line that is none of these is passed over. What is not answered is asked again. Killed in
    between, the same is done again, with the same result. Raises `JudgeError` where the files
    cannot be had; they stay at the provider then.
    """
    prices = Prices(batch.judge, batch.billed_at, in_batches=True)
    for left in reversed(range(_DOWNLOADS)):
        taken = Taken(batch.changed(remote_state=remote.state), prices)
        kept: Future[None] | None = None
        try:
            for file_id in remote.files:
                most = batch.n * batch.longest + _STRANGE_BYTES
                async for line in provider.lines(file_id, batch.longest, most):
                    kept = (line.strip() and taken.take(line, ledger, cache)) or kept
                    if kept and len(taken.answered) % _CHUNK == 0:
                        kept.result()
            break
        except GoneError as error:
            raise lost(batch, error) from error
        except TransientError as error:
            if not left:
                raise JudgeError(
                    f"the answers of batch {batch.id} ({batch.remote_id}) cannot be read "
                    f"({error}); they stay at {provider.url}: try again later with the same command"
                ) from error
            await asyncio.sleep(_PAUSE)
    if kept:
        kept.result()  # they are kept in their order
    return ledger.end(taken.batch, taken.answered, taken.lost), taken


def lost(batch: Batch, error: GoneError) -> GoneError:
    """Return what to say of a batch that is gone from its provider, or whose answers are."""
    return GoneError(
        f"{error}: batch {batch.id} is lost there. judge batch cancel {batch.id} forgets it; what "
        "it asked is then asked, and paid for, again"
    )


def described(batch: Batch) -> str:
    """Return in a line what came of a batch that is over."""
    dollars = "unknown" if batch.dollars is None else f"${batch.dollars:,.2f}"
    parts = [f"{batch.answered:,} answered"]
    if batch.failed:
        parts.append(f"{batch.failed:,} without hope of an answer")
    if batch.again:
        parts.append(f"{batch.again:,} to be asked again")
    tokens = f"tokens {batch.prompt_tokens:,} in, {batch.completion_tokens:,} out"
    state = batch.remote_state or batch.state
    return f"Batch {batch.id} is {state}: {', '.join(parts)}; {tokens}; cost {dollars}."

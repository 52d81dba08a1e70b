"""The questions of a run, asked in batches until each has its answer or can have none."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import tenacity

from judge import jsonio
from judge.backends.errors import AskError, RefusedError, StudyError, TransientError
from judge.backends.openai import OpenAIJudge
from judge.backends.openai_client import MOST_BYTES as MOST_ANSWER
from judge.backends.structured import Mode
from judge.batching.ledger import CREATING, OVER, RUNNING, Batch, Ledger
from judge.batching.provider import Provider, Remote, read_answer, request_line, retry_transient
from judge.cache import CompletionCache
from judge.report.words import counted
from judge.running.cost import Prices, Progress
from judge.running.engine import FirstAnswers, ProgressListener, RunStoppedError, UnreadableError
from judge.running.questions import Question, recall
from judge.running.session import JudgeSession
from judge.signature import studies_digest
from judge.studies import StudySet
from judge.types import JudgeError, Usage

# The largest file and line of requests, in bytes: OpenAI takes 200 MB.
_MOST_FILE, _MOST_LINE = 200_000_000, 2**20
# An answer is no longer than this and so many bytes a token, \u escapes and all.
_ANSWER_BYTES, _TOKEN_BYTES = 2**16, 2**8
# How much of a file may be lines that are no answers: nothing of them is kept.
_STRANGE_BYTES = 2**30
_CHUNK = 500
# A provider that was told to make a batch has it in its list after so many looks and seconds.
_LOOKS, _LEAST_WAIT = 2, 5.0
# How often a batch is tried that is not made, and a question that no batch answers.
_MOST_UNMADE = _MOST_TIMES = 3
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


def require_batch_judge(session: JudgeSession) -> OpenAIJudge:
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


def ask_in_batches(
    session: JudgeSession, studies: StudySet, policy: BatchPolicy, listener: ProgressListener
) -> None:
    """Ask all questions about `studies` in batches, until they are answered or can't be.

    The answers are in the session's cache then; the session knows the batches, and the questions
    that have no answer. Raises `RunStoppedError` where the budget has no more or a batch was
    cancelled, `UnreadableError` where most of the first answers cannot be read, and `JudgeError`.
    """
    judge, cache = require_batch_judge(session), session.cache
    assert cache is not None
    digest = hashlib.sha256(f"{session.kind}|{studies_digest(studies)}".encode()).hexdigest()[:16]

    async def ask() -> None:
        async with Provider(*judge.servers.places[0]) as provider:
            run = BatchRun(
                session, studies, policy, listener, ledger, provider, judge, cache, digest
            )
            await run.ask()
            session.unanswerable = run.unanswerable

    with Ledger(cache.path) as ledger:
        asyncio.run(ask())
        over = ledger.batches(run=digest, state=OVER)
        session.batches = [batch.model_dump(include=_IN_MANIFEST) for batch in over]


@dataclass(slots=True)
class BatchRun:
    """One run that is asked in batches. `unanswerable` are questions that can have no answer."""

    session: JudgeSession
    studies: StudySet
    policy: BatchPolicy
    listener: ProgressListener
    ledger: Ledger
    provider: Provider
    judge: OpenAIJudge
    cache: CompletionCache
    run: str
    unanswerable: dict[str, StudyError] = field(default_factory=dict)
    _progress: Progress = field(init=False)
    _waiting: Counter[str] = field(init=False)  # how many questions stand in which batch
    _short_of_money: str = ""
    _unmade: int = 0
    _times: Counter[str] = field(default_factory=Counter)  # how often a question was not answered
    _reserved: set[str] = field(default_factory=set)

    async def ask(self) -> None:
        """Return when nothing is left to ask."""
        while True:
            async with self.ledger.making(self.listener.say):
                await reconcile(self.provider, self.ledger, self.policy.poll)
                await self._send()
            if self._waiting:
                await self._wait()
            elif not self._unmade:
                return

    async def _send(self) -> None:
        """Send the questions that stand in no batch; afterwards batches are waited for."""
        sent = self.ledger.batches(run=self.run, server=self.provider.url, state=RUNNING)
        for batch in sent:  # what is under way is paid from the budget before more is sent
            self._reserve(batch)
        self._progress, self._waiting = Progress(total=len(self.studies)), Counter()
        questions, path = self._questions(), self.ledger.folder / "requests.jsonl"
        try:
            for first in questions:
                batch = self._write(chain([first], questions), path)
                cost = "" if batch.most is None else f", at the most ${batch.most:,.2f}"
                what = counted(batch.n, "question", "questions")
                self.listener.say(f"Sending batch {batch.id} to {batch.server}: {what}{cost}.")
                await self._make(batch, path)
        finally:
            path.unlink(missing_ok=True)
        if self._short_of_money and not self._waiting and not self._unmade:
            if not sent:
                raise RunStoppedError(self._short_of_money, self._progress)
            # Their answers may cost less than they could.
            self._waiting.update({batch.id: batch.n for batch in sent})

    def _questions(self) -> Iterator[tuple[Question, float | None]]:
        """Yield what stands in no batch, with what it can cost; count the rest."""
        prices = Prices(self.judge.version, self.judge.billing_url, in_batches=True)
        was_asked = bool(self.ledger.batches(run=self.run, state=OVER))
        first = FirstAnswers(self.session.policy.give_up_after if was_asked else 0)
        self._short_of_money = ""
        for study in self.studies:
            (exchange,) = recall(self.session, self.cache, study)
            self._progress.from_cache += len(exchange.answers)
            if exchange.outcome is not None:
                first.add(study, exchange.outcome, exchange.answers[-1].completion)
                if first.are_unreadable:
                    raise UnreadableError(first.message(), self._progress)
            question = exchange.question
            if question is None:
                assert exchange.outcome is not None
                self._progress.ended(exchange.outcome)
            elif batch := self.ledger.batch_of(question.key):
                self._waiting[batch] += 1
            elif question.key not in self.unanswerable:
                cost = prices.at_most(question.request)
                budget = self.session.budget
                if budget is not None and (why := budget.reserve(cost)):
                    self._short_of_money = why
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
                line = request_line(question.key, judge.body(question.request))
                if len(line) > _MOST_LINE:
                    raise JudgeError(
                        f"a question of {len(line):,} bytes is too long for a batch: ask without "
                        "--batch"
                    )
                self.ledger.ask(batch, question.key, question.record)
                n, size = n + 1, size + file.write(line)
                most = None if most is None or cost is None else most + cost
                if n == self.policy.most or size > _MOST_FILE - _MOST_LINE:
                    break
            self._reserved.add(batch.id)
            return self.ledger.put(batch.changed(n=n, most=most))

    async def _make(self, batch: Batch, path: Path) -> None:
        """Have the provider make a batch from its file."""
        try:
            file_id = await self.provider.upload(path, f"{batch.id}.jsonl")
            batch = self.ledger.put(batch.changed(asked_at=time.time()))
            remote = await self.provider.create(file_id, batch.id)
            self.ledger.put(batch.changed(state=RUNNING, remote_id=remote.id))
        except TransientError:
            await reconcile(self.provider, self.ledger, self.policy.poll)
        except JudgeError:
            self.ledger.drop(batch)
            raise
        if self.ledger.batches(id=batch.id):
            self._waiting[batch.id], self._unmade = batch.n, 0
            return
        del self._waiting[batch.id]
        self._settle(batch, 0.0)
        self._unmade += 1
        if self._unmade == _MOST_UNMADE:
            raise JudgeError(
                f"{batch.server} made no batch, tried {_MOST_UNMADE} times; none of its "
                "questions was asked: come back later with the same command"
            )
        self.listener.say(f"Batch {batch.id} was not made; its questions are sent again.")

    async def _wait(self) -> None:
        """Return when a batch is over and its answers are collected.

        One for which the provider has no room waits for another to be over.
        """
        batches = [self.ledger.batch(name) for name in self._waiting]
        for batch in batches:
            n = counted(self._waiting[batch.id], "question stands", "questions stand")
            if batch.server != self.provider.url:
                raise JudgeError(
                    f"{n} in batch {batch.id} at {batch.server}: wait for it with --base-url "
                    f"{batch.server}, or end it with judge batch cancel {batch.id}"
                )
            if batch.run != self.run:
                self.listener.say(f"{n} in batch {batch.id} of another run: waiting for that.")
            self._reserve(batch)
        before, is_over = self._progress.done, False
        while not is_over:
            under_way = 0
            for batch in [*batches]:
                remote = await self._look(batch)
                under_way += remote.n_answered + remote.n_failed
                if remote.is_over:
                    batches.remove(batch)
                    is_over |= await self._end(batch, remote)
                    if not batches and not is_over:
                        raise JudgeError(
                            f"{self.provider.url} has no room for a batch of {batch.n:,} questions "
                            f"({remote.faults}): give a smaller --batch-size, or come "
                            "back later with the same command"
                        )
            self._progress.done = max(self._progress.done, before + under_way)
            self.listener.tick(self._progress)
            if not is_over:
                await asyncio.sleep(self.policy.poll)

    async def _look(self, batch: Batch) -> Remote:
        def say(state: tenacity.RetryCallState) -> None:
            error = state.outcome and state.outcome.exception()
            if self._progress.trouble is None:
                self.listener.say(f"No answer: {error}. The batches go on; looking again.")
            self._progress.trouble = str(error)
            self.listener.tick(self._progress)

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception_type(TransientError),
            wait=tenacity.wait_fixed(self.policy.poll),
            stop=tenacity.stop_after_delay(self.session.policy.max_outage),
            before_sleep=say,
            reraise=True,
        )
        remote: Remote = await retrying(self.provider.look, str(batch.remote_id))
        self._progress.trouble = None
        return remote

    async def _end(self, batch: Batch, remote: Remote) -> bool:
        """Take the answers of a batch that is over; returns False where it had no room."""
        if remote.state == "failed":
            self._settle(batch, 0.0)
            self.ledger.drop(batch)
            if remote.has_no_room:
                self.listener.say(f"No room for batch {batch.id}; it is sent when others are over.")
                return False
            why = remote.faults or "it does not say why"
            raise JudgeError(f"{batch.server} refused batch {batch.id}: {why}")
        async with self.ledger.making(lambda _text: None):
            batch = self.ledger.batch(batch.id)
            if batch.state == OVER:  # another process was here
                return True
            collected = await collect(self.provider, self.ledger, self.cache, batch, remote)
        batch = collected.batch
        self._settle(batch, batch.dollars)
        for key, error in collected.lost.items():
            self._times[key] += 1
            if isinstance(error, StudyError) or self._times[key] == _MOST_TIMES:
                self.unanswerable[key] = StudyError(error.reason, error.detail)
        self.listener.say(describe(batch))
        if collected.strange:
            what = counted(collected.strange, "line that answers", "lines that answer")
            self.listener.say(f"Passed over: {what} nothing that was asked.")
        if collected.refused:
            ((why, n),) = collected.refused.most_common(1)
            raise JudgeError(f"of batch {batch.id}, {counted(n, 'request', 'requests')}: {why}")
        for part in collected.left_out:
            self.judge.leave_out(part)
        if remote.state == "cancelled":
            raise RunStoppedError(f"batch {batch.id} was cancelled", self._progress)
        return True

    def _reserve(self, batch: Batch) -> None:
        if batch.id not in self._reserved and batch.most is not None and self.session.budget:
            self._reserved.add(batch.id)
            self.session.budget.settle(0.0, batch.most)

    def _settle(self, batch: Batch, dollars: float | None) -> None:
        if batch.most is not None and self.session.budget:
            self.session.budget.settle(batch.most, dollars)


async def reconcile(provider: Provider, ledger: Ledger, pause: float) -> None:
    """Find out about all batches that were being made; only under `Ledger.making`.

    One that carries its mark at the provider was made; one that does not show there some time
    after it was asked for was not, and its questions were not asked.
    """
    looks = 0
    while creating := ledger.batches(state=CREATING, server=provider.url):
        latest = max(batch.asked_at for batch in creating)
        is_last = looks >= _LOOKS and time.time() > latest + max(_LOOKS * pause, _LEAST_WAIT)
        made = await provider.marked() if latest else {}
        for batch in creating:
            if batch.id in made:
                ledger.put(batch.changed(state=RUNNING, remote_id=made[batch.id].id))
            elif is_last or not batch.asked_at:
                ledger.drop(batch)
        if ledger.batches(state=CREATING, server=provider.url):
            await asyncio.sleep(pause)
        looks += 1


@dataclass(slots=True)
class Collected:
    """What was in the files of a batch, which is `batch` as it is now.

    `answered` are the questions whose answers are in the cache, with their tokens and US dollars;
    `lost` says of the others why they have none. `strange` lines answer nothing that was asked, or
    a second time. `refused` says why the provider refuses requests, with how many it refused so;
    `left_out` are parameters and modes that the model does not take.
    """

    batch: Batch
    prices: Prices
    answered: dict[str, tuple[Usage | None, float | None]] = field(default_factory=dict)
    lost: dict[str, AskError] = field(default_factory=dict)
    strange: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    left_out: set[str | Mode] = field(default_factory=set)

    def add(self, line: bytes, ledger: Ledger, cache: CompletionCache) -> Future[None] | None:
        """Take one line; returns its answer on the way to the cache."""
        batch = self.batch
        try:
            value = jsonio.read(line, nan=True)  # an odd usage loses no answer
            key = value["custom_id"]
            record = ledger.record(batch, key) if isinstance(key, str) else None
        except (ValueError, LookupError, TypeError):
            record = None
        if record is None or key in self.answered:
            self.strange += 1
            return None
        mode = Mode(batch.mode) if batch.mode else None
        try:
            completion = read_answer(value, record["sampling"], mode, batch.tool)
        except RefusedError as error:
            self.left_out.add(error.what)
            self.lost[key] = AskError("refused", str(error.what))
        except AskError as error:
            self.lost[key] = error
        except JudgeError as error:
            self.refused[str(error)] += 1
        else:
            self.answered[key] = completion.usage, self.prices.dollars(completion.usage)
            if cache.find(key) is None:  # it is, where a process was killed after it was kept
                return cache.keep(key, record, completion)
        return None

    def end(self, ledger: Ledger) -> None:
        """Note that the batch was read, and what came of it."""
        nothing = AskError("no answer", f"the batch is {self.batch.remote_state}")
        unanswered = set(ledger.keys(self.batch)) - set(self.answered)
        self.lost = {key: self.lost.get(key, nothing) for key in unanswered}
        failed = sum(isinstance(error, StudyError) for error in self.lost.values())
        usages = [usage for usage, _ in self.answered.values() if usage]
        dollars = [dollars for _, dollars in self.answered.values() if dollars is not None]
        self.batch = self.batch.changed(
            state=OVER,
            answered=len(self.answered),
            failed=failed,
            again=len(self.lost) - failed,
            prompt_tokens=sum(usage.prompt_tokens for usage in usages),
            cached_tokens=sum(usage.cached_tokens for usage in usages),
            completion_tokens=sum(usage.completion_tokens for usage in usages),
            dollars=sum(dollars) if len(dollars) == len(self.answered) else None,
        )
        ledger.end(self.batch)


@retry_transient
async def collect(
    provider: Provider, ledger: Ledger, cache: CompletionCache, batch: Batch, remote: Remote
) -> Collected:
    """Put the answers of a batch that is over into the cache.

    The files are read as they come, no further than the answers to what was asked can reach, and
    a line that is none of these is passed over. What is not answered may be asked again. Broken off
    in between, the same is done again, with the same result.
    """
    prices = Prices(batch.judge, batch.billed_at, in_batches=True)
    collected = Collected(batch.changed(remote_state=remote.state), prices)
    most = batch.n * batch.longest + _STRANGE_BYTES
    writing: Future[None] | None = None
    for file_id in remote.files:
        async for line in provider.lines(file_id, batch.longest, most):
            writing = (line.strip() and collected.add(line, ledger, cache)) or writing
            if writing and len(collected.answered) % _CHUNK == 0:
                writing.result()
    if writing:
        writing.result()  # they are kept in their order
    collected.end(ledger)
    return collected


def describe(batch: Batch) -> str:
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

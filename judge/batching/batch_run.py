"""The questions of a run, asked in batches until each has its answer or can have none."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from judge.backends.base import (
    TIMEOUT,
    AskError,
    Mode,
    OverloadError,
    RefusedError,
    StudyError,
    TransientError,
    UnreadableReplyError,
)
from judge.backends.connection import Place, Pool
from judge.backends.hosted import HostedJudge
from judge.backends.refusals import IN_A_ROW, REFUSED, AdaptedError, OnceMoreError
from judge.batching import providers
from judge.batching.ledger import CREATING, OVER, RUNNING, Batch, Ledger
from judge.batching.provider import (
    BatchProvider,
    GoneError,
    RemoteBatch,
    Result,
    Sought,
    State,
)
from judge.cache.answers import answer_to
from judge.running.asking import StudyQuestion, recall
from judge.running.cost import Prices, unbounded
from judge.running.engine import GO_ON, EarlyAnswers
from judge.running.progress import Progress, ProgressListener, RunStoppedError
from judge.running.session import JudgeSession
from judge.signature import studies_digest
from judge.studies import StudySet
from judge.types import CompletionRequest, JudgeError, Message

_LONG_LINE = 2**20
# A provider that was told to make a batch has it in its list after so many looks, a pause apart.
_LOOKS, _LEAST_PAUSE = 3, 5.0
_TIMES = 3  # that a question is asked which has had no answer
_NO_REASON = (
    "it gives no reason; look at the batch on the page of batches of your provider"
)


@dataclass(frozen=True, slots=True)
class BatchPolicy:
    """How to ask in batches.

    Attributes:
        most: The most requests in a batch; None for what the provider takes.
        poll: After how many seconds a batch is looked at again.
        command: The command that made the run.
    """

    most: int | None
    poll: float
    command: str = ""


@dataclass(frozen=True, slots=True)
class BatchJudge:
    """A judge that can be asked in batches: its server, with the key, and who provides it."""

    judge: HostedJudge
    place: Place
    name: str
    provider: type[BatchProvider]


def require_batch_judge(session: JudgeSession, most: int | None = None) -> BatchJudge:
    """Return the judge; raises `JudgeError` where it cannot be asked in batches of `most`."""
    judge = session.judge
    if session.rubric.steps is not None:
        raise JudgeError(
            f"{session.rubric.title} asks later questions by earlier answers: ask without --batch"
        )
    if (
        not isinstance(judge, HostedJudge)
        or not isinstance(judge.servers, Pool)
        or not providers.has_batches(judge.provider)
    ):
        raise JudgeError(
            f"--batch belongs to a model behind an API, which {judge.name} is not"
        )
    if judge.service_tier is not None:
        raise JudgeError("a batch has a price of its own: leave out --service-tier")
    if len(judge.servers.places) > 1:
        raise JudgeError("a batch goes to one server: give --base-url once")
    name, provider = judge.provider, providers.load(judge.provider)
    if most is not None and most > provider.limits.requests:
        raise JudgeError(
            f"a batch of {name} takes at most {provider.limits.requests:,} questions: give a "
            f"smaller --batch-size than {most:,}"
        )
    return BatchJudge(judge, judge.servers.places[0], name, provider)


def ask_in_batches(
    session: JudgeSession,
    studies: StudySet,
    policy: BatchPolicy,
    listener: ProgressListener,
) -> None:
    """Ask all questions about `studies` in batches, until the answers are in the cache."""
    asked = require_batch_judge(session, policy.most)
    assert session.cache is not None
    digest = hashlib.sha256(
        f"{session.kind}|{studies_digest(studies)}".encode()
    ).hexdigest()[:16]

    with Ledger(session.folder) as ledger:
        run = BatchRun(
            session=session,
            studies=studies,
            policy=policy,
            listener=listener,
            ledger=ledger,
            asked=asked,
            run=digest,
        )
        asyncio.run(run.ask())
        session.batches = [
            asdict(batch) for batch in ledger.batches(run=digest, state=OVER)
        ]
    session.unanswerable, session.asked_before = run.unanswerable, run.spent


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """How a batch is: it runs, or it has `ended` and is to be read, or nothing is left to do."""

    is_running: bool = False
    ended: tuple[Batch, RemoteBatch] | None = None


@dataclass(slots=True, kw_only=True)
class BatchRun:
    """One run that is asked in batches: what it `spent`, and why questions are `unanswerable`."""

    session: JudgeSession
    studies: StudySet
    policy: BatchPolicy
    listener: ProgressListener
    ledger: Ledger
    asked: BatchJudge
    run: str
    unanswerable: dict[str, StudyError] = field(default_factory=dict)
    spent: Progress = field(default_factory=lambda: Progress(total=0))
    _progress: Progress = field(default_factory=lambda: Progress(total=0))
    provider: BatchProvider = field(init=False)
    _prices: Prices = field(init=False)
    _short_of_money: str = ""
    _times: Counter[str] = field(default_factory=Counter)
    _reserved: set[str] = field(default_factory=set)
    _undecided: set[str] = field(default_factory=set)

    @property
    def judge(self) -> HostedJudge:
        """The judge that is asked."""
        return self.asked.judge

    async def ask(self) -> None:
        """Return when nothing is left to ask."""
        await self.session.count_earlier(self.studies)
        self._prices = Prices.of(self.judge, in_batches=True)
        connection, key = self.asked.place
        made = self.asked.provider(connection, key, self.judge.key_name)
        async with made as self.provider:
            while True:
                async with self.ledger.lock():
                    for batch in self._batches(state=CREATING):
                        await self._find(batch)
                    waiting = await self._send()
                if not waiting:
                    return
                await self._wait(waiting)

    def _batches(self, **having: str) -> list[Batch]:
        """Return the batches at this server whose fields have these values."""
        return self.ledger.batches(
            provider=self.asked.name, server=self.provider.url, **having
        )

    async def _find(self, batch: Batch) -> None:
        """Write down a batch that the provider has made after all; forget another.

        One that may have been made stays as it is, until that is known.
        """
        named = {
            each.remote_id for each in self._batches() if each.remote_id is not None
        }
        sought = Sought(mark=batch.id, n=batch.n, since=_moment(batch), named=named)
        for look in range(_LOOKS):
            if look:
                await asyncio.sleep(max(self.policy.poll, _LEAST_PAUSE))
            found = await self.provider.find(sought)
            if found.batch is not None:
                self.ledger.put(replace(batch, state=RUNNING, remote_id=found.batch.id))
                return
            if found.undecided:
                self._say_undecided(batch, len(found.undecided))
                return
        self._drop(batch)

    def _say_undecided(self, batch: Batch, n: int) -> None:
        if batch.id in self._undecided:
            return
        self._undecided.add(batch.id)
        candidates, end = f"one of the {n:,} batches", "they end"
        if n == 1:
            candidates, end = "the batch", "it ends"
        self.listener.say(
            f"A command ended while it made batch {batch.id}. That may be {candidates} that "
            f"{batch.server} is answering now, which is known when {end}. Until then its questions "
            "are not asked again."
        )

    async def _send(self) -> Counter[str]:
        budget = self.session.budget
        is_limited = budget is not None and budget.limit is not None
        if is_limited and not self.judge.is_bounded:
            raise unbounded(self.judge.version)
        # Those that are still being made are what `_find` could not decide about.
        there = [batch for batch in self._batches(run=self.run) if batch.state != OVER]
        for batch in there:  # each is paid from the budget before more is sent
            if batch.id not in self._reserved and budget and batch.most is not None:
                budget.settle(0.0, batch.most)
            self._reserved.add(batch.id)
        self._progress, self._short_of_money = Progress(total=len(self.studies)), ""
        self._progress.add_spent(self.spent)
        waiting = Counter({batch.id: 0 for batch in there})
        questions, path = (
            self._questions(waiting),
            self.ledger.folder / "requests.jsonl",
        )
        try:
            for first in questions:
                batch = self._write(chain([first], questions), path)
                cost = "" if batch.most is None else f", at the most ${batch.most:,.2f}"
                way = self.provider.connection.way
                self.listener.say(
                    f"Sending batch {batch.id} to {batch.server}{way}{cost}."
                )
                if not await self._make(batch, path, is_first=not waiting):
                    break
                waiting[batch.id] = batch.n
        finally:
            path.unlink(missing_ok=True)
        if self._short_of_money and not waiting:
            raise RunStoppedError(self._short_of_money, self._progress)
        return waiting

    def _questions(
        self, waiting: Counter[str]
    ) -> Iterator[tuple[StudyQuestion, float | None]]:
        """Yield what is to be asked and its most dollars; count what running batches ask."""
        session, progress = self.session, self._progress
        assert session.cache is not None
        first = EarlyAnswers(session.policy.give_up_after)
        try:
            for study in self.studies:
                (exchange,) = recall(session.plan, session.find, study)
                progress.from_cache += len(exchange.answers)
                if exchange.outcome is not None:
                    last = exchange.answers[-1].completion
                    if why := first.add(study, exchange.outcome, last):
                        raise RunStoppedError(why, progress, GO_ON)
                question = exchange.question
                if question is None:
                    assert exchange.outcome is not None
                    progress.ended(exchange.outcome)
                    continue
                if batch := self.ledger.batch_of(question.key):
                    waiting[batch] += 1
                elif question.key not in self.unanswerable:
                    cost = self._prices.at_most(question.request)
                    if session.budget and (why := session.budget.reserve(cost)):
                        self._short_of_money = why
                    else:
                        yield question, cost
        finally:  # those that this run bought are from the cache by now
            progress.from_cache = max(0, progress.from_cache - progress.asked)

    def _write(
        self, questions: Iterator[tuple[StudyQuestion, float | None]], path: Path
    ) -> Batch:
        judge, provider = self.judge, self.provider
        batch = Batch(
            id=f"b-{secrets.token_hex(4)}",
            run=self.run,
            rubric=self.session.rubric.name,
            judge=judge.version,
            kind=self.session.kind,
            server=provider.url,
            mode=judge.mode.value if judge.mode else None,
            command=self.policy.command,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            provider=self.asked.name,
        )
        most_requests = self.policy.most or provider.limits.requests
        n, size, most = 0, 0, 0.0 if judge.billing_url else None
        path.touch(mode=0o600)  # reports stand in it
        with self.ledger.change(), path.open("wb") as file:
            for question, cost in questions:
                request_id = provider.id_of(question.key, batch.id)
                request = provider.request(request_id, judge.body(question.request))
                line = json.dumps(request).encode("ascii") + b"\n"
                self.ledger.ask(batch, question.key, question.record)
                n, size = n + 1, size + file.write(line)
                most = None if most is None or cost is None else most + cost
                if n == most_requests or size > provider.limits.size - _LONG_LINE:
                    break
            self._reserved.add(batch.id)
            return self.ledger.put(replace(batch, n=n, most=most))

    async def _make(self, batch: Batch, path: Path, *, is_first: bool) -> bool:
        """Make a batch; returns False where the provider has no room beside those that run."""
        try:
            remote = await self.provider.create(path, batch.id, self.judge.served_as)
        except JudgeError:
            self._drop(batch)
            raise
        except OverloadError as error:  # it was refused, and not made
            self._drop(batch)
            if is_first:
                raise
            self.listener.say(
                f"No room for batch {batch.id} ({error}): it waits for the others."
            )
            return False
        # After another error the next command finds out whether the batch was made.
        self.ledger.put(replace(batch, state=RUNNING, remote_id=remote.id))
        return True

    def _drop(self, batch: Batch) -> None:
        """Forget a batch of which nothing was asked."""
        self._settle(batch, 0.0)
        self.ledger.drop(batch)

    async def _wait(self, waiting: Counter[str]) -> None:
        # Until one is over: what the provider has no room for waits for that too.
        names = [*waiting]
        for name in names:
            self.listener.say(f"Waiting for batch {name}: {waiting[name]:,} questions.")
        is_over, answered_at, n_odd = False, time.monotonic(), 0
        while not is_over:
            for name in [*names]:
                try:
                    seen = await self._visit(name)
                except TransientError as error:
                    # A server that is away comes back; one that says odd things says them again.
                    n_odd += isinstance(error, UnreadableReplyError)
                    if n_odd >= _TIMES:
                        raise
                    if time.monotonic() - answered_at >= self.session.policy.max_outage:
                        raise
                    continue
                answered_at = time.monotonic()
                if seen.is_running:
                    continue
                names.remove(name)
                if seen.ended is None:
                    is_over = True
                else:
                    is_over |= await self._end(*seen.ended)
            if not names and not is_over:
                raise JudgeError(
                    f"{self.provider.url} has no room: give a smaller --batch-size"
                )
            self.listener.tick(self._progress)
            if not is_over:
                await asyncio.sleep(self.policy.poll)

    async def _visit(self, name: str) -> _Seen:
        """Return how a batch is."""
        batch = self._known(name)
        if batch is not None and batch.state == CREATING:
            async with self.ledger.lock():
                batch = self._known(name)
                if batch is not None and batch.state == CREATING:
                    await self._find(batch)
            batch = self._known(name)
            if batch is not None and batch.state == CREATING:
                return _Seen(is_running=True)
        # It was never made, or another process has read it.
        if batch is None or batch.state == OVER:
            return _Seen()
        try:
            remote = await self.provider.look(str(batch.remote_id))
        except GoneError:
            batch = self._known(name)
            if batch is None or batch.state == OVER:  # that process has deleted it, too
                return _Seen()
            raise
        if remote.state is State.RUNNING:
            return _Seen(is_running=True)
        return _Seen(ended=(batch, remote))

    def _known(self, name: str) -> Batch | None:
        """Return what the ledger has of a batch, None where another process has forgotten it."""
        found = self.ledger.batches(id=name)
        return found[0] if found else None

    async def _end(self, batch: Batch, remote: RemoteBatch) -> bool:
        """Read a batch that has ended; return whether its questions have met their ends."""
        if remote.state is State.FAILED:
            fault = remote.fault or _NO_REASON
            self._drop(batch)
            await self._forget(batch, remote)
            if not remote.has_no_room:
                raise JudgeError(f"{batch.server} refused batch {batch.id}: {fault}")
            self.listener.say(
                f"No room for batch {batch.id} ({fault}): it waits for the others."
            )
            return False
        async with self.ledger.lock():
            current = self._known(batch.id)
            if current is None or current.state == OVER:  # another process was here
                return True
            found: dict[str, AskError | None] = {}
            spent, refused = Progress(total=0), dict[str, RefusedError | JudgeError]()
            keys = self.ledger.keys(batch)
            by_id = {self.provider.id_of(key, batch.id): key for key in keys}
            path = self.ledger.folder / "answers.jsonl"
            try:
                async for result in self.provider.results(remote, by_id.keys(), path):
                    if (key := by_id.get(result.id)) is not None:
                        self._take(
                            result,
                            key,
                            batch,
                            found=found,
                            spent=spent,
                            refused=refused,
                        )
            finally:
                path.unlink(missing_ok=True)
            no_answer = AskError("no answer", f"the batch is {remote.state}")
            stopped = self._weigh(batch, found, refused)
            ends = dict.fromkeys(keys, no_answer) | found
            batch = replace(
                batch, state=OVER, remote_state=remote.state.value, answered=spent.asked
            )
            self.ledger.end(batch)
            await self._forget(batch, remote)
        for key, error in ends.items():
            self._times[key] += 1
            if isinstance(error, AdaptedError):
                continue
            if error and (isinstance(error, StudyError) or self._times[key] >= _TIMES):
                self.unanswerable[key] = StudyError(error.reason, error.detail)
        self._settle(batch, spent.dollars)
        self.spent.add_spent(spent)
        self._progress.add_spent(spent)
        cost = "unknown" if spent.dollars is None else f"${spent.dollars:,.2f}"
        answered = f"{spent.asked:,} of {batch.n:,} answered"
        self.listener.say(
            f"Batch {batch.id} is {remote.state}: {answered}; cost {cost}."
        )
        if stopped:
            raise JudgeError(f"batch {batch.id}: {stopped}") from stopped
        if remote.state is State.CANCELLED:
            raise RunStoppedError(f"batch {batch.id} was cancelled", self._progress)
        return True

    async def _forget(self, batch: Batch, remote: RemoteBatch) -> None:
        """Delete what the provider keeps of a batch that is over, or say that it is still there."""
        try:
            await self.provider.forget(remote)
        except GoneError:
            return  # there is nothing left of it
        except (AskError, JudgeError) as error:
            self.listener.say(
                f"What {batch.server} keeps of batch {batch.id} could not be deleted ({error}): "
                "delete it there, or wait until the provider does."
            )

    def _take(
        self,
        result: Result,
        key: str,
        batch: Batch,
        *,
        found: dict[str, AskError | None],
        spent: Progress,
        refused: dict[str, RefusedError | JudgeError],
    ) -> None:
        """Read what came of a question: its answer goes to the cache, its end to `found`.

        Its cost is added to `spent`; a refusal goes to `refused`, and is weighed with the others.
        """
        cache = self.session.cache
        assert cache is not None
        if key in found and found[key] is None:  # answered before
            return
        record = self.ledger.record(batch, key)
        if record is None:
            return
        found[key] = None
        mode = Mode(batch.mode) if batch.mode and batch.mode in [*Mode] else None
        try:
            sent = self._sent(record, mode) if result.is_error else {}
            said = self.provider.completion(result, sent, mode)
            completion = self.judge.with_ending(said)
        except AskError as error:
            found[key] = error
            if error.usage is not None:
                spent.paid_for_nothing(error.usage, self._prices.dollars(error.usage))
        except (RefusedError, JudgeError) as error:
            refused[key] = error
        else:
            if cache.get(key) is None:  # it is, where a process was killed in between
                answer = answer_to(
                    key, record, completion, kind=batch.kind, is_batched=True
                )
                cache.put(answer)
            spent.paid(completion, self._prices.dollars(completion.usage))

    def _sent(self, record: Mapping[str, Any], mode: Mode | None) -> dict[str, Any]:
        """Return what was sent for a question, as far as that is known by now."""
        request = CompletionRequest(
            endpoint=record["endpoint"],
            model=record["model"],
            messages=tuple(
                Message(role, content) for role, content in record["messages"]
            ),
            sampling=record["sampling"],
            schema=record["schema"],
        )
        refusals = self.judge.refusals
        now = refusals.form
        refusals.form = replace(
            now, mode=mode
        )  # the batch's, where it has changed since
        try:
            return self.judge.body(request)
        finally:
            refusals.form = now

    def _weigh(
        self,
        batch: Batch,
        found: dict[str, AskError | None],
        refused: Mapping[str, RefusedError | JudgeError],
    ) -> JudgeError | None:
        """Decide what the refused lines of a batch are about; returns why the run stops, if so.

        A question that is to be asked again has an `AskError` in `found`.
        """
        table = self.judge.refusals
        form = replace(table.form, mode=Mode(batch.mode) if batch.mode else None)
        n_answered = sum(error is None for error in found.values()) - len(refused)
        if n_answered:
            table.accept(form)
        is_first = not any(self._times[key] for key in refused)
        for key, error in sorted(refused.items()):
            if isinstance(error, JudgeError):
                return error
            is_most = (
                n_answered and len(refused) >= IN_A_ROW and len(refused) > n_answered
            )
            if is_most and is_first and not error.is_too_long:
                return table.stop(error)
            meant = table.refuse(error, form, key, is_in_order=False)
            if isinstance(meant, JudgeError):
                return meant
            found[key] = (
                meant if isinstance(meant, AskError) else OnceMoreError(REFUSED)
            )
        return None

    def _settle(self, batch: Batch, dollars: float | None) -> None:
        if self.session.budget and batch.id in self._reserved:
            self.session.budget.settle(batch.most, dollars)


def _moment(batch: Batch) -> datetime:
    """Return when a batch was about to be made; raises `JudgeError` where it is no time."""
    try:
        moment = datetime.fromisoformat(batch.created)
    except ValueError as error:
        raise JudgeError(
            f"the record of batches has no time for batch {batch.id} ({batch.created[:40]!r}): "
            "move the record away (its folder is `batches` in the cache)"
        ) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


async def cancel(
    ledger: Ledger,
    batch_id: str,
    environ: Mapping[str, str],
    base_url: str | None = None,
) -> str:
    """Cancel a batch, and return what became of it.

    The key goes to the server that the command names (`base_url`, else the provider's variable,
    such as `OPENAI_BASE_URL`, else the provider), never to one that only the record of batches
    names. A batch that the provider no longer has is forgotten, and its questions are asked again.
    Raises `JudgeError` for a batch that has ended, and for one at another server.
    """
    batch = ledger.batch(batch_id)
    if batch.state == CREATING:
        raise JudgeError(
            f"it is not known whether batch {batch.id} was made: the command that was making it "
            f"finds out:\n  {batch.command}"
        )
    if batch.state != RUNNING:
        raise JudgeError(f"batch {batch.id} is {batch.state} and cannot be cancelled")
    connection = providers.connection(batch.provider, environ, base_url, TIMEOUT)
    if connection.base_url != batch.server:
        raise JudgeError(
            f"batch {batch.id} was sent to {batch.server}, and this command would send the key to "
            f"{connection.base_url}: if that address is right, add --base-url {batch.server}"
        )
    try:
        async with providers.connected(batch.provider, connection, environ) as provider:
            remote = await provider.look(str(batch.remote_id))
            if remote.state is State.RUNNING:
                remote = await provider.cancel(remote.id)
    except GoneError:
        ledger.drop(batch)
        return f"{batch.server} does not have batch {batch.id} any more, and it is forgotten."
    command = f"This command collects its answers:\n  {batch.command}"
    return f"Batch {batch.id} is {remote.said}. {command}"

"""The questions of a run, asked in batches until each has its answer or can have none."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, Final, Self

import httpx2  # comes with openai
import openai

from judge import jsonio
from judge.backends.base import (
    TIMEOUT,
    AskError,
    Mode,
    RefusedError,
    StudyError,
    TransientError,
    UnavailableError,
    UnreadableReplyError,
)
from judge.backends.connection import FORM_KEY, NO_KEY, Connection, Place, Pool
from judge.backends.openai import OPENAI_URL, OpenAIJudge, key_name
from judge.backends.openai_client import OpenAIReplies, client
from judge.backends.refusals import IN_A_ROW, REFUSED, AdaptedError, OnceMoreError, Refusals
from judge.backends.replies import MOST_BYTES, TooLongReplyError
from judge.backends.reply_reader import masked
from judge.batching.ledger import CREATING, OVER, RUNNING, Batch, Ledger
from judge.batching.remote import RemoteBatch, batch_of, id_of
from judge.running.cost import Prices, unbounded
from judge.running.engine import (
    GO_ON,
    EarlyAnswers,
    Progress,
    ProgressListener,
    Question,
    RunStoppedError,
    recall,
)
from judge.running.session import JudgeSession
from judge.signature import studies_digest
from judge.studies import StudySet
from judge.types import Completion, JudgeError

_ENDPOINT: Final = "/v1/chat/completions"
# Under this name a batch carries the id that it has here.
_MARK = "judge_batch"
ENDED = frozenset({"completed", "expired", "cancelled", "failed"})
"""The states of a batch to which nothing will happen any more."""
_FILE_TIMEOUT = 1800.0  # seconds in which a file of 200 MB goes up, or comes down
_RETRIES = 4
_A_PAGE, _MOST_PAGES = 100, 200


class GoneError(JudgeError):
    """The server has no such batch or file."""


def read_answer(
    line: Mapping[str, Any], sent: Mapping[str, Any], mode: Mode | None, key: str = NO_KEY
) -> Completion:
    """Return the answer in a line; raises what asking raises, or `TransientError` without one.

    `sent` is the body of the request, `key` what the server was sent, masked where it repeats it.
    """
    response = line.get("response")
    if not isinstance(response, Mapping):
        error = line.get("error")
        code = error.get("code") if isinstance(error, Mapping) else None
        reason, detail = (masked(text, key) for text in (str(code or "no response"), str(error)))
        raise TransientError(reason[:40], detail[:300])
    reader = OpenAIReplies("the batch", key)
    status, body = response.get("status_code"), response.get("body")
    if type(status) is int and not 200 <= status < 300:
        reply = httpx2.Response(status, content=json.dumps(body).encode())
        raise reader.meaning(reply, sent)
    return reader.read(body, httpx2.Response(200), sent, mode)


def lines_of(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, without those that are longer than an answer can be."""
    with path.open("rb") as file:
        while line := file.readline(MOST_BYTES + 1):
            if len(line) <= MOST_BYTES:
                yield line
                continue
            while line and not line.endswith(b"\n"):
                line = file.readline(MOST_BYTES)


class Provider:
    """The files and batches of one server; its `AskError`s are `JudgeError`s after the block."""

    def __init__(self, connection: Connection, key: str) -> None:
        self.url, self.key = connection.base_url, key
        self.connection = connection
        self._client = client(connection, key)
        # What may be asked twice is asked again at once.
        self._again = self._client.with_options(
            max_retries=_RETRIES, timeout=max(_FILE_TIMEOUT, connection.timeout)
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        await self._client.close()
        if isinstance(error, AskError):
            raise JudgeError(
                f"{self.url} does not answer ({error}); run the same command again later"
            ) from error

    async def upload(self, path: Path, name: str) -> str:
        """Return the id of a file with the requests that lie at `path`."""
        with self._explained(), path.open("rb") as file:
            return id_of(await self._again.files.create(file=(name, file), purpose="batch"))

    async def create(self, file_id: str, mark: str) -> RemoteBatch:
        """Make the batch of an uploaded file; an error may leave it made or not."""
        with self._explained():
            made = await self._client.batches.create(
                input_file_id=file_id,
                endpoint=_ENDPOINT,
                completion_window="24h",
                metadata={_MARK: mark},
            )
            return batch_of(made)

    async def find(self, mark: str) -> RemoteBatch | None:
        """Return the batch that was made under this id, None where there is none.

        Raises `UnreadableReplyError` for a list without an end: to take it for a list without the
        batch would be to make and pay it again.
        """
        seen: set[str] = set()
        after: dict[str, Any] = {}
        for _ in range(_MOST_PAGES):
            with self._explained():
                page = await self._again.batches.list(limit=_A_PAGE, **after)
                batches = [batch_of(batch) for batch in page.data]
            for batch in batches:
                if (batch.metadata or {}).get(_MARK) == mark:
                    return batch
            is_last = page.has_more is None and len(batches) < _A_PAGE
            if is_last or not batches or page.has_more is False:
                return None
            if seen.issuperset(batch.id for batch in batches):
                break
            seen.update(batch.id for batch in batches)
            after = {"after": batches[-1].id}
        raise UnreadableReplyError("its list of batches has no end")

    async def look(self, remote_id: str) -> RemoteBatch:
        """Return how a batch is."""
        with self._explained():
            return batch_of(await self._client.batches.retrieve(remote_id))

    async def cancel(self, remote_id: str) -> RemoteBatch:
        """Have a batch end with what it has answered."""
        with self._explained():
            return batch_of(await self._client.batches.cancel(remote_id))

    async def download(self, file_id: str, path: Path, n: int) -> None:
        """Write a file with the answers to `n` questions to `path`.

        Raises `JudgeError` for one that is longer than so many answers can be.
        """
        most = MOST_BYTES * max(1, n)
        files = client(self.connection, self.key, most).with_options(max_retries=_RETRIES)
        path.touch(mode=0o600)  # reports may stand in it
        with self._explained():
            try:
                async with asyncio.timeout(max(_FILE_TIMEOUT, self.connection.timeout)), files:
                    await self._fetch(files, file_id, path)
            except TooLongReplyError as error:
                raise JudgeError(
                    f"{self.url} sends a file of more than {most // 2**20:,} MB for "
                    f"{n:,} questions, which is not read: ask the provider (file {file_id})"
                ) from error

    async def _fetch(self, files: openai.AsyncOpenAI, file_id: str, path: Path) -> None:
        for again in range(_RETRIES, -1, -1):
            try:
                async with files.files.with_streaming_response.content(file_id) as reply:
                    with path.open("wb") as file:
                        async for piece in reply.iter_bytes():
                            file.write(piece)
            except httpx2.TransportError:  # the file was not sent to its end
                if not again:
                    raise
            else:
                return

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except openai.APIStatusError as error:
            if error.status_code == 404:
                raise GoneError(
                    f"{self.url} has lost a batch or its file: see judge batch cancel"
                ) from error
            wrong = OpenAIReplies(self.url, self.key).meaning(error.response, {})
            if isinstance(wrong, RefusedError):
                wrong = Refusals(address=self.url).stop(wrong)
            raise wrong from error
        except (openai.APIConnectionError, httpx2.HTTPError, OSError) as error:
            raise UnavailableError("connection", str(error.__cause__ or error)[:300]) from error
        # A page instead of JSON comes as text, JSON that is none as a ValueError; openai reads it.
        except (openai.OpenAIError, AttributeError, TypeError, ValueError, RecursionError) as error:
            raise UnreadableReplyError("it is no reply about batches") from error


_MOST_FILE, _LONG_LINE = 200_000_000, 2**20
# A provider that was told to make a batch has it in its list after so many looks, a pause apart.
_LOOKS, _LEAST_PAUSE = 3, 5.0
_TIMES = 3  # that a question is asked which has had no answer
_NO_ROOM = "token_limit_exceeded"
_NO_REASON = "it gives no reason; look at the batch on the page of batches of your provider"


def _fault(error: Any) -> str:  # noqa: ANN401 - openai's own, as the server sent it
    """Return what is wrong with a file of requests, and in which line if that is said."""
    words = str(error.message or error.code or "")
    return f"line {error.line}: {words}" if words and error.line is not None else words


@dataclass(frozen=True, slots=True)
class BatchPolicy:
    """At most `most` requests a batch, looked at every `poll` seconds; `command` made the run."""

    most: int
    poll: float
    command: str = ""


def require_batch_judge(session: JudgeSession) -> tuple[OpenAIJudge, Place]:
    """Return the judge and its server; raises `JudgeError` where it cannot be asked in batches."""
    judge = session.judge
    if session.rubric.steps is not None:
        raise JudgeError(
            f"{session.rubric.title} asks later questions by earlier answers: ask without --batch"
        )
    if not isinstance(judge, OpenAIJudge) or not isinstance(judge.servers, Pool):
        raise JudgeError(f"--batch belongs to a model behind an API, which {judge.name} is not")
    if len(judge.servers.places) > 1:
        raise JudgeError("a batch goes to one server: give --base-url once")
    return judge, judge.servers.places[0]


def ask_in_batches(
    session: JudgeSession, studies: StudySet, policy: BatchPolicy, listener: ProgressListener
) -> None:
    """Ask all questions about `studies` in batches, until the answers are in the cache."""
    judge, place = require_batch_judge(session)
    assert session.cache is not None
    digest = hashlib.sha256(f"{session.kind}|{studies_digest(studies)}".encode()).hexdigest()[:16]

    session.count_earlier(studies)
    with Ledger(session.cache.path) as ledger:
        run = BatchRun(session, studies, policy, listener, ledger, judge, place, digest)
        asyncio.run(run.ask())
        session.batches = [asdict(batch) for batch in ledger.batches(run=digest, state=OVER)]
    session.unanswerable, session.asked_before = run.unanswerable, run.spent


@dataclass(slots=True)
class BatchRun:
    """One run that is asked in batches: what it `spent`, and why questions are `unanswerable`."""

    session: JudgeSession
    studies: StudySet
    policy: BatchPolicy
    listener: ProgressListener
    ledger: Ledger
    judge: OpenAIJudge
    place: Place
    run: str
    unanswerable: dict[str, StudyError] = field(default_factory=dict)
    spent: Progress = field(default_factory=lambda: Progress(total=0))
    _progress: Progress = field(default_factory=lambda: Progress(total=0))
    provider: Provider = field(init=False)
    _prices: Prices = field(init=False)
    _short_of_money: str = ""
    _times: Counter[str] = field(default_factory=Counter)
    _reserved: set[str] = field(default_factory=set)

    async def ask(self) -> None:
        """Return when nothing is left to ask."""
        self._prices = Prices(self.judge.version, self.judge.billing_url, in_batches=True)
        async with Provider(*self.place) as self.provider:
            while True:
                async with self.ledger.lock():
                    for batch in self.ledger.batches(state=CREATING, server=self.provider.url):
                        await self._find(batch)
                    waiting = await self._send()
                if not waiting:
                    return
                await self._wait(waiting)

    async def _find(self, batch: Batch) -> None:
        """Write down a batch that the provider has made after all; forget another."""
        for look in range(_LOOKS):
            if look:
                await asyncio.sleep(max(self.policy.poll, _LEAST_PAUSE))
            if remote := await self.provider.find(batch.id):
                self.ledger.put(replace(batch, state=RUNNING, remote_id=remote.id))
                return
        self.ledger.drop(batch)

    async def _send(self) -> Counter[str]:
        budget = self.session.budget
        is_limited = budget is not None and budget.limit is not None
        if is_limited and not self.judge.is_bounded:
            raise unbounded(self.judge.version)
        running = self.ledger.batches(run=self.run, server=self.provider.url, state=RUNNING)
        for batch in running:  # each is paid from the budget before more is sent
            if batch.id not in self._reserved and budget and batch.most is not None:
                budget.settle(0.0, batch.most)
            self._reserved.add(batch.id)
        self._progress, self._short_of_money = Progress(total=len(self.studies)), ""
        self._progress.add_spent(self.spent)
        waiting = Counter({batch.id: 0 for batch in running})
        questions, path = self._questions(waiting), self.ledger.folder / "requests.jsonl"
        try:
            for first in questions:
                batch = self._write(chain([first], questions), path)
                cost = "" if batch.most is None else f", at the most ${batch.most:,.2f}"
                way = self.provider.connection.way
                self.listener.say(f"Sending batch {batch.id} to {batch.server}{way}{cost}.")
                await self._make(batch, path)
                waiting[batch.id] = batch.n
        finally:
            path.unlink(missing_ok=True)
        if self._short_of_money and not waiting:
            raise RunStoppedError(self._short_of_money, self._progress)
        return waiting

    def _questions(self, waiting: Counter[str]) -> Iterator[tuple[Question, float | None]]:
        """Yield what is to be asked and its most dollars; count what running batches ask."""
        session, progress = self.session, self._progress
        assert session.cache is not None
        first = EarlyAnswers(session.policy.give_up_after)
        try:
            for study in self.studies:
                (exchange,) = recall(session, study)
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

    def _write(self, questions: Iterator[tuple[Question, float | None]], path: Path) -> Batch:
        judge = self.judge
        batch = Batch(
            id=f"b-{secrets.token_hex(4)}",
            run=self.run,
            rubric=self.session.rubric.name,
            judge=judge.version,
            kind=self.session.kind,
            server=self.provider.url,
            mode=judge.mode.value if judge.mode else None,
            command=self.policy.command,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        n, size, most = 0, 0, 0.0 if judge.billing_url else None
        path.touch(mode=0o600)  # reports stand in it
        with self.ledger.change(), path.open("wb") as file:
            for question, cost in questions:
                request = {"custom_id": question.key, "method": "POST", "url": _ENDPOINT}
                body = judge.body(question.request)
                line = json.dumps({**request, "body": body}).encode("ascii") + b"\n"
                self.ledger.ask(batch, question.key, question.record)
                n, size = n + 1, size + file.write(line)
                most = None if most is None or cost is None else most + cost
                if n == self.policy.most or size > _MOST_FILE - _LONG_LINE:
                    break
            self._reserved.add(batch.id)
            return self.ledger.put(replace(batch, n=n, most=most))

    async def _make(self, batch: Batch, path: Path) -> None:
        file_id = await self.provider.upload(path, f"{batch.id}.jsonl")
        try:
            remote = await self.provider.create(file_id, batch.id)
        except JudgeError:
            self.ledger.drop(batch)
            raise
        # After another error the next command finds out whether the batch was made.
        self.ledger.put(replace(batch, state=RUNNING, remote_id=remote.id))

    async def _wait(self, waiting: Counter[str]) -> None:
        # Until one is over: what the provider has no room for waits for that too.
        batches = [self.ledger.batch(name) for name in waiting]
        for batch in batches:
            self.listener.say(f"Waiting for batch {batch.id}: {waiting[batch.id]:,} questions.")
        is_over, answered_at, n_odd = False, time.monotonic(), 0
        while not is_over:
            for batch in [*batches]:
                try:
                    remote = await self.provider.look(str(batch.remote_id))
                except TransientError as error:
                    # A server that is away comes back; one that says odd things says them again.
                    n_odd += isinstance(error, UnreadableReplyError)
                    if n_odd >= _TIMES:
                        raise
                    if time.monotonic() - answered_at >= self.session.policy.max_outage:
                        raise
                    continue
                answered_at = time.monotonic()
                if remote.status in ENDED:
                    batches.remove(batch)
                    is_over |= await self._end(batch, remote)
            if not batches and not is_over:
                raise JudgeError(f"{self.provider.url} has no room: give a smaller --batch-size")
            self.listener.tick(self._progress)
            if not is_over:
                await asyncio.sleep(self.policy.poll)

    async def _end(self, batch: Batch, remote: RemoteBatch) -> bool:
        """Read a batch that has ended; return whether its questions have met their ends."""
        if remote.status == "failed":
            errors = (remote.errors and remote.errors.data) or []
            faults = "; ".join(filter(None, map(_fault, errors)))[:500] or _NO_REASON
            self._settle(batch, 0.0)
            self.ledger.drop(batch)
            if all(error.code != _NO_ROOM for error in errors):
                raise JudgeError(f"{batch.server} refused batch {batch.id}: {faults}")
            self.listener.say(f"No room for batch {batch.id} ({faults}): it waits for the others.")
            return False
        async with self.ledger.lock():
            if self.ledger.batch(batch.id).state == OVER:  # another process was here
                return True
            found: dict[str, AskError | None] = {}
            spent, refused = Progress(total=0), dict[str, RefusedError | JudgeError]()
            path = self.ledger.folder / "answers.jsonl"
            try:
                for file_id in filter(None, (remote.output_file_id, remote.error_file_id)):
                    await self.provider.download(file_id, path, batch.n)
                    for line in lines_of(path):
                        self._take(line, batch, found, spent, refused)
            finally:
                path.unlink(missing_ok=True)
            no_answer = AskError("no answer", f"the batch is {remote.status}")
            stopped = self._weigh(batch, found, refused)
            ends = dict.fromkeys(self.ledger.keys(batch), no_answer) | found
            batch = replace(batch, state=OVER, remote_state=remote.status, answered=spent.asked)
            self.ledger.end(batch)
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
        self.listener.say(f"Batch {batch.id} is {remote.status}: {answered}; cost {cost}.")
        if stopped:
            raise JudgeError(f"batch {batch.id}: {stopped}") from stopped
        if remote.status == "cancelled":
            raise RunStoppedError(f"batch {batch.id} was cancelled", self._progress)
        return True

    def _take(
        self,
        line: bytes,
        batch: Batch,
        found: dict[str, AskError | None],
        spent: Progress,
        refused: dict[str, RefusedError | JudgeError],
    ) -> None:
        """Read a line: the answer goes to the cache, its question's end to `found`."""
        cache = self.session.cache
        assert cache is not None
        try:
            value = jsonio.read(line, mark_repeated=True)  # an odd usage loses no answer
            if any(map(jsonio.repeated_keys, (value, value.get("response") or {}))):
                return
            key = value["custom_id"]
            record = self.ledger.record(batch, key) if isinstance(key, str) else None
        except (ValueError, LookupError, TypeError, AttributeError):
            record = None
        if record is None or found.get(key, record) is None:  # not asked for, or answered before
            return
        found[key] = None
        mode = Mode(batch.mode) if batch.mode and batch.mode in [*Mode] else None
        try:
            answer = read_answer(value, self._sent(record, mode), mode, self.provider.key)
            completion = self.judge.with_ending(answer)
        except AskError as error:
            found[key] = error
            if error.usage is not None:
                spent.paid_for_nothing(error.usage, self._prices.dollars(error.usage))
        except (RefusedError, JudgeError) as error:
            refused[key] = error
        else:
            if cache.find(key) is None:  # it is, where a process was killed in between
                cache.keep(key, record, completion, batch.kind, is_batched=True)
            spent.paid(completion, self._prices.dollars(completion.usage))

    def _sent(self, record: Mapping[str, Any], mode: Mode | None) -> dict[str, Any]:
        """Return as much of what was sent for a question as a refusal may name."""
        sent: dict[str, Any] = {**self.judge.as_sent(record["sampling"])}
        sent["messages"] = [{"role": role} for role, _ in record["messages"]]
        if mode is Mode.JSON_SCHEMA:
            sent[FORM_KEY] = {}
        return sent

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
            is_most = n_answered and len(refused) >= IN_A_ROW and len(refused) > n_answered
            if is_most and is_first and not error.is_too_long:
                return table.stop(error)
            meant = table.refuse(error, form, key, is_in_order=False)
            if isinstance(meant, JudgeError):
                return meant
            found[key] = meant if isinstance(meant, AskError) else OnceMoreError(REFUSED)
        return None

    def _settle(self, batch: Batch, dollars: float | None) -> None:
        if self.session.budget and batch.id in self._reserved:
            self.session.budget.settle(batch.most, dollars)


async def cancel(
    ledger: Ledger, batch_id: str, environ: Mapping[str, str], base_url: str | None = None
) -> str:
    """Cancel a batch, and return what became of it.

    The key goes to the server that the command names (`base_url`, else `OPENAI_BASE_URL`, else
    OpenAI), never to one that only the record of batches names. A batch that the provider no
    longer has is forgotten, and its questions are asked again. Raises `JudgeError` for a batch
    that has ended, and for one at another server.
    """
    batch = ledger.batch(batch_id)
    if batch.state != RUNNING:
        raise JudgeError(f"batch {batch.id} is {batch.state} and cannot be cancelled")
    named = base_url or environ.get("OPENAI_BASE_URL", "").strip() or OPENAI_URL
    connection = Connection(named.rstrip("/"), TIMEOUT)
    if connection.base_url != batch.server:
        raise JudgeError(
            f"batch {batch.id} was sent to {batch.server}, and this command would send the key to "
            f"{connection.base_url}: if that address is right, add --base-url {batch.server}"
        )
    try:
        async with Provider(connection, connection.key(environ, key_name(connection))) as provider:
            remote = await provider.look(str(batch.remote_id))
            if remote.status not in ENDED:
                remote = await provider.cancel(remote.id)
    except GoneError:
        ledger.drop(batch)
        return f"{batch.server} does not have batch {batch.id} any more, and it is forgotten."
    command = f"This command collects its answers:\n  {batch.command}"
    return f"Batch {batch.id} is {remote.status}. {command}"

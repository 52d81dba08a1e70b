"""The questions of a run, asked in batches until each has its answer or can have none."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

from judge.backends.errors import StudyError, TransientError
from judge.backends.openai import OpenAIJudge
from judge.batching import ledger as states
from judge.batching.collecting import collect, lost, said
from judge.batching.ledger import Batch, Ledger
from judge.batching.making import Files, Limits, like_of, own_files, run_of, send, settle
from judge.batching.openai_form import GoneError, Provider, Remote
from judge.cache import CompletionCache
from judge.report.words import counted
from judge.running.cost import Prices, Progress
from judge.running.engine import FirstAnswers, ProgressListener, RunStoppedError, UnreadableError
from judge.running.questions import Question, recall
from judge.running.session import JudgeSession
from judge.studies import StudySet
from judge.types import JudgeError

_MOST_UNMADE = 3
_IN_MANIFEST = (
    *("id", "remote_id", "remote_state", "created", "n", "answered", "failed", "again"),
    *("prompt_tokens", "cached_tokens", "completion_tokens", "dollars"),
)


@dataclass(frozen=True, slots=True)
class BatchPolicy:
    """How a run is asked in batches.

    `most` is the most requests of a batch; `poll` how many seconds lie between two looks at
    one. `command` is the command line that leads back here.
    """

    most: int
    poll: float
    command: str = ""


def one_place(session: JudgeSession) -> OpenAIJudge:
    """Return the session's judge, which can be asked in batches.

    Raises `JudgeError` for one that answers by itself, and for several servers.
    """
    judge = session.judge
    if not isinstance(judge, OpenAIJudge) or not judge.servers.places:
        raise JudgeError(f"--batch belongs to a model behind an API, which {judge.name} is not")
    if len(judge.servers.places) > 1:
        raise JudgeError("a batch goes to one server: give --base-url once")
    return judge


@dataclass(slots=True)
class Plan:
    """What a look at the studies found.

    `waiting` are the batches that hold questions of theirs, each with how many; `unanswerable`
    the questions that will have no answer, by their keys; `met` the batches that those and the
    ones to be asked again were in.
    """

    waiting: dict[str, int] = field(default_factory=dict)
    unanswerable: dict[str, StudyError] = field(default_factory=dict)
    met: set[str] = field(default_factory=set)


@contextmanager
def in_batches(
    session: JudgeSession, studies: StudySet, policy: BatchPolicy, listener: ProgressListener
) -> Iterator[None]:
    """Ask all questions about `studies` in batches, before the block that reads the answers.

    They are in the session's cache then; the session knows the batches, and the questions that
    have no answer. After the block the questions without an answer are forgotten, so that
    another run asks them afresh. Raises
    `RunStoppedError` where the budget has no more or a batch was cancelled, `UnreadableError`
    where most of the first answers cannot be read, and `JudgeError`.
    """
    judge = one_place(session)
    ((connection, key),) = judge.servers.places
    cache = session.cache
    assert cache is not None
    run = run_of(session, studies)
    with Ledger(cache.path) as ledger, Provider(connection, key) as provider:
        rounds = _Rounds(session, studies, policy, listener, ledger, provider, run, judge, cache)
        plan = rounds.ask()
        session.unanswerable = plan.unanswerable
        over = ledger.batches(run=run, state=states.OVER)
        session.batches = [{name: asdict(one)[name] for name in _IN_MANIFEST} for one in over]
        yield
        ledger.forget(plan.met | {batch.id for batch in over})


@dataclass(slots=True)
class _Rounds:
    session: JudgeSession
    studies: StudySet
    policy: BatchPolicy
    listener: ProgressListener
    ledger: Ledger
    provider: Provider
    run: str
    judge: OpenAIJudge
    cache: CompletionCache
    _unmade: int = 0
    _silent_since: float = 0.0
    _reserved: set[str] = field(default_factory=set)

    def ask(self) -> Plan:
        while True:
            plan = self._made()
            if not plan.waiting and not self._unmade:
                return plan
            self._wait(self._waited_for(plan))

    def _made(self) -> Plan:
        with self.ledger.making(self.listener.say):
            settle(self.provider, self.ledger, self.policy.poll)
            self._check_readable()
            # What is under way for this run is paid from its budget before more is sent.
            sent = self.ledger.batches(run=self.run, server=self.provider.url, state=states.RUNNING)
            for batch in sent:
                self._count(batch)
            files, plan = self._files(), Plan()
            with own_files(self.ledger) as place:
                for batch, path in files.write(self._questions(plan), place):
                    self.listener.say(self._sending(batch))
                    self._reserved.add(batch.id)
                    if send(self.provider, self.ledger, batch, path, self.policy.poll):
                        plan.waiting[batch.id] = batch.n
                        self._unmade = 0
                    else:
                        plan.waiting.pop(batch.id, None)
                        self._not_made(batch)
                    path.unlink()
        if files.short_of_money and not plan.waiting and not self._unmade:
            if not sent:
                raise RunStoppedError(files.short_of_money, self._progress())
            # Their answers may cost less than they could.
            plan.waiting = {batch.id: batch.n for batch in sent}
        return plan

    def _questions(self, plan: Plan) -> Iterator[Question]:
        """Give the questions that are in no batch; `plan` is told of the others."""
        for study in self.studies:
            now = recall(self.session, self.cache, study)[0].question
            entry = self.ledger.entry(now.key) if now else None
            if now is None:
                continue
            if entry and entry.state == states.OPEN:
                plan.waiting[entry.batch] = plan.waiting.get(entry.batch, 0) + 1
                continue
            if entry:
                plan.met.add(entry.batch)
            if entry and entry.state == states.FAILED:
                plan.unanswerable[now.key] = StudyError(entry.reason, entry.detail)
            else:
                yield now

    def _check_readable(self) -> None:
        if not self.ledger.batches(run=self.run, state=states.OVER):
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

    def _files(self) -> Files:
        session, judge = self.session, self.judge
        like = like_of(
            *(session, self.studies, judge), server=self.provider.url, command=self.policy.command
        )
        prices = Prices(judge.version, judge.billing_url, in_batches=True)
        return Files(self.ledger, judge, like, Limits(self.policy.most), prices, session.budget)

    def _not_made(self, batch: Batch) -> None:
        self._settle(batch, 0.0)
        self._unmade += 1
        if self._unmade == _MOST_UNMADE:
            raise JudgeError(
                f"{self.provider.url} made no batch, tried {_MOST_UNMADE} times; none of its "
                "questions was asked: come back later with the same command"
            )
        self.listener.say(f"Batch {batch.id} was not made; its questions are sent again.")

    def _sending(self, batch: Batch) -> str:
        cost = "" if batch.most is None else f", at the most ${batch.most:,.2f}"
        what = counted(batch.n, "question", "questions")
        return f"Sending batch {batch.id} to {self.provider.url}: {what}{cost}."

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
            self._count(batch)
        return found

    def _count(self, batch: Batch) -> None:
        if batch.id not in self._reserved and batch.most is not None:
            self._reserved.add(batch.id)
            if self.session.budget is not None:
                self.session.budget.settle(0.0, batch.most)

    def _wait(self, batches: list[Batch]) -> None:
        """Return when all are over and their answers are taken.

        Where the provider has no room for one, those that are under way are enough.
        """
        left = {batch.id: batch for batch in batches}
        progress = Progress(total=sum(batch.n for batch in batches))
        over, no_room, has_ended = 0, "", False
        while left:
            under_way = 0
            for batch, remote in self._looks(list(left.values()), progress):
                if not remote.is_over:
                    under_way += remote.n_answered + remote.n_failed
                    continue
                del left[batch.id]
                over += batch.n
                if remote.has_no_room:
                    no_room = self._no_room(batch, remote)
                else:
                    self._end(batch, remote)
                    has_ended = True
            progress.done = max(progress.done, over + under_way)
            self.listener.tick(progress)
            if no_room and has_ended:
                return
            if left:
                time.sleep(self.policy.poll)
        if no_room:
            raise JudgeError(no_room)

    def _looks(
        self, batches: Iterable[Batch], progress: Progress
    ) -> Iterator[tuple[Batch, Remote]]:
        for batch in batches:
            # Another process may have had it made since it was read.
            remote_id = batch.remote_id or self.ledger.batch(batch.id).remote_id
            assert remote_id is not None
            try:
                remote = self.provider.look(remote_id)
            except GoneError as error:
                raise lost(batch, error) from error
            except TransientError as error:
                if progress.trouble is None:
                    self.listener.say(f"No answer: {error}. The batches go on; looking again.")
                    self._silent_since = time.monotonic()
                progress.trouble = str(error)
                self._check_silence(time.monotonic() - self._silent_since)
                return
            progress.trouble = None
            yield batch, remote

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

    def _end(self, batch: Batch, remote: Remote) -> None:
        if remote.state == "failed":
            self._settle(batch, 0.0)
            self.ledger.drop(batch.id)
            why = "; ".join(remote.faults) or "it does not say why"
            raise JudgeError(f"{self.provider.url} refused batch {batch.id}: {why}")
        with self.ledger.making(lambda _text: None):
            batch = self.ledger.batch(batch.id)
            if batch.state == states.OVER:  # another process was here
                return
            batch, taken = collect(self.provider, self.ledger, self.cache, batch, remote)
        self._settle(batch, batch.dollars)
        self.listener.say(said(batch))
        if taken.strange or taken.twice:
            self.listener.say(
                f"Left out: {taken.strange:,} answers to what was not asked, {taken.twice:,} "
                "second answers to what was."
            )
        if taken.refused:
            ((why, n),) = taken.refused.most_common(1)
            raise JudgeError(f"of batch {batch.id}, {counted(n, 'request', 'requests')}: {why}")
        for what in taken.left_out:
            self.judge.leave_out(what)
        if remote.state == "cancelled":
            raise RunStoppedError(f"batch {batch.id} was cancelled", self._progress())

    def _settle(self, batch: Batch, dollars: float | None) -> None:
        if self.session.budget is not None and batch.most is not None:
            self.session.budget.settle(batch.most, dollars)

    def _progress(self) -> Progress:
        progress = Progress(total=len(self.studies))
        for study in self.studies:
            (exchange,) = recall(self.session, self.cache, study)
            progress.from_cache += len(exchange.answers)
            if exchange.question is None and exchange.outcome is not None:
                progress.ended(exchange.outcome)
        return progress

"""Batches made: written to files, sent, and found again where nobody knows whether they were."""

from __future__ import annotations

import hashlib
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from judge.backends.errors import OverloadError, TransientError
from judge.backends.openai import OpenAIJudge
from judge.batching.ledger import CREATING, RUNNING, WRITTEN, Batch, Ledger
from judge.batching.openai_form import MOST_BYTES, Provider, line_of
from judge.running.cost import Budget, Prices
from judge.running.questions import Question
from judge.running.session import JudgeSession
from judge.signature import studies_digest
from judge.studies import StudySet
from judge.types import JudgeError

# A provider that was told to make a batch has it in its list after so many pauses at the most.
_LOOKS = 2
# ... and after so many seconds at the least, however often is looked.
_LEAST_WAIT, _LONGEST_WAIT = 5.0, 300.0
_PUT_OFF = 5
"""How often a call is made again that the provider puts off."""
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Limits:
    """The most requests and bytes that one batch holds."""

    requests: int
    size: int = MOST_BYTES


@dataclass(slots=True)
class Files:
    """Writes questions to files, one a batch, and into the ledger with them.

    `like` is what all the batches have in common. `short_of_money` says why the budget had none
    for a question; those after it are then left out too. The batch and its questions are in
    the ledger when its file is whole, all together.
    """

    ledger: Ledger
    judge: OpenAIJudge
    like: Batch
    limits: Limits
    prices: Prices
    budget: Budget | None = None
    short_of_money: str = ""

    def write(
        self, questions: Iterable[Question], place: Callable[[int], Path]
    ) -> Iterator[tuple[Batch, Path]]:
        """Yield each batch with its file, the `n`-th of which lies at `place(n)`, from 0."""
        for n, found in groupby(self._numbered(questions), key=itemgetter(0)):
            path, batch = place(n), replace(self.like, id=_new_id(), created=_now())
            n_asked, most = 0, 0.0 if self.prices.base_url else None
            path.touch(mode=0o600)  # reports stand in it
            with self.ledger.change():
                with path.open("wb") as file:
                    for _, question, line, cost in found:
                        self.ledger.ask(batch, question)
                        file.write(line)
                        n_asked += 1
                        most = None if most is None or cost is None else most + cost
                batch = replace(batch, n=n_asked, most=most)
                self.ledger.put(batch)
            yield batch, path

    def _numbered(
        self, questions: Iterable[Question]
    ) -> Iterator[tuple[int, Question, bytes, float | None]]:
        at = n = size = 0
        for question in questions:
            line = line_of(question.key, self.judge.body(question.request))
            if len(line) > self.limits.size:
                raise JudgeError(
                    f"a question of {len(line):,} bytes has no room in a batch's file of "
                    f"{self.limits.size:,}: ask without --batch"
                )
            cost = self.prices.at_most(question.request)
            if self.budget is not None and (why := self.budget.reserve(cost)):
                self.short_of_money = why
                return
            if n == self.limits.requests or size + len(line) > self.limits.size:
                at, n, size = at + 1, 0, 0
            n, size = n + 1, size + len(line)
            yield at, question, line, cost


def send(provider: Provider, ledger: Ledger, batch: Batch, path: Path, pause: float) -> bool:
    """Have the provider make `batch` from its file; returns whether it did.

    Where that ends without a word, `settle` finds out whether it was made; `pause` is how many
    seconds lie between two looks. Raises `JudgeError` where the provider will not.
    """
    try:
        file_id = _patiently(lambda: provider.upload(path, f"{batch.id}.jsonl"), pause)
        ledger.put(replace(batch, state=CREATING, asked_at=time.time()))
        _adopt(ledger, batch, _patiently(lambda: provider.create(file_id, batch.id), pause).id)
    except TransientError:
        settle(provider, ledger, pause)
        return bool(ledger.batches(id=batch.id))
    except JudgeError:
        ledger.drop(batch.id)
        raise
    return True


def settle(provider: Provider, ledger: Ledger, pause: float) -> None:
    """Find out about all batches that were being made; only under `Ledger.making`.

    One that carries its mark at the provider was made; one that does not show there some time
    after it was asked for was not, and its questions were not asked.
    """
    for batch in ledger.batches(state=WRITTEN, server=provider.url):
        ledger.drop(batch.id)
    looks = 0
    while creating := ledger.batches(state=CREATING, server=provider.url):
        latest = max(batch.asked_at or 0.0 for batch in creating)
        is_last = looks >= _LOOKS and time.time() > latest + max(_LOOKS * pause, _LEAST_WAIT)
        made = provider.made_here(batch.id for batch in creating)
        for batch in creating:
            if batch.id in made:
                _adopt(ledger, batch, made[batch.id].id)
            elif is_last:
                ledger.drop(batch.id)
        if len(made) < len(creating) and not is_last:
            time.sleep(pause)
        looks += 1


@contextmanager
def own_files(ledger: Ledger) -> Iterator[Callable[[int], Path]]:
    """Give places for files, which are gone at the end of the block; only under `making`."""
    for left in ledger.folder.glob("new-*"):  # reports of a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="new-", dir=ledger.folder) as folder:
        yield lambda n: Path(folder) / f"{n}.jsonl"


def check_single(session: JudgeSession) -> None:
    """Raise `JudgeError` for a rubric that asks questions which depend on answers to others."""
    if session.rubric.steps is not None:
        raise JudgeError(
            f"{session.rubric.title} asks several questions about a study, the later ones by what "
            "was answered before, and a batch takes single questions: ask directly, without batches"
        )


def run_of(session: JudgeSession, studies: StudySet) -> str:
    """Return what stands for a run: the same questions about the same studies."""
    return hashlib.sha256(f"{session.kind}|{studies_digest(studies)}".encode()).hexdigest()[:16]


def like_of(
    session: JudgeSession, studies: StudySet, judge: OpenAIJudge, *, server: str, command: str
) -> Batch:
    """Return what all batches of a run have in common."""
    return Batch(
        id="",
        run=run_of(session, studies),
        rubric=session.rubric.name,
        judge=judge.version,
        kind=session.kind,
        server=server,
        mode=judge.mode.value if judge.mode else None,
        tool=judge.tool,
        command=command,
        created="",
    )


def _new_id() -> str:
    return f"b-{secrets.token_hex(4)}"


def _adopt(ledger: Ledger, batch: Batch, remote_id: str) -> None:
    ledger.put(replace(batch, state=RUNNING, remote_id=remote_id))


def _patiently(call: Callable[[], _Result], pause: float) -> _Result:
    for _ in range(_PUT_OFF):
        try:
            return call()
        except OverloadError as error:
            time.sleep(min(error.retry_after or pause, _LONGEST_WAIT))
    return call()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

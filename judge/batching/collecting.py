"""Answers that came in batches, put into the cache."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from judge.backends.errors import StudyError, TransientError
from judge.backends.replies import RefusedError
from judge.backends.structured import Mode
from judge.batching.ledger import ANSWERED, Batch, Ledger, Spent
from judge.batching.openai_form import GoneError, Provider, Remote, answer, parsed
from judge.cache import CompletionCache
from judge.running.cost import Prices
from judge.types import Completion, JudgeError

_AT_A_TIME = 500
_DOWNLOADS, _PAUSE = 3, 1.0


@dataclass(slots=True)
class Taken:
    """What was in files of answers.

    `strange` are lines about questions that are in none of the batches, `twice` those about
    one that had its answer already. `refused` says why the provider refuses requests, with how
    many it refused so; `left_out` are parameters and modes that the model does not take.
    """

    strange: int = 0
    twice: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    left_out: set[str | Mode] = field(default_factory=set)


def _take(ledger: Ledger, cache: CompletionCache, lines: Iterable[bytes], batch: Batch) -> Taken:
    """Put the answers in `lines` to questions of `batch` into the cache.

    A line that says why there is no answer gives way to one, in whatever file that comes later.
    The ledger is told of an answer when that is on disk: ended in between, the same lines are
    taken again, with the same result. Raises `UnreadableReplyError` for a line that is none.
    """
    taken = Taken()
    prices = Prices(batch.judge, batch.server, in_batches=True)
    for chunk in _chunks(lines):
        answers: dict[str, Spent] = {}
        kept: list[Future[None]] = []
        for key, value in map(parsed, chunk):
            entry = ledger.entry(key)
            if entry is None or entry.batch != batch.id:
                taken.strange += 1
                continue
            if entry.state == ANSWERED or key in answers:
                taken.twice += 1
                continue
            record = ledger.record(key)
            completion = _read(taken, ledger, batch, key, record, value)
            if completion is not None:
                kept.append(cache.keep(key, record, completion))
                answers[key] = completion.usage, prices.dollars(completion.usage)
        for future in kept:
            future.result()
        if answers:
            ledger.answered(batch.id, answers)
    return taken


def _chunks(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    chunk: list[bytes] = []
    for line in filter(bytes.strip, lines):
        chunk.append(line)
        if len(chunk) == _AT_A_TIME:
            yield chunk
            chunk = []
    yield chunk


def _read(
    taken: Taken,
    ledger: Ledger,
    batch: Batch,
    key: str,
    record: Mapping[str, Any],
    line: Mapping[str, Any],
) -> Completion | None:
    mode = Mode(batch.mode) if batch.mode else None
    try:
        return answer(line, record["sampling"], mode, batch.tool, batch.server)
    except RefusedError as error:
        taken.left_out.add(error.what)
        ledger.without_answer(key, "refused", str(error.what), for_good=False)
    except StudyError as error:
        ledger.without_answer(key, error.reason, error.detail, for_good=True)
    except TransientError as error:
        ledger.without_answer(key, error.reason, error.detail, for_good=False)
    except JudgeError as error:
        taken.refused[str(error)] += 1
        ledger.without_answer(key, "refused", str(error), for_good=False)
    return None


def _lines_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def collect(
    provider: Provider, ledger: Ledger, cache: CompletionCache, batch: Batch, remote: Remote
) -> tuple[Batch, Taken]:
    """Take the answers of a batch that is over at the provider; returns it as it is now.

    Questions that none of its files speaks of are to be asked again. Raises `JudgeError`
    where the files cannot be read; they stay at the provider then.
    """
    files = [ledger.folder / f"{batch.id}.{at}" for at in range(len(remote.files))]
    try:
        for name, file in zip(remote.files, files, strict=True):
            _fetch(provider, name, file, batch)
        taken = _take(ledger, cache, (line for file in files for line in _lines_of(file)), batch)
    finally:
        for file in files:
            file.unlink(missing_ok=True)
    return ledger.end(batch.id, remote.state), taken


def _fetch(provider: Provider, name: str, file: Path, batch: Batch) -> None:
    for left in reversed(range(_DOWNLOADS)):
        try:
            provider.fetch(name, file)
            for line in filter(bytes.strip, _lines_of(file)):
                parsed(line)
        except GoneError as error:
            raise lost(batch, error) from error
        except TransientError as error:
            if not left:
                raise JudgeError(
                    f"the answers of batch {batch.id} ({batch.remote_id}) cannot be read "
                    f"({error}); they stay at {provider.url}: try again later with the same command"
                ) from error
            time.sleep(_PAUSE)
        else:
            return


def lost(batch: Batch, error: GoneError) -> GoneError:
    """Return what to say of a batch that is gone from its provider, or whose answers are."""
    return GoneError(
        f"{error}: batch {batch.id} is lost there. judge batch cancel {batch.id} forgets it; what "
        "it asked is then asked, and paid for, again"
    )


def said(batch: Batch) -> str:
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

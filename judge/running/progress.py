"""How far a run has come, who listens, and why it stops."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from datetime import timedelta

from judge.backends.base import AskError
from judge.text import counted, harmless
from judge.types import (
    Completion,
    Failed,
    Outcome,
    Unparsed,
    Usage,
)

INTERRUPTED, TERMINATED = "interrupted", "terminated"


PASSING = ("trouble", "lost_since", "sentences")
"""The fields of a run's progress that are said while it goes, and not kept."""


_MOST_SENTENCES = 3


@dataclass(slots=True)
class Progress:
    """Running totals of a run; tokens and dollars are of requests sent, not of cached answers.

    `unknown_requests` were sent and brought no answer, so that nobody knows whether they are paid
    for (a timeout, a broken connection, a 5xx); they cost at the most `unknown_dollars`.
    """

    total: int
    done: int = 0
    unparsed: int = 0
    failed: int = 0
    from_cache: int = 0
    damaged: int = 0
    asked: int = 0
    retries: dict[str, int] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    written_tokens: int = 0
    dollars: float | None = 0.0
    unknown_requests: int = 0
    unknown_dollars: float | None = 0.0
    trouble: str | None = None
    lost_since: float | None = None  # when an outage began, by the monotonic clock
    sentences: dict[str, int] = field(default_factory=dict)  # about failed studies

    def ended(self, outcome: Outcome) -> None:
        """Count one study's end."""
        self.done += 1
        if isinstance(outcome, Failed):
            sentence = f"{outcome.reason}: {outcome.detail}".rstrip(": ")
            self.sentences[sentence] = self.sentences.get(sentence, 0) + 1
        self.unparsed += isinstance(outcome, Unparsed)
        self.failed += isinstance(outcome, Failed)

    def retried(self, error: AskError) -> None:
        """Count one request that brought no answer and may be sent again."""
        self.retries[error.reason] = self.retries.get(error.reason, 0) + 1
        self.trouble = error.detail or error.reason

    def add(self, other: Progress) -> None:
        """Count what another run has done, its `total` aside."""
        self.add_spent(other)
        for name in ("done", "unparsed", "failed", "from_cache", "damaged"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("retries", "sentences"):
            counts = Counter(getattr(self, name)) + Counter(getattr(other, name))
            setattr(self, name, dict(counts))

    def add_spent(self, other: Progress) -> None:
        """Count the answers that were bought for `other`; an unknown price makes all unknown."""
        for name in (
            "asked",
            "unknown_requests",
            *(part.name for part in fields(Usage)),
        ):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("dollars", "unknown_dollars"):
            mine, others = getattr(self, name), getattr(other, name)
            is_known = mine is not None and others is not None
            setattr(self, name, mine + others if is_known else None)

    def paid(self, completion: Completion, dollars: float | None) -> None:
        """Count one answer that was sent for."""
        self.trouble = None
        used = asdict(completion.usage or Usage(0, 0))
        self.add_spent(Progress(0, asked=1, dollars=dollars, **used))

    def paid_for_nothing(self, usage: Usage, dollars: float | None) -> None:
        """Count a request without an answer whose tokens the provider counts nevertheless."""
        self.add_spent(Progress(0, dollars=dollars, **asdict(usage)))

    def unknown_cost(self, most: float | None) -> None:
        """Count a request without an answer that may have cost nothing, or `most` dollars."""
        self.add_spent(Progress(0, unknown_requests=1, unknown_dollars=most))

    @property
    def cost(self) -> str:
        """The price so far, as text."""
        if self.dollars is None:
            return "unknown"
        known = f"${self.dollars:,.2f}"
        if not self.unknown_requests or self.unknown_dollars is None:
            return known
        requests = counted(self.unknown_requests, "request", "requests")
        return f"{known}, and up to ${self.unknown_dollars:,.2f} for {requests} without an answer"

    def line(self, seconds: float) -> str:
        """Return how far the run is after so many seconds, in a line."""
        rate = self.done / seconds if seconds else 0.0
        parts = [f"{self.done:,}/{self.total:,}"]
        if self.from_cache:
            parts.append(f"{self.from_cache:,} from cache")
        parts += [
            f"{self.unparsed:,} unparsed",
            f"{self.failed:,} failed",
            f"{rate:,.1f}/s",
        ]
        if self.asked or self.unknown_requests:
            tokens = self.prompt_tokens + self.completion_tokens
            parts += [f"{tokens:,} tokens", f"cost {self.cost}"]
        if self.trouble:
            parts.append(f"waiting: {harmless(self.trouble[:60])}")
        if rate and self.done < self.total:
            parts.append(
                f"{timedelta(seconds=round((self.total - self.done) / rate))} left"
            )
        return ", ".join(parts)

    def effort(self) -> list[str]:
        """Return what the run asked and what it cost, a sentence each."""
        if not (self.asked or self.from_cache or self.retries):
            return self.failures()
        cached = f"{self.cached_tokens:,} of them cached by the provider"
        texts = [f"asked {self.asked:,}, from cache {self.from_cache:,}"]
        texts.append(
            f"tokens {self.prompt_tokens:,} in ({cached}), {self.completion_tokens:,} out"
        )
        texts.append(f"cost {self.cost}")
        if self.damaged:
            texts.append(
                f"{self.damaged:,} cached answers were damaged and asked for again"
            )
        if self.retries:
            reasons = ", ".join(
                f"{reason} {n:,}" for reason, n in sorted(self.retries.items())
            )
            texts.append(f"sent again after: {reasons}")
        return texts + self.failures()

    def failures(self) -> list[str]:
        """Return the three most frequent reasons of failed studies, with the server's words."""
        most = Counter(self.sentences).most_common(_MOST_SENTENCES)
        return [f"failed {n:,}: {sentence}" for sentence, n in most]


@dataclass(frozen=True, slots=True)
class ProgressListener:
    """Callbacks of a run: `tick` is called a few times a second, `say` with each message."""

    tick: Callable[[Progress], None] = field(default=lambda _progress: None)
    say: Callable[[str], None] = field(default=lambda _text: None)


class RunStoppedError(Exception):
    """A run that ended before all studies had; its answers are in the cache, its folder is not.

    The same command goes on, with `option` where it would stop there again. Of several runs
    `n_finished` have their folders.
    """

    def __init__(
        self,
        why: str,
        progress: Progress,
        option: tuple[str, str] | None = None,
        *,
        n_finished: int = 0,
    ) -> None:
        super().__init__(why)
        self.why, self.progress, self.option = why, progress, option
        self.n_finished = n_finished

    @property
    def interrupted(self) -> bool:
        """Whether a person, or the system, ended it."""
        return self.why in (INTERRUPTED, TERMINATED)


class StoppedError(Exception):
    """The run was stopped before this question was answered."""


class StopSignal:
    """Tells everyone to ask nothing new. `why` is None while the run goes on."""

    def __init__(self) -> None:
        self.why: str | None = None
        self.option: tuple[str, str] | None = None
        self._waiting: set[asyncio.Task[object]] = set()

    def set(self, why: str, option: tuple[str, str] | None = None) -> None:
        """Stop the run; later reasons are ignored. With `option` the same command goes on."""
        if self.why is None:
            self.why, self.option = why, option
            for task in self._waiting:
                task.cancel()

    def check(self) -> None:
        """Raise `StoppedError` if the run was stopped."""
        if self.why is not None:
            raise StoppedError

    @contextmanager
    def ends_waiting(self) -> Iterator[None]:
        """End what is awaited inside as soon as the run is stopped; raises `StoppedError` then."""
        self.check()
        task = asyncio.current_task()
        assert task is not None
        self._waiting.add(task)
        try:
            yield
        except asyncio.CancelledError:
            # Somebody else may have cancelled it too.
            if self.why is None or task.uncancel() > 0:
                raise
            raise StoppedError from None
        finally:
            self._waiting.discard(task)

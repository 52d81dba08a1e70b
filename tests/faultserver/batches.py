"""Batches: their states, the clock that moves them, the files that they end with."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Protocol

from faultserver.batching import Batching, BatchPlan
from faultserver.batchlines import Input, Line, answered_line, body_of, failure, unanswered_line
from faultserver.faults import Fault
from faultserver.files import FileStore, Stored, cut_last_line, join
from faultserver.replies import Said

ENDED = ("failed", "completed", "expired", "cancelled")
_TIMED = ("in_progress", "finalizing", "cancelling", *ENDED)


class Answer(Protocol):
    """Answers one request as the endpoint itself would; also returns the study's key."""

    def __call__(self, endpoint: str, body: bytes, fault: Fault | None) -> tuple[str, Said]: ...


@dataclass(slots=True)
class BatchCounts:
    """What was done with files and batches, by custom_id; see `BatchStats`."""

    requests: Counter[str] = field(default_factory=Counter)
    uploads: int = 0
    creates: int = 0
    created: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    studies: dict[str, str] = field(default_factory=dict)
    tokens: list[int] = field(default_factory=lambda: [0, 0, 0])


@dataclass(slots=True)
class Batch:
    """One batch as it stands. `age` and `since` (its present state) are seconds of its life."""

    id: str
    source: Stored
    endpoint: str
    metadata: dict[str, str] | None
    created_at: int
    plan: BatchPlan
    input: Input
    order: list[int]
    roles: dict[int, str]
    window: float
    age: float = 0.0
    since: float = 0.0
    status: str = "validating"
    times: dict[str, int] = field(default_factory=dict)
    errors: list[dict[str, Any]] = field(default_factory=list)
    executed: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    usage: list[int] = field(default_factory=lambda: [0, 0, 0])
    files: dict[str, Stored] = field(default_factory=dict)
    written: dict[str, Any] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    hidden_lists: int = 0

    @property
    def ended(self) -> bool:
        """Whether nothing happens to it any more."""
        return self.status in ENDED

    def to_json(self) -> dict[str, Any]:
        """Return the batch object of OpenAI's API."""
        prompt, cached, written = self.usage
        total = len(self.input.lines) if self.status not in ("validating", "failed") else 0
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": self.endpoint,
            "model": self.input.model,
            "errors": {"object": "list", "data": self.errors} if self.errors else None,
            "input_file_id": self.source.id,
            "completion_window": "24h",
            "status": self.status,
            "output_file_id": self.files["output"].id if "output" in self.files else None,
            "error_file_id": self.files["error"].id if "error" in self.files else None,
            "created_at": self.created_at,
            "expires_at": self.created_at + int(self.window),
            **{f"{name}_at": self.times.get(name) for name in _TIMED},
            "request_counts": {
                "total": total,
                "completed": self.counts["completed"],
                "failed": self.counts["failed"],
            },
            "usage": {
                "input_tokens": prompt,
                "input_tokens_details": {"cached_tokens": cached},
                "output_tokens": written,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": prompt + written,
            },
            "metadata": self.metadata,
        }


class Batches:
    """All batches, oldest first, and what becomes of them."""

    def __init__(self, store: FileStore, answer: Answer) -> None:
        self._store = store
        self._answer = answer
        self._line_number = 0
        self.batching = Batching()
        self.batches: dict[str, Batch] = {}
        self.next: list[BatchPlan] = []
        self.counts = BatchCounts()
        self.batch_of_digest: dict[str, str] = {}

    def clear(self) -> None:
        """Forget the batches and the plans that wait for one."""
        self.batches, self.next = {}, []

    def create(
        self,
        source: Stored,
        endpoint: str,
        metadata: dict[str, str] | None,
        read: Input,
        now: int,
        seed: int,
    ) -> Batch:
        """Take on a batch, which is then in its validation."""
        plan = self.next.pop(0) if self.next else self.batching.plan
        number = len(self.batches) + 1
        order = list(range(len(read.lines)))
        random.Random(f"{seed}/{source.id}/batch").shuffle(order)
        batch = Batch(
            id=f"batch_{number:06d}",
            source=source,
            endpoint=endpoint,
            metadata=metadata,
            created_at=now,
            plan=plan,
            input=read,
            order=order,
            roles=_roles(plan, order),
            window=self.batching.window,
            hidden_lists=plan.hidden_lists,
        )
        self.batches[batch.id] = batch
        self.counts.creates += 1
        for line in read.lines:
            self.counts.created[line.custom_id] += 1
            self.batch_of_digest[line.digest] = line.custom_id
        return batch

    # Time

    def advance(self, seconds: float) -> None:
        """Let every batch be `seconds` older."""
        for batch in list(self.batches.values()):
            self.move(batch, batch.age + seconds)

    def move(self, batch: Batch, age: float) -> None:
        """Let a batch be `age` seconds old, through whatever states that takes it."""
        while not batch.ended and (due := self.due(batch)) <= age:
            batch.age = max(batch.age, due)
            self._go_on(batch)
        batch.age = max(batch.age, age)
        if batch.status == "in_progress":
            done = min(1.0, (batch.age - batch.since) / (self.batching.working or 1.0))
            self._execute(batch, min(done, self._most(batch)))

    def step(self, batch: Batch) -> None:
        """Move a batch to its next state; one that stays or has ended: nowhere."""
        if not batch.ended and math.isfinite(due := self.due(batch)):
            self.move(batch, max(due, batch.age))

    def finish(self, batch: Batch) -> None:
        """Move a batch to its end; one that stays: until it is in progress."""
        while not batch.ended and math.isfinite(self.due(batch)):
            self.step(batch)

    def due(self, batch: Batch) -> float:
        """Return at which age the batch's state ends."""
        batching = self.batching
        lasts: float = {
            "validating": batching.validating,
            "finalizing": batching.finalizing,
            "cancelling": batching.cancelling,
            "in_progress": batching.working,
        }[batch.status]
        if batch.status == "in_progress":
            match batch.plan.ending:
                case "stays":
                    return math.inf
                case "expired":
                    return batch.window
                case "cancelled":
                    lasts *= batch.plan.share
        return batch.since + lasts

    def cancel(self, batch: Batch) -> None:
        """Begin to cancel a batch that has not ended."""
        if batch.status != "cancelling":
            self._become(batch, "cancelling")

    def _most(self, batch: Batch) -> float:
        return 1.0 if batch.plan.ending == "completed" else batch.plan.share

    def _go_on(self, batch: Batch) -> None:
        """Take a batch from the state that has just ended to the next."""
        match batch.status:
            case "validating":
                batch.errors = self._failures(batch)
                self._become(batch, "failed" if batch.errors else "in_progress")
            case "in_progress":
                self._execute(batch, self._most(batch))
                match batch.plan.ending:
                    case "expired":
                        self._end(batch, "expired")
                    case "cancelled":
                        self._become(batch, "cancelling")
                    case _:
                        self._become(batch, "finalizing")
            case "finalizing":
                self._end(batch, "completed")
            case "cancelling":
                self._end(batch, "cancelled")

    def _become(self, batch: Batch, status: str) -> None:
        batch.status, batch.since = status, batch.age
        batch.times[status] = batch.created_at + int(batch.age)

    def _failures(self, batch: Batch) -> list[dict[str, Any]]:
        if batch.input.errors:
            return batch.input.errors
        if batch.plan.ending == "failed":
            words = (batch.input.model, 0) if batch.plan.failure == "token_limit_exceeded" else ()
            return [failure(batch.plan.failure, *words)]
        limit, most = self.batching.token_limit, self.batching.batch_limit
        others = [
            each
            for each in self.batches.values()
            if each.status in ("in_progress", "finalizing", "cancelling")
            and each.input.model == batch.input.model
        ]
        tokens = batch.input.tokens + sum(each.input.tokens for each in others)
        if (limit is not None and tokens > limit) or (most is not None and len(others) >= most):
            return [failure("token_limit_exceeded", batch.input.model, limit or 0)]
        return []

    # Lines

    def _execute(self, batch: Batch, share: float) -> None:
        """Answer lines until `share` of them are answered."""
        lines = batch.input.lines
        # Without the inaccuracy of floats, 0.4 of 5 would be 1.
        until = min(len(lines), math.floor(share * len(lines) + 1e-9))
        while batch.executed < until:
            at = batch.order[batch.executed]
            self._execute_line(batch, lines[at], batch.roles.get(batch.executed, ""))
            batch.executed += 1

    def _execute_line(self, batch: Batch, line: Line, role: str) -> None:
        fault = Fault(role) if role in _FAULTS else None
        self._line_number += 1
        number, custom_id = self._line_number, line.custom_id
        if role == "timeout":
            self._fail(batch, unanswered_line(number, custom_id, "request_timeout"), custom_id)
            return
        if role == "lost":
            batch.lost.append(custom_id)
            return
        key, said = self._answer(batch.endpoint, body_of(batch.source.path, line), fault)
        self.counts.studies[custom_id] = key
        written = answered_line(number, custom_id, said.reply)
        if said.reply.status != 200:
            self._fail(batch, written, custom_id)
            return
        batch.counts["completed"] += 1
        self.counts.answered[custom_id] += 1
        for at, tokens in enumerate(said.tokens):
            batch.usage[at] += tokens
            self.counts.tokens[at] += tokens
        self._write(batch, "output", written * (2 if role == "twice" else 1))
        if batch.counts["completed"] <= batch.plan.unknown:
            unknown = f"nobody-asked-{number}"
            self._write(batch, "output", answered_line(number, unknown, said.reply))

    def _fail(self, batch: Batch, line: bytes, custom_id: str) -> None:
        batch.counts["failed"] += 1
        self.counts.failed[custom_id] += 1
        self._write(batch, "error", line)

    def _write(self, batch: Batch, kind: str, line: bytes) -> None:
        if kind not in batch.written:
            batch.written[kind] = self._store.new_path()
        join(batch.written[kind], line)

    def _end(self, batch: Batch, status: str) -> None:
        """End a batch that was begun: write what was not answered, and put the files out."""
        if status != "completed":
            for at in batch.order[batch.executed :]:
                self._line_number += 1
                custom_id = batch.input.lines[at].custom_id
                line = unanswered_line(self._line_number, custom_id, f"batch_{status}")
                self._write(batch, "error", line)
        for kind, path in batch.written.items():
            if kind == "output" and batch.plan.cut:
                last, before = cut_last_line(path)
                custom_id = json.loads(last)["custom_id"]
                asked = any(line.custom_id == custom_id for line in batch.input.lines)
                if asked and json.dumps(custom_id).encode() not in before:
                    batch.lost.append(custom_id)
            stored = self._store.add(path, f"{batch.id}_{kind}.jsonl", "batch_output")
            batch.files[kind] = stored
        self._become(batch, status)


_FAULTS = {*Fault}


def _roles(plan: BatchPlan, order: list[int]) -> dict[int, str]:
    """Return what the lines first in `order`, which is shuffled, meet by their batch's plan."""
    roles = ["lost"] * plan.lost + ["twice"] * plan.twice + ["timeout"] * plan.timeouts
    for fault in sorted(plan.faults):
        roles += [fault] * plan.faults[fault]
    return dict(zip(range(len(order)), roles, strict=False))

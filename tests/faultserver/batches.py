"""Files and batches, and the test's hand on them."""

from __future__ import annotations

import copy
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from faultserver.faults import Fault, StudyPlan
from faultserver.replies import Ask, Reply, digest_of, error, error_for

# Without the reply, what was asked for is not done.
_NOT_DONE = (Fault.DROP, Fault.STALL, Fault.HTML)


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What one batch meets: how it ends, and when `share` of its lines are answered.

    Of its lines `lost` are in neither file, `twice` stand in the output twice, `unknown` are
    added with an id that nobody asked, `faults` says how many meet which fault. `cut` ends the
    output within a line.
    """

    ending: Literal["completed", "failed", "expired", "cancelled", "stays"] = "completed"
    share: float = 1.0
    lost: int = 0
    twice: int = 0
    unknown: int = 0
    faults: Mapping[Fault, int] = field(default_factory=dict)
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Batching:
    """When batches go on: at the first poll one is in progress, at the `polls`th at its end.

    Without `polls` it stays until `finish`; with `seconds` it ends so long after it was
    created. `plan` is for batches without one of their own. A batch has no room, and fails, where
    more than `batch_limit` are in progress.
    """

    polls: int | None = None
    seconds: float | None = None
    plan: BatchPlan = field(default_factory=BatchPlan)
    batch_limit: int | None = None


@dataclass(slots=True)
class BatchStats:
    """What was done since the start or the last reset, by endpoint or by custom_id."""

    requests: Counter[str] = field(default_factory=Counter)
    uploads: int = 0
    creates: int = 0
    created: Counter[str] = field(default_factory=Counter)  # in how many batches it stood
    answered: Counter[str] = field(default_factory=Counter)
    direct: Counter[str] = field(default_factory=Counter)  # answered over chat instead
    studies: dict[str, str] = field(default_factory=dict)
    tokens: tuple[int, int, int] = (0, 0, 0)  # of prompts, cached ones, completions

    @property
    def paid(self) -> Counter[str]:
        """How often each custom_id was answered, in a batch or directly."""
        return self.answered + self.direct


@dataclass(slots=True)
class _Batch:
    id: str
    metadata: dict[str, str] | None
    lines: list[dict[str, Any]]
    plan: BatchPlan
    created: float = field(default_factory=time.time)
    polls: int = 0
    status: str = "validating"
    errors: list[dict[str, Any]] = field(default_factory=list)
    executed: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    written: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        done = {name: self.counts[name] for name in ("completed", "failed")}
        return {
            "id": self.id,
            "status": self.status,
            "errors": {"data": self.errors} if self.errors else None,
            "output_file_id": self.files.get("output"),
            "error_file_id": self.files.get("error"),
            "request_counts": {"total": len(self.lines), **done},
            "metadata": self.metadata,
        }


class Batches:
    """All files and batches. `call` runs a function in the server's thread."""

    def __init__(
        self,
        call: Callable[[Callable[[], Any]], Any],
        answer: Callable[[dict[str, Any], Fault | None], tuple[str, Reply]],
        batching: Batching,
    ) -> None:
        self._call = call
        self._answer = answer
        self._batching = batching
        self._plans: list[BatchPlan] = []
        self._meets: dict[str, tuple[StudyPlan, bool]] = {}
        self._met: Counter[str] = Counter()
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, _Batch] = {}
        self._of_digest: dict[str, str] = {}
        self._numbers = 0
        self._stats = BatchStats()

    # The test's side

    def set(self, **changes: Any) -> None:
        self._batching = replace(self._batching, **changes)

    def next(self, *plans: BatchPlan) -> None:
        self._plans += plans

    def meet(self, endpoint: str, plan: StudyPlan, *, after: bool = False) -> None:
        """Say what the requests for an endpoint meet from now on, in turn.

        With `after` they are carried out first, and the fault takes the reply's place.
        """
        self._meets[endpoint] = plan, after
        self._met[endpoint] = 0

    def finish(self) -> None:
        self._call(lambda: [self._go_on(each, is_end=True) for each in self._batches.values()])

    def clear(self) -> None:
        self._call(lambda: (self._files.clear(), self._batches.clear()))

    def stats(self) -> BatchStats:
        return self._call(lambda: copy.deepcopy(self._stats))

    def all(self) -> list[dict[str, Any]]:
        return self._call(lambda: [each.to_json() for each in self._batches.values()])

    # The server's side

    def forget(self) -> None:
        self._stats = BatchStats()

    def asked_directly(self, ask: Ask) -> None:
        """Count a request that was answered over chat, if a batch holds it too."""
        if (digest := digest_of(ask.payload)) in self._of_digest:
            self._stats.direct[self._of_digest[digest]] += 1

    def serve(self, method: str, path: str, body: bytes) -> tuple[Fault | None, Reply]:
        kind, _, rest = path.partition("/")
        name, _, action = rest.partition("/")
        if method == "GET" and action != "content":
            endpoint = "get_batch" if name else "list_batches"
        else:
            doing = {"files": "upload_file", "batches": "create_batch", "cancel": "cancel_batch"}
            endpoint = doing.get(action or kind, "get_content")
        self._stats.requests[endpoint] += 1
        plan, is_after = self._meets.get(endpoint, (StudyPlan(), False))
        fault = plan.at(self._met[endpoint])
        self._met[endpoint] += 1
        wrong = error_for(fault)
        if not is_after and (wrong or fault in _NOT_DONE):
            return fault, wrong or Reply(200, b"{}")
        reply = self._do(endpoint, name, body)
        return fault, wrong or reply

    def _do(self, endpoint: str, name: str, body: bytes) -> Reply:
        match endpoint:
            case "upload_file":
                self._stats.uploads += 1
                return _json({"id": self._keep(body)})
            case "get_content":
                if name not in self._files:
                    return error(404, f"No such File object: {name}")
                return Reply(200, self._files[name], content_type="application/octet-stream")
            case "create_batch":
                return self._create(json.loads(body))
            case "list_batches":
                listed = list(reversed(self._batches.values()))
                for each in listed:
                    self._poll(each)
                return _json({"data": [each.to_json() for each in listed], "has_more": False})
        batch = self._batches.get(name)
        if batch is None:
            return error(404, f"No batch found with id '{name}'.")
        if endpoint == "cancel_batch":
            batch.status = "cancelling"
        else:
            self._poll(batch)
        return _json(batch.to_json())

    def _keep(self, data: bytes) -> str:
        self._numbers += 1
        self._files[f"file-{self._numbers}"] = data
        return f"file-{self._numbers}"

    def _create(self, asked: dict[str, Any]) -> Reply:
        plan = self._plans.pop(0) if self._plans else self._batching.plan
        self._numbers += 1
        name, file = f"batch_{self._numbers}", asked["input_file_id"]
        lines = [json.loads(line) for line in self._files[file].splitlines()]
        random.Random(0).shuffle(lines)
        batch = _Batch(name, asked.get("metadata"), lines, plan)
        self._batches[name] = batch
        self._stats.creates += 1
        for line in lines:
            self._stats.created[line["custom_id"]] += 1
            self._of_digest[digest_of(line["body"])] = line["custom_id"]
        return _json(batch.to_json())

    def _poll(self, batch: _Batch) -> None:
        batch.polls += 1
        polls, seconds = self._batching.polls, self._batching.seconds
        is_late = seconds is not None and time.time() - batch.created >= seconds
        self._go_on(batch, is_end=is_late or (polls is not None and batch.polls >= polls))

    def _go_on(self, batch: _Batch, *, is_end: bool) -> None:
        if batch.status == "validating":
            batch.status = "in_progress"
            others = [each for each in self._batches.values() if each.status == "in_progress"]
            limit = self._batching.batch_limit
            no_room = limit is not None and len(others) > limit
            if no_room or batch.plan.ending == "failed":
                code = "token_limit_exceeded" if no_room else "invalid_json_line"
                line = None if no_room else 1
                batch.errors = [{"code": code, "line": line, "message": code, "param": None}]
                batch.status = "failed"
        if batch.status == "in_progress" and batch.plan.ending == "stays":
            self._execute(batch, batch.plan.share)
        elif batch.status == "in_progress" and is_end:
            is_whole = batch.plan.ending == "completed"
            self._execute(batch, 1.0 if is_whole else batch.plan.share)
            self._end(batch, batch.plan.ending)
        elif batch.status == "cancelling" and is_end:
            self._end(batch, "cancelled")

    def _execute(self, batch: _Batch, share: float) -> None:
        plan = batch.plan
        roles: list[str] = ["lost"] * plan.lost + ["twice"] * plan.twice
        roles += [fault for fault, n in sorted(plan.faults.items()) for _ in range(n)]
        until = int(share * len(batch.lines) + 1e-9)
        for at in range(batch.executed, until):
            self._execute_line(batch, batch.lines[at], roles[at] if at < len(roles) else "")
        batch.executed = max(batch.executed, until)

    def _execute_line(self, batch: _Batch, line: dict[str, Any], role: str) -> None:
        if role == "lost":
            return
        custom_id = line["custom_id"]
        fault = Fault(role) if role and role != "twice" else None
        key, reply = self._answer(line["body"], fault)
        self._stats.studies[custom_id] = key
        response = {"status_code": reply.status, "body": json.loads(reply.body)}
        if reply.status != 200:
            batch.counts["failed"] += 1
            self._write(batch, "error", custom_id, response)
            return
        batch.counts["completed"] += 1
        self._stats.answered[custom_id] += 1
        a, b, c = (old + new for old, new in zip(self._stats.tokens, reply.tokens, strict=True))
        self._stats.tokens = a, b, c
        for _ in range(2 if role == "twice" else 1):
            self._write(batch, "output", custom_id, response)
        if batch.counts["completed"] <= batch.plan.unknown:
            self._write(batch, "output", f"nobody-asked-{batch.executed}", response)

    def _write(
        self, batch: _Batch, kind: str, custom_id: str, response: Any, code: str = ""
    ) -> None:
        wrong = {"code": code, "message": code} if code else None
        line = {"id": custom_id, "custom_id": custom_id, "response": response, "error": wrong}
        batch.written[kind] = batch.written.get(kind, b"") + json.dumps(line).encode() + b"\n"

    def _end(self, batch: _Batch, status: str) -> None:
        for line in batch.lines[batch.executed :]:
            self._write(batch, "error", line["custom_id"], None, f"batch_{status}")
        if batch.plan.cut:
            batch.written["output"] = batch.written["output"][:-30]
        for kind, data in batch.written.items():
            batch.files[kind] = self._keep(data)
        batch.status = status


def _json(value: object) -> Reply:
    return Reply(200, json.dumps(value).encode())

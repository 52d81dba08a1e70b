"""Files and batches, and the test's hand on them.

A batch goes on when it is asked for, or listed: at the first poll it is in progress, at the
`polls`th it is at its end. Without `polls` it stays in progress until `finish`; with `seconds` it
ends that many real seconds after it was created.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from faultserver import replies
from faultserver.faults import Behaviour, Fault, StudyPlan
from faultserver.replies import Ask, Reply, digest_of, error, error_for

_ENDED = ("failed", "completed", "expired", "cancelled")
_NAMES = {
    ("POST", "files"): "upload_file",
    ("GET", "files/content"): "get_content",
    ("POST", "batches"): "create_batch",
    ("GET", "batches"): "list_batches",
    ("GET", "batches/*"): "get_batch",
    ("POST", "batches/cancel"): "cancel_batch",
}
_FAILURES = {
    "invalid_json_line": (1, "This line is not parseable as valid JSON."),
    "token_limit_exceeded": (None, "Enqueued token limit reached. Please try again later."),
}
# Without the reply, what was asked for is not done.
_NOT_DONE = (Fault.DROP, Fault.STALL, Fault.HTML)
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What one batch meets.

    It is `failed` at its first poll, on the `failure`; `expired` or `cancelled` at its end, when
    `share` of its lines are answered; or `stays` in progress with that share.

    Of its lines `lost` are in neither file, `twice` stand in the output twice, `unknown` are
    added with an id that nobody asked, and `faults` says how many meet which fault. `cut`
    ends the output in the middle of its last line. The first `hidden_lists` listings lack it.
    """

    ending: Literal["completed", "failed", "expired", "cancelled", "stays"] = "completed"
    share: float = 1.0
    failure: str = "invalid_json_line"
    lost: int = 0
    twice: int = 0
    unknown: int = 0
    faults: Mapping[Fault, int] = field(default_factory=dict)
    cut: bool = False
    hidden_lists: int = 0


@dataclass(frozen=True, slots=True)
class Batching:
    """What can be changed while the server runs.

    `plan` is what a batch meets that has no plan of its own. A batch has no room, and fails,
    when others have more than `batch_limit` in progress.
    """

    polls: int | None = None
    seconds: float | None = None
    plan: BatchPlan = field(default_factory=BatchPlan)
    batch_limit: int | None = None


@dataclass(slots=True)
class BatchStats:
    """What was done with files and batches since the start or the last `server.reset()`.

    `requests` counts requests by the name of the endpoint. By custom_id: `created` says in how
    many batches it stood, `answered` how often a batch answered it with status 200, `direct` how
    often the very same request was answered over chat. `studies` has the study of each
    custom_id that was answered; `tokens` are those billed, of prompts, cached ones, completions.
    """

    requests: Counter[str] = field(default_factory=Counter)
    uploads: int = 0
    creates: int = 0
    created: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    direct: Counter[str] = field(default_factory=Counter)
    studies: dict[str, str] = field(default_factory=dict)
    tokens: tuple[int, int, int] = (0, 0, 0)

    @property
    def paid(self) -> Counter[str]:
        """How often each custom_id was answered, in a batch or directly."""
        return self.answered + self.direct


@dataclass(slots=True)
class _Batch:
    id: str
    file: str
    metadata: dict[str, str] | None
    lines: list[dict[str, Any]]
    plan: BatchPlan
    hidden_lists: int
    created: float = field(default_factory=time.time)
    polls: int = 0
    status: str = "validating"
    errors: list[dict[str, Any]] = field(default_factory=list)
    executed: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    written: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "errors": {"object": "list", "data": self.errors} if self.errors else None,
            "input_file_id": self.file,
            "completion_window": "24h",
            "status": self.status,
            "output_file_id": self.files.get("output"),
            "error_file_id": self.files.get("error"),
            "created_at": int(self.created),
            "request_counts": {
                "total": len(self.lines),
                "completed": self.counts["completed"],
                "failed": self.counts["failed"],
            },
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
        """Change fields of `Batching`, from the next request on."""
        self._batching = replace(self._batching, **changes)

    def next(self, *plans: BatchPlan) -> None:
        """Give a plan each to the batches that are created next."""
        self._plans += plans

    def meet(self, endpoint: str, plan: StudyPlan, *, after: bool = False) -> None:
        """Say what the requests for an endpoint meet from now on, in turn.

        With `after` they are carried out first, and the fault takes the reply's place.
        """
        self._meets[endpoint] = plan, after
        self._met[endpoint] = 0

    def finish(self) -> None:
        """Move every batch to its end."""
        self._call(lambda: [self._go_on(each, is_end=True) for each in self._batches.values()])

    def clear(self) -> None:
        """Forget all files and batches; what was counted stays counted."""
        self._call(lambda: (self._files.clear(), self._batches.clear()))

    def stats(self) -> BatchStats:
        """Return what was counted."""
        return self._call(
            lambda: replace(
                self._stats,
                requests=Counter(self._stats.requests),
                created=Counter(self._stats.created),
                answered=Counter(self._stats.answered),
                direct=Counter(self._stats.direct),
                studies=dict(self._stats.studies),
            )
        )

    def all(self) -> list[dict[str, Any]]:
        """Return every batch, hidden or not, oldest first, as the API has it."""
        return self._call(lambda: [each.to_json() for each in self._batches.values()])

    # The server's side

    def forget(self) -> None:
        """Forget the counts; files and batches stay."""
        self._stats = BatchStats()

    def asked_directly(self, ask: Ask) -> None:
        """Count a request that was answered over chat, if a batch holds it too."""
        if (digest := digest_of(ask.payload)) in self._of_digest:
            self._stats.direct[self._of_digest[digest]] += 1

    def serve(
        self, method: str, path: str, body: bytes, behaviour: Behaviour
    ) -> tuple[Fault | None, Reply]:
        """Return the reply to a request, and the fault that it meets."""
        kind, _, rest = path.partition("/")
        name, _, action = rest.partition("/")
        shape = "/".join(filter(None, (kind, action or (name and "*"))))
        endpoint = _NAMES.get((method, shape))
        if endpoint is None:
            return None, error(405, "Method Not Allowed")
        self._stats.requests[endpoint] += 1
        plan, is_after = self._meets.get(endpoint, (StudyPlan(), False))
        fault = plan.at(self._met[endpoint])
        self._met[endpoint] += 1
        wrong = error_for(fault, behaviour)
        if not is_after and (wrong or fault in _NOT_DONE):
            return fault, wrong or Reply(200, b"{}")
        reply = self._do(endpoint, name, body)
        return fault, wrong or reply

    def _do(self, endpoint: str, name: str, body: bytes) -> Reply:
        match endpoint:
            case "upload_file":
                self._stats.uploads += 1
                return _json(_file_json(self._keep(body), len(body)))
            case "get_content":
                if name not in self._files:
                    return error(404, f"No such File object: {name}")
                return Reply(200, self._files[name], content_type="application/octet-stream")
            case "create_batch":
                return self._create(json.loads(body))
            case "list_batches":
                return self._list()
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
        batch = _Batch(name, file, asked.get("metadata"), lines, plan, plan.hidden_lists)
        self._batches[name] = batch
        self._stats.creates += 1
        for line in lines:
            self._stats.created[line["custom_id"]] += 1
            self._of_digest[digest_of(line["body"])] = line["custom_id"]
        return _json(batch.to_json())

    def _list(self) -> Reply:
        listed = [each for each in reversed(self._batches.values()) if each.hidden_lists <= 0]
        for each in self._batches.values():
            each.hidden_lists -= 1
        for each in listed:
            self._poll(each)
        return _json({"object": "list", "data": [e.to_json() for e in listed], "has_more": False})

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
                code = "token_limit_exceeded" if no_room else batch.plan.failure
                line, message = _FAILURES[code]
                batch.errors = [{"code": code, "line": line, "message": message, "param": None}]
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
        """Answer lines until `share` of them are answered."""
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


def _file_json(name: str, size: int) -> dict[str, Any]:
    return {
        "id": name,
        "object": "file",
        "bytes": size,
        "created_at": int(time.time()),
        "filename": "f.jsonl",
        "purpose": "batch",
        "status": "processed",
    }


def _json(value: object) -> Reply:
    return replies.Reply(200, json.dumps(value).encode())

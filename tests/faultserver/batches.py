"""Files and batches, and the test's hand on them."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from faultserver.faults import Fault, StudyPlan
from faultserver.replies import NOTHING, Reply, error, error_for, plus
from judge.types import Usage


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What one batch meets: how it ends, and when `share` of its lines are answered.

    The first `lost` are in neither file. `noise` are lines of the output before the answers. `cut`
    ends the output within a line.
    """

    ending: Literal["completed", "expired", "cancelled", "failed", "stays"] = (
        "completed"
    )
    share: float = 1.0
    lost: int = 0
    noise: tuple[bytes, ...] = ()
    cut: bool = False


@dataclass(slots=True)
class BatchStats:
    """What was done since the start or the last reset, by endpoint or by custom_id."""

    requests: Counter[str] = field(default_factory=Counter)
    creates: int = 0
    created: Counter[str] = field(
        default_factory=Counter
    )  # in how many batches it stood
    answered: Counter[str] = field(default_factory=Counter)
    studies: dict[str, str] = field(default_factory=dict)
    usage: Usage = NOTHING


@dataclass(slots=True)
class Batch:
    id: str
    metadata: dict[str, str] | None
    lines: list[dict[str, Any]]
    plan: BatchPlan
    input: str = ""
    polls: int = 0
    status: str = "validating"
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    errors: list[dict[str, Any]] = field(default_factory=list)
    executed: int = 0
    written: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "status": self.status,
            "errors": {"data": self.errors} if self.errors else None,
            "output_file_id": self.files.get("output"),
            "error_file_id": self.files.get("error"),
            "input_file_id": self.input,
            "metadata": self.metadata,
        }


class Batches:
    """All files and batches. `call` runs a function in the server's thread.

    At the first poll a batch is in progress, at the `polls`th at its end; without `polls` it
    stays until `finish`. Where more than `limit` are in progress, it has no room and fails.
    """

    def __init__(
        self,
        call: Callable[[Callable[[], Any]], Any],
        answer: Callable[[dict[str, Any]], tuple[str, Reply]],
    ) -> None:
        self._call = call
        self._answer = answer
        self.polls: int | None = None
        self.limit: int | None = None
        self.plan = BatchPlan()  # of the next batch
        self.refuses: set[str] = set()  # fields that get a 400
        self.form: dict[str, str] = {}  # the fields of the last upload
        self.asked: dict[str, Any] = {}  # the body of the last creation
        self.query: Mapping[str, str] = {}  # of the last request
        self._meets: dict[str, tuple[StudyPlan, bool]] = {}
        self._met: Counter[str] = Counter()
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, Batch] = {}
        self._numbers = 0
        self._stats = BatchStats()

    # The test's side

    def meet(self, endpoint: str, plan: StudyPlan, *, after: bool = False) -> None:
        """Say what requests for an endpoint meet from now on; with `after`, once carried out."""
        self._meets[endpoint] = plan, after
        self._met[endpoint] = 0

    def finish(self) -> None:
        self._call(
            lambda: [self._go_on(each, is_end=True) for each in self._batches.values()]
        )

    def lose(self) -> None:
        """Know nothing of any batch."""
        self._call(self._batches.clear)

    def stats(self) -> BatchStats:
        return self._call(lambda: copy.deepcopy(self._stats))

    def kept(self) -> list[str]:
        """The names of the files that were not deleted."""
        return self._call(lambda: [*self._files])

    # The server's side

    def forget(self) -> None:
        self._stats = BatchStats()

    def serve(
        self,
        method: str,
        path: str,
        body: bytes,
        query: Mapping[str, str] | None = None,
    ) -> tuple[Fault | None, Reply]:
        self.query = query or {}
        endpoint, name = self._endpoint(method, path)
        self._stats.requests[endpoint] += 1
        plan, is_after = self._meets.get(endpoint, (StudyPlan(), False))
        fault = plan.at(self._met[endpoint])
        self._met[endpoint] += 1
        if fault and not is_after:
            return fault, error_for(fault) or Reply(200, b"{}")
        return fault, self._do(endpoint, name, body)

    def _endpoint(self, method: str, path: str) -> tuple[str, str]:
        """Return what is asked for, and of which batch or file."""
        kind, _, rest = path.partition("/")
        name, _, action = rest.partition("/")
        if method == "DELETE":
            return "delete_file", name
        if method == "GET" and action != "content":
            return ("get_batch" if name else "list_batches"), name
        doing = {
            "files": "upload_file",
            "batches": "create_batch",
            "cancel": "cancel_batch",
        }
        return doing.get(action or kind, "get_content"), name

    def _do(self, endpoint: str, name: str, body: bytes) -> Reply:
        match endpoint:
            case "upload_file":
                if (
                    refused := {name.partition("[")[0] for name in self.form}
                    & self.refuses
                ):
                    return error(400, f"Unknown field {min(refused)}")
                return _json({"id": self._keep(body)})
            case "get_content":
                return Reply(200, self._files[name])
            case "delete_file":
                self._files.pop(name, None)
                return _json({"id": name, "object": "file", "deleted": True})
            case "create_batch":
                return self._create(json.loads(body))
            case "list_batches":
                listed = list(reversed(self._batches.values()))
                for each in listed:
                    self._poll(each)
                return _json(
                    {"data": [each.to_json() for each in listed], "has_more": False}
                )
        if (batch := self._batches.get(name)) is None:
            return Reply(404, b"{}")
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
        self.asked = asked
        if refused := asked.keys() & self.refuses:
            return error(400, f"Unknown field {min(refused)}")
        plan, self.plan = self.plan, BatchPlan()
        self._numbers += 1
        name, file = f"batch_{self._numbers}", asked["input_file_id"]
        lines = [json.loads(line) for line in self._files[file].splitlines()]
        lines.reverse()
        batch = Batch(name, asked.get("metadata"), lines, plan, file)
        self._add(batch)
        return _json(batch.to_json())

    def _add(self, batch: Batch) -> None:
        self._batches[batch.id] = batch
        self._stats.creates += 1
        for line in batch.lines:
            self._stats.created[self._question(line)] += 1

    def _question(self, line: dict[str, Any]) -> str:
        """Return what tells the question of a line from others, in whatever batch it is."""
        return str(line["custom_id"])

    def _poll(self, batch: Batch) -> None:
        batch.polls += 1
        self._go_on(batch, is_end=self.polls is not None and batch.polls >= self.polls)

    def _go_on(self, batch: Batch, *, is_end: bool) -> None:
        if batch.status == "validating":
            batch.status = "in_progress"
            others = [
                each for each in self._batches.values() if each.status == "in_progress"
            ]
            if self.limit is not None and len(others) > self.limit:
                code = "token_limit_exceeded"
                batch.errors = [
                    {"code": code, "line": None, "message": code, "param": None}
                ]
                batch.status = "failed"
        if batch.status == "in_progress" and batch.plan.ending == "stays":
            self._execute(batch, batch.plan.share)
        elif batch.status == "in_progress" and is_end:
            is_whole = batch.plan.ending == "completed"
            self._execute(batch, 1.0 if is_whole else batch.plan.share)
            self._end(batch, batch.plan.ending)
        elif batch.status == "cancelling" and is_end:
            self._end(batch, "cancelled")

    def _execute(self, batch: Batch, share: float) -> None:
        until = int(share * len(batch.lines) + 1e-9)
        for line in batch.lines[max(batch.executed, batch.plan.lost) : until]:
            self._execute_line(batch, line)
        batch.executed = max(batch.executed, until)

    def _execute_line(self, batch: Batch, line: dict[str, Any]) -> None:
        custom_id = line["custom_id"]
        key, reply = self._answer(line["body"])
        self._stats.studies[custom_id] = key
        response = {"status_code": reply.status, "body": json.loads(reply.body)}
        if reply.status != 200:
            self._write(batch, "error", custom_id, response)
            return
        self._stats.answered[self._question(line)] += 1
        self._stats.usage = plus(self._stats.usage, reply.usage)
        self._write(batch, "output", custom_id, response)

    def _write(
        self, batch: Batch, kind: str, custom_id: str, response: Any, code: str = ""
    ) -> None:
        wrong = {"code": code, "message": code} if code else None
        line = {
            "id": custom_id,
            "custom_id": custom_id,
            "response": response,
            "error": wrong,
        }
        batch.written[kind] = (
            batch.written.get(kind, b"") + json.dumps(line).encode() + b"\n"
        )

    def _end(self, batch: Batch, status: str) -> None:
        for line in batch.lines[batch.executed :]:
            self._write(batch, "error", line["custom_id"], None, f"batch_{status}")
        if batch.plan.noise:
            batch.written["output"] = b"\n".join(
                [*batch.plan.noise, batch.written["output"]]
            )
        if batch.plan.cut:
            batch.written["output"] = batch.written["output"][:-30]
        for kind, data in batch.written.items():
            batch.files[kind] = self._keep(data)
        batch.status = status


def _json(value: object) -> Reply:
    return Reply(200, json.dumps(value).encode())

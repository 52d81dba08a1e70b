"""`/v1/files` and `/v1/batches`: from a request to what is done to it."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs

from faultserver import replies
from faultserver.batches import Answer, Batch, BatchCounts, Batches
from faultserver.batching import batch_plan_from, batching_changed
from faultserver.batchlines import SERVED, read_input
from faultserver.behaviour import Behaviour
from faultserver.faults import Fault, StudyPlan
from faultserver.files import PURPOSES, FileStore, Stored, remove
from faultserver.wire import Connection, Reply, Request

# Without the reply, what was asked for is not done.
_NOT_DONE = (Fault.DROP, Fault.RESET, Fault.STALL, Fault.HTML)
_BINARY = "application/octet-stream"
# What the name of an endpoint is, by method and shape of the path.
_NAMES = {
    ("POST", "files"): "upload_file",
    ("GET", "files"): "list_files",
    ("GET", "files/*"): "get_file",
    ("GET", "files/*/content"): "get_content",
    ("DELETE", "files/*"): "delete_file",
    ("POST", "batches"): "create_batch",
    ("GET", "batches"): "list_batches",
    ("GET", "batches/*"): "get_batch",
    ("POST", "batches/*/cancel"): "cancel_batch",
}


class Host(Protocol):
    """The server that this is a part of."""

    behaviour: Behaviour


@dataclass(slots=True)
class BatchService:
    """Serves files and batches. `answer` answers one request as the endpoint itself would."""

    host: Host
    answer: Answer
    store: FileStore = field(init=False)
    batches: Batches = field(init=False)
    direct: Counter[str] = field(default_factory=Counter)
    _met: Counter[str] = field(default_factory=Counter)
    _turned: float = 0.0
    _touched: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.store = FileStore(self._now)
        self.batches = Batches(self.store, self.answer)

    def close(self) -> None:
        """Delete the files."""
        self.store.close()

    def reset(self) -> None:
        """Forget the counts; files and batches stay."""
        self.batches.counts = BatchCounts()
        self.direct.clear()

    def serve(self, path: str, request: Request, connection: Connection) -> None:
        """Do with a request for `path`, such as `/batches/batch_1`, what is to be done with it."""
        first, _, rest = path.strip("/").partition("/")
        name, _, tail = rest.partition("/")
        shape = "/".join(filter(None, (first, "*" if name else "", tail)))
        endpoint = _NAMES.get((request.method, shape))
        if endpoint is None:
            connection.send(Reply(405, b'{"detail":"Method Not Allowed"}'))
            return
        self.batches.counts.requests[endpoint] += 1
        self._turn()
        plan = self.batches.batching.endpoints.get(endpoint, StudyPlan())
        fault = plan.at(self._met[endpoint])
        self._met[endpoint] += 1
        error = replies.error_for(fault, "", self.host.behaviour) if fault else None
        before = endpoint not in self.batches.batching.after
        if before and (error or fault in _NOT_DONE):
            reply = error or Reply(200, b"{}")
        else:
            reply = self._answer(endpoint, name, request)
        _send(connection, error or reply, fault)

    # Files

    def _answer(self, endpoint: str, name: str, request: Request) -> Reply:
        query = {key: each[-1] for key, each in parse_qs(request.path.partition("?")[2]).items()}
        match endpoint:
            case "upload_file":
                return self._upload(request)
            case "create_batch":
                return self._create(request)
            case "list_files":
                return self._list_files(query)
            case "list_batches":
                return self._list_batches(query)
        if endpoint.endswith("batch"):
            batch = self.batches.batches.get(name)
            if batch is None:
                return replies.error(404, f"No batch found with id '{name}'.")
            return self._cancel(batch) if endpoint == "cancel_batch" else self._poll(batch)
        stored = self.store.files.get(name)
        if stored is None:
            return replies.error(404, f"No such File object: {name}", param="id")
        return self._of_file(endpoint, stored)

    def _upload(self, request: Request) -> Reply:
        if request.file is None:
            return _wrong("Missing required parameter: 'file'.", "file")
        content_type = request.headers.get("content-type", "")
        form, path = self.store.take_form(request.file, content_type)
        wrong = self._refused_file(form, path)
        if wrong or path is None:
            if path:
                remove(path)
            return wrong or _wrong("Missing required parameter: 'file'.", "file")
        self.batches.counts.uploads += 1
        return _json(self.store.add(path, form["filename"], form["purpose"]).to_json())

    def _refused_file(self, form: dict[str, str], path: Path | None) -> Reply | None:
        purpose = form.get("purpose")
        if purpose is None:
            return _wrong("Missing required parameter: 'purpose'.", "purpose")
        if purpose not in PURPOSES:
            return _wrong(f"'{purpose}' is not one of {list(PURPOSES)} - 'purpose'", "purpose")
        if path is None or path.stat().st_size == 0:
            return _wrong("File is empty.", "file")
        if purpose == "batch" and not form["filename"].endswith(".jsonl"):
            return _wrong("Invalid file format. Supported formats: ['jsonl'].", "file")
        if purpose == "batch" and path.stat().st_size > self.batches.batching.max_bytes:
            return replies.error(413, "The file is larger than files for batches may be.")
        return None

    def _list_files(self, query: dict[str, str]) -> Reply:
        purpose = query.get("purpose")
        listed = [file for file in self.store.files.values() if purpose in (None, file.purpose)]
        if query.get("order") != "asc":
            listed.reverse()
        return _page([file.to_json() for file in listed], query, 10_000, 10_000)

    def _of_file(self, endpoint: str, stored: Stored) -> Reply:
        if endpoint == "get_content":
            return Reply(200, stored.path.read_bytes(), content_type=_BINARY)
        if endpoint == "delete_file":
            # It stays on disk for a batch that is still at it.
            del self.store.files[stored.id]
            return _json({"id": stored.id, "object": "file", "deleted": True})
        return _json(stored.to_json())

    # Batches

    def _create(self, request: Request) -> Reply:
        try:
            asked = json.loads(request.body)
            name, endpoint = asked.get("input_file_id"), asked.get("endpoint")
            window, metadata = asked.get("completion_window"), asked.get("metadata")
        except (ValueError, AttributeError):
            return _wrong("We could not parse the JSON body of your request.", None)
        given = {"input_file_id": name, "endpoint": endpoint, "completion_window": window}
        for param, value in given.items():
            if not isinstance(value, str):
                return _wrong(f"Missing required parameter: '{param}'.", param)
        if endpoint not in SERVED:
            text = f"Invalid value: '{endpoint}'. Supported values are: {', '.join(SERVED)}."
            return replies.error(400, text, param="endpoint", code="invalid_value")
        if window != "24h":
            text = f"Invalid value: '{window}'. Supported values are: '24h'."
            return replies.error(400, text, param="completion_window", code="invalid_value")
        if not _fit(metadata):
            return _wrong("Invalid 'metadata': at most 16 strings of 64 and 512.", "metadata")
        source = self.store.files.get(name)
        if source is None or source.purpose != "batch":
            text = f"The file '{name}' does not exist or has not the purpose 'batch'."
            return _wrong(text, "input_file_id")
        behaviour, batching = self.host.behaviour, self.batches.batching
        read = read_input(source.path, endpoint, batching, behaviour.models)
        now = self._now()
        batch = self.batches.create(source, endpoint, metadata, read, now, behaviour.seed)
        return _json(batch.to_json())

    def _list_batches(self, query: dict[str, str]) -> Reply:
        listed = []
        for batch in reversed(self.batches.batches.values()):
            if batch.age >= batch.plan.listed_after and batch.hidden_lists <= 0:
                listed.append(batch)
            batch.hidden_lists -= 1
        for batch in listed:
            self._polled(batch)
        return _page([batch.to_json() for batch in listed], query, 20, 100)

    def _poll(self, batch: Batch) -> Reply:
        self._polled(batch)
        return _json(batch.to_json())

    def _cancel(self, batch: Batch) -> Reply:
        if batch.ended:
            return replies.error(409, f"Cannot cancel a batch with status '{batch.status}'.")
        self.batches.cancel(batch)
        return _json(batch.to_json())

    # Time

    def _now(self) -> int:
        return int(time.time() + self._turned)

    def _turn(self) -> None:
        """Let the batches live on by the real seconds since the last time, where they do."""
        now = time.monotonic()
        passed, self._touched = now - self._touched, now
        batching = self.batches.batching
        if batching.seconds:
            for batch in self.batches.batches.values():
                life = batching.life(batch.plan)
                self.batches.move(batch, batch.age + life * passed / batching.seconds)

    def _polled(self, batch: Batch) -> None:
        if polls := self.batches.batching.polls:
            life = self.batches.batching.life(batch.plan)
            self.batches.move(batch, batch.age + life / polls + 1e-6)

    # The test's side

    def control(self, action: str, given: dict[str, Any]) -> object:
        """Do what a test says; raises `ValueError`, `TypeError`, `KeyError` for what cannot be."""
        batches = self.batches
        self._turn()
        one = given.get("id")
        chosen = [batches.batches[one]] if one else list(batches.batches.values())
        match action:
            case "set":
                batches.batching = batching_changed(batches.batching, given)
            case "restart":
                self._met[given["endpoint"]] = 0
            case "advance":
                self._turned += given["seconds"]
                batches.advance(given["seconds"])
            case "step":
                _each(batches.step, chosen)
            case "finish":
                _each(batches.finish, chosen)
            case "cancel":
                _each(batches.cancel, [each for each in chosen if not each.ended])
            case "next":
                batches.next += [batch_plan_from(plan) for plan in given["plans"]]
            case "clear":
                batches.clear()
                self.store.clear()
            case "seen":
                return self._seen()
            case _:
                raise ValueError(f"no such control: {action}")
        return {}

    def _seen(self) -> dict[str, Any]:
        # Not `asdict`, which makes another of a `Counter`.
        counts = {
            each.name: getattr(self.batches.counts, each.name) for each in fields(BatchCounts)
        }
        known = self.batches.batch_of_digest
        direct = {known[digest]: n for digest, n in self.direct.items() if digest in known}
        batches = [
            {
                **batch.to_json(),
                "custom_ids": [line.custom_id for line in batch.input.lines],
                "tokens": batch.input.tokens,
                "lost": batch.lost,
            }
            for batch in self.batches.batches.values()
        ]
        return {"counts": {**counts, "direct": direct}, "batches": batches}


def _each(do: Callable[[Batch], object], chosen: Sequence[Batch]) -> None:
    for batch in chosen:
        do(batch)


def _fit(metadata: object) -> bool:
    if metadata is None:
        return True
    return (
        isinstance(metadata, dict)
        and len(metadata) <= 16
        and all(isinstance(value, str) for value in metadata.values())
        and all(len(key) <= 64 and len(value) <= 512 for key, value in metadata.items())
    )


def _page(rows: list[dict[str, Any]], query: dict[str, str], usual: int, most: int) -> Reply:
    """Return the page of `rows` that comes after the one with the id `after`."""
    limit = query.get("limit", str(usual))
    if not limit.isdigit() or not 1 <= int(limit) <= most:
        return _wrong(f"Invalid 'limit': from 1 to {most}.", "limit")
    after = query.get("after")
    ids = [row["id"] for row in rows]
    if after is not None and after not in ids:
        return _wrong(f"Invalid 'after': no object with the id '{after}'.", "after")
    start = ids.index(after) + 1 if after is not None else 0
    page = rows[start : start + int(limit)]
    return _json(
        {
            "object": "list",
            "data": page,
            "first_id": page[0]["id"] if page else None,
            "last_id": page[-1]["id"] if page else None,
            "has_more": start + int(limit) < len(rows),
        }
    )


def _send(connection: Connection, reply: Reply, fault: Fault | None) -> None:
    """Answer, or do to the connection what `fault` does."""
    match fault:
        case Fault.DROP:
            connection.drop()
        case Fault.RESET | Fault.CUT_BODY:
            connection.cut(reply, reset=fault is Fault.RESET)
        case Fault.STALL | Fault.STALL_BODY:
            connection.stall(reply if fault is Fault.STALL_BODY else None)
        case Fault.HTML:
            connection.send(replies.PAGE)
        case Fault.BROKEN_JSON:
            connection.send(replace(reply, body=reply.body[: len(reply.body) // 2]))
        case _:
            connection.send(reply)


def _wrong(message: str, param: str | None) -> Reply:
    return replies.error(400, message, param=param)


def _json(value: object) -> Reply:
    return Reply(200, json.dumps(value).encode())

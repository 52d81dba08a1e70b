"""A client for files and batches, for the fault server's tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import openai
from fault_asking import PATIENT, messages
from faultserver import Batching, Behaviour, FaultServer

CHAT = "/v1/chat/completions"
KEYS = [f"study-{number:04d}" for number in range(20)]
ALL = [f"id of {key}" for key in KEYS]


def as_new(server: FaultServer) -> FaultServer:
    """Forget what an earlier test did with the server."""
    server.reset()
    server.set_faults(**{name: getattr(Behaviour(), name) for name in Behaviour.__slots__})
    server.batches.clear()
    server.batches.set(**{name: getattr(Batching(), name) for name in Batching.__slots__})
    return server


def api(server: FaultServer, **more: Any) -> openai.OpenAI:
    more = {"api_key": "a key", "timeout": PATIENT, **more}
    return openai.OpenAI(base_url=server.url, max_retries=0, **more)


def body(key: str) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": messages(key), "max_tokens": 2048}


def request(key: str, **changes: Any) -> bytes:
    line = {"custom_id": f"id of {key}", "method": "POST", "url": CHAT, "body": body(key)}
    return json.dumps({**line, **changes}).encode() + b"\n"


def upload(server: FaultServer, data: bytes, **more: Any) -> Any:
    file = ("requests.jsonl", data)
    with api(server, **more) as asked:
        return asked.files.create(file=file, purpose="batch")


def create(server: FaultServer, data: bytes | Iterable[str] = KEYS, **more: Any) -> Any:
    """Upload the requests about some studies, or what is to be the file, and create the batch."""
    whole = data if isinstance(data, bytes) else b"".join(map(request, data))
    name = upload(server, whole).id
    with api(server) as asked:
        more = {"endpoint": CHAT, "completion_window": "24h", **more}
        return asked.batches.create(input_file_id=name, **more)


def now(server: FaultServer, batch: Any) -> Any:
    with api(server) as asked:
        return asked.batches.retrieve(batch.id)


def lines(server: FaultServer, name: str | None) -> list[dict[str, Any]]:
    if name is None:
        return []
    with api(server) as asked:
        return [json.loads(line) for line in asked.files.content(name).text.splitlines()]


def ended(server: FaultServer, batch: Any) -> tuple[Any, list[Any], list[Any]]:
    """Move a batch to its end; return it, its output and its errors."""
    server.batches.finish(batch.id)
    batch = now(server, batch)
    output, errors = (lines(server, name) for name in (batch.output_file_id, batch.error_file_id))
    return batch, output, errors


def ids(rows: Iterable[dict[str, Any]]) -> list[str]:
    return [row["custom_id"] for row in rows]

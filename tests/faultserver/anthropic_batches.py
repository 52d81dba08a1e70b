"""Message Batches as Anthropic's documentation describes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from faultserver.batches import Batch, Batches, BatchPlan
from faultserver.replies import Reply

_SAME = ("model", "max_tokens", "temperature")
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ENDINGS = {"stop": "end_turn", "length": "max_tokens"}
_ERRORS = {
    400: "invalid_request_error",
    403: "permission_error",
    429: "rate_limit_error",
}
_NO_ANSWER = {"batch_cancelled": "canceled", "batch_expired": "expired"}


class AnthropicBatches(Batches):
    """Batches without a name of the client's, whose requests stand in the call.

    Attributes:
        page: How many batches a page of the list has.
        ahead: By how much the server's clock is ahead.
        results_at: What the address of results begins with; this server where it is None.
    """

    page = 100
    ahead = timedelta()
    results_at: str | None = None

    def plant(self, n: int, *, ending: str = "stays") -> str:
        """Let somebody else make a batch of n requests; returns its id."""

        def made() -> str:
            lines = [{"custom_id": f"theirs-{at}", "body": None} for at in range(n)]
            name = f"msgbatch_theirs{len(self._batches)}"
            plan = BatchPlan(ending="stays", share=0.0)
            batch = self._batches[name] = Batch(name, None, lines, plan)
            batch.status = "in_progress"
            if ending == "ended":
                self._end(batch, "cancelled")
            return name

        return str(self._call(made))

    def end_planted(self, name: str) -> None:
        self._call(lambda: self._end(self._batches[name], "cancelled"))

    def kept(self) -> list[str]:
        """The names of the batches that were not deleted."""
        return list(self._call(lambda: [*self._batches]))

    def states(self) -> dict[str, str]:
        """What has become of each batch."""
        return dict(
            self._call(
                lambda: {each.id: each.status for each in self._batches.values()}
            )
        )

    def _endpoint(self, method: str, path: str) -> tuple[str, str]:
        assert path.startswith("messages/batches"), path
        name, _, action = (
            path.removeprefix("messages/batches").strip("/").partition("/")
        )
        if method == "DELETE":
            return "delete_batch", name
        if method == "POST":
            return ("cancel_batch" if action == "cancel" else "create_batch"), name
        if action == "results":
            return "get_results", name
        return ("get_batch" if name else "list_batches"), name

    def _do(self, endpoint: str, name: str, body: bytes) -> Reply:
        if endpoint == "create_batch":
            return self._made(json.loads(body))
        if endpoint == "list_batches":
            return self._listed()
        batch = self._batches.get(name)
        if batch is None:
            return _error(404, "Not found")
        if endpoint == "get_results":
            data = b"".join(
                batch.written.get(kind, b"") for kind in ("error", "output")
            )
            return Reply(200, data)
        if endpoint == "delete_batch":
            if not batch.files:
                return _error(400, "The batch has not ended")
            del self._batches[name]
            return _json({"id": name, "type": "message_batch_deleted"})
        if endpoint == "cancel_batch":
            batch.status = "cancelling"
        else:
            self._poll(batch)
        return _json(self._said(batch))

    def _made(self, asked: dict[str, Any]) -> Reply:
        self.asked = asked
        ids = [request["custom_id"] for request in asked["requests"]]
        if len(set(ids)) != len(ids) or not all(_ID.fullmatch(each) for each in ids):
            return _error(
                400, "requests: custom_id must be unique, of [a-zA-Z0-9_-]{1,64}"
            )
        plan, self.plan = self.plan, BatchPlan()
        self._numbers += 1
        lines = [
            {"custom_id": r["custom_id"], "body": r["params"]}
            for r in asked["requests"]
        ]
        lines.reverse()
        batch = Batch(f"msgbatch_{self._numbers}", None, lines, plan)
        batch.status = "in_progress"
        self._add(batch)
        return _json(self._said(batch))

    def _listed(self) -> Reply:
        batches = list(reversed(self._batches.values()))
        for each in batches:
            self._poll(each)
        names = [each.id for each in batches]
        start = (
            names.index(self.query["after_id"]) + 1 if "after_id" in self.query else 0
        )
        end = start + min(self.page, int(self.query.get("limit", 20)))
        shown = [self._said(each) for each in batches[start:end]]
        return _json({"data": shown, "has_more": end < len(batches)})

    def _said(self, batch: Batch) -> dict[str, Any]:
        status = {"cancelling": "canceling", "in_progress": "in_progress"}.get(
            batch.status, "ended"
        )
        counts = dict.fromkeys(("succeeded", "errored", "canceled", "expired"), 0)
        n_open = len(batch.lines)
        if status == "ended":
            n_open = 0
            data = b"".join(batch.written.values())
            for line in data.splitlines():
                if line.startswith(b'{"custom_id"'):
                    counts[json.loads(line)["result"]["type"]] += 1
        url = None
        if status == "ended":
            url = f"{self.results_at or ''}/v1/messages/batches/{batch.id}/results"
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": status,
            "created_at": (batch.created + self.ahead).isoformat(),
            "expires_at": (batch.created + self.ahead + timedelta(days=1)).isoformat(),
            "ended_at": None,
            "request_counts": {"processing": n_open, **counts},
            "results_url": url if self.results_at else None,
        }

    def _question(self, line: dict[str, Any]) -> str:
        found = re.findall(r"study-\d+", json.dumps(line["body"]))
        return str(found[-1])

    def _execute_line(self, batch: Batch, line: dict[str, Any]) -> None:
        key, reply = self._answer(asked_of(line["body"]))
        self._stats.studies[self._question(line)] = key
        body = json.loads(reply.body)
        if reply.status != 200:
            wrong = json.loads(_error(reply.status, body["error"]["message"]).body)
            self._line(batch, "error", line, {"type": "errored", "error": wrong})
            return
        self._stats.answered[self._question(line)] += 1
        self._line(
            batch, "output", line, {"type": "succeeded", "message": message_of(body)}
        )

    def _line(
        self, batch: Batch, kind: str, line: Mapping[str, Any], result: object
    ) -> None:
        said = {"custom_id": line["custom_id"], "result": result}
        batch.written[kind] = (
            batch.written.get(kind, b"") + json.dumps(said).encode() + b"\n"
        )

    def _write(
        self, batch: Batch, kind: str, custom_id: str, _response: object, code: str = ""
    ) -> None:
        self._line(batch, kind, {"custom_id": custom_id}, {"type": _NO_ANSWER[code]})


def asked_of(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request for a message in OpenAI's form."""
    turns = [
        {"role": turn["role"], "content": turn["content"]}
        for turn in params["messages"]
    ]
    system = params.get("system") or ""
    if isinstance(system, list):
        system = "".join(block["text"] for block in system)
    if system:
        turns.insert(0, {"role": "system", "content": system})
    asked = {
        name: params[name]
        for name in ("model", "max_tokens", "temperature")
        if name in params
    }
    if "format" in params.get("output_config", {}):
        asked["response_format"] = {"type": "json_schema"}
    return {**asked, "messages": turns}


def message_of(completion: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chat completion as a message."""
    choice, usage = completion["choices"][0], completion["usage"]
    text = choice["message"]["content"]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": completion["model"],
        "content": [{"type": "text", "text": text}],
        "stop_reason": _ENDINGS.get(choice["finish_reason"], choice["finish_reason"]),
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "output_tokens": usage["completion_tokens"],
        },
    }


def _error(status: int, message: str) -> Reply:
    kind = _ERRORS.get(status, "not_found_error" if status == 404 else "api_error")
    said = {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": "req_1",
    }
    return Reply(status, json.dumps(said).encode())


def _json(value: object) -> Reply:
    return Reply(200, json.dumps(value).encode())

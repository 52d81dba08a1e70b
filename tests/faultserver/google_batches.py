"""Batches and files as the documentation of the Gemini API describes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from faultserver.batches import Batch, Batches, BatchPlan
from faultserver.replies import Reply

_ENDINGS = {"stop": "STOP", "length": "MAX_TOKENS"}
_CODES = {400: 3, 403: 7, 429: 8}
_STATES = {
    "validating": "PENDING",
    "in_progress": "RUNNING",
    "cancelling": "RUNNING",
    "completed": "SUCCEEDED",
    "expired": "EXPIRED",
    "cancelled": "CANCELLED",
    "failed": "FAILED",
}


class GoogleBatches(Batches):
    """Batches with a display name, whose requests stand in the call or in a file.

    Attributes:
        carries: Whether results that stand in a batch carry the metadata of their requests.
        prefix: What the names of states begin with.
        page: How many batches a page of the list has.
        error_key: Under what a line without a response says why.
        partial: Whether what is over has succeeded in part only.
    """

    carries = True
    prefix = "BATCH_STATE_"
    page = 100
    error_key = "error"
    partial = False

    def _endpoint(self, method: str, path: str) -> tuple[str, str]:
        if path == "upload/v1beta/files":
            return "start_upload", ""
        if path.startswith("upload-session/"):
            return "upload_file", path.rpartition("/")[2]
        kind, _, rest = path.removeprefix("v1beta/").partition("/")
        name, _, action = rest.partition(":")
        if action == "batchGenerateContent":
            return "create_batch", name
        if method == "DELETE":
            return ("delete_file" if kind == "files" else "delete_batch"), name
        if kind == "files":
            return "get_content", name
        if action == "cancel":
            return "cancel_batch", name
        return ("get_batch" if name else "list_batches"), name

    def _do(self, endpoint: str, name: str, body: bytes) -> Reply:
        if endpoint == "start_upload":
            file = json.loads(body)["file"]
            where = (
                f"http://127.0.0.1/upload-session/{file['name'].removeprefix('files/')}"
            )
            return Reply(200, b"{}", {"x-goog-upload-url": where})
        if endpoint == "upload_file":
            self._files[name] = body
            file = {"name": f"files/{name}", "state": "ACTIVE"}
            return Reply(
                200,
                json.dumps({"file": file}).encode(),
                {"x-goog-upload-status": "final"},
            )
        if endpoint in ("get_content", "delete_file"):
            if name not in self._files:
                return _error(404, "The file does not exist.")
            if endpoint == "get_content":
                return Reply(200, self._files[name])
            del self._files[name]
            return Reply(200, b"{}")
        if endpoint == "create_batch":
            return self._made(name, json.loads(body)["batch"])
        if endpoint == "list_batches":
            return self._listed()
        batch = self._batches.get(name)
        if batch is None:
            return _error(404, "The batch does not exist.")
        if endpoint == "delete_batch":
            del self._batches[name]
            return Reply(200, b"{}")
        if endpoint == "cancel_batch":
            batch.status = "cancelling"
            return Reply(200, b"{}")
        self._poll(batch)
        return _json(self._said(batch))

    def _made(self, model: str, asked: dict[str, Any]) -> Reply:
        self.asked = {**asked, "model": model}
        plan, self.plan = self.plan, BatchPlan()
        self._numbers += 1
        source = asked["inputConfig"]
        if file := source.get("fileName"):
            read = [
                json.loads(line)
                for line in self._files[file.removeprefix("files/")].splitlines()
            ]
            lines = [
                {"custom_id": line["key"], "body": line["request"]} for line in read
            ]
            lines.reverse()
        else:
            requests = source["requests"]["requests"]
            lines = [
                {"custom_id": r["metadata"]["key"], "body": r["request"]}
                for r in requests
            ]
        name = f"b{self._numbers}"
        batch = Batch(
            name,
            {"display": asked["displayName"], "model": model},
            lines,
            plan,
            file or "",
        )
        self._add(batch)
        return _json(self._said(batch))

    def _listed(self) -> Reply:
        batches = list(self._batches.values())
        for each in batches:
            self._poll(each)
        start = int(self.query.get("pageToken") or 0)
        page = {
            "operations": [
                self._said(each) for each in batches[start : start + self.page]
            ]
        }
        if start + self.page < len(batches):
            page["nextPageToken"] = str(start + self.page)
        return _json(page)

    def _said(self, batch: Batch) -> dict[str, Any]:
        about = batch.metadata or {}
        state = _STATES.get(batch.status, "PENDING")
        if state == "SUCCEEDED" and self.partial:
            state = "PARTIALLY_SUCCEEDED"
        metadata: dict[str, Any] = {
            "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
            "name": f"batches/{batch.id}",
            "displayName": about.get("display"),
            "model": f"models/{about.get('model')}",
            "createTime": batch.created.isoformat(),
            "state": f"{self.prefix}{state}",
        }
        if "output" in batch.files:
            metadata["output"] = {"responsesFile": f"files/{batch.files['output']}"}
        elif not batch.input and batch.status in ("completed", "cancelled"):
            lines = self._inline(batch)
            metadata["output"] = {"inlinedResponses": {"inlinedResponses": lines}}
        said: dict[str, Any] = {"name": f"batches/{batch.id}", "metadata": metadata}
        if batch.errors:
            said["error"] = {
                "code": 8,
                "message": "Too much is waiting.",
                "status": "x",
            }
        return said

    def _inline(self, batch: Batch) -> list[Any]:
        """Return the results in the order of the requests."""
        data = b"".join(batch.written.values())
        written = {line["key"]: line for line in map(json.loads, data.splitlines())}
        lines = []
        for asked in batch.lines:
            line = written.get(asked["custom_id"])
            if line is None:
                continue
            said = {name: value for name, value in line.items() if name != "key"}
            if self.carries:
                said["metadata"] = {"key": line["key"]}
            lines.append(said)
        return lines

    def _question(self, line: dict[str, Any]) -> str:
        found = re.findall(r"study-\d+", json.dumps(line["body"]))
        return str(found[-1])

    def _execute_line(self, batch: Batch, line: dict[str, Any]) -> None:
        key, reply = self._answer(asked_of(line["body"], batch))
        self._stats.studies[self._question(line)] = key
        body = json.loads(reply.body)
        said: dict[str, Any] = {"key": line["custom_id"]}
        if reply.status == 200:
            self._stats.answered[self._question(line)] += 1
            said["response"] = response_of(body)
        else:
            code = _CODES.get(reply.status, 13)
            said[self.error_key] = {"code": code, "message": body["error"]["message"]}
        batch.written["output"] = (
            batch.written.get("output", b"") + json.dumps(said).encode() + b"\n"
        )

    def _end(self, batch: Batch, status: str) -> None:
        batch.status = status
        if status == "expired":  # nothing comes back
            return
        if batch.plan.noise:
            batch.written["output"] = b"\n".join(
                [*batch.plan.noise, batch.written["output"]]
            )
        if batch.input:
            batch.files["output"] = self._keep(batch.written.get("output", b""))


def asked_of(request: Mapping[str, Any], batch: Batch) -> dict[str, Any]:
    """Return a request to generate content in OpenAI's form."""
    turns = []
    system = request.get("systemInstruction") or {}
    if system:
        turns.append({"role": "system", "content": _text(system)})
    for content in request["contents"]:
        role = "assistant" if content["role"] == "model" else "user"
        turns.append({"role": role, "content": _text(content)})
    config = request.get("generationConfig", {})
    asked: dict[str, Any] = {
        "model": (batch.metadata or {})["model"],
        "messages": turns,
    }
    if "responseJsonSchema" in config or "responseSchema" in config:
        asked["response_format"] = {"type": "json_schema"}
    if "temperature" in config:
        asked["temperature"] = config["temperature"]
    return asked


def _text(content: Mapping[str, Any]) -> str:
    return "".join(part["text"] for part in content["parts"])


def response_of(completion: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chat completion as a response of Gemini."""
    choice, usage = completion["choices"][0], completion["usage"]
    part = {"text": choice["message"]["content"]}
    ending = choice["finish_reason"]
    return {
        "candidates": [
            {
                "content": {"parts": [part], "role": "model"},
                "finishReason": _ENDINGS.get(ending, ending),
                "index": 0,
            }
        ],
        "usageMetadata": {
            "promptTokenCount": usage["prompt_tokens"],
            "candidatesTokenCount": usage["completion_tokens"],
            "totalTokenCount": usage["total_tokens"],
        },
        "modelVersion": completion["model"],
    }


def _error(status: int, message: str) -> Reply:
    said = {"error": {"code": status, "message": message, "status": "NOT_FOUND"}}
    return Reply(status, json.dumps(said).encode())


def _json(value: object) -> Reply:
    return Reply(200, json.dumps(value).encode())

"""A server that answers as OpenAI, Azure, Anthropic or Google document it, on 127.0.0.1."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from hostile import ANSWER


@dataclass
class Asked:
    """One request: its path, its headers by lower-case names, and its body."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class ProviderServer:
    """Answers every question with the same reply.

    `refusals` are sent first, each once, as (status, body); `changes` replace keys of an answer;
    `models` is what is said of each model.
    """

    text: str = ANSWER
    refusals: list[tuple[int, object]] = field(default_factory=list)
    changes: dict[str, object] = field(default_factory=dict)
    models: dict[str, dict[str, object]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                owner.looked_up.append(self.path)
                found = owner.models.get(self.path.rpartition("/")[2])
                missing = {
                    "error": {"message": "no such model", "type": "not_found_error"}
                }
                self._send(404 if found is None else 200, found or missing)

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                owner.asked.append(Asked(self.path, headers, json.loads(raw)))
                if owner.refusals:
                    self._send(*owner.refusals.pop(0))
                else:
                    self._send(200, owner.answer(self.path))

            def _send(self, status: int, body: object) -> None:
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str) -> dict[str, object]:
        if path.endswith("/v1/messages"):
            return self._message() | self.changes
        if path.endswith(":generateContent"):
            return self._response() | self.changes
        return self._completion() | self.changes

    def _completion(self) -> dict[str, object]:
        message = {"role": "assistant", "content": self.text, "refusal": None}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "model": "gpt-6-luna-2026-09-01",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": 1500,
                "completion_tokens": 250,
                "prompt_tokens_details": {
                    "cached_tokens": 1000,
                    "cache_write_tokens": 100,
                },
            },
        }

    def _message(self) -> dict[str, object]:
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-5-5-20260901",
            "content": [
                {"type": "thinking", "thinking": "Let me see.", "signature": "x"},
                {"type": "text", "text": self.text},
            ],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": 300,
                "cache_read_input_tokens": 1000,
                "cache_creation_input_tokens": 200,
                "output_tokens": 250,
            },
        }

    def _response(self) -> dict[str, object]:
        parts = [{"text": "Let me see.", "thought": True}, {"text": self.text}]
        return {
            "candidates": [
                {
                    "content": {"role": "model", "parts": parts},
                    "finishReason": "STOP",
                    "index": 0,
                }
            ],
            "usageMetadata": {
                "promptTokenCount": 1500,
                "candidatesTokenCount": 200,
                "thoughtsTokenCount": 50,
                "cachedContentTokenCount": 1000,
                "totalTokenCount": 1750,
            },
            "modelVersion": "gemini-3.5-flash-lite",
        }

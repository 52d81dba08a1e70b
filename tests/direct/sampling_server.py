"""A server whose answers about a study differ, as a model's at a temperature do."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from judge.rubrics import load
from judge.types import Annotation

GONE = "gone"
"""In place of a score: the server withholds the answer."""


def answer(score: float) -> str:
    """The right answer with this score."""
    values = {"low": 0.0, "high": 100.0, "score": score, "findings": 100 - score}
    return load("direct").render(Annotation(explanation=f"It is worth {score}.", values=values))


class SamplingServer:
    """Gives each study's answers in turn: a score, a text as it is, or `GONE`."""

    def __init__(self, answers: dict[str, list[float | str]]) -> None:
        self.asked: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        lock = threading.Lock()
        of = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                found = re.search(r"study-\d{4}", body["messages"][-1]["content"])
                found = found or re.search(r"study-\d{4}", json.dumps(body["messages"]))
                assert found
                with lock:
                    given = answers[found[0]][of.asked[found[0]] % len(answers[found[0]])]
                    of.asked[found[0]] += 1
                    of.bodies.append(body)
                text = given if isinstance(given, str) else answer(given)
                end = "content_filter" if given == GONE else "stop"
                choice = {"message": {"role": "assistant", "content": text}, "finish_reason": end}
                usage = {"prompt_tokens": 100, "completion_tokens": 10}
                reply = {"choices": [choice | {"index": 0}], "model": "m", "usage": usage}
                data = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

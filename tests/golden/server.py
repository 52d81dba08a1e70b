"""A server on this machine that gives stored replies: which one, the request's messages decide."""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

REPLIES = Path(__file__).parent / "inputs"


class RecordedServer:
    """Answers chat requests with the replies in `inputs/replies-RUBRIC.json.gz`."""

    def __init__(self, rubric: str) -> None:
        replies = json.loads(
            gzip.decompress((REPLIES / f"replies-{rubric}.json.gz").read_bytes())
        )

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                asked = json.dumps(body["messages"], sort_keys=True).encode()
                at = int(hashlib.sha256(asked).hexdigest(), 16) % len(replies)
                text, end = replies[at]
                message = {"role": "assistant", "content": text}
                if end == "refusal":
                    message, end = (
                        {"role": "assistant", "content": None, "refusal": text},
                        "stop",
                    )
                choice = {"index": 0, "message": message, "finish_reason": end}
                usage = {"prompt_tokens": 100, "completion_tokens": 10}
                reply = {"choices": [choice], "model": "model-x", "usage": usage}
                data = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self) -> None:
                self.send_error(404)

            def log_message(self, *_args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

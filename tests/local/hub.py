"""A stand-in for the model hub: enough of its API to fetch a small model, or be refused."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """The server, with the folders of its models by name and what was asked of it."""

    daemon_threads = True

    def __init__(self, models: dict[str, Path], gated: tuple[str, ...]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.models, self.gated = models, gated
        self.asked: list[str] = []


class Handler(BaseHTTPRequestHandler):
    """Answers about a model, lists its files and gives them."""

    server: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(self.path.partition("?")[0])
        models = self.server.models
        self.server.asked.append(path)
        name = "/".join(path.removeprefix("/api/models").strip("/").split("/")[:2])
        if name in self.server.gated:
            self._refuse(403, "GatedRepo")
        elif name not in models:
            self._refuse(401 if path.startswith("/api") else 404, "RepoNotFound")
        elif path.startswith("/api/"):
            self._info(name, models[name])
        else:
            self._file(models[name] / path.rpartition(f"/resolve/{COMMIT}/")[2])

    def _info(self, name: str, folder: Path) -> None:
        files = [
            {
                "rfilename": one.name,
                "path": one.name,
                "type": "file",
                "size": one.stat().st_size,
                "oid": hashlib.sha1(one.read_bytes()).hexdigest(),
            }
            for one in sorted(folder.iterdir())
        ]
        if "/tree/" in self.path:
            self._send(200, json.dumps(files).encode(), {"Content-Type": "application/json"})
            return
        about = {"id": name, "modelId": name, "sha": COMMIT, "private": False, "tags": []}
        self._send(
            200,
            json.dumps({**about, "downloads": 0, "siblings": files}).encode(),
            {"Content-Type": "application/json"},
        )

    def _file(self, path: Path) -> None:
        if not path.is_file():
            self._refuse(404, "EntryNotFound")
            return
        body = path.read_bytes()
        etag = hashlib.sha1(body).hexdigest()
        self._send(200, body, {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT})

    def _refuse(self, status: int, code: str) -> None:
        self._send(status, b"{}", {"X-Error-Code": code})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(
    models: dict[str, Path], gated: tuple[str, ...] = ()
) -> Iterator[tuple[str, list[str]]]:
    """Serve the files of `models`; gives the address and the list of what was asked for."""
    server = Hub(models, gated)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server.asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

"""A server that does with a connection whatever a test says, and a run that asks it."""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Self

from faultserver import annotation_for
from running import Runner

from judge import rubrics
from judge.running.records import StudyResult

ANSWER = rubrics.load("green").structured.render(annotation_for("study-0000", 0))


def completion(**changes: object) -> dict[str, object]:
    """A completion as servers send it."""
    message = {"role": "assistant", "content": ANSWER}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return {
        "object": "chat.completion",
        "model": "m",
        "choices": [choice],
        "usage": usage,
    } | changes


def reply(body: object, status: str = "200 OK", *headers: str) -> bytes:
    """A whole reply; `body` is sent as JSON unless it is bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(data)}", *headers]
    if not any(line.lower().startswith("content-type") for line in headers):
        head.append("Content-Type: application/json")
    return "\r\n".join([*head, "", ""]).encode() + data


Serve = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Hostile:
    """Reads each request whole and lets `serve` do the rest; `requests` holds their heads."""

    def __init__(
        self, serve: Serve | bytes, *, tls: ssl.SSLContext | None = None
    ) -> None:
        self._serve = serve
        self._tls = tls
        self.requests: list[str] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        started = threading.Event()

        async def work() -> None:
            self._loop = asyncio.get_running_loop()
            self._over = asyncio.Event()
            server = await asyncio.start_server(
                self._client, "127.0.0.1", 0, ssl=self._tls
            )
            self.port = server.sockets[0].getsockname()[1]
            started.set()
            await self._over.wait()
            server.close()
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

        self._thread = threading.Thread(target=lambda: asyncio.run(work()))
        self._thread.start()
        assert started.wait(30)
        return self

    def __exit__(self, *_error: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    async def _client(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                self.requests.append(head)
                fields = dict(
                    line.lower().split(": ", 1)
                    for line in head.split("\r\n")[1:]
                    if ": " in line
                )
                await reader.readexactly(int(fields.get("content-length", 0)))
                if isinstance(self._serve, bytes):
                    writer.write(self._serve)
                    await writer.drain()
                else:
                    await self._serve(writer)
        except (asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


def judged(
    url: str, folder: Path, n: int = 1, *, timeout: float = 20.0, **policy: object
) -> tuple[dict[str, StudyResult], list[str]]:
    """Judge n studies by the server at `url`; returns their ends and what was said."""
    run = Runner(None, rubrics.load("green"), folder / "cache")
    asking = {"base_url": url, "environ": {"OPENAI_API_KEY": "sk-secret-key"}}
    asked = {"concurrency": 4, "max_requests": 2, "reask": 0} | policy
    return run(n, timeout=timeout, asking=asking, **asked)[0], run.said  # type: ignore[arg-type]


def self_signed(folder: Path) -> ssl.SSLContext:
    """A certificate that nobody vouches for."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    name = [
        "-subj",
        "/CN=127.0.0.1",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-days",
        "3",
    ]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes"]
    subprocess.run(
        [*made, "-keyout", key, "-out", cert, *name], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context

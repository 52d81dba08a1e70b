"""A vLLM server that runs already, as a user would have started it."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from children import descendants, guard_of, wait_for
from serving import ENVIRON, FLAGS

from judge.backends.vllm.server import Process, executable

KEY = "shared"
# A model that knows nothing would go on writing blanks where the grammar lets it.
JSON_FLAG = '--structured-outputs-config={"backend": "xgrammar", "disable_any_whitespace": true}'


class Served:
    """The server, from here until `process.stop()`."""

    def __init__(self, model: Path, folder: Path, *, longest: int = 2048) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        self.log = folder / "server.log"
        environ = {**os.environ, **ENVIRON, "VLLM_API_KEY": KEY}
        line = [executable(os.environ), "serve", str(model.resolve()), "--port", str(port)]
        line += ["--host", "127.0.0.1", f"--max-model-len={longest}", *FLAGS, JSON_FLAG]
        self.process = Process(line, environ, self.log)
        self._port = port
        wait_for(lambda: "startup complete" in self.log.read_text("utf-8"), 240)

    def answers(self) -> int:
        """Return how many prompts in token ids it has answered."""
        return self.log.read_text("utf-8").count('"POST /v1/completions HTTP/1.1" 200')

    def send(self, what: signal.Signals) -> None:
        """Send a signal to all of the server's own processes."""
        processes = descendants(guard_of(os.getpid(), str(self._port)))
        assert processes
        for pid in processes:
            os.kill(pid, what)

    @contextmanager
    def halted(self) -> Iterator[None]:
        """Let the server take requests and answer none, however fast the machine is."""
        self.send(signal.SIGSTOP)
        try:
            yield
        finally:
            self.send(signal.SIGCONT)


@contextmanager
def serving_model(model: Path, folder: Path, *, longest: int = 2048) -> Iterator[Served]:
    """Start a server and stop it in the end."""
    running = Served(model, folder, longest=longest)
    try:
        yield running
    finally:
        running.process.stop()

"""The server in a test's hand."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, Self

from faultserver.answers import ANNOTATE, Annotate, Render
from faultserver.batchhandle import BatchHandle
from faultserver.batching import Batching
from faultserver.behaviour import Behaviour
from faultserver.counters import LogRow, Stats, stats_from
from faultserver.faults import StudyPlan
from faultserver.launch import HOST, Decode, Parts, characters, name_of, run
from judge.types import Annotation

_PATIENCE = 30.0


class FaultServer:
    """A running server, from `with` to its end.

    `mode` `process` gives it a process of its own, which ends with this one whatever
    happens; what it is given to call must then be importable. `thread` takes any callable
    and shares this process's CPU. `port` 0 takes a free one. Without `annotate`, the right
    answers are those that `ANNOTATE` has for the rubric.
    """

    def __init__(
        self,
        behaviour: Behaviour | None = None,
        *,
        rubric: str = "green",
        render: Render | None = None,
        annotate: Annotate | None = None,
        decode: Decode = characters,
        mode: Literal["process", "thread"] = "process",
        port: int = 0,
        batching: Batching | None = None,
    ) -> None:
        self.behaviour = behaviour or Behaviour()
        self.batches = BatchHandle(self._ask, batching or Batching())
        self.port = port
        self._parts = Parts(rubric, render, annotate or ANNOTATE[rubric], decode)
        self._mode = mode
        self._control_port = 0
        self._end: Callable[[], None] | None = None

    @property
    def url(self) -> str:
        """The base address for clients, ending in `/v1`."""
        return f"http://{HOST}:{self.port}/v1"

    def __enter__(self) -> Self:
        try:
            self._end = self._spawn() if self._mode == "process" else self._begin_thread()
            # Over the wire: a plan for ten thousand studies is too long for a command line.
            self.set_faults(**_fields(self.behaviour))
            self.batches.set()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the server; connections under way are reset. A second call does nothing."""
        end, self._end = self._end, None
        if end:
            end()

    def set_faults(self, **changes: object) -> None:
        """Change fields of `behaviour`, from the next request on.

        Requests already counted stay counted: a study's third request is still its third.
        """
        self.behaviour = dataclasses.replace(self.behaviour, **changes)  # type: ignore[arg-type]
        self._ask("POST", "/control/faults", _fields(self.behaviour))

    def plan(self, keys: Iterable[str]) -> dict[str, StudyPlan]:
        """Return what the requests of each of `keys` meet, outages and limits aside."""
        return self.behaviour.plan(keys)

    def annotation(self, key: str) -> Annotation:
        """Return the annotation that is right for the study `key`."""
        return self._parts.annotate(key, self.behaviour.seed)

    def answer(self, key: str) -> str:
        """Return the right answer about the study `key`, as text."""
        return self._parts.answers().text(key, self.behaviour.seed)

    def reply(self, key: str) -> str:
        """Return the right answer about the study `key`, as a structured reply."""
        return self._parts.answers().text(key, self.behaviour.seed, formed=True)

    def stats(self) -> Stats:
        """Return what the server has counted."""
        return stats_from(self._ask("GET", "/control/stats"))

    def log(self) -> list[LogRow]:
        """Return the last 100,000 requests that have ended, in that order."""
        return [LogRow(*row) for row in self._ask("GET", "/control/log")]

    def requests(self) -> list[dict[str, Any]]:
        """Return the last 10,000 requests: `study`, `path`, `headers` without keys, `body` as JSON.

        Needs `Behaviour.record`.
        """
        kept = self._ask("GET", "/control/requests")
        return [{**each, "body": json.loads(each["body"])} for each in kept]

    def reset(self) -> None:
        """Forget the counts, the log, the studies' request numbers and the first request."""
        self._ask("POST", "/control/reset")

    def wait_for(self, reached: Callable[[Stats], bool], timeout: float = 30.0) -> Stats:
        """Return the first statistics that have `reached` it; raises `TimeoutError`."""
        until = time.monotonic() + timeout
        while not reached(stats := self.stats()):
            if time.monotonic() > until:
                raise TimeoutError(f"not reached in {timeout:g} s: {stats}")
            time.sleep(0.01)
        return stats

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        connection = http.client.HTTPConnection(HOST, self._control_port, timeout=_PATIENCE)
        with contextlib.closing(connection):
            connection.request(method, path, json.dumps(body))
            response = connection.getresponse()
            answer = json.loads(response.read())
        if response.status != 200:
            raise ValueError(answer["error"])
        return answer

    def _spawn(self) -> Callable[[], None]:
        parts = self._parts
        command = [sys.executable, "-m", "faultserver", "--until-eof", "--port", str(self.port)]
        command += ["--rubric", parts.rubric]
        command += ["--annotate", name_of(parts.annotate), "--decode", name_of(parts.decode)]
        if parts.render:
            command += ["--render", name_of(parts.render)]
        paths = [str(Path(__file__).parents[1]), *(path for path in sys.path if path)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            # In the root, `-m` would find the tree's judge before the installed package.
            cwd=Path(__file__).parents[1],
            # A Ctrl-C meant for the test, or sent by it, is not for the server.
            start_new_session=True,
        )
        assert process.stdin
        assert process.stdout
        with process.stdout:
            line = process.stdout.readline()
        if not line:
            process.stdin.close()
            raise RuntimeError(f"the server did not start: exit status {process.wait()}")
        ports = json.loads(line)
        self.port, self._control_port = ports["port"], ports["control_port"]
        return lambda: _end_process(process)

    def _begin_thread(self) -> Callable[[], None]:
        started = threading.Event()
        wrong: list[BaseException] = []
        ends: list[Callable[[], None]] = []

        async def serve() -> None:
            loop = asyncio.get_running_loop()
            done = asyncio.Event()

            def end() -> None:
                loop.call_soon_threadsafe(done.set)

            ends.append(end)

            def ready(port: int, control_port: int) -> None:
                self.port, self._control_port = port, control_port
                started.set()

            await run(self._parts, Behaviour(), self.port, ready, done)

        def body() -> None:
            try:
                asyncio.run(serve())
            except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
                wrong.append(error)
            finally:
                started.set()

        thread = threading.Thread(target=body, name="faultserver", daemon=True)
        thread.start()
        started.wait()
        if wrong:
            thread.join()
            raise RuntimeError("the server did not start") from wrong[0]

        def end() -> None:
            ends[0]()
            thread.join(_PATIENCE)

        return end


def _end_process(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin
    process.stdin.close()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _fields(behaviour: Behaviour) -> dict[str, Any]:
    return dataclasses.asdict(behaviour)

"""The judge `ray:MODEL`: the model of `vllm:MODEL`, as several replicas on a Ray cluster.

Each replica is an actor that starts, on its node, the vLLM that `vllm:` starts, and asks it there:
no port is opened between nodes. Ray Serve's OpenAI endpoint would leave its replicas behind when
the driver is killed, asks for no key and needs vLLM where the driver runs; one that is there
already is a server like any other (docs/ray.md).
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

from judge.backends import errors, local, vllm
from judge.backends.base import Judge, JudgeSettings
from judge.backends.connection import CHAT
from judge.backends.errors import TransientError, UnavailableError
from judge.backends.local import ModelFiles
from judge.backends.pool import Servers
from judge.backends.replies import RefusedError
from judge.backends.structured import Mode
from judge.backends.vllm import ENDED, Launch, Server
from judge.distribution import install
from judge.rubrics import Rubric
from judge.types import Completion, JudgeError

KIND = "ray"
LOCAL = "local"
# How often Ray starts an actor again that has died, and how many replicas get one question at a
# time of asking: one that kills is not for all of them.
_RESTARTS, _MOST_TRIES = 2, 2
_TICK, _SECONDS_BETWEEN_LINES = 0.5, 15.0
# How long a replica may take to end its vLLM, and an answer to come beyond its own limit.
_PATIENCE, _SLACK = 20.0, 30.0
# Ray kills an actor's children with it, the guard first, who could then no longer see to the rest.
_ACTOR_ENVIRON = {"env_vars": {"RAY_kill_child_processes_on_worker_exit": "0"}}
# No usage reports, no dashboard, where Ray starts something of its own.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
# What of the driver's environment a node's vLLM gets: its own paths and devices stay its own.
_PASSED = frozenset({"HF_TOKEN", "HF_ENDPOINT", "HF_HUB_OFFLINE", "JUDGE_VLLM", "OMP_NUM_THREADS"})
_SPREADS = (
    ("--tensor-parallel-size", "-tp"),
    ("--pipeline-parallel-size", "-pp"),
    ("--data-parallel-size", "-dp"),
)


def load(model: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the judge `ray:MODEL`, whose version and cached answers are those of `vllm:MODEL`."""
    if settings.base_urls:
        raise JudgeError("--base-url belongs to servers that run already; ray:MODEL starts its own")
    if find_spec("ray") is None:
        raise JudgeError(f"Ray is not installed: {install('ray')} here and on every node")
    return vllm.load(model, rubric, settings, KIND, _replicas)


def _replicas(files: ModelFiles, launch: Launch, settings: JudgeSettings) -> Servers:
    number, gpus = (settings.options.get(name) for name in ("ray_replicas", "gpus_per_replica"))
    gpus = 1 if gpus is None else gpus
    for name, value, least in (("ray_replicas", number, 1), ("gpus_per_replica", gpus, 0)):
        if value is None:
            continue
        if not isinstance(value, int) or value < least:
            raise JudgeError(f"{name} is a whole number from {least} on, not {value!r}")
    spread = prod(vllm.copies(launch.flags, *names) for names in _SPREADS)
    if gpus not in (0, spread):
        raise JudgeError(
            f"by its flags each vLLM uses {spread} GPUs and --gpus-per-replica gives it {gpus}"
        )
    address = settings.options.get("ray_address") or settings.environ.get("RAY_ADDRESS") or LOCAL
    if not isinstance(address, str) or "://" in address:
        raise JudgeError(
            f"--ray-address {address} is no address in the cluster: run judge on one of its "
            "machines, with HOST:6379 or auto"
        )
    launch = replace(launch, environ=passed(settings.environ))
    order = launch, None if files.commit else files.version
    return Replicas(order, address, number, gpus, settings.say)  # type: ignore[arg-type]


def passed(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what of the driver's environment a replica's vLLM gets; no other key than HF's."""
    return {
        name: value
        for name, value in environ.items()
        if name in _PASSED or (name.startswith("VLLM_") and name != "VLLM_API_KEY")
    }


class Replica:
    """The actor: one vLLM on one node. It returns errors as values.

    `version` is that of the model which the folder must hold, None for a model on the hub.
    """

    def __init__(self, launch: Launch, version: str | None) -> None:
        environ = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
        log, environ = vllm.new_log(KIND), environ | dict(launch.environ)
        self._launch, self._version = replace(launch, log=log, environ=environ), version
        self._server: Server | None = None
        self._lines: list[str] = []

    async def ready(self) -> tuple[str, str, list[str]]:
        """Return the host, why vLLM cannot be asked, "" where it can, and the end of its log."""
        problem, self._lines = "", []
        try:
            if self._server is None:
                await asyncio.to_thread(self._check_folder, self._launch.model)
                self._server = Server(self._launch, lambda line: self._lines.append(line))
            await self._server.ready()
        except JudgeError as error:
            problem = str(error)
        return socket.gethostname(), problem, [line for line in self._lines if "  | " in line]

    async def ask(
        self, body: Mapping[str, Any], path: str, mode: Mode | None
    ) -> Completion | Exception:
        """Return the answer to a request, or what `Server.ask` raises."""
        if self._server is None:  # Ray has placed it anew
            return UnavailableError(ENDED)
        try:
            return await self._server.ask(body, path, mode)
        except (errors.AskError, RefusedError, JudgeError) as error:
            # That it has ended once too often is the replica's end, not the run's.
            is_end = error is self._server.failure
            return UnavailableError(ENDED, str(error)) if is_end else error

    async def stop(self) -> None:
        """End vLLM; returns when nothing of it is left."""
        if self._server is not None:
            await self._server.aclose()

    def _check_folder(self, model: str) -> None:
        if self._version is not None and not Path(model).is_dir():
            raise JudgeError(f"there is no folder {model}: put the model there on every node")
        if self._version not in (None, local.find(model, {}).version):
            raise JudgeError(f"the folder {model} holds another model than where judge runs")


@dataclass(slots=True, eq=False)
class _Seat:
    """One replica as the driver sees it; `problem` is why it was given up."""

    actor: Any
    host: str = "no node"
    is_ready: bool = False
    in_flight: int = 0
    problem: str = ""
    start: asyncio.Task[None] | None = None


class Replicas(Servers):
    """Actors that each start a vLLM on their node; a request goes to the least busy of the ready.

    Ray places an actor that dies again, twice, and an actor starts its vLLM again, once. A replica
    that is beyond that is given up, and the others go on. The actors end with the driver.
    """

    def __init__(
        self,
        order: tuple[Launch, str | None],
        address: str,
        number: int | None,
        gpus: int,
        say: Callable[[str], None],
    ) -> None:
        self._order, self._launch, self._say = order, order[0], say
        self._address, self._number, self._gpus = address, number, gpus
        self.max_in_flight = (number or 1) * self._launch.max_in_flight
        self._seats: list[_Seat] = []
        self._lock, self._changed = asyncio.Lock(), asyncio.Event()
        self._is_joined = False
        self._failure: JudgeError | None = None

    def _ready(self) -> list[_Seat]:
        return [seat for seat in self._seats if seat.is_ready]

    async def ready(self) -> None:
        """Return when a replica can be asked; raises `JudgeError` where none will be."""
        if self._ready():
            return
        async with self._lock:
            try:
                if self._failure is None:
                    await self._wait()
            except JudgeError as error:
                self._failure = error
        if self._failure is not None:
            raise self._failure

    async def _wait(self) -> None:
        if not self._seats:
            await asyncio.to_thread(self._open)
            for seat in self._seats:
                seat.start = asyncio.create_task(self._start(seat))
        # As long for a place as for vLLM.
        deadline = time.monotonic() + 2 * self._launch.start_timeout
        while not self._ready():
            self._changed.clear()
            if all(seat.problem for seat in self._seats):
                raise JudgeError(f"no replica can be asked: {self._seats[0].problem}")
            if time.monotonic() > deadline:
                raise JudgeError(
                    f"no replica is ready after {self._launch.start_timeout / 30:.3g} minutes; see "
                    f"--gpus-per-replica and --vllm-timeout. {self._holdings()}"
                )
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), _SECONDS_BETWEEN_LINES)
                continue
            self._say(f"  Waiting for a replica. {self._holdings()}")

    async def _start(self, seat: _Seat) -> None:
        from ray.exceptions import ActorDiedError, RayActorError

        lines: list[str] = []
        while not lines:
            try:  # this waits for a place too
                seat.host, seat.problem, lines = await _result(seat.actor.ready.remote())
                break
            except ActorDiedError as error:
                seat.problem = _words(error)
                lines = [seat.problem]
            except RayActorError:  # Ray is placing it again
                await asyncio.sleep(_TICK)
        seat.is_ready = not seat.problem
        for line in lines if seat.problem else ():
            self._say(line)
        ready = f"{len(self._ready())} of {len(self._seats)} replicas ready"
        self._say(f"{ready}; on {seat.host}: {seat.problem or 'one more'}")
        self._changed.set()

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Send one request to the least busy replica, and to one other where that is lost."""
        tried: list[_Seat] = []
        error: TransientError = UnavailableError("no replica", "none is ready")
        while len(tried) < _MOST_TRIES and (left := [s for s in self._ready() if s not in tried]):
            seat = min(left, key=lambda seat: seat.in_flight)
            tried.append(seat)
            seat.in_flight += 1
            try:
                return await self._ask(seat, body, path, mode)
            except errors.OverloadError:
                raise
            except TransientError as failure:
                error = failure
                is_lost = isinstance(error, errors.UnreachableError) or error.reason == ENDED
                if is_lost and seat.is_ready:
                    seat.is_ready = False
                    self._say(f"The replica on {seat.host} is lost ({error}); starting it again.")
                    seat.start = asyncio.create_task(self._start(seat))
                if not isinstance(error, UnavailableError) and error.reason[:6] != "status":
                    raise  # no other replica would do better
            finally:
                seat.in_flight -= 1
        raise error

    async def _ask(
        self, seat: _Seat, body: Mapping[str, Any], path: str, mode: Mode | None
    ) -> Completion:
        from ray.exceptions import RayActorError

        reply = _result(seat.actor.ask.remote(dict(body), path, mode))
        try:
            answer = await asyncio.wait_for(reply, self._launch.timeout + _SLACK)
        except TimeoutError as error:
            raise UnavailableError("timeout", f"nothing comes from {seat.host}") from error
        except RayActorError as error:
            raise UnavailableError(ENDED, _words(error)) from error
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, Completion)
        return answer

    async def aclose(self) -> None:
        """End the replicas; returns when nothing of them is left."""
        starts = [seat.start for seat in self._seats if seat.start]
        for start in starts:
            start.cancel()
        await asyncio.gather(*starts, return_exceptions=True)
        # The next to ask may do so in another event loop.
        self._lock, self._changed = asyncio.Lock(), asyncio.Event()
        await asyncio.to_thread(self._close)

    def _open(self) -> None:
        import ray

        if not ray.is_initialized():
            for name, value in _QUIET.items():
                os.environ.setdefault(name, value)
            own = {"include_dashboard": False} if self._address == LOCAL else {}
            try:
                ray.init(address=self._address, log_to_driver=False, logging_level="ERROR", **own)
            except (ConnectionError, RuntimeError, ValueError, OSError) as error:
                with suppress(RuntimeError):  # it may be half connected
                    ray.shutdown()
                raise JudgeError(
                    f"cannot join the Ray cluster at --ray-address {self._address}: {_words(error)}"
                ) from error
            self._is_joined = True
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        room = sum(int(node.get("GPU", 0)) // self._gpus for node in nodes) if self._gpus else 1
        if self._is_joined and self._address == LOCAL and not room:
            raise JudgeError(f"this machine has no room for a replica. {self._holdings()}")
        number = self._number or max(1, room)
        self.max_in_flight = number * self._launch.max_in_flight
        self._say(f"Asking Ray for {number} x {self._launch.model}. {self._holdings()}")
        # A replica without GPUs asks for one CPU, so that a machine is not given many.
        resources = {"num_gpus": self._gpus, "num_cpus": 0} if self._gpus else {"num_cpus": 1}
        how = {"max_restarts": _RESTARTS, "max_concurrency": 4096, "runtime_env": _ACTOR_ENVIRON}
        actor = ray.remote(**resources, **how, scheduling_strategy="SPREAD")(Replica)
        self._seats = [_Seat(actor.remote(*self._order)) for _ in range(number)]

    def _close(self) -> None:
        import ray

        actors, self._seats = [seat.actor for seat in self._seats], []
        if ray.is_initialized():
            if stops := [actor.stop.remote() for actor in actors]:
                ray.wait(stops, num_returns=len(stops), timeout=_PATIENCE)
            for actor in actors:
                ray.kill(actor)
            if self._is_joined:
                self._is_joined = False
                ray.shutdown()

    def _holdings(self) -> str:
        import ray

        total, free = ray.cluster_resources(), ray.available_resources()
        each = f"{self._gpus} GPUs" if self._gpus else "1 CPU"
        parts = (f"{free.get(k, 0):g} of {total.get(k, 0):g} {k}s free" for k in ("GPU", "CPU"))
        return f"Each asks for {each}, and the cluster has {' and '.join(parts)}."


def _result(reference: Any) -> Awaitable[Any]:  # noqa: ANN401 - Ray's own types have no names
    return asyncio.wrap_future(reference.future())


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:300]

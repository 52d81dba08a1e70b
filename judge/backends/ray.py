"""The judge `ray:MODEL`: the model of `vllm:MODEL`, as several replicas on a Ray cluster.

Each replica is an actor that starts vLLM on its node and asks it there; no port is opened between
nodes.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

from pydantic import Field

from judge.backends import local, vllm
from judge.backends.base import AskError, Judge, JudgeSettings, RefusedError, UnavailableError
from judge.backends.local import ModelFiles
from judge.backends.servers import CHAT, Servers
from judge.backends.structured import Mode
from judge.backends.vllm import Launch, Server, VLLMOptions
from judge.plugins import install
from judge.rubrics import Rubric
from judge.types import Completion, JudgeError

KIND = "ray"
LOCAL = "local"
_RESTARTS = 2
# How many seconds a replica may take to end its vLLM, and those between two lines of progress.
_PATIENCE, _PAUSE = 20.0, 15.0
# Ray kills an actor's children with it, the guard first, who could then no longer see to the rest.
_ACTOR_ENVIRON = {"env_vars": {"RAY_kill_child_processes_on_worker_exit": "0"}}
# No usage reports, no dashboard, where Ray starts something of its own.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
# What of the driver's environment a node's vLLM gets: its own paths and devices stay its own.
_PASSED = frozenset({"HF_TOKEN", "HF_ENDPOINT", "HF_HUB_OFFLINE", "JUDGE_VLLM", "OMP_NUM_THREADS"})
_UNITS = ("GPU", "CPU")
_SPREADS = (("tensor", "-tp"), ("pipeline", "-pp"), ("data", "-dp"))


class RayOptions(VLLMOptions):
    """What `ray:` alone takes."""

    ray_address: str | None = None
    ray_replicas: int | None = Field(None, ge=1)
    gpus_per_replica: int | None = Field(None, ge=0)


def load(model: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the judge `ray:MODEL`, whose version and cached answers are those of `vllm:MODEL`."""
    if find_spec("ray") is None:
        raise JudgeError(f"Ray is not installed: {install('ray')} here and on every node")
    taken = RayOptions.read(settings, f"{KIND}:{model}")
    flags = vllm.read_flags(taken.vllm_args)
    gpus = taken.gpus_per_replica
    if gpus is None:
        gpus = prod(
            vllm.copies(flags, f"--{name}-parallel-size", short) for name, short in _SPREADS
        )
    address = taken.ray_address or settings.environ.get("RAY_ADDRESS") or LOCAL
    if "://" in address:
        raise JudgeError(
            f"--server address={address}: run judge in the cluster, with HOST:6379 or auto"
        )

    def launcher(files: ModelFiles, launch: Launch) -> Servers:
        launch = replace(launch, environ=passed(settings.environ))
        version = None if files.commit else files.version
        return Replicas(launch, version, address, taken.ray_replicas, gpus, settings.say)

    return vllm.served(model, rubric, settings, KIND, flags, launcher)


def passed(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what of the driver's environment a replica's vLLM gets; no other key than HF's."""
    return {
        name: value
        for name, value in environ.items()
        if name in _PASSED or (name.startswith("VLLM_") and name != "VLLM_API_KEY")
    }


class Replica:
    """The actor: one vLLM on one node. It returns errors as values."""

    def __init__(self, launch: Launch, version: str | None) -> None:
        environ = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
        log, environ = vllm.new_log(KIND), environ | dict(launch.environ)
        self._launch, self._version = replace(launch, log=log, environ=environ), version
        self._server: Server | None = None

    async def ready(self) -> tuple[str, str]:
        """Return the host, and why vLLM cannot be asked there, "" where it can."""
        host = socket.gethostname()
        try:
            if self._server is None:
                await asyncio.to_thread(self._check_folder, self._launch.model)
                self._server = Server(self._launch, lambda _text: None)
            await self._server.ready()
        except JudgeError as error:
            return host, str(error)
        return host, ""

    async def ask(
        self, body: Mapping[str, Any], path: str, mode: Mode | None
    ) -> Completion | Exception:
        """Return the answer to a request, or what `Server.ask` raises."""
        if self._server is None:  # Ray has placed it anew
            return UnavailableError("connection")
        try:
            return await self._server.ask(body, path, mode)
        except (AskError, RefusedError, JudgeError) as error:
            # That it has ended once too often is the replica's end, not the run's.
            is_end = error is self._server.failure
            return UnavailableError("connection", str(error)) if is_end else error

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


@dataclass(eq=False, repr=False)
class Replicas(Servers):
    """Actors that each start a vLLM on their node; the least busy gets the next request.

    Ray restarts an actor twice, and an actor its vLLM once; `number` None fills the cluster.
    """

    launch: Launch
    version: str | None
    address: str
    number: int | None
    gpus: int
    say: Callable[[str], None]
    _seats: list[_Seat] = field(init=False, default_factory=list)
    _lock: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    _changed: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _is_joined: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        # How many GPUs there are is known later; what is too much waits in the replicas.
        self.starts = ("ray", self.address, self.launch.model, *self.launch.flags.items())
        self.max_in_flight = (self.number or (8 if self.gpus else 1)) * self.launch.max_in_flight

    def _ready(self) -> list[_Seat]:
        return [seat for seat in self._seats if seat.is_ready]

    async def ready(self) -> None:
        """Return when a replica can be asked; raises `JudgeError` where none will be."""
        async with self._lock:
            if not self._seats:
                await asyncio.to_thread(self._open)
                if threading.current_thread() is threading.main_thread():
                    # Ray's own handler ends the process with a trace.
                    handler = signal.getsignal(signal.SIGTERM) or signal.SIG_DFL
                    signal.signal(signal.SIGTERM, handler)
            for seat in self._seats:
                if not seat.is_ready and not seat.problem and seat.start is None:
                    seat.start = asyncio.create_task(self._start(seat))
            deadline = time.monotonic() + 2 * self.launch.start_timeout  # as long for a place
            while not self._ready():
                self._changed.clear()
                if time.monotonic() > deadline:
                    raise JudgeError(f"no replica has found its place. {self._holdings()}")
                if all(seat.problem for seat in self._seats):
                    raise JudgeError(f"no replica can be asked: {self._seats[0].problem}")
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), _PAUSE)
                    continue
                self.say(f"  Waiting for a replica. {self._holdings()}")

    async def _start(self, seat: _Seat) -> None:
        from ray.exceptions import RayActorError

        try:  # this waits for a place too, and for another where the actor dies
            start = seat.actor.ready.options(max_task_retries=-1).remote()
            seat.host, seat.problem = await start
        except RayActorError as error:
            seat.problem = _words(error)
        seat.is_ready = not seat.problem
        ready = f"{len(self._ready())} of {len(self._seats)} replicas ready"
        self.say(f"{ready}; on {seat.host}: {seat.problem or 'one more'}")
        self._changed.set()

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Send one request to the least busy replica."""
        from ray.exceptions import RayActorError

        if not (seats := self._ready()):
            raise UnavailableError("no replica", "none is ready")
        seat = min(seats, key=lambda seat: seat.in_flight)
        seat.in_flight += 1
        try:
            reply = await seat.actor.ask.remote(dict(body), path, mode)
        except RayActorError as error:
            reply = UnavailableError("connection", _words(error))
        finally:
            seat.in_flight -= 1
        if isinstance(reply, Completion):
            return reply
        is_lost = isinstance(reply, UnavailableError) and reply.reason == "connection"
        if is_lost and seat.is_ready:
            seat.is_ready = False
            self.say(f"The replica on {seat.host} is lost ({reply}); starting it again.")
            seat.start = asyncio.create_task(self._start(seat))
        raise reply

    def _open(self) -> None:
        import ray

        is_own = self.address == LOCAL and not ray.is_initialized()
        if not ray.is_initialized():
            for name, value in _QUIET.items():
                os.environ.setdefault(name, value)
            options = {"log_to_driver": False, "logging_level": "ERROR"}
            try:
                ray.init(
                    self.address, **options, **({"include_dashboard": False} if is_own else {})
                )
            except (ConnectionError, RuntimeError, ValueError, OSError) as error:
                with suppress(RuntimeError):  # it may be half connected
                    ray.shutdown()
                raise JudgeError(
                    f"cannot join the Ray cluster at {self.address}: {_words(error)}"
                ) from error
            self._is_joined = True
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        room = sum(int(node.get("GPU", 0)) // self.gpus for node in nodes) if self.gpus else 1
        if is_own and not room:
            raise JudgeError(f"this machine has no room for a replica. {self._holdings()}")
        number = self.number or max(1, room)
        self.max_in_flight = number * self.launch.max_in_flight
        self.say(f"Asking Ray for {number} x {self.launch.model}. {self._holdings()}")
        # A replica without GPUs asks for one CPU, so that a machine is not given many.
        resources = {"num_gpus": self.gpus, "num_cpus": 0} if self.gpus else {"num_cpus": 1}
        how = {"max_restarts": _RESTARTS, "max_concurrency": 4096, "runtime_env": _ACTOR_ENVIRON}
        actor = ray.remote(**resources, **how, scheduling_strategy="SPREAD")(Replica)
        self._seats = [_Seat(actor.remote(self.launch, self.version)) for _ in range(number)]

    async def aclose(self) -> None:
        """End the replicas, unless they stay for the next judge."""
        for seat in self._seats:
            if seat.start:
                seat.start.cancel()
                seat.start = None
        # The next to ask may do so in another event loop.
        self._lock, self._changed = asyncio.Lock(), asyncio.Event()
        if not self.stays:
            await asyncio.to_thread(self.stop)

    def stop(self) -> None:
        """End the replicas; returns when nothing of them is left."""
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
        has = " and ".join(f"{total.get(k, 0):g} {k}s ({free.get(k, 0):g} free)" for k in _UNITS)
        return f"Each takes {f'{self.gpus} GPUs' if self.gpus else '1 CPU'}; the cluster has {has}."


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:300]

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
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from judge.backends import local, vllm
from judge.backends.base import (
    CHAT,
    AskError,
    Judge,
    JudgeSettings,
    Mode,
    RefusedError,
    Servers,
    UnavailableError,
)
from judge.backends.vllm import Launch, Server
from judge.plugins import install
from judge.rubrics import Rubric
from judge.types import Completion, JudgeError

KIND = "ray"
LOCAL = "local"
# How many seconds a replica may take to end its vLLM.
_PATIENCE = 20.0
# What of the driver's environment a node's vLLM gets: its own paths and devices stay its own.
_PASSED = ("HF_", "VLLM_CPU_", "JUDGE_VLLM")
# Ray kills an actor's children with it, the guard among them, who sees to the rest.
_ACTOR_ENVIRON = {"env_vars": {"RAY_kill_child_processes_on_worker_exit": "0"}}


def load(model: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the judge `ray:MODEL`, whose version and cached answers are those of `vllm:MODEL`."""
    if find_spec("ray") is None:
        raise JudgeError(f"Ray is not installed: {install('ray')} here and on every node")
    flags = vllm.flags_of(settings.options)
    address = flags.pop("--address", settings.environ.get("RAY_ADDRESS")) or LOCAL
    if "://" in address:
        raise JudgeError(
            f"--server address={address}: run judge in the cluster, with HOST:6379 or auto"
        )
    number, gpus = flags.pop("--replicas", "0"), flags.pop("--gpus-per-replica", "1")
    if not (number.isdecimal() and gpus.isdecimal()):
        raise JudgeError("--server: write replicas=N and gpus-per-replica=N with a whole number")
    n = int(number)
    start = partial(Replicas, address=address, number=n, gpus=int(gpus), say=settings.say)
    return vllm.served(model, rubric, settings, KIND, flags, start)


def passed(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what of the driver's environment a replica's vLLM gets; no other key than HF's."""
    return {name: environ[name] for name in environ if name.startswith(_PASSED)}


class Replica:
    """The actor: one vLLM on one node. It returns errors as values.

    `version` is that of the model's folder where judge runs, None for a name on the hub.
    """

    def __init__(self, launch: Launch, version: str | None) -> None:
        environ = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
        self._launch = replace(launch, environ=environ | dict(launch.environ))
        self._version = version

    async def ready(self) -> tuple[str, str]:
        """Return the host, and why vLLM cannot be asked there, "" where it can."""
        host, model = socket.gethostname(), self._launch.model
        try:
            if self._version and self._version != local.find(model, {}).version:
                return host, f"the folder {model} holds another model than where judge runs"
            self._server = Server(self._launch, lambda _text: None)
            await self._server.ready()
        except JudgeError as error:
            return host, str(error)
        return host, ""

    async def ask(
        self, body: Mapping[str, Any], path: str, mode: Mode | None
    ) -> Completion | Exception:
        """Return the answer to a request, or what `Server.ask` raises."""
        try:
            return await self._server.ask(body, path, mode)
        except (AskError, RefusedError, JudgeError) as error:
            return error

    async def stop(self) -> None:
        """End vLLM; returns when nothing of it is left."""
        await self._server.aclose()


@dataclass(eq=False, repr=False)
class Replicas(Servers):
    """Actors that each start a vLLM on their node, asked in turn; one that is lost is left out.

    `number` 0 fills the cluster.
    """

    launch: Launch
    address: str
    number: int
    gpus: int
    say: Callable[[str], None]
    _actors: list[Any] = field(init=False, default_factory=list)
    _turn: deque[Any] = field(init=False, default_factory=deque)
    _lock: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    _is_joined: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        # How many GPUs there are is known later; what is too much waits in the replicas.
        self.max_in_flight = (self.number or (8 if self.gpus else 1)) * self.launch.max_in_flight

    async def ready(self) -> None:
        """Return when a replica can be asked; raises `JudgeError` where none will be."""
        async with self._lock:
            if not self._actors:
                await asyncio.to_thread(self._open)
                if threading.current_thread() is threading.main_thread():
                    # Ray's own handler ends the process with a trace.
                    handler = signal.getsignal(signal.SIGTERM) or signal.SIG_DFL
                    signal.signal(signal.SIGTERM, handler)
            if not self._turn:
                problems = await asyncio.gather(*map(self._start, self._actors))
                if not self._turn:
                    raise JudgeError(f"no replica can be asked: {problems[0]}")

    async def _start(self, actor: Any) -> str:  # noqa: ANN401 - Ray's
        from ray.exceptions import RayActorError

        problem: str
        try:  # this waits for a place too
            host, problem = await actor.ready.remote()
        except RayActorError as error:
            host, problem = "no node", _words(error)
        if not problem:
            self._turn.append(actor)
        ready = f"{len(self._turn)} of {len(self._actors)} replicas ready"
        self.say(f"{ready}; on {host}: {problem or 'one more'}")
        return problem

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Send one request to the next replica."""
        from ray.exceptions import RayActorError

        actor = self._turn[0]
        self._turn.rotate(-1)
        try:
            reply = await actor.ask.remote(dict(body), path, mode)
        except RayActorError as error:
            reply = JudgeError(f"a replica has ended ({_words(error)}); the same command goes on")
        if isinstance(reply, JudgeError) and [*self._turn] != [actor]:
            if actor in self._turn:
                self._turn.remove(actor)
                self.say(f"A replica is lost ({reply}); left: {len(self._turn)}.")
            reply = UnavailableError("connection", str(reply))
        if isinstance(reply, Completion):
            return reply
        raise reply

    def _open(self) -> None:
        import ray

        if not ray.is_initialized():
            for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):
                os.environ.setdefault(name, "0")  # no reports home, no warning about devices
            # A cluster that runs has its dashboard or none.
            more = {"include_dashboard": False} if self.address == LOCAL else {}
            try:
                ray.init(self.address, log_to_driver=False, logging_level="ERROR", **more)
            except (ConnectionError, RuntimeError, ValueError, OSError) as error:
                with suppress(RuntimeError):  # it may be half connected
                    ray.shutdown()
                raise JudgeError(
                    f"cannot join the Ray cluster at {self.address}: {_words(error)}"
                ) from error
            self._is_joined = True
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        room = sum(int(node.get("GPU", 0)) // self.gpus for node in nodes) if self.gpus else 1
        number = self.number or room
        if not number:
            raise JudgeError(
                f"no node of the cluster has {self.gpus} GPUs: --server replicas=N waits for N "
                "such places, gpus-per-replica=0 serves without a GPU"
            )
        self.max_in_flight = number * self.launch.max_in_flight
        self.say(f"Asking Ray for {number} x {self.launch.model}.")
        # A replica without GPUs asks for one CPU, so that a machine is not given many.
        resources = {"num_gpus": self.gpus, "num_cpus": 0} if self.gpus else {"num_cpus": 1}
        how = {"max_concurrency": 4096, "runtime_env": _ACTOR_ENVIRON}
        actor = ray.remote(**resources, **how, scheduling_strategy="SPREAD")(Replica)
        launch = replace(self.launch, environ=passed(self.launch.environ))
        is_folder = Path(launch.model).is_dir()
        version = local.find(launch.model, {}).version if is_folder else None
        self._actors = [actor.remote(launch, version) for _ in range(number)]

    async def aclose(self) -> None:
        """End the replicas."""
        self._lock = asyncio.Lock()  # the next to ask may do so in another event loop
        await asyncio.to_thread(self.stop)

    def stop(self) -> None:
        """End the replicas; returns when nothing of them is left."""
        import ray

        actors, self._actors, self._turn = self._actors, [], deque()
        if ray.is_initialized():
            if stops := [actor.stop.remote() for actor in actors]:
                ray.wait(stops, num_returns=len(stops), timeout=_PATIENCE)
            for actor in actors:
                ray.kill(actor)
            if self._is_joined:
                self._is_joined = False
                ray.shutdown()


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:300]

"""The judge `ray:MODEL`: the model of `vllm:MODEL`, as an application of Ray Serve on a cluster.

The application is that of `ray.serve.llm`: Ray replaces replicas that are lost, scales and routes.
It is asked over HTTP on this machine, by the client of all OpenAI-compatible servers.
"""

from __future__ import annotations

import asyncio
import http.client
import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from judge import jsonio
from judge.backends import local, ray_app, vllm
from judge.backends.base import (
    CHAT,
    Judge,
    JudgeSettings,
    Mode,
    OverloadError,
    Servers,
    TransientError,
    UnavailableError,
    UnreadableReplyError,
)
from judge.backends.connection import NO_KEY, Connection, Pool
from judge.backends.openai import connect
from judge.backends.vllm import IN_FLIGHT, Launch
from judge.plugins import install
from judge.rubrics import Rubric
from judge.types import Completion, JudgeError

KIND = "ray"
LOCAL = "local"
SERVE = f"{ray_app.LOOPBACK}:8000"
"""Where Ray Serve listens if nobody has said otherwise."""
# How many seconds it may take until an application has ended, and until one that runs is routed.
# Less than a minute: of a cluster that is gone, Ray ends the process after one.
_PATIENCE, _ROUTED = 30.0, 30.0
# Seconds between two looks at how the application is: before it can be asked, and afterwards.
_TICK, _LOOK = 1.0, 5.0
# How Ray begins what it says of an actor that died.
_DIED = "The actor died unexpectedly before finishing this task."
# What of the driver's environment a node's vLLM gets: its own paths and devices stay its own.
_PASSED = ("HF_", "VLLM_CPU_", "VLLM_BATCH_INVARIANT")
BALANCED, PREFIX = "balanced", "prefix"
"""How Ray chooses a replica: the less busy of two, or the one that has seen the same beginning."""
# Arguments of vLLM that are texts, also where they look like numbers.
_TEXTS = (
    "revision",
    "code_revision",
    "tokenizer_revision",
    "tokenizer",
    "quantization",
)


def load(model: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the judge `ray:MODEL`, whose version and cached answers are those of `vllm:MODEL`."""
    flags = vllm.flags_of(settings.options)
    application = flags.pop("--application", None)
    if application is not None:
        settings = replace(settings, base_url=_address_of(application, flags, settings))
        flags = {}
    if settings.base_urls:
        return vllm.served(
            model, rubric, settings, KIND, flags, partial(_started, settings, {})
        )
    if find_spec("ray") is None:
        raise JudgeError(
            f"Ray is not installed: {install('ray')} here and on every node"
        )
    names = ("--address", "--replicas", "--gpus-per-replica", "--http", "--routing")
    asked = {name: flags.pop(name) for name in names if name in flags}
    if settings.environ.get(vllm.EXECUTABLE, "").strip():
        settings.say(
            f"{vllm.EXECUTABLE} is not used: Ray starts the vLLM of the nodes' Python."
        )
    return vllm.served(
        model, rubric, settings, KIND, flags, partial(_started, settings, asked)
    )


def _address_of(
    application: str, flags: Mapping[str, str], settings: JudgeSettings
) -> str:
    """Return the base URL of an application of Serve that runs already, by its name."""
    others = sorted(flags.keys() - {"--http"})
    if others or settings.base_urls:
        other = others[0].lstrip("-") if others else "--base-url"
        raise JudgeError(
            f"--server application={application} runs already: leave out {other}, or application"
        )
    place = flags.get("--http", SERVE)
    prefix = ""
    if settings.sends:
        applications = {name: prefix for prefix, name in _routes(place).items()}
        if application not in applications:
            known = ", ".join(sorted(applications)) or "none"
            raise JudgeError(
                f"Ray Serve at {place} has no application {application!r}; there are: {known}"
            )
        prefix = applications[application].rstrip("/")
    return f"http://{place}{prefix}/v1"


def _routes(place: str) -> dict[str, str]:
    """Return the path of each application of the Serve at HOST:PORT, and the application's name."""
    host, _, port = place.rpartition(":")
    if not host or not port.isdecimal():
        raise JudgeError(
            f"--server http={place}: write HOST:PORT, where Ray Serve listens"
        )
    with closing(
        http.client.HTTPConnection(host.strip("[]"), int(port), timeout=10.0)
    ) as connection:
        try:
            connection.request("GET", "/-/routes")
            answer = jsonio.read(connection.getresponse().read())
        except (OSError, http.client.HTTPException, jsonio.JsonError) as error:
            raise JudgeError(
                f"Ray Serve does not answer at {place} ({_words(error)}): name its address with "
                "--server http=HOST:PORT"
            ) from error
    if not isinstance(answer, dict):
        raise JudgeError(
            f"what answers at {place} is not Ray Serve: it has no list of routes"
        )
    return {str(prefix): str(name) for prefix, name in answer.items()}


def _started(
    settings: JudgeSettings, asked: Mapping[str, str], launch: Launch
) -> Servers:
    """Return the servers that are started as `--server` asks."""
    address = asked.get("--address") or settings.environ.get("RAY_ADDRESS") or LOCAL
    if "://" in address:
        raise JudgeError(
            f"--server address={address}: run judge in the cluster, with HOST:6379 or auto"
        )
    routing = asked.get("--routing", BALANCED)
    if routing not in (BALANCED, PREFIX):
        raise JudgeError(f"--server routing={routing}: write {BALANCED} or {PREFIX}")
    if ":" in launch.model:
        raise JudgeError(
            f"the folder {launch.model} has a colon in its path, which Ray Serve takes for the "
            "name of an adapter; rename it"
        )
    return Application(
        launch=launch,
        address=address,
        replicas=_replicas(asked.get("--replicas")),
        gpus=_gpus(launch.flags, asked.get("--gpus-per-replica")),
        place=asked.get("--http", SERVE),
        is_routed_by_prefix=routing == PREFIX,
        say=settings.say,
    )


def _replicas(asked: str | None) -> tuple[int, int] | None:
    """Return the least and the most replicas that there may be; None to fill the cluster."""
    if asked is None:
        return None
    least, dash, most = asked.partition("-")
    if not dash:
        most = least
    if not (least.isdecimal() and most.isdecimal() and 0 < int(least) <= int(most)):
        raise JudgeError(
            f"--server replicas={asked}: write a whole number from 1, or two such as 1-8 between "
            "which Ray chooses"
        )
    return int(least), int(most)


def _gpus(flags: Mapping[str, str], asked: str | None) -> int:
    """Return how many GPUs a replica has: those that it is spread over, or none if asked."""
    if copies := [flag for flag in flags if flag.startswith("--data-parallel")]:
        raise JudgeError(f"{copies[0]}: on Ray, write --server replicas=N instead")
    taken = 1
    for flag in ("--tensor-parallel-size", "--pipeline-parallel-size"):
        size = flags.get(flag, "1")
        if not size.isdecimal() or int(size) < 1:
            raise JudgeError(f"{flag}={size}: write a whole number from 1")
        taken *= int(size)
    if asked is None:
        return taken
    if asked == "0":
        return 0
    if asked != str(taken):
        raise JudgeError(
            f"--server gpus-per-replica={asked}: a replica takes tensor-parallel-size times "
            f"pipeline-parallel-size GPUs, here {taken}; write that, or 0 to serve without a GPU"
        )
    return taken


def passed(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what of the driver's environment a replica's vLLM gets; no other key than HF's."""
    found = {name: environ[name] for name in environ if name.startswith(_PASSED)}
    return {**found, "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}


def arguments(flags: Mapping[str, str]) -> dict[str, Any]:
    """Return the flags of `vllm serve` as the arguments of vLLM's engine that they stand for.

    A flag without a value is true (`no-` before it: false), a value is read as JSON where it is
    that, and what follows a dot is a key of a JSON value.
    """
    found: dict[str, Any] = {}
    for flag, text in flags.items():
        name, *keys = flag.removeprefix("--").split(".")
        name = name.replace("-", "_")
        value: Any = text
        if not text:
            value = not name.startswith("no_")
            name = name.removeprefix("no_")
        elif name not in _TEXTS:
            with suppress(jsonio.JsonError):
                value = jsonio.read(text)
        if not keys:
            found[name] = value
            continue
        inner = found.setdefault(name, {})
        for key in keys[:-1]:
            inner = inner.setdefault(key, {})
        inner[keys[-1]] = value
    return found


@dataclass(eq=False, repr=False, kw_only=True)
class Application(Servers):
    """An application of Ray Serve that is started for a run and ends with it.

    Attributes:
        address: The cluster's address; `local` for one of our own.
        replicas: The least and the most replicas; None fills the cluster.
        gpus: How many GPUs a replica has; 0 for none.
        place: Where the Serve listens that runs already, HOST:PORT; unused where none runs.
        is_routed_by_prefix: Whether questions that begin alike go to one replica.
    """

    launch: Launch
    address: str
    replicas: tuple[int, int] | None
    gpus: int
    place: str
    is_routed_by_prefix: bool
    say: Callable[[str], None]
    _name: str = field(init=False, default="")
    _steward: Any = field(init=False, default=None)
    _pulse: Any = field(init=False, default=None)
    _pool: Pool | None = field(init=False, default=None)
    _observer: asyncio.Task[None] | None = field(init=False, default=None)
    _running: int = field(init=False, default=0)
    _failure: JudgeError | None = field(init=False, default=None)
    _lock: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    _is_joined: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        # How many GPUs there are is known later; what is too much waits in the replicas.
        number = self.replicas[1] if self.replicas else (8 if self.gpus else 1)
        self.max_in_flight = number * IN_FLIGHT

    async def ready(self) -> None:
        """Return when a replica can be asked; raises `JudgeError` where none will be."""
        async with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._pool is not None:
                return
            try:
                place = await asyncio.to_thread(self._open)
                await self._wait(place)
            except JudgeError as error:
                self._failure = error
                await asyncio.to_thread(self.stop)
                raise
            except BaseException:  # cancelled
                await asyncio.to_thread(self.stop)
                raise
            connection = Connection(
                f"http://{place}/{self._name}/v1", self.launch.timeout
            )
            self._pool = Pool(
                [(connection, NO_KEY)], self.launch.model, self.say, connect
            )
            self._observer = asyncio.create_task(self._observe())

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Send one request to the application, which has it answered by one of its replicas."""
        await self.ready()
        assert self._pool is not None
        try:
            return await self._pool.ask(body, path, mode)
        except (OverloadError, UnreadableReplyError, UnavailableError):
            raise
        except TransientError as error:
            # A replica that is lost, or is about to be, says nothing about the question.
            raise UnavailableError(error.reason, error.detail) from error

    async def aclose(self) -> None:
        """Close the connections and end the application."""
        self._lock = asyncio.Lock()  # the next to ask may do so in another event loop
        self._failure = None
        observer, self._observer = self._observer, None
        pool, self._pool = self._pool, None
        try:
            if observer is not None:
                observer.cancel()
            if pool is not None:
                await pool.aclose()
        finally:
            await asyncio.to_thread(self.stop)

    def stop(self) -> None:
        """End the application; returns when nothing of it is left."""
        steward, self._steward = self._steward, None
        pulse, self._pulse = self._pulse, None
        if not self._name:
            return
        import ray

        self._name, self._running = "", 0
        if not ray.is_initialized():
            return
        if steward is not None:
            with suppress(ray.exceptions.RayError):
                ray.get(steward.end.remote(), timeout=_PATIENCE)
            for actor in (steward, pulse):
                ray.kill(actor)
        if self._is_joined:
            self._is_joined = False
            ray.shutdown()

    def _open(self) -> str:
        """Have the application started; returns where it will be, HOST:PORT."""
        import ray
        from ray import cloudpickle

        self._name = f"judge-{secrets.token_hex(6)}"
        self._join()
        order = self._order()
        self.max_in_flight = order["replicas"][1] * IN_FLIGHT
        self.say(f"Asking Ray for {_count(order['replicas'])} x {self.launch.model}.")
        # Both as they are here: judge may be missing on the nodes, or be another version.
        by_value = (ray_app, local)
        for module in by_value:
            cloudpickle.register_pickle_by_value(module)
        try:
            self._pulse = ray.remote(num_cpus=0)(ray_app.Pulse).remote()
            steward = ray.remote(
                num_cpus=0,
                resources={
                    "node:__internal_head__": 0.001
                },  # it lives as long as the cluster
                lifetime="detached",
                name=f"{self._name}-steward",
                namespace=self._name,
                max_concurrency=8,
            )(ray_app.Steward)
            self._steward = steward.remote(self._name, self._pulse)
            place: str = ray.get(self._steward.start.remote(order, ray_app.build))
        except ray.exceptions.RayError as error:
            cause = why_actor_died(str(error)) or vllm.log_cause(str(error).encode())
            raise JudgeError(
                f"Ray does not start {self.launch.model}: {cause}"
            ) from error
        finally:
            for module in by_value:
                cloudpickle.unregister_pickle_by_value(module)
        return place or self.place

    def _join(self) -> None:
        import ray

        if ray.is_initialized():
            return
        for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):
            os.environ.setdefault(
                name, "0"
            )  # no reports home, no warning about devices
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

    def _order(self) -> ray_app.Order:
        """Return what the cluster is to serve."""
        import ray

        launch = self.launch
        folder = Path(launch.model)
        return {
            "served_as": launch.model,
            "source": launch.model,
            "engine": arguments(launch.flags),
            "environ": passed(launch.environ),
            "gpus": self.gpus,
            "replicas": self.replicas or self._room(),
            "in_flight": IN_FLIGHT,
            "is_routed_by_prefix": self.is_routed_by_prefix,
            "digest": local.digest(folder) if folder.is_dir() else "",
            "digest_of": local.digest,
            "node": ray.get_runtime_context().get_node_id(),
            "port": _free_port(),
        }

    def _room(self) -> tuple[int, int]:
        """Return how many replicas the cluster has room for, as the least and the most."""
        import ray

        if not self.gpus:
            return 1, 1
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if any(node.get("GPU", 0) >= self.gpus for node in nodes):
            number = sum(int(node.get("GPU", 0)) // self.gpus for node in nodes)
            return number, number
        raise JudgeError(
            f"no node of the cluster has {self.gpus} GPUs: --server replicas=N waits for N such "
            "places, gpus-per-replica=0 serves without a GPU"
        )

    async def _wait(self, place: str) -> None:
        """Return when the application can be asked; raises `JudgeError` where it will not be."""
        if threading.current_thread() is threading.main_thread():
            # Ray's own handler ends the process with a trace.
            handler = signal.getsignal(signal.SIGTERM) or signal.SIG_DFL
            signal.signal(signal.SIGTERM, handler)
        asked_since: float | None = None
        while True:
            is_askable, status, trouble = await asyncio.to_thread(self._look)
            if status in ("", "DEPLOY_FAILED"):
                raise JudgeError(
                    f"no replica can be asked: {_cause(trouble)} (see docs/gpu.md)"
                )
            if is_askable:
                now = time.monotonic()
                asked_since = asked_since or now
                try:
                    routes = await asyncio.to_thread(_routes, place)
                except JudgeError:
                    if now - asked_since > _ROUTED:
                        raise
                    routes = {}
                if self._name in routes.values():
                    return
                if now - asked_since > _ROUTED:
                    raise JudgeError(
                        f"the Ray Serve at {place} is not that of this cluster: name the address "
                        "of the one that is with --server http=HOST:PORT"
                    )
            await asyncio.sleep(_TICK)

    def _look(self) -> tuple[bool, str, str]:
        """Say how many replicas run where that has changed; returns the rest of the state."""
        import ray

        try:
            running, is_askable, status, trouble = ray.get(
                self._steward.state.remote(), timeout=_PATIENCE
            )
        except ray.exceptions.RayError as error:
            cause = why_actor_died(str(error)) or _words(error)
            raise JudgeError(f"the Ray cluster is lost: {cause}") from error
        if running != self._running:
            least, most = self.replicas or (1, 1)
            is_lost = (
                running < self._running and least == most
            )  # else Ray may need fewer
            lost = "A replica is lost; Ray starts another. " if is_lost else ""
            self.say(f"{lost}Replicas that are ready: {running}.")
            self._running = running
        return is_askable, status, trouble

    async def _observe(self) -> None:
        """Say when a replica is lost and when it is back."""
        while True:
            await asyncio.sleep(_LOOK)
            with suppress(JudgeError):  # whoever asks finds out, too
                await asyncio.to_thread(self._look)


def why_actor_died(error: str) -> str:
    """Return why an actor died, which Ray says after the details of the actor; else ""."""
    for line in error.partition(_DIED)[2].splitlines():
        if line.strip() and not line.startswith("\t"):
            return " ".join(line.split())[:300]
    return ""


def _cause(trouble: str) -> str:
    """Return the error in what Serve says of a replica that did not start."""
    cause = vllm.log_cause(trouble.encode())
    return f"{cause}; Ray keeps the replicas' logs in /tmp/ray/session_latest/logs on their nodes"


def _count(replicas: tuple[int, int]) -> str:
    least, most = replicas
    return str(most) if least == most else f"{least} to {most}"


def _free_port() -> int:
    with socket.create_server((ray_app.LOOPBACK, 0)) as free:
        port: int = free.getsockname()[1]
        return port


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:300]

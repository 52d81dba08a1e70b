"""The Ray cluster: joining it, what it has, and leaving it."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec

from judge.distribution import install
from judge.types import JudgeError

LOCAL = "local"
_CLIENT = "ray://"
_PROBE_TIMEOUT = 5.0
# Ray reads these when it starts something of its own: no usage reports, no dashboard's chatter.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where replicas are wanted, how many (None: as many as there is room for), and on what.

    A replica without GPUs asks for one CPU, so that a machine is not given many.
    """

    address: str = LOCAL
    replicas: int | None = None
    gpus: int = 1

    @property
    def resources(self) -> dict[str, int]:
        """What Ray sets aside for one replica, by Ray's names."""
        return {"num_gpus": self.gpus, "num_cpus": 0} if self.gpus else {"num_cpus": 1}

    @property
    def each(self) -> str:
        """The same in words."""
        return f"{self.gpus} GPU{'s' * (self.gpus > 1)}" if self.gpus else "1 CPU"


def check_installed() -> None:
    """Raise `JudgeError` where Ray is not installed."""
    if find_spec("ray") is None:
        raise JudgeError(f"Ray is not installed: {install('ray')} here and on every node")


def address_of(given: str | None, environ: Mapping[str, str]) -> str:
    """Return the cluster's address: as given, else as RAY_ADDRESS has it, else `LOCAL`."""
    address = (given or environ.get("RAY_ADDRESS", "")).strip() or LOCAL
    name = "--ray-address" if given else "RAY_ADDRESS"
    if address.startswith(_CLIENT):
        raise JudgeError(
            f"{name} {address} is for Ray's client: run judge in the cluster with HOST:6379 or auto"
        )
    if "://" in address:
        raise JudgeError(f"{name} {address} is no address of a cluster; write HOST:6379 or auto")
    return address


def join(address: str) -> bool:
    """Connect this process to the cluster; returns whether it is to be left again."""
    import ray

    if ray.is_initialized():
        return False
    _probe(address)
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    local = {"include_dashboard": False} if address == LOCAL else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **local)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        # It may be half connected.
        with suppress(RuntimeError):
            ray.shutdown()
        said = " ".join(str(error).split())[:400]
        raise JudgeError(f"cannot join the Ray cluster {address}: {said}") from error
    return True


def take_back_sigterm() -> None:
    """Have SIGTERM handled as before `join`, which has Ray die of it with a trace."""
    if threading.current_thread() is threading.main_thread():
        handler = signal.getsignal(signal.SIGTERM)
        if handler is not None:  # None: not Python's, which nobody here has set
            signal.signal(signal.SIGTERM, handler)


def room_for(gpus: int) -> int:
    """Return how many replicas with so many GPUs each the nodes of now have room for."""
    import ray

    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return sum(int(node.get("GPU", 0)) // gpus for node in nodes) if gpus else 1


def holdings() -> str:
    """Return what the cluster has in words: `8 GPUs and 64 CPUs on 2 nodes (0 and 12 free)`."""
    import ray

    total, free = ray.cluster_resources(), ray.available_resources()
    nodes = sum(1 for node in ray.nodes() if node["Alive"])
    has, left = ([each.get(name, 0) for name in ("GPU", "CPU")] for each in (total, free))
    return (
        f"{has[0]:g} GPUs and {has[1]:g} CPUs on {nodes} node{'s' * (nodes != 1)} "
        f"({left[0]:g} and {left[1]:g} free)"
    )


def _probe(address: str) -> None:
    host, colon, port = address.rpartition(":")
    if not colon:  # local, auto
        return
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _PROBE_TIMEOUT):
            return
    except (OSError, ValueError, OverflowError) as error:
        raise JudgeError(f"no Ray cluster answers at --ray-address {address} ({error})") from error

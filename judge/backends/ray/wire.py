"""What goes from the driver to a replica and comes back: plain values, errors among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from judge.backends.errors import StudyError, TransientError, UnreadableReplyError
from judge.backends.replies import RefusedError

# What of the driver's environment a node's vLLM is to know: its own paths and devices stay its own.
# These are among what vLLM copies by itself where it uses Ray (vllm/ray/ray_env.py of 0.32).
_PASSED = frozenset({"HF_TOKEN", "HF_ENDPOINT", "HF_HUB_OFFLINE", "JUDGE_VLLM", "OMP_NUM_THREADS"})
_PASSED_PREFIX, _KEY = "VLLM_", "VLLM_API_KEY"


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as a value. What a network library raises need not be known on the other side."""

    kind: type[Exception]
    arguments: tuple[Any, ...]

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """Return the value for one of the errors that `Servers.ask` raises."""
        match error:
            case RefusedError():
                arguments: tuple[Any, ...] = (error.what,)
            case UnreadableReplyError():
                arguments = (error.detail,)
            case TransientError():
                arguments = (error.reason, error.detail, error.retry_after)
            case StudyError():
                arguments = (error.reason, error.detail)
            case _:
                arguments = (str(error),)
        return cls(type(error), arguments)

    @property
    def error(self) -> Exception:
        """The error, to be raised."""
        return self.kind(*self.arguments)


@dataclass(frozen=True, slots=True)
class Order:
    """What a replica starts and how it asks.

    `version` is what a folder `model` must hold, None for a name on the hub. `program` is the
    version of this program, which must be the same everywhere. Timeouts are in seconds.
    """

    model: str
    version: str | None
    flags: tuple[str, ...]
    start_timeout: float
    timeout: float
    program: str
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a replica is: the machine, and the file there that its vLLM writes to."""

    host: str
    log: str


def passed(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what of the driver's environment a replica's vLLM is told; no other key than HF's."""
    return {
        name: value
        for name, value in environ.items()
        if name in _PASSED or (name.startswith(_PASSED_PREFIX) and name != _KEY)
    }

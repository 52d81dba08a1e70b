"""The judge `ray:MODEL`: the model of `vllm:MODEL`, as several replicas on a Ray cluster."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from judge.backends.base import Judge, JudgeSettings
from judge.backends.local.files import ModelFiles
from judge.backends.pool import Servers
from judge.backends.ray.cluster import Wanted, address_of, check_installed
from judge.backends.ray.servers import Replicas
from judge.backends.ray.wire import Order, passed
from judge.backends.vllm import flags
from judge.backends.vllm.judge import load as load_vllm
from judge.backends.vllm.judge import served_name, start_timeout, with_revision
from judge.distribution import version
from judge.rubrics import Rubric
from judge.types import JudgeError

KIND = "ray"
# The flags of `vllm serve` that say over how many GPUs a model is spread.
_SPREADS = (
    ("--tensor-parallel-size", "-tp"),
    ("--pipeline-parallel-size", "-pp"),
    ("--data-parallel-size", "-dp"),
)


def load(model: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the judge `ray:MODEL`, whose version and cached answers are those of `vllm:MODEL`."""
    if settings.base_urls:
        raise JudgeError("--base-url belongs to servers that run already; ray:MODEL starts its own")
    check_installed()
    return load_vllm(model, rubric, settings, KIND, _replicas)


def _replicas(
    _model: str, files: ModelFiles, given: tuple[str, ...], settings: JudgeSettings
) -> Servers:
    order = Order(
        model=served_name(files),
        version=None if files.commit else files.version,
        flags=with_revision(files, given),
        start_timeout=start_timeout(settings),
        timeout=settings.timeout,
        program=version(),
        environ=passed(settings.environ),
    )
    return Replicas(order, wanted(settings.options, given, settings.environ), settings.say)


def wanted(
    options: Mapping[str, object], given: tuple[str, ...], environ: Mapping[str, str]
) -> Wanted:
    """Return where how many replicas are wanted; raises `JudgeError` for what cannot be."""
    address = options.get("ray_address")
    if address is not None and not isinstance(address, str):
        raise JudgeError(f"ray_address is a cluster's address, not {address!r}")
    replicas = _whole(options, "ray_replicas", None, least=1)
    gpus = _whole(options, "gpus_per_replica", 1, least=0)
    assert gpus is not None
    spread = prod(_spread(given, names) for names in _SPREADS)
    if gpus and gpus != spread:
        raise JudgeError(
            f"by its flags each vLLM uses {spread} GPUs and --gpus-per-replica gives it {gpus}"
        )
    return Wanted(address_of(address, environ), replicas, gpus)


def _spread(given: tuple[str, ...], names: tuple[str, ...]) -> int:
    found = next(filter(None, (flags.value(given, name) for name in names)), "1")
    return int(found) if found.isdecimal() else 1  # vLLM will refuse it in its own words


def _whole(
    options: Mapping[str, object], name: str, otherwise: int | None, least: int
) -> int | None:
    value = options.get(name)
    if value is None:
        return otherwise
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise JudgeError(f"{name} is a whole number from {least} on, not {value!r}")
    return value

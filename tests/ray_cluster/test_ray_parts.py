"""What `ray:MODEL` and its options mean, and what crosses between driver and replica."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from judge import backends, rubrics
from judge.backends import local
from judge.backends.base import OverloadError, RefusedError, UnreadableReplyError
from judge.backends.ray import Replica, passed
from judge.backends.vllm import Launch
from judge.types import JudgeError

GREEN = rubrics.load("green")


@pytest.mark.parametrize(
    "error",
    [
        JudgeError("a wrong key"),
        OverloadError("rate limit", "slow down", 1.5),
        UnreadableReplyError("it is not a chat completion"),
        RefusedError(400, "no", "seed"),
    ],
)
def test_an_error_is_the_same_on_the_other_side(error: Exception) -> None:
    there = pickle.loads(pickle.dumps(error))
    assert type(there) is type(error)
    assert vars(there) == vars(error)


def test_no_key_but_the_hubs_leaves_the_driver() -> None:
    environ = {"OPENAI_API_KEY": "k", "VLLM_API_KEY": "k", "PATH": "/bin", "HF_TOKEN": "t"}
    environ |= {"VLLM_CPU_KVCACHE_SPACE": "1", "CUDA_VISIBLE_DEVICES": "0"}
    assert passed(environ) == {"HF_TOKEN": "t", "VLLM_CPU_KVCACHE_SPACE": "1"}


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JUDGE_VLLM", sys.executable)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    return folder


def load(kind: str, model: Path, base_url: str | None = None, **options: object) -> backends.Judge:
    flags = {"dtype": "float32", "max-num-seqs": 16} if kind == "vllm" or not base_url else {}
    given = backends.JudgeSettings(
        prompt="green-structured",
        base_url=base_url,
        environ=dict(os.environ),
        options=flags | options,
    )
    return backends.load(f"{kind}:{model}", GREEN, given)


def test_its_answers_are_those_of_vllm(model: Path) -> None:
    ray, vllm = load("ray", model), load("vllm", model)
    assert (ray.name, vllm.name) == (f"ray:{model}", f"vllm:{model}")
    assert ray.version == vllm.version
    assert ray.billing_url is None


def test_each_replica_has_its_requests(model: Path) -> None:
    servers = load("ray", model, replicas=3).servers
    assert servers is not None
    assert servers.max_in_flight == 3 * 128


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"base_url": "http://127.0.0.1:1/v1"}, "--base-url"),
        ({"replicas": "x"}, "replicas"),
        ({"gpus_per_replica": "all"}, "gpus-per-replica"),
        ({"address": "ray://head:10001"}, "--server address"),
    ],
)
def test_an_option_that_cannot_be_is_named(
    model: Path, options: dict[str, object], named: str
) -> None:
    with pytest.raises(JudgeError, match=named):
        load("ray", model, **options)  # type: ignore[arg-type]


def start(launch: Launch, version: str | None) -> str:
    """What a replica says of its start."""
    return asyncio.run(Replica(launch, version).ready())[1]


def test_a_node_without_the_same_model_says_so(model: Path) -> None:
    version = local.find(str(model), {}).version
    launch = Launch(str(model), {}, {"JUDGE_VLLM": "/nowhere/vllm"})
    assert "/nowhere/vllm" in start(launch, version)
    assert "/nowhere/model" in start(replace(launch, model="/nowhere/model"), version)
    (model / "config.json").write_text('{"model_type": "mistral"}', "utf-8")
    assert str(model) in start(launch, version)

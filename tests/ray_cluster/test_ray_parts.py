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
from judge.backends.errors import (
    OverloadError,
    StudyError,
    TransientError,
    UnavailableError,
    UnreachableError,
    UnreadableReplyError,
)
from judge.backends.local.files import find
from judge.backends.ray.replica import Replica
from judge.backends.ray.wire import Failure, Order, passed
from judge.backends.replies import RefusedError
from judge.backends.structured import Mode
from judge.distribution import version
from judge.types import JudgeError

GREEN = rubrics.load("green")


def settings(**options: object) -> backends.JudgeSettings:
    given = {"prompt": "green-structured", "environ": dict(os.environ)} | options
    return backends.JudgeSettings(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "error",
    [
        JudgeError("a wrong key"),
        StudyError("too long", "2,049 tokens"),
        TransientError("status 500", "oops", 3.0),
        OverloadError("rate limit", "slow down", 1.5),
        UnavailableError("timeout", "no whole answer in time"),
        UnreachableError("connection", "refused"),
        UnreadableReplyError("it is no completion"),
        RefusedError("top_p"),
        RefusedError(Mode.JSON_SCHEMA),
    ],
)
def test_an_error_is_the_same_on_the_other_side(error: Exception) -> None:
    there = pickle.loads(pickle.dumps(Failure.of(error))).error
    assert type(there) is type(error)
    assert str(there) == str(error)
    assert vars(there) == vars(error)


def test_no_key_but_the_hubs_leaves_the_driver() -> None:
    environ = {"OPENAI_API_KEY": "k", "VLLM_API_KEY": "k", "PATH": "/bin", "HF_TOKEN": "t"}
    environ |= {"VLLM_CPU_KVCACHE_SPACE": "1", "CUDA_VISIBLE_DEVICES": "0"}
    assert passed(environ) == {"HF_TOKEN": "t", "VLLM_CPU_KVCACHE_SPACE": "1"}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    return folder


def test_its_answers_are_those_of_vllm(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_VLLM", sys.executable)
    flags = {"vllm_args": ["--dtype=float32", "--max-num-seqs=16"]}
    given = settings(options=flags, environ=dict(os.environ))
    ray, vllm = (backends.load(f"{kind}:{model}", GREEN, given) for kind in ("ray", "vllm"))
    assert (ray.name, vllm.name) == (f"ray:{model}", f"vllm:{model}")
    assert ray.version == vllm.version
    assert ray.billing_url is None
    assert ray.log is None
    with pytest.raises(JudgeError, match="--base-url belongs"):
        backends.load(f"ray:{model}", GREEN, replace(given, base_url="http://127.0.0.1:1/v1"))


def order(model: Path | str, **changes: object) -> Order:
    known = find(str(model), {}).version if Path(model).is_dir() else "model+12345678"
    made = Order(str(model), known, (), 5.0, 5.0, version(), dict(os.environ))
    return replace(made, **changes)  # type: ignore[arg-type]


def start(given: Order) -> str:
    said = asyncio.run(Replica(given).start())
    assert said is not None
    return said[0]


def test_a_node_without_the_same_model_and_program_says_so(model: Path) -> None:
    assert "has no folder /nowhere/model: put the model there" in start(order("/nowhere/model"))
    assert "has version" in start(order(model, program="0.0.1"))
    before = order(model)
    (model / "config.json").write_text('{"model_type": "mistral"}', "utf-8")
    assert "holds another model" in start(before)
    environ = {"JUDGE_VLLM": "/nowhere/vllm", "PATH": ""}
    assert "is no program" in start(order(model, environ=environ))


def test_a_replica_that_does_not_run_sends_requests_away(model: Path) -> None:
    reply = asyncio.run(Replica(order(model)).ask({}, "/completions", None))
    assert isinstance(reply, Failure)
    assert isinstance(reply.error, UnavailableError)

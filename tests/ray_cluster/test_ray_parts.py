"""What `ray:MODEL` and its options mean, and what is handed to the cluster."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from judge import backends, rubrics
from judge.backends import local, ray, ray_app
from judge.backends.base import OverloadError, TransientError, UnavailableError
from judge.backends.ray import Application, arguments, passed
from judge.types import Completion, JudgeError

GREEN = rubrics.load("green")


def test_no_key_but_the_hubs_leaves_the_driver() -> None:
    environ = {
        "OPENAI_API_KEY": "k",
        "VLLM_API_KEY": "k",
        "PATH": "/bin",
        "HF_TOKEN": "t",
    }
    environ |= {"VLLM_CPU_KVCACHE_SPACE": "1", "CUDA_VISIBLE_DEVICES": "0"}
    assert passed(environ) == {
        "HF_TOKEN": "t",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
    }


def test_why_an_actor_died_is_said() -> None:
    from ray.core.generated.common_pb2 import ActorDiedErrorContext
    from ray.exceptions import ActorDiedError

    why = "The actor is dead because its node has died."
    context = ActorDiedErrorContext(
        error_message=why, class_name="Steward", actor_id=bytes(16), pid=7
    )
    assert ray.why_actor_died(str(ActorDiedError(context))) == why
    assert ray.why_actor_died(str(ActorDiedError())) == ""
    assert ray.why_actor_died("RuntimeError: the model has no weights") == ""


def test_flags_are_arguments_of_the_engine() -> None:
    flags = {
        "--dtype": "float32",
        "--max-model-len": "2048",
        "--gpu-memory-utilization": "0.5",
        "--enforce-eager": "",
        "--no-enable-prefix-caching": "",
        "--revision": "1234567",
        "--structured-outputs-config": '{"backend": "xgrammar"}',
        "--hf-overrides.rope.factor": "2",
        "--hf-overrides.a_b": "c",
    }
    assert arguments(flags) == {
        "dtype": "float32",
        "max_model_len": 2048,
        "gpu_memory_utilization": 0.5,
        "enforce_eager": True,
        "enable_prefix_caching": False,
        "revision": "1234567",
        "structured_outputs_config": {"backend": "xgrammar"},
        "hf_overrides": {"rope": {"factor": 2}, "a_b": "c"},
    }


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    return folder


def load(
    kind: str,
    model: Path,
    base_url: str | None = None,
    *,
    sends: bool = True,
    **options: object,
) -> backends.Judge:
    given = backends.JudgeSettings(
        prompt="green-structured",
        base_url=base_url,
        environ={"JUDGE_VLLM": "/bin/true"} if kind == "vllm" else {},
        options=options,
        sends=sends,
    )
    return backends.load(f"{kind}:{model}", GREEN, given)


def application(model: Path, **options: object) -> Application:
    servers = load("ray", model, **options).servers
    assert isinstance(servers, Application)
    return servers


FLAGS = {"dtype": "float32", "max-num-seqs": 16, "batch-invariant": True}


def test_its_answers_are_those_of_vllm(model: Path) -> None:
    ray, vllm = load("ray", model, **FLAGS), load("vllm", model, **FLAGS)
    assert (ray.name, vllm.name) == (f"ray:{model}", f"vllm:{model}")
    assert ray.version == vllm.version
    assert ray.version.endswith(",batch-invariant,dtype=float32")
    assert ray.billing_url is None
    assert ray.request is not None


def test_batch_invariance_reaches_the_replicas(model: Path) -> None:
    launch = application(model, **FLAGS).launch
    assert passed(launch.environ)["VLLM_BATCH_INVARIANT"] == "1"
    assert "batch_invariant" not in arguments(launch.flags)


def test_each_replica_has_its_requests(model: Path) -> None:
    assert application(model, replicas=3).max_in_flight == 3 * 128
    assert application(model, replicas="2-5").max_in_flight == 5 * 128


def test_a_replica_has_the_gpus_that_it_is_spread_over(model: Path) -> None:
    assert application(model).gpus == 1
    spread = {"tensor_parallel_size": 2, "pipeline_parallel_size": 2}
    assert application(model, **spread).gpus == 4
    assert application(model, gpus_per_replica=4, **spread).gpus == 4
    assert application(model, gpus_per_replica=0).gpus == 0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"replicas": "x"}, "replicas"),
        ({"replicas": "0"}, "replicas"),
        ({"replicas": "5-2"}, "replicas"),
        ({"gpus_per_replica": "all"}, "gpus-per-replica"),
        ({"gpus_per_replica": 2}, "tensor-parallel-size"),
        ({"data_parallel_size": 2}, "replicas=N"),
        ({"tensor_parallel_size": "two"}, "tensor-parallel-size"),
        ({"address": "ray://head:10001"}, "--server address"),
        ({"routing": "best"}, "routing"),
        ({"application": "a", "dtype": "float16"}, "leave out dtype"),
        (
            {"application": "a", "base_url": "http://127.0.0.1:1/v1"},
            "leave out --base-url",
        ),
        ({"replicas": 2, "base_url": "http://127.0.0.1:1/v1"}, "--server"),
        ({"application": "a", "http": "somewhere"}, "HOST:PORT"),
        ({"application": "a", "http": "127.0.0.1:9"}, "does not answer at 127.0.0.1:9"),
    ],
)
def test_an_option_that_cannot_be_is_named(
    model: Path, options: dict[str, object], named: str
) -> None:
    with pytest.raises(JudgeError, match=named):
        load("ray", model, **options)  # type: ignore[arg-type]


def test_a_path_that_serve_would_misread_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model:2"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    with pytest.raises(JudgeError, match="colon"):
        load("ray", folder)


class Routes(BaseHTTPRequestHandler):
    """The list of routes that a proxy of Serve gives."""

    def do_GET(self) -> None:
        assert self.path == "/-/routes"
        data = json.dumps({"/judges/green": "green", "/": "whole"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_args: object) -> None:
        return


@pytest.fixture
def serve() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Routes)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_an_application_that_runs_is_found_by_its_name(model: Path, serve: str) -> None:
    judge = load("ray", model, application="green", http=serve)
    assert judge.servers is not None
    assert judge.servers.location == f"http://{serve}/judges/green/v1"
    # As with any server that runs already, nothing is known of how it was started.
    assert judge.version == load("vllm", model, f"http://{serve}/v1").version
    whole = load("ray", model, application="whole", http=serve).servers
    assert whole is not None
    assert whole.location == f"http://{serve}/v1"
    with pytest.raises(
        JudgeError, match=r"no application 'gren'; there are: green, whole"
    ):
        load("ray", model, application="gren", http=serve)
    # Where nothing is sent, nobody is asked.
    assert load("ray", model, sends=False, application="gren", http="127.0.0.1:9")


def test_an_address_is_a_server_like_any_other(model: Path, serve: str) -> None:
    servers = load("ray", model, f"http://{serve}/v1").servers
    assert servers is not None
    assert servers.location == f"http://{serve}/v1"


class Failing:
    """A pool whose server says one thing."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def ask(self, *_: object) -> Completion:
        raise self.error


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (TransientError("status 500", "ActorDiedError"), UnavailableError),
        (OverloadError("rate limit"), OverloadError),
        (UnavailableError("timeout"), UnavailableError),
    ],
)
def test_what_a_lost_replica_says_is_not_about_the_question(
    model: Path, said: Exception, meant: type[Exception]
) -> None:
    servers = application(model)
    pool: Any = Failing(said)
    servers._pool = pool
    with pytest.raises(meant):
        asyncio.run(servers.ask({}))


def test_the_order_is_plain_values_for_serve(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray as real

    class Context:
        def get_node_id(self) -> str:
            return "node"

    monkeypatch.setattr(real, "get_runtime_context", Context)
    order = application(
        model, replicas="1-4", dtype="float32", routing="prefix"
    )._order()
    assert order["digest"] == local.digest(model)
    assert order["is_routed_by_prefix"]
    assert order["engine"]["dtype"] == "float32"
    scaled = ray_app.scaling(order)["autoscaling_config"]
    assert (scaled["min_replicas"], scaled["max_replicas"]) == (1, 4)
    assert ray_app.scaling({**order, "replicas": (2, 2)}) == {"num_replicas": 2}


def test_a_node_without_the_same_model_says_so(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []

    class LLMServer:
        async def start(self) -> None:
            started.append(self)

    # Instead of Ray's own, which takes a vLLM and many seconds to be imported.
    monkeypatch.setitem(
        sys.modules, "ray.serve.llm", SimpleNamespace(LLMServer=LLMServer)
    )
    checked = ray_app.checked_server(str(model), local.digest(model), local.digest)
    server = checked.__new__(checked)
    asyncio.run(server.start())
    assert started == [server]
    (model / "config.json").write_text('{"model_type": "mistral"}', "utf-8")
    with pytest.raises(
        RuntimeError, match=f"the folder {model} .* holds another model"
    ):
        asyncio.run(server.start())
    assert started == [server]


def test_the_cause_of_a_replica_that_does_not_start_is_its_last_error() -> None:
    trouble = "The deployment failed to start 2 times. Error:\nTraceback\nValueError: no float99"
    assert ray._cause(trouble).startswith("ValueError: no float99; ")


def test_what_is_set_in_vain_is_said(model: Path) -> None:
    said: list[str] = []
    settings = backends.JudgeSettings(prompt="green-structured", say=said.append)
    environ = {**os.environ, "JUDGE_VLLM": "/opt/vllm"}
    backends.load(f"ray:{model}", GREEN, replace(settings, environ=environ))
    assert [text for text in said if "JUDGE_VLLM is not used" in text]

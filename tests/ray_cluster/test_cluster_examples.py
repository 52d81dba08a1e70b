"""The files of examples/cluster that are for Ray."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from nodes import QUESTIONS, Nodes, records
from support import EXAMPLES

CLUSTER = EXAMPLES / "cluster"


@pytest.mark.usefixtures("standin")
def test_the_job_runs_on_the_cluster_that_ray_names(nodes: Nodes, folder: Path) -> None:
    environ = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("OPENAI", "RAY_"))},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RAY_ADDRESS": nodes.address,
        "JUDGE_VLLM": str(folder / "vllm"),
        "MODEL": str(folder / "model"),
        "REPLICAS": "2",
        "CONCURRENCY": "8",
        "CACHE": str(folder / "cache"),
        "OUT": str(folder / "run"),
        "ARGUMENTS": "--gpus-per-replica 0 --reply structured --prompt green-structured "
        "--reask 0 --give-up-after 0 --min-coverage 0",
    }
    done = subprocess.run(
        ["bash", str(CLUSTER / "ray_job.sh")],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "2 of 2 replicas ready" in done.stderr
    assert len(records(folder)) == QUESTIONS


def test_serve_takes_its_configuration() -> None:
    program = (
        "import json, sys; from ray.serve.schema import ServeDeploySchema\n"
        "from ray.serve.llm import LLMConfig, build_openai_app\n"
        "read = ServeDeploySchema.model_validate(json.load(sys.stdin)).applications[0]\n"
        "assert read.import_path == f'{build_openai_app.__module__}:build_openai_app'\n"
        "for one in read.args['llm_configs']: print(LLMConfig(**one).model_id)"
    )
    config = yaml.safe_load((CLUSTER / "serve.yaml").read_text("utf-8"))
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(config),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "StanfordAIMI/GREEN-radllama2-7b"

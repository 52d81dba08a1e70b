"""The files of examples/cluster that are for Ray."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
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

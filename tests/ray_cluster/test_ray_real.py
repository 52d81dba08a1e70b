"""`--judge ray:MODEL` with a real vLLM on two nodes, and a tiny model."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from children import descendants, gone
from nodes import Nodes, Run, cached
from serving import ENVIRON, Taught, by_transformers, flags, many_studies, texts

pytestmark = pytest.mark.vllm
TOKENS = 96


def test_a_killed_replica_of_a_real_model_loses_no_token(
    taught_model: Taught, nodes: Nodes, tmp_path: Path
) -> None:
    studies = many_studies(taught_model, tmp_path, 80)
    (tmp_path / "model").symlink_to(taught_model.folder)
    options = ["--prompt", str(taught_model.prompt), *flags(), "--concurrency", "2"]
    options += ["--max-tokens", str(TOKENS), "--server", f"address={nodes.address}"]
    options += ["--server", "gpus-per-replica=0", "--server", "replicas=2"]
    with Run(["-m", "judge"], tmp_path, *options, **ENVIRON) as run:
        run.wait_for(lambda: "ready: 2." in run.err(), 500)
        run.wait_for(lambda: cached(tmp_path) >= 4)
        with_engine = {
            pid: descendants(pid) for pid in nodes.replicas() if descendants(pid)
        }
        replica, engine = next(iter(with_engine.items()))
        os.kill(replica, signal.SIGKILL)
        run.wait_for(lambda: "A replica is lost; Ray starts another." in run.err())
        assert run.end(500) in (0, 3), (
            run.err()
        )  # an answer that is cut off is unparsed
    assert gone({replica} | engine), (
        "nothing is left of the vLLM of a replica that is killed"
    )
    assert texts(tmp_path / "run") == by_transformers(
        taught_model, studies, tmp_path, TOKENS
    )

"""`--judge ray:MODEL` with a real vLLM on two nodes, and a tiny model."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest
from children import descendants, gone
from nodes import Nodes, Run, cached
from serving import ENVIRON, Taught, environ, flags, taught
from support import write_json
from tinymodel import reports

from judge import backends, rubrics
from judge.types import Completion, Study

pytestmark = pytest.mark.vllm
TOKENS = 96


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Taught:
    return taught(tmp_path_factory.mktemp("taught"))


def by_transformers(model: Taught, studies: list[Study], folder: Path) -> dict[str, str]:
    """What the same model says in one process."""
    given = {"prompt": str(model.prompt), "max_tokens": TOKENS, "environ": environ(folder)}
    judge = backends.load(
        f"hf:{model.folder}", rubrics.load("green"), backends.JudgeSettings(**given)
    )

    async def answers() -> list[Completion]:
        try:
            await judge.ready()
            return await asyncio.gather(*(judge.complete(judge.request(s)) for s in studies))
        finally:
            await judge.aclose()

    texts = [answer.text for answer in asyncio.run(answers())]
    return dict(zip([study.study_id for study in studies], texts, strict=True))


def test_a_killed_replica_of_a_real_model_loses_no_token(
    model: Taught, nodes: Nodes, tmp_path: Path
) -> None:
    studies = [*model.studies]
    studies += [Study(f"n{at}", *pair) for at, pair in enumerate(reports(72, seed=5))]
    write_json(tmp_path / "refs.json", {s.study_id: s.reference for s in studies})
    write_json(tmp_path / "preds.json", {s.study_id: s.candidate for s in studies})
    (tmp_path / "model").symlink_to(model.folder)
    options = ["--prompt", str(model.prompt), *flags(), "--concurrency", "2"]
    options += ["--max-tokens", str(TOKENS), "--server", f"address={nodes.address}"]
    options += ["--server", "gpus-per-replica=0", "--server", "replicas=2"]
    with Run(["-m", "judge"], tmp_path, *options, **ENVIRON) as run:
        run.wait_for(lambda: "ready: 2." in run.err(), 500)
        run.wait_for(lambda: cached(tmp_path) >= 4)
        with_engine = {pid: descendants(pid) for pid in nodes.replicas() if descendants(pid)}
        replica, engine = next(iter(with_engine.items()))
        os.kill(replica, signal.SIGKILL)
        run.wait_for(lambda: "A replica is lost; Ray starts another." in run.err())
        assert run.end(500) in (0, 3), run.err()  # an answer that is cut off is unparsed
    assert gone({replica} | engine), "nothing is left of the vLLM of a replica that is killed"
    lines = (tmp_path / "run" / "annotations.jsonl").read_text("utf-8").splitlines()
    found = {record["study_id"]: record["answer"]["text"] for record in map(json.loads, lines)}
    assert found == by_transformers(model, studies, tmp_path)

"""`judge green --judge vllm:MODEL` with a real vLLM and a model that knows eight studies."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from children import descendants, sessions, wait_for
from instructmodel import make_instruct
from serving import (
    FLAGS,
    Taught,
    by_transformers,
    command,
    environ,
    flags,
    many_studies,
    records,
    run,
    texts,
)
from support import EXAMPLES, write_json
from tinymodel import reports

from judge import backends, rubrics
from judge.cache.store import CompletionCache
from judge.types import Completion, Study

pytestmark = pytest.mark.vllm


def line(model: Taught, *options: str) -> list[str]:
    return command(model.folder, "--prompt", str(model.prompt), *flags(), *options)


def test_the_annotations_are_those_it_was_taught(
    taught_model: Taught, folder: Path
) -> None:
    done = run(folder, line(taught_model, "--format", "json"))
    assert done.returncode == 0, done.stderr
    taught_model.check(folder / "run")
    summary = json.loads(done.stdout)
    assert summary["n_scored"] == 8
    assert "vllm:model+" in summary["signature"]
    assert "dtype=float32,green" in summary["signature"]
    assert "Starting vLLM" in done.stderr
    assert "vLLM is ready" in done.stderr
    assert "Application startup complete" in (folder / "run/server.log").read_text(
        "utf-8"
    )
    assert not list(folder.glob("judge-vllm-*.log")), (
        "the log has moved into the run folder"
    )
    # All is cached: nothing is started, and the numbers are the same.
    again = run(folder, line(taught_model, "--format", "json"))
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert "Starting vLLM" not in again.stderr


def test_the_same_tokens_as_transformers(taught_model: Taught, tmp_path: Path) -> None:
    studies = [*taught_model.studies]
    studies += [Study(f"n{at}", *pair) for at, pair in enumerate(reports(8, seed=5))]
    given = {
        "prompt": str(taught_model.prompt),
        "max_tokens": 96,
        "environ": environ(tmp_path),
    }

    async def answers(kind: str, **options: object) -> list[Completion]:
        settings = backends.JudgeSettings(**given, options=options)
        judge = backends.load(
            f"{kind}:{taught_model.folder}", rubrics.load("green"), settings
        )
        try:
            await judge.ready()
            return await asyncio.gather(
                *(judge.complete(judge.request(s)) for s in studies)
            )
        finally:
            await judge.aclose()

    theirs, ours = asyncio.run(answers("hf")), asyncio.run(answers("vllm", **FLAGS))
    for one, other in zip(theirs, ours, strict=True):
        assert (one.text, one.finish_reason, one.usage) == (
            other.text,
            other.finish_reason,
            other.usage,
        )


def test_a_vllm_whose_engine_dies_is_started_again_and_loses_no_token(
    taught_model: Taught, tmp_path: Path
) -> None:
    studies = many_studies(taught_model, tmp_path, 80)
    options = [
        "--max-tokens",
        "96",
        "--concurrency",
        "2",
        "--reask",
        "0",
        "--min-coverage",
        "0",
    ]
    options += ["--give-up-after", "0"]
    with subprocess.Popen(
        line(taught_model, *options),
        cwd=tmp_path,
        env=environ(tmp_path),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_for(lambda: answers_kept(tmp_path) >= 4, 240)
        here = sessions()
        (engine,) = [
            pid for pid in descendants(process.pid) if "EngineCore" in here[pid][2]
        ]
        os.kill(engine, signal.SIGKILL)
        _, said = process.communicate(timeout=300)
    assert process.returncode in (0, 3), said
    assert said.count("Starting it again (1 of 2)") == 1
    assert texts(tmp_path / "run") == by_transformers(
        taught_model, studies, tmp_path, 96
    )


def answers_kept(folder: Path) -> int:
    with CompletionCache(folder / "cache") as cache:
        return len(cache)


def test_an_instruct_model_that_is_held_to_a_schema_is_read(tmp_path: Path) -> None:
    instruct = make_instruct(tmp_path / "smollm2")
    for name in ("preds", "refs"):
        studies = json.loads((EXAMPLES / f"{name}.json").read_text("utf-8"))
        write_json(tmp_path / f"{name}.json", dict(list(studies.items())[:6]))
    # Without a penalty the model repeats itself until the room is used up.
    options = [
        "--reply",
        "structured",
        "--body",
        "repetition_penalty=1.05",
        "--reask",
        "0",
    ]
    options += [
        "--max-tokens",
        "300",
        "--min-coverage",
        "0",
        "--server=max-model-len=4096",
    ]
    done = run(tmp_path, command(instruct, *flags(), *options))
    assert done.returncode in (0, 3), done.stderr
    answers = [record["answer"]["text"] for record in records(tmp_path / "run")]
    whole = [json.loads(text) for text in answers if text.rstrip().endswith("}")]
    assert len(answers) == 6
    assert len(whole) >= 3
    assert all("clinically_significant_errors" in reply for reply in whole)

"""A vLLM server that runs already: the same tokens as transformers, JSON to a schema, sharing."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from children import wait_for
from model_server import KEY, Served, serving_model
from pydantic import Field
from serving import Taught, command, environ, records

from judge import backends, rubrics
from judge.types import Completion, Study

pytestmark = pytest.mark.vllm

GREEN = rubrics.load("green")
# Words of bounded length. Not `max_length`: with it the grammar lets raw line ends into
# strings (xgrammar 0.2.8), which are no JSON.
WORDS = Field(pattern="^[A-Za-z ]{0,12}$")


@pytest.fixture(scope="module")
def served(model: Taught, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving_model(model.folder, tmp_path_factory.mktemp("served")) as running:
        yield running


def answers(judge: backends.Judge, studies: list[Study]) -> list[Completion]:
    async def ask() -> list[Completion]:
        try:
            await judge.ready()
            return await asyncio.gather(*(judge.complete(judge.request(s)) for s in studies))
        finally:
            await judge.aclose()

    return asyncio.run(ask())


def test_the_same_tokens_as_transformers(model: Taught, served: Served) -> None:
    import tinymodel

    studies = list(model.studies)
    studies += [Study(f"n{at}", *pair) for at, pair in enumerate(tinymodel.reports(8, seed=5))]
    settings = {"prompt": str(model.prompt), "max_tokens": 96}
    theirs = backends.load(f"hf:{model.folder}", GREEN, backends.JudgeSettings(**settings))
    ours = backends.load(
        f"vllm:{model.folder}",
        GREEN,
        backends.JudgeSettings(base_url=served.url, environ={"VLLM_API_KEY": KEY}, **settings),
    )
    for one, other in zip(answers(theirs, studies), answers(ours, studies), strict=True):
        assert one.text == other.text
        assert one.finish_reason == other.finish_reason
        assert one.usage == other.usage


@pytest.fixture
def other(model: Taught, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving_model(model.folder, tmp_path_factory.mktemp("other")) as running:
        yield running


def test_two_servers_share_and_one_is_killed_in_mid_run(
    model: Taught, served: Served, other: Served, longer: Path
) -> None:
    line = command(model.folder.resolve(), "--prompt", str(model.prompt), "--reask", "0")
    line += ["--base-url", served.url, "--base-url", other.url, "--min-coverage", "0"]
    with subprocess.Popen(
        [*line, "--concurrency", "4"],
        cwd=longer,
        env={**environ(longer), "VLLM_API_KEY": KEY},
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            # The run cannot be over before the one is killed: the other still holds requests.
            with served.halted():
                there = served.answers()
                wait_for(lambda: other.answers() >= 3, 240)
                assert served.answers() == there
                other.send(signal.SIGKILL)
            _, err = running.communicate(timeout=400)
        finally:
            running.kill()
    assert running.returncode == 0, err
    assert f"{other.url} does not answer" in err
    assert f"{served.url} does not answer" not in err
    assert served.answers() > there
    model.check(longer / "run")
    assert all(record["outcome"] != "failed" for record in records(longer / "run"))

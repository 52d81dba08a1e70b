"""A vLLM server that runs already: the same tokens as transformers, JSON to a schema, sharing."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import instructmodel
import pytest
from children import wait_for
from model_server import KEY, Served, serving_model
from pydantic import BaseModel, ConfigDict, Field
from serving import Taught, command, environ, records, run
from support import EXAMPLES, write_json

from judge import backends, rubrics
from judge.backends.connection import Connection
from judge.backends.pool import Pool
from judge.types import Completion, Study

pytestmark = pytest.mark.vllm

GREEN = rubrics.load("green")
# Words of bounded length. Not `max_length`: with it the grammar lets raw line ends into
# strings (xgrammar 0.2.8), which are no JSON.
WORDS = Field(pattern="^[A-Za-z ]{0,12}$")


class Correction(BaseModel):
    """As FineRadScore's, with bounds, so that a model that knows nothing comes to an end."""

    model_config = ConfigDict(extra="forbid")

    line: int | None = Field(ge=0, le=20)
    edit: Literal["change", "delete", "insert"]
    corrected: str = WORDS
    severity: Literal[1, 2, 3, 4]
    categories: list[Literal["a", "b", "c", "d", "e", "f"]] = Field(min_length=1, max_length=2)
    comment: str = WORDS


class Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")

    corrections: list[Correction] = Field(min_length=1, max_length=2)


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


def test_a_reply_held_to_a_schema_is_valid(model: Taught, served: Served) -> None:
    pool = Pool([(Connection(served.url, 120.0), KEY)], "tiny", print)
    schema = {"name": "reply", "schema": Reply.model_json_schema(), "strict": True}

    async def ask() -> list[Completion]:
        try:
            return await asyncio.gather(
                *(
                    pool.ask(
                        {
                            "model": str(model.folder.resolve()),
                            "messages": [{"role": "user", "content": f"Correct report {at}."}],
                            "temperature": 1.0,
                            "seed": at,
                            "max_tokens": 800,
                            "response_format": {"type": "json_schema", "json_schema": schema},
                        }
                    )
                    for at in range(12)
                )
            )
        finally:
            await pool.aclose()

    replies = asyncio.run(ask())
    assert {reply.finish_reason for reply in replies} == {"stop"}
    read = [Reply.model_validate_json(reply.text) for reply in replies]
    assert len({reply.text for reply in replies}) > 1, "it is the grammar, not one answer"
    assert all(1 <= len(reply.corrections) <= 2 for reply in read)


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


def test_an_instruct_model_that_is_held_to_a_form_is_read(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    instruct = instructmodel.make_instruct(tmp_path_factory.mktemp("instruct") / "smollm2")
    for name in ("preds", "refs"):
        reports = json.loads((EXAMPLES / f"{name}.json").read_text("utf-8"))
        write_json(tmp_path / f"{name}.json", dict(list(reports.items())[:6]))
    # Without a penalty it would say the same words until its room is used up.
    options = ["--reply", "structured", "--body", "repetition_penalty=1.05", "--reask", "0"]
    options += ["--max-tokens", "300", "--min-coverage", "0"]
    with serving_model(instruct, tmp_path_factory.mktemp("server"), longest=4096) as served:
        line = [*command(instruct, *options), "--base-url", served.url]
        done = run(tmp_path, line, VLLM_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    outcomes = [record["outcome"] for record in records(tmp_path / "run")]
    assert len(outcomes) == 6
    assert outcomes.count("annotated") >= 3

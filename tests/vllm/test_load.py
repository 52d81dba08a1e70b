"""What `vllm:MODEL` and its options mean, and the chat road through the stand-in."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from pathlib import Path

import pytest
from children import below
from pydantic import BaseModel

from judge import backends, rubrics
from judge.backends.openai import OpenAIJudge
from judge.types import Completion, JudgeError, Study

GREEN = rubrics.load("green")


class Reply(BaseModel):
    corrections: list[str]


WITH_JSON = dataclasses.replace(GREEN, reply_model=lambda: Reply, structured=None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds as much of a model as has to be known before it is served."""
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    return model


def settings(**options: object) -> backends.JudgeSettings:
    given = {"prompt": "green-structured", "environ": dict(os.environ)} | options
    return backends.JudgeSettings(**given)  # type: ignore[arg-type]


def test_flags_are_for_a_server_of_our_own(folder: Path) -> None:
    with pytest.raises(JudgeError, match="--vllm-arg belongs"):
        backends.load("gpt-4o", GREEN, settings(options={"vllm_args": ["--dtype=float32"]}))
    given = settings(options={"vllm_args": ["--dtype=float32"]}, base_url="http://127.0.0.1:1/v1")
    with pytest.raises(JudgeError, match="--vllm-arg belongs"):
        backends.load(f"vllm:{folder}", GREEN, given)


@pytest.mark.usefixtures("standin")
def test_a_rubric_with_json_replies_chats_with_the_server(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    judge = backends.load(
        f"vllm:{folder}",
        WITH_JSON,
        settings(options={"vllm_args": ["--dtype=float32"]}, timeout=10.0),
    )
    assert isinstance(judge, OpenAIJudge)
    assert judge.name == f"vllm:{folder}"
    assert judge.version.startswith("vllm:model+")
    assert judge.version.endswith(",dtype=float32")
    assert judge.billing_url is None
    study = Study("s", "The lungs are clear.", "The lungs are clear.")
    assert judge.request(study).endpoint == "chat"
    assert judge.request(study).model == judge.version
    assert judge.log is None

    async def ask() -> Completion:
        try:
            await judge.ready()
            return await judge.complete(judge.request(study))
        finally:
            await judge.aclose()

    answer = asyncio.run(ask())
    assert answer.model == str(folder)
    assert answer.text.startswith("answer to ")
    assert judge.log is not None
    assert judge.log.is_relative_to(tmp_path / "state")
    assert not below(os.getpid())


@pytest.mark.usefixtures("standin")
def test_the_signature_changes_with_what_changes_an_answer(folder: Path) -> None:
    def version(*flags: str) -> str:
        return backends.load(
            f"vllm:{folder}", WITH_JSON, settings(options={"vllm_args": flags})
        ).version

    plain = version()
    assert version("--tensor-parallel-size=2") == plain
    assert version("--quantization=awq") != plain
    (folder / "config.json").write_text('{"model_type": "mistral"}', "utf-8")
    assert version() != plain

"""What `vllm:MODEL` and its flags mean, what its log says, and the chat through the stand-in."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from children import below

from judge import backends, rubrics
from judge.backends import vllm
from judge.types import Completion, JudgeError, Study

GREEN = rubrics.load("green")
STUDY = Study("s", "The lungs are clear.", "The lungs are clear.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds as much of a model as has to be known before it is served."""
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    return model


def load(
    folder: Path, flags: dict[str, object] | None = None, **more: object
) -> backends.Judge:
    """The judge that is asked for structured replies."""
    given = {
        "prompt": "green-structured",
        "reply": "structured",
        "environ": dict(os.environ),
    }
    given |= {"options": flags or {}, **more}
    return backends.load(f"vllm:{folder}", GREEN, backends.JudgeSettings(**given))  # type: ignore[arg-type]


def test_options_are_flags_of_vllm() -> None:
    given = {
        "dtype": "float32",
        "enforce_eager": True,
        "hf_overrides.a_b": 1,
        "--seed": -1,
    }
    assert vllm.flags_of(given) == {
        "--dtype": "float32",
        "--enforce-eager": "",
        "--hf-overrides.a_b": "1",
        "--seed": "-1",
    }
    for ours in ("port", "--api_key", "uds"):
        with pytest.raises(JudgeError, match=ours.replace("_", "-")):
            vllm.flags_of({ours: "x"})


@pytest.mark.usefixtures("standin")
def test_the_signature_changes_with_what_changes_an_answer(folder: Path) -> None:
    plain = load(folder).version
    assert plain.startswith("vllm:model+")
    assert (
        load(folder, {"tensor-parallel-size": 2, "enforce-eager": True}).version
        == plain
    )
    marked = load(folder, {"quantization": "awq", "dtype": "float32"}).version
    assert marked == f"{plain},dtype=float32,quantization=awq"
    (folder / "config.json").write_text('{"model_type": "mistral"}', "utf-8")
    assert load(folder).version != plain


@pytest.mark.usefixtures("standin")
def test_batch_invariant_is_a_variable_of_the_server_and_in_the_signature(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = load(folder).version
    for value in (True, "1", "true"):
        judge = load(folder, {"batch-invariant": value, "dtype": "float32"})
        assert judge.version == f"{plain},batch-invariant,dtype=float32"
        assert isinstance(judge.servers, vllm.Server)
        assert judge.servers._launch.environ["VLLM_BATCH_INVARIANT"] == "1"
        assert "--batch-invariant" not in judge.servers._launch.flags
    assert load(folder, {"batch_invariant": "false"}).version == plain
    with pytest.raises(JudgeError, match="batch-invariant=perhaps"):
        load(folder, {"batch-invariant": "perhaps"})
    # Where the user has set the variable, it changes answers all the same.
    monkeypatch.setenv("VLLM_BATCH_INVARIANT", "1")
    assert load(folder).version == f"{plain},batch-invariant"
    assert load(folder, {"batch-invariant": "false"}).version == plain
    with pytest.raises(JudgeError, match="--server"):
        load(folder, {"batch-invariant": True}, base_url="http://127.0.0.1:1/v1")


@pytest.mark.usefixtures("standin")
def test_flags_are_for_a_server_of_our_own(folder: Path) -> None:
    flags: dict[str, object] = {"dtype": "float32"}
    with pytest.raises(JudgeError, match="dtype"):
        backends.load("gpt-4o", GREEN, backends.JudgeSettings(options=flags))
    with pytest.raises(JudgeError, match="--server"):
        load(folder, flags, base_url="http://127.0.0.1:1/v1")


def answer_of(judge: backends.Judge) -> Completion:
    async def ask() -> Completion:
        try:
            await judge.ready()
            return await judge.complete(judge.request(STUDY))
        finally:
            await judge.aclose()

    return asyncio.run(ask())


def arguments(judge: backends.Judge) -> list[str]:
    """What the stand-in says it was started with."""
    assert judge.log is not None
    text = judge.log.read_text("utf-8")
    return json.loads(text.partition("started with ")[2].splitlines()[0])


@pytest.mark.usefixtures("standin")
def test_a_structured_reply_is_asked_for_in_a_chat_and_without_blanks(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    judge = load(folder, {"dtype": "float32"}, timeout=10.0)
    assert judge.billing_url is None
    assert judge.request(STUDY).endpoint == "chat"
    assert judge.request(STUDY).model == judge.version
    assert judge.log is None
    answer = answer_of(judge)
    assert answer.model == str(folder)
    assert answer.text.startswith("answer to ")
    assert judge.log is not None
    assert judge.log.is_relative_to(tmp_path)
    assert not below(os.getpid())
    (config,) = [each for each in arguments(judge) if "structured-outputs" in each]
    assert json.loads(config.partition("=")[2])["disable_any_whitespace"] is True


LAST = "(APIServer pid=7) RuntimeError: Engine core initialization failed. See root cause above."


# The lines are those that vLLM 0.32 writes, cut to the point.
@pytest.mark.parametrize(
    ("log", "quoted"),
    [
        ("vllm: error: unrecognized arguments: --frobnicate 3", "--frobnicate 3"),
        (
            f"ERROR 11-20 [core.py:9] ValueError: Free memory on device (1.5/22.1 GiB)\n{LAST}",
            "(1.5/22.1 GiB)",
        ),
        ("KeyError: '\x1b[31msomething\x1b[0m new\x07'\n ^^^^", "'something new'"),
    ],
)
def test_the_cause_is_the_last_error_of_the_log(log: str, quoted: str) -> None:
    cause = vllm.log_cause(
        f"INFO all is well\n{log}\n\nnanobind: leaked 4 instances!\n".encode()
    )
    assert quoted in cause
    assert cause.isprintable()

"""Where a model's files come from and what it is called, with a stand-in for the hub."""

from __future__ import annotations

from pathlib import Path

import hub
import pytest
import tinymodel

from judge.backends.local import encode, files
from judge.official import KNOWN
from judge.types import JudgeError


@pytest.fixture(autouse=True)
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    tinymodel.train_tokenizer(folder)
    (folder / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    (folder / "model.safetensors").write_bytes(bytes(range(256)) * 40_000)
    return folder


def test_a_name_on_the_hub_brings_all_but_the_weights(model: Path) -> None:
    with hub.serving({"me/green": model}) as (url, asked):
        found = files.find("me/green", {"HF_ENDPOINT": url})
    assert (found.version, found.commit) == (f"me/green@{hub.COMMIT[:12]}", hub.COMMIT)
    assert not any("safetensors" in path for path in asked if "/resolve/" in path)
    prompt = KNOWN["green-official"].build([("user", "{text1} {text2}")])
    here = files.find(str(model), {})
    messages = prompt.messages("No effusion.", "Clear.")
    assert encode.load(found, prompt).encode(messages) == encode.load(here, prompt).encode(messages)
    # What was fetched is enough without the hub.
    assert files.find("me/green", {"HF_ENDPOINT": url}) == found


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("me/gated", "accept its terms.*HF_TOKEN"),
        ("me/gren", "knows no model 'me/gren'"),
        ("me/no name", "no name of a model"),
        ("GREEN-radllama2-7b", "OWNER/NAME"),
        ("./GREEN", "no such folder"),
        ("/models/me/green", "no such folder"),
    ],
)
def test_a_model_that_is_not_to_be_had_is_one_message(model: Path, name: str, says: str) -> None:
    with (
        hub.serving({"me/green": model}, gated=("me/gated",)) as (url, _),
        pytest.raises(JudgeError, match=says),
    ):
        files.find(name, {"HF_ENDPOINT": url})


def test_a_hub_that_does_not_answer_is_one_message(model: Path) -> None:
    with hub.serving({"me/green": model}) as (url, _):
        pass
    with pytest.raises(JudgeError, match="the hub does not answer"):
        files.find("me/green", {"HF_ENDPOINT": url})


def test_a_folder_without_a_model_says_so(tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match=r"no config\.json"):
        files.find(str(tmp_path), {})


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_any_change_of_a_model_changes_its_name(model: Path, name: str) -> None:
    before = files.find(str(model), {}).version
    path = model / name
    path.write_bytes(path.read_bytes() + b" ")
    assert files.find(str(model), {}).version != before

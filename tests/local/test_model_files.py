"""Where a model's files come from and what it is called."""

from __future__ import annotations

from pathlib import Path

import huggingface_hub
import pytest

from judge.backends import local
from judge.types import JudgeError

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / COMMIT
    folder.mkdir()
    (folder / "tokenizer.json").write_text("{}", "utf-8")
    (folder / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    (folder / "model.safetensors").write_bytes(bytes(range(256)) * 40_000)
    return folder


def test_a_name_on_the_hub_brings_all_but_the_weights(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A mock: the tests have no hub to download from.
    asked: dict[str, object] = {}

    def snapshot_download(name: str, **options: object) -> str:
        asked.update(options, name=name)
        return str(model)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    files = local.find(
        "me/green", {"HF_ENDPOINT": "http://hub", "HF_TOKEN": "t"}, "main"
    )
    assert (files.version, files.commit) == (f"me/green@{COMMIT[:12]}", COMMIT)
    assert files.source == "me/green"
    assert asked["allow_patterns"] == ["*.json", "tokenizer.model", "*.jinja"]
    assert (asked["revision"], asked["endpoint"], asked["token"]) == (
        "main",
        "http://hub",
        "t",
    )


@pytest.mark.parametrize("name", ["me/away", "GREEN-radllama2-7b", "./GREEN"])
def test_without_a_hub_or_a_folder_the_model_is_named(name: str) -> None:
    with pytest.raises(JudgeError, match=name):
        local.find(name, {"HF_ENDPOINT": "http://127.0.0.1:1"})


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_any_change_of_a_model_changes_its_name(model: Path, name: str) -> None:
    before = local.find(str(model), {}).version
    path = model / name
    path.write_bytes(path.read_bytes() + b" ")
    assert local.find(str(model), {}).version != before

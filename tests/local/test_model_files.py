"""Where a model's files come from and what it is called."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from judge.backends.local import files
from judge.types import JudgeError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAMES = ("GatedRepoError", "RevisionNotFoundError", "RepositoryNotFoundError", "HFValidationError")
NAMES += ("LocalEntryNotFoundError", "HfHubHTTPError")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / COMMIT
    folder.mkdir()
    (folder / "tokenizer.json").write_text("{}", "utf-8")
    (folder / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    (folder / "model.safetensors").write_bytes(bytes(range(256)) * 40_000)
    return folder


@pytest.fixture
def asked(model: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """What a stand-in for the library of the hub was asked for; it knows one model."""
    errors = SimpleNamespace(**{name: type(name, (Exception,), {}) for name in NAMES})
    asked = []

    def snapshot_download(name: str, **given: object) -> str:
        asked.append(given)
        if name == "me/green":
            return str(model)
        kinds = {"me/gated": errors.GatedRepoError, "me/away": errors.LocalEntryNotFoundError}
        raise kinds.get(name, errors.RepositoryNotFoundError)(name)

    library = SimpleNamespace(errors=errors, snapshot_download=snapshot_download)
    monkeypatch.setitem(sys.modules, "huggingface_hub", library)  # type: ignore[arg-type]
    return asked


def test_a_name_on_the_hub_brings_all_but_the_weights(asked: list[dict[str, object]]) -> None:
    found = files.find("me/green", {"HF_ENDPOINT": "http://hub", "HF_TOKEN": "t"}, "main")
    assert (found.version, found.commit) == (f"me/green@{COMMIT[:12]}", COMMIT)
    patterns = ["*.json", "tokenizer.model", "*.jinja"]
    hub = {"revision": "main", "endpoint": "http://hub", "token": "t"}
    assert asked == [{"allow_patterns": patterns, **hub}]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("me/gated", "accept its terms.*HF_TOKEN"),
        ("me/gren", "knows no model 'me/gren'"),
        ("me/away", "the hub does not answer"),
        ("GREEN-radllama2-7b", "OWNER/NAME"),
        ("./GREEN", "no such folder"),
    ],
)
@pytest.mark.usefixtures("asked")
def test_a_model_that_is_not_to_be_had_is_one_message(name: str, says: str) -> None:
    with pytest.raises(JudgeError, match=says):
        files.find(name, {})


def test_a_configuration_that_cannot_be_read_is_named(model: Path) -> None:
    (model / "config.json").write_bytes(b"[" * 100_000)
    with pytest.raises(JudgeError, match=r"config\.json"):
        files.find(str(model), {}).json("config.json")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_any_change_of_a_model_changes_its_name(model: Path, name: str) -> None:
    before = files.find(str(model), {}).version
    path = model / name
    path.write_bytes(path.read_bytes() + b" ")
    assert files.find(str(model), {}).version != before

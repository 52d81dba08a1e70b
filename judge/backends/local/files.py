"""Where a model's files are and what the model is called, without loading its weights."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge import jsonio
from judge.distribution import install
from judge.types import JudgeError

# What tells how to talk to a model: not its weights, which are gigabytes.
_SMALL = ("*.json", "tokenizer.model", "*.jinja")
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.gguf")
_BLOCKS, _BLOCK = 256, 4096
_COMMIT = 12


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model's folder with at least its configuration and tokenizer.

    `version` names it and its weights: a hub name and the commit, or a folder's name and a digest.
    `commit` is None for a folder.
    """

    model: str
    folder: Path
    version: str
    commit: str | None = None

    def json(self, name: str) -> dict[str, Any]:
        """Return the content of a JSON file of the folder; empty where there is no such file."""
        try:
            data = jsonio.read((self.folder / name).read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise JudgeError(f"cannot read {name} of the model {self.model}: {error}") from error
        if not isinstance(data, dict):
            raise JudgeError(f"{name} of the model {self.model} holds no mapping")
        return data


def find(model: str, environ: Mapping[str, str], revision: str | None = None) -> ModelFiles:
    """Return the files of `model`, a folder or a name on the hub, without a hub's weights."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise JudgeError(f"the folder {folder} holds no model: it has no config.json")
        name = folder.resolve().name
        return ModelFiles(model, folder, f"{name}+{_digest(folder)}")
    if model.startswith((".", "/", "~")) or model.count("/") != 1:
        raise JudgeError(
            f"no model {model!r}: there is no such folder, and a name on the hub is OWNER/NAME"
        )
    return _from_hub(model, environ, revision)


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _SMALL for path in folder.glob(pattern)}):
        digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    for path in sorted({path for pattern in _WEIGHTS for path in folder.glob(pattern)}):
        size = path.stat().st_size
        digest.update(f"{path.name}\0{size}\0".encode())
        with path.open("rb") as weights:
            for at in range(0, max(size, 1), max(size // _BLOCKS, _BLOCK)):
                weights.seek(at)
                digest.update(weights.read(_BLOCK))
    return digest.hexdigest()[:8]


def _from_hub(model: str, environ: Mapping[str, str], revision: str | None) -> ModelFiles:
    try:
        from huggingface_hub import errors as hub
        from huggingface_hub import snapshot_download
    except ModuleNotFoundError:
        raise JudgeError(f"the model {model} is on the hub; {install('huggingface_hub')}") from None
    try:
        found = snapshot_download(
            model,
            revision=revision,
            allow_patterns=list(_SMALL),
            endpoint=environ.get("HF_ENDPOINT"),
            token=environ.get("HF_TOKEN"),
        )
    except hub.GatedRepoError as error:
        raise JudgeError(
            f"{model} is gated: accept its terms on the hub, then set HF_TOKEN"
        ) from error
    except hub.RevisionNotFoundError as error:
        raise JudgeError(f"the hub has no revision {revision!r} of {model}") from error
    except hub.RepositoryNotFoundError as error:
        raise JudgeError(
            f"the hub knows no model {model!r}; set HF_TOKEN if it is private"
        ) from error
    except hub.HFValidationError as error:
        raise JudgeError(f"{model!r} is no name of a model on the hub: {error}") from error
    except (hub.LocalEntryNotFoundError, hub.HfHubHTTPError, OSError) as error:
        raise JudgeError(
            f"the model {model} is not on this machine and the hub does not answer: give the "
            "folder of a model that was fetched elsewhere "
            f"({(str(error) or type(error).__name__).splitlines()[0]})"
        ) from error
    folder = Path(found)
    if not (folder / "config.json").is_file():
        raise JudgeError(f"{model} on the hub holds no model: it has no config.json")
    commit = folder.name
    return ModelFiles(model, folder, f"{model}@{commit[:_COMMIT]}", commit)

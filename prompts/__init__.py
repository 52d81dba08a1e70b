"""Prompts: one YAML file a wording of a rubric's question.

`NAME.yaml` is a prompt: `judge.prompts.prompt` explains its keys. `NAME-official.yaml` is a recipe
for a prompt of other authors, whose text is downloaded: see `judge.prompts.official`.
`shots/NAME.yaml` has worked examples for a modality: see `judge.prompts.shots`.

In our own wordings all instructions stand in `system`, before what differs from study to study, and
`user` holds the reports alone: the prefix caches of providers and of vLLM keep the system turn, the
worked examples, and, where several models are judged, the reference.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from judge import plugins, rubrics
from judge.jsonio import UnreadableYamlError, read_yaml
from judge.prompts import official, shots
from judge.prompts.prompt import (
    CHAT,
    GREEN,
    JSON_INSTRUCTION,
    PAIR,
    PHRASES,
    REPORT,
    SCHEMA_PLACE,
    STRUCTURED,
    TEXT,
    Prompt,
    Shot,
    check,
)
from judge.types import JudgeError

__all__ = [
    "CHAT",
    "FOLDER",
    "GREEN",
    "JSON_INSTRUCTION",
    "PAIR",
    "PHRASES",
    "REPORT",
    "SCHEMA_PLACE",
    "STRUCTURED",
    "TEXT",
    "Prompt",
    "Shot",
    "check",
    "every",
    "file_of",
    "load",
    "names",
    "of_plugins",
    "official",
    "shots",
]

FOLDER = official.FOLDER
"""The folder of the prompts that come with the program."""


def names() -> list[str]:
    """Return the names of the prompts that come with the program, sorted."""
    stems = (path.stem for path in FOLDER.glob("*.yaml"))
    return sorted(stem for stem in stems if not stem.endswith(official.ENDING))


def load(name: str, environ: Mapping[str, str] | None = None) -> Prompt:
    """Return the prompt called `name`, official or not, or the one in the file of that path.

    `environ` says where official prompts are kept, by default as the process has it. Raises
    `JudgeError` for an unknown name, a faulty file, and an official prompt that is not downloaded.
    """
    if name in official.recipes():
        if environ is None:
            environ = os.environ
        return official.load(name, environ)
    path = Path(name)
    if name in names():
        path = FOLDER / f"{name}.yaml"
    try:
        data, _ = read_yaml(path)
    except FileNotFoundError:
        raise JudgeError(
            f"unknown prompt {name!r}: no file of that name, and the built-in prompts are: "
            f"{', '.join(names())}"
        ) from None
    except (OSError, UnreadableYamlError) as error:
        raise JudgeError(f"cannot read prompt {name!r}: {error}") from error
    return check(data, f"prompt {name}")


def file_of(name: str) -> Path:
    """Return the YAML file of a prompt of ours, of a plugin, or at that path.

    Raises `JudgeError` for an official prompt: its text is its authors', and no file of one piece.
    """
    if name in official.recipes():
        raise JudgeError(
            f"{name} has no file to start from: it is put together from its authors' files"
        )
    if name in names():
        return FOLDER / f"{name}.yaml"
    return Path(name)


def of_plugins() -> dict[str, str]:
    """Return the files of the prompts that rubrics of other packages bring, by name."""
    files: dict[str, str] = {}
    for rubric in plugins.RUBRICS.names(rubrics.built_in()):
        with suppress(JudgeError):  # a package that fails has no prompt to show
            for name, path in rubrics.prompt_files(rubric).items():
                files[name] = str(path)
    return files


def every(environ: Mapping[str, str]) -> Iterator[tuple[str, Prompt | JudgeError]]:
    """Yield each prompt with its name: built-in, of packages, official; or why it fails."""
    places = {name: name for name in (*names(), *official.recipes())} | of_plugins()
    for name, place in places.items():
        try:
            yield name, load(place, environ)
        except JudgeError as error:
            yield name, error

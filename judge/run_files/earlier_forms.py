"""Manifests of earlier forms, brought into today's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judge.run_files.checked import RunFileError
from judge.run_files.identity import TOLD
from judge.run_files.manifest import FORMAT, LAST_FORMAT, RunManifest
from judge.run_settings import settings_of_arguments

# What a signature of an earlier form must have, or judge did not write it.
_NEEDED = ("judge", "section", "class", "studies", "version")
# The names of fields in a part of a signature, of which some are JSON strings.
_SHOWN = re.compile(r'"(?:[^"\\]|\\.)*"|[^",][^,]*')


def upgraded(path: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest of an earlier form in today's form; raises `RunFileError`.

    Then the printed signature was all that said how a run was judged. This is the one place that
    reads it.
    """
    line = data.get("signature")
    if not isinstance(line, str):
        raise RunFileError(path, "'signature': it is no text")
    stated = _stated(line)
    lacking = [name for name in _NEEDED if name not in stated]
    if lacking and data["format"] == LAST_FORMAT:
        raise RunFileError(path, f"'signature': it lacks {', '.join(lacking)}")
    manifest = dict(data) | _judged_by(data, stated)
    del manifest["signature"]
    if data["format"] == LAST_FORMAT:
        manifest["format"] = FORMAT
    manifest["studies_digest"] = stated.get("studies", "")
    manifest["version"] = stated.get("version", "")
    if not manifest.get("scale"):  # it may be null
        manifest.pop("scale", None)
    arguments = manifest.pop("arguments", None) or {}
    if not isinstance(arguments, dict):
        raise RunFileError(path, "'arguments': it is no object")
    manifest["settings"] = settings_of_arguments(manifest["rubric"], arguments)
    combined = manifest.get("combined")
    if isinstance(combined, dict) and combined.get("of") == "judge":
        parts = combined.get("parts")
        if isinstance(parts, list):
            manifest["combined"] = {
                **combined,
                "parts": [_upgraded_part(part) for part in parts],
            }
    return manifest


def _stated(line: str) -> dict[str, str]:
    """Return the parts of a printed signature by their names; `rubric` is the first."""
    rubric, *others = line.split("|")
    stated = {"rubric": rubric}
    for part in others:
        name, _, text = part.partition(":")
        if name == "package" and name in stated:  # several may add to one rubric
            text = f"{stated[name]}|{text}"
        stated[name] = text
    return stated


def _judged_by(data: Mapping[str, Any], stated: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of `JudgedBy` that an earlier manifest only has in its signature."""
    rubric, _, version = stated["rubric"].partition(":")
    values: dict[str, Any] = {"rubric": rubric, "rubric_version": version}
    # The rubric's name stands in the manifest too.
    values |= {name: data[name] for name in ("rubric",) if name in data}
    if "package" in stated:
        values["packages"] = stated["package"].split("|")
    prompts = stated.get("prompt", "none")
    if prompts != "none":
        values["prompts"] = [_prompt_entry(text) for text in prompts.split(",")]
    for name in ("sampling", "reply"):
        if name in stated:
            values[name] = stated[name]
    for name in ("reask", "repeat"):
        if stated.get(name, "").isdecimal():
            values[name] = int(stated[name])
    for name in TOLD:
        if name in stated:
            values[name] = _SHOWN.findall(stated[name])
    return values


def _prompt_entry(text: str) -> dict[str, str]:
    named, plus, digest = text.rpartition("+")
    name, at, version = named.rpartition("@")
    if not plus or not at:
        return {"name": text}
    return {"name": name, "version": version, "digest": digest}


def _upgraded_part(part: object) -> object:
    """Return a judge of a panel of an earlier form with what its run's signature says."""
    if not isinstance(part, dict) or not isinstance(part.get("signature"), str):
        return part
    stated = _stated(part["signature"])
    judge = {"name": part.get("name"), "version": stated.get("judge", "")}
    return {**part, "judged_by": {**_judged_by({}, stated), "judge": judge}}


def check_upgrade(path: Path, manifest: RunManifest, line: str) -> None:
    """Raise `RunFileError` unless the upgraded manifest says what its file's signature said."""
    if manifest.signature != line:
        why = "it is not of what the rest of the manifest says"
        raise RunFileError(path, f"'signature': {why}")

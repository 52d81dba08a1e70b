"""Reads the manifest and the summary of a run folder, of this form and of earlier ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from judge.run_files.checked import RunFileError, read_json, typed
from judge.run_files.earlier_forms import check_upgrade, upgraded
from judge.run_files.manifest import (
    FORMAT,
    LAST_FORMAT,
    MANIFEST,
    OLDEST_FORMAT,
    AnswersManifest,
    RunManifest,
    SourceManifest,
)
from judge.run_files.summary import SUMMARY, RunSummary
from judge.types import JudgeError


def read_manifest(folder: Path) -> RunManifest:
    """Return the manifest of a run, of this form or the one before; raises `JudgeError`."""
    path = folder / MANIFEST
    data = _read_object(folder)
    if data["format"] == FORMAT:
        return typed(path, RunManifest, data)
    if data["format"] != LAST_FORMAT:
        raise _another_format(folder, data["format"])
    manifest = typed(path, RunManifest, upgraded(path, data))
    check_upgrade(path, manifest, str(data["signature"]))
    return manifest


def read_source_manifest(folder: Path) -> SourceManifest:
    """Return what of a run's manifest its reports need, of any form; raises `JudgeError`."""
    return typed(folder / MANIFEST, SourceManifest, _read_any(folder))


def read_answers_manifest(folder: Path) -> AnswersManifest:
    """Return what of a run's manifest its answers need, of any form; raises `JudgeError`."""
    return typed(folder / MANIFEST, AnswersManifest, _read_any(folder))


def _read_any(folder: Path) -> dict[str, Any]:
    """Return a manifest of any form, in today's form; those of a whole run are checked whole."""
    data = _read_object(folder)
    if data["format"] == OLDEST_FORMAT:
        return upgraded(folder / MANIFEST, data)
    return read_manifest(folder).model_dump()


def _read_object(folder: Path) -> dict[str, Any]:
    """Return the object in a manifest's file, without the signature that is derived from it."""
    path = folder / MANIFEST
    if not os.path.lexists(path):
        raise JudgeError(
            f"{folder} is not a run: it holds no {MANIFEST}; name the run's folder"
        )
    data = read_json(path)
    if not isinstance(data, dict):
        raise RunFileError(path, "it is no object")
    form = data.get("format")
    if form not in (FORMAT, LAST_FORMAT, OLDEST_FORMAT):
        raise _another_format(folder, form)
    if form == FORMAT:
        data.pop("signature", None)
    return data


def _another_format(folder: Path, form: object) -> JudgeError:
    return JudgeError(
        f"{folder} is a run of format {form!r}, and this version of judge reads format {FORMAT}: "
        "judge its studies again (answers in the cache are not paid for twice)"
    )


def read_summary(folder: Path) -> RunSummary:
    """Return the summary of a run folder, checked; raises `JudgeError`."""
    path = folder / SUMMARY
    return typed(path, RunSummary, read_json(path))

"""Manifests of runs that a test writes itself."""

from __future__ import annotations

from typing import Any

from judge.rubrics import Rubric
from judge.run_files.entries import JudgeEntry, PromptEntry
from judge.run_files.manifest import FORMAT, RunManifest


def manifest_of(
    rubric: Rubric,
    digest: str,
    *,
    judge: str = "test-1",
    prompt: str = "none",
    **changes: Any,
) -> RunManifest:
    """Return the manifest of a run of studies with this digest.

    `prompt` is `NAME@VERSION+DIGEST`; `changes` are further fields.
    """
    prompts = []
    if prompt != "none":
        named, _, of_prompt = prompt.rpartition("+")
        name, _, version = named.partition("@")
        prompts = [PromptEntry(name=name, version=version, digest=of_prompt)]
    values: dict[str, Any] = {
        "format": FORMAT,
        "rubric": rubric.name,
        "rubric_version": str(rubric.version),
        "judge": JudgeEntry(name=judge, version=judge),
        "prompts": prompts,
        "prompt": prompts[0].name if prompts else None,
        "section": "findings",
        "class_source": "study_class",
        "studies_digest": digest,
        "version": "0",
        "fields": [],
    }
    return RunManifest(**{**values, **changes})


# What only the signature said in the form before.
_NEW = (
    "rubric_version",
    "packages",
    "prompts",
    "sampling",
    "reply",
    "reask",
    "context",
    "prior",
    "modality",
    "studies_digest",
    "version",
    "settings",
)


def as_last_format(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return what `manifest.json` had in the form before, of what it has today."""
    kept = {name: value for name, value in manifest.items() if name not in _NEW}
    if manifest["combined"] is not None:
        parts = [
            {name: value for name, value in part.items() if name != "judged_by"}
            for part in manifest["combined"]["parts"]
        ]
        kept["combined"] = {**manifest["combined"], "parts": parts}
    return {**kept, "format": 3}

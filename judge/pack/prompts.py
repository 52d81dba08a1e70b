"""The prompts of a run: the texts that are installed here and have the digests of its manifest."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judge.prompts import Prompt, every, load
from judge.run_files.manifest import RunManifest
from judge.types import JudgeError, Study

REFERENCE = "(the reference report)"
CANDIDATE = "(the candidate report)"


@dataclass(frozen=True, slots=True)
class PackedPrompt:
    """A prompt as the signature names it, and its text; None where it is not here."""

    named: str
    prompt: Prompt | None

    @property
    def messages(self) -> list[dict[str, str]]:
        """The turns as they are sent, around two placeholder reports; none without the text."""
        if self.prompt is None:
            return []
        turns = self.prompt.messages(REFERENCE, CANDIDATE)
        return [{"role": turn.role, "content": turn.content} for turn in turns]

    def filled(self, study: Study) -> list[dict[str, str]]:
        """Return the turns about a study, none where the prompt asks for more than two reports."""
        if self.prompt is None or self.prompt.asks:
            return []
        turns = self.prompt.about(study)
        return [{"role": turn.role, "content": turn.content} for turn in turns]


def prompts_of(manifest: RunManifest) -> list[PackedPrompt]:
    """Return the prompts of a run, each with the text that has its digest, where it is here.

    A text is looked for among those of the program, of installed packages, the official ones that
    were downloaded, and in the file that the run was given.
    """
    known = _known(manifest)
    return [
        PackedPrompt(str(prompt), known.get(prompt.digest))
        for prompt in manifest.prompts
    ]


def _known(manifest: RunManifest) -> Mapping[str, Prompt]:
    if not manifest.prompts:
        return {}
    known: dict[str, Any] = {}
    for _, loaded in every(os.environ):
        if isinstance(loaded, Prompt):
            known[loaded.digest] = loaded
    settings = manifest.settings
    if settings is not None and settings.prompt is not None:
        try:
            own = load(settings.prompt, os.environ)
        except JudgeError:
            # It is no longer where it was, and the pack says that its text is not here.
            return known
        known[own.digest] = own
    return known

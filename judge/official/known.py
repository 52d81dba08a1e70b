"""Which official prompts there are, where they come from and how each is known again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from judge.official import fineradscore, green
from judge.prompts import Prompt


@dataclass(frozen=True, slots=True)
class Source:
    """A file of the authors' repository: its path there and its sha256."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Official:
    """One official prompt.

    `read` finds its text in the sources, given by path; `build` makes the prompt of that
    text, and `text` is the inverse. `characters` and `sha256` (of the UTF-8) are the
    text's. `installed` is the file of an installed package that holds it too, as the
    package and the path in it.
    """

    name: str
    rubric: str
    repository: str
    commit: str
    sources: tuple[Source, ...]
    read: Callable[[Mapping[str, str]], str]
    build: Callable[[str], Prompt]
    text: Callable[[Prompt], str]
    characters: int
    sha256: str
    installed: tuple[str, str] | None = None

    def accepts(self, text: str) -> bool:
        """Return whether `text` is the official one."""
        return len(text) == self.characters and _sha256(text) == self.sha256

    def is_genuine(self, prompt: Prompt) -> bool:
        """Return whether `prompt` is the official one, nothing changed in it or around it."""
        text = self.text(prompt)
        return self.accepts(text) and self.build(text) == prompt


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_GREEN = Official(
    name=green.NAME,
    rubric="green",
    repository="Stanford-AIMI/GREEN",
    commit="d72c1951e69683b93405968901fd4f14cc6c27b0",
    sources=(
        Source(
            "green_score/utils.py",
            "285e076c8707dc5d506497b922d44e73458e0a88de69bfc73ee07a37e9fd1062",
        ),
    ),
    read=green.read,
    build=green.build,
    text=green.text,
    characters=1858,
    sha256="85a3b95554c1cf431bfa05db87d227116525f0586ed9c5e56232d44a5b2555ef",
    installed=("radeval", "metrics/green_score/utils.py"),
)

_FINERADSCORE = Official(
    name=fineradscore.NAME,
    rubric="fineradscore",
    repository="rajpurkarlab/FineRadScore",
    commit="3f5e1dc708d953a92aca536492d78f4e248c44f6",
    sources=(
        Source(
            fineradscore.TEXTS,
            "450e499499423de76a1e98a70042c42a024ae19754bf7f03365e99eb036eb711",
        ),
        Source(
            fineradscore.CALL,
            "3ec94336153d0118bb8ea03aa3c1d07264cd10d50829959b97051f386ed2d2bb",
        ),
    ),
    read=fineradscore.read,
    build=fineradscore.build,
    text=fineradscore.text,
    characters=8676,
    sha256="7cc147d8582647d05498a3829828bbc51d746e97912cdb1bb337b6f1300d2801",
)

KNOWN: Mapping[str, Official] = {one.name: one for one in (_GREEN, _FINERADSCORE)}

"""A reference as sentences, the changes of its words, and the choices that a seed decides."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from judge.sentences import sentences

_Thing = TypeVar("_Thing")
_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH = frozenset(
    re.findall(r"\w+", "no is are was were the of and there with in without has have been not")
)
# Small words of German, French, Spanish, Portuguese, Italian and Dutch that are none of English.
_FOREIGN = frozenset(
    re.findall(
        r"\w+",
        "kein keine keinen nicht und der das mit ist im rechts links ohne pas les une avec sans "
        "aux du droite gauche sin los las el del con una derecho izquierdo sem n\u00e3o nella "
        "della di il geen het van een niet",
    )
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and its place; `end` is past its full stop."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Reference:
    """A reference report that candidates are made of."""

    text: str

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences, in order."""
        return tuple(Sentence(a, b, self.text[a:b]) for a, b in sentences(self.text))

    @cached_property
    def unfit(self) -> str:
        """Why nothing can be made of it, or ""; the changes are of English sentences."""
        if not self.sentences:
            return "the reference has no sentence"
        letters = [one for one in self.text if one.isalpha()]
        latin = sum(one < "\u0250" for one in letters)
        words = _WORD.findall(self.text.lower())
        foreign, english = (sum(word in of for word in words) for of in (_FOREIGN, _ENGLISH))
        is_english = 2 * latin > len(letters) and foreign <= english
        return "" if is_english else "the reference is not in English"


@dataclass(frozen=True, slots=True)
class Edit:
    """The words of the reference from `start` to `end` become `after`."""

    start: int
    end: int
    after: str


@dataclass(frozen=True, slots=True)
class Error:
    """An error that was put in.

    `categories` are the letters of the six that are right; the first is the usual one. `finding`
    is what it is about. `is_significant` is by clinical sense; where `is_doubtful`, radiologists
    would differ on it.
    """

    categories: tuple[str, ...]
    finding: str
    is_significant: bool
    is_doubtful: bool


@dataclass(frozen=True, slots=True)
class Changed:
    """What a change does to a reference: its edits, which do not overlap, and the errors."""

    edits: tuple[Edit, ...]
    errors: tuple[Error, ...] = ()


@dataclass(frozen=True, slots=True)
class NotMade:
    """Why a change cannot be made on a reference, in a few words that hold no text of it."""

    reason: str


Result = Changed | NotMade


@dataclass(frozen=True, slots=True)
class Draw:
    """Choices that depend on the seed, the study and what is chosen, and on nothing else."""

    seed: int
    study: str
    purpose: str = field(default="")

    def order(self, things: Iterable[_Thing], tag: str = "") -> list[_Thing]:
        """Return the things in an order as good as random; equal for equal things."""
        lots = [(self._lot(tag, place), place, thing) for place, thing in enumerate(things)]
        return [thing for _, _, thing in sorted(lots, key=lambda lot: lot[:2])]

    def one(self, things: Sequence[_Thing], tag: str = "") -> _Thing:
        """Return one of the things, of which there must be one."""
        return self.order(things, tag)[0]

    def _lot(self, tag: str, at: int) -> str:
        key = json.dumps([self.seed, self.study, self.purpose, tag, at])
        return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def applied(text: str, edits: Sequence[Edit]) -> str:
    """Return the text with the edits made; raises ValueError where they overlap.

    Of two that add at one place, the first in `edits` comes first.
    """
    parts: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < done or not edit.start <= edit.end <= len(text):
            raise ValueError(f"the edit at {edit.start} overlaps the one before, or the end")
        parts += [text[done : edit.start], edit.after]
        done = edit.end
    return "".join([*parts, text[done:]])


def capital(text: str) -> str:
    """Return the text with its first letter large."""
    return text[:1].upper() + text[1:]


def like(word: str, model: str) -> str:
    """Return `word` in the case of `model`: ALL, First or none."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    return capital(word) if model[:1].isupper() else word


def without(report: Reference, sentence: Sentence) -> Edit:
    """Return the edit that takes a sentence out, with the white space before or after it."""
    before = report.text[: sentence.start]
    if before.strip():
        return Edit(len(before.rstrip()), sentence.end, "")
    after = report.text[sentence.end :]
    return Edit(sentence.start, sentence.end + len(after) - len(after.lstrip()), "")


def at_end(report: Reference, sentence: str) -> Edit:
    """Return the edit that adds a sentence at the end, in capitals where the report is."""
    text = report.text
    end = len(text.rstrip())
    stop = "" if not end or text[end - 1] in ".!?:" else "."
    said = sentence.upper() if text.isupper() else sentence
    return Edit(end, end, f"{stop}{' ' if end else ''}{said}")


_MARKED = re.compile(r"(?m)^[ \t]*(?:[-*\u2022]|\d{1,2}[.)])[ \t]|\b[A-Za-z/ ]{3,30}:[ \t]*\S")


def is_marked(text: str) -> bool:
    """Whether a text has headings, bullets or numbered items."""
    return bool(_MARKED.search(text) or re.search(r"(?:^|\s)\d[.)]\s+[A-Z]", text))

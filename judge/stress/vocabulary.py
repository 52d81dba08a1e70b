"""The words of findings, devices and places that the changes look for, read from their file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from judge.jsonio import read_yaml


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding or a device: its words, what it is worth, sentences that deny and affirm it.

    Findings of the same `kin` may be said of the same shadow. One that is `low` is always at the
    base of a lung; one that is `sized` is large or small, not severe or mild.
    """

    name: str
    area: str
    pattern: re.Pattern[str]
    significant: bool = False
    doubtful: bool = False
    denied: str | None = None
    affirmed: str | None = None
    kin: str | None = None
    low: bool = False
    sized: bool = False

    def is_kin(self, other: Finding) -> bool:
        """Whether the other is this finding, or may be said of the same shadow."""
        return self is other or (self.kin is not None and self.kin == other.kin)

    @property
    def is_device(self) -> bool:
        """Whether it is a device."""
        return self.area == "devices"


def any_of(words: Iterable[str]) -> re.Pattern[str]:
    """Return what finds any of some words, or of some regular expressions."""
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.I)


_DATA: dict[str, dict[str, Any]] = read_yaml(Path(__file__).with_name("vocabulary.yaml"))[0]
PATTERNS = {name: re.compile(pattern, re.I) for name, pattern in _DATA["patterns"].items()}
AREAS, NORMAL = (
    {area: re.compile(rf"\b(?:{words})", re.I) for area, words in _DATA[key].items()}
    for key in ("areas", "normal")
)
TIPS, SYNONYMS = (
    {any_of([words]): after for words, after in _DATA[key].items()} for key in ("tips", "synonyms")
)
ABBREVIATIONS, DEGREES = _DATA["abbreviations"], _DATA["degrees"]
LEVELS, TURNED = _DATA["levels"], _DATA["turned"]
PATTERNS["level"], PATTERNS["degree"], PATTERNS["turn"] = (
    any_of(sorted(words, key=len, reverse=True)) for words in (LEVELS, DEGREES, TURNED)
)
FINDINGS = tuple(
    Finding(name, pattern=any_of(entry.pop("words")), **{"area": "devices", **entry})
    for name, entry in (_DATA["findings"] | _DATA["devices"]).items()
)


@lru_cache(maxsize=4096)
def findings_in(text: str) -> tuple[Finding, ...]:
    """Return the findings and devices that a text has the words of."""
    return tuple(finding for finding in FINDINGS if finding.pattern.search(text))


def has(pattern: str, text: str) -> bool:
    """Whether a text has what the pattern of this name finds, such as `negated`."""
    return PATTERNS[pattern].search(text) is not None

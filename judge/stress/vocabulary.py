"""The words of findings, devices and places that the changes look for, read from their file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from judge.jsonio import read_yaml
from judge.stress.text import Sentence

_NEGATED = re.compile(
    r"\b(?:no|not|without|negative|free of|clear of|absent|absence|resolved|resolution|cleared"
    r"|denies|unlikely|never|neither|nor|exclude[sd]?|rule out|removed|r/o|none|lack)\b",
    re.I,
)
_HEDGED = re.compile(
    r"\b(?:may|might|could|can|possibl[ey]|questionable|likely|probabl[ey]|versus|vs|suggest\w*"
    r"|concern\w*|suspicious|suspected|represent\w*|consistent|compatible|appear\w* to|evaluat\w*"
    r"|limited|if|prior|history|due to|secondary|either|difficult|correlat\w*|recommend\w*"
    r"|apparent|remote|healed|healing|favor\w*|perhaps|cannot|borderline|differential|indicat\w*)\b|\?|XXXX",
    re.I,
)
_COMPARES = re.compile(
    r"\b(?:stable|unchanged|persistent\w*|again|interval|previous\w*|prior|compar\w+|since|increased"
    r"|decreased|improv\w+|worse\w*|worsen\w+|new|larger|smaller|change|redemonstrat\w+|remains?"
    r"|resolv\w+|continued|residual|earlier|recent|progress\w+|similar|older?)\b",
    re.I,
)
_FURTHER = re.compile(r"[,;/()]|\b(?:with|and|or|but|as well|plus|which|that|also)\b", re.I)


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding or a device: its words, what it is worth, sentences that deny and affirm it.

    Findings of the same `kin` may be said of the same shadow.
    """

    name: str
    area: str
    pattern: re.Pattern[str]
    is_significant: bool = False
    is_doubtful: bool = False
    denied: str | None = None
    affirmed: str | None = None
    kin: str | None = None

    def is_kin(self, other: Finding) -> bool:
        """Whether the other is this finding, or may be said of the same shadow."""
        return self is other or (self.kin is not None and self.kin == other.kin)

    @property
    def is_device(self) -> bool:
        """Whether it is a device."""
        return self.area == "devices"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All words, by what they are for."""

    findings: tuple[Finding, ...]
    tips: tuple[tuple[re.Pattern[str], str], ...]
    areas: dict[str, re.Pattern[str]]
    normal: dict[str, re.Pattern[str]]
    abbreviations: dict[str, str]
    synonyms: tuple[tuple[re.Pattern[str], str], ...]
    degrees: dict[str, dict[str, str]]


@cache
def vocabulary() -> Vocabulary:
    """Return the vocabulary that comes with the program."""
    data: Any = read_yaml(Path(__file__).with_name("vocabulary.yaml"))[0]
    found = [
        Finding(
            name,
            one.get("area", "devices"),
            _either(one["words"]),
            one.get("significant", False),
            one.get("doubtful", False),
            one.get("denied"),
            one.get("affirmed"),
            one.get("kin"),
        )
        for name, one in (data["findings"] | data["devices"]).items()
    ]
    return Vocabulary(
        tuple(found),
        tuple((_either([words]), to) for words, to in data["tips"].items()),
        {name: re.compile(rf"\b(?:{words})", re.I) for name, words in data["areas"].items()},
        {name: re.compile(rf"\b(?:{words})", re.I) for name, words in data["normal"].items()},
        data["abbreviations"],
        tuple((_either([words]), to) for words, to in data["synonyms"].items()),
        data["degrees"],
    )


def _either(words: list[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.I)


@lru_cache(maxsize=4096)
def found_in(text: str) -> tuple[Finding, ...]:
    """Return the findings and devices that a text has the words of."""
    return tuple(one for one in vocabulary().findings if one.pattern.search(text))


def is_negated(text: str) -> bool:
    """Whether something in the text is denied."""
    return bool(_NEGATED.search(text))


def is_hedged(text: str) -> bool:
    """Whether the text holds something for possible only, or has words cut out of it."""
    return bool(_HEDGED.search(text))


def compares(text: str) -> bool:
    """Whether the text speaks of another examination."""
    return bool(_COMPARES.search(text))


def says_more(sentence: Sentence) -> bool:
    """Whether the sentence has more than one part."""
    return bool(_FURTHER.search(sentence.text))

"""The lexicon as a value: findings, structures, and a table of phrases."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    model_validator,
)

from judge.types import Severity


class Kind(StrEnum):
    """What a phrase does in a sentence."""

    FINDING = "finding"
    STRUCTURE = "structure"
    QUALITY = "quality"
    SIDE = "side"
    PLACE = "place"
    LEVEL = "level"
    CHANGE = "change"
    NEGATES_AFTER = "negates_after"
    NEGATES_BEFORE = "negates_before"
    LIKELY_AFTER = "likely_after"
    HEDGES_AFTER = "hedges_after"
    HEDGES_BEFORE = "hedges_before"
    READS_AS = "reads_as"
    MAY_READ_AS = "may_read_as"
    IGNORES_AFTER = "ignores_after"
    BREAK = "breaks"
    VERB = "verbs"
    PREPOSITION = "prepositions"
    NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class Role:
    """One meaning of a phrase: the `name` of the finding, side or change, a place's domain.

    `tags` are the sides of a side and the tags of a place.
    """

    kind: Kind
    name: str = ""
    tags: frozenset[str] = frozenset()


@dataclass(slots=True)
class Node:
    """A step of the phrase table: what may follow, and what the words so far mean."""

    children: dict[str, Node] = field(default_factory=dict)
    roles: tuple[Role, ...] = ()


class Entry(BaseModel):
    """A table of the lexicon's file; no other names may stand in it than its own."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, value: object) -> object:
        if not isinstance(value, dict):
            raise ValueError(  # noqa: TRY004 - pydantic gathers no others
                "is not a table of names; write `name: value` lines"
            )
        known = [field.alias or name for name, field in cls.model_fields.items()]
        unknown = [str(name) for name in value if name not in known]
        if unknown:
            raise ValueError(f"unknown {', '.join(unknown)}; there are: {', '.join(known)}")
        return value


def _on_scale(value: object) -> object:
    if value not in (1, 2, 3, 4) or isinstance(value, bool):
        raise ValueError(f"severity {value!r}; write 1, 2, 3 or 4")
    return value


def _in_order(value: tuple[float, float]) -> tuple[float, float]:
    least, most = value
    if least >= most:
        raise ValueError(f"safe [{least:g}, {most:g}]; write [least, most], in millimetres")
    return value


Phrases = Annotated[list[str], Field(min_length=1)]
_Severity = Annotated[Severity, BeforeValidator(_on_scale)]
_Range = Annotated[tuple[StrictFloat, StrictFloat], AfterValidator(_in_order)]


class Finding(Entry):
    """One finding: its severity on FineRadScore's scale, and how it relates to others.

    `graded` gives the severity by how large or severe the finding is called, `placed` by
    where it is; `safe` are the least and most millimetres above the carina. `kind_of`
    holds the wider findings that may stand for it, `more_than` those of them that leave
    something out; `shadow` is the group of readings of one shadow; `level` how severe the
    word is by itself; `where` the domain of places that count; `when` the qualities of a
    structure that make it.
    """

    words: Phrases
    when: Mapping[str, list[str]] = {}
    label: str = ""
    severity: _Severity
    graded: Mapping[str, _Severity] = {}
    placed: Mapping[str, _Severity] = {}
    safe: _Range | None = None
    area: str
    kind_of: frozenset[str] = frozenset()
    more_than: frozenset[str] = frozenset()
    shadow: str = Field("", alias="confused")
    level: str = ""
    where: Literal["lung", "bone", "line", "none"] = "lung"
    sided: StrictBool = True
    abnormal: StrictBool = True
    rules_out: frozenset[str] = frozenset()

    @model_validator(mode="after")
    def _wider(self) -> Self:
        if odd := self.more_than - self.kind_of:
            odd_ones = ", ".join(sorted(odd))
            raise ValueError(f"more_than: {odd_ones} is not in kind_of; add it there")
        return self


class Structure(Entry):
    """A part of the body; calling it normal rules out the findings of some areas."""

    words: Phrases
    rules_out: frozenset[str] = frozenset()
    abnormal: str
    same_as: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """What the rules know. `version` names the data and a short hash of them.

    `words` are all that stand in a phrase, `long_words` those that a slip can be mended to,
    by first letter; `right_words` are slips of none. `foreign` are words of other languages,
    `other_images` patterns that tell of an examination that is no X-ray.
    """

    version: str
    findings: Mapping[str, Finding]
    structures: Mapping[str, Structure]
    rules: Mapping[tuple[str, str], str]
    levels: Mapping[str, int]
    phrases: Node
    words: frozenset[str]
    long_words: Mapping[str, Sequence[str]]
    right_words: frozenset[str]
    foreign: frozenset[str]
    other_images: re.Pattern[str]

    def related(self, one: str, other: str) -> bool:
        """Return whether two findings are the same or one is a kind of the other."""
        if one == other:
            return True
        return other in self.findings[one].kind_of or one in self.findings[other].kind_of

    def stands_for(self, one: str, other: str) -> bool:
        """Return whether saying `one` tells all that matters of `other`."""
        if one == other:
            return True
        wider = self.findings[other]
        return one in wider.kind_of - wider.more_than or other in self.findings[one].kind_of


@cache
def stem(word: str) -> str:
    """Return a lower-case word without its plural ending."""
    if len(word) <= 3 or word[-1] != "s" or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith("thoraces"):
        return word[:-4] + "x"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1]

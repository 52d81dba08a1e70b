"""The lexicon as a value, findings, structures and a table of phrases, and how YAML becomes one."""

from __future__ import annotations

import hashlib
import re
import reprlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    ValidationError,
    model_validator,
)

from judge.types import JudgeError, Severity
from judge.yamlfile import UnreadableYamlError, read_yaml


class Kind(StrEnum):
    """What a phrase does in a sentence."""

    FINDING = "finding"
    STRUCTURE = "structure"
    QUALITY = "quality"
    SIDE = "side"
    PLACE = "place"
    LEVEL = "level"
    CHANGE = "change"
    ACUITY = "acuity"
    NEGATES_AFTER = "negates_after"
    NEGATES_BEFORE = "negates_before"
    LIKELY_AFTER = "likely_after"
    HEDGES_AFTER = "hedges_after"
    HEDGES_BEFORE = "hedges_before"
    READS_AS = "reads_as"
    MAY_READ_AS = "may_read_as"
    IGNORES_AFTER = "ignores_after"
    ACTION = "action"
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
    word is by itself, `acuity` how old; `urgent_if_acute` tells that acute or old is a
    significant difference; `where` the domain of places that count; `when` the qualities of a
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
    acuity: Literal["", "acute", "old"] = ""
    urgent_if_acute: StrictBool = False
    where: Literal["lung", "bone", "line", "none"] = "lung"
    sided: StrictBool = True
    abnormal: StrictBool = True
    rules_out: frozenset[str] = frozenset()

    @model_validator(mode="after")
    def _wider(self) -> Self:
        if odd := self.more_than - self.kind_of:
            raise ValueError(f"more_than: {', '.join(sorted(odd))} is not in kind_of; add it there")
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
    by first letter; `right_words` are slips of none. `vocabulary` are these and those of the
    built-in lexicon: an own one may be small. `foreign` are words of other languages,
    `other_images` patterns that tell of an examination that is no X-ray.
    """

    version: str
    findings: Mapping[str, Finding]
    structures: Mapping[str, Structure]
    rules: Mapping[tuple[str, str], str]
    levels: Mapping[str, int]
    phrases: Node
    words: frozenset[str]
    long_words: Mapping[str, Collection[str]]
    right_words: frozenset[str]
    vocabulary: frozenset[str]
    foreign: frozenset[str]
    other_images: re.Pattern[str]

    def related(self, one: str, other: str) -> bool:
        """Return whether two findings are the same or one is a kind of the other."""
        findings = self.findings
        return one == other or other in findings[one].kind_of or one in findings[other].kind_of

    def stands_for(self, one: str, other: str) -> bool:
        """Return whether saying `one` tells all that matters of `other`."""
        enough = self.findings[other].kind_of - self.findings[other].more_than
        return one == other or one in enough or other in self.findings[one].kind_of


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


_DEFAULT = Path(__file__).with_name("lexicon.yaml")

_LONG = 7
"""A word of fewer letters is one slip away from too many others to be mended to."""

_MENDED = (Kind.FINDING, Kind.STRUCTURE, Kind.SIDE)
"""The phrases whose words slips are mended to."""

_SECTIONS = (*_MENDED, Kind.QUALITY, Kind.PLACE, Kind.LEVEL, Kind.CHANGE, Kind.ACUITY)
"""What phrases of other sections than `cues` do."""


class _Unfamiliar(Entry):
    languages: frozenset[str]
    images: list[str]


class _File(Entry):
    """A lexicon as its file has it; lexicon.yaml says what each entry means."""

    name: str
    version: int | float | str
    areas: list[str]
    findings: dict[str, Finding]
    structures: dict[str, Structure]
    qualities: dict[str, Phrases]
    sides: dict[Literal["left", "right", "both"], Phrases]
    places: dict[Literal["lung", "bone", "line"], list[tuple[frozenset[str], Phrases]]]
    severity: dict[str, tuple[StrictInt, Phrases]]
    changes: dict[Literal["new", "worse", "better", "unchanged", "resolved"], Phrases]
    acuity: dict[Literal["acute", "old"], Phrases] = {}
    cues: dict[str, Phrases]
    right_words: list[str]
    unfamiliar: _Unfamiliar


@cache
def load(path: Path = _DEFAULT) -> Lexicon:
    """Return the lexicon in `path`, by default the one that comes with the program.

    Raises `JudgeError` that names the file, the entry and the way out.
    """
    try:
        data, raw = read_yaml(path)
        found = _lexicon(_File.model_validate(data), hashlib.sha256(raw).hexdigest()[:8])
    except OSError as error:
        raise JudgeError(
            f"{path}: the lexicon cannot be read ({error.strerror}); give the path of a YAML file"
        ) from error
    except UnreadableYamlError as error:
        raise JudgeError(f"{path}: not YAML: {error}; mend the file") from error
    except (ValidationError, JudgeError) as error:
        raise JudgeError(f"{path}: {_told(error)}") from error
    if path == _DEFAULT:
        return found
    return replace(found, vocabulary=found.vocabulary | load().vocabulary)


def _told(error: ValidationError | JudgeError) -> str:
    if isinstance(error, JudgeError):
        return str(error)
    fault = error.errors()[0]
    *place, last = map(str, fault["loc"] or ("the file",))
    if last == "[key]":
        return f"{': '.join(place[:-1])}: unknown {place[-1]}; {fault['msg']}"
    entry = ": ".join((*place, last))
    if fault["type"] == "missing":
        return f"{entry} is missing; add it"
    if fault["type"] == "value_error":
        return f"{entry}: {fault['ctx']['error']}"
    quote = "; put it in quotes" if isinstance(fault["input"], bool) else ""
    return f"{entry} {reprlib.repr(fault['input'])}: {fault['msg']}{quote}"


def _lexicon(file: _File, digest: str) -> Lexicon:
    for entry, names, known in _references(file):
        if odd := [name for name in names if name not in known]:
            raise JudgeError(f"{entry}: {odd[0]!r} is not defined; define it or mend the spelling")
    root = Node()
    words: set[str] = set()
    long_words: defaultdict[str, set[str]] = defaultdict(set)
    for entry, phrases, role in _phrases(file):
        for phrase in phrases:
            added = _add(root, phrase, entry, role)
            words |= added
            for word in added:
                if role.kind in _MENDED and len(word) >= _LONG:
                    long_words[word[0]].add(word)
    try:
        images = re.compile(rf"\b(?:{'|'.join(file.unfamiliar.images)})\b", re.I)
    except re.error as error:
        raise JudgeError(
            f"unfamiliar: images: is not a list of regular expressions: {error}"
        ) from error
    right_words = frozenset(map(stem, file.right_words))
    return Lexicon(
        version=f"{file.name}-{file.version}+{digest}",
        findings={
            name: finding.model_copy(update={"label": finding.label or name.replace("_", " ")})
            for name, finding in file.findings.items()
        },
        structures=file.structures,
        rules=_rules(file),
        levels={name: number for name, (number, _) in file.severity.items()},
        phrases=root,
        words=frozenset(words),
        long_words=long_words,
        right_words=right_words,
        vocabulary=right_words | words,
        foreign=file.unfamiliar.languages,
        other_images=images,
    )


def _references(file: _File) -> Iterator[tuple[str, Iterable[str], Iterable[str]]]:
    places = {tag for rows in file.places.values() for tags, _ in rows for tag in tags}
    yield "cues", file.cues, {kind.value for kind in Kind if kind not in _SECTIONS}
    for name, finding in file.findings.items():
        entry = f"findings: {name}"
        yield f"{entry}: area", [finding.area], file.areas
        yield f"{entry}: rules_out", finding.rules_out, file.areas
        yield f"{entry}: kind_of", finding.kind_of, file.findings
        yield f"{entry}: graded", finding.graded, file.severity
        yield f"{entry}: placed", finding.placed, places
        yield f"{entry}: level", [finding.level] if finding.level else [], file.severity
        yield f"{entry}: when", finding.when, file.structures
        for structure, qualities in finding.when.items():
            yield f"{entry}: when: {structure}", qualities, file.qualities
    for name, part in file.structures.items():
        entry = f"structures: {name}"
        yield f"{entry}: rules_out", part.rules_out, file.areas
        yield f"{entry}: abnormal", [part.abnormal], file.findings
        yield f"{entry}: same_as", part.same_as, file.structures


def _rules(file: _File) -> dict[tuple[str, str], str]:
    rules: dict[tuple[str, str], str] = {}
    for finding, entry in file.findings.items():
        for structure, qualities in entry.when.items():
            for quality in qualities:
                known = rules.setdefault((structure, quality), finding)
                if known != finding:
                    raise JudgeError(
                        f"findings: {finding}: when: {structure}: {quality!r} already makes it "
                        f"{known}; keep one of the two"
                    )
    return rules


def _phrases(file: _File) -> Iterator[tuple[str, Sequence[str], Role]]:
    for level, (_, phrases) in file.severity.items():
        yield f"severity: {level}", phrases, Role(Kind.LEVEL, level, frozenset({level}))
    for domain, rows in file.places.items():
        for tags, phrases in rows:
            yield f"places: {domain}", phrases, Role(Kind.PLACE, domain, tags)
    for name, finding in file.findings.items():
        yield f"findings: {name}: words", finding.words, Role(Kind.FINDING, name)
    for name, structure in file.structures.items():
        yield f"structures: {name}: words", structure.words, Role(Kind.STRUCTURE, name)
    for name, phrases in file.qualities.items():
        yield f"qualities: {name}", phrases, Role(Kind.QUALITY, name)
    for side, phrases in file.sides.items():
        tags = frozenset({"left", "right"} if side == "both" else {side})
        yield f"sides: {side}", phrases, Role(Kind.SIDE, side, tags)
    for change, phrases in file.changes.items():
        yield f"changes: {change}", phrases, Role(Kind.CHANGE, change, frozenset({change}))
    for age, phrases in file.acuity.items():
        yield f"acuity: {age}", phrases, Role(Kind.ACUITY, age, frozenset({age}))
    for cue, phrases in file.cues.items():
        yield f"cues: {cue}", phrases, Role(Kind(cue))


def _add(root: Node, phrase: str, entry: str, role: Role) -> set[str]:
    """Enter a phrase into the table, with every choice that it leaves; return its words."""
    words: set[str] = set()
    nodes = [root]
    for word in phrase.lower().split():
        following = [*nodes] if word.endswith("?") else []
        for choice in word.rstrip("?").split("|"):
            if not choice:
                raise JudgeError(f"{entry}: {phrase!r} has an empty choice; remove a '|'")
            key = stem(choice)
            words.add(key)
            following += [node.children.setdefault(key, Node()) for node in nodes]
        nodes = following
    for node in nodes:
        if node is root:
            raise JudgeError(f"{entry}: {phrase!r} may be empty; one word must stay")
        if role not in node.roles:
            node.roles = (*node.roles, role)
    return words

"""The lexicon as a value: read from YAML, checked, and turned into a table of phrases."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import cast

import yaml

from judge.types import JudgeError, Severity

_DEFAULT = Path(__file__).with_name("lexicon.yaml")
_WHERE = ("lung", "bone", "line", "none")


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
    HEDGES_AFTER = "hedges_after"
    HEDGES_BEFORE = "hedges_before"
    READS_AS = "reads_as"
    MAY_READ_AS = "may_read_as"
    IGNORES_AFTER = "ignores_after"
    BREAK = "breaks"
    VERB = "verbs"
    PREPOSITION = "prepositions"
    NEUTRAL = "neutral"


_CUES = tuple(
    kind
    for kind in Kind
    if kind.value not in {"finding", "structure", "quality", "side", "place", "level", "change"}
)


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


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: severity on FineRadScore's scale, and how it relates to others.

    `kin` holds the findings that are no error when one report names this and the other
    names them; `shadow` the group of readings of one shadow; `level` how severe the word
    is by itself; `where` the domain of places that count.
    """

    name: str
    label: str
    severity: Severity
    area: str
    kind_of: frozenset[str]
    shadow: str
    level: int | None
    where: str
    sided: bool
    abnormal: bool
    rules_out: frozenset[str]


@dataclass(frozen=True, slots=True)
class Structure:
    """A part of the body; calling it normal rules out the findings of some areas."""

    name: str
    rules_out: frozenset[str]
    abnormal: str
    same_as: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """What the rules know. `version` names the data and a short hash of them."""

    version: str
    findings: Mapping[str, Finding]
    structures: Mapping[str, Structure]
    rules: Mapping[tuple[str, str], str]
    levels: Mapping[str, int]
    phrases: Node

    def related(self, one: str, other: str) -> bool:
        """Return whether two findings are the same or one is a kind of the other."""
        if one == other:
            return True
        return other in self.findings[one].kind_of or one in self.findings[other].kind_of


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


def load(path: Path | None = None) -> Lexicon:
    """Return the lexicon in `path`, by default the one that comes with the program.

    Raises `JudgeError` that names the file, the entry and the way out.
    """
    return _load(_DEFAULT if path is None else Path(path))


@cache
def _load(path: Path) -> Lexicon:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise JudgeError(
            f"{path}: the lexicon cannot be read ({error.strerror}); give the path of a YAML file"
        ) from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        data = yaml.load(raw, Loader=loader)  # noqa: S506 (a safe loader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise JudgeError(
            f"{path}: not YAML: {' '.join(str(error).split())}; mend the file"
        ) from error
    return _Reader(path).lexicon(data, hashlib.sha256(raw).hexdigest()[:8])


class _Reader:
    """Turns the parsed YAML into a `Lexicon`, or says which entry is wrong."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root = Node()

    def fail(self, entry: str, problem: str) -> JudgeError:
        return JudgeError(f"{self.path}: {entry}: {problem}")

    def lexicon(self, data: object, digest: str) -> Lexicon:
        top = self.mapping(data, "the file", _TOP)
        missing = [key for key in _TOP if key not in top]
        if missing:
            raise self.fail("the file", f"lacks {', '.join(missing)}; add what is missing")
        areas = frozenset(self.texts(top["areas"], "areas"))
        levels = self.levels(top["severity"])
        findings = self.findings(top["findings"], areas, levels)
        structures = self.structures(top["structures"], areas, findings)
        qualities = self.mapping(top["qualities"], "qualities")
        rules = self.rules(top["findings"], structures, qualities)
        for name, phrases in qualities.items():
            self.add(phrases, f"qualities: {name}", Role(Kind.QUALITY, name))
        for name, phrases in self.mapping(top["sides"], "sides", _SIDES).items():
            tags = frozenset({"left", "right"} if name == "both" else {name})
            self.add(phrases, f"sides: {name}", Role(Kind.SIDE, name, tags))
        for name, phrases in self.mapping(top["changes"], "changes", _CHANGES).items():
            self.add(phrases, f"changes: {name}", Role(Kind.CHANGE, name))
        for name, phrases in self.mapping(top["cues"], "cues", tuple(_CUES)).items():
            self.add(phrases, f"cues: {name}", Role(Kind(name)))
        self.places(top["places"])
        version = f"{top['name']}-{top['version']}+{digest}"
        return Lexicon(version, findings, structures, rules, levels, self.root)

    def findings(
        self, data: object, areas: frozenset[str], levels: Mapping[str, int]
    ) -> dict[str, Finding]:
        entries = self.mapping(data, "findings")
        parsed: dict[str, Finding] = {}
        for name, value in entries.items():
            entry = f"findings: {name}"
            item = self.mapping(value, entry, _FINDING)
            severity = item.get("severity")
            if severity not in (1, 2, 3, 4) or isinstance(severity, bool):
                raise self.fail(entry, f"severity {severity!r}; write 1, 2, 3 or 4")
            where = item.get("where", "lung")
            if where not in _WHERE:
                raise self.fail(entry, f"where {where!r}; write one of {', '.join(_WHERE)}")
            level = item.get("level")
            if level is not None and level not in levels:
                raise self.fail(entry, f"level {level!r}; write one of {', '.join(levels)}")
            rules_out = self.among(item.get("rules_out", []), areas, f"{entry}: rules_out")
            (area,) = self.among([item.get("area")], areas, f"{entry}: area")
            parsed[name] = Finding(
                name=name,
                label=str(item.get("label", name.replace("_", " "))),
                severity=severity,
                area=area,
                kind_of=self.among(item.get("kind_of", []), entries, f"{entry}: kind_of"),
                shadow=str(item.get("confused", "")),
                level=None if level is None else levels[str(level)],
                where=str(where),
                sided=item.get("sided", True) is True,
                abnormal=item.get("abnormal", True) is True,
                rules_out=rules_out,
            )
            self.add(item.get("words"), f"{entry}: words", Role(Kind.FINDING, name))
        return parsed

    def structures(
        self, data: object, areas: frozenset[str], findings: Mapping[str, Finding]
    ) -> dict[str, Structure]:
        entries = self.mapping(data, "structures")
        parsed: dict[str, Structure] = {}
        for name, value in entries.items():
            entry = f"structures: {name}"
            item = self.mapping(value, entry, _STRUCTURE)
            (abnormal,) = self.among([item.get("abnormal")], findings, f"{entry}: abnormal")
            parsed[name] = Structure(
                name=name,
                rules_out=self.among(item.get("rules_out", []), areas, f"{entry}: rules_out"),
                abnormal=abnormal,
                same_as=self.among(item.get("same_as", []), entries, f"{entry}: same_as"),
            )
            self.add(item.get("words"), f"{entry}: words", Role(Kind.STRUCTURE, name))
        return parsed

    def rules(
        self, data: object, structures: Mapping[str, Structure], qualities: Mapping[str, object]
    ) -> dict[tuple[str, str], str]:
        rules: dict[tuple[str, str], str] = {}
        for finding, value in self.mapping(data, "findings").items():
            entry = f"findings: {finding}: when"
            when = self.mapping(cast("Mapping[str, object]", value).get("when", {}), entry)
            self.among(when, structures, entry)
            for structure, names in when.items():
                for quality in self.among(names, qualities, f"{entry}: {structure}"):
                    known = rules.setdefault((structure, quality), finding)
                    if known != finding:
                        raise self.fail(
                            f"{entry}: {structure}",
                            f"{quality!r} already makes it {known}; keep one of the two",
                        )
        return rules

    def levels(self, data: object) -> dict[str, int]:
        levels: dict[str, int] = {}
        for name, value in self.mapping(data, "severity").items():
            entry = f"severity: {name}"
            if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], int):
                raise self.fail(entry, "write [number, [phrases]]")
            levels[name] = value[0]
            self.add(value[1], entry, Role(Kind.LEVEL, name))
        return levels

    def places(self, data: object) -> None:
        for domain, rows in self.mapping(data, "places", _WHERE[:-1]).items():
            entry = f"places: {domain}"
            if not isinstance(rows, list):
                raise self.fail(entry, "write a list of [[tags], [phrases]]")
            for row in rows:
                if not isinstance(row, list) or len(row) != 2:
                    raise self.fail(f"{entry}: {row!r}", "write [[tags], [phrases]]")
                tags = frozenset(self.texts(row[0], entry))
                self.add(row[1], entry, Role(Kind.PLACE, domain, tags))

    def mapping(
        self, value: object, entry: str, keys: tuple[str, ...] | None = None
    ) -> Mapping[str, object]:
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise self.fail(entry, "is not a table of names; write `name: value` lines")
        if keys is not None:
            unknown = sorted(set(value) - set(keys))
            if unknown:
                known = ", ".join(keys)
                raise self.fail(entry, f"unknown {', '.join(unknown)}; there are: {known}")
        return value

    def texts(self, value: object, entry: str) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.fail(entry, "is not a list of words; write [one, two], quoting yes and no")
        return value

    def among(self, value: object, known: Iterable[str], entry: str) -> frozenset[str]:
        names: list[object] = list(value) if isinstance(value, dict | list) else [value]
        known = frozenset(known)
        for name in names:
            if name not in known:
                raise self.fail(entry, f"{name!r} is not defined; define it or mend the spelling")
        return frozenset(cast("list[str]", names))

    def add(self, phrases: object, entry: str, role: Role) -> None:
        listed = self.texts(phrases, entry)
        if not listed:
            raise self.fail(entry, "has no phrase; write at least one")
        for phrase in listed:
            nodes = [self.root]
            for word in phrase.lower().split():
                optional = word.endswith("?")
                following = [*nodes] if optional else []
                for choice in word.rstrip("?").split("|"):
                    if not choice:
                        raise self.fail(entry, f"{phrase!r} has an empty choice; remove a '|'")
                    key = stem(choice)
                    for node in nodes:
                        child = node.children.get(key)
                        if child is None:
                            child = node.children[key] = Node()
                        following.append(child)
                nodes = following
            for node in nodes:
                if node is self.root:
                    raise self.fail(entry, f"{phrase!r} may be empty; one word must stay")
                if role not in node.roles:
                    node.roles = (*node.roles, role)


_TOP = (
    "name",
    "version",
    "areas",
    "findings",
    "structures",
    "qualities",
    "sides",
    "places",
    "severity",
    "changes",
    "cues",
)
_SIDES = ("left", "right", "both")
_CHANGES = ("new", "worse", "better", "unchanged", "resolved")
_FINDING = (
    "severity",
    "area",
    "words",
    "label",
    "when",
    "kind_of",
    "confused",
    "level",
    "where",
    "sided",
    "abnormal",
    "rules_out",
)
_STRUCTURE = ("rules_out", "abnormal", "same_as", "words")

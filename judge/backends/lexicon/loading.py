"""Reads a lexicon from YAML, checks it, and turns its phrases into a table."""

from __future__ import annotations

import hashlib
import re
import reprlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Literal

from pydantic import StrictInt, ValidationError

from judge.backends.lexicon.data import (
    Entry,
    Finding,
    Kind,
    Lexicon,
    Node,
    Phrases,
    Role,
    Structure,
    stem,
)
from judge.types import JudgeError
from judge.yamlfile import UnreadableYamlError, read_yaml

_DEFAULT = Path(__file__).with_name("lexicon.yaml")

_LONG = 7
"""A word of fewer letters is one slip away from too many others to be mended to."""

_MENDED = (Kind.FINDING, Kind.STRUCTURE, Kind.SIDE)
"""The phrases whose words slips are mended to."""

_SECTIONS = (*_MENDED, Kind.QUALITY, Kind.PLACE, Kind.LEVEL, Kind.CHANGE)
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
    cues: dict[str, Phrases]
    right_words: list[str]
    unfamiliar: _Unfamiliar


class _WrongEntryError(Exception):
    """An entry that cannot be used. Its text names the entry and the fault."""


def load(path: Path | None = None) -> Lexicon:
    """Return the lexicon in `path`, by default the one that comes with the program.

    Raises `JudgeError` that names the file, the entry and the way out.
    """
    return _load(_DEFAULT if path is None else Path(path))


@cache
def _load(path: Path) -> Lexicon:
    try:
        data, raw = read_yaml(path)
        return _lexicon(_File.model_validate(data), hashlib.sha256(raw).hexdigest()[:8])
    except OSError as error:
        raise JudgeError(
            f"{path}: the lexicon cannot be read ({error.strerror}); give the path of a YAML file"
        ) from error
    except UnreadableYamlError as error:
        raise JudgeError(f"{path}: not YAML: {error}; mend the file") from error
    except (ValidationError, _WrongEntryError) as error:
        raise JudgeError(f"{path}: {_told(error)}") from error


def _told(error: ValidationError | _WrongEntryError) -> str:
    """Return the first fault and its place, in one line."""
    if isinstance(error, _WrongEntryError):
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
        for name in names:
            if name not in known:
                raise _WrongEntryError(
                    f"{entry}: {name!r} is not defined; define it or mend the spelling"
                )
    root = Node()
    words: set[str] = set()
    long_words: set[str] = set()
    for entry, phrases, role in _phrases(file):
        for phrase in phrases:
            added = _add(root, phrase, entry, role)
            words |= added
            if role.kind in _MENDED:
                long_words |= {word for word in added if len(word) >= _LONG}
    try:
        images = re.compile(rf"\b(?:{'|'.join(file.unfamiliar.images)})\b", re.I)
    except re.error as error:
        raise _WrongEntryError(
            f"unfamiliar: images: is not a list of regular expressions: {error}"
        ) from error
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
        long_words={
            letter: tuple(group) for letter, group in groupby(sorted(long_words), lambda w: w[0])
        },
        right_words=frozenset(map(stem, file.right_words)),
        foreign=file.unfamiliar.languages,
        other_images=images,
    )


def _references(file: _File) -> Iterator[tuple[str, Iterable[str], Iterable[str]]]:
    """Yield each entry that names others, the names, and those that are defined."""
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
    """Return which finding a structure and a quality make."""
    rules: dict[tuple[str, str], str] = {}
    for finding, entry in file.findings.items():
        for structure, qualities in entry.when.items():
            for quality in qualities:
                known = rules.setdefault((structure, quality), finding)
                if known != finding:
                    raise _WrongEntryError(
                        f"findings: {finding}: when: {structure}: {quality!r} already makes it "
                        f"{known}; keep one of the two"
                    )
    return rules


def _phrases(file: _File) -> Iterator[tuple[str, Sequence[str], Role]]:
    """Yield each entry with its phrases and what they mean."""
    for level, (_, phrases) in file.severity.items():
        yield f"severity: {level}", phrases, Role(Kind.LEVEL, level)
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
        yield f"changes: {change}", phrases, Role(Kind.CHANGE, change)
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
                raise _WrongEntryError(f"{entry}: {phrase!r} has an empty choice; remove a '|'")
            key = stem(choice)
            words.add(key)
            following += [node.children.setdefault(key, Node()) for node in nodes]
        nodes = following
    for node in nodes:
        if node is root:
            raise _WrongEntryError(f"{entry}: {phrase!r} may be empty; one word must stay")
        if role not in node.roles:
            node.roles = (*node.roles, role)
    return words

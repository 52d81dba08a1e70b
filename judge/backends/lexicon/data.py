"""The lexicon as a value, findings, structures and a table of phrases, and how YAML becomes one."""

from __future__ import annotations

import hashlib
import re
import reprlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    ValidationError,
    model_validator,
)

from judge.jsonio import UnreadableYamlError, read_yaml
from judge.types import JudgeError, Severity

Kind = StrEnum(
    "Kind",
    "FINDING STRUCTURE QUALITY SIDE PLACE LEVEL CHANGE ACUITY NEGATES_AFTER NEGATES_BEFORE "
    "LIKELY_AFTER HEDGES_AFTER HEDGES_BEFORE READS_AS MAY_READ_AS IGNORES_AFTER ACTION BREAKS "
    "VERBS PREPOSITIONS NEUTRAL",
)
"""The parts that a phrase can play in a sentence."""


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
    """A step of the phrase table: the words that may follow, and the roles of the words so far."""

    children: dict[str, Node] = field(default_factory=dict)
    roles: tuple[Role, ...] = ()


class Entry(BaseModel):
    """A table of the lexicon file; unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Phrases = Annotated[list[str], Field(min_length=1)]


class Finding(Entry):
    """One finding: its severity on FineRadScore's scale, and how it relates to others.

    `graded` gives the severity by how large or severe the finding is called, `placed` by
    where it is; `safe` are the least and most millimetres above the carina. `kind_of`
    holds the wider findings that may replace it, `more_than` those of them that leave
    something out; `shadow` is the group of readings of one shadow; `level` how severe the
    word is by itself, `acuity` how old; `urgent_if_acute` tells that acute or old is a
    significant difference; `where` the domain of places that count; `when` the qualities of a
    structure that make it.
    """

    words: Phrases
    when: Mapping[str, list[str]] = {}
    label: str = ""
    severity: Severity
    graded: Mapping[str, Severity] = {}
    placed: Mapping[str, Severity] = {}
    safe: tuple[StrictFloat, StrictFloat] | None = None
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
    def _in_order(self) -> Self:
        if odd := self.more_than - self.kind_of:
            raise ValueError(f"more_than: {', '.join(sorted(odd))} is not in kind_of; add it there")
        if self.safe and self.safe[0] >= self.safe[1]:
            raise ValueError(
                f"safe [{self.safe[0]:g}, {self.safe[1]:g}]; write [least, most], in millimetres"
            )
        return self


class Structure(Entry):
    """A part of the body; calling it normal rules out the findings of some areas."""

    words: Phrases
    rules_out: frozenset[str] = frozenset()
    abnormal: str
    same_as: frozenset[str] = frozenset()


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


_LONG = 7
"""A word of fewer letters is one slip away from too many others to be mended to."""

_MENDED = (Kind.FINDING, Kind.STRUCTURE, Kind.SIDE)
"""The kinds of phrases to which misspelt words are corrected."""

_SECTIONS = (*_MENDED, Kind.QUALITY, Kind.PLACE, Kind.LEVEL, Kind.CHANGE, Kind.ACUITY)
"""The kinds of phrases outside the section `cues`."""


def _labelled(findings: dict[str, Finding]) -> dict[str, Finding]:
    return {
        name: finding.model_copy(update={"label": finding.label or name.replace("_", " ")})
        for name, finding in findings.items()
    }


def _stems(words: frozenset[str]) -> frozenset[str]:
    return frozenset(map(stem, words))


class _Unfamiliar(Entry):
    languages: frozenset[str]
    images: list[str]
    english: frozenset[str] = frozenset()
    reports: frozenset[str] = frozenset()
    elsewhere: list[str] = []


class Lexicon(Entry):
    """The lexicon file as a value; lexicon.yaml explains each entry.

    `version` names the data and a short hash of them. `words` are all words of the phrases,
    `long_words` those that a slip can be mended to, by first letter; `right_words` are slips of
    none. `vocabulary` are these and those of the built-in lexicon: an own one may be small.
    """

    name: str
    version: int | float | str
    areas: list[str]
    findings: Annotated[dict[str, Finding], AfterValidator(_labelled)]
    structures: dict[str, Structure]
    qualities: dict[str, Phrases]
    sides: dict[Literal["left", "right", "both"], Phrases]
    places: dict[Literal["lung", "bone", "line"], list[tuple[frozenset[str], Phrases]]]
    severity: dict[str, tuple[StrictInt, Phrases]]
    changes: dict[Literal["new", "worse", "better", "unchanged", "resolved"], Phrases]
    acuity: dict[Literal["acute", "old"], Phrases] = {}
    cues: dict[str, Phrases]
    right_words: Annotated[frozenset[str], AfterValidator(_stems)]
    unfamiliar: _Unfamiliar

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        places = {tag for rows in self.places.values() for tags, _ in rows for tag in tags}
        known: tuple[tuple[Iterable[str], tuple[str, ...]], ...] = (
            (self.areas, ("area", "rules_out")),
            (self.findings, ("kind_of", "abnormal")),
            (self.structures, ("when", "same_as")),
            (self.severity, ("graded", "level")),
            (places, ("placed",)),
        )
        defined = {part: names for names, parts in known for part in parts}
        _refuse_unknown("cues", self.cues, [kind for kind in Kind if kind not in _SECTIONS])
        for section, entries in (("findings", self.findings), ("structures", self.structures)):
            for name, entry in entries.items():
                for part, value in entry:
                    if value and not isinstance(value, bool) and part in defined:
                        names = [value] if isinstance(value, str) else value
                        _refuse_unknown(f"{section}: {name}: {part}", names, defined[part])
        for (structure, quality), finding in self.rules.items():
            place = f"findings: {finding}: when: {structure}"
            _refuse_unknown(place, [quality], self.qualities)
        _ = self.phrases, self.other_images, self.elsewhere  # made, and so checked
        return self

    @cached_property
    def rules(self) -> dict[tuple[str, str], str]:
        """The finding that a structure and a quality make."""
        rules: dict[tuple[str, str], str] = {}
        for finding, entry in self.findings.items():
            for structure, qualities in entry.when.items():
                for quality in qualities:
                    known = rules.setdefault((structure, quality), finding)
                    if known != finding:
                        raise ValueError(
                            f"findings: {finding}: when: {structure}: {quality!r} already makes "
                            f"it {known}; keep one of the two"
                        )
        return rules

    @cached_property
    def levels(self) -> dict[str, int]:
        """How severe each word for it is, as a number."""
        return {name: number for name, (number, _) in self.severity.items()}

    @cached_property
    def phrases(self) -> Node:
        """The table of phrases, by their words."""
        root = Node()
        for entry, phrases, role in self._roles():
            for phrase in phrases:
                _add(root, phrase, entry, role)
        return root

    def _roles(self) -> Iterator[tuple[str, Sequence[str], Role]]:
        for domain, rows in self.places.items():
            for tags, phrases in rows:
                yield f"places: {domain}", phrases, Role(Kind.PLACE, domain, tags)
        levels = ((name, words) for name, (_, words) in self.severity.items())
        findings = ((name, finding.words) for name, finding in self.findings.items())
        parts = ((name, part.words) for name, part in self.structures.items())
        sections: tuple[tuple[str, Kind, Iterable[tuple[str, list[str]]]], ...] = (
            ("severity", Kind.LEVEL, levels),
            ("findings", Kind.FINDING, findings),
            ("structures", Kind.STRUCTURE, parts),
            ("qualities", Kind.QUALITY, self.qualities.items()),
            ("sides", Kind.SIDE, self.sides.items()),
            ("changes", Kind.CHANGE, self.changes.items()),
            ("acuity", Kind.ACUITY, self.acuity.items()),
        )
        for section, kind, entries in sections:
            for name, phrases in entries:
                tags = frozenset({"left", "right"} if name == "both" else {name})
                yield f"{section}: {name}", phrases, Role(kind, name, tags)
        for cue, phrases in self.cues.items():
            yield f"cues: {cue}", phrases, Role(Kind(cue))

    @cached_property
    def words(self) -> frozenset[str]:
        """All words of all phrases."""
        return frozenset(word for _, phrases, _ in self._roles() for word in _words(phrases))

    @cached_property
    def long_words(self) -> dict[str, set[str]]:
        """The words that a slip can be mended to, by their first letter."""
        words: defaultdict[str, set[str]] = defaultdict(set)
        for _, phrases, role in self._roles():
            for word in _words(phrases) if role.kind in _MENDED else ():
                if len(word) >= _LONG:
                    words[word[0]].add(word)
        return words

    @cached_property
    def other_images(self) -> re.Pattern[str]:
        """Matches words that only reports of CT, MRI or ultrasound use of themselves."""
        return _pattern("images", self.unfamiliar.images)

    @cached_property
    def elsewhere(self) -> re.Pattern[str]:
        """Matches words that refer to another examination."""
        return _pattern("elsewhere", self.unfamiliar.elsewhere)

    def knows(self, word: str) -> bool:
        """Return whether it is a word of this lexicon or of the built-in one: some are small."""
        known = stem(word)
        is_own = known in self.words or known in self.right_words
        return is_own or (self is not load() and load().knows(word))

    def related(self, name: str, other: str) -> bool:
        """Return whether two findings are the same or one is a kind of the other."""
        findings = self.findings
        return name == other or other in findings[name].kind_of or name in findings[other].kind_of

    def stands_for(self, name: str, other: str) -> bool:
        """Return whether saying `one` tells all that matters of `other`."""
        enough = self.findings[other].kind_of - self.findings[other].more_than
        return name == other or name in enough or other in self.findings[name].kind_of


def _refuse_unknown(entry: str, names: Iterable[str], known: Iterable[str]) -> None:
    if odd := [name for name in names if name not in known]:
        raise ValueError(f"{entry}: {odd[0]!r} is not defined; define it or mend the spelling")


def _pattern(entry: str, patterns: Sequence[str]) -> re.Pattern[str]:
    try:
        return re.compile(rf"\b(?:{'|'.join(patterns)})\b", re.I)
    except re.error as error:
        raise ValueError(
            f"unfamiliar: {entry}: is not a list of regular expressions: {error}"
        ) from error


def _choices(word: str) -> list[str]:
    return [stem(choice) for choice in word.lower().rstrip("?").split("|")]


def _words(phrases: Sequence[str]) -> Iterator[str]:
    return (key for phrase in phrases for word in phrase.split() for key in _choices(word))


def _add(root: Node, phrase: str, entry: str, role: Role) -> None:
    """Enter a phrase into the table, with every choice that it leaves."""
    nodes = [root]
    for word in phrase.split():
        following = [*nodes] if word.endswith("?") else []
        for choice in _choices(word):
            if not choice:
                raise ValueError(f"{entry}: {phrase!r} has an empty choice; remove a '|'")
            following += [node.children.setdefault(choice, Node()) for node in nodes]
        nodes = following
    for node in nodes:
        if node is root:
            raise ValueError(f"{entry}: {phrase!r} may be empty; one word must stay")
        if role not in node.roles:
            node.roles = (*node.roles, role)


_DEFAULT = Path(__file__).with_name("lexicon.yaml")


@cache
def load(path: Path = _DEFAULT) -> Lexicon:
    """Return the lexicon in `path`, by default the one that comes with the program.

    Raises `JudgeError` that names the file, the entry and the way out.
    """
    try:
        data, raw = read_yaml(path)
        lexicon = Lexicon.model_validate(data)
    except OSError as error:
        raise JudgeError(
            f"{path}: the lexicon cannot be read ({error.strerror}); give the path of a YAML file"
        ) from error
    except UnreadableYamlError as error:
        raise JudgeError(f"{path}: not YAML: {error}; mend the file") from error
    except ValidationError as error:
        raise JudgeError(f"{path}: {_format_error(error)}") from error
    digest = hashlib.sha256(raw).hexdigest()[:8]
    return lexicon.model_copy(update={"version": f"{lexicon.name}-{lexicon.version}+{digest}"})


def _format_error(error: ValidationError) -> str:
    # An unknown name explains a missing one.
    fault = min(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
    places = [str(part) for part in fault["loc"] if part != "[key]"] or ["the file"]
    if fault["type"] == "extra_forbidden" or "[key]" in fault["loc"]:
        return f"{': '.join((*places[:-1], ''))}unknown {places[-1]}; mend the spelling"
    message = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "model_type":
        message = "not a table of names; write `name: value` lines"
    if fault["type"] in ("value_error", "model_type", "missing"):
        return ": ".join((*(places if fault["loc"] else ()), message))
    return f"{': '.join(places)} {reprlib.repr(fault['input'])}: {message}"


_TOKEN = re.compile(r"\d+(?:\.\d+)?(?=(?:mm|cm)\b)|\d+\.\d+|[^\W_]+|[,;:()/]")
_DROPPED = frozenset({"the", "a", "an"})
JOIN, VERB, PREPOSITION, BREAK = "jvpb"
"""The letters for joins, verbs, prepositions and breaks between two phrases."""

_BY_KIND = {Kind.VERBS: VERB, Kind.PREPOSITIONS: PREPOSITION, Kind.BREAKS: BREAK}
JOINS = frozenset({",", "and", "or", "nor", "(", ")", "/"})
_BY_WORD = dict.fromkeys(JOINS, JOIN) | {";": BREAK, ":": BREAK}
_NUMBER = re.compile(r"\d{1,4}(?:\.\d{1,3})?\Z")
_FORMERLY = frozenset({"previously", "formerly", "prior", "was"})
_MM = {"mm": 1.0, "millimeter": 1.0, "cm": 10.0, "centimeter": 10.0}
_BETWEEN_NUMBERS = frozenset({"x", "by", "to", *_MM})

_INNER = (Kind.SIDE, Kind.PLACE, Kind.ACUITY)

_MOST_TOKENS = 200
"""A sentence of more words than this is read in pieces, so that time stays linear."""

_SHORTEST = 6
"""A word of fewer letters is one slip away from too many others to be mended."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A phrase of the lexicon at the tokens `first` to `last` (exclusive), with its meanings."""

    first: int
    last: int
    roles: tuple[Role, ...]

    def role(self, *kinds: Kind) -> Role | None:
        """Return the first meaning of one of these kinds, if the phrase has one."""
        for role in self.roles:
            if role.kind in kinds:
                return role
        return None


@dataclass(frozen=True, slots=True)
class Measure:
    """A length in millimetres at the tokens `first` to `last` (exclusive)."""

    first: int
    last: int
    mm: float


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence as words: the spans in its text, the phrases, the lengths.

    `inner` holds the sides, places and acuity within a finding's phrase ("basilar atelectasis").
    `stops` has a letter for each join, verb, preposition and break, `offsets` how many of them lie
    before each token.
    """

    text: str
    lexicon: Lexicon
    words: list[str]
    spans: list[tuple[int, int]]
    marks: list[Mark]
    inner: list[Mark]
    measures: list[Measure]
    stops: str
    offsets: list[int]

    def between(self, first: int, last: int) -> str:
        """Return the letters of `stops` from token `first` to `last` (exclusive)."""
        return self.stops[self.offsets[first] : self.offsets[last]]

    def marked(self, first: int, last: int, *kinds: Kind) -> bool:
        """Return whether a phrase of one of these kinds begins at `first` or before `last`."""
        return any(mark.role(*kinds) for mark in self.marks if first <= mark.first < last)


def tokenise(sentence: str, lexicon: Lexicon) -> list[Line]:
    """Return `sentence` as one line of words, or as several where it is very long."""
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(sentence):
        if word := _normalise(match.group(), lexicon):
            words.append(word)
            spans.append(match.span())
    return [
        _line(
            sentence,
            lexicon,
            words[first : first + _MOST_TOKENS],
            spans[first : first + _MOST_TOKENS],
        )
        for first in range(0, len(words), _MOST_TOKENS)
    ]


@lru_cache(maxsize=65536)
def _normalise(token: str, lexicon: Lexicon) -> str:
    word = token.lower()
    if word in _DROPPED or (word.startswith("xxx") and not word.strip("x")):
        return ""
    word = stem(word)
    return word if word in lexicon.words else correct_slip(word, lexicon)


def _line(text: str, lexicon: Lexicon, words: list[str], spans: list[tuple[int, int]]) -> Line:
    marks: list[Mark] = []
    inner: list[Mark] = []
    stops = [""] * len(words)
    first = 0
    while first < len(words):
        end, roles = _longest(words, first, lexicon.phrases)
        if roles:
            marks.append(Mark(first, end, roles))
            kinds = [role.kind for role in roles if words[first] != "of"]
            stops[first] = "".join(_BY_KIND[kind] for kind in kinds if kind in _BY_KIND)
            if Kind.FINDING in kinds and end > first + 1:
                inner += _inner(words, first, end, lexicon.phrases)
        else:
            is_heading = words[first] == ":" and len(marks) == 1 and marks[0].last == first
            # "Heart: enlarged" is "Heart is enlarged".
            is_said = is_heading and marks[0].role(Kind.STRUCTURE)
            stops[first] = VERB if is_said else _BY_WORD.get(words[first], "")
        first = end
    offsets = [0, *accumulate(map(len, stops))]
    return Line(
        text, lexicon, words, spans, marks, inner, _measures(words), "".join(stops), offsets
    )


def _inner(words: list[str], first: int, last: int, root: Node) -> list[Mark]:
    marks: list[Mark] = []
    for start in range(first, last):
        # "Acute" is part of the phrase "acute fracture" and says how old it is.
        end, roles = _longest(words[:last], start, root)
        if start == first and end == last:
            end, roles = _longest(words[: last - 1], start, root)
            roles = tuple(role for role in roles if role.kind is Kind.ACUITY)
        inner_roles = tuple(
            role
            for role in roles
            if role.kind in _INNER and (role.kind is not Kind.PLACE or role.name != "line")
        )
        if inner_roles:
            marks.append(Mark(start, end, inner_roles))
    return marks


def _longest(words: list[str], first: int, root: Node) -> tuple[int, tuple[Role, ...]]:
    node: Node | None = root.children.get(words[first])
    phrase: tuple[int, tuple[Role, ...]] = (first + 1, ())
    end = first + 1
    while node is not None:
        if node.roles:
            phrase = (end, node.roles)
        node = node.children.get(words[end]) if end < len(words) else None
        end += 1
    return phrase


def _measures(words: list[str]) -> list[Measure]:
    measures: list[Measure] = []
    for token, word in enumerate(words):
        if word not in _MM:
            continue
        first, largest = token, 0.0
        while first > 0 and token - first < 7:
            before = words[first - 1]
            if _NUMBER.match(before):
                largest = max(largest, float(before))
            elif before not in _BETWEEN_NUMBERS:
                break
            first -= 1
        moved = words[first] == "by"  # how far to pull, not how large
        if largest and not moved and not (first and words[first - 1] in _FORMERLY):
            measures.append(Measure(first, token + 1, largest * _MM[word]))
    return measures


def correct_slip(word: str, lexicon: Lexicon) -> str:
    """Return `word`, or the one word of the lexicon that it is a slip of.

    A slip is one letter too many, too few, wrong, or two neighbours swapped; never the
    first letter. Words that are right themselves, and slips of two words, stay as they are.
    """
    if len(word) < _SHORTEST or word in lexicon.words or word in lexicon.right_words:
        return word
    slips = [known for known in lexicon.long_words.get(word[0], ()) if _is_slip(word, known)]
    return slips[0] if len(slips) == 1 else word


def _is_slip(word: str, known: str) -> bool:
    if abs(len(word) - len(known)) > 1:
        return False
    same = 0
    while word[same : same + 1] == known[same : same + 1]:
        same += 1
    ours, theirs = word[same:], known[same:]
    swapped = ours[1::-1] + ours[2:]
    return swapped == theirs or ours[1:] in (theirs, theirs[1:]) or ours == theirs[1:]

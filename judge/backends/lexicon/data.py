"""The lexicon as a value, and the sentences of a report as words with the phrases among them."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from itertools import accumulate, product
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from judge.jsonio import UnreadableYamlError, read_yaml
from judge.types import JudgeError, Severity

Kind = StrEnum(
    "Kind",
    "FINDING STRUCTURE QUALITY SIDE GREATER PLACE LEVEL CHANGE ACUITY TRAIT NEGATES_AFTER "
    "NEGATES_BEFORE LIKELY_AFTER HEDGES_AFTER HEDGES_BEFORE READS_AS MAY_READ_AS IGNORES_AFTER "
    "ACTION TECHNIQUE MADE_BY PARTS DESCRIBING BREAKS VERBS PREPOSITIONS NEUTRAL",
)
"""The parts that a phrase can play in a sentence."""


@dataclass(frozen=True, slots=True)
class Role:
    """One meaning of a phrase: the `name` of the finding, side, change or trait, a place's domain.

    `tags` are the sides of a side, the tags of a place and the name of anything else.
    """

    kind: Kind
    name: str = ""
    tags: frozenset[str] = frozenset()


class Entry(BaseModel):
    """A table of the lexicon file; unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Phrases = Annotated[list[str], Field(min_length=1)]
Names = frozenset[str]


class FindingEntry(Entry):
    """One finding: its severity on FineRadScore's scale, and how it relates to others."""

    words: Phrases
    when: Mapping[str, list[str]] = {}
    label: str = ""
    severity: Severity
    graded: Mapping[str, Severity] = {}
    placed: Mapping[str, Severity] = {}
    safe: tuple[float, float] | None = None
    area: str
    kind_of: Names = frozenset()
    more_than: Names = frozenset()
    shadow: str = Field("", alias="confused")
    level: str = ""
    acuity: Literal["", "acute", "old"] = ""
    traits: Names = frozenset()
    implies: Names = frozenset()
    explains: Names = frozenset()
    good: Names = frozenset()
    side_matters: bool = True
    urgent_if_acute: bool = False
    where: Literal["lung", "bone", "line", "none"] = "lung"
    sided: bool = True
    abnormal: bool = True
    rules_out: Names = frozenset()


class Structure(Entry):
    """A part of the body; calling it normal rules out the findings of some areas."""

    words: Phrases
    rules_out: Names = frozenset()
    abnormal: str
    same_as: Names = frozenset()


class Contrast(Entry):
    """Words that describe a finding, by value; two values of one contrast exclude each other."""

    matters: bool
    values: Annotated[dict[str, Phrases], Field(min_length=2)]


def _labelled(findings: dict[str, FindingEntry]) -> dict[str, FindingEntry]:
    return {
        name: finding.model_copy(
            update={"label": finding.label or name.replace("_", " ")}
        )
        for name, finding in findings.items()
    }


@cache
def stem(word: str) -> str:
    """Return a lower-case word without its plural ending."""
    if len(word) <= 3 or word[-1] != "s" or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("thoraces"):
        return word[:-4] + "x"
    ends = {"ies": "y", "sses": "ss", "xes": "x", "ches": "ch", "shes": "sh", "s": ""}
    return next(
        word.removesuffix(end) + one for end, one in ends.items() if word.endswith(end)
    )


_SHORTEST, _LONG = 6, 7
"""A word of fewer letters is one slip away from too many others to be mended, or mended to."""

Words = Annotated[
    re.Pattern[str],
    BeforeValidator(lambda words: re.compile(rf"\b(?:{'|'.join(words)})\b", re.I)),
]


class _Unfamiliar(Entry):
    languages: Names
    images: Words
    english: Names = frozenset()
    reports: Names = frozenset()
    technique: Names = frozenset()
    other_parts: Names = frozenset()
    elsewhere: Words = re.compile("$^")


class Lexicon(Entry):
    """The lexicon file as a value; lexicon.yaml explains each entry.

    `version` names the data and a short hash of them.
    """

    name: str
    version: int | float | str
    areas: list[str]
    findings: Annotated[dict[str, FindingEntry], AfterValidator(_labelled)]
    structures: dict[str, Structure]
    qualities: dict[str, Phrases]
    sides: dict[Literal["left", "right", "both"], Phrases]
    places: dict[Literal["lung", "bone", "line"], list[tuple[Names, Phrases]]]
    severity: dict[str, tuple[int, Phrases]]
    changes: dict[Literal["new", "worse", "better", "unchanged", "resolved"], Phrases]
    acuity: dict[Literal["acute", "old", "unknown"], Phrases] = {}
    greater: dict[Literal["more", "most", "less", "dominant"], Names] = {}
    contrasts: dict[str, Contrast] = {}
    describing: list[str] = []
    sites: Names = frozenset()
    cues: dict[Kind, Phrases]
    right_words: list[str]
    unfamiliar: _Unfamiliar

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    @model_validator(mode="after")
    def _names_are_defined(self) -> Self:
        places = {
            tag for rows in self.places.values() for tags, _ in rows for tag in tags
        }
        known: dict[str, Iterable[str]] = {
            **dict.fromkeys(("area", "rules_out"), self.areas),
            **dict.fromkeys(
                ("kind_of", "more_than", "abnormal", "implies", "explains"),
                self.findings,
            ),
            **dict.fromkeys(("when", "same_as"), self.structures),
            **dict.fromkeys(("graded", "level"), self.severity),
            **dict.fromkeys(("placed", "good"), places),
            "traits": self.contrast_of,
            "qualities": self.qualities,
        }
        for name, entry in (*self.findings.items(), *self.structures.items()):
            qualities = [
                one for some in getattr(entry, "when", {}).values() for one in some
            ]
            for part, value in (*entry, ("qualities", qualities)):
                is_of_names = part in known and value and value is not True
                for one in (
                    ([value] if isinstance(value, str) else value)
                    if is_of_names
                    else ()
                ):
                    if one not in known[part]:
                        raise ValueError(f"{name}: {part}: {one!r} is not defined")
        return self

    @cached_property
    def rules(self) -> dict[tuple[str, str], str]:
        """The finding that a structure and a quality make."""
        return {
            (structure, quality): finding
            for finding, entry in self.findings.items()
            for structure, qualities in entry.when.items()
            for quality in qualities
        }

    @cached_property
    def contrast_of(self) -> dict[str, str]:
        """The contrast that each trait is a value of."""
        return {
            value: name
            for name, contrast in self.contrasts.items()
            for value in contrast.values
        }

    @cached_property
    def levels(self) -> dict[str, int]:
        """How severe each word for it is, as a number."""
        return {name: number for name, (number, _) in self.severity.items()}

    @cached_property
    def phrases(self) -> dict[tuple[str, ...], tuple[Role, ...]]:
        """The meanings of each phrase, by its words."""
        phrases: dict[tuple[str, ...], tuple[Role, ...]] = {}
        for spoken, role in self._roles():
            for phrase in spoken:
                for words in product(*map(_choices, phrase.split())):
                    if key := tuple(filter(None, words)):
                        phrases[key] = tuple(
                            dict.fromkeys((*phrases.get(key, ()), role))
                        )
        return phrases

    @cached_property
    def longest(self) -> dict[str, int]:
        """The words of the longest phrase that begins with a word."""
        longest: defaultdict[str, int] = defaultdict(int)
        for words in self.phrases:
            longest[words[0]] = max(longest[words[0]], len(words))
        return longest

    def _roles(self) -> Iterator[tuple[Sequence[str], Role]]:
        for domain, rows in self.places.items():
            yield from (
                (phrases, Role(Kind.PLACE, domain, tags)) for tags, phrases in rows
            )
        sections: dict[Kind, Mapping[Any, Sequence[str]]] = {
            Kind.LEVEL: {name: words for name, (_, words) in self.severity.items()},
            Kind.FINDING: {
                name: finding.words for name, finding in self.findings.items()
            },
            Kind.STRUCTURE: {
                name: part.words for name, part in self.structures.items()
            },
            Kind.QUALITY: self.qualities,
            Kind.SIDE: self.sides,
            Kind.CHANGE: self.changes,
            Kind.ACUITY: self.acuity,
        }
        for kind, entries in sections.items():
            for name, spoken in entries.items():
                sides = {"left", "right"} if name == "both" else {name}
                yield spoken, Role(kind, name, frozenset(sides))
        for contrast in self.contrasts.values():
            for value, spoken in contrast.values.items():
                yield spoken, Role(Kind.TRAIT, value, frozenset({value}))
        yield self.describing, Role(Kind.DESCRIBING)
        yield from ((spoken, Role(cue)) for cue, spoken in self.cues.items())

    @cached_property
    def words(self) -> frozenset[str]:
        """All words of all phrases, and those that are slips of none."""
        spoken = {word for words in self.phrases for word in words}
        return frozenset(spoken.union(map(stem, self.right_words)))

    @cached_property
    def long_words(self) -> dict[str, set[str]]:
        """The words that a slip can be mended to, by their first letter."""
        words: defaultdict[str, set[str]] = defaultdict(set)
        mended = {Kind.FINDING, Kind.STRUCTURE, Kind.SIDE}
        for phrase, roles in self.phrases.items():
            for word in phrase if any(role.kind in mended for role in roles) else ():
                if len(word) >= _LONG:
                    words[word[0]].add(word)
        return words

    @cached_property
    def comparing(self) -> frozenset[str]:
        """The words with which a comparison of the sides can begin."""
        if not self.greater:
            return frozenset()
        more = self.greater.get("more", frozenset()) | self.greater.get(
            "most", frozenset()
        )
        return more.union(_SIDE_WORDS)

    @cached_property
    def domains(self) -> dict[str, str]:
        """The kind of place of each tag: lung, bone or line."""
        return {
            tag: domain
            for domain, rows in self.places.items()
            for tags, _ in rows
            for tag in tags
        }

    def knows(self, word: str) -> bool:
        """Return whether it is a word of this lexicon or of the built-in one: some are small."""
        return stem(word) in self.words or (self is not load() and load().knows(word))

    def related(self, name: str, other: str) -> bool:
        """Return whether two findings are the same or one is a kind of the other."""
        findings = self.findings
        return (
            name == other
            or other in findings[name].kind_of
            or name in findings[other].kind_of
        )

    def stands_for(self, name: str, other: str) -> bool:
        """Return whether saying `one` tells all that matters of `other`."""
        enough = self.findings[other].kind_of - self.findings[other].more_than
        return name == other or name in enough or other in self.findings[name].kind_of


def _choices(word: str) -> list[str]:
    stems = [stem(choice) for choice in word.lower().rstrip("?").split("|")]
    return ["", *stems] if word.endswith("?") else stems


_DEFAULT = Path(__file__).with_name("lexicon.yaml")


def load(path: Path = _DEFAULT) -> Lexicon:
    """Return the lexicon in `path` as it is now, by default the one that comes with the program.

    Raises `JudgeError` that names the file, the entry and what is wrong with it.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise JudgeError(f"{path}: {error}; mend the file of the lexicon") from error
    return _load(path, hashlib.sha256(content).hexdigest())


@lru_cache(maxsize=16)
def _load(path: Path, _digest: str) -> Lexicon:
    """Read a lexicon; `_digest` is of its file, so that an edited one is read again."""
    try:
        data, raw = read_yaml(path)
        lexicon = Lexicon.model_validate(data)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ": ".join(map(str, (path, *fault["loc"])))
        raise JudgeError(
            f"{place}: {fault['msg']}; mend this entry of the lexicon"
        ) from error
    except (OSError, UnreadableYamlError, re.error) as error:
        raise JudgeError(f"{path}: {error}; mend the file of the lexicon") from error
    digest = hashlib.sha256(raw).hexdigest()[:8]
    return lexicon.model_copy(
        update={"version": f"{lexicon.name}-{lexicon.version}+{digest}"}
    )


_TOKEN = re.compile(r"\d+(?:\.\d+)?(?=(?:mm|cm)\b)|\d+\.\d+|[^\W_]+|[,;:()/<>%]")
_DROPPED = frozenset({"the", "a", "an"})
JOIN, VERB, PREPOSITION, BREAK = "jvpb"
"""The letters for joins, verbs, prepositions and breaks between two phrases."""
_BY_KIND = {Kind.VERBS: VERB, Kind.PREPOSITIONS: PREPOSITION, Kind.BREAKS: BREAK}
JOINS = frozenset({",", "and", "or", "nor", "(", ")", "/"})
_BY_WORD = dict.fromkeys(JOINS, JOIN) | {";": BREAK, ":": BREAK}
_NUMBER = re.compile(r"\d{1,4}(?:\.\d{1,3})?\Z")
_FORMERLY = frozenset({"previously", "formerly", "prior", "was"})
_ON = frozenset({"on", "in", "at", "over", "within"})
_MM = {"mm": 1.0, "millimeter": 1.0, "cm": 10.0, "centimeter": 10.0}
_SHARE = frozenset({"%", "percent", "pct"})
_BETWEEN_NUMBERS = frozenset({"x", "by", "to", *_MM, *_SHARE})
_MOST_TOKENS = 200
"""A sentence of more words than this is read in pieces, so that time stays linear."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A phrase of the lexicon at the tokens `first` to `last` (exclusive), with its meanings."""

    first: int
    last: int
    roles: tuple[Role, ...]

    def role(self, *kinds: Kind) -> Role | None:
        """Return the first meaning of one of these kinds, if the phrase has one."""
        return next((role for role in self.roles if role.kind in kinds), None)


@dataclass(frozen=True, slots=True)
class Measure:
    """A length or a share at the tokens `first` to `last` (exclusive).

    `value` is in millimetres, or in per cent where it is a share.
    """

    first: int
    last: int
    value: float
    is_share: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence as words: the spans in its text, the phrases, the lengths.

    `inner` has the sides, places, traits and acuity within a phrase ("basilar atelectasis"),
    `stops` a letter for each join, verb, preposition and break, `offsets` their number before
    each token.
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
        return any(
            mark.role(*kinds) for mark in self.marks if first <= mark.first < last
        )


def tokenise(sentence: str, lexicon: Lexicon) -> Iterator[Line]:
    """Yield `sentence` as one line of words, or as several where it is very long."""
    tokens = [
        (word, match.span())
        for match in _TOKEN.finditer(sentence)
        if (word := _normalise(match.group(), lexicon))
    ]
    for first in range(0, len(tokens), _MOST_TOKENS):
        words, spans = zip(*tokens[first : first + _MOST_TOKENS], strict=True)
        yield _line(sentence, lexicon, [*words], [*spans])


# British spellings, tried on words that the lexicon does not have.
_SPELLINGS = (
    ("isation", "ization"),
    ("ise", "ize"),
    ("ae", "e"),
    ("oe", "e"),
    ("our", "or"),
    ("tre", "ter"),
    ("aly", "aliz"),
    ("ll", "l"),
    ("yse", "yze"),
)


@lru_cache(maxsize=65536)
def _normalise(token: str, lexicon: Lexicon) -> str:
    word = token.lower()
    if word in _DROPPED or (word.startswith("xxx") and not word.strip("x")):
        return ""
    word = stem(word)
    if word not in lexicon.words:
        for british, american in _SPELLINGS:
            respelled = word.replace(british, american)
            if respelled in lexicon.words:
                return respelled
    return correct_slip(word, lexicon)


def _line(
    text: str, lexicon: Lexicon, words: list[str], spans: list[tuple[int, int]]
) -> Line:
    marks: list[Mark] = []
    inner: list[Mark] = []
    stops = [""] * len(words)
    comparing = lexicon.comparing
    first = 0
    while first < len(words):
        end = first
        roles: tuple[Role, ...] = ()
        if words[first] in comparing:
            end, roles = _greater_side(words, first, lexicon)
        if not roles:
            end, roles = _longest(words, first, len(words), lexicon)
        if roles:
            marks.append(Mark(first, end, roles))
            kinds = [role.kind for role in roles if words[first] != "of"]
            stops[first] = "".join(_BY_KIND[kind] for kind in kinds if kind in _BY_KIND)
            if Kind.FINDING in kinds and end > first + 1:
                inner += _inner(words, first, end, lexicon)
        else:
            is_heading = (
                words[first] == ":" and len(marks) == 1 and marks[0].last == first
            )
            # "Heart: enlarged" is "Heart is enlarged".
            is_said = is_heading and marks[0].role(Kind.STRUCTURE)
            stops[first] = VERB if is_said else _BY_WORD.get(words[first], "")
        first = end
    ends = "".join(stops), [0, *accumulate(map(len, stops))]
    return Line(text, lexicon, words, spans, marks, inner, _measures(words), *ends)


_OTHER_SIDE = {"left": "right", "right": "left"}
_SIDE_WORDS = {
    "left": "left",
    "l": "left",
    "lt": "left",
    "right": "right",
    "r": "right",
    "rt": "right",
}
_MOST_TO_COMPARATIVE = 6
_EARLIER = frozenset(
    {"since", "compared", "comparison", "prior", "previous", "previously", "interval"}
)
"""With one of these in a sentence "worse on the right" is a change."""


def _greater_side(
    words: list[str], first: int, lexicon: Lexicon
) -> tuple[int, tuple[Role, ...]]:
    """Return where a comparison of the sides that begins at `first` ends, and its roles.

    There are no roles where none begins. What is greater on one side is on both.
    """
    end, side = first, ""
    if words[first] in _SIDE_WORDS:
        end, side = _compared_sides(words, first, lexicon)
    elif _EARLIER.isdisjoint(words):
        end, side = _more_on_side(words, first)
    if not side:
        return first, ()
    both = Role(Kind.SIDE, "both", frozenset(_OTHER_SIDE))
    return end, (both, Role(Kind.GREATER, side, frozenset({side})))


def _compared_sides(words: list[str], first: int, lexicon: Lexicon) -> tuple[int, str]:
    """Read "right ... greater than left" and "right predominant"."""
    greater, side = lexicon.greater, _SIDE_WORDS[words[first]]
    last = min(first + _MOST_TO_COMPARATIVE, len(words))
    for token in range(first + 1, last):
        word = words[token]
        if word in greater.get("dominant", ()) and token <= first + 2:
            return token + 1, side
        if word in _SIDE_WORDS or word in JOINS or word in _BY_WORD:
            break
        is_more, is_less = (
            word in greater.get("more", ()),
            word in greater.get("less", ()),
        )
        if is_more or is_less:
            end = _other_side(words, token, side)
            if not end:
                break
            return end, side if is_more else _OTHER_SIDE[side]
    return first, ""


def _other_side(words: list[str], comparative: int, side: str) -> int:
    """Return where "greater than left" ends, which compares with `side`; else 0."""
    is_sign = words[comparative] in "<>"
    than = comparative if is_sign else 0
    for token in range(comparative + 1, min(comparative + 4, len(words))):
        if words[token] == "than":
            than = token
    if not than:
        return 0
    for token in range(than + 1, min(than + 4, len(words))):
        if _SIDE_WORDS.get(words[token]) == _OTHER_SIDE[side]:
            return token + 1
    return 0


def _more_on_side(words: list[str], first: int) -> tuple[int, str]:
    """Read "more severe on the right", "worse in the left lung than in the right"."""
    for token in range(first + 1, min(first + 4, len(words))):
        word = words[token]
        if word in JOINS or word in _BY_WORD or word == "than":
            break
        side = _SIDE_WORDS.get(word)
        if side and (token == first + 1 or words[token - 1] in _ON):
            end = _other_side(words, token, side)
            return end or token + 1, side
    return first, ""


def _inner(words: list[str], first: int, last: int, lexicon: Lexicon) -> Iterator[Mark]:
    for start in range(first, last):
        end, roles = _longest(words, start, last, lexicon)
        kinds = [Kind.SIDE, Kind.PLACE, Kind.ACUITY, Kind.TRAIT]
        if start == first and end == last:
            # "Acute" is part of the phrase "acute fracture" and says how old it is.
            end, roles = _longest(words, start, last - 1, lexicon)
            kinds = [Kind.ACUITY, Kind.TRAIT]
        roles = tuple(
            role for role in roles if role.kind in kinds and role.name != "line"
        )
        if roles:
            yield Mark(start, end, roles)


def _longest(
    words: list[str], first: int, last: int, lexicon: Lexicon
) -> tuple[int, tuple[Role, ...]]:
    most = min(first + lexicon.longest.get(words[first], 0), last)
    for end in range(most, first, -1):
        if roles := lexicon.phrases.get(tuple(words[first:end])):
            return end, roles
    return first + 1, ()


def _measures(words: list[str]) -> list[Measure]:
    measures: list[Measure] = []
    for token, word in enumerate(words):
        is_share = word in _SHARE
        if word not in _MM and not is_share:
            continue
        first, largest = token, 0.0
        for before in reversed(words[max(token - 7, 0) : token]):
            if _NUMBER.match(before):
                largest = max(largest, float(before))
            elif before not in _BETWEEN_NUMBERS:
                break
            first -= 1
        moved = words[first] == "by"  # how far to pull, not how large
        if largest and not moved and words[max(first - 1, 0)] not in _FORMERLY:
            value = largest if is_share else largest * _MM[word]
            measures.append(Measure(first, token + 1, value, is_share))
    return measures


def correct_slip(word: str, lexicon: Lexicon) -> str:
    """Return `word`, or the one word of the lexicon that it is a slip of.

    A slip is one letter too many, too few, wrong, or two neighbours swapped; never the first.
    """
    if len(word) < _SHORTEST or word in lexicon.words:
        return word
    slips = [
        known for known in lexicon.long_words.get(word[0], ()) if _is_slip(word, known)
    ]
    return slips[0] if len(slips) == 1 else word


def _is_slip(word: str, known: str) -> bool:
    same = 0
    while word[same : same + 1] == known[same : same + 1]:
        same += 1
    ours, theirs = word[same:], known[same:]
    swapped = ours[1::-1] + ours[2:]
    return swapped == theirs or ours[1:] in (theirs, theirs[1:]) or ours == theirs[1:]

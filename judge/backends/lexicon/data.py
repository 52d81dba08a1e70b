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
    """Return the findings, each with a label: without one of its own its name in words."""
    labelled: dict[str, FindingEntry] = {}
    for name, finding in findings.items():
        label = finding.label or name.replace("_", " ")
        labelled[name] = finding.model_copy(update={"label": label})
    return labelled


_PLURALS = {"ies": "y", "sses": "ss", "xes": "x", "ches": "ch", "shes": "sh", "s": ""}
"""What each plural ending becomes; the first that fits counts, so "s" is the last."""


@cache
def stem(word: str) -> str:
    """Return a lower-case word without its plural ending."""
    if len(word) <= 3 or word[-1] != "s" or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("thoraces"):
        return word[:-4] + "x"
    for plural, singular in _PLURALS.items():
        if word.endswith(plural):
            return word.removesuffix(plural) + singular
    return word


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
        known: dict[str, Iterable[str]] = {
            "area": self.areas,
            "rules_out": self.areas,
            "kind_of": self.findings,
            "more_than": self.findings,
            "abnormal": self.findings,
            "implies": self.findings,
            "explains": self.findings,
            "when": self.structures,
            "same_as": self.structures,
            "graded": self.severity,
            "level": self.severity,
            "placed": self.domains,
            "good": self.domains,
            "traits": self.contrast_of,
            "qualities": self.qualities,
        }
        for name, entry in (*self.findings.items(), *self.structures.items()):
            for part, one in _named_in(entry):
                if part in known and one not in known[part]:
                    raise ValueError(f"{name}: {part}: {one!r} is not defined")
        return self

    @cached_property
    def rules(self) -> dict[tuple[str, str], str]:
        """The finding that a structure and a quality make."""
        rules: dict[tuple[str, str], str] = {}
        for finding, entry in self.findings.items():
            for structure, qualities in entry.when.items():
                for quality in qualities:
                    rules[structure, quality] = finding
        return rules

    @cached_property
    def contrast_of(self) -> dict[str, str]:
        """The contrast that each trait is a value of."""
        contrast_of: dict[str, str] = {}
        for name, contrast in self.contrasts.items():
            contrast_of |= dict.fromkeys(contrast.values, name)
        return contrast_of

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
                for words in _wordings(phrase):
                    known = phrases.get(words, ())
                    phrases[words] = tuple(dict.fromkeys((*known, role)))
        return phrases

    @cached_property
    def longest(self) -> dict[str, int]:
        """The words of the longest phrase that begins with a word."""
        longest: defaultdict[str, int] = defaultdict(int)
        for words in self.phrases:
            first = words[0]
            longest[first] = max(longest[first], len(words))
        return longest

    def _roles(self) -> Iterator[tuple[Sequence[str], Role]]:
        """Yield phrases with their role; the order is that of a phrase's roles in `phrases`."""
        for domain, rows in self.places.items():
            for tags, phrases in rows:
                yield phrases, Role(Kind.PLACE, domain, tags)
        levels = {name: words for name, (_, words) in self.severity.items()}
        findings = {name: finding.words for name, finding in self.findings.items()}
        structures = {name: part.words for name, part in self.structures.items()}
        sections: dict[Kind, Mapping[Any, Sequence[str]]] = {
            Kind.LEVEL: levels,
            Kind.FINDING: findings,
            Kind.STRUCTURE: structures,
            Kind.QUALITY: self.qualities,
            Kind.SIDE: self.sides,
            Kind.CHANGE: self.changes,
            Kind.ACUITY: self.acuity,
        }
        for kind, entries in sections.items():
            for name, spoken in entries.items():
                tags = frozenset({name})
                if name == "both":
                    tags = frozenset({"left", "right"})
                yield spoken, Role(kind, name, tags)
        for contrast in self.contrasts.values():
            for value, spoken in contrast.values.items():
                yield spoken, Role(Kind.TRAIT, value, frozenset({value}))
        yield self.describing, Role(Kind.DESCRIBING)
        for cue, spoken in self.cues.items():
            yield spoken, Role(cue)

    @cached_property
    def words(self) -> frozenset[str]:
        """All words of all phrases, and those that are slips of none."""
        spoken = set(map(stem, self.right_words))
        for words in self.phrases:
            spoken.update(words)
        return frozenset(spoken)

    @cached_property
    def long_words(self) -> dict[str, set[str]]:
        """The words that a slip can be mended to, by their first letter."""
        words: defaultdict[str, set[str]] = defaultdict(set)
        mended = {Kind.FINDING, Kind.STRUCTURE, Kind.SIDE}
        for phrase, roles in self.phrases.items():
            if mended.isdisjoint(role.kind for role in roles):
                continue
            for word in phrase:
                if len(word) >= _LONG:
                    words[word[0]].add(word)
        return words

    @cached_property
    def comparing(self) -> frozenset[str]:
        """The words with which a comparison of the sides can begin."""
        if not self.greater:
            return frozenset()
        more = self.greater.get("more", frozenset())
        most = self.greater.get("most", frozenset())
        return more.union(most, _SIDE_WORDS)

    @cached_property
    def domains(self) -> dict[str, str]:
        """The kind of place of each tag: lung, bone or line."""
        domains: dict[str, str] = {}
        for domain, rows in self.places.items():
            for tags, _ in rows:
                domains |= dict.fromkeys(tags, domain)
        return domains

    def knows(self, word: str) -> bool:
        """Return whether it is a word of this lexicon or of the built-in one: some are small."""
        if stem(word) in self.words:
            return True
        built_in = load()
        return self is not built_in and built_in.knows(word)

    def related(self, name: str, other: str) -> bool:
        """Return whether two findings are the same or one is a kind of the other."""
        if name == other:
            return True
        findings = self.findings
        return other in findings[name].kind_of or name in findings[other].kind_of

    def stands_for(self, name: str, other: str) -> bool:
        """Return whether saying `one` tells all that matters of `other`."""
        if name == other or other in self.findings[name].kind_of:
            return True
        whole = self.findings[other]
        return name in whole.kind_of - whole.more_than


def _named_in(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield the names that an entry refers to, each with the part of the entry it stands in."""
    for part, value in entry:
        if isinstance(value, str):
            if value:
                yield part, value
        elif isinstance(value, Mapping | frozenset):
            for name in value:
                yield part, name
    if isinstance(entry, FindingEntry):
        for qualities in entry.when.values():
            for quality in qualities:
                yield "qualities", quality


def _wordings(phrase: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of a phrase in each of its wordings: "small|little left? effusion"."""
    choices = [_choices(word) for word in phrase.split()]
    for words in product(*choices):
        wording = tuple(filter(None, words))
        if wording:
            yield wording


def _choices(word: str) -> list[str]:
    alternatives = word.lower().rstrip("?").split("|")
    stems = [stem(choice) for choice in alternatives]
    if word.endswith("?"):
        return ["", *stems]
    return stems


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
    version = f"{lexicon.name}-{lexicon.version}+{digest}"
    return lexicon.model_copy(update={"version": version})


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
        for role in self.roles:
            if role.kind in kinds:
                return role
        return None


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
        start = self.offsets[first]
        end = self.offsets[last]
        return self.stops[start:end]

    def marked(self, first: int, last: int, *kinds: Kind) -> bool:
        """Return whether a phrase of one of these kinds begins at `first` or before `last`."""
        return any(
            first <= mark.first < last and mark.role(*kinds) for mark in self.marks
        )


def tokenise(sentence: str, lexicon: Lexicon) -> Iterator[Line]:
    """Yield `sentence` as one line of words, or as several where it is very long."""
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(sentence):
        word = _normalise(match.group(), lexicon)
        if word:
            words.append(word)
            spans.append(match.span())
    for first in range(0, len(words), _MOST_TOKENS):
        last = first + _MOST_TOKENS
        yield _line(sentence, lexicon, words[first:last], spans[first:last])


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
        word = words[first]
        end = first
        roles: tuple[Role, ...] = ()
        if word in comparing:
            end, roles = _greater_side(words, first, lexicon)
        if not roles:
            end, roles = _longest(words, first, len(words), lexicon)
        if not roles:
            stops[first] = _BY_WORD.get(word, "")
            # "Heart: enlarged" is "Heart is enlarged".
            if word == ":" and _are_heading(marks, first):
                stops[first] = VERB
            first = end
            continue
        mark = Mark(first, end, roles)
        marks.append(mark)
        # "Of" parts nothing: "the tip of the tube".
        if word != "of":
            stops[first] = _stops_of(mark)
            if mark.role(Kind.FINDING) and end > first + 1:
                inner += _inner(words, first, end, lexicon)
        first = end
    return Line(
        text=text,
        lexicon=lexicon,
        words=words,
        spans=spans,
        marks=marks,
        inner=inner,
        measures=_measures(words),
        stops="".join(stops),
        offsets=[0, *accumulate(map(len, stops))],
    )


def _are_heading(marks: Sequence[Mark], last: int) -> bool:
    """Return whether a structure alone stands before the token `last`."""
    if len(marks) != 1 or marks[0].last != last:
        return False
    return marks[0].role(Kind.STRUCTURE) is not None


def _stops_of(mark: Mark) -> str:
    """Return the letters of what parts words in a phrase: a verb, a preposition or a break."""
    letters = [_BY_KIND.get(role.kind, "") for role in mark.roles]
    return "".join(letters)


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
_NEAR = 4
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
    end = first
    side = ""
    if words[first] in _SIDE_WORDS:
        end, side = _compared_sides(words, first, lexicon)
    elif _EARLIER.isdisjoint(words):
        end, side = _more_on_side(words, first)
    if not side:
        return first, ()
    both = Role(Kind.SIDE, "both", frozenset(_OTHER_SIDE))
    greater = Role(Kind.GREATER, side, frozenset({side}))
    return end, (both, greater)


def _compared_sides(words: list[str], first: int, lexicon: Lexicon) -> tuple[int, str]:
    """Read "right ... greater than left" and "right predominant"."""
    side = _SIDE_WORDS[words[first]]
    dominant = lexicon.greater.get("dominant", ())
    more = lexicon.greater.get("more", ())
    less = lexicon.greater.get("less", ())
    last = min(first + _MOST_TO_COMPARATIVE, len(words))
    for token in range(first + 1, last):
        word = words[token]
        if word in dominant and token <= first + 2:
            return token + 1, side
        if word in _SIDE_WORDS or word in JOINS or word in _BY_WORD:
            break
        if word not in more and word not in less:
            continue
        end = _other_side(words, token, side)
        if not end:
            break
        if word in more:
            return end, side
        return end, _OTHER_SIDE[side]
    return first, ""


def _other_side(words: list[str], comparative: int, side: str) -> int:
    """Return where "greater than left" ends, which compares with `side`; else 0."""
    than = 0
    if words[comparative] in "<>":
        than = comparative
    last = min(comparative + _NEAR, len(words))
    for token in range(comparative + 1, last):
        if words[token] == "than":
            than = token
    if not than:
        return 0
    last = min(than + _NEAR, len(words))
    for token in range(than + 1, last):
        if _SIDE_WORDS.get(words[token]) == _OTHER_SIDE[side]:
            return token + 1
    return 0


def _more_on_side(words: list[str], first: int) -> tuple[int, str]:
    """Read "more severe on the right", "worse in the left lung than in the right"."""
    last = min(first + _NEAR, len(words))
    for token in range(first + 1, last):
        word = words[token]
        if word in JOINS or word in _BY_WORD or word == "than":
            break
        side = _SIDE_WORDS.get(word)
        if not side:
            continue
        is_next = token == first + 1
        if is_next or words[token - 1] in _ON:
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
        kept: list[Role] = []
        for role in roles:
            if role.kind in kinds and role.name != "line":
                kept.append(role)
        if kept:
            yield Mark(start, end, tuple(kept))


def _longest(
    words: list[str], first: int, last: int, lexicon: Lexicon
) -> tuple[int, tuple[Role, ...]]:
    """Return where the longest phrase that begins at `first` ends, and its roles."""
    most = lexicon.longest.get(words[first], 0)
    for end in range(min(first + most, last), first, -1):
        phrase = tuple(words[first:end])
        roles = lexicon.phrases.get(phrase)
        if roles:
            return end, roles
    return first + 1, ()


def _measures(words: list[str]) -> list[Measure]:
    measures: list[Measure] = []
    for token, word in enumerate(words):
        is_share = word in _SHARE
        if word not in _MM and not is_share:
            continue
        first, largest = _numbers_before(words, token)
        # "Withdraw by 2 cm" is how far to pull, not how large.
        if not largest or words[first] == "by":
            continue
        if words[max(first - 1, 0)] in _FORMERLY:
            continue
        if not is_share:
            largest *= _MM[word]
        measures.append(Measure(first, token + 1, largest, is_share))
    return measures


_MOST_NUMBERS = 7
"""The words of "2 x 3 x 4 cm" and the like before the unit, and some more."""


def _numbers_before(words: list[str], unit: int) -> tuple[int, float]:
    """Return where the numbers before a unit begin, and the largest; 0 where there are none."""
    first = unit
    largest = 0.0
    start = max(unit - _MOST_NUMBERS, 0)
    for word in reversed(words[start:unit]):
        if _NUMBER.match(word):
            largest = max(largest, float(word))
        elif word not in _BETWEEN_NUMBERS:
            break
        first -= 1
    return first, largest


def correct_slip(word: str, lexicon: Lexicon) -> str:
    """Return `word`, or the one word of the lexicon that it is a slip of.

    A slip is one letter too many, too few, wrong, or two neighbours swapped; never the first.
    """
    if len(word) < _SHORTEST or word in lexicon.words:
        return word
    similar = lexicon.long_words.get(word[0], ())
    slips = [known for known in similar if _is_slip(word, known)]
    if len(slips) == 1:
        return slips[0]
    return word


def _is_slip(word: str, known: str) -> bool:
    # The two words are not equal, so they differ somewhere or one of them ends.
    same = 0
    while word[same : same + 1] == known[same : same + 1]:
        same += 1
    ours = word[same:]
    theirs = known[same:]
    swapped = ours[1::-1] + ours[2:]
    has_one_more = ours[1:] == theirs
    has_one_less = ours == theirs[1:]
    has_one_wrong = ours[1:] == theirs[1:]
    return swapped == theirs or has_one_more or has_one_less or has_one_wrong

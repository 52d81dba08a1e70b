"""Reads the mentions of a report and pairs those of two reports."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Literal

from judge.backends.lexicon.data import (
    BREAK,
    JOIN,
    PREPOSITION,
    VERB,
    Kind,
    Lexicon,
    Line,
    Role,
    load,
    stem,
    tokenise,
)
from judge.backends.lexicon.mentions import MOST, SAME_SIZE, Mention, Pair
from judge.backends.lexicon.negation import Head, find_heads, read_line
from judge.sentences import opens_skipped_section, sentences
from judge.types import Side

_LONGEST_QUOTE = 160
_SOON = 8
"""An "or" so many words on still belongs to the list."""

_UNSAID = re.compile(
    r"\bno (?:mention|description|report|documentation) of\b|\bfailure to\b|\blines? \d+"
    r"|\b(?:not|never|n't|fail\w* to|without) (?:mention|report|describ|includ|not|stat|document"
    r"|identif|address|detect|captur|acknowledg|list)\w*",
    re.I,
)
"""What a report leaves unsaid is not denied; its failure is no heart's, and its line no tube."""

_WHERE = (Kind.SIDE, Kind.PLACE, Kind.PREPOSITIONS)
_OWN = re.compile(
    r'The (?:reference|candidate) says "([^"]*)", the (?:reference|candidate)(?: says)? "[^"]*"'
    r"(?: \((?:not )?(?:read as|said to be) ([^()]*)\))?"
)
"""The text of an error by the built-in judge: its first quotation or its label."""

WHOLE = ("", "chest")
"""The structures of which a change is one of the whole study."""

_BACKWARD = frozenset(
    {"this", "these", "it", "which", "finding", "appearance", "they", "such"}
)
_NONE: frozenset[str] = frozenset()


def read(text: str, lexicon: Lexicon) -> list[Mention]:
    """Return the mentions of `text` in order, no object of which is one of another report."""
    mentions: list[Mention] = []
    for number, piece in pieces(text):
        for template in _mentions(piece, lexicon):
            mention = template.in_sentence(number)
            near = (
                mention.refers_back and mentions and number - mentions[-1].sentence <= 1
            )
            if near and (mentions[-1].positive or not mention.finding):
                mentions[-1] = _merge(mentions[-1], mention)
            else:
                mentions.append(mention)
    return mentions


def _merge(shadow: Mention, reading: Mention) -> Mention:
    acuity = shadow.acuity
    if reading.finding == shadow.finding:
        acuity |= reading.acuity  # the age of a reading is not that of its shadow
    possible = reading.possible | ({reading.finding} if reading.doubted else _NONE)
    return replace(
        shadow,
        also=(
            *shadow.also,
            *(name for name in reading.names if name and name != shadow.finding),
        ),
        possible=shadow.possible | possible,
        sides=shadow.sides | reading.sides,
        places=shadow.places | reading.places,
        traits=shadow.traits | reading.traits,
        greater=shadow.greater | reading.greater,
        sizes=shadow.sizes | reading.sizes,
        shares=shadow.shares | reading.shares,
        acuity=acuity,
        levels=shadow.levels | reading.levels,
        changes=shadow.changes | reading.changes,
    )


@lru_cache(maxsize=32768)
def _mentions(text: str, lexicon: Lexicon) -> tuple[Mention, ...]:
    return tuple(
        mention for line in tokenise(text, lexicon) for mention in _of_line(line)
    )


def _of_line(line: Line) -> list[Mention]:
    heads, of_study = read_line(line)
    stated: list[tuple[Mention, Head]] = []
    says = any(head.finding or head.normal for head in heads)
    for head in heads:
        if head.ignored or (
            says and not (head.finding or head.normal or Kind.CHANGE in head.modifiers)
        ):
            continue  # a structure that is only named says where something is
        *others, mention = [_mention(line, part) for part in head.split()]
        stated += [(other, head) for other in others]
        number = max(
            (n for n, (other, _) in enumerate(stated) if other.positive), default=-1
        )
        if number >= 0 and mention.positive:
            earlier, shadow = stated[number]
            if _restates(line, earlier, shadow, mention, head):
                stated[number] = (_merge(earlier, mention), head)
                continue
            if mention.finding in earlier.kind.explains and _is_linked(
                line, shadow, head
            ):
                described = (*earlier.descriptors, mention.finding)
                stated[number] = (replace(earlier, descriptors=described), shadow)
                continue
        if (
            number >= 0
            and mention.positive
            and _reads_as(line, *stated[number], mention, head)
        ):
            stated[number] = (_merge(stated[number][0], mention), head)
            continue
        if not stated and mention.positive and line.words[0] in _BACKWARD:
            # "This may represent ..." reads a shadow of the sentence before.
            back = line.marked(0, head.first, Kind.READS_AS, Kind.MAY_READ_AS)
            mention = replace(mention, refers_back=back)
        stated.append((mention, head))
    mentions = [mention for mention, _ in stated]
    if not heads and _is_all_normal(line):
        words = _quote(line, 0, len(line.words))
        mentions.append(
            Mention(line.lexicon, structure=WHOLE[1], normal=True, words=words)
        )
    for mark, change in of_study:
        back = not mentions and not _BACKWARD.isdisjoint(line.words[:3])
        words = _quote(line, mark.first, mark.last)
        mentions.append(
            Mention(line.lexicon, changes=change.tags, words=words, refers_back=back)
        )
    return mentions


def _is_all_normal(line: Line) -> bool:
    """Return whether the line is a word of normality alone: "Unremarkable."."""
    is_placeholder = "xxx" in line.text.lower()
    if (
        WHOLE[1] not in line.lexicon.structures
        or line.words == ["clear"]
        or is_placeholder
    ):
        return False
    for mark in line.marks:
        is_whole = mark.first == 0 and mark.last == len(line.words)
        if is_whole and any(role == _NORMAL for role in mark.roles):
            return True
    return False


_NORMAL = Role(Kind.QUALITY, "normal", frozenset({"normal"}))


def _mention(line: Line, head: Head) -> Mention:
    lexicon, words = (
        line.lexicon,
        _quote(line, *_whole_phrase(line, head.start, head.end)),
    )
    sides, changes = head.tags(Kind.SIDE), head.tags(Kind.CHANGE)
    if head.normal and head.denied:
        abnormal = lexicon.structures[head.structure].abnormal
        return Mention(lexicon, finding=abnormal, sides=sides, words=words)
    if not head.finding:
        # What is normal and stays so is not compared with anything.
        changes -= {"resolved", "unchanged"} if head.normal else {"resolved"}
        part = (head.structure, head.normal)
        return Mention(lexicon, "", *part, sides=sides, changes=changes, words=words)
    finding = lexicon.findings[head.finding]
    present = not head.denied and "resolved" not in changes
    levels = head.tags(Kind.LEVEL) or ({finding.level} - {""} if present else _NONE)
    places = head.tags(Kind.PLACE)
    if "good" in places:
        places |= finding.good
    if head.sites and not any(lexicon.domains[tag] == "line" for tag in places):
        places |= head.sites
    traits = head.tags(Kind.TRAIT) if present or head.denied else _NONE
    return Mention(
        lexicon,
        finding=head.finding,
        present=present,
        doubted=head.doubted,
        sides=sides,
        places=places,
        levels=frozenset(lexicon.levels[level] for level in levels),
        changes=changes if present else changes & {"resolved"},
        sizes=frozenset(head.sizes),
        shares=frozenset(head.shares),
        acuity=head.tags(Kind.ACUITY) or frozenset({finding.acuity} - {""}),
        traits=traits or (finding.traits if present else _NONE),
        greater=head.tags(Kind.GREATER),
        descriptors=tuple(dict.fromkeys(head.descriptors)) if present else (),
        unexcluded=head.unexcluded and present,
        acts=Kind.ACTION in head.modifiers,
        count=head.count,
        words=words,
    )


_MOST_MORE = 8
"""A quotation is made longer by no more words than this on each side."""

_NOT_OF_PHRASE = (
    Kind.FINDING,
    Kind.NEGATES_AFTER,
    Kind.NEGATES_BEFORE,
    Kind.HEDGES_AFTER,
    Kind.HEDGES_BEFORE,
    Kind.LIKELY_AFTER,
    Kind.IGNORES_AFTER,
    Kind.READS_AS,
    Kind.MAY_READ_AS,
    Kind.TECHNIQUE,
    Kind.CHANGE,
    Kind.BREAKS,
    Kind.VERBS,
)


def _whole_phrase(line: Line, first: int, last: int) -> tuple[int, int]:
    """Return the tokens of a whole phrase: with the words before it and what lies in or at it.

    No other finding is taken in, since a quotation says what an error is about.
    """
    barred = {
        token
        for mark in line.marks
        if mark.role(*_NOT_OF_PHRASE)
        for token in range(mark.first, mark.last)
    }
    least, most = max(first - _MOST_MORE, 0), min(last + _MOST_MORE, len(line.words))
    while (
        first > least and first - 1 not in barred and not line.between(first - 1, first)
    ):
        first -= 1
    end = last
    while (
        end < most
        and end not in barred
        and line.between(end, end + 1) in ("", PREPOSITION)
    ):
        end += 1
    # "Opacity in" is no phrase.
    while end > last and line.between(end - 1, end):
        end -= 1
    return first, end


def _quote(line: Line, first: int, last: int) -> str:
    """Return the words of some tokens, extended to the end of a place or bracket.

    "Collapse of the right" goes on to "lung", and what a bracket opens on to where it is closed.
    """
    for mark in line.marks:
        if mark.first == last and mark.role(Kind.STRUCTURE, Kind.PLACE):
            ends_in_place = any(
                inner.last == last and inner.role(*_WHERE) for inner in line.marks
            )
            last = mark.last if ends_in_place else last
    start, end = line.spans[first][0], line.spans[last - 1][1]
    text = line.text
    if text.count("(", start, end) > text.count(")", start, end):
        closed = text.find(")", end)
        end = closed + 1 if closed >= 0 else end
    quoted = " ".join(text[start:end].replace(";", ",").split())
    return (
        quoted
        if len(quoted) <= _LONGEST_QUOTE
        else quoted[: _LONGEST_QUOTE - 3] + "..."
    )


_LINKS = frozenset(
    {"with", "of", "demonstrating", "showing", "resulting", "causing", "and"}
)


def _restates(
    line: Line, earlier: Mention, shadow: Head, later: Mention, head: Head
) -> bool:
    """Return whether the later head is of the same finding: "fracture with 40% loss of height"."""
    if earlier.finding != later.finding or not earlier.agrees_in_site(later):
        return False
    if earlier.contrasts_with(later) or not earlier.agrees_in_age(later):
        return False
    is_told_apart = earlier.sides != later.sides and bool(later.sides)
    return not is_told_apart and _is_linked(line, shadow, head)


def _is_linked(line: Line, shadow: Head, head: Head) -> bool:
    first, last = shadow.last, head.first
    between, words = line.between(first, last), line.words[first:last]
    if first > last or VERB in between or ";" in words:
        return False
    return not _LINKS.isdisjoint(words)


def _reads_as(
    line: Line, earlier: Mention, shadow: Head, later: Mention, head: Head
) -> bool:
    first, last = shadow.last, head.first
    between, words = line.between(first, last), line.words[first:last]
    if line.marked(first, last, Kind.READS_AS, Kind.MAY_READ_AS):
        return True
    if first > last or BREAK in between:
        return False
    findings, group = line.lexicon.findings, later.kind.shadow
    shares_shadow = group and any(
        findings[name].shadow == group for name in earlier.names
    )
    if shares_shadow or any(
        line.lexicon.related(name, later.finding) for name in earlier.names
    ):
        if line.marked(first, last, Kind.HEDGES_AFTER, Kind.LIKELY_AFTER):
            return True
        listed = (
            "or" in words or "/" in words or (bool(earlier.also) and JOIN in between)
        )
    else:
        # A list of readings goes on: "edema, infection or fibrosis".
        soon = line.words[last : last + _SOON]
        listed = bool(earlier.also) and (
            "or" in words or ("," in words and "or" in soon)
        )
    return listed and VERB not in between


@lru_cache(maxsize=8192)
def named_findings(remark: str, lexicon: Lexicon) -> tuple[str, ...]:
    """Return the labels of the findings that a remark about reports is about, once each, in order.

    Those that it says are there; where it says that of none, every finding that it names.
    """
    said = split(
        _UNSAID.sub(" ", _OWN.sub(lambda quote: f"{quote[2] or quote[1]}.", remark))
    )
    mentions = [mention for piece in said for mention in _mentions(piece, lexicon)]
    lines = (line for piece in said for line in tokenise(piece, lexicon))
    return _labels(lexicon, (one for one in mentions if one.positive)) or tuple(
        dict.fromkeys(
            lexicon.findings[head.finding].label
            for line in lines
            for head in find_heads(line)[0]
            if head.finding
        )
    )


def _labels(lexicon: Lexicon, mentions: Iterable[Mention]) -> tuple[str, ...]:
    names = (name for mention in mentions for name in mention.names if name)
    return tuple(dict.fromkeys(lexicon.findings[name].label for name in names))


def changed_findings(before: str, after: str, lexicon: Lexicon) -> tuple[str, ...]:
    """Return the labels of the findings of which two wordings of a sentence differ."""
    old, new = (_mentions(text, lexicon) for text in (before, after))
    return _labels(
        lexicon, [one for one in (*old, *new) if one not in old or one not in new]
    )


def split(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [text[start:end] for start, end in sentences(text)]


def pieces(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences outside skipped sections, with their numbers in the whole text."""
    opens = [(piece, opens_skipped_section(piece)) for piece in split(text)]
    last_read = max(
        (n for n, (_, opened) in enumerate(opens) if opened is False), default=-1
    )
    skipping = False
    for number, (piece, opened) in enumerate(opens):
        skipping = skipping if opened is None else opened
        if not skipping or (number >= last_read and not opened):
            yield number, piece


def study_class(reference: str, lexicon: Lexicon) -> Literal["normal", "abnormal"]:
    """Return `abnormal` where the report has any finding, a minor or possible one included.

    A report that says nothing of a finding is `normal`; one without any letter or digit
    raises `ValueError`, since it says nothing at all.
    """
    if not any(map(str.isalnum, reference)):
        raise ValueError("an empty report has no class")
    mentions = (
        one for _, piece in pieces(reference) for one in _mentions(piece, lexicon)
    )
    return (
        "abnormal"
        if any(one.positive and one.kind.abnormal for one in mentions)
        else "normal"
    )


class ReadReport:
    """The mentions of one report, `present` and `denied` by finding; `changes` of the study."""

    def __init__(self, text: str, side: Side, lexicon: Lexicon) -> None:
        self.side, self.lexicon = side, lexicon
        self.mentions = read(text, lexicon)
        self.present: defaultdict[str, list[Mention]] = defaultdict(list)
        self.denied: defaultdict[str, list[Mention]] = defaultdict(list)
        self.changes: frozenset[str] = frozenset()
        for mention in self.mentions:
            if mention.positive:
                for name in dict.fromkeys(mention.names):
                    self.present[name].append(mention)
            elif mention.finding:
                self.denied[mention.finding].append(mention)
            elif mention.structure in WHOLE:
                self.changes |= mention.changes
        self.normal = [mention for mention in self.mentions if mention.negative][
            : 2 * MOST
        ]

    def named(self, wanted: Iterable[str]) -> list[Mention]:
        """Return the present mentions under any of the `wanted` names or readings."""
        return [
            mention for name in wanted for mention in self.present.get(name, ())[:MOST]
        ]

    def twin(self, mention: Mention) -> Mention | None:
        """Return the mention that repeats this one, the same name before a related one."""
        related = self.lexicon.related
        names = [
            name
            for name in self.present
            if any(related(name, n) for n in mention.names)
        ]
        named = filter(mention.agrees_in_site, self.named(names))
        same_age = filter(mention.agrees_in_age, named)
        twins = (twin for twin in same_age if not mention.contrasts_with(twin))
        return min(
            twins,
            key=lambda n: (n.finding != mention.finding, n.sentence),
            default=None,
        )

    def contrary(self, mention: Mention) -> list[Mention]:
        """Return what contradicts `mention`, its denial before that of a wider finding."""
        against = [normal for normal in self.normal if normal.against(mention)]
        return sorted(against, key=lambda normal: normal.against(mention))

    def denies_all(self, wanted: Sequence[str]) -> bool:
        """Return whether each of the `wanted` findings is denied outright and never present."""
        return all(
            name not in self.present
            and any(not denied.levels for denied in self.denied.get(name, ())[:MOST])
            for name in wanted
        )


def align(
    reference: ReadReport, candidate: ReadReport
) -> tuple[list[Pair], list[Pair], list[Mention], list[Mention]]:
    """Return the equal pairs of mentions, those that differ, and the rest of each report.

    What a report repeats counts once; only findings that are there are in a differing pair.
    """
    ours, theirs = (
        {mention: mention for mention in reversed(report.mentions)}
        for report in (reference, candidate)
    )
    same = [
        (first, theirs[first]) for first in reversed(ours.values()) if first in theirs
    ]
    left = [first for first in reversed(ours.values()) if first not in theirs]
    right = [first for first in reversed(theirs.values()) if first not in ours]
    pairs = _closest(left, right)
    paired = {mention for pair in pairs for mention in pair}
    left, right = ([one for one in side if one not in paired] for side in (left, right))
    return same, pairs, left, right


def _closest(left: Sequence[Mention], right: Sequence[Mention]) -> list[Pair]:
    options: list[tuple[float, int, int]] = []
    there = [(j, other) for j, other in enumerate(right) if other.positive]
    for i, mention in enumerate(left):
        likely = (
            (-_likeness(mention, other), i, j) for j, other in there if mention.positive
        )
        options += islice((option for option in likely if option[0] < 0), MOST)
    partners: dict[int, int] = {}
    for _, i, j in sorted(options):
        if i not in partners and j not in partners.values():
            partners[i] = j
    return [(left[i], right[j]) for i, j in sorted(partners.items())]


def _likeness(mention: Mention, other: Mention) -> float:
    """Return how likely two differing mentions are of one finding; 0 or less: they are not."""
    if mention.finding == other.finding:
        score = 8.0
    elif {*mention.readings} & {*other.readings}:
        score = 5.0
    elif mention.related(other):
        score = 3.0
    elif mention.agrees_in_site(other) and _shadows(mention) & _shadows(other):
        score = 1.0
    else:
        return 0.0
    if mention.sides == other.sides:
        score += 2.0 * bool(mention.sides)
    elif mention.sides and other.sides:
        score -= 0.5 if mention.sides & other.sides else 3.0
    if not mention.agrees_in_age(other):
        score -= 2.0
    if mention.contrasts_with(other):
        score -= 2.0
    if mention.places & other.places:
        score += 1.0
    elif not mention.agrees_in_place(other):
        score -= 1.5
    if mention.sizes and other.sizes:
        score += 1.5 if mention.size_ratio(other) < SAME_SIZE else -1.0
    alike = bool(mention.levels & other.levels) + (mention.changes == other.changes)
    return score + 0.5 * alike


def _shadows(mention: Mention) -> set[str]:
    return {mention.lexicon.findings[name].shadow for name in mention.readings} - {""}


_WORD = re.compile(r"[^\W\d_]+")
_FEWEST = 2  # one word of another language may be a name or a loan
_DECOR = re.compile(
    r"(?:exam\w*|findings?|impression|technique|procedure|study)\s*:?", re.I
)
"""A heading alone does not begin a report."""
_SOON_TOLD = 25
"""The characters in which a first sentence names its modality."""


def unfamiliar_reason(
    report: str, lexicon: Lexicon
) -> Literal["language", "images"] | None:
    """Return why the rules do not fit `report`: its language or its modality.

    `language`: more of its words are function words of another language than of English, or of the
    words that are read fewer than half are known. `images`: it begins by saying that it is of CT,
    MRI or ultrasound, or says so twice, other than to compare with one or to ask for one.
    """
    words = _WORD.findall(report.lower())
    n_foreign = sum(word in lexicon.unfamiliar.languages for word in words)
    common = load().unfamiliar
    n_english = sum(word in common.english for word in words)
    if n_foreign >= _FEWEST and n_foreign > n_english:
        return "language"
    # A single letter says nothing, nor does the placeholder of a removed name, such as XXXX.
    read = _WORD.findall(" ".join(piece for _, piece in pieces(report)).lower())
    frequent = common.english | common.reports
    known = [
        word in frequent or lexicon.knows(word) for word in read if len({*word}) > 1
    ]
    is_enough = len(known) >= _FEWEST or not report.isascii()  # Chinese has no spaces
    if is_enough and sum(known) < len(known) / 2:
        return "language"
    places = [
        _image(piece, lexicon) for piece in split(report) if not _DECOR.fullmatch(piece)
    ]
    begins = bool(places) and places[0] is not None and places[0] <= _SOON_TOLD
    return "images" if begins or len(places) - places.count(None) > 1 else None


def seems_english(report: str, lexicon: Lexicon) -> bool:
    """Return whether nothing in `report` is of another language, however few words are known."""
    words = _WORD.findall(report.lower())
    return report.isascii() and lexicon.unfamiliar.languages.isdisjoint(words)


LEAST_RECOGNISED = 0.5
"""A study is not judged where less of the reference's statements is recognised."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """How many `statements` a text makes, and how many of them are `recognised`."""

    recognised: int = 0
    statements: int = 0

    @property
    def share(self) -> float:
        """The share of the statements that is recognised, 0 where there are none."""
        return self.recognised / self.statements if self.statements else 0.0

    def __add__(self, other: Recognised) -> Recognised:
        """Return the counts of both."""
        recognised = self.recognised + other.recognised
        return Recognised(recognised, self.statements + other.statements)


@lru_cache(maxsize=65536)
def recognised(report: str, lexicon: Lexicon) -> Recognised:
    """Return how many statements `report` makes, and how many the lexicon recognises.

    A statement is a clause of a section that is read, other than one on how the image was made.
    It is recognised where it names a finding, a normal structure or a change, at least half of its
    words are known, and none is a part of the body outside the chest.
    """
    found = Recognised()
    for _, piece in pieces(report):
        for clause in piece.split(";"):
            found += _recognised_clause(clause, lexicon)
    return found


@lru_cache(maxsize=32768)
def _recognised_clause(clause: str, lexicon: Lexicon) -> Recognised:
    common = load().unfamiliar
    frequent = common.english | common.reports
    # A single letter says nothing, nor does the placeholder of a removed name, such as XXXX.
    words = [word for word in _WORD.findall(clause.lower()) if len({*word}) > 1]
    content = [word for word in words if word not in frequent]
    if all(stem(word) in common.technique for word in content):
        return Recognised()
    stems = [stem(word) for word in content]
    known = sum(lexicon.knows(word) or word in common.technique for word in stems)
    is_known = known >= len(content) / 2 and common.other_parts.isdisjoint(stems)
    return Recognised(int(is_known and _says_something(clause, lexicon)), 1)


def _says_something(clause: str, lexicon: Lexicon) -> bool:
    if any(mention.says for mention in _mentions(clause, lexicon)):
        return True
    # "Heart size is exaggerated by technique" and "Tip not seen" find nothing, and are understood.
    kinds = (Kind.TECHNIQUE, Kind.IGNORES_AFTER)
    lines = tokenise(clause, lexicon)
    return any(mark.role(*kinds) for line in lines for mark in line.marks)


@lru_cache(maxsize=8192)
def _image(piece: str, lexicon: Lexicon) -> int | None:
    """Return where a sentence begins to speak of another examination in its own words."""
    image = lexicon.unfamiliar.images.search(piece)
    is_elsewhere = load().unfamiliar.elsewhere.search(piece)
    return image.start() if image and not is_elsewhere else None

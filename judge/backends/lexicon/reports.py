"""Reads the mentions of a report and pairs those of two reports."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice
from typing import Literal

from judge.backends.lexicon.data import (
    BREAK,
    JOIN,
    PREPOSITION,
    VERB,
    Kind,
    Lexicon,
    Line,
    Mark,
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
            if mentions and _refers_to(mention, mentions[-1]):
                mentions[-1] = _merge(mentions[-1], mention)
            else:
                mentions.append(mention)
    return mentions


def _refers_to(mention: Mention, earlier: Mention) -> bool:
    """Return whether a mention goes on about the one before it: "This may represent ..."."""
    if not mention.refers_back:
        return False
    is_near = mention.sentence - earlier.sentence <= 1
    return is_near and (earlier.positive or not mention.finding)


def _merge(shadow: Mention, reading: Mention) -> Mention:
    """Return a mention with all that a reading of it, or the same finding again, says."""
    acuity = shadow.acuity
    # The age of a reading is not that of its shadow.
    if reading.finding == shadow.finding:
        acuity |= reading.acuity
    possible = shadow.possible | reading.possible
    if reading.doubted:
        possible |= {reading.finding}
    others: list[str] = []
    for name in reading.names:
        if name and name != shadow.finding:
            others.append(name)
    return replace(
        shadow,
        also=(*shadow.also, *others),
        possible=possible,
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
    mentions: list[Mention] = []
    for line in tokenise(text, lexicon):
        mentions += _of_line(line)
    return tuple(mentions)


def _of_line(line: Line) -> list[Mention]:
    """Return the mentions of one sentence, each reading of a shadow within that of the shadow."""
    heads, of_study = read_line(line)
    stated: list[tuple[Mention, Head]] = []
    says = any(head.finding or head.normal for head in heads)
    for head in heads:
        if head.ignored:
            continue
        # A structure that is only named says where something is.
        head_says = head.finding or head.normal or Kind.CHANGE in head.modifiers
        if says and not head_says:
            continue
        *others, mention = [_mention(line, part) for part in head.split()]
        stated += [(other, head) for other in others]
        if mention.positive and _join_earlier(line, stated, mention, head):
            continue
        if not stated and mention.positive and line.words[0] in _BACKWARD:
            # "This may represent ..." reads a shadow of the sentence before.
            back = line.marked(0, head.first, Kind.READS_AS, Kind.MAY_READ_AS)
            mention = replace(mention, refers_back=back)
        stated.append((mention, head))
    mentions = [mention for mention, _ in stated]
    if not heads and _is_all_normal(line):
        words = _quote(line, 0, len(line.words))
        whole = Mention(line.lexicon, structure=WHOLE[1], normal=True, words=words)
        mentions.append(whole)
    for mark, change in of_study:
        back = not mentions and not _BACKWARD.isdisjoint(line.words[:3])
        of_whole = Mention(
            line.lexicon,
            changes=change.tags,
            words=_quote(line, mark.first, mark.last),
            refers_back=back,
        )
        mentions.append(of_whole)
    return mentions


def _join_earlier(
    line: Line, stated: list[tuple[Mention, Head]], mention: Mention, head: Head
) -> bool:
    """Return whether a mention goes on about the last one in `stated`, after adding it there."""
    number = _last_positive(stated)
    if number < 0:
        return False
    earlier, shadow = stated[number]
    if _restates(line, earlier, shadow, mention, head):
        stated[number] = (_merge(earlier, mention), head)
        return True
    # "Opacity with volume loss": what explains a shadow describes it.
    is_explained = mention.finding in earlier.kind.explains
    if is_explained and _is_linked(line, shadow, head):
        descriptors = (*earlier.descriptors, mention.finding)
        stated[number] = (replace(earlier, descriptors=descriptors), shadow)
        return True
    if _reads_as(line, earlier, shadow, mention, head):
        stated[number] = (_merge(earlier, mention), head)
        return True
    return False


def _last_positive(stated: Sequence[tuple[Mention, Head]]) -> int:
    """Return the number of the last mention that says that something is there, -1 for none."""
    for number in range(len(stated) - 1, -1, -1):
        if stated[number][0].positive:
            return number
    return -1


def _is_all_normal(line: Line) -> bool:
    """Return whether the line is a word of normality alone: "Unremarkable."."""
    is_placeholder = "xxx" in line.text.lower()
    if is_placeholder or line.words == ["clear"]:
        return False
    if WHOLE[1] not in line.lexicon.structures:
        return False
    for mark in line.marks:
        is_whole = mark.first == 0 and mark.last == len(line.words)
        if is_whole and any(role == _NORMAL for role in mark.roles):
            return True
    return False


_NORMAL = Role(Kind.QUALITY, "normal", frozenset({"normal"}))


def _mention(line: Line, head: Head) -> Mention:
    lexicon = line.lexicon
    first, last = _whole_phrase(line, head.start, head.end)
    words = _quote(line, first, last)
    sides = head.tags(Kind.SIDE)
    changes = head.tags(Kind.CHANGE)
    if head.normal and head.denied:
        abnormal = lexicon.structures[head.structure].abnormal
        return Mention(lexicon, finding=abnormal, sides=sides, words=words)
    if not head.finding:
        changes -= {"resolved"}
        # What is normal and stays so is not compared with anything.
        if head.normal:
            changes -= {"unchanged"}
        return Mention(
            lexicon,
            finding="",
            structure=head.structure,
            normal=head.normal,
            sides=sides,
            changes=changes,
            words=words,
        )
    finding = lexicon.findings[head.finding]
    present = not head.denied and "resolved" not in changes
    traits = _NONE
    if present or head.denied:
        traits = head.tags(Kind.TRAIT)
    levels = head.tags(Kind.LEVEL)
    descriptors: tuple[str, ...] = ()
    # What is gone or denied has none of the attributes that a name implies.
    if present:
        levels = levels or frozenset({finding.level} - {""})
        traits = traits or finding.traits
        descriptors = tuple(dict.fromkeys(head.descriptors))
    else:
        changes &= {"resolved"}
    acuity = head.tags(Kind.ACUITY) or frozenset({finding.acuity} - {""})
    return Mention(
        lexicon,
        finding=head.finding,
        present=present,
        doubted=head.doubted,
        sides=sides,
        places=_places(lexicon, head),
        levels=frozenset(lexicon.levels[level] for level in levels),
        changes=changes,
        sizes=frozenset(head.sizes),
        shares=frozenset(head.shares),
        acuity=acuity,
        traits=traits,
        greater=head.tags(Kind.GREATER),
        descriptors=descriptors,
        unexcluded=head.unexcluded and present,
        acts=Kind.ACTION in head.modifiers,
        count=head.count,
        words=words,
    )


def _places(lexicon: Lexicon, head: Head) -> frozenset[str]:
    """Return the places of a finding; of a device also the part of the body where it ends."""
    places = head.tags(Kind.PLACE)
    if "good" in places:
        places |= lexicon.findings[head.finding].good
    is_placed = any(lexicon.domains[tag] == "line" for tag in places)
    if head.sites and not is_placed:
        places |= head.sites
    return places


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
    barred: set[int] = set()
    for mark in line.marks:
        if mark.role(*_NOT_OF_PHRASE):
            barred.update(range(mark.first, mark.last))
    least = max(first - _MOST_MORE, 0)
    most = min(last + _MOST_MORE, len(line.words))
    while first > least and first - 1 not in barred:
        if line.between(first - 1, first):
            break
        first -= 1
    end = last
    while end < most and end not in barred:
        if line.between(end, end + 1) not in ("", PREPOSITION):
            break
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
            ending = [inner for inner in line.marks if inner.last == last]
            if any(inner.role(*_WHERE) for inner in ending):
                last = mark.last
    start, _ = line.spans[first]
    _, end = line.spans[last - 1]
    text = line.text
    n_opened = text.count("(", start, end)
    n_closed = text.count(")", start, end)
    if n_opened > n_closed:
        closed = text.find(")", end)
        if closed >= 0:
            end = closed + 1
    # GREEN parts matched findings by semicolons.
    said = text[start:end].replace(";", ",")
    quoted = " ".join(said.split())
    if len(quoted) > _LONGEST_QUOTE:
        return quoted[: _LONGEST_QUOTE - 3] + "..."
    return quoted


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
    # A side of its own tells the later one apart.
    if later.sides and earlier.sides != later.sides:
        return False
    return _is_linked(line, shadow, head)


def _is_linked(line: Line, shadow: Head, head: Head) -> bool:
    first = shadow.last
    last = head.first
    words = line.words[first:last]
    if first > last or ";" in words:
        return False
    if VERB in line.between(first, last):
        return False
    return not _LINKS.isdisjoint(words)


def _reads_as(
    line: Line, earlier: Mention, shadow: Head, later: Mention, head: Head
) -> bool:
    """Return whether the later head is a reading of the shadow: "opacity, likely pneumonia"."""
    first = shadow.last
    last = head.first
    between = line.between(first, last)
    words = line.words[first:last]
    if line.marked(first, last, Kind.READS_AS, Kind.MAY_READ_AS):
        return True
    if first > last or BREAK in between:
        return False
    is_listing = bool(earlier.also)
    if _are_alike(earlier, later):
        if line.marked(first, last, Kind.HEDGES_AFTER, Kind.LIKELY_AFTER):
            return True
        listed = "or" in words or "/" in words
        if is_listing and JOIN in between:
            listed = True
    else:
        # A list of readings goes on: "edema, infection or fibrosis".
        goes_on = "," in words and "or" in line.words[last : last + _SOON]
        listed = is_listing and ("or" in words or goes_on)
    return listed and VERB not in between


def _are_alike(earlier: Mention, later: Mention) -> bool:
    """Return whether two mentions can be said of one shadow, by the lexicon alone."""
    lexicon = later.lexicon
    group = later.kind.shadow
    for name in earlier.names:
        if lexicon.related(name, later.finding):
            return True
        if group and group == lexicon.findings[name].shadow:
            return True
    return False


@lru_cache(maxsize=8192)
def named_findings(remark: str, lexicon: Lexicon) -> tuple[str, ...]:
    """Return the labels of the findings that a remark about reports is about, once each, in order.

    Those that it says are there; where it says that of none, every finding that it names.
    """
    quoted = _OWN.sub(lambda quote: f"{quote[2] or quote[1]}.", remark)
    said = split(_UNSAID.sub(" ", quoted))
    mentions: list[Mention] = []
    for piece in said:
        mentions += _mentions(piece, lexicon)
    positive = [mention for mention in mentions if mention.positive]
    there = _names_in(positive)
    if there:
        return _labels(lexicon, there)
    named: list[str] = []
    for piece in said:
        for line in tokenise(piece, lexicon):
            heads, _ = find_heads(line)
            named += [head.finding for head in heads if head.finding]
    return _labels(lexicon, named)


def _names_in(mentions: Iterable[Mention]) -> list[str]:
    names: list[str] = []
    for mention in mentions:
        names += filter(None, mention.names)
    return names


def _labels(lexicon: Lexicon, names: Iterable[str]) -> tuple[str, ...]:
    labels = [lexicon.findings[name].label for name in names]
    return tuple(dict.fromkeys(labels))


def changed_findings(before: str, after: str, lexicon: Lexicon) -> tuple[str, ...]:
    """Return the labels of the findings of which two wordings of a sentence differ."""
    old = _mentions(before, lexicon)
    new = _mentions(after, lexicon)
    gone = [mention for mention in old if mention not in new]
    come = [mention for mention in new if mention not in old]
    return _labels(lexicon, _names_in([*gone, *come]))


def split(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [text[start:end] for start, end in sentences(text)]


def pieces(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences outside skipped sections, with their numbers in the whole text."""
    said = split(text)
    opens = [opens_skipped_section(piece) for piece in said]
    last_read = -1
    for number, opened in enumerate(opens):
        if opened is False:
            last_read = number
    skipping = False
    for number, piece in enumerate(said):
        opened = opens[number]
        if opened is not None:
            skipping = opened
        # After the last section that is read, a heading of a skipped one hides itself alone.
        is_after_last = number >= last_read and not opened
        if not skipping or is_after_last:
            yield number, piece


def study_class(reference: str, lexicon: Lexicon) -> Literal["normal", "abnormal"]:
    """Return `abnormal` where the report has any finding, a minor or possible one included.

    A report that says nothing of a finding is `normal`; one without any letter or digit
    raises `ValueError`, since it says nothing at all.
    """
    if not any(map(str.isalnum, reference)):
        raise ValueError("an empty report has no class")
    for _, piece in pieces(reference):
        for mention in _mentions(piece, lexicon):
            if mention.positive and mention.kind.abnormal:
                return "abnormal"
    return "normal"


class ReadReport:
    """The mentions of one report, `present` and `denied` by finding; `changes` of the study."""

    def __init__(self, text: str, side: Side, lexicon: Lexicon) -> None:
        self.side = side
        self.lexicon = lexicon
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
        negative = [mention for mention in self.mentions if mention.negative]
        self.normal = negative[: 2 * MOST]

    def named(self, wanted: Iterable[str]) -> list[Mention]:
        """Return the present mentions under any of the `wanted` names or readings."""
        mentions: list[Mention] = []
        for name in wanted:
            mentions += self.present.get(name, ())[:MOST]
        return mentions

    def twin(self, mention: Mention) -> Mention | None:
        """Return the mention that repeats this one, the same name before a related one."""
        names = [name for name in self.present if self._is_related(name, mention)]
        twins = []
        for twin in self.named(names):
            is_there = mention.agrees_in_site(twin) and mention.agrees_in_age(twin)
            if is_there and not mention.contrasts_with(twin):
                twins.append(twin)

        def rank(twin: Mention) -> tuple[bool, int]:
            return twin.finding != mention.finding, twin.sentence

        return min(twins, key=rank, default=None)

    def _is_related(self, name: str, mention: Mention) -> bool:
        return any(self.lexicon.related(name, other) for other in mention.names)

    def contrary(self, mention: Mention) -> list[Mention]:
        """Return what contradicts `mention`, its denial before that of a wider finding."""
        against = [normal for normal in self.normal if normal.against(mention)]
        return sorted(against, key=lambda normal: normal.against(mention))

    def denies_all(self, wanted: Sequence[str]) -> bool:
        """Return whether each of the `wanted` findings is denied outright and never present."""
        for name in wanted:
            denials = self.denied.get(name, ())[:MOST]
            is_denied = any(not denial.levels for denial in denials)
            if name in self.present or not is_denied:
                return False
        return True


def align(
    reference: ReadReport, candidate: ReadReport
) -> tuple[list[Pair], list[Pair], list[Mention], list[Mention]]:
    """Return the equal pairs of mentions, those that differ, and the rest of each report.

    What a report repeats counts once; only findings that are there are in a differing pair.
    """
    ours = _firsts(reference)
    theirs = _firsts(candidate)
    same = [(first, theirs[first]) for first in ours if first in theirs]
    left = [first for first in ours if first not in theirs]
    right = [first for first in theirs if first not in ours]
    pairs = _closest(left, right)
    paired = {*chain.from_iterable(pairs)}
    alone_left = [mention for mention in left if mention not in paired]
    alone_right = [mention for mention in right if mention not in paired]
    return same, pairs, alone_left, alone_right


def _firsts(report: ReadReport) -> dict[Mention, Mention]:
    """Return the first of all equal mentions, by any of them, in the order of the last ones."""
    firsts = {mention: mention for mention in reversed(report.mentions)}
    return {first: first for first in reversed(firsts.values())}


def _closest(left: Sequence[Mention], right: Sequence[Mention]) -> list[Pair]:
    """Return pairs of mentions of one finding, in the order of `left`.

    The likeliest pair is taken first; of two that are equally likely the earlier one.
    """
    options: list[tuple[float, int, int]] = []
    for i, mention in enumerate(left):
        if mention.positive:
            options += islice(_options(i, mention, right), MOST)
    partners: dict[int, int] = {}
    for _, i, j in sorted(options):
        if i not in partners and j not in partners.values():
            partners[i] = j
    return [(left[i], right[j]) for i, j in sorted(partners.items())]


def _options(
    i: int, mention: Mention, right: Sequence[Mention]
) -> Iterator[tuple[float, int, int]]:
    """Yield the partners that a mention may have, each with its likeness, negative."""
    for j, other in enumerate(right):
        if not other.positive:
            continue
        likeness = _likeness(mention, other)
        if likeness > 0:
            yield -likeness, i, j


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
    score += _likeness_of_sides(mention, other)
    score += _likeness_of_attributes(mention, other)
    if mention.levels & other.levels:
        score += 0.5
    if mention.changes == other.changes:
        score += 0.5
    return score


def _likeness_of_attributes(mention: Mention, other: Mention) -> float:
    score = 0.0
    if not mention.agrees_in_age(other):
        score -= 2.0
    if mention.contrasts_with(other):
        score -= 2.0
    if mention.places & other.places:
        score += 1.0
    elif not mention.agrees_in_place(other):
        score -= 1.5
    if mention.sizes and other.sizes:
        if mention.size_ratio(other) < SAME_SIZE:
            score += 1.5
        else:
            score -= 1.0
    return score


def _likeness_of_sides(mention: Mention, other: Mention) -> float:
    if not mention.sides or not other.sides:
        return 0.0
    if mention.sides == other.sides:
        return 2.0
    if mention.sides & other.sides:
        return -0.5
    return -3.0


def _shadows(mention: Mention) -> set[str]:
    findings = mention.lexicon.findings
    shadows = {findings[name].shadow for name in mention.readings}
    return shadows - {""}


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
    frequent = common.english | common.reports
    read = " ".join(piece for _, piece in pieces(report))
    counted = _telling_words(read)
    n_known = 0
    for word in counted:
        if word in frequent or lexicon.knows(word):
            n_known += 1
    # Chinese has no spaces: a report of it may be one word.
    is_enough = len(counted) >= _FEWEST or not report.isascii()
    if is_enough and n_known < len(counted) / 2:
        return "language"
    if _tells_of_images(report, lexicon):
        return "images"
    return None


def _telling_words(text: str) -> list[str]:
    """Return the words in lower case, without those that say nothing.

    These are single letters, and the placeholder of a removed name, such as XXXX.
    """
    words = _WORD.findall(text.lower())
    return [word for word in words if len({*word}) > 1]


def _tells_of_images(report: str, lexicon: Lexicon) -> bool:
    """Return whether a report begins by saying that it is of other images, or says so twice."""
    said = [piece for piece in split(report) if not _DECOR.fullmatch(piece)]
    places = [_image(piece, lexicon) for piece in said]
    if not places:
        return False
    first = places[0]
    if first is not None and first <= _SOON_TOLD:
        return True
    n_told = len(places) - places.count(None)
    return n_told > 1


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
        if not self.statements:
            return 0.0
        return self.recognised / self.statements

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
    words = _telling_words(clause)
    stems = [stem(word) for word in words if word not in frequent]
    if common.technique.issuperset(stems):
        return Recognised()
    n_known = 0
    for word in stems:
        if word in common.technique or lexicon.knows(word):
            n_known += 1
    is_known = n_known >= len(stems) / 2
    is_of_chest = common.other_parts.isdisjoint(stems)
    if is_known and is_of_chest and _says_something(clause, lexicon):
        return Recognised(recognised=1, statements=1)
    return Recognised(recognised=0, statements=1)


def _says_something(clause: str, lexicon: Lexicon) -> bool:
    if any(mention.says for mention in _mentions(clause, lexicon)):
        return True
    # "Heart size is exaggerated by technique" and "Tip not seen" find nothing, and are understood.
    marks: list[Mark] = []
    for line in tokenise(clause, lexicon):
        marks += line.marks
    return any(mark.role(Kind.TECHNIQUE, Kind.IGNORES_AFTER) for mark in marks)


@lru_cache(maxsize=8192)
def _image(piece: str, lexicon: Lexicon) -> int | None:
    """Return where a sentence begins to speak of another examination in its own words."""
    image = lexicon.unfamiliar.images.search(piece)
    is_elsewhere = load().unfamiliar.elsewhere.search(piece)
    if image is None or is_elsewhere:
        return None
    return image.start()

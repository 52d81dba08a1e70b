"""The findings and structures of a sentence, their negation, doubt and modifiers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise

from judge.backends.lexicon.data import (
    BREAK,
    JOIN,
    JOINS,
    PREPOSITION,
    VERB,
    Kind,
    Line,
    Mark,
    Measure,
    Role,
)

_FRESH = (Kind.LEVEL, Kind.CHANGE, Kind.STRUCTURE, Kind.LIKELY_AFTER, Kind.HEDGES_AFTER)
"""Phrases that begin a new statement after "no effusion, ..."."""

_OLD = Role(Kind.ACUITY, "old", frozenset({"old"}))
_WITHIN = frozenset({"of", "in", "at"})
_REASONS = frozenset({"due", "secondary", "because"})
_LIMITS = frozenset({"limited", "suboptimal", "insufficient", "limit", "limiting"})
_WITH = frozenset(
    {"with", "adjacent", "associated", "accompanying", "overlying", "underlying"}
)
_FORWARD = {
    Kind.NEGATES_AFTER: "denial",
    Kind.HEDGES_AFTER: "doubt",
    Kind.MAY_READ_AS: "doubt",
    Kind.IGNORES_AFTER: "aside",
}
"""The state of the words after a cue."""

_CAUSES = frozenset(
    {
        "due",
        "related",
        "secondary",
        "attributable",
        "attributed",
        "owing",
        "by",
        "from",
        "because",
    }
)
"""Words before what an image was made by, such as "due to technique"."""
_MOST_TO_CAUSE = 5
_EXPANSION = frozenset({"volume", "inspiration", "inspiratory", "effort"})
_DIRECTIONS = frozenset({"worse", "better"})
_NEAR = 3
_COUNTS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
_NUMBERS = {name: n for n, name in enumerate(_COUNTS, start=2)}
_NUMBERS |= {str(n): n for n in _NUMBERS.values()}
_MOST_BETWEEN = 5
_BETWEEN_DESCRIBED = (
    Kind.LEVEL,
    Kind.SIDE,
    Kind.PLACE,
    Kind.ACUITY,
    Kind.TRAIT,
    Kind.STRUCTURE,
    Kind.DESCRIBING,
)
_MODIFIERS = (Kind.SIDE, Kind.GREATER, Kind.PLACE, Kind.ACUITY, Kind.TRAIT, Kind.ACTION)
_EXCLUDING = frozenset(
    {"exclude", "excluded", "excluding", "excludable", "rule", "ruled", "discounted"}
)
"""Words of the weakest hedges: "cannot be excluded" says less than "possible"."""
_PRICES_AHEAD = {JOIN: 2.5, VERB: 2.5, PREPOSITION: 2.0, BREAK: 3.5}
_PRICES_AFTER = {JOIN: 2.0, VERB: 0.5, PREPOSITION: 0.2, BREAK: 3.5}
_TOO_FAR = 9.0
"""A modifier that is dearer than this to attach belongs to no head (see `_price`)."""


@dataclass(slots=True, eq=False)
class Head:
    """A finding or a structure at the tokens `first` to `last` (exclusive), with its modifiers.

    `finding` is empty where a structure is called normal (`normal`) or only named. `pivot` is the
    token that negation must cover: the quality of "heart ... enlarged". `unexcluded` says that
    it "cannot be excluded", the weakest doubt. `descriptors` are findings whose names describe
    this one ("cavitary mass"), `sites` the parts of the body where a device ends that are not
    among the lexicon's places. `modifiers` are the sides, places and the like by their token;
    `start` to `end` are the tokens to quote.
    """

    first: int
    last: int
    pivot: int
    finding: str = ""
    structure: str = ""
    normal: bool = False
    denied: Mark | None = None
    doubted: bool = False
    unexcluded: bool = False
    ignored: bool = False
    descriptors: list[str] = field(default_factory=list)
    modifiers: dict[Kind, dict[int, frozenset[str]]] = field(default_factory=dict)
    sizes: set[float] = field(default_factory=set)
    shares: set[float] = field(default_factory=set)
    sites: set[str] = field(default_factory=set)
    count: int = 0
    start: int = -1
    end: int = -1

    def cover(self, first: int, last: int) -> None:
        """Add the tokens `first` to `last` (exclusive) to the quotation."""
        self.start, self.end = min(self.start, first), max(self.end, last)

    def tags(self, kind: Kind) -> frozenset[str]:
        """Return the tags of all modifiers of one kind."""
        return frozenset[str]().union(*self.modifiers.get(kind, {}).values())

    def add(self, mark: Mark, role: Role) -> None:
        """Add a phrase as a modifier."""
        modifiers = self.modifiers.setdefault(role.kind, {})
        modifiers[mark.first] = modifiers.get(mark.first, frozenset()) | role.tags
        self.cover(mark.first, mark.last)

    def split(self) -> list[Head]:
        """Return a head for each of two sites where each has a level or a change of its own.

        "Small right and large left effusions", "increased on the right, decreased on the left".
        """
        sites = self._two_sites()
        if sites is None:
            return [self]
        own: list[dict[Kind, dict[int, frozenset[str]]]] = [{}, {}]
        for kind in (Kind.LEVEL, Kind.CHANGE):
            stated = sorted(self.modifiers.get(kind, {}).items())
            tokens = [token for token, _ in stated]
            if _alternate([min(site) for site in sites], tokens):
                for part, (token, tags) in zip(own, stated, strict=True):
                    part[kind] = {token: tags}
        if not own[0]:
            return [self]
        for part, site in zip(own, sites, strict=True):
            for kind in (Kind.SIDE, Kind.PLACE):
                there = self.modifiers.get(kind, {})
                part[kind] = {token: there[token] for token in there if token in site}
        return [replace(self, modifiers=self.modifiers | part) for part in own]

    def _two_sites(self) -> list[list[int]] | None:
        """Return the tokens of two sites, if there are two that exclude each other.

        Sides and places without a level or a change between them are one site.
        """
        where = {
            *self.modifiers.get(Kind.SIDE, {}),
            *self.modifiers.get(Kind.PLACE, {}),
        }
        said = {
            *self.modifiers.get(Kind.LEVEL, {}),
            *self.modifiers.get(Kind.CHANGE, {}),
        }
        sites: list[list[int]] = []
        is_new = True
        for token in sorted(where | said):
            if token not in where:
                is_new = True
            elif is_new:
                sites.append([token])
                is_new = False
            else:
                sites[-1].append(token)
        if len(sites) != 2:
            return None
        for kind in (Kind.SIDE, Kind.PLACE):
            first = self._tags_at(kind, sites[0])
            second = self._tags_at(kind, sites[1])
            if first and second:
                return None if first & second else sites
        return None

    def _tags_at(self, kind: Kind, tokens: Sequence[int]) -> frozenset[str]:
        there = self.modifiers.get(kind, {})
        return frozenset[str]().union(*(there.get(token, ()) for token in tokens))


def _alternate(sites: list[int], stated: list[int]) -> bool:
    """Return whether each of two sites has one of the values stated, in the same order."""
    if len(stated) != len(sites):
        return False
    order = [token in sites for token in sorted({*sites, *stated})]
    return order in ([True, False, True, False], [False, True, False, True])


def read_line(line: Line) -> tuple[list[Head], list[tuple[Mark, Role]]]:
    """Return the findings and structures of `line` in order, and changes without one of these."""
    heads_found, used = find_heads(line)
    _apply_cues(line, heads_found, used)
    of_study = _attach(line, heads_found, used)
    technical = [mark for mark in line.marks if _is_technique(line, mark)]
    if not technical:
        return heads_found, of_study
    for mark in technical:
        head = _technical_head(line, heads_found, mark)
        if head is not None:
            _apply_technique(head)
    return heads_found, [
        said for said in of_study if not _is_technical(line, said, technical)
    ]


def _is_technique(line: Line, mark: Mark) -> bool:
    """Return whether a phrase says that something is due to how the image was made."""
    if mark.role(Kind.TECHNIQUE):
        return True
    before = line.words[max(mark.first - _MOST_TO_CAUSE, 0) : mark.first]
    return mark.role(Kind.MADE_BY) is not None and not _CAUSES.isdisjoint(before)


def _technical_head(line: Line, heads: Sequence[Head], mark: Mark) -> Head | None:
    """Return what is said to be due to the technique: the last of the clause before it."""
    before = [
        head for head in heads if head.pivot < mark.first and head.last <= mark.first
    ]
    for head in reversed(before):
        if BREAK in line.between(head.last, mark.first):
            return None
        is_expansion = not _EXPANSION.isdisjoint(line.words[mark.first : mark.last])
        is_measured = bool(head.structure) or not is_expansion
        if head.finding and not is_measured:
            return None  # low volumes make a heart look large, but atelectasis is there
        if head.finding or head.modifiers.get(Kind.CHANGE):
            return head
    return None


def _apply_technique(head: Head) -> None:
    """Take a change that is due to the technique for none, and a finding as a possible one."""
    changes = head.modifiers.get(Kind.CHANGE, {})
    kept = {
        token: tags for token, tags in changes.items() if tags.isdisjoint(_DIRECTIONS)
    }
    if len(kept) < len(changes):
        head.modifiers[Kind.CHANGE] = kept
    elif head.finding:
        head.doubted = True


def _is_technical(
    line: Line, said: tuple[Mark, Role], technical: Sequence[Mark]
) -> bool:
    mark, role = said
    if role.name not in _DIRECTIONS:
        return False
    return any(BREAK not in line.between(mark.last, cue.first) for cue in technical)


def find_heads(line: Line) -> tuple[list[Head], set[int]]:
    """Return the heads of `line` in order, and the first tokens of the qualities they used."""
    heads_found: list[Head] = []
    bound: dict[int, list[Mark]] = {}
    for index, mark in enumerate(line.marks):
        subjects = _subjects(line, index, bound) if mark.role(Kind.QUALITY) else []
        if subjects:
            bound[index] = subjects
            described = (_described(line, mark, subject) for subject in subjects)
            heads_found += filter(None, described)
    used = {line.marks[index].first for index in bound}
    taken = {*used}
    for head in heads_found:
        taken |= {head.first, head.pivot}
    for subjects in bound.values():
        taken |= {subject.first for subject in subjects}
    descriptors: defaultdict[int, list[str]] = defaultdict(list)
    for index, mark in enumerate(line.marks):
        role = mark.role(Kind.FINDING) or mark.role(Kind.STRUCTURE)
        if not role or mark.first in taken:
            continue
        whole = _described_finding(line, index)
        if whole:
            # A pleural mass is no effusion.
            if line.lexicon.findings[role.name].area != "pleura":
                descriptors[whole.first].append(role.name)
            continue
        head = Head(mark.first, mark.last, pivot=mark.first)
        if role.kind is Kind.FINDING:
            head.finding = role.name
        else:
            head.structure = role.name
        heads_found.append(head)
    for head in heads_found:
        head.descriptors = descriptors.get(head.first, [])
    heads_found.sort(
        key=lambda head: (head.pivot, head.first, head.finding, head.structure)
    )
    for head in heads_found:
        head.start, head.end = head.first, head.last
    return heads_found, used


def _described_finding(line: Line, index: int) -> Mark | None:
    """Return the finding that the name of another one at `index` describes, if it does.

    Directly after it ("cavitary mass"), or before a verb ("the mass is cavitary").
    """
    mark = line.marks[index]
    if not mark.role(Kind.DESCRIBING) or not mark.role(Kind.FINDING):
        return None
    for later in line.marks[index + 1 : index + 1 + _NEAR]:
        is_near = later.first - mark.last < _NEAR and not line.between(
            mark.last, later.first
        )
        if not is_near:
            break
        if later.role(Kind.FINDING) and not later.role(Kind.DESCRIBING):
            return later
        if not later.role(*_BETWEEN_DESCRIBED):
            break
    for earlier in reversed(line.marks[:index]):
        between = line.between(earlier.last, mark.first)
        if BREAK in between or mark.first - earlier.last > _NEAR:
            break
        if earlier.role(Kind.STRUCTURE) or earlier.role(Kind.QUALITY):
            break
        if earlier.role(Kind.FINDING) and not earlier.role(Kind.DESCRIBING):
            return earlier if VERB in between else None
    return None


def _described(line: Line, quality: Mark, subject: Mark) -> Head | None:
    structure = subject.role(Kind.STRUCTURE)
    name = structure.name if structure else ""
    for role in quality.roles:
        normal = role.name == "normal"
        finding = line.lexicon.rules.get((name, role.name), "")
        if role.kind is Kind.QUALITY and (normal or finding):
            return Head(
                min(quality.first, subject.first),
                max(quality.last, subject.last),
                pivot=quality.first,
                finding=finding,
                structure=name,
                normal=normal,
            )
    return None


def _subjects(line: Line, index: int, bound: dict[int, list[Mark]]) -> list[Mark]:
    quality = line.marks[index]
    if quality.role(Kind.FINDING) and quality.last - quality.first > 1:
        return []
    before = [] if _adjectival(line, index) else _before(line, index, bound)
    fitting = [subject for subject in before if _described(line, quality, subject)]
    if fitting:
        edge = fitting[-1].last
        if VERB in line.between(edge, quality.first) or quality.first - edge <= 1:
            return fitting
    after = _after(line, index)
    fitting_after = [mark for mark in after if _described(line, quality, mark)]
    return fitting_after or fitting


def _adjectival(line: Line, index: int) -> bool:
    quality = line.marks[index]
    if any(role.name == "normal" for role in quality.roles):
        return False
    for mark in line.marks[index + 1 : index + 5]:
        is_next = not line.between(quality.last, mark.first)
        if mark.role(Kind.FINDING) or not is_next:
            return is_next
        if not mark.role(Kind.LEVEL, Kind.SIDE, Kind.PLACE, Kind.ACUITY):
            return False
    return False


def _before(line: Line, index: int, bound: dict[int, list[Mark]]) -> list[Mark]:
    run: list[Mark] = []
    for back, mark in reversed([*enumerate(line.marks[:index])]):
        if BREAK in line.between(mark.first, line.marks[index].first):
            break
        if back in bound:
            # "the aorta is tortuous and calcified": both qualities have one subject.
            return run or bound[back]
        if mark.role(Kind.STRUCTURE):
            run.append(mark)
        elif mark.role(Kind.FINDING):
            break
    return run[::-1]


def _after(line: Line, index: int) -> list[Mark]:
    run: list[Mark] = []
    edge = line.marks[index].last
    for mark in line.marks[index + 1 :]:
        between = line.between(edge, mark.first)
        if between.strip(JOIN):
            break
        if mark.role(Kind.STRUCTURE):
            listed = {*line.words[edge : mark.first]} <= {"and", "or", ","}
            following = [
                other for other in line.marks if 0 <= other.first - mark.last <= 1
            ]
            said = following and following[0].role(Kind.VERBS, Kind.QUALITY)
            if run and (not listed or said):
                break
            if not run and between:
                break
            run.append(mark)
        elif mark.role(Kind.QUALITY):
            if run:
                break
        else:
            continue
        edge = mark.last
    return run


def _apply_cues(line: Line, heads: Sequence[Head], used: set[int]) -> None:
    kinds: set[Kind] = set()
    for mark in line.marks:
        kinds |= {role.kind for role in mark.roles}
    if not kinds.isdisjoint(_FORWARD):
        _apply_forward(line, heads, used)
    for mark in line.marks:
        denies = mark.role(Kind.NEGATES_BEFORE) and not _looks_ahead(line, heads, mark)
        hedges = mark.role(Kind.HEDGES_BEFORE) is not None
        reached = _reach_back(line, heads, mark) if denies or hedges else []
        if hedges and not denies:
            reached = _without_apposition(line, reached)
        for head in reached:
            head.denied = None if hedges else head.denied or mark
            head.doubted = head.doubted or hedges
            head.unexcluded = head.unexcluded or (hedges and _excludes(line, mark))
    for head in heads:
        if head.denied:
            head.cover(head.denied.first, head.denied.last)


def _apply_forward(line: Line, heads: Sequence[Head], used: set[int]) -> None:
    by_pivot: defaultdict[int, list[Head]] = defaultdict(list)
    for head in heads:
        by_pivot[head.pivot].append(head)
    marks = {mark.first: mark for mark in line.marks}
    state: dict[str, Mark] = {}  # the cues whose scope `token` is in, by what they do
    token = 0
    while token < len(line.words):
        mark = marks.get(token)
        if mark is None:
            _pass_word(line, token, state, used)
        elif not mark.role(Kind.NEGATES_BEFORE) or _looks_ahead(line, heads, mark):
            for role in mark.roles:
                if role.kind is Kind.BREAKS:
                    state.clear()
                elif role.kind in _FORWARD:
                    state[_FORWARD[role.kind]] = mark
        denial = state.get("denial")
        for head in by_pivot[token]:
            head.ignored = "aside" in state
            head.doubted = denial is None and "doubt" in state
            head.unexcluded = head.doubted and _excludes(line, state["doubt"])
            # "No pneumonia, heart is normal": only a denial next to "normal" is meant for it.
            is_meant = denial and (not head.normal or 0 <= token - denial.last <= 1)
            if is_meant and _part_before(line, head) is None:
                head.denied = denial
        token = mark.last if mark else token + 1


def _without_apposition(line: Line, reached: Sequence[Head]) -> list[Head]:
    """Leave out what a comma alone parts from a hedge: "Opacity, pneumonia is possible"."""
    kept = list(reached[:1])
    for head, later in pairwise(reached):
        after = line.words[head.last : later.first]
        before = line.words[later.last : head.first]
        if _LISTS.isdisjoint(after) and _LISTS.isdisjoint(before):
            break
        kept.append(later)
    return kept


_LISTS = frozenset({"and", "or", "nor", "/", "versus", "vs"})


def _excludes(line: Line, hedge: Mark) -> bool:
    return not _EXCLUDING.isdisjoint(line.words[hedge.first : hedge.last])


def _part_before(line: Line, head: Head) -> Mark | None:
    """Return the part that `head` is named as the whole of: "the tip of the tube"."""
    for mark in line.marks:
        is_before = mark.role(Kind.PARTS) and mark.last + 1 == head.first
        if is_before and line.words[mark.last] == "of":
            return mark
    return None


def _pass_word(line: Line, token: int, state: dict[str, Mark], used: set[int]) -> None:
    word = line.words[token]
    if word in (";", ":"):
        state.clear()
    elif word in _REASONS and "aside" in state:
        # "Evaluation of the spine is limited due to osteopenia": what limits it is there.
        if not _LIMITS.isdisjoint(line.words[state["aside"].first : token]):
            del state["aside"]
    elif word in (",", "and", ")"):
        denial = state.get("denial")
        afresh = _starts_afresh(line, token, word, used)
        is_not = denial is not None and line.words[denial.last - 1] == "not"
        if afresh or (word != "and" and is_not):
            state.pop("denial", None)
        if afresh:
            state.pop("doubt", None)


def _starts_afresh(line: Line, token: int, word: str, used: set[int]) -> bool:
    upcoming = [mark for mark in line.marks if mark.first > token][:3]
    if not upcoming or _listed(line, token):
        return False
    first = upcoming[0]
    ages = [mark for mark in (first, *line.inner) if mark.first == first.first]
    if any(mark.roles[-1] == _OLD for mark in ages):
        return True  # "no effusion, old fracture"
    if first.role(Kind.SIDE, Kind.PLACE):
        return word != "and" or any(mark.role(Kind.VERBS) for mark in upcoming[1:])
    return first.first in used or first.role(*_FRESH) is not None


def _listed(line: Line, token: int) -> bool:
    for later, word in enumerate(line.words[token + 1 :], token + 2):
        between = line.between(token, later)
        if word in ("or", "nor") or VERB in between or BREAK in between:
            return word in ("or", "nor")
    return False


def _looks_ahead(line: Line, heads: Sequence[Head], cue: Mark) -> bool:
    if cue.role(Kind.NEGATES_AFTER, Kind.HEDGES_AFTER) is None:
        return False
    near = [head for head in heads if 0 <= head.first - cue.last <= _NEAR]
    return any(not line.between(cue.last, head.first) for head in near)


def _reach_back(line: Line, heads: Sequence[Head], cue: Mark) -> list[Head]:
    if any(head.first <= cue.first < head.last for head in heads):
        return []
    reached: list[Head] = []
    edge = cue.first
    while edge > 0 and VERB in line.between(edge - 1, edge):
        edge -= 1
    for head in reversed(heads):
        if head.last > cue.first:
            continue
        between = line.between(head.last, edge)
        if BREAK in between or VERB in between:
            break
        if line.marked(head.last, cue.first, Kind.PARTS) or _part_before(line, head):
            break  # "tube, its tip not seen": the tube is there
        if head.finding:
            reached.append(head)
        edge = head.first
    return reached


def _attach(
    line: Line, heads: Sequence[Head], used: set[int]
) -> list[tuple[Mark, Role]]:
    """Attach each modifier to its head; return the changes without a head.

    The qualities that made a finding (`used`) say nothing else: "heart size is large".
    """
    of_study: list[tuple[Mark, Role]] = []
    for mark in (*line.marks, *line.inner):
        for role in mark.roles:
            if role.kind is Kind.CHANGE and mark.first not in used:
                changed = _changed(line, heads, mark)
                for head in changed:
                    head.add(mark, role)
                if not changed and role.name != "resolved":
                    of_study.append((mark, role))
            elif role.kind in _MODIFIERS or (
                role.kind is Kind.LEVEL and mark.first not in used
            ):
                nearest = _nearest(
                    line, [head for head in heads if _takes(line, head, role)], mark
                )
                if nearest and (role.kind is not Kind.SIDE or _is_sided(line, nearest)):
                    nearest.add(mark, role)
    for measure in line.measures:
        measured = _nearest(line, [head for head in heads if head.finding], measure)
        if measured is not None:
            lengths = measured.shares if measure.is_share else measured.sizes
            lengths.add(measure.value)
            measured.cover(measure.first, measure.last)
    for head in heads:
        _count(line, head)
    if line.lexicon.sites:
        _attach_sites(line, heads)
    return of_study


_ROUTES = frozenset({"via", "through", "from", "approach", "access", "insertion"})
"""Words beside a vein by which a line goes in, which does not end there."""


def _attach_sites(line: Line, heads: Sequence[Head]) -> None:
    """Give devices the parts of the body where they end that are no place of the lexicon."""
    devices = [head for head in heads if head.finding and _is_device(line, head)]
    if not devices:
        return
    placed: set[int] = set()
    for mark in line.marks:
        if mark.role(Kind.PLACE, Kind.FINDING, Kind.SIDE):
            placed.update(range(mark.first, mark.last))
    for token, word in enumerate(line.words):
        if word not in line.lexicon.sites or token in placed:
            continue
        first = _first_of_site(line, token)
        near = line.words[max(first - 2, 0) : token + 2]
        if not _ROUTES.isdisjoint(near):
            continue
        site = Mark(first, token + 1, ())
        device = _nearest(line, [head for head in devices if head.last <= first], site)
        if device and PREPOSITION in line.between(device.last, first):
            device.sites.add(" ".join(line.words[first : token + 1]))
            device.cover(first, token + 1)


def _first_of_site(line: Line, noun: int) -> int:
    """Return where the name of a part of the body begins, such as "left axillary vein"."""
    first = noun
    while first > 0 and noun - first < _MOST_WORDS_BEFORE_SITE:
        before = first - 1
        is_plain = line.words[before].isalpha() and not line.between(before, first)
        if not is_plain or line.marked(
            before, first, Kind.SIDE, Kind.LEVEL, Kind.CHANGE
        ):
            break
        first = before
    return first


_MOST_WORDS_BEFORE_SITE = 2


def _is_device(line: Line, head: Head) -> bool:
    finding = line.lexicon.findings[head.finding]
    return finding.area == "devices" and finding.where != "none"


def _count(line: Line, head: Head) -> None:
    for token in reversed(range(max(head.first - _MOST_BETWEEN, 0), head.first)):
        if line.between(token, head.first):
            return
        is_length = any(length.first <= token < length.last for length in line.measures)
        number = _NUMBERS.get(line.words[token])
        if number is not None and not is_length:
            head.count = number
            head.cover(token, token + 1)
            return


def _takes(line: Line, head: Head, role: Role) -> bool:
    if not head.finding:
        return role.kind is Kind.SIDE and head.normal
    finding = line.lexicon.findings[head.finding]
    if role.kind is Kind.ACUITY:
        return not finding.rules_out  # "no acute process" is one phrase
    if role.kind is Kind.ACTION:
        return finding.where == "line"
    if role.kind in (Kind.TRAIT, Kind.GREATER):
        return finding.area not in _WITHOUT_TRAITS and not finding.rules_out
    if role.kind is Kind.PLACE:
        is_of_device = role.name == "line" and _is_device(line, head)
        return is_of_device or finding.where == role.name
    return True


_WITHOUT_TRAITS = frozenset({"devices", "postoperative", "technique"})


def _is_sided(line: Line, head: Head) -> bool:
    name = head.finding or line.lexicon.structures[head.structure].abnormal
    return line.lexicon.findings[name].sided


def _nearest(line: Line, heads: Sequence[Head], mark: Mark | Measure) -> Head | None:
    priced = [(_price(line, mark, head), -number) for number, head in enumerate(heads)]
    price, number = min(priced, default=(math.inf, 0))  # on a tie the later one
    return heads[-number] if price <= _TOO_FAR else None


def _price(line: Line, mark: Mark | Measure, head: Head) -> float:
    # A modifier before its head belongs to it directly ("small left effusion"); one after it
    # follows a verb or a preposition ("effusion is small", "effusion on the left").
    ahead = mark.first < head.first
    first, last = (mark.last, head.first) if ahead else (head.last, mark.first)
    prices = _PRICES_AHEAD if ahead else _PRICES_AFTER
    price_of_stops = sum(prices[stop] for stop in line.between(first, last))
    return price_of_stops + 0.2 * max(last - first, 0)


def _changed(line: Line, heads: Sequence[Head], mark: Mark) -> list[Head]:
    able = [
        head for number, head in enumerate(heads) if _can_change(line, heads, number)
    ]
    nearest = _nearest(line, able, mark)
    if nearest is None:
        return []
    number = able.index(nearest)
    before = able[number - 1] if number and mark.first >= nearest.last else nearest
    if before.finding and not _WITH.isdisjoint(
        line.words[before.last : nearest.first + 1]
    ):
        number -= 1  # "Effusion with adjacent atelectasis has increased" is about the effusion
    changed = able[number]
    if mark.last <= changed.first and "of" in line.words[mark.last - 1 : mark.last + 1]:
        # "Removal of the tube and the line" is about both.
        return [changed, *_joined(line, able[number + 1 :], changed, {"and", ","})]
    if VERB in line.between(changed.last, mark.first):
        # "Effusion and atelectasis are unchanged" is about both.
        return [changed, *_joined(line, able[:number][::-1], changed, JOINS)]
    return [changed]


def _joined(
    line: Line, heads: Sequence[Head], changed: Head, joins: Set[str]
) -> Iterator[Head]:
    near = changed
    for head in heads:
        first, last = min(head.last, near.last), max(head.first, near.first)
        if joins.isdisjoint(line.words[first:last]) or VERB in line.between(
            first, last
        ):
            return
        yield head
        near = head


def _can_change(line: Line, heads: Sequence[Head], number: int) -> bool:
    head = heads[number]
    if head.finding:
        return True
    earlier = [
        one.last for one in heads[:number] if one.finding and one.last <= head.first
    ]
    for first in (max(last, head.first - 4) for last in earlier):
        words = line.words[first : head.first]
        if not _WITHIN.isdisjoint(words) or PREPOSITION in line.between(
            first, head.first
        ):
            return False
    later = (
        one.first
        for one in heads[number + 1 :]
        if one.finding and one.first >= head.last
    )
    following = next(later, None)
    return following is None or bool(line.between(head.last, following))

"""The findings and structures of a sentence, their negation, doubt and modifiers."""

from __future__ import annotations

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
        self.start = min(self.start, first)
        self.end = max(self.end, last)

    def tags(self, kind: Kind) -> frozenset[str]:
        """Return the tags of all modifiers of one kind."""
        tags: frozenset[str] = frozenset()
        for of_token in self.modifiers.get(kind, {}).values():
            tags |= of_token
        return tags

    def add(self, mark: Mark, role: Role) -> None:
        """Add a phrase as a modifier."""
        modifiers = self.modifiers.setdefault(role.kind, {})
        known = modifiers.get(mark.first, frozenset())
        modifiers[mark.first] = known | role.tags
        self.cover(mark.first, mark.last)

    def split(self) -> list[Head]:
        """Return a head for each of two sites where each has a level or a change of its own.

        "Small right and large left effusions", "increased on the right, decreased on the left".
        """
        sites = self._two_sites()
        if sites is None:
            return [self]
        starts = [min(site) for site in sites]
        own: list[dict[Kind, dict[int, frozenset[str]]]] = [{}, {}]
        for kind in (Kind.LEVEL, Kind.CHANGE):
            stated = sorted(self.modifiers.get(kind, {}).items())
            tokens = [token for token, _ in stated]
            if _alternate(starts, tokens):
                for part, (token, tags) in zip(own, stated, strict=True):
                    part[kind] = {token: tags}
        if not own[0]:
            return [self]
        parts: list[Head] = []
        for part, site in zip(own, sites, strict=True):
            for kind in (Kind.SIDE, Kind.PLACE):
                there = self.modifiers.get(kind, {})
                part[kind] = {token: there[token] for token in there if token in site}
            parts.append(replace(self, modifiers=self.modifiers | part))
        return parts

    def _two_sites(self) -> list[list[int]] | None:
        """Return the tokens of two sites, if there are two that exclude each other.

        Sides and places without a level or a change between them are one site.
        """
        where = self._tokens_of(Kind.SIDE, Kind.PLACE)
        said = self._tokens_of(Kind.LEVEL, Kind.CHANGE)
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
                if first & second:
                    return None
                return sites
        return None

    def _tokens_of(self, *kinds: Kind) -> set[int]:
        tokens: set[int] = set()
        for kind in kinds:
            tokens.update(self.modifiers.get(kind, {}))
        return tokens

    def _tags_at(self, kind: Kind, tokens: Sequence[int]) -> frozenset[str]:
        there = self.modifiers.get(kind, {})
        tags: frozenset[str] = frozenset()
        for token in tokens:
            tags |= there.get(token, frozenset())
        return tags


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
    kept: list[tuple[Mark, Role]] = []
    for said in of_study:
        if not _is_technical(line, said, technical):
            kept.append(said)
    return heads_found, kept


def _is_technique(line: Line, mark: Mark) -> bool:
    """Return whether a phrase says that something is due to how the image was made."""
    if mark.role(Kind.TECHNIQUE):
        return True
    if not mark.role(Kind.MADE_BY):
        return False
    start = max(mark.first - _MOST_TO_CAUSE, 0)
    before = line.words[start : mark.first]
    return not _CAUSES.isdisjoint(before)


def _technical_head(line: Line, heads: Sequence[Head], mark: Mark) -> Head | None:
    """Return what is said to be due to the technique: the last of the clause before it."""
    is_expansion = not _EXPANSION.isdisjoint(line.words[mark.first : mark.last])
    for head in reversed(heads):
        if head.pivot >= mark.first or head.last > mark.first:
            continue
        if BREAK in line.between(head.last, mark.first):
            return None
        # Low volumes make a heart look large, but atelectasis is there.
        is_there = is_expansion and not head.structure
        if head.finding and is_there:
            return None
        if head.finding or head.modifiers.get(Kind.CHANGE):
            return head
    return None


def _apply_technique(head: Head) -> None:
    """Take a change that is due to the technique for none, and a finding as a possible one."""
    changes = head.modifiers.get(Kind.CHANGE, {})
    kept = {n: tags for n, tags in changes.items() if tags.isdisjoint(_DIRECTIONS)}
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
    heads_found, bound = _heads_of_qualities(line)
    used = {line.marks[index].first for index in bound}
    taken = {*used}
    for head in heads_found:
        taken.add(head.first)
        taken.add(head.pivot)
    for subjects in bound.values():
        for subject in subjects:
            taken.add(subject.first)
    # The names that describe a finding, by the first token of that finding.
    descriptors: defaultdict[int, list[str]] = defaultdict(list)
    for index, mark in enumerate(line.marks):
        role = mark.role(Kind.FINDING) or mark.role(Kind.STRUCTURE)
        if not role or mark.first in taken:
            continue
        whole = _described_finding(line, index)
        if whole:
            # A pleural mass is no effusion.
            entry = line.lexicon.findings[role.name]
            if entry.area != "pleura":
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
    heads_found.sort(key=_order)
    for head in heads_found:
        head.start = head.first
        head.end = head.last
    return heads_found, used


def _heads_of_qualities(line: Line) -> tuple[list[Head], dict[int, list[Mark]]]:
    """Return what structures and qualities make, and the subjects of each quality by its index."""
    heads_found: list[Head] = []
    bound: dict[int, list[Mark]] = {}
    for index, mark in enumerate(line.marks):
        if not mark.role(Kind.QUALITY):
            continue
        subjects = _subjects(line, index, bound)
        if not subjects:
            continue
        bound[index] = subjects
        for subject in subjects:
            head = _described(line, mark, subject)
            if head is not None:
                heads_found.append(head)
    return heads_found, bound


def _order(head: Head) -> tuple[int, int, str, str]:
    return head.pivot, head.first, head.finding, head.structure


def _described_finding(line: Line, index: int) -> Mark | None:
    """Return the finding that the name of another one at `index` describes, if it does.

    Directly after it ("cavitary mass"), or before a verb ("the mass is cavitary").
    """
    mark = line.marks[index]
    if not mark.role(Kind.DESCRIBING) or not mark.role(Kind.FINDING):
        return None
    for later in line.marks[index + 1 : index + 1 + _NEAR]:
        if later.first - mark.last >= _NEAR:
            break
        if line.between(mark.last, later.first):
            break
        if later.role(Kind.FINDING) and not later.role(Kind.DESCRIBING):
            return later
        if not later.role(*_BETWEEN_DESCRIBED):
            break
    for earlier in reversed(line.marks[:index]):
        between = line.between(earlier.last, mark.first)
        if BREAK in between or mark.first - earlier.last > _NEAR:
            break
        if earlier.role(Kind.STRUCTURE, Kind.QUALITY):
            break
        if earlier.role(Kind.FINDING) and not earlier.role(Kind.DESCRIBING):
            if VERB in between:
                return earlier
            break
    return None


def _described(line: Line, quality: Mark, subject: Mark) -> Head | None:
    """Return what a quality makes of its subject, None where the lexicon has no rule for it."""
    name = ""
    structure = subject.role(Kind.STRUCTURE)
    if structure:
        name = structure.name
    for role in quality.roles:
        if role.kind is not Kind.QUALITY:
            continue
        normal = role.name == "normal"
        finding = line.lexicon.rules.get((name, role.name), "")
        if normal or finding:
            return Head(
                first=min(quality.first, subject.first),
                last=max(quality.last, subject.last),
                pivot=quality.first,
                finding=finding,
                structure=name,
                normal=normal,
            )
    return None


def _subjects(line: Line, index: int, bound: dict[int, list[Mark]]) -> list[Mark]:
    """Return the structures that the quality at `index` is said of."""
    quality = line.marks[index]
    if quality.role(Kind.FINDING) and quality.last - quality.first > 1:
        return []
    before: list[Mark] = []
    if not _adjectival(line, index):
        before = _before(line, index, bound)
    fitting = [subject for subject in before if _described(line, quality, subject)]
    if fitting:
        edge = fitting[-1].last
        is_next = quality.first - edge <= 1
        if is_next or VERB in line.between(edge, quality.first):
            return fitting
    after = _after(line, index)
    fitting_after = [mark for mark in after if _described(line, quality, mark)]
    return fitting_after or fitting


def _adjectival(line: Line, index: int) -> bool:
    """Return whether a quality stands before the name of a finding, as its adjective."""
    quality = line.marks[index]
    if any(role.name == "normal" for role in quality.roles):
        return False
    # Four phrases at most stand between: a level, a side, a place and an age.
    for mark in line.marks[index + 1 : index + 5]:
        is_next = not line.between(quality.last, mark.first)
        if mark.role(Kind.FINDING) or not is_next:
            return is_next
        if not mark.role(Kind.LEVEL, Kind.SIDE, Kind.PLACE, Kind.ACUITY):
            return False
    return False


def _before(line: Line, index: int, bound: dict[int, list[Mark]]) -> list[Mark]:
    """Return the structures before a quality, or those of a quality that it is joined to."""
    run: list[Mark] = []
    quality = line.marks[index]
    for back in reversed(range(index)):
        mark = line.marks[back]
        if BREAK in line.between(mark.first, quality.first):
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
    """Return the structures after a quality, which are listed: "normal heart and mediastinum"."""
    run: list[Mark] = []
    edge = line.marks[index].last
    for mark in line.marks[index + 1 :]:
        between = line.between(edge, mark.first)
        if between.strip(JOIN):
            break
        if mark.role(Kind.STRUCTURE):
            words = {*line.words[edge : mark.first]}
            is_listed = words <= {"and", "or", ","}
            if run and (not is_listed or _has_own_quality(line, mark)):
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


def _has_own_quality(line: Line, structure: Mark) -> bool:
    """Return whether something else is said of a structure: "clear lungs and heart is large"."""
    for mark in line.marks:
        if 0 <= mark.first - structure.last <= 1:
            return mark.role(Kind.VERBS, Kind.QUALITY) is not None
    return False


def _apply_cues(line: Line, heads: Sequence[Head], used: set[int]) -> None:
    if any(mark.role(*_FORWARD) for mark in line.marks):
        _apply_forward(line, heads, used)
    for mark in line.marks:
        _apply_backward(line, heads, mark)
    for head in heads:
        if head.denied:
            head.cover(head.denied.first, head.denied.last)


def _apply_backward(line: Line, heads: Sequence[Head], cue: Mark) -> None:
    """Deny or doubt what stands before a cue such as "is absent" or "is possible"."""
    denies = cue.role(Kind.NEGATES_BEFORE) and not _looks_ahead(line, heads, cue)
    hedges = cue.role(Kind.HEDGES_BEFORE) is not None
    if not denies and not hedges:
        return
    reached = _reach_back(line, heads, cue)
    if not hedges:
        for head in reached:
            head.denied = head.denied or cue
        return
    if not denies:
        reached = _without_apposition(line, reached)
    excludes = _excludes(line, cue)
    for head in reached:
        head.denied = None
        head.doubted = True
        head.unexcluded = head.unexcluded or excludes


def _apply_forward(line: Line, heads: Sequence[Head], used: set[int]) -> None:
    """Deny, doubt or ignore what stands after a cue, as far as its scope reaches."""
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
            _pass_cue(mark, state)
        for head in by_pivot[token]:
            _apply_state(line, head, state)
        if mark is None:
            token += 1
        else:
            token = mark.last


def _pass_cue(cue: Mark, state: dict[str, Mark]) -> None:
    for role in cue.roles:
        if role.kind is Kind.BREAKS:
            state.clear()
        elif role.kind in _FORWARD:
            state[_FORWARD[role.kind]] = cue


def _apply_state(line: Line, head: Head, state: dict[str, Mark]) -> None:
    """Note in a head which cues it is in the scope of."""
    denial = state.get("denial")
    head.ignored = "aside" in state
    head.doubted = denial is None and "doubt" in state
    head.unexcluded = head.doubted and _excludes(line, state["doubt"])
    if denial is None or _part_before(line, head):
        return
    # "No pneumonia, heart is normal": only a denial next to "normal" is meant for it.
    is_next = 0 <= head.pivot - denial.last <= 1
    if is_next or not head.normal:
        head.denied = denial


def _without_apposition(line: Line, reached: Sequence[Head]) -> list[Head]:
    """Leave out what a comma alone parts from a hedge: "Opacity, pneumonia is possible"."""
    kept = list(reached[:1])
    for head, later in pairwise(reached):
        # The heads may come in either order; one of the two gaps is empty.
        after = line.words[head.last : later.first]
        before = line.words[later.last : head.first]
        if _LISTS.isdisjoint(after + before):
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
        aside = state["aside"]
        if not _LIMITS.isdisjoint(line.words[aside.first : token]):
            del state["aside"]
    elif word in (",", "and", ")"):
        if _starts_afresh(line, token, word, used):
            state.pop("denial", None)
            state.pop("doubt", None)
        elif word != "and" and "denial" in state:
            # "Not" reaches no further than a comma.
            denial = state["denial"]
            if line.words[denial.last - 1] == "not":
                del state["denial"]


def _starts_afresh(line: Line, token: int, word: str, used: set[int]) -> bool:
    """Return whether the words after a comma or an "and" are a statement of their own."""
    upcoming = [mark for mark in line.marks if mark.first > token][:3]
    if not upcoming or _listed(line, token):
        return False
    first = upcoming[0]
    # "No effusion, old fracture": the age may be within a phrase.
    for mark in (first, *line.inner):
        if mark.first == first.first and mark.roles[-1] == _OLD:
            return True
    if first.role(Kind.SIDE, Kind.PLACE):
        if word != "and":
            return True
        return any(mark.role(Kind.VERBS) for mark in upcoming[1:])
    if first.first in used:
        return True
    return first.role(*_FRESH) is not None


def _listed(line: Line, token: int) -> bool:
    """Return whether an "or" follows before a verb or a break: the list goes on."""
    for later in range(token + 1, len(line.words)):
        if line.words[later] in ("or", "nor"):
            return True
        between = line.between(token, later + 1)
        if VERB in between or BREAK in between:
            return False
    return False


def _looks_ahead(line: Line, heads: Sequence[Head], cue: Mark) -> bool:
    if cue.role(Kind.NEGATES_AFTER, Kind.HEDGES_AFTER) is None:
        return False
    for head in heads:
        is_near = 0 <= head.first - cue.last <= _NEAR
        if is_near and not line.between(cue.last, head.first):
            return True
    return False


def _reach_back(line: Line, heads: Sequence[Head], cue: Mark) -> list[Head]:
    """Return the findings before a cue that it is said of, the nearest first."""
    for head in heads:
        if head.first <= cue.first < head.last:
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
        # "Tube, its tip not seen": the tube is there.
        if line.marked(head.last, cue.first, Kind.PARTS):
            break
        if _part_before(line, head):
            break
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
        is_free = mark.first not in used
        for role in mark.roles:
            if role.kind is Kind.CHANGE and is_free:
                changed = _changed(line, heads, mark)
                for head in changed:
                    head.add(mark, role)
                # What is resolved is gone, whatever it was: the study has no such change.
                if not changed and role.name != "resolved":
                    of_study.append((mark, role))
            elif role.kind in _MODIFIERS or (role.kind is Kind.LEVEL and is_free):
                _attach_modifier(line, heads, mark, role)
    findings = [head for head in heads if head.finding]
    for measure in line.measures:
        measured = _nearest(line, findings, measure)
        if measured is None:
            continue
        if measure.is_share:
            measured.shares.add(measure.value)
        else:
            measured.sizes.add(measure.value)
        measured.cover(measure.first, measure.last)
    for head in heads:
        _count(line, head)
    if line.lexicon.sites:
        _attach_sites(line, heads)
    return of_study


def _attach_modifier(line: Line, heads: Sequence[Head], mark: Mark, role: Role) -> None:
    """Give a modifier to the nearest head that can have it."""
    able = [head for head in heads if _takes(line, head, role)]
    nearest = _nearest(line, able, mark)
    if nearest is None:
        return
    if role.kind is Kind.SIDE and not _is_sided(line, nearest):
        return
    nearest.add(mark, role)


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
        end = token + 1
        near = line.words[max(first - 2, 0) : end + 1]
        if not _ROUTES.isdisjoint(near):
            continue
        site = Mark(first, end, roles=())
        before = [head for head in devices if head.last <= first]
        device = _nearest(line, before, site)
        if device and PREPOSITION in line.between(device.last, first):
            name = " ".join(line.words[first:end])
            device.sites.add(name)
            device.cover(first, end)


def _first_of_site(line: Line, noun: int) -> int:
    """Return where the name of a part of the body begins, such as "left axillary vein"."""
    first = noun
    while first > 0 and noun - first < _MOST_WORDS_BEFORE_SITE:
        before = first - 1
        if not line.words[before].isalpha():
            break
        if line.between(before, first):
            break
        if line.marked(before, first, Kind.SIDE, Kind.LEVEL, Kind.CHANGE):
            break
        first = before
    return first


_MOST_WORDS_BEFORE_SITE = 2


def _is_device(line: Line, head: Head) -> bool:
    finding = line.lexicon.findings[head.finding]
    return finding.area == "devices" and finding.where != "none"


def _count(line: Line, head: Head) -> None:
    """Give a head the number before it: "two small nodules"."""
    start = max(head.first - _MOST_BETWEEN, 0)
    for token in reversed(range(start, head.first)):
        if line.between(token, head.first):
            return
        number = _NUMBERS.get(line.words[token])
        if number is not None and not _is_length(line, token):
            head.count = number
            head.cover(token, token + 1)
            return


def _is_length(line: Line, token: int) -> bool:
    """Return whether a number is one of a length or a share."""
    return any(measure.first <= token < measure.last for measure in line.measures)


def _takes(line: Line, head: Head, role: Role) -> bool:
    """Return whether a modifier can be said of a head at all."""
    if not head.finding:
        return role.kind is Kind.SIDE and head.normal
    finding = line.lexicon.findings[head.finding]
    if role.kind is Kind.ACUITY:
        # "No acute process" is one phrase.
        return not finding.rules_out
    if role.kind is Kind.ACTION:
        return finding.where == "line"
    if role.kind in (Kind.TRAIT, Kind.GREATER):
        return finding.area not in _WITHOUT_TRAITS and not finding.rules_out
    if role.kind is Kind.PLACE:
        if finding.where == role.name:
            return True
        return role.name == "line" and _is_device(line, head)
    return True


_WITHOUT_TRAITS = frozenset({"devices", "postoperative", "technique"})


def _is_sided(line: Line, head: Head) -> bool:
    lexicon = line.lexicon
    name = head.finding
    if not name:
        name = lexicon.structures[head.structure].abnormal
    return lexicon.findings[name].sided


def _nearest(line: Line, heads: Sequence[Head], mark: Mark | Measure) -> Head | None:
    """Return the head that is the cheapest to attach to, on a tie the later one."""
    nearest = None
    least = _TOO_FAR
    for head in heads:
        price = _price(line, mark, head)
        if price <= least:
            least = price
            nearest = head
    return nearest


def _price(line: Line, mark: Mark | Measure, head: Head) -> float:
    # A modifier before its head belongs to it directly ("small left effusion"); one after it
    # follows a verb or a preposition ("effusion is small", "effusion on the left").
    if mark.first < head.first:
        first, last = mark.last, head.first
        prices = _PRICES_AHEAD
    else:
        first, last = head.last, mark.first
        prices = _PRICES_AFTER
    price_of_stops = sum(prices[stop] for stop in line.between(first, last))
    distance = max(last - first, 0)
    return price_of_stops + 0.2 * distance


def _changed(line: Line, heads: Sequence[Head], mark: Mark) -> list[Head]:
    """Return the heads that a change is said of, none where it is of the whole study."""
    able: list[Head] = []
    for number, head in enumerate(heads):
        if _can_change(line, heads, number):
            able.append(head)
    nearest = _nearest(line, able, mark)
    if nearest is None:
        return []
    number = able.index(nearest)
    if _is_aside(line, able, number, mark):
        number -= 1
    changed = able[number]
    is_ahead = mark.last <= changed.first
    if is_ahead and "of" in line.words[mark.last - 1 : mark.last + 1]:
        # "Removal of the tube and the line" is about both.
        after = able[number + 1 :]
        return [changed, *_joined(line, after, changed, {"and", ","})]
    if VERB in line.between(changed.last, mark.first):
        # "Effusion and atelectasis are unchanged" is about both.
        before = able[:number][::-1]
        return [changed, *_joined(line, before, changed, JOINS)]
    return [changed]


def _is_aside(line: Line, heads: Sequence[Head], number: int, change: Mark) -> bool:
    """Return whether a head only goes with the one before it, which the change is about.

    "Effusion with adjacent atelectasis has increased" is about the effusion.
    """
    head = heads[number]
    before = head
    if number and change.first >= head.last:
        before = heads[number - 1]
    if not before.finding:
        return False
    return not _WITH.isdisjoint(line.words[before.last : head.first + 1])


def _joined(
    line: Line, heads: Sequence[Head], changed: Head, joins: Set[str]
) -> Iterator[Head]:
    """Yield the heads that are joined to the one that changed, the nearest first."""
    near = changed
    for head in heads:
        first = min(head.last, near.last)
        last = max(head.first, near.first)
        if joins.isdisjoint(line.words[first:last]):
            return
        if VERB in line.between(first, last):
            return
        yield head
        near = head


_MOST_TO_STRUCTURE = 4


def _can_change(line: Line, heads: Sequence[Head], number: int) -> bool:
    """Return whether a change can be said of a head: of a finding, or a structure of its own."""
    head = heads[number]
    if head.finding:
        return True
    # "Effusion in the left lung": the lung only says where.
    for earlier in heads[:number]:
        if not earlier.finding or earlier.last > head.first:
            continue
        first = max(earlier.last, head.first - _MOST_TO_STRUCTURE)
        if not _WITHIN.isdisjoint(line.words[first : head.first]):
            return False
        if PREPOSITION in line.between(first, head.first):
            return False
    for later in heads[number + 1 :]:
        if later.finding and later.first >= head.last:
            # "Lung opacity": the structure is a part of the name.
            return bool(line.between(head.last, later.first))
    return True

"""Reads a report: which findings it mentions, and what it says of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from judge.backends.lexicon.attach import Draft, attach, split
from judge.backends.lexicon.data import Kind, Lexicon
from judge.backends.lexicon.heads import Scope, heads, scope
from judge.backends.lexicon.tokens import Line, lines
from judge.sentences import sentences, skips

MOST = 64
"""A mention is held against no more than this many others: so that time stays linear."""

_LONGEST_QUOTE = 160

_SOON = 8
"""An "or" so many words on still belongs to the list."""

_USUAL = 400
"""Sentences of up to so many characters recur from study to study and are remembered."""
_BACKWARD = frozenset({"this", "these", "it", "which", "finding", "appearance", "they", "such"})
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Mention:
    """One thing that a report says.

    Either a `finding`, present or denied, with the readings offered for it (`also`), some of
    them only as `possible`; or a `structure` that is called normal (`normal`), or of which
    only a change is said; or, with neither, a change of the whole study. `count` is how many
    there are said to be, 0 where nothing is said. `sizes` are in millimetres; of a line or
    tube they say where it ends. `words` quote the report, `sentence` is the number of the
    sentence, counted from 0; neither enters comparisons.
    """

    finding: str = ""
    structure: str = ""
    normal: bool = False
    present: bool = True
    doubted: bool = False
    also: tuple[str, ...] = ()
    possible: frozenset[str] = _NONE
    count: int = 0
    sides: frozenset[str] = _NONE
    places: frozenset[str] = _NONE
    levels: frozenset[int] = frozenset()
    changes: frozenset[str] = _NONE
    sizes: frozenset[float] = frozenset()
    refers_back: bool = False
    words: str = field(default="", compare=False)
    sentence: int = field(default=0, compare=False)

    @property
    def positive(self) -> bool:
        """Whether it says that a finding is there."""
        return bool(self.finding) and self.present

    @property
    def names(self) -> tuple[str, ...]:
        """The finding and the readings that are offered for it."""
        return (self.finding, *self.also)

    @property
    def readings(self) -> tuple[str, ...]:
        """What it makes of its shadow: the readings, or the finding itself."""
        return self.also or (self.finding,)

    def agrees_in_site(self, other: Mention) -> bool:
        """Return whether neither the sides nor the places of the two rule each other out."""
        sides = not self.sides or not other.sides or bool(self.sides & other.sides)
        places = not self.places or not other.places or bool(self.places & other.places)
        return sides and places

    def related(self, other: Mention, lexicon: Lexicon) -> bool:
        """Return whether the two may be of one finding, by their names alone."""
        return any(lexicon.related(a, b) for a in self.names for b in other.names)


def read(text: str, lexicon: Lexicon) -> list[Mention]:
    """Return what `text` mentions, in order.

    Sections such as Indication or Technique are left out where a later heading ends them.
    """
    found: list[Mention] = []
    spans = sentences(text)
    pieces = [text[start:end] for start, end in spans]
    opens = [skips(piece) for piece in pieces]
    last_read = max((at for at, opened in enumerate(opens) if opened is False), default=-1)
    skipping = False
    for number, (piece, opened) in enumerate(zip(pieces, opens, strict=True)):
        if opened is not None:
            skipping = opened
        if skipping and (number < last_read or opened):
            continue
        told = _mentions if len(piece) <= _USUAL else _mentions.__wrapped__
        for mention in told(piece, lexicon):
            earlier = found[-1] if found else None
            if (
                mention.refers_back
                and earlier is not None
                and (earlier.positive or not mention.finding)
                and number - earlier.sentence <= 1
            ):
                found[-1] = _joined(earlier, mention)
            else:
                found.append(replace(mention, refers_back=False, sentence=number))
    return found


def _joined(shadow: Mention, reading: Mention) -> Mention:
    """Return `shadow` with `reading` as one more of its readings."""
    possible = reading.possible | ({reading.finding} if reading.doubted else _NONE)
    return replace(
        shadow,
        also=(*shadow.also, *filter(None, reading.names)),
        possible=shadow.possible | possible,
        sides=shadow.sides | reading.sides,
        places=shadow.places | reading.places,
        levels=shadow.levels | reading.levels,
        changes=shadow.changes | reading.changes,
    )


@lru_cache(maxsize=8192)
def _mentions(text: str, lexicon: Lexicon) -> tuple[Mention, ...]:
    found: list[Mention] = []
    for line in lines(text, lexicon):
        found += _line(text, line, lexicon)
    return tuple(found)


def _line(text: str, line: Line, lexicon: Lexicon) -> list[Mention]:
    found, used = heads(line, lexicon)
    said = scope(line, found, used)
    drafts = [Draft(head, head.first, head.last) for head in found]
    study = attach(line, drafts, used, lexicon)
    told: list[tuple[Mention, Draft]] = []
    for index, draft in enumerate(drafts):
        if index in said.ignored or _is_place(drafts, index):
            continue
        *others, mention = (
            _mention(text, line, part, index, said, lexicon) for part in split(draft)
        )
        told += [(other, draft) for other in others]
        at = max((at for at, (one, _) in enumerate(told) if one.positive), default=-1)
        joins = at >= 0 and mention.positive
        if joins and _reads_as(line, *told[at], mention, draft, lexicon):
            told[at] = (_joined(told[at][0], mention), draft)
            continue
        if not told and mention.positive and line.words[0] in _BACKWARD:
            # "This may represent ..." reads a shadow of the sentence before.
            back = line.marked(0, draft.head.first, Kind.READS_AS, Kind.MAY_READ_AS)
            mention = replace(mention, refers_back=back)
        told.append((mention, draft))
    mentions = [mention for mention, _ in told]
    for mark, change in study:
        words = _quote(text, line, mark.first, mark.last)
        back = not mentions and not _BACKWARD.isdisjoint(line.words[:3])
        mentions.append(Mention(changes=frozenset({change}), words=words, refers_back=back))
    return mentions


def _quote(text: str, line: Line, first: int, last: int) -> str:
    start, end = line.spans[first][0], line.spans[last - 1][1]
    quoted = " ".join(text[start:end].replace(";", ",").split())
    return quoted if len(quoted) <= _LONGEST_QUOTE else quoted[: _LONGEST_QUOTE - 3] + "..."


def _is_place(drafts: Sequence[Draft], index: int) -> bool:
    """Return whether a structure is only named to say where something is."""
    draft = drafts[index]
    if draft.head.finding or draft.head.normal or draft.changes:
        return False
    return any(one.head.finding or one.head.normal for one in drafts)


def _mention(
    text: str, line: Line, draft: Draft, index: int, said: Scope, lexicon: Lexicon
) -> Mention:
    head = draft.head
    cue = said.denied.get(index)
    if cue is not None:
        draft.cover(cue.first, cue.last)
    words = _quote(text, line, draft.first, draft.last)
    sides = frozenset(draft.sides)
    if head.normal and cue is not None:
        abnormal = lexicon.structures[head.structure].abnormal
        return Mention(finding=abnormal, sides=sides, words=words)
    if not head.finding:
        # What is normal and stays so is not compared with anything.
        unsaid = {"resolved", "unchanged"} if head.normal else {"resolved"}
        changes = frozenset(draft.changes - unsaid)
        return Mention("", head.structure, head.normal, sides=sides, changes=changes, words=words)
    finding = lexicon.findings[head.finding]
    present = cue is None and "resolved" not in draft.changes
    levels = draft.levels
    if not levels and present and finding.level:
        levels = {lexicon.levels[finding.level]}
    return Mention(
        finding=head.finding,
        present=present,
        doubted=index in said.doubted,
        sides=sides,
        places=frozenset(draft.places),
        levels=frozenset(levels),
        changes=frozenset(draft.changes if present else draft.changes & {"resolved"}),
        sizes=frozenset(draft.sizes),
        count=draft.count,
        words=words,
    )


def _reads_as(
    line: Line, earlier: Mention, shadow: Draft, later: Mention, draft: Draft, lexicon: Lexicon
) -> bool:
    """Return whether `later` is offered as a reading of the shadow `earlier`."""
    first, last = shadow.head.last, draft.head.first
    if first > last:
        return False
    if line.marked(first, last, Kind.READS_AS, Kind.MAY_READ_AS):
        return True
    between, words = line.between(first, last), line.words[first:last]
    if between.breaks:
        return False
    group = lexicon.findings[later.finding].shadow
    if any(
        lexicon.related(name, later.finding) or lexicon.findings[name].shadow == group != ""
        for name in earlier.names
    ):
        if line.marked(first, last, Kind.HEDGES_AFTER, Kind.LIKELY_AFTER):
            return True
        listed = "or" in words or "/" in words or (bool(earlier.also) and between.joins > 0)
    else:
        # A list of readings goes on: "edema, infection or fibrosis".
        soon = line.words[last : last + _SOON]
        listed = bool(earlier.also) and ("or" in words or ("," in words and "or" in soon))
    return listed and not between.verbs


def study_class(reference: str, lexicon: Lexicon) -> Literal["normal", "abnormal"]:
    """Return `abnormal` where the report has any finding, a minor or possible one included.

    A report that says nothing of a finding is `normal`; one without any letter or digit
    raises `ValueError`, since it says nothing at all.
    """
    if not any(map(str.isalnum, reference)):
        raise ValueError("an empty report has no class")
    found = any(
        mention.positive and lexicon.findings[mention.finding].abnormal
        for mention in read(reference, lexicon)
    )
    return "abnormal" if found else "normal"

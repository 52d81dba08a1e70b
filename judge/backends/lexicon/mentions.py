"""Reads a report: which findings it mentions, and what it says of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from judge.backends.lexicon.attach import Draft, attach
from judge.backends.lexicon.data import Kind, Lexicon
from judge.backends.lexicon.heads import heads
from judge.backends.lexicon.scope import Scope, scope
from judge.backends.lexicon.tokens import Line, lines
from judge.sentences import sentences, skips

_LONGEST_QUOTE = 160

_USUAL = 400
"""Sentences of up to so many characters recur from study to study and are remembered."""
_BACKWARD = frozenset({"this", "these", "it", "which", "finding", "appearance", "they", "such"})
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Mention:
    """One thing that a report says.

    Either a `finding`, present or denied, with the readings offered for it (`also`); or a
    `structure` that is called normal (`normal`), or of which only a change is said; or,
    with neither, a change of the whole study. `sizes` are in millimetres; of a line or
    tube they say where it ends. `words` quote the report and don't enter comparisons.
    """

    finding: str = ""
    structure: str = ""
    normal: bool = False
    present: bool = True
    doubted: bool = False
    also: tuple[str, ...] = ()
    sides: frozenset[str] = _NONE
    places: frozenset[str] = _NONE
    levels: frozenset[int] = frozenset()
    changes: frozenset[str] = _NONE
    sizes: frozenset[float] = frozenset()
    refers_back: bool = False
    words: str = field(default="", compare=False)

    @property
    def positive(self) -> bool:
        """Whether it says that a finding is there."""
        return bool(self.finding) and self.present


@dataclass(frozen=True, slots=True)
class Placed:
    """A mention and the number of its sentence, counted from 0."""

    mention: Mention
    sentence: int


def read(text: str, lexicon: Lexicon) -> list[Placed]:
    """Return what `text` mentions, in order.

    Sections such as Indication or Technique are left out where a later heading ends them.
    """
    found: list[Placed] = []
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
        for mention in _sentence(piece, lexicon):
            earlier = found[-1] if found else None
            if (
                mention.refers_back
                and earlier is not None
                and (earlier.mention.positive or not mention.finding)
                and number - earlier.sentence <= 1
            ):
                found[-1] = replace(earlier, mention=_joined(earlier.mention, mention))
            else:
                found.append(Placed(replace(mention, refers_back=False), number))
    return found


def _joined(shadow: Mention, reading: Mention) -> Mention:
    """Return `shadow` with `reading` as one more of its readings."""
    return replace(
        shadow,
        also=(*shadow.also, *(name for name in (reading.finding, *reading.also) if name)),
        sides=shadow.sides | reading.sides,
        places=shadow.places | reading.places,
        levels=shadow.levels | reading.levels,
        changes=shadow.changes | reading.changes,
    )


def _sentence(text: str, lexicon: Lexicon) -> tuple[Mention, ...]:
    return _usual(text, lexicon) if len(text) <= _USUAL else _mentions(text, lexicon)


@lru_cache(maxsize=8192)
def _usual(text: str, lexicon: Lexicon) -> tuple[Mention, ...]:
    return _mentions(text, lexicon)


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
    mentions: list[Mention] = []
    shadows: list[Draft | None] = []
    for index, draft in enumerate(drafts):
        if index in said.ignored or _is_place(drafts, index):
            continue
        mention = _mention(text, line, draft, index, said, lexicon)
        if mention is None:
            continue
        shadow = next(
            (at for at in range(len(mentions) - 1, -1, -1) if mentions[at].positive), None
        )
        if shadow is not None and mention.positive:
            link = _reads_as(line, shadows[shadow], draft, mentions[shadow], mention, lexicon)
            if link:
                mentions[shadow] = _joined(mentions[shadow], mention)
                shadows[shadow] = draft
                continue
        if not mentions and mention.positive:
            mention = replace(mention, refers_back=_refers_back(line, draft))
        mentions.append(mention)
        shadows.append(draft)
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
) -> Mention | None:
    head = draft.head
    cue = said.denied.get(index)
    if cue is not None:
        draft.cover(cue.first, cue.last)
    words = _quote(text, line, draft.first, draft.last)
    if not head.finding:
        if head.normal and cue is not None:
            abnormal = lexicon.structures[head.structure].abnormal
            return Mention(finding=abnormal, sides=frozenset(draft.sides), words=words)
        return Mention(
            structure=head.structure,
            normal=head.normal,
            sides=frozenset(draft.sides),
            changes=frozenset(draft.changes - {"resolved"}),
            words=words,
        )
    finding = lexicon.findings[head.finding]
    present = cue is None and "resolved" not in draft.changes
    levels = draft.levels
    if not levels and present and finding.level is not None:
        levels = {finding.level}
    return Mention(
        finding=head.finding,
        present=present,
        doubted=index in said.doubted,
        sides=frozenset(draft.sides),
        places=frozenset(draft.places),
        levels=frozenset(levels),
        changes=frozenset(draft.changes if present else draft.changes & {"resolved"}),
        sizes=frozenset(draft.sizes),
        words=words,
    )


def _reads_as(
    line: Line,
    shadow: Draft | None,
    draft: Draft,
    earlier: Mention,
    later: Mention,
    lexicon: Lexicon,
) -> bool:
    """Return whether `later` is offered as a reading of the shadow `earlier`."""
    if shadow is None or shadow.head.last > draft.head.first:
        return False
    first, last = shadow.head.last, draft.head.first
    names = (earlier.finding, *earlier.also)
    kin = any(
        lexicon.related(name, later.finding)
        or lexicon.findings[name].shadow == lexicon.findings[later.finding].shadow != ""
        for name in names
    )
    marks = [mark for mark in line.marks if first <= mark.first < last]
    if any(mark.role(Kind.READS_AS) or mark.role(Kind.MAY_READ_AS) for mark in marks):
        return True
    if not kin or line.breaks[last] > line.breaks[first]:
        return False
    if any(mark.role(Kind.HEDGES_AFTER) for mark in marks):
        return True
    if line.verbs[last] > line.verbs[first]:
        return False
    between = line.words[first:last]
    alternative = "or" in between or "/" in between
    return alternative or (bool(earlier.also) and line.joins[last] > line.joins[first])


def _refers_back(line: Line, draft: Draft) -> bool:
    """Return whether "this may represent ..." reads a shadow of the sentence before."""
    return line.words[0] in _BACKWARD and any(
        mark.role(Kind.READS_AS) or mark.role(Kind.MAY_READ_AS)
        for mark in line.marks
        if mark.first < draft.head.first
    )

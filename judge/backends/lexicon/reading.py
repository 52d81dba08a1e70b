"""Reads a report: which findings it mentions, and what it says of each."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Literal, NamedTuple

from judge.backends.lexicon.attach import Draft, attach, split
from judge.backends.lexicon.data import Kind, Lexicon, stem
from judge.backends.lexicon.heads import Scope, heads, scope
from judge.backends.lexicon.mention import Mention
from judge.backends.lexicon.tokens import Line, lines
from judge.sentences import sentences, skips

_LONGEST_QUOTE = 160

_SOON = 8
"""An "or" so many words on still belongs to the list."""

_USUAL = 400
"""Sentences of up to so many characters recur from study to study and are remembered."""

_WORD = re.compile(r"[^\W\d_]+")
_NOT_LATIN = re.compile(r"[^\x00-\u024f]")
_ENGLISH = frozenset({
    "the", "is", "are", "was", "of", "in", "and", "with", "no", "there", "has", "have", "an",
    "to", "for", "on", "at", "or", "be", "not", "without",
})  # fmt: skip
_OF_REPORTS = _ENGLISH | {
    "findings", "report", "none", "discussed", "signed", "electronically", "years", "year", "old",
    "comparison", "history", "available", "known", "given", "reviewed", "view", "views", "upright",
    "physician", "please", "clinically", "this", "these", "from", "which", "likely", "within",
    "been",
}  # fmt: skip
"""With words of English reports that name no finding and are spelled so in no language near it."""
_FEWEST = 2
"""One word of another language may be a name or a loan."""

_ELSEWHERE = re.compile(
    r"\b(?:indication|history|reason|compar\w*|prior|previous\w*|recent|earlier|recommend\w*|correlat\w*|suggest\w*|same"
    r"|further|follow(?:ed|[-\s]?ups?)?|advis\w*|consider\w*|could|should|dedicated|guid\w*|subsequent\w*|see|pending"
    r"|(?:known|proven|seen)\b(?: \w+){0,4} (?:on|by|at) (?:the )?(?:ct|mri?|ultrasound)"
    r"|mri?[-\s](?:compatible|conditional|safe))\b",
    re.I,
)
"""A sentence with one of these speaks of another examination, or of a device."""

_DECOR = re.compile(r"(?:exam\w*|findings?|impression|technique|procedure|study)\s*:?", re.I)
"""A heading alone does not begin a report."""

_SOON_TOLD = 25
"""Characters within which a report's first sentence says what it is of."""

_UNSAID = re.compile(
    r"\bno (?:mention|description|report|documentation) of\b|\bfailure to\b|\blines? \d+"
    r"|\b(?:not|never|n't|fail\w* to|without) (?:mention|report|describ|includ|not|stat|document"
    r"|identif|address|detect|captur|acknowledg|list)\w*",
    re.I,
)
"""What a report leaves unsaid is not denied; its failure is no heart's, and its line no tube."""

_WHERE = (Kind.SIDE, Kind.PLACE, Kind.PREPOSITION)
_OWN = re.compile(
    r'The (?:reference|candidate) says "([^"]*)", the (?:reference|candidate)(?: says)? "[^"]*"'
    r"(?: \((?:not )?(?:read as|said to be) ([^()]*)\))?"
)
"""An error of the built-in judge, which is about what it quotes first or what is (not) read."""

_BACKWARD = frozenset({"this", "these", "it", "which", "finding", "appearance", "they", "such"})
_NONE: frozenset[str] = frozenset()


def read(text: str, lexicon: Lexicon) -> list[Mention]:
    """Return what `text` mentions, in order.

    Sections such as Indication or Technique are left out where a later heading ends them. No
    mention is the same object as one of another report.
    """
    found: list[Mention] = []
    for number, piece in _pieces(text):
        for told in _said(piece, lexicon):
            mention = told.numbered(number)
            near = mention.refers_back and found and number - found[-1].sentence <= 1
            if near and (found[-1].positive or not mention.finding):
                found[-1] = _joined(found[-1], mention)
            else:
                found.append(mention)
    return found


def _said(piece: str, lexicon: Lexicon) -> tuple[Mention, ...]:
    return (_mentions if len(piece) <= _USUAL else _mentions.__wrapped__)(piece, lexicon)


def _joined(shadow: Mention, reading: Mention) -> Mention:
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


@lru_cache(maxsize=32768)
def _mentions(text: str, lexicon: Lexicon) -> tuple[Mention, ...]:
    return tuple(one for line in lines(text, lexicon) for one in _line(text, line, lexicon))


def _line(text: str, line: Line, lexicon: Lexicon) -> list[Mention]:
    found, used = heads(line, lexicon)
    said = scope(line, found, used)
    drafts = [Draft(head, head.first, head.last) for head in found]
    study = attach(line, drafts, used, lexicon)
    told: list[tuple[Mention, Draft]] = []
    says = any(head.finding or head.normal for head in found)
    for index, draft in enumerate(drafts):
        names = draft.head.finding or draft.head.normal or draft.changes
        if index in said.ignored or (says and not names):
            continue  # a structure that is only named says where something is
        *others, mention = [_mention(text, line, one, index, said, lexicon) for one in split(draft)]
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
        mentions.append(
            Mention(lexicon, changes=frozenset({change}), words=words, refers_back=back)
        )
    return mentions


def _quote(text: str, line: Line, first: int, last: int) -> str:
    """Return the words of some tokens, and what follows where they would break off in the middle.

    "Collapse of the right" goes on to "lung", and what a bracket opens on to where it is closed.
    """
    for mark in line.marks:
        if mark.first == last and mark.role(Kind.STRUCTURE, Kind.PLACE):
            ends_in_place = any(one.last == last and one.role(*_WHERE) for one in line.marks)
            last = mark.last if ends_in_place else last
    start, end = line.spans[first][0], line.spans[last - 1][1]
    if text.count("(", start, end) > text.count(")", start, end):
        closed = text.find(")", end)
        end = closed + 1 if closed >= 0 else end
    quoted = " ".join(text[start:end].replace(";", ",").split())
    return quoted if len(quoted) <= _LONGEST_QUOTE else quoted[: _LONGEST_QUOTE - 3] + "..."


def _mention(
    text: str, line: Line, draft: Draft, index: int, said: Scope, lexicon: Lexicon
) -> Mention:
    head, cue = draft.head, said.denied.get(index)
    if cue is not None:
        draft.cover(cue.first, cue.last)
    words = _quote(text, line, draft.first, draft.last)
    sides = frozenset(draft.sides)
    if head.normal and cue is not None:
        abnormal = lexicon.structures[head.structure].abnormal
        return Mention(lexicon, finding=abnormal, sides=sides, words=words)
    if not head.finding:
        # What is normal and stays so is not compared with anything.
        unsaid = {"resolved", "unchanged"} if head.normal else {"resolved"}
        changes = frozenset(draft.changes - unsaid)
        return Mention(
            lexicon, "", head.structure, head.normal, sides=sides, changes=changes, words=words
        )
    finding = lexicon.findings[head.finding]
    present = cue is None and "resolved" not in draft.changes
    levels = frozenset[int]().union(*draft.said_levels.values())
    if not levels and present and finding.level:
        levels = frozenset({lexicon.levels[finding.level]})
    return Mention(
        lexicon,
        finding=head.finding,
        present=present,
        doubted=index in said.doubted,
        sides=sides,
        places=frozenset(draft.places),
        levels=levels,
        changes=frozenset(draft.changes if present else draft.changes & {"resolved"}),
        sizes=frozenset(draft.sizes),
        acuity=frozenset(draft.acuity or ({finding.acuity} - {""})),
        acts=draft.acts,
        count=draft.count,
        words=words,
    )


def _reads_as(
    line: Line, earlier: Mention, shadow: Draft, later: Mention, draft: Draft, lexicon: Lexicon
) -> bool:
    first, last = shadow.head.last, draft.head.first
    between, words = line.between(first, last), line.words[first:last]
    if line.marked(first, last, Kind.READS_AS, Kind.MAY_READ_AS):
        return True
    if first > last or between.breaks:
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


@lru_cache(maxsize=8192)
def named(remark: str, lexicon: Lexicon) -> tuple[str, ...]:
    """Return the labels of the findings that a remark about reports is about, once each, in order.

    Those that it says are there; where it says that of none, every finding that it names: denied,
    or only spoken of. "Small effusion, not 'no acute disease'" is about the effusion.
    """
    told = _UNSAID.sub(" ", _OWN.sub(lambda own: f"{own[2] or own[1]}.", remark))
    pieces = [told[start:end] for start, end in sentences(told)]
    said = (one for piece in pieces for one in _mentions(piece, lexicon) if one.positive)
    found = [name for one in said for name in one.names if name] or [
        head.finding
        for piece in pieces
        for line in lines(piece, lexicon)
        for head in heads(line, lexicon)[0]
        if head.finding
    ]
    return tuple(dict.fromkeys(lexicon.findings[name].label for name in found))


def changed(before: str, after: str, lexicon: Lexicon) -> tuple[str, ...]:
    """Return the labels of the findings of which two wordings of a sentence say different things.

    In their order, `before` first.
    """
    old, new = (_mentions(text, lexicon) for text in (before, after))
    told = [*(one for one in old if one not in new), *(one for one in new if one not in old)]
    found = (lexicon.findings[name].label for one in told for name in one.names if name)
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=64)
def _split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@lru_cache(maxsize=64)
def _pieces(text: str) -> tuple[tuple[int, str], ...]:
    """Return the sentences of what is read, with their numbers in the whole text.

    Those of the reports at hand are remembered: whether the rules know them is asked first.
    """
    pieces = _split(text)
    opens = [skips(piece) for piece in pieces]
    last_read = max((at for at, opened in enumerate(opens) if opened is False), default=-1)
    skipping = False
    found = []
    for number, (piece, opened) in enumerate(zip(pieces, opens, strict=True)):
        skipping = skipping if opened is None else opened
        if not skipping or (number >= last_read and not opened):
            found.append((number, piece))
    return tuple(found)


class _Look(NamedTuple):
    """How many words of a sentence are read or known, and of which language they seem to be.

    `image` is where it begins to speak of another examination in its own words, None where not.
    """

    words: int
    known: int
    letters: int
    not_latin: int
    foreign: int
    english: int
    image: int | None


@lru_cache(maxsize=8192)
def _look(piece: str, lexicon: Lexicon) -> _Look:
    """Return what a sentence looks like.

    A letter alone says nothing, nor does what stands where a name was taken out, as in XXXX.
    """
    every = _WORD.findall(piece.lower())
    words = [word for word in every if len(set(word)) > 1]
    known = sum(word in _OF_REPORTS or stem(word) in lexicon.vocabulary for word in words)
    image = lexicon.other_images.search(piece)
    letters = "".join(every)
    return _Look(
        *(len(words), known, len(letters)),
        0 if letters.isascii() else len(_NOT_LATIN.findall(letters)),
        sum(map(lexicon.foreign.__contains__, every)),
        sum(map(_ENGLISH.__contains__, every)),
        image.start() if image and not _ELSEWHERE.search(piece) else None,
    )


def study_class(reference: str, lexicon: Lexicon) -> Literal["normal", "abnormal"]:
    """Return `abnormal` where the report has any finding, a minor or possible one included.

    A report that says nothing of a finding is `normal`; one without any letter or digit
    raises `ValueError`, since it says nothing at all.
    """
    if not any(map(str.isalnum, reference)):
        raise ValueError("an empty report has no class")
    for _, piece in _pieces(reference):
        found = (one.finding for one in _said(piece, lexicon) if one.positive)
        if any(lexicon.findings[name].abnormal for name in found):
            return "abnormal"
    return "normal"


def unfamiliar(report: str, lexicon: Lexicon) -> Literal["language", "images"] | None:
    """Return why `report` is none that the rules were made for, if it seems so.

    `language`: most of its letters are not Latin, more of its words are function words of
    another language than of English, or of the words that are read (two or more) fewer than half
    are in the vocabulary or are common in English reports. `images`: it is itself of CT, MRI or
    ultrasound: it begins by saying so, or says so twice, other than to compare with one or to ask
    for one.
    """
    pieces = _split(report)
    looks = [_look(piece, lexicon) for piece in pieces]
    letters, not_latin, foreign, english = (
        sum(getattr(look, name) for look in looks)
        for name in ("letters", "not_latin", "foreign", "english")
    )
    if not_latin > letters / 2 or english < foreign >= _FEWEST:
        return "language"
    read_alone = [_look(piece, lexicon) for _, piece in _pieces(report)]
    words = sum(look.words for look in read_alone)
    if words >= _FEWEST and sum(look.known for look in read_alone) < words / 2:
        return "language"
    images = [at for at, look in enumerate(looks) if look.image is not None]
    if not images:
        return None
    first = next((at for at, piece in enumerate(pieces) if not _DECOR.fullmatch(piece)), 0)
    begins = images[0] == first and (looks[first].image or 0) <= _SOON_TOLD
    return "images" if begins or len(images) > 1 else None

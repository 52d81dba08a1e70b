"""Reads a report: which findings it mentions, and what it says of each."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from judge.backends.lexicon.data import Kind, Lexicon
from judge.backends.lexicon.mention import Mention
from judge.backends.lexicon.sentence import Head, heads, understand
from judge.backends.lexicon.tokens import BREAK, JOIN, VERB, Line, lines
from judge.sentences import sentences, skips

_LONGEST_QUOTE = 160

_SOON = 8
"""An "or" so many words on still belongs to the list."""

_USUAL = 400
"""Sentences of up to so many characters recur from study to study and are remembered."""

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
"""An error of the built-in judge, which is about what it quotes first or what is (not) read."""

_BACKWARD = frozenset({"this", "these", "it", "which", "finding", "appearance", "they", "such"})
_NONE: frozenset[str] = frozenset()


def read(text: str, lexicon: Lexicon) -> list[Mention]:
    """Return what `text` mentions, in order.

    Sections such as Indication or Technique are left out where a later heading ends them. No
    mention is the same object as one of another report.
    """
    found: list[Mention] = []
    for number, piece in pieces(text):
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
    return tuple(mention for line in lines(text, lexicon) for mention in _of_line(line))


def _of_line(line: Line) -> list[Mention]:
    heads, of_study = understand(line)
    told: list[tuple[Mention, Head]] = []
    says = any(head.finding or head.normal for head in heads)
    for head in heads:
        if head.ignored or (says and not (head.finding or head.normal or Kind.CHANGE in head.said)):
            continue  # a structure that is only named says where something is
        *others, mention = [_mention(line, part) for part in head.split()]
        told += [(other, head) for other in others]
        at = max((at for at, (other, _) in enumerate(told) if other.positive), default=-1)
        if at >= 0 and mention.positive and _reads_as(line, *told[at], mention, head):
            told[at] = (_joined(told[at][0], mention), head)
            continue
        if not told and mention.positive and line.words[0] in _BACKWARD:
            # "This may represent ..." reads a shadow of the sentence before.
            back = line.marked(0, head.first, Kind.READS_AS, Kind.MAY_READ_AS)
            mention = replace(mention, refers_back=back)
        told.append((mention, head))
    mentions = [mention for mention, _ in told]
    for mark, change in of_study:
        back = not mentions and not _BACKWARD.isdisjoint(line.words[:3])
        words = _quote(line, mark.first, mark.last)
        mentions.append(Mention(line.lexicon, changes=change.tags, words=words, refers_back=back))
    return mentions


def _mention(line: Line, head: Head) -> Mention:
    lexicon = line.lexicon
    words = _quote(line, head.start, head.end)
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
    levels = head.tags(Kind.LEVEL)
    if not levels and present and finding.level:
        levels = frozenset({finding.level})
    return Mention(
        lexicon,
        finding=head.finding,
        present=present,
        doubted=head.doubted,
        sides=sides,
        places=head.tags(Kind.PLACE),
        levels=frozenset(lexicon.levels[level] for level in levels),
        changes=changes if present else changes & {"resolved"},
        sizes=frozenset(head.sizes),
        acuity=head.tags(Kind.ACUITY) or frozenset({finding.acuity} - {""}),
        acts=Kind.ACTION in head.said,
        count=head.count,
        words=words,
    )


def _quote(line: Line, first: int, last: int) -> str:
    """Return the words of some tokens, and what follows where they would break off in the middle.

    "Collapse of the right" goes on to "lung", and what a bracket opens on to where it is closed.
    """
    for mark in line.marks:
        if mark.first == last and mark.role(Kind.STRUCTURE, Kind.PLACE):
            ends_in_place = any(one.last == last and one.role(*_WHERE) for one in line.marks)
            last = mark.last if ends_in_place else last
    start, end = line.spans[first][0], line.spans[last - 1][1]
    text = line.text
    if text.count("(", start, end) > text.count(")", start, end):
        closed = text.find(")", end)
        end = closed + 1 if closed >= 0 else end
    quoted = " ".join(text[start:end].replace(";", ",").split())
    return quoted if len(quoted) <= _LONGEST_QUOTE else quoted[: _LONGEST_QUOTE - 3] + "..."


def _reads_as(line: Line, earlier: Mention, shadow: Head, later: Mention, head: Head) -> bool:
    first, last = shadow.last, head.first
    between, words = line.between(first, last), line.words[first:last]
    if line.marked(first, last, Kind.READS_AS, Kind.MAY_READ_AS):
        return True
    if first > last or BREAK in between:
        return False
    findings, group = line.lexicon.findings, later.kind.shadow
    if any(
        line.lexicon.related(name, later.finding) or findings[name].shadow == group != ""
        for name in earlier.names
    ):
        if line.marked(first, last, Kind.HEDGES_AFTER, Kind.LIKELY_AFTER):
            return True
        listed = "or" in words or "/" in words or (bool(earlier.also) and JOIN in between)
    else:
        # A list of readings goes on: "edema, infection or fibrosis".
        soon = line.words[last : last + _SOON]
        listed = bool(earlier.also) and ("or" in words or ("," in words and "or" in soon))
    return listed and VERB not in between


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
        for head in heads(line)[0]
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
def split(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [text[start:end] for start, end in sentences(text)]


@lru_cache(maxsize=64)
def pieces(text: str) -> tuple[tuple[int, str], ...]:
    """Return the sentences of what is read, with their numbers in the whole text.

    Those of the reports at hand are remembered: whether the rules know them is asked first.
    """
    pieces = split(text)
    opens = [skips(piece) for piece in pieces]
    last_read = max((at for at, opened in enumerate(opens) if opened is False), default=-1)
    skipping = False
    found = []
    for number, (piece, opened) in enumerate(zip(pieces, opens, strict=True)):
        skipping = skipping if opened is None else opened
        if not skipping or (number >= last_read and not opened):
            found.append((number, piece))
    return tuple(found)


def study_class(reference: str, lexicon: Lexicon) -> Literal["normal", "abnormal"]:
    """Return `abnormal` where the report has any finding, a minor or possible one included.

    A report that says nothing of a finding is `normal`; one without any letter or digit
    raises `ValueError`, since it says nothing at all.
    """
    if not any(map(str.isalnum, reference)):
        raise ValueError("an empty report has no class")
    for _, piece in pieces(reference):
        found = (one.finding for one in _said(piece, lexicon) if one.positive)
        if any(lexicon.findings[name].abnormal for name in found):
            return "abnormal"
    return "normal"

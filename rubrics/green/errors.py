"""Reading an error section: six counts, each with its list."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from judge.rubrics.green.categories import (
    Opener,
    Slot,
    named_category,
    openers,
    opens_with_label,
    read_slot,
)
from judge.rubrics.green.counts import read_count, says_no_errors, states_nothing
from judge.rubrics.green.layout import CATEGORIES, Reason, unparsed
from judge.rubrics.green.lists import Listed, is_aside, is_item, read_list
from judge.rubrics.green.markup import plain_section
from judge.rubrics.green.sections import Section
from judge.types import Category


class SectionErrors(NamedTuple):
    """What an error section states, all six categories, and lists.

    `not_listed` are the categories that it leaves out and that count 0; `asides` is the
    text that is neither a count nor a list.
    """

    counts: dict[Category, int]
    entries: dict[Category, tuple[str, ...]]
    not_listed: frozenset[Category]
    asides: str


# What stands on a category's line before its mark.
_BEFORE_MARK = re.compile(
    r"[^\S\n]*(?:[>#\-+\u2022\u2013]+[^\S\n]*)*(?:[0-9]{1,2}[.)])?[^\S\n]*"
    r"(?:(?:error )?(?:category|type))?\s*",
    re.IGNORECASE,
)


def _up_to_mark(text: str) -> str:
    """Return `text` without what only leads to the mark that follows it."""
    if text.endswith("\n"):
        return text
    start = text.rfind("\n") + 1
    if start and _BEFORE_MARK.fullmatch(text, start):
        return text[:start]
    return text.rstrip(" \t,;|-\u2022\u2013").removesuffix(" and")


_COUNT_BELOW = re.compile(
    r"\s*\n[^\S\n]*(?:[-+\u2022\u25e6][^\S\n]+)?"
    r"(?:(?:number of errors|count|errors?|total|number)[ ]?[:=][^\S\n]*|(?=[0-9]+\.?[^\S\n]*\n))",
    re.IGNORECASE,
)


class _Reader:
    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.counts: dict[Category, int] = {}
        self.entries: dict[Category, tuple[str, ...]] = {}
        self.asides: list[str] = []

    def category(self, opener: Opener, text: str, *, closed: bool) -> None:
        """Take one category with all that stands up to the next.

        Raises where the category has another count already.
        """
        read = _read_short if len(text) < _LONG else _read
        listed = read(self.kind, opener.categories, opener.style, opener.label, text, closed)
        self.asides.append(listed.aside)
        count, entries = listed.count, listed.entries
        if count and len(opener.categories) != 1:
            where = _where(self.kind, opener.categories)
            raise unparsed(Reason.UNREADABLE_COUNT, f"{where}: one count for several categories")
        for category in opener.categories:
            if category in self.counts and (
                self.counts[category] != count or self.entries[category] != entries
            ):
                where = _where(self.kind, opener.categories)
                raise unparsed(Reason.CONTRADICTION, f"{where} is stated twice")
            self.counts[category] = count
            self.entries[category] = entries


def _where(kind: str, categories: tuple[Category, ...]) -> str:
    return f"{kind} ({', '.join(categories) or 'others'})"


def _read(
    kind: str,
    categories: tuple[Category, ...],
    style: str,
    label: str,
    text: str,
    closed: bool,  # noqa: FBT001 - a key
) -> Listed:
    """Return what `text`, which follows the mark of `categories`, states and lists."""
    where = _where(kind, categories)
    head, newline, _ = text.partition("\n")
    slot = read_slot(head + "\n" if newline or closed else head)
    behind = text[min(slot.end, len(head)) :]
    if slot.count is None and not behind.partition("\n")[0].strip():
        below = _COUNT_BELOW.match(behind)
        if below and (count := read_count(behind[below.end() :])):
            slot = Slot(slot.label, count._replace(numbers=False), 0)
            behind = behind[below.end() :][count.end - 1 :].lstrip(".:;, ")
    category = categories[0] if len(categories) == 1 else None
    label = label or slot.label
    if slot.count and not label and opens_with_label(behind.lstrip()):
        head, colon, rest = behind.partition("\n")[0].partition(":")
        label, behind = head, (rest if colon else "") + behind[len(head + colon + rest) :]
    if category and style != "label" and named_category(label) not in (None, category):
        named = named_category(label)
        raise unparsed(
            Reason.CONTRADICTION, f"{where} is labelled {label[:60]!r}, which is ({named})"
        )
    return read_list(slot.count, behind, where, closed=closed, category=category)


# Most lines of most answers are the same few: six labels with a 0.
_LONG = 160
_read_short = lru_cache(maxsize=4096)(_read)


def read_errors(section: Section) -> SectionErrors:
    """Return what `section` says; raises `UnparsedError` where that is not certain."""
    text = plain_section(section.body) + ("\n" if section.closed else "")
    found = openers(text)
    reader = _Reader(section.kind)
    preamble = text[: found[0].start] if found else text
    nothing, orphans = _read_preamble(_up_to_mark("\n" + preamble) if found else preamble, reader)
    for at, opener in enumerate(found):
        last = at + 1 == len(found)
        body = text[opener.end : None if last else found[at + 1].start]
        body = body if last else _up_to_mark(body)
        reader.category(opener, body, closed=section.closed or not last)
    return _whole(reader, section, found, nothing=nothing, orphans=orphans)


def _read_preamble(text: str, reader: _Reader) -> tuple[bool, bool]:
    """Return whether the text before the first category says "none", and whether it lists."""
    nothing = orphans = False
    for line in text.splitlines(keepends=True):
        if not line.strip() or line.lstrip().startswith("```"):
            continue
        stripped = line.lstrip(" \t->+\u2022")
        if states_nothing(stripped) or says_no_errors(stripped, reader.kind):
            nothing = True
        elif is_item(line) and not is_aside(stripped):
            orphans = True
        else:
            reader.asides.append(line)
    return nothing, orphans


def _whole(
    reader: _Reader, section: Section, found: list[Opener], *, nothing: bool, orphans: bool
) -> SectionErrors:
    """Check the section as a whole and fill in the categories that it leaves out."""
    counts, kind = reader.counts, section.kind
    asides = "\n".join(reader.asides)
    if nothing and (any(counts.values()) or orphans):
        raise unparsed(Reason.CONTRADICTION, f"{kind}: none are stated, and errors are listed")
    if orphans:
        raise unparsed(Reason.UNREADABLE_COUNT, f"{kind}: errors are listed under no category")
    if nothing:
        return SectionErrors(dict.fromkeys(CATEGORIES, 0), {}, frozenset(), asides)
    if not counts:
        empty = Reason.UNREADABLE_COUNT if section.body.strip() else Reason.MISSING_SECTION
        raise unparsed(empty if section.closed else Reason.TRUNCATED, f"{kind} has no counts")
    if len(counts) == len(CATEGORIES):
        return SectionErrors(counts, reader.entries, frozenset(), asides)
    absent = frozenset(CATEGORIES).difference(counts)
    if absent and not section.closed:
        named = ", ".join(sorted(category.value for category in absent))
        raise unparsed(Reason.TRUNCATED, f"{kind} ends without {named}")
    if any(not opener.categories for opener in found):
        absent = frozenset()
    counts = {category: counts.get(category, 0) for category in CATEGORIES}
    return SectionErrors(counts, reader.entries, absent, asides)

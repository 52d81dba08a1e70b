"""Reading an error section: six counts, each with its list."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from judge.rubrics.green.categories import Mark, has_label, read_mark, read_slot
from judge.rubrics.green.counts import states_nothing
from judge.rubrics.green.layout import CATEGORIES, INLINE, Reason, tidy, unparsed
from judge.rubrics.green.lists import (
    entries_of,
    is_fence,
    is_item,
    item_number,
    list_length,
    lists_something,
    read_below,
)
from judge.rubrics.green.sections import Section
from judge.types import Category

_LOOKS_COUNTED = re.compile(
    r"[^:;\n]{1,100}:[\s*_]*+[0-9]++[*_]*+(?:\.(?![0-9])|[^\S\n]*+\n|[^\S\n]++errors?\b)"
)
_ASIDE = re.compile(r"[\s*_]*+(?:note|total|sum|overall|in total|green|score)\b", re.IGNORECASE)


class SectionErrors(NamedTuple):
    """What an error section states, all six categories, and lists.

    `not_listed` are the categories that it leaves out and that count 0; `numbered` says
    that it lists errors by number.
    """

    counts: dict[Category, int]
    entries: dict[Category, tuple[str, ...]]
    not_listed: frozenset[Category]
    numbered: bool


@dataclass(slots=True)
class _Open:
    """The category whose lines are being read: its stated count and what it lists so far."""

    category: Category
    count: int | None
    inline: str
    below: list[tuple[str, bool]] | None = None


class _Reader:
    """Reads one error section, line by line."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.counts: dict[Category, int] = {}
        self.entries: dict[Category, tuple[str, ...]] = {}
        self.open: _Open | None = None
        self.digits: bool | None = None
        self.bracketed = False
        self.nothing = False
        self.orphans = False
        self.numbered = False

    def category_line(self, line: str, *, cut: bool, after_blank: bool) -> bool:
        """Read `line` if it opens a category, and return whether it does."""
        mark = self.mark_of(line)
        if mark is None:
            return False
        rest = self.begin(mark, cut=cut)
        for _ in CATEGORIES:
            if not rest:
                return True
            mark = self.mark_of(rest)
            if mark is None:
                self.other_line(rest, after_blank=after_blank)
                return True
            rest = self.begin(mark, cut=cut)
        raise unparsed(Reason.CONTRADICTION, f"{self.kind}: one line states too many categories")

    def mark_of(self, line: str) -> Mark | None:
        """Return the mark of `line` if it opens a category.

        The first such line of a section decides whether letters or digits mark categories.
        """
        mark = read_mark(line)
        if mark is None or (self.digits is not None and self.digits != mark.digit):
            return None
        if mark.digit:
            if self.digits and self.bracketed != mark.bracketed:
                return None
            # "1. ..." may be an entry of a list; only its label shows that it is a category.
            if not mark.bracketed and not has_label(mark.behind):
                return None
        self.digits, self.bracketed = mark.digit, mark.bracketed
        return mark

    def begin(self, mark: Mark, *, cut: bool) -> str:
        """Open a category; return the rest of the line where a further category begins in it."""
        if self.open is not None:
            self.finish(self.open, closed=True)
        category = mark.category
        label, named, count, tail = read_slot(mark.behind)
        if named is not None and named is not category:
            raise unparsed(
                Reason.CONTRADICTION,
                f"{self.where(category)} is labelled {label[:60]!r}, which is ({named.value})",
            )
        further = ""
        if "(" in tail and (following := INLINE.search(tail)):
            tail, further = tail[: following.start()], tail[following.start() :]
        tail = tidy(tail)
        if count is None and tail:
            reason = Reason.TRUNCATED if cut else Reason.UNREADABLE_COUNT
            raise unparsed(reason, f"{self.where(category)}: {tail[:60]!r}")
        self.open = _Open(category, count, tail)
        return further

    def other_line(self, line: str, *, after_blank: bool) -> None:
        """Take a line that opens no category."""
        if self.open is None and states_nothing(line):
            self.nothing = True
            return
        if _ASIDE.match(line):
            return
        if _LOOKS_COUNTED.match(line) or ("(" in line and INLINE.search(line)):
            raise unparsed(
                Reason.UNREADABLE_COUNT, f"{self.kind}: no category with {tidy(line)[:60]!r}"
            )
        if self.open is None:
            self.orphans = self.orphans or is_item(line)
            return
        if self.open.below is None:
            self.open.below = []
        self.open.below.append((line, after_blank))
        self.numbered = self.numbered or item_number(line) is not None

    def finish(self, done: _Open, *, closed: bool) -> None:
        """Settle the count of a category whose lines are all there."""
        category, count, inline = done.category, done.count, done.inline
        below = read_below(done.below, continues=inline != "") if done.below else None
        if count is None:
            count = list_length(below) if below else None
            if count is None:
                reason = Reason.UNREADABLE_COUNT if closed else Reason.TRUNCATED
                raise unparsed(reason, f"{self.where(category)} has no count")
            if not closed:
                raise unparsed(Reason.TRUNCATED, f"{self.where(category)} is an uncounted list")
        entries = entries_of(inline, below) if inline or below else ()
        if count == 0:
            if entries and lists_something(entries):
                raise unparsed(
                    Reason.CONTRADICTION, f"{self.where(category)} states 0 and lists an error"
                )
            entries = ()
        elif below and any(map(INLINE.search, entries)):
            raise unparsed(
                Reason.UNREADABLE_COUNT, f"{self.where(category)} has another category's count"
            )
        if category in self.counts and (
            self.counts[category] != count or self.entries[category] != entries
        ):
            raise unparsed(Reason.CONTRADICTION, f"{self.where(category)} is stated twice")
        self.counts[category] = count
        self.entries[category] = entries

    def where(self, category: Category) -> str:
        """Return the name of a count, for messages."""
        return f"{self.kind} ({category.value})"


def read_errors(section: Section) -> SectionErrors:
    """Return what `section` says; raises `UnparsedError` where that is not certain."""
    reader = _Reader(section.kind)
    after_blank = False
    lines = section.lines
    last = None if section.closed else len(lines) - 1
    for at, line in enumerate(lines):
        if not line.strip():
            after_blank = after_blank or at > 0
        elif reader.category_line(line, cut=at == last, after_blank=after_blank):
            after_blank = False
        elif not is_fence(line):
            reader.other_line(line, after_blank=after_blank)
            after_blank = False
    if reader.open is not None:
        reader.finish(reader.open, closed=section.closed)
    return _whole(reader, section)


def _whole(reader: _Reader, section: Section) -> SectionErrors:
    """Check the section as a whole and fill in the categories that it leaves out."""
    counts, kind = reader.counts, section.kind
    if len(counts) == len(CATEGORIES) and not reader.nothing and not reader.orphans:
        return SectionErrors(counts, reader.entries, frozenset(), reader.numbered)
    if reader.nothing and (any(counts.values()) or reader.orphans):
        raise unparsed(Reason.CONTRADICTION, f"{kind}: none are stated, and errors are listed")
    if reader.orphans:
        raise unparsed(Reason.UNREADABLE_COUNT, f"{kind}: errors are listed under no category")
    if not counts and not reader.nothing:
        empty = Reason.UNREADABLE_COUNT if section.body.strip() else Reason.MISSING_SECTION
        raise unparsed(empty if section.closed else Reason.TRUNCATED, f"{kind} has no counts")
    if reader.nothing:
        return SectionErrors(dict.fromkeys(CATEGORIES, 0), {}, frozenset(), reader.numbered)
    absent = frozenset(category for category in CATEGORIES if category not in counts)
    if not section.closed:
        named = ", ".join(sorted(category.value for category in absent))
        raise unparsed(Reason.TRUNCATED, f"{kind} ends without {named}")
    counts = {category: counts.get(category, 0) for category in CATEGORIES}
    return SectionErrors(counts, reader.entries, absent, reader.numbered)

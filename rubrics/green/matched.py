"""Reading the matched findings: one count with its list, or a list that is whole."""

from __future__ import annotations

import re
from collections.abc import Iterator

from judge.rubrics.green.counts import read_count
from judge.rubrics.green.layout import Reason, tidy, unparsed
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
from judge.types import UnparsedError

_INTRODUCTION = re.compile(r"[\s*_]*+(?:note\b|[^\n]*:[\s*_]*$)", re.IGNORECASE)
_NUMBERED = re.compile(r"[\s>*_]*+([0-9]{1,3})[*_]*+\.(?=[\s*_])")
_BARE_NUMBER = re.compile(r"\s*[*_]*+[0-9]++[*_]*+[.)]?[*_]*+\s*$")


def read_matched(section: Section, *, numbered_lists: bool) -> tuple[int, tuple[str, ...]]:
    """Return how many findings match, as stated, and those that are listed.

    `numbered_lists` says that the answer lists its errors by number, so that a first line
    `1. ...` is as likely the first entry of a list. Raises `UnparsedError` where the count
    is not certain.
    """
    lines = list(_content(section))
    if not lines:
        reason = Reason.MISSING_SECTION if section.closed else Reason.TRUNCATED
        raise unparsed(reason, "the matched findings are empty")
    first, _ = lines[0]
    count = None if _is_entry(first) else read_count(first)
    if count is None:
        return _read_list(section, lines)
    value, end = count
    inline = tidy(first[end:])
    if _NUMBERED.match(first) and inline and value > 0:
        following = [number for line, _ in lines[1:] if (number := item_number(line)) is not None]
        if value == 1 and following == list(range(2, len(following) + 2)) and following:
            return _read_list(section, lines)
        if following and (value == 1 or following[0] == value + 1):
            raise unparsed(Reason.UNREADABLE_COUNT, "matched findings: numbers in no order")
        may_go_on = numbered_lists or _BARE_NUMBER.match(lines[-1][0])
        if value == 1 and may_go_on and not section.closed:
            raise _uncounted()
    below = read_below(lines[1:], continues=inline != "") if len(lines) > 1 else None
    entries = entries_of(inline, below)
    if value == 0 and lists_something(entries):
        raise unparsed(Reason.CONTRADICTION, "0 matched findings are stated, and one is listed")
    return value, entries if value else ()


def _content(section: Section) -> Iterator[tuple[str, bool]]:
    """Yield the lines that are not blank, without an introduction, and whether one was before."""
    after_blank = began = False
    for line in section.lines:
        if not line.strip():
            after_blank = True
            continue
        if is_fence(line):
            continue
        if not began and not is_item(line) and not read_count(line) and _INTRODUCTION.match(line):
            continue
        yield line, after_blank and began
        after_blank, began = False, True


def _is_entry(line: str) -> bool:
    """Whether `line` is an entry of a list; `1. ...` is that only when more follow."""
    return is_item(line) and _NUMBERED.match(line) is None


def _read_list(section: Section, lines: list[tuple[str, bool]]) -> tuple[int, tuple[str, ...]]:
    below = read_below(lines, continues=False)
    length = list_length(below)
    if length is None:
        reason = Reason.UNREADABLE_COUNT if section.closed else Reason.TRUNCATED
        raise unparsed(reason, "the matched findings have no count")
    if not section.closed:
        raise _uncounted()
    return length, entries_of("", below) if length else ()


def _uncounted() -> UnparsedError:
    return unparsed(Reason.TRUNCATED, "the matched findings are a list without a count")

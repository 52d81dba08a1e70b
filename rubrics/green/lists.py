"""A count and the list beside it, however the list is laid out.

The list may stand behind the count, separated by semicolons, or below it on lines of its
own, with bullets, numbers or neither.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from judge.rubrics.green.counts import is_absent, states_nothing
from judge.rubrics.green.layout import tidy

_ITEM = re.compile(
    r"[^\S\n]*+(?:>[^\S\n]*+)*+(?P<mark>[-*+\u2022\u2013\u2014\u00b7]"
    r"|[*_]*+\(?(?P<number>[0-9]{1,3})[*_]*+[.)]|\(?[a-zA-Z]\))[*_]*+(?=\s)"
)


def is_fence(line: str) -> bool:
    """Return whether `line` opens or closes a block of code."""
    return line.lstrip().startswith("```")


def item_number(line: str) -> int | None:
    """Return the number that `line` begins with as an entry of a numbered list."""
    item = _ITEM.match(line)
    return int(item["number"]) if item and item["number"] else None


def is_item(line: str) -> bool:
    """Return whether `line` begins with a bullet, a number or a letter as an entry of a list."""
    return _ITEM.match(line) is not None


class Below(NamedTuple):
    """The lines below a count. `entries` are those with a bullet, a number or a letter.

    `continued` are the lines that go on with what stands behind the count; `flat` says that
    the entries are one list of one depth, with numbers from 1 if any, and nothing else;
    `nothing` that a line says that there is nothing.
    """

    continued: list[str]
    entries: list[str]
    flat: bool
    nothing: bool


def read_below(lines: list[tuple[str, bool]], *, continues: bool) -> Below:
    """Return what `lines` hold, each with whether a blank line is before it.

    A paragraph without a bullet behind a blank line is commentary. `continues` says that
    an entry stands before the lines, with which a line without a bullet may go on.
    """
    continued: list[str] = []
    entries: list[list[str]] = []
    numbers: list[int] = []
    indents: set[int] = set()
    flat, nothing = True, False
    for line, after_blank in lines:
        item = _ITEM.match(line)
        if item:
            entries.append([line[item.end() :]])
            indents.add(item.start("mark"))
            if item["number"]:
                numbers.append(int(item["number"]))
        elif after_blank:
            continue
        elif states_nothing(line):
            nothing = True
        elif entries:
            entries[-1].append(line)
        elif continues:
            continued.append(line)
        else:
            entries.append([line])
            flat = False
    in_order = not numbers or numbers == list(range(1, len(entries) + 1))
    return Below(
        continued,
        [" ".join(map(tidy, entry)) for entry in entries],
        flat=flat and in_order and len(indents) == 1,
        nothing=nothing,
    )


def list_length(below: Below) -> int | None:
    """Return how long a list without a stated count is; None where that is not certain.

    A list whose one entry is `None` or the like has no entries; such an entry among others
    makes no list.
    """
    if not below.entries and below.nothing:
        return 0
    if not below.flat or below.continued:
        return None
    if any(states_nothing(entry + "\n") for entry in below.entries):
        return 0 if len(below.entries) == 1 else None
    return len(below.entries)


def entries_of(inline: str, below: Below | None) -> tuple[str, ...]:
    """Return what is listed behind a count and below it.

    A semicolon within an entry on its own line becomes a comma, since the layout separates
    entries by semicolons.
    """
    if below is None:
        found = [inline] if ";" not in inline else inline.split(";")
    else:
        found = " ".join([inline, *map(tidy, below.continued)]).split(";")
        found += [entry.replace(";", ",") for entry in below.entries]
    return tuple(entry for entry in map(tidy, found) if entry)


def lists_something(entries: tuple[str, ...]) -> bool:
    """Return whether an entry is more than `None`, `N/A`, `No errors` or the like."""
    return not all(map(is_absent, entries))

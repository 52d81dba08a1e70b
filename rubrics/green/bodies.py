"""What the sections say: six counts and their lists, the matched findings, totals in remarks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

from judge.rubrics.green.categories import LABEL, Slot, named_category, openers, read_slot
from judge.rubrics.green.counts import ADJECTIVE, Count, read_count, says_no_errors, states_nothing
from judge.rubrics.green.layout import MATCHED, Reason, unparsed
from judge.rubrics.green.lists import ASIDE, ITEM, RULE, Listed, read_list
from judge.rubrics.green.markup import plain_section
from judge.rubrics.green.sections import Section
from judge.rubrics.significance import CATEGORIES, INSIGNIFICANT, KEY, LEVELS, SIGNIFICANT
from judge.types import Category

# What stands on a category's line before its mark.
_BEFORE_MARK = re.compile(
    r"[^\S\n]*(?:[>#\-+\u2022\u2013]+[^\S\n]*)*(?:[0-9]{1,2}[.)])?[^\S\n]*"
    r"(?:(?:error )?(?:category|type))?\s*",
    re.IGNORECASE,
)
_COUNT_BELOW = re.compile(
    r"\s*\n[^\S\n]*(?:[-+\u2022\u25e6][^\S\n]+)?"
    r"(?:(?:number of errors|count|errors?|total|number)[ ]?[:=][^\S\n]*|(?=[0-9]+\.?[^\S\n]*\n))",
    re.IGNORECASE,
)
_INTRODUCTION = re.compile(r"\s*+(?:note\b|[^\n]*:\s*$)", re.IGNORECASE)
_BULLET = re.compile(
    r"[^\S\n]*+[-+\u2022\u2013\u25cf][^\S\n]++(?:count[ ]?[:=][^\S\n]*)?", re.IGNORECASE
)
_LETTERED = re.compile(r"\s*\(?[a-zA-Z]\)")
_NUMBER_OF = re.compile(
    rf"(?<![\w.,/])(?P<number>[0-9]{{1,4}}|[a-z]{{3,9}})(?P<what>(?:[ ]{ADJECTIVE})*[ ]"
    r"(?:errors?|mistakes?|discrepanc(?:y|ies)|omissions?|findings?|matches))\b",
    re.IGNORECASE,
)
_BEHIND_COLON = re.compile(
    r"(?P<what>[^:=\n.;,]{0,80})[:=]\s*(?=[(\[]?(?:[0-9]|[a-z]{2,9}\b))", re.IGNORECASE
)
_OF_A_CATEGORY = re.compile(
    r"false|missing|missed|omi|wrong|incorrect|location|severity|comparison|major|minor|normal"
    r"|additional|other|distinct|separate|key|positive",
    re.IGNORECASE,
)
_NO_TALLY = re.compile(
    r"score|green|accuracy|rating|grade|confidence|precision|recall", re.IGNORECASE
)
_LONG = 160
"""Characters of a category's text; what is shorter is kept, once read."""


class SectionErrors(NamedTuple):
    """What an error section states, all six categories, and lists.

    `not_listed` are the categories that it leaves out and that count 0; `asides` is the
    text that is neither a count nor a list.
    """

    counts: dict[Category, int]
    entries: dict[Category, tuple[str, ...]]
    not_listed: frozenset[Category]
    asides: str


def read_errors(section: Section) -> SectionErrors:
    """Return what `section` says; raises `UnparsedError` where that is not certain."""
    kind = section.kind
    text = plain_section(section.body) + ("\n" if section.closed else "")
    found = openers(text)
    preamble = _up_to_mark("\n" + text[: found[0].start]) if found else text
    nothing, orphans, asides = _read_preamble(preamble, kind)
    counts: dict[Category, int] = {}
    entries: dict[Category, tuple[str, ...]] = {}
    for opener, following in zip_longest(found, found[1:]):
        body = _up_to_mark(text[opener.end : following.start]) if following else text[opener.end :]
        # Most lines of most answers are the same few: six labels with a 0.
        read = _read if len(body) < _LONG else _read.__wrapped__
        listed = read(kind, *opener[2:], body, section.closed or following is not None)
        asides.append(listed.aside)
        if listed.count and len(opener.categories) != 1:
            where = _where(kind, opener.categories)
            raise unparsed(Reason.UNREADABLE_COUNT, f"{where}: one count for several categories")
        for category in opener.categories:
            said = listed.count, listed.entries
            if category in counts and (counts[category], entries[category]) != said:
                where = _where(kind, opener.categories)
                raise unparsed(Reason.CONTRADICTION, f"{where} is stated twice")
            counts[category], entries[category] = said
    if nothing and (any(counts.values()) or orphans):
        raise unparsed(Reason.CONTRADICTION, f"{kind}: none are stated, and errors are listed")
    if orphans:
        raise unparsed(Reason.UNREADABLE_COUNT, f"{kind}: errors are listed under no category")
    if len(counts) == len(CATEGORIES):
        return SectionErrors(counts, entries, frozenset(), "\n".join(asides))
    absent = frozenset(() if nothing else CATEGORIES).difference(counts)
    if len(absent) == len(CATEGORIES):
        empty = Reason.UNREADABLE_COUNT if section.body.strip() else Reason.MISSING_SECTION
        raise unparsed(empty if section.closed else Reason.TRUNCATED, f"{kind} has no counts")
    if absent and not section.closed:
        raise unparsed(Reason.TRUNCATED, f"{kind} ends without {', '.join(sorted(absent))}")
    if any(not opener.categories for opener in found):
        absent = frozenset()
    counts = {category: counts.get(category, 0) for category in CATEGORIES}
    return SectionErrors(counts, entries, absent, "\n".join(asides))


def _read_preamble(text: str, kind: str) -> tuple[bool, bool, list[str]]:
    """Return whether the text before the first category says "none", whether it lists, the rest."""
    nothing = orphans = False
    asides = []
    for line in text.splitlines(keepends=True):
        stripped = line.lstrip(" \t->+\u2022")
        if not line.strip() or line.lstrip().startswith("```"):
            continue
        if states_nothing(stripped) or says_no_errors(stripped, kind):
            nothing = True
        elif ITEM.match(line) and not ASIDE.match(stripped):
            orphans = True
        else:
            asides.append(line)
    return nothing, orphans, asides


def _up_to_mark(text: str) -> str:
    """Return `text` without what only leads to the mark that follows it."""
    if text.endswith("\n"):
        return text
    start = text.rfind("\n") + 1
    if start and _BEFORE_MARK.fullmatch(text, start):
        return text[:start]
    return text.rstrip(" \t,;|-\u2022\u2013").removesuffix(" and")


def _where(kind: str, categories: tuple[Category, ...]) -> str:
    return f"{kind} ({', '.join(categories) or 'others'})"


@lru_cache(maxsize=4096)
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
    if slot.count and not label and LABEL.match(behind.lstrip()):
        head, colon, rest = behind.partition("\n")[0].partition(":")
        label, behind = head, (rest if colon else "") + behind[len(head + colon + rest) :]
    if category and style != "label" and named_category(label) not in (None, category):
        named = named_category(label)
        raise unparsed(
            Reason.CONTRADICTION, f"{where} is labelled {label[:60]!r}, which is ({named})"
        )
    return read_list(slot.count, behind, where, closed=closed, category=category)


def read_matched(section: Section) -> Listed:
    """Return how many findings match, as stated, those that are listed and the rest.

    Raises `UnparsedError` where the count is not certain.
    """
    text = plain_section(section.body) + ("\n" if section.closed else "")
    introduction, text = _introduced(text)
    if not text.strip():
        reason = Reason.MISSING_SECTION if section.closed else Reason.TRUNCATED
        raise unparsed(reason, "the matched findings are empty")
    where = "matched findings"
    stated = Count(section.stated, 0, numbers=False) if section.stated is not None else None
    bullet = _BULLET.match(text)
    if bullet and read_count(_first_line(text[bullet.end() :])):
        text = text[bullet.end() :]
    first = _first_line(text)
    count = read_count(first)
    lettered = _LETTERED.match(first) is not None
    if count is None or lettered or (stated and count.numbers and count.value != stated.value):
        listed = read_list(stated, "\n" + text, where, closed=section.closed)
    else:
        if stated and stated.value != count.value:
            raise unparsed(Reason.CONTRADICTION, f"{where}: the heading states another count")
        listed = read_list(
            count, text[min(count.end, len(first.rstrip("\n"))) :], where, closed=section.closed
        )
    return Listed(listed.count, listed.entries, "\n".join([*introduction, listed.aside]))


def _introduced(text: str) -> tuple[list[str], str]:
    """Return the lines that introduce the list, and what follows them."""
    introduction = []
    text = text.lstrip()
    while text:
        line = _first_line(text)
        is_fence = line.startswith("```") or RULE.fullmatch(line)
        introduces = not ITEM.match(line) and not read_count(line) and _INTRODUCTION.match(line)
        if not (is_fence or introduces):
            break
        introduction.append(line)
        text = text[len(line) :].lstrip()
    return introduction, text


def _first_line(text: str) -> str:
    end = text.find("\n")
    return text if end < 0 else text[: end + 1]


def check_tallies(
    asides: Mapping[str, str], stated: Mapping[str, int], headings: Mapping[str, int | None]
) -> None:
    """Raise `UnparsedError` where a total beside the counts is not their total.

    `asides` holds each section's remarks, `headings` the count in its heading if any.
    """
    totals = {
        level: sum(stated[KEY[level, category]] for category in CATEGORIES) for level in LEVELS
    }
    totals[MATCHED] = stated[MATCHED]
    for kind, aside in asides.items():
        heading = headings[kind]
        if heading is not None and heading != totals[kind]:
            raise unparsed(
                Reason.CONTRADICTION, f"the heading states {heading}, the list {totals[kind]}"
            )
        for value, allowed in _tallies(aside, kind, totals) if aside.strip() else ():
            if value not in allowed:
                raise unparsed(
                    Reason.CONTRADICTION, f"{kind}: {value} in a remark is not the total of a list"
                )


def _tallies(aside: str, kind: str, totals: Mapping[str, int]) -> list[tuple[int, set[int]]]:
    """Return each number that a remark states, and the totals that it may be."""
    said = [
        *(
            ("", line)
            for line in aside.split("\n")
            if (count := read_count(line + "\n")) and not line[count.end :].strip()
        ),
        *(
            (match["what"], match["number"])
            for match in _NUMBER_OF.finditer(aside)
            if not _OF_A_CATEGORY.search(match["what"])
        ),
        *(
            (match["what"], aside[match.end() :])
            for match in _BEHIND_COLON.finditer(aside)
            if not _NO_TALLY.search(match["what"])
        ),
    ]
    return [
        (count.value, _allowed(what, kind, totals))
        for what, number in said
        if (count := read_count(number + "\n"))
    ]


def _allowed(what: str, kind: str, totals: Mapping[str, int]) -> set[int]:
    low = what.lower()
    if "match" in low:
        return {totals[MATCHED]}
    if "insignificant" in low or "non" in low:
        return {totals[INSIGNIFICANT]}
    if "significant" in low:
        return {totals[SIGNIFICANT]}
    everything = totals[SIGNIFICANT] + totals[INSIGNIFICANT]
    return {totals[kind], everything} | ({totals[SIGNIFICANT]} if kind == MATCHED else set())

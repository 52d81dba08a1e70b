"""Reading the matched findings: one count with its list, or a list that is whole."""

from __future__ import annotations

import re

from judge.rubrics.green.counts import Count, read_count
from judge.rubrics.green.layout import Reason, unparsed
from judge.rubrics.green.lists import Listed, is_item, is_rule, read_list
from judge.rubrics.green.markup import plain_section
from judge.rubrics.green.sections import Section

_INTRODUCTION = re.compile(r"\s*+(?:note\b|[^\n]*:\s*$)", re.IGNORECASE)
_BULLET = re.compile(
    r"[^\S\n]*+[-+\u2022\u2013\u25cf][^\S\n]++(?:count[ ]?[:=][^\S\n]*)?", re.IGNORECASE
)
_LETTERED = re.compile(r"\s*\(?[a-zA-Z]\)")


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
        is_fence = line.startswith("```") or is_rule(line)
        introduces = not is_item(line) and not read_count(line) and _INTRODUCTION.match(line)
        if not (is_fence or introduces):
            break
        introduction.append(line)
        text = text[len(line) :].lstrip()
    return introduction, text


def _first_line(text: str) -> str:
    end = text.find("\n")
    return text if end < 0 else text[: end + 1]

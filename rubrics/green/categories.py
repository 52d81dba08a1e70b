"""Reading the line that opens a category: its mark, its label and its count."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from judge.rubrics.green.counts import read_count
from judge.rubrics.green.layout import CATEGORIES, tidy
from judge.types import Category

_BY_MARK = {category.value: category for category in CATEGORIES} | {
    str(number): category for number, category in enumerate(CATEGORIES, start=1)
}

_MARK = re.compile(
    r"[\s>*_#\-+\u2022\u2013]*+(?:[0-9]{1,2}[.)][^\S\n]*+(?=[*_]*[(\[]))?+[*_]*+"
    r"([(\[]?)[ ]?([a-fA-F1-6])[ ]?[)\].:](?=[\s*_:\-\u2013\u2014]|$)"
    r"[\s*_]*+(?::[\s*_]*+)?+"
)
_COUNT_FIRST = re.compile(r"[\s*_(\"'\[]*+(?:[0-9]|[a-z]{2,6}\b|n/a)", re.IGNORECASE)
_COUNT_LAST = re.compile(r"[(\[]([0-9]{1,4})[)\]][\s*_]*$")
_DASH = re.compile(r"(?:^|[^\S\n]++)[-\u2013\u2014=]++(?=[^\S\n])")
_NOT_LABEL = re.compile(r"[0-9;]|\.\s|[(\[][a-fA-F][)\]]")
_LONGEST_LABEL = 200

_COMPARES = re.compile(r"compar|prior|previous|interval|change")
_COMPARISONS = {
    Category.FALSE_COMPARISON: re.compile(
        r"\bmention(?:s|ing)?\b|false|not in |isn.t|unsupported|hallucinat"
    ),
    Category.OMITTED_COMPARISON: re.compile(r"omi(?:t|ss)|missing|missed|left out|lack"),
}
_FINDINGS = {
    Category.FALSE_FINDING: re.compile(r"false(?!.neg)|hallucinat|not in the ref"),
    Category.MISSING_FINDING: re.compile(r"missing|missed|omi(?:t|ss)|false.neg|not in the cand"),
    Category.WRONG_LOCATION: re.compile(r"locat|position|anatomic|lateral|wrong side"),
    Category.WRONG_SEVERITY: re.compile(r"sever|misassess"),
}


class Mark(NamedTuple):
    """A line's category mark: which, whether a digit, whether in brackets, and what follows."""

    category: Category
    digit: bool
    bracketed: bool
    behind: str


class Slot(NamedTuple):
    """What follows a mark. Without a count, `tail` is what stands where one is expected."""

    label: str
    named: Category | None
    stated: int | None
    tail: str


@dataclass(frozen=True, slots=True)
class _Label:
    """What can be known from the words before the colon alone."""

    text: str
    named: Category | None
    count: int | None
    may_open_with_count: bool
    has_dash: bool
    is_clean: bool


def read_mark(line: str) -> Mark | None:
    """Return the category mark that `line` begins with: `(a)`, `a)`, `A.`, `(1)`, `1.`, ..."""
    found = _MARK.match(line)
    if found is None:
        return None
    bracket, mark = found.groups()
    return Mark(_BY_MARK[mark.lower()], mark in "123456", bracket != "", line[found.end() :])


def read_slot(behind: str) -> Slot:
    """Return the label and the count of a category's line: `label: 2.`, `label (2)`, `2.`, ..."""
    before, colon, slot = behind.partition(":")
    if len(before) > _LONGEST_LABEL:
        return Slot("", None, None, behind)
    label = _read_label(before)
    if label.may_open_with_count and (count := read_count(behind)):
        return Slot("", None, count[0], behind[count[1] :])
    if label.has_dash:
        for dash in _DASH.finditer(before):
            if count := read_count(behind[dash.end() :]):
                shorter = _read_label(before[: dash.start()])
                tail = behind[dash.end() + count[1] :]
                return Slot(shorter.text, shorter.named, count[0], tail)
    if not colon:
        is_alone = label.named is not None and label.count is None
        return Slot(label.text, label.named, None, "" if is_alone else behind)
    count = read_count(slot)
    if label.count is not None:
        if count is None:
            return Slot(label.text, label.named, label.count, slot)
        if count[0] != label.count:
            return Slot(label.text, label.named, None, behind)
    elif count and not label.is_clean:
        return Slot(label.text, label.named, None, behind)
    if count is None:
        return Slot(label.text, label.named, None, slot)
    return Slot(label.text, label.named, count[0], slot[count[1] :])


def has_label(behind: str) -> bool:
    """Return whether what follows a mark begins with a label that names a category."""
    before, colon, _ = behind.partition(":")
    return colon != "" and len(before) <= _LONGEST_LABEL and _read_label(before).named is not None


@lru_cache(maxsize=4096)
def _read_label(before: str) -> _Label:
    count = _COUNT_LAST.search(before)
    return _Label(
        text=tidy(before),
        named=named_category(before),
        count=int(count[1]) if count else None,
        may_open_with_count=_COUNT_FIRST.match(before) is not None,
        has_dash=_DASH.search(before) is not None,
        is_clean=_NOT_LABEL.search(before) is None,
    )


def named_category(label: str) -> Category | None:
    """Return the one category that the words of `label` clearly name, if they do."""
    low = label.lower()
    table = _COMPARISONS if _COMPARES.search(low) else _FINDINGS
    found = [category for category, words in table.items() if words.search(low)]
    return found[0] if len(found) == 1 else None

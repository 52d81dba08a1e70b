"""What judges call the six categories of errors.

Form is read leniently, meaning strictly: a word that is not known, two that differ, and
whatever could mean two things give nothing.
"""

from __future__ import annotations

import re

from judge.types import Category

LONGEST = 120
"""Letters of the longest name there is, with room to spare: nothing longer is looked at."""
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Where the words of a name meet that is written without spaces."""

_CATEGORIES = {
    Category.FALSE_FINDING: (
        *("false finding", "false prediction", "false prediction of finding"),
        *("false report of finding", "false report of finding in candidate"),
    ),
    Category.MISSING_FINDING: (
        *("missing finding", "omitted finding", "omission of finding", "missed finding"),
        "missing finding present in reference",
    ),
    Category.WRONG_LOCATION: (
        *("wrong location", "incorrect location", "incorrect location of finding"),
        *("wrong position", "incorrect position", "incorrect position of finding"),
        *("wrong location position", "incorrect location position"),
        *("incorrect location position of finding", "misidentification of finding location"),
        "misidentification of finding s anatomic location position",
    ),
    Category.WRONG_SEVERITY: (
        *("wrong severity", "incorrect severity", "incorrect severity of finding"),
        *("misassessment of severity", "misassessment of severity of finding"),
    ),
    Category.FALSE_COMPARISON: (
        *("false comparison", "comparison not in reference"),
        "mention of comparison that is not present in reference impression",
        "mention of comparison that is not present in reference",
        "mention of comparison not present in reference",
        "mentioning comparison that isn t in reference",
    ),
    Category.OMITTED_COMPARISON: (
        *("omitted comparison", "missing comparison", "omission of comparison"),
        "omission of comparison describing change from previous study",
        "omitting comparison detailing change from prior study",
    ),
}
"""The names of the original's prompt, of GREEN's and our own, without articles."""

_NAMED = {name: category for category, names in _CATEGORIES.items() for name in names}
_ORDER = tuple(Category)
_ARTICLES = frozenset(("a", "an", "the"))
_SINGULAR = {"findings": "finding", "comparisons": "comparison", "locations": "location"}
_MARKED = re.compile(r"[\W_]*(?:(?:error\s+)?category[\W_]+)?([a-f1-6])\b(.*)", re.I | re.S)
_LETTERS = re.compile(r"[\W_]*[a-f](?:(?:[\s,;/&+|()\[\]\"']|\band\b)+[a-f]\b)*[\W_]*", re.I)
_APART = re.compile(r"[,;|\n]|\band\b|&")


def category_of(value: object) -> Category | None:
    """Return the category that `value` names: a letter, a number from 1, a name, or two in accord.

    None for anything that is none of the six.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return _ORDER[value - 1] if 1 <= value <= len(_ORDER) else None
    if not isinstance(value, str) or len(value) > LONGEST:
        return None
    marked = _MARKED.fullmatch(value)
    if marked is None:
        return _named(value)
    named = _named(marked[2])
    mark = marked[1].lower()
    category = _ORDER[int(mark) - 1] if mark.isdigit() else Category(mark)
    alone = re.search(r"[^\W_]", marked[2]) is None
    return category if alone or named is category else None


def _named(text: str) -> Category | None:
    if re.search(r"[0-9?]", text):
        return None
    words = re.findall(r"[^\W_]+", CAMEL.sub(" ", text).lower())
    kept = [_SINGULAR.get(word, word) for word in words if word not in _ARTICLES]
    while kept and kept[-1] in ("error", "errors"):
        kept.pop()
    return _NAMED.get(" ".join(kept))


def categories_of(value: object) -> list[Category] | None:
    """Return the categories that `value` names, a list of them or one text, each once, in order.

    None where one of them is none of the six; an empty list where there is none.
    """
    given: object = [value] if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(given, str):
        given = _parts(given)
    if not isinstance(given, list):
        return None
    parts = [(_parts(one) if isinstance(one, str) else None) or [one] for one in given]
    found = {category_of(part) for several in parts for part in several}
    return None if None in found else sorted(category for category in found if category)


def _parts(text: str) -> list[str]:
    if len(text) <= LONGEST and _LETTERS.fullmatch(text):
        return re.findall(r"\b[a-f]\b", text, re.I)
    return [text] if category_of(text) else [part for part in _APART.split(text) if part.strip()]

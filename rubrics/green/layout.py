"""The words of the GREEN answer layout, and what a text in it may hold.

Shared by the parser and the renderer, so that one is the inverse of the other.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from judge.rubrics.categories import CATEGORY, ERROR, error
from judge.rubrics.significance import INSIGNIFICANT, KEY, KEYS, SIGNIFICANCE, SIGNIFICANT
from judge.types import Annotation, Category, Item, UnparsedError

MATCHED = "matched"
EXPLANATION = "explanation"

TITLES = {
    EXPLANATION: "Explanation",
    SIGNIFICANT: "Clinically Significant Errors",
    INSIGNIFICANT: "Clinically Insignificant Errors",
    MATCHED: "Matched Findings",
}
"""The sections in the order of the published layout, and their headings."""

END = "\x03"
"""Stands on a line of its own where the judge's end-of-answer token was."""

NAMES = (*KEYS, MATCHED)
NOT_LISTED = "category not listed, counted 0: "
DIFFERS = "stated count differs from list: "

# White space as `str.isspace` knows it, the asterisks of bold type, what separates entries.
_EDGES = string.whitespace + "\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000*,;|"
_EDGES += "".join(map(chr, range(0x2000, 0x200B)))

HEADING = re.compile(
    r"""
    ^(?:[^\S\n]*+(?:[>\#]++[^\S\n]*+)*+(?:[^\w\s!-~]++[^\S\n]*+)?+
    (?:[0-9]{1,2}[.)][^\S\n]++(?![*_]*+\[)|[IVX]{1,4}[.)][^\S\n]++)?+[*_]*+
    (?P<bracket>\[)?+[*_]*+
    (?P<name>explanations?
        |(?:clinically[^\S\n]++)?(?:non-?|in|not[^\S\n]++)?significant[^\S\n]++errors?
        |match(?:ed|ing)[^\S\n]++findings?)
    [*_]*+(?(bracket):?\])[*_]*+
    (?:[^\S\n]*+[(\[](?P<stated>(?:total[^\S\n]*[:=]?[^\S\n]*)?[0-9a-z]{1,6}
        (?:[^\S\n](?:in[^\S\n])?(?:total|errors?|findings?|matched))?)[)\]])?+
    [*_]*+[^\S\n]*+(?:[:=][*_]*+|(?:[-\u2013\u2014]|[-=]>|\u2192)(?=\s)|(?=\n))
    |\x03(?=\n))
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
"""A line head that opens a section, or an `END` line. In brackets or plain, marked up or not."""
_PLACEHOLDER = (
    r"[\s*_]*+(?:<[^<>\n]{1,80}>|\{[^{}\n]{1,80}\}|\[[A-Za-z][^\[\]\n]{2,80}\]"
    r"|\([A-Za-z][^()\n]{2,80}\)|[NnXx#](?=\.|\s*$))"
)
PLACEHOLDER = re.compile(_PLACEHOLDER)
"""What a template has where an answer has a count."""
TEMPLATE_LINE = re.compile(
    rf"^[^\S\n]*+[>*_#\-]*+[^\S\n]*+[(\[]?[a-fA-F1-6][)\].:][^:\n]*+:(?={_PLACEHOLDER})",
    re.MULTILINE,
)
"""A category's line in a template, as far as the placeholder."""
BODY_PLACEHOLDER = re.compile(r"\s*(?:<[^<>]*>|\([^()]*\)|\{[^{}]*\})\s*")
"""What a template has in place of a whole section."""


class Reason(StrEnum):
    """Why an answer is `Unparsed`; there are no other reasons."""

    EMPTY = "empty"
    """Nothing but white space and end tokens."""
    REFUSAL = "refusal"
    """No sections, and the judge says that it will not or cannot answer."""
    MISSING_SECTION = "missing section"
    """One of the three sections that count is not there, or has nothing in it."""
    TRUNCATED = "truncated"
    """The answer may have been cut: what counts touches its end or is not proved to be whole."""
    UNREADABLE_COUNT = "unreadable count"
    """A count is absent or vague, or an error stands under no category."""
    CONTRADICTION = "contradiction"
    """The answer says two different things about one count."""


def unparsed(reason: Reason, detail: str) -> UnparsedError:
    """Return the exception for `reason`, to be raised."""
    return UnparsedError(reason.value, detail)


def an_error(level: str, category: Category, text: str) -> Item:
    """Return one error of a list."""
    return error((category,), SIGNIFICANCE, level, text)


def matched_finding(text: str) -> Item:
    """Return one finding of the last section."""
    return Item(MATCHED, text)


def key_of(item: Item) -> str:
    """Return the name of the count that an item is one of; ValueError where GREEN has none."""
    if item.kind == MATCHED:
        return MATCHED
    try:
        if item.kind == ERROR:
            return KEY[item.label(SIGNIFICANCE), Category(item.label(CATEGORY.name))]
    except KeyError:
        pass
    raise ValueError(f"no item of GREEN: {item}")


def counts_of(items: Iterable[Item]) -> dict[str, int]:
    """Return how many of the items each count has; raises as `key_of` does."""
    found = dict.fromkeys(NAMES, 0)
    for item in items:
        found[key_of(item)] += 1
    return found


def texts_by_count(annotation: Annotation) -> dict[str, list[str]]:
    """Return the lists of an answer by the names of their counts; raises as `key_of` does."""
    texts: dict[str, list[str]] = {name: [] for name in NAMES}
    for item in annotation.items:
        texts[key_of(item)].append(item.text)
    return texts


def warnings_on(
    stated: Mapping[str, int], items: Sequence[Item], not_listed: frozenset[str]
) -> tuple[str, ...]:
    """Return what is odd about the counts: one warning a count, in the order of `KEYS`.

    Each warning is one of two fixed texts followed by the name of the count: a category
    that the answer leaves out (`not_listed`) counts 0, and a count that differs from the
    length of its list is kept beside the list.
    """
    listed = counts_of(items)
    if stated == listed and not not_listed:
        return ()
    return tuple(
        (NOT_LISTED if name in not_listed else DIFFERS) + name
        for name, count in listed.items()
        if name in not_listed or stated[name] != count
    )


def tidy(text: str) -> str:
    """Return `text` without white space, asterisks and separators around it."""
    return text.strip(_EDGES)

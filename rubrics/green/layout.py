"""The words of the GREEN answer layout, and what a text in it may hold.

Shared by the parser and the renderer, so that one is the inverse of the other.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from enum import StrEnum

from judge.rubrics.wrapping import CHAT_TOKEN
from judge.types import Category, Error, UnparsedError

SIGNIFICANT = "significant"
INSIGNIFICANT = "insignificant"
LEVELS = (SIGNIFICANT, INSIGNIFICANT)
MATCHED = "matched"
EXPLANATION = "explanation"

TITLES = {
    EXPLANATION: "Explanation",
    SIGNIFICANT: "Clinically Significant Errors",
    INSIGNIFICANT: "Clinically Insignificant Errors",
    MATCHED: "Matched Findings",
}
"""The sections in the order of the published layout, and their headings."""

MAX_COUNT = 9999
"""The largest count that is read; a longer digit run is no count."""

END = "\x03"
"""Stands on a line of its own where the judge's end-of-answer token was."""


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


CATEGORIES = tuple(Category)
"""The six categories in their order."""

KEY = {
    (level, category): f"{level}_{category.value}" for level in LEVELS for category in CATEGORIES
}
"""The name of each error count in `Annotation.stated`, such as `significant_a`."""

KEYS = tuple(KEY.values())
"""The names of the twelve error counts, in the order in which they are written."""

NOT_LISTED = "category not listed, counted 0: "
DIFFERS = "stated count differs from list: "


def remarks_on(
    stated: Mapping[str, int],
    errors: Sequence[Error],
    matched: Sequence[str],
    not_listed: frozenset[str] = frozenset(),
) -> tuple[str, ...]:
    """Return what is odd about the counts: one remark a count, in the order of `KEYS`.

    Each remark is one of two fixed texts followed by the name of the count: a category
    that the answer leaves out (`not_listed`) counts 0, and a count that differs from the
    length of its list is kept beside the list.
    """
    listed = dict.fromkeys((*KEYS, MATCHED), 0)
    for error in errors:
        listed[KEY[error.level, error.categories[0]]] += 1
    listed[MATCHED] = len(matched)
    if stated == listed and not not_listed:
        return ()
    remarks = []
    for name, count in listed.items():
        if name in not_listed:
            remarks.append(NOT_LISTED + name)
        elif stated[name] != count:
            remarks.append(DIFFERS + name)
    return tuple(remarks)


# White space as `str.isspace` knows it, and the asterisks of bold and italic type.
_EDGES = string.whitespace + "\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000*"
_EDGES += "".join(map(chr, range(0x2000, 0x200B)))


def tidy(text: str) -> str:
    """Return `text` without white space and asterisks around it."""
    return text.strip(_EDGES)


HEADING = re.compile(
    r"""
    ^(?:[^\S\n]*+(?:[>\#]++[^\S\n]*+)*+(?:[0-9]{1,2}[.)][^\S\n]++(?![*_]*+\[))?+[*_]*+
    (?P<bracket>\[)?+[*_]*+
    (?P<name>explanations?
        |(?:clinically[^\S\n]++)?(?:non-?|in|not[^\S\n]++)?significant[^\S\n]++errors?
        |match(?:ed|ing)[^\S\n]++findings?)
    [*_]*+(?(bracket):?\])[*_]*+[^\S\n]*+(?::[*_]*+|(?=\n))
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

INLINE = re.compile(
    r"\(([a-fA-F1-6])\)[^:;\n]{0,100}:[\s*_]*+(?:[0-9]|no\b|none\b|zero\b)", re.IGNORECASE
)
"""A further category with its count in the middle of a line."""


def fits_list(text: str) -> bool:
    """Return whether `text` can stand as an entry of a list and be read back unchanged.

    An error must not match `INLINE` either.
    """
    return (
        text != ""
        and text == tidy(text)
        and not any(mark in text for mark in ";\n\r")
        and not CHAT_TOKEN.search(text)
    )


def fits_explanation(text: str) -> bool:
    """Return whether `text` can stand as the explanation and be read back unchanged."""
    return (
        text == text.strip()
        and "\r" not in text
        and not CHAT_TOKEN.search(text)
        and not any(opens_section(line) for line in text.split("\n"))
        and not BODY_PLACEHOLDER.fullmatch(text)
    )


def opens_section(line: str) -> bool:
    """Return whether `line` would open a section in an answer whose headings have brackets."""
    heading = HEADING.match(line + "\n")
    return heading is not None and (heading["bracket"] is not None or heading["name"] is None)

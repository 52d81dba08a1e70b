"""The words of the GREEN answer layout, and the parts of an annotation that it expresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from judge.rubrics.categories import (
    CATEGORY,
    ERROR,
    INSIGNIFICANT,
    KEY,
    KEYS,
    SIGNIFICANCE,
    SIGNIFICANT,
    error,
)
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

NAMES = (*KEYS, MATCHED)
NOT_LISTED = "category not listed, counted 0: "
DIFFERS = "stated count differs from list: "


class Reason(StrEnum):
    """Why an answer is `Unparsed`, beside the reasons of `notation.answer_in`."""

    REFUSAL = "refusal"
    """No sections, and the judge says that it will not or cannot answer."""
    MISSING_SECTION = "missing section"
    """A heading is not there on a line of its own, or nothing stands under it."""
    TRUNCATED = "truncated"
    """The answer may have been cut where the last count or its list stands."""
    UNREADABLE_COUNT = "unreadable count"
    """Behind a colon, or first under the matched findings, is no count."""
    COUNT_DIFFERS = "count and list differ"
    """The list has more or fewer items than are stated."""
    CONTRADICTION = "contradiction"
    """A category twice, out of order or by another's name, or items under 0."""
    DOUBTFUL_ITEM = "doubtful item"
    """An item denies, remarks, or may be several."""
    NOT_THE_LAYOUT = "not in the layout"
    """Something is left over: a line, a heading, a second answer."""


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

"""From an annotation to the answer that a judge would give."""

from __future__ import annotations

from judge.rubrics.categories import CATEGORY
from judge.rubrics.green.categories import fits_error
from judge.rubrics.green.layout import (
    CATEGORIES,
    EXPLANATION,
    KEY,
    KEYS,
    LEVELS,
    MATCHED,
    MAX_COUNT,
    NOT_LISTED,
    TITLES,
    key_of,
    texts_by_count,
    warnings_on,
)
from judge.rubrics.green.lists import fits_list
from judge.rubrics.green.sections import fits_explanation
from judge.types import Annotation


def render(annotation: Annotation) -> str:
    """Return `annotation` in the published layout, so that `parse` gives it back unchanged.

    Raises `ValueError` for an annotation that the layout cannot hold: an error without
    exactly one category or with an edit, errors out of order, a text that is empty, or has
    a semicolon, a line break, white space or an asterisk at an end, a chat token or
    another category's count in it, an explanation with a heading in it, a count that is
    missing, or 0 with a list, a warning that does not follow from the
    counts. `baseline` gives none of these, nor does `parse`.
    """
    not_listed = _check(annotation)
    texts = texts_by_count(annotation)
    sections = [f"[{TITLES[EXPLANATION]}]:\n{annotation.explanation}"]
    for level in LEVELS:
        lines = [f"[{TITLES[level]}]:"]
        for category in CATEGORIES:
            if KEY[level, category] not in not_listed:
                name = KEY[level, category]
                label = CATEGORY[category].label.capitalize()
                listed = _listed(annotation.stated_counts[name], texts[name])
                lines.append(f"({category.value}) {label}: {listed}")
        sections.append("\n".join(lines))
    matched = _listed(annotation.stated_counts[MATCHED], texts[MATCHED])
    sections.append(f"[{TITLES[MATCHED]}]:\n{matched}")
    return "\n\n".join(sections)


_NAMES = (*KEYS, MATCHED)


def _listed(count: int, texts: list[str]) -> str:
    return f"{count}. {'; '.join(texts)}".rstrip(" ")


def _check(annotation: Annotation) -> frozenset[str]:
    """Return the counts whose lines are to be left out; raises `ValueError`."""
    stated = annotation.stated_counts
    if set(stated) != {*KEYS, MATCHED}:
        raise ValueError(f"stated_counts needs exactly {', '.join(KEYS)}, {MATCHED}")
    if not all(0 <= count <= MAX_COUNT for count in stated.values()):
        raise ValueError(f"a stated count is from 0 to {MAX_COUNT}")
    if annotation.values:
        raise ValueError("the layout has no numbers but its counts")
    _check_lists(annotation)
    if not fits_explanation(annotation.explanation):
        raise ValueError(f"not an explanation: {annotation.explanation!r}")
    return _check_warnings(annotation)


def _check_lists(annotation: Annotation) -> None:
    order = []
    for item in annotation.items:
        try:
            order.append(_NAMES.index(key_of(item)))
        except KeyError as error:
            raise ValueError(f"no item of GREEN: {item}") from error
        if item.edit is not None or item.side is not None or item.links:
            raise ValueError(f"an error of GREEN has no edit, no side and no links: {item}")
        if not fits_list(item.text):
            raise ValueError(f"not an entry of a list: {item.text!r}")
        if item.kind != MATCHED and not fits_error(item.text):
            raise ValueError(f"another category's count in an error: {item.text!r}")
    if order != sorted(order):
        raise ValueError("errors stand in the order of significance and category")
    if any(annotation.stated_counts[_NAMES[row]] == 0 for row in order):
        raise ValueError("a count of 0 has no list")


def _check_warnings(annotation: Annotation) -> frozenset[str]:
    stated = annotation.stated_counts
    not_listed = frozenset(
        warning.removeprefix(NOT_LISTED)
        for warning in annotation.warnings
        if warning.startswith(NOT_LISTED)
    )
    if annotation.warnings != warnings_on(stated, annotation.items, not_listed):
        raise ValueError(f"warnings do not follow from the counts: {annotation.warnings}")
    if any(stated[name] for name in not_listed):
        raise ValueError("a category that is not listed counts 0")
    if any(all(KEY[level, category] in not_listed for category in CATEGORIES) for level in LEVELS):
        raise ValueError("at least one category of a level is listed")
    return not_listed

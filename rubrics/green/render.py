"""From an annotation to the answer that a judge would give."""

from __future__ import annotations

from judge.rubrics.green.layout import (
    CATEGORIES,
    EXPLANATION,
    INLINE,
    KEY,
    KEYS,
    LEVELS,
    MATCHED,
    MAX_COUNT,
    NOT_LISTED,
    TITLES,
    fits_explanation,
    fits_list,
    remarks_on,
)
from judge.types import Annotation


def render(annotation: Annotation) -> str:
    """Return `annotation` in the published layout, so that `parse` gives it back unchanged.

    Raises `ValueError` for an annotation that the layout cannot hold: an error without
    exactly one category or with an edit, errors out of order, a text that is empty, or has
    a semicolon, a line break, white space or an asterisk at an end, a chat token or
    another category's count in it, an explanation with a heading in it, a count that is
    missing, or 0 with a list, a remark that does not follow from the counts.
    `from_comparison` gives none of these, nor does `parse`.
    """
    not_listed = _check(annotation)
    sections = [f"[{TITLES[EXPLANATION]}]:\n{annotation.explanation}"]
    for level in LEVELS:
        lines = [f"[{TITLES[level]}]:"]
        for category in CATEGORIES:
            if KEY[level, category] not in not_listed:
                texts = [
                    error.text
                    for error in annotation.errors
                    if error.level == level and error.categories == (category,)
                ]
                count = annotation.stated[KEY[level, category]]
                label = category.label.capitalize()
                lines.append(f"({category.value}) {label}: {_listed(count, texts)}")
        sections.append("\n".join(lines))
    matched = _listed(annotation.stated[MATCHED], list(annotation.matched))
    sections.append(f"[{TITLES[MATCHED]}]:\n{matched}")
    return "\n\n".join(sections)


def _listed(count: int, texts: list[str]) -> str:
    return f"{count}. {'; '.join(texts)}".rstrip(" ")


def _check(annotation: Annotation) -> frozenset[str]:
    """Return the counts whose lines are to be left out; raises `ValueError`."""
    stated = annotation.stated
    if set(stated) != {*KEYS, MATCHED}:
        raise ValueError(f"stated needs exactly {', '.join(KEYS)}, {MATCHED}")
    if not all(0 <= count <= MAX_COUNT for count in stated.values()):
        raise ValueError(f"a stated count is from 0 to {MAX_COUNT}")
    _check_lists(annotation)
    if not fits_explanation(annotation.explanation):
        raise ValueError(f"not an explanation: {annotation.explanation!r}")
    return _check_remarks(annotation)


def _check_lists(annotation: Annotation) -> None:
    stated = annotation.stated
    order = []
    for error in annotation.errors:
        if len(error.categories) != 1 or error.edit is not None or error.level not in LEVELS:
            raise ValueError(f"an error of GREEN has one category, a level and no edit: {error}")
        order.append(KEYS.index(KEY[error.level, error.categories[0]]))
    if order != sorted(order):
        raise ValueError("errors stand in the order of level and category")
    for text in (*(error.text for error in annotation.errors), *annotation.matched):
        if not fits_list(text):
            raise ValueError(f"not an entry of a list: {text!r}")
    for error in annotation.errors:
        if INLINE.search(error.text):
            raise ValueError(f"another category's count in an error: {error.text!r}")
    if any(stated[KEYS[at]] == 0 for at in order) or (annotation.matched and not stated[MATCHED]):
        raise ValueError("a count of 0 has no list")


def _check_remarks(annotation: Annotation) -> frozenset[str]:
    stated = annotation.stated
    not_listed = frozenset(
        remark.removeprefix(NOT_LISTED)
        for remark in annotation.remarks
        if remark.startswith(NOT_LISTED)
    )
    if annotation.remarks != remarks_on(stated, annotation.errors, annotation.matched, not_listed):
        raise ValueError(f"remarks do not follow from the counts: {annotation.remarks}")
    if any(stated[name] for name in not_listed):
        raise ValueError("a category that is not listed counts 0")
    if any(all(KEY[level, category] in not_listed for category in CATEGORIES) for level in LEVELS):
        raise ValueError("at least one category of a level is listed")
    return not_listed

"""From an annotation, or what the built-in judge found, to the answer that a judge would give."""

from __future__ import annotations

import re

from judge.rubrics.categories import CATEGORY
from judge.rubrics.green.categories import fits_error
from judge.rubrics.green.layout import (
    END,
    EXPLANATION,
    MATCHED,
    NAMES,
    NOT_LISTED,
    TITLES,
    an_error,
    counts_of,
    key_of,
    matched_finding,
    texts_by_count,
    tidy,
    warnings_on,
)
from judge.rubrics.green.lists import fits_list
from judge.rubrics.green.markup import plain_answer
from judge.rubrics.green.sections import fits_explanation, opens_section
from judge.rubrics.significance import CATEGORIES, KEY, KEYS, LEVELS, MAX_COUNT, level_of
from judge.types import Annotation, ReportComparison, Study

_NO_BRACKETS = str.maketrans(dict.fromkeys("()[]<>{}" + END, " "))
_NO_COLONS = str.maketrans(
    {":": ",", "=": ",", "|": ",", "`": "'", "*": " ", "~": " ", "\u2022": ","}
)
_NO_MARKUP = re.compile(r"[^\w\s,'\"/%+-]|_")
_NUMBER_STOP = re.compile(r"(?<=[0-9])[.)](?!\S)")


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


def _listed(count: int, texts: list[str]) -> str:
    return f"{count}. {'; '.join(texts)}".rstrip(" ")


def _check(annotation: Annotation) -> frozenset[str]:
    """Return the counts whose lines are to be left out; raises `ValueError`."""
    stated = annotation.stated_counts
    if set(stated) != set(NAMES):
        raise ValueError(f"stated_counts needs exactly {', '.join(NAMES)}")
    if not all(0 <= count <= MAX_COUNT for count in stated.values()):
        raise ValueError(f"a stated count is from 0 to {MAX_COUNT}")
    if annotation.values:
        raise ValueError("the layout has no numbers but its counts")
    _check_lists(annotation)
    if not fits_explanation(annotation.explanation):
        raise ValueError(f"not an explanation: {annotation.explanation!r}")
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


def _check_lists(annotation: Annotation) -> None:
    order = []
    for item in annotation.items:
        order.append(NAMES.index(key_of(item)))
        if item.edit is not None or item.side is not None or item.links:
            raise ValueError(f"an error of GREEN has no edit, no side and no links: {item}")
        if not fits_list(item.text):
            raise ValueError(f"not an entry of a list: {item.text!r}")
        if item.kind != MATCHED and not fits_error(item.text):
            raise ValueError(f"another category's count in an error: {item.text!r}")
    if order != sorted(order):
        raise ValueError("errors stand in the order of significance and category")
    if any(annotation.stated_counts[NAMES[row]] == 0 for row in order):
        raise ValueError("a count of 0 has no list")


def baseline(comparison: ReportComparison, _study: Study) -> Annotation:
    """Return what rules found as a GREEN annotation that `render` can write.

    A discrepancy of severity 2 or more is clinically significant. Its text is brought into
    the form that a list of the layout can hold: one line, commas for semicolons.
    """
    errors = [
        an_error(
            level_of(discrepancy),
            discrepancy.category,
            _entry(discrepancy.text) or _entry(discrepancy.finding) or "finding",
        )
        for discrepancy in comparison.discrepancies
    ]
    errors.sort(key=lambda error: KEYS.index(key_of(error)))
    matched = (matched_finding(_entry(text) or "finding") for text in comparison.matched)
    items = (*errors, *matched)
    return Annotation(items, _explanation(comparison.explanation), stated_counts=counts_of(items))


def _entry(text: str) -> str:
    """Return `text` as a list of the layout can hold it; signs that would mislead are left out."""
    entry = tidy(" ".join(text.replace(";", ",").split()))
    for change in (
        lambda text: _NUMBER_STOP.sub("", text.translate(_NO_COLONS)),
        lambda text: text.translate(_NO_BRACKETS),
        lambda text: _NO_MARKUP.sub(" ", text),
    ):
        if entry == "" or (fits_list(entry) and fits_error(entry)):
            return entry
        entry = tidy(" ".join(change(entry).split()))
    return entry if fits_list(entry) and fits_error(entry) else ""


def _explanation(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.replace("\r", "\n").split("\n"))
    lines = (line.translate(_NO_BRACKETS) if opens_section(line) else line for line in lines)
    explanation = "\n".join(lines).strip()
    if not fits_explanation(explanation):
        explanation = plain_answer(explanation.translate(_NO_BRACKETS)).strip()
    if fits_explanation(explanation):
        return explanation
    return _NO_MARKUP.sub(" ", explanation).strip()

"""From an annotation, or what the built-in judge found, to the answer that a judge would give."""

from __future__ import annotations

import re

from judge.rubrics.categories import CATEGORIES, CATEGORY, KEY, KEYS, LEVELS, level_of
from judge.rubrics.green.layout import (
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
)
from judge.rubrics.green.parse import fits_explanation, fits_item, parse
from judge.types import Annotation, ReportComparison, Study, UnparsedError

_NO_BRACKETS = str.maketrans(dict.fromkeys("()[]<>{}", " "))
_NO_COLONS = str.maketrans(
    {":": ",", "=": ",", "|": ",", "`": "'", "*": " ", "~": " ", "\u2022": ","}
)
_NO_MARKUP = re.compile(r"[^\w\s,'\"/%+-]|_")
_NUMBER_STOP = re.compile(r"(?<=[0-9])[.)](?!\S)")
_EDGES = " *,;|"
_NO_STUDY = Study("", "", "")


def render(annotation: Annotation) -> str:
    """Return `annotation` in GREEN's layout, so that `parse` gives it back unchanged.

    What only faithful mode reads, such as a count that differs from its list, only that reads
    back. Raises `ValueError` for an annotation that the layout cannot hold; `baseline` and `parse`
    give none of these.
    """
    stated = annotation.stated_counts
    if set(stated) != set(NAMES):
        raise ValueError(f"stated_counts needs exactly {', '.join(NAMES)}")
    not_listed = {
        warning.removeprefix(NOT_LISTED)
        for warning in annotation.warnings
        if warning.startswith(NOT_LISTED)
    }
    texts = texts_by_count(annotation)
    sections = [f"[{TITLES[EXPLANATION]}]:\n{annotation.explanation}"]
    for level in LEVELS:
        lines = [f"[{TITLES[level]}]:"]
        for category in CATEGORIES:
            if (name := KEY[level, category]) not in not_listed:
                label = CATEGORY[category].label.capitalize()
                listed = _written(stated[name], texts[name])
                lines.append(f"({category.value}) {label}: {listed}")
        sections.append("\n".join(lines))
    sections.append(f"[{TITLES[MATCHED]}]:\n{_written(stated[MATCHED], texts[MATCHED])}")
    text = "\n\n".join(sections)
    try:
        expressed = parse(text, _NO_STUDY, complete=True, faithful=True)
    except UnparsedError as error:
        raise ValueError(f"the layout cannot hold this: {error}") from error
    if expressed != annotation:
        raise ValueError("the layout cannot hold all of this annotation")
    return text


def _written(count: int, texts: list[str]) -> str:
    return f"{count}. {'; '.join(texts)}".rstrip(" ")


def baseline(comparison: ReportComparison, _study: Study) -> Annotation:
    """Return what rules found as a GREEN annotation that `render` can write.

    A discrepancy of severity 2 or more is clinically significant. Its text is brought into
    the form that a list of the layout can hold: one line, commas for semicolons.
    """
    errors = [
        an_error(
            level_of(discrepancy),
            discrepancy.category,
            _entry(discrepancy.text) or _entry(discrepancy.finding) or "unnamed finding",
        )
        for discrepancy in comparison.discrepancies
    ]
    errors.sort(key=lambda error: KEYS.index(key_of(error)))
    matched = (matched_finding(_entry(text) or "unnamed finding") for text in comparison.matched)
    items = (*errors, *matched)
    return Annotation(items, _explanation(comparison.explanation), stated_counts=counts_of(items))


def _entry(text: str) -> str:
    entry = " ".join(text.replace(";", ",").split()).strip(_EDGES)
    for change in (
        lambda text: _NUMBER_STOP.sub("", text.translate(_NO_COLONS)),
        lambda text: text.translate(_NO_BRACKETS),
        lambda text: _NO_MARKUP.sub(" ", text),
    ):
        if entry == "" or fits_item(entry):
            return entry
        entry = " ".join(change(entry).split()).strip(_EDGES)
    return entry if fits_item(entry) else ""


def _explanation(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.replace("\r", "\n").split("\n"))
    explanation = "\n".join(lines).strip()
    if not fits_explanation(explanation):
        explanation = " ".join(explanation.translate(_NO_BRACKETS).split())
    if not fits_explanation(explanation):
        explanation = f"It says: {explanation}"
    return explanation

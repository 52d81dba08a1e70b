"""The numbers of a study, and how the built-in judge's findings become an annotation."""

from __future__ import annotations

import re
from collections import Counter

from judge.rubrics.green.categories import fits_error
from judge.rubrics.green.layout import (
    CATEGORIES,
    END,
    INSIGNIFICANT,
    KEY,
    KEYS,
    LEVELS,
    MATCHED,
    SIGNIFICANT,
    an_error,
    key_of,
    matched_finding,
    tidy,
)
from judge.rubrics.green.lists import fits_list
from judge.rubrics.green.markup import plain_answer
from judge.rubrics.green.sections import fits_explanation, opens_section
from judge.types import Annotation, Measures, ReportComparison, Study

_LEAST_SIGNIFICANT = 2
"""The lowest severity of a discrepancy that counts as clinically significant."""


def measure(annotation: Annotation, _study: Study) -> Measures:
    """Return the study's GREEN score and its counts, all as stated.

    `green` = matched / (matched + clinically significant errors), 0 when nothing matched
    [Ostmeier et al. 2024]. Insignificant errors don't enter it. Where an answer lists more
    or fewer errors than it states, the stated count holds, as in the published
    implementation.
    """
    stated = annotation.stated_counts
    significant, insignificant = (
        sum(stated[KEY[level, category]] for category in CATEGORIES) for level in LEVELS
    )
    matched = stated[MATCHED]
    return {
        "green": matched / (matched + significant) if matched else 0.0,
        "n_significant": significant,
        "n_insignificant": insignificant,
        "n_matched": matched,
        **{name: stated[name] for name in KEYS},
    }


def baseline(comparison: ReportComparison, _study: Study) -> Annotation:
    """Return what rules found as a GREEN annotation that `render` can write.

    A discrepancy of severity 2 or more is clinically significant. Its text is brought into
    the form that a list of the layout can hold: one line, commas for semicolons.
    """
    errors = [
        an_error(
            SIGNIFICANT if discrepancy.severity >= _LEAST_SIGNIFICANT else INSIGNIFICANT,
            discrepancy.category,
            _entry(discrepancy.text) or _entry(discrepancy.finding) or "finding",
        )
        for discrepancy in comparison.discrepancies
    ]
    errors.sort(key=lambda error: KEYS.index(key_of(error)))
    matched = (matched_finding(_entry(text) or "finding") for text in comparison.matched)
    items = (*errors, *matched)
    return Annotation(
        items=items,
        explanation=_explanation(comparison.explanation),
        stated_counts=dict.fromkeys((*KEYS, MATCHED), 0) | Counter(map(key_of, items)),
    )


_NO_BRACKETS = str.maketrans(dict.fromkeys("()[]<>{}" + END, " "))


_NO_COLONS = str.maketrans(
    {":": ",", "=": ",", "|": ",", "`": "'", "*": " ", "~": " ", "\u2022": ","}
)
_NO_MARKUP = re.compile(r"[^\w\s,'\"/%+-]|_")
_NUMBER_STOP = re.compile(r"(?<=[0-9])[.)](?!\S)")


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

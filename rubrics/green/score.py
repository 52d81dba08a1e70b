"""What an annotation is worth, and how the built-in judge's findings become one."""

from __future__ import annotations

from judge.rubrics.green.layout import (
    BODY_PLACEHOLDER,
    CATEGORIES,
    END,
    INLINE,
    INSIGNIFICANT,
    KEY,
    KEYS,
    LEVELS,
    MATCHED,
    SIGNIFICANT,
    opens_section,
    tidy,
)
from judge.rubrics.wrapping import CHAT_TOKEN
from judge.types import Annotation, Comparison, Error, Study, StudyCounts

_LEAST_SIGNIFICANT = 2
"""The lowest severity of a discrepancy that counts as clinically significant."""


def score(annotation: Annotation, _study: Study) -> StudyCounts:
    """Return the study's counts, all as stated, and its GREEN score.

    `green` = matched / (matched + clinically significant errors), 0 when nothing matched
    [Ostmeier et al. 2024]. Insignificant errors don't enter it. Where an answer lists more
    or fewer errors than it states, the stated count holds, as in the published
    implementation.
    """
    stated = annotation.stated
    by_category = {counted: stated[name] for counted, name in KEY.items()}
    by_level = {
        level: sum(by_category[level, category] for category in CATEGORIES) for level in LEVELS
    }
    matched, significant = stated[MATCHED], by_level[SIGNIFICANT]
    return StudyCounts(
        by_level=by_level,
        by_category=by_category,
        n_significant=significant,
        n_insignificant=by_level[INSIGNIFICANT],
        n_actionable=None,
        n_matched=matched,
        scores={"green": matched / (matched + significant) if matched else 0.0},
    )


def from_comparison(comparison: Comparison, _study: Study) -> Annotation:
    """Return what rules found as a GREEN annotation that `render` can write.

    A discrepancy of severity 2 or more is clinically significant. Its text is brought into
    the form that a list of the layout can hold: one line, commas for semicolons.
    """
    errors = [
        Error(
            (discrepancy.category,),
            SIGNIFICANT if discrepancy.severity >= _LEAST_SIGNIFICANT else INSIGNIFICANT,
            _entry(discrepancy.text) or _entry(discrepancy.finding) or discrepancy.category.label,
        )
        for discrepancy in comparison.discrepancies
    ]
    errors.sort(key=lambda error: KEYS.index(KEY[error.level, error.categories[0]]))
    matched = tuple(_entry(finding) or "finding" for finding in comparison.matched)
    stated = dict.fromkeys(KEYS, 0)
    for error in errors:
        stated[KEY[error.level, error.categories[0]]] += 1
    return Annotation(
        errors=tuple(errors),
        matched=matched,
        explanation=_explanation(comparison.explanation),
        stated={**stated, MATCHED: len(matched)},
    )


_NO_BRACKETS = str.maketrans(dict.fromkeys("()[]<>{}" + END, " "))


def _entry(text: str) -> str:
    entry = tidy(" ".join(text.replace(";", ",").split()))
    if CHAT_TOKEN.search(entry) or INLINE.search(entry):
        entry = tidy(" ".join(entry.translate(_NO_BRACKETS).split()))
    return entry


def _explanation(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.replace("\r", "\n").split("\n"))
    lines = (line.translate(_NO_BRACKETS) if opens_section(line) else line for line in lines)
    explanation = "\n".join(lines).strip()
    if CHAT_TOKEN.search(explanation) or BODY_PLACEHOLDER.fullmatch(explanation):
        explanation = explanation.translate(_NO_BRACKETS).strip()
    return explanation

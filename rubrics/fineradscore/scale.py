"""The scale of severity and the words that judges use for it and for the categories."""

from __future__ import annotations

import re

from judge.rubrics import Level
from judge.types import Category

LEVELS = (
    Level("severity1", "1 not actionable", significant=False, actionable=False),
    Level("severity2", "2 actionable, non-urgent", significant=False, actionable=True),
    Level("severity3", "3 urgent", significant=True, actionable=True),
    Level("severity4", "4 emergent", significant=True, actionable=True),
)
"""The four levels [Huang et al. 2024]. Significant from 3, actionable from 2: see the README."""

NAMES = tuple(level.name for level in LEVELS)

_SEVERITIES = {
    "notactionable": 1,
    "nonactionable": 1,
    "actionablenonurgent": 2,
    "nonurgentactionable": 2,
    "urgent": 3,
    "emergent": 4,
}
_NUMBERED = re.compile(
    r"\s*(?:severity\s*|level\s*)?([1-9])\b[\s.:)(\u2013\u2014-]*(.*?)[\s)]*", re.I | re.S
)

# The names of the original's prompt and of GREEN's, and our own, all in letters alone.
_CATEGORIES = {
    Category.FALSE_FINDING: ("falsepredictionoffinding", "falsereportofafinding", "falsefinding"),
    Category.MISSING_FINDING: (
        *("omissionoffinding", "missingafinding", "missingfinding", "omittedfinding"),
    ),
    Category.WRONG_LOCATION: (
        *("incorrectlocationpositionoffinding", "incorrectlocationoffinding", "wronglocation"),
        *("incorrectpositionoffinding", "incorrectlocation"),
    ),
    Category.WRONG_SEVERITY: (
        *("incorrectseverityoffinding", "incorrectseverity", "wrongseverity"),
    ),
    Category.FALSE_COMPARISON: (
        "mentionofcomparisonthatisnotpresentinthereferenceimpression",
        "mentionofcomparisonthatisnotpresentinthereference",
        "mentionofcomparisonnotpresentinthereference",
        "comparisonnotinthereference",
        "falsecomparison",
    ),
    Category.OMITTED_COMPARISON: (
        "omissionofcomparisondescribingachangefromapreviousstudy",
        "omissionofcomparison",
        "omittedcomparison",
        "missingcomparison",
    ),
}
_NAMED = {name: category for category, names in _CATEGORIES.items() for name in names}
_ORDER = tuple(Category)
_MARKED = re.compile(r"\s*\(?([a-f1-6])\b[\s.:)\u2013\u2014-]*(.*?)\s*", re.I | re.S)


def severity_of(value: object) -> int | None:
    """Return the severity that `value` names: a number, a name in any case, or both in accord.

    None for anything that is not on the scale.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value) if value in (1, 2, 3, 4) else None
    if not isinstance(value, str):
        return None
    marked = _NUMBERED.fullmatch(value)
    if marked is None:
        return _named_severity(value)
    number = int(marked[1])
    if number > len(LEVELS) or (marked[2] and _named_severity(marked[2]) != number):
        return None
    return number


def _named_severity(text: str) -> int | None:
    return _SEVERITIES.get(re.sub(r"errors?\Z", "", _letters(text)))


def category_of(value: object) -> Category | None:
    """Return the category that `value` names: a letter, a number from 1, a name, or two in accord.

    None for anything that is none of the six.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return _ORDER[value - 1] if 1 <= value <= len(_ORDER) else None
    if not isinstance(value, str):
        return None
    marked = _MARKED.fullmatch(value)
    if marked is None:
        return _NAMED.get(_letters(value))
    mark = marked[1].lower()
    category = _ORDER[int(mark) - 1] if mark.isdigit() else Category(mark)
    if marked[2] and _NAMED.get(_letters(marked[2])) is not category:
        return None
    return category


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text.lower()))

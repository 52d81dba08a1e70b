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
_MARKED = re.compile(r"\s*\(?([a-f1-6])\b(.*)", re.I | re.S)
# Longer than any name: nothing that long is looked at.
_LONGEST = 120


def severity_of(value: object) -> int | None:
    """Return the severity that `value` names: a number, a name in any case, or both in accord.

    None for anything that is not on the scale.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value) if value in (1, 2, 3, 4) else None
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    numbers = {int(digits) for digits in re.findall(r"[0-9]+", value)}
    name = re.sub(r"\A(?:severity|level)|errors?\Z", "", _letters(value))
    named = {_SEVERITIES.get(name)} if name else set()
    found = numbers | named
    severity = found.pop() if len(found) == 1 else None
    return severity if severity in (1, 2, 3, 4) else None


def category_of(value: object) -> Category | None:
    """Return the category that `value` names: a letter, a number from 1, a name, or two in accord.

    None for anything that is none of the six.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return _ORDER[value - 1] if 1 <= value <= len(_ORDER) else None
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    marked = _MARKED.fullmatch(value)
    name = marked[2] if marked else value
    if re.search(r"\d", name):
        return None
    named = _NAMED.get(_letters(name))
    if marked is None:
        return named
    mark = marked[1].lower()
    category = _ORDER[int(mark) - 1] if mark.isdigit() else Category(mark)
    return category if named is category or not _letters(name) else None


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text.lower()))


_DELETED = re.compile(
    r"\W*deleted?(?:\s+(?:this|the|entire|whole))*(?:\s+(?:line|sentence))?\W*", re.I
)


def deletes(text: object) -> bool:
    """Return whether `text` says to delete, "[delete]" in the original's reply format."""
    return isinstance(text, str) and len(text) < _LONGEST and bool(_DELETED.fullmatch(text))

"""How much an error about a finding weighs, on FineRadScore's scale of severity."""

from __future__ import annotations

from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.mentions import Mention
from judge.types import Severity

_LARGE = 3
_SCALE: tuple[Severity, ...] = (1, 2, 3, 4)


def weight(mention: Mention, lexicon: Lexicon) -> Severity:
    """Return the severity of getting this finding wrong.

    The lexicon's own, one more where the report calls it large or severe (from 2 on), one
    less where it is borderline or only possible; a possible reading counts one less too.
    """
    severity = lexicon.findings[mention.finding].severity
    if mention.levels and severity > 1 and min(mention.levels) >= _LARGE:
        severity = _SCALE[min(severity, 3)]
    if mention.doubted or (mention.levels and max(mention.levels) == 0):
        severity = eased(severity)
    for name in mention.also:
        severity = max(severity, eased(lexicon.findings[name].severity))
    return severity


def eased(severity: Severity) -> Severity:
    """Return one level less, at least 1."""
    return _SCALE[max(severity - 2, 0)]


def at_most(severity: Severity, most: Severity) -> Severity:
    """Return the lower of two severities."""
    return min(severity, most)


def label(mention: Mention, lexicon: Lexicon) -> str:
    """Return what the mentioned finding is called."""
    return lexicon.findings[mention.finding].label

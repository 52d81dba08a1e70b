"""How much an error about a finding weighs, on FineRadScore's scale of severity."""

from __future__ import annotations

from judge.backends.lexicon.data import Finding, Lexicon
from judge.backends.lexicon.mentions import Mention
from judge.types import Severity

_MOVE: Severity = 3
"""Of a tube that has to be moved."""

_SCALE: tuple[Severity, ...] = (1, 2, 3, 4)


def weight(mention: Mention, lexicon: Lexicon) -> Severity:
    """Return the severity of leaving this finding out, or of making it up.

    The lexicon's own, by how large the finding is called and where it lies. One less where
    it is borderline or only possible. Of several readings the gravest counts, one that is
    only possible with one less.
    """
    severity = _plain(mention.finding, mention, lexicon)
    if mention.doubted or (mention.levels and max(mention.levels) == 0):
        severity = _eased(severity)
    for name in mention.also:
        reading = _plain(name, mention, lexicon)
        severity = max(severity, _eased(reading) if name in mention.possible else reading)
    return severity


def _plain(name: str, mention: Mention, lexicon: Lexicon) -> Severity:
    finding = lexicon.findings[name]
    # "Small to moderate" is taken for small.
    graded = {lexicon.levels[name]: severity for name, severity in finding.graded.items()}
    severity = min(
        (graded.get(level, finding.severity) for level in mention.levels),
        default=finding.severity,
    )
    if not is_safe(mention, finding):
        severity = max(severity, _MOVE)
    # Words that leave a good place open are not taken for a bad one.
    return max(
        severity,
        min((finding.placed.get(tag, severity) for tag in mention.places), default=severity),
    )


def is_safe(mention: Mention, finding: Finding) -> bool:
    """Return whether a tube ends where it should above the carina, or nothing is said of it."""
    if finding.safe is None or not mention.sizes:
        return True
    return finding.safe[0] <= max(mention.sizes) <= finding.safe[1]


def _eased(severity: Severity) -> Severity:
    """Return one level less, at least 1."""
    return _SCALE[max(severity - 2, 0)]

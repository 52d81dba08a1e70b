"""What the built-in judge found, weighed with what is known of the patient.

Severity 3 and 4 are urgent, 2 is actionable, 1 not actionable. What comes with age is benign in
a patient of 65 or more, unless the context speaks of it. Nothing else in the context lowers a
weight.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from judge.rubrics.categories import ERROR
from judge.rubrics.crimson.answers import a_match, alone
from judge.rubrics.crimson.measures import (
    CANDIDATE,
    FALSE,
    LEVELS,
    MISSING,
    NEGLIGIBLE,
    REFERENCE,
    SIGNIFICANCE,
    TYPE,
)
from judge.types import Annotation, Item, ReportComparison, ReportFinding, Study

_ELDERLY = 65
"""The age from which degenerative change is expected [Baharoon et al. 2026]."""
_URGENT, _ACTIONABLE, _MINOR, _BENIGN = LEVELS
_BY_SEVERITY = {4: _URGENT, 3: _URGENT, 2: _ACTIONABLE, 1: _MINOR}

_NAMED_AGE = re.compile(r"(?:\A|[^A-Za-z])(?:[Aa]ge(?![a-z])|AGE(?![A-Za-z]))|[a-z]Age(?![a-z])")
_TOLD_AGE = re.compile(
    r"\bage[ds]?\b\s*[:=]?([^\n.;]{1,40})|(\d{1,3}[- ]?(?:years?|yrs?|y/?o)\b)", re.I
)
_AGE = re.compile(r"\s*(?:[>\u2265]=?)?\s*0*(\d{1,3})(?!\d)\s*([a-z]?)([a-z]*)", re.I)
_WORD = re.compile(r"[a-z]{5,}")
_OLDEST = 130
_SAME = 4
"""Letters that two words share which speak of the same: aorta and aortic, spine and spinal."""


def baseline(comparison: ReportComparison, study: Study) -> Annotation:
    """Return the findings of both reports, those that match, and what is wrong."""
    findings = comparison.findings
    items = [_finding(one, study.context) for one in findings]
    pairs = [
        (at, partner)
        for at, one in enumerate(findings)
        if one.side == "reference"
        for partner in one.partners
    ]
    items += [a_match(items, *pair) for pair in pairs]
    for side, kind in (("candidate", FALSE), ("reference", MISSING)):
        items += [
            alone(items, at, kind)
            for at, one in enumerate(findings)
            if one.side == side and not one.partners
        ]
    for one in comparison.differences:
        own = items[one.reference].label(SIGNIFICANCE.name)
        grade = NEGLIGIBLE if one.is_negligible else own
        labels = {TYPE.name: (one.attribute,), SIGNIFICANCE.name: (grade,)}
        items.append(Item(ERROR, one.text, labels, links=(one.reference, one.candidate)))
    return Annotation(tuple(items))


def _finding(finding: ReportFinding, context: Mapping[str, str]) -> Item:
    significance = _BY_SEVERITY[finding.severity]
    if finding.comes_with_age and is_elderly(context) and not _speaks_of(context, finding.text):
        significance = _BENIGN
    kind = REFERENCE if finding.side == "reference" else CANDIDATE
    return Item(kind.name, finding.text, {SIGNIFICANCE.name: (significance,)}, finding.side)


def is_elderly(context: Mapping[str, str]) -> bool:
    """Return whether the context says that the patient is 65 or more.

    Of a range the lower end counts. An age that is not told, or only bounded from above, says no.
    """
    ages = [text for name, text in context.items() if _NAMED_AGE.search(name)]
    if not ages:
        told = (_TOLD_AGE.search(text) for text in context.values())
        ages = [found[1] or found[2] for found in told if found]
    found = _AGE.match(ages[0]) if ages else None
    if not found or not _ELDERLY <= int(found[1]) <= _OLDEST:
        return False
    # Months, weeks and days are none of the elderly's; a letter alone is DICOM's.
    return (found[2] + found[3]).lower() not in ("m", "w", "d", "months", "weeks", "days")


def _speaks_of(context: Mapping[str, str], words: str) -> bool:
    return not _stems(words).isdisjoint(_stems(" ".join(context.values())))


def _stems(text: str) -> set[str]:
    return {word[:_SAME] for word in _WORD.findall(text.lower())}

"""One known error about a finding: denied, affirmed, removed, added, contradicted."""

from __future__ import annotations

import re

from judge.stress.text import (
    Changed,
    Draw,
    Edit,
    Error,
    NotMade,
    Reference,
    Result,
    Sentence,
    at_end,
    like,
    without,
)
from judge.stress.vocabulary import (
    Finding,
    compares,
    found_in,
    is_hedged,
    is_negated,
    says_more,
    vocabulary,
)

_LIST = re.compile(
    r"(?P<lead>(?:there (?:is|are) )?no (?:evidence of |visible |definite )?)"
    r"(?P<items>[^.:;]+?)\.?",
    re.I,
)
_BETWEEN = re.compile(r",? (?:or|and) |, ", re.I)
_KINDS = r"(?:(?:focal|acute|large|definite|suspicious|pulmonary|visible|significant|displaced) )*"


def error(finding: Finding, *categories: str, is_doubtful: bool = False) -> Error:
    """Return the error of these categories that has the finding's significance."""
    doubt = is_doubtful or finding.is_doubtful
    return Error(categories, finding.name, finding.is_significant, doubt)


def told_once(report: Reference, finding: Finding) -> bool:
    """Whether one sentence alone speaks of the finding, or of its kin."""
    return sum(any(map(finding.is_kin, found_in(one.text))) for one in report.sentences) == 1


def affirmed(report: Reference) -> list[tuple[Sentence, Finding]]:
    """Return the sentences that say of one finding, and of nothing else, that it is there.

    Another sentence speaks of none of them. A sentence that denies, doubts or compares is none.
    """
    pairs = []
    for sentence in report.sentences:
        found = found_in(sentence.text)
        if len(found) != 1 or says_more(sentence) or compares(sentence.text):
            continue
        if is_negated(sentence.text) or is_hedged(sentence.text) or "?" in sentence.text:
            continue
        if told_once(report, found[0]):
            pairs.append((sentence, found[0]))
    return pairs


_NONE_THERE = NotMade("no sentence says of one known finding alone that it is there")


def denied(report: Reference, draw: Draw) -> Result:
    """Deny a finding that the reference reports."""
    pairs = [(one, finding) for one, finding in affirmed(report) if finding.denied]
    if not pairs:
        return _NONE_THERE
    sentence, finding = draw.one(pairs)
    said = like(str(finding.denied), sentence.text)
    said = said if sentence.text.endswith(".") else said.rstrip(".")
    return Changed((Edit(sentence.start, sentence.end, said),), (error(finding, "b"),))


def removed(report: Reference, draw: Draw) -> Result:
    """Leave out the sentence of a finding that the reference reports."""
    if len(report.sentences) < 2:
        return NotMade("the reference has one sentence")
    pairs = [pair for pair in affirmed(report) if not pair[1].is_device]
    if not pairs:
        return _NONE_THERE
    sentence, finding = draw.one(pairs)
    return Changed((without(report, sentence),), (error(finding, "b"),))


def device_removed(report: Reference, draw: Draw) -> Result:
    """Leave out the sentence of a device."""
    if len(report.sentences) < 2:
        return NotMade("the reference has one sentence")
    pairs = [pair for pair in affirmed(report) if pair[1].is_device]
    if not pairs:
        return NotMade("no sentence says of one known device alone that it is there")
    sentence, finding = draw.one(pairs)
    return Changed((without(report, sentence),), (error(finding, "b"),))


def asserted(report: Reference, draw: Draw) -> Result:
    """Affirm a finding that the reference denies."""
    options = _deniable(report)
    if not options:
        return NotMade("no plain list of denied findings holds one that can be affirmed")
    sentence, lead, items, at, finding = draw.one(options)
    said = like(str(finding.affirmed), sentence.text)
    left = [item for n, item in enumerate(items) if n != at]
    if left:
        *most, last = left
        joined = f"{', '.join(most)}{',' if len(most) > 1 else ''} or {last}" if most else last
        said = f"{lead}{joined}. {said}"
    said = said.upper() if sentence.text.isupper() else said
    return Changed((Edit(sentence.start, sentence.end, said),), (error(finding, "a"),))


def _deniable(report: Reference) -> list[tuple[Sentence, str, list[str], int, Finding]]:
    found = []
    for sentence in report.sentences:
        match = _LIST.fullmatch(sentence.text)
        if match is None or is_hedged(sentence.text):
            continue
        items = _BETWEEN.split(match["items"])
        known = [_only(item) for item in items]
        if not all(known) and len(items) > 1:
            continue
        for at, finding in enumerate(known):
            if finding is None or not finding.affirmed or not told_once(report, finding):
                continue
            kin = [one for n, one in enumerate(known) if n != at and one and finding.is_kin(one)]
            if not kin and _is_free(report, finding):
                found.append((sentence, match["lead"], items, at, finding))
    return found


def _only(item: str) -> Finding | None:
    for finding in found_in(item):
        if re.fullmatch(rf"{_KINDS}(?:{finding.pattern.pattern})", item.strip(), re.I):
            return finding
    return None


def _is_free(report: Reference, finding: Finding) -> bool:
    normal = vocabulary().normal.get(finding.area)
    return not (normal and normal.search(report.text))


def added(report: Reference, draw: Draw) -> Result:
    """Add a finding in a part of the chest that the reference says nothing of."""
    areas = vocabulary().areas
    free = [
        finding
        for finding in vocabulary().findings
        if finding.affirmed
        and not areas[finding.area].search(report.text)
        and not finding.pattern.search(report.text)
    ]
    if not free:
        return NotMade("the reference speaks of every area that a finding could be added to")
    finding = draw.one(free)
    return Changed((at_end(report, str(finding.affirmed)),), (error(finding, "a"),))


def contradicted(report: Reference, draw: Draw) -> Result:
    """Keep what is said of a finding, and say the opposite at the end."""
    pairs = [(one, finding) for one, finding in affirmed(report) if finding.denied]
    if pairs:
        _, finding = draw.one(pairs)
        edit = at_end(report, str(finding.denied))
        return Changed((edit,), (error(finding, "b", "a", is_doubtful=True),))
    options = _deniable(report)
    if not options:
        return NotMade("no plain sentence affirms or denies a known finding that can be turned")
    *_, finding = draw.one(options)
    edit = at_end(report, str(finding.affirmed))
    return Changed((edit,), (error(finding, "a"),))

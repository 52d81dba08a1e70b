"""Changes that put one known error in: a finding, its side, place, degree, size or course."""

from __future__ import annotations

import re
from collections.abc import Iterator

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


# Of these a degree says more than how much there is, or cannot change alone.
_GROWN = re.compile(
    r"-sized|\d ?(?:mm|cm)\b|\b(?:increas|decreas|improv|wors|larger|smaller|residual|progress)",
    re.I,
)
FACTOR = 2
"""How much larger a measurement becomes; one of 5 cm or more becomes so much smaller."""
_SIDE = re.compile(r"\b(?:left|right)\b", re.I)
_LETTER = re.compile(r"\b[LR](?= (?:pleural|lung|lower|upper|effusion|pneumothorax|base|apical))")
# The word is no side before these, or it names a part that only one side has.
_NO_SIDE = re.compile(
    r"(?:left|right)[- ](?:out|alone|behind|by|the|in|without|for|against|away|at|before|after|now"
    r"|middle|ventric\w*|atri\w*|heart|main|coronary|quadrant|upper quadrant|paratracheal|aortic"
    r"|hospital|unchanged|on|as|over|cardiac|minor|innominate|brachiocephalic)\b"
    r"|(?:been|was|were|is|are|patient|be|being|being) (?:left|right)\b"
    r"|\blingul|quadrant|middle lobe",
    re.I,
)
_LEVELS = {
    "upper lobe": "lower lobe",
    "lower lobe": "upper lobe",
    "middle lobe": "upper lobe",
    "upper lung": "lower lung",
    "lower lung": "upper lung",
    "upper zone": "lower zone",
    "lower zone": "upper zone",
    "lung base": "lung apex",
    "lung bases": "lung apices",
    "lung apex": "lung base",
    "basilar": "apical",
    "basal": "apical",
    "apical": "basilar",
    "bibasilar": "biapical",
}
_LEVEL = re.compile(rf"\b(?:{'|'.join(sorted(_LEVELS, key=len, reverse=True))})\b", re.I)
_AT_THE_BASE = frozenset({"pleural effusion", "blunted costophrenic angle", "hiatal hernia"})
_MEASURE = re.compile(
    r"(?<![\d.,/])(\d{1,3}(?:\.\d{1,2})?)(?=(?: ?[x\u00d7] ?[\d.]+)*[ -]?(mm|cm)\b)", re.I
)
_UNIT = re.compile(r"[\d.][ -]?(?:mm|cm)\b", re.I)
_CARINA = re.compile(r"(?:approximately |about )?\d[\d.]* ?(?:mm|cm) above the carina", re.I)
_ADJECTIVE = re.compile(
    r"\b(?:stable|unchanged|persistent)[ ](?=\w)(?!appear|position|and\b|in\b)"
    r"(?!\w+ed\b(?<!enlarged))",
    re.I,
)
_AFTER_NOUN = re.compile(
    r",? (?:which is )?(?:stable|unchanged|not significantly changed)"
    r"(?: (?:since|from|compared (?:to|with)) (?:the )?(?:prior|previous)"
    r"(?: (?:study|exam|examination|radiograph))?)?(?=\.?$)",
    re.I,
)
_MORE = re.compile(r"[,;/]|\b(?:and|with|but)\b|XXXX", re.I)
_AGAIN = re.compile(r"(?<= )again (?=seen|noted|identified|demonstrated)", re.I)
_TURNED = {
    "worsened": "improved",
    "improved": "worsened",
    "worsening": "improving",
    "improving": "worsening",
    "improvement": "worsening",
    "increased": "decreased",
    "decreased": "increased",
    "larger": "smaller",
    "smaller": "larger",
    "stable": "worsening",
    "unchanged": "worsening",
}
_TURN = re.compile(rf"\b(?:{'|'.join(_TURNED)})\b", re.I)
_OPEN = re.compile(r"\b(?:is|are|and|or|remains?|appears?)$")
_TIP = re.compile(r"\b(?:tip|ends?|terminat|in |into |overl|project)", re.I)
_ACUTE = re.compile(r"\b(?:acute|old|healed|healing|chronic|remote)\b", re.I)
_FRACTURES = {"fracture", "old fracture"}
_IN_TIME = re.compile(
    r"\b(?:interval|has|have|since|prior|compared|comparison|previous|than)\b", re.I
)


def _mentioned(report: Reference) -> Iterator[tuple[Sentence, Finding]]:
    for sentence in report.sentences:
        found = found_in(sentence.text)
        if len(found) == 1 and not is_negated(sentence.text) and told_once(report, found[0]):
            yield sentence, found[0]


def _made(options: list[tuple[Edit, Error]], draw: Draw, reason: str) -> Result:
    if not options:
        return NotMade(reason)
    edit, wrong = draw.one(options)
    return Changed((edit,), (wrong,))


def _edit(sentence: Sentence, match: re.Match[str], after: str) -> Edit:
    start = sentence.start
    return Edit(start + match.start(), start + match.end(), after)


def side_swapped(report: Reference, draw: Draw) -> Result:
    """Put a finding or a device on the other side."""
    options = []
    for sentence, finding in _mentioned(report):
        both = [*_SIDE.finditer(sentence.text), *_LETTER.finditer(sentence.text)]
        if len(both) != 1 or _NO_SIDE.search(sentence.text):
            continue
        (match,) = both
        other = {"left": "right", "right": "left", "l": "R", "r": "L"}[match[0].lower()]
        wrong = error(finding, "c", is_doubtful=finding.is_device)
        options.append((_edit(sentence, match, like(other, match[0])), wrong))
    return _made(options, draw, "no sentence puts one known finding on one side")


def level_changed(report: Reference, draw: Draw) -> Result:
    """Put a finding in another lobe, or at another level."""
    options = []
    for sentence, finding in _mentioned(report):
        places = [*_LEVEL.finditer(sentence.text)]
        if len(places) != 1 or finding.name in _AT_THE_BASE or "hilar" in sentence.text.lower():
            continue
        if finding.is_device:
            continue
        (match,) = places
        other = like(_LEVELS[match[0].lower()], match[0])
        options.append((_edit(sentence, match, other), error(finding, "c", is_doubtful=True)))
    return _made(options, draw, "no sentence puts one known finding in one lobe or at one level")


def measurement_changed(report: Reference, draw: Draw) -> Result:
    """Make a measurement twice as large, or half as large from 5 cm on."""
    options = []
    for sentence, finding in _mentioned(report):
        numbers = [*_MEASURE.finditer(sentence.text)]
        if not numbers or len(_UNIT.findall(sentence.text)) != 1 or compares(sentence.text):
            continue
        if finding.is_device:
            continue
        large = any(float(one[1]) * (1 if one[2].lower() == "mm" else 10) >= 50 for one in numbers)
        edits = tuple(_edit(sentence, one, _times(one[1], large=large)) for one in numbers)
        options.append((edits, error(finding, "d", is_doubtful=True)))
    if not options:
        return NotMade("no known finding is measured once, in mm or cm")
    edits, wrong = draw.one(options)
    return Changed(edits, (wrong,))


def _times(number: str, *, large: bool) -> str:
    digits = len(number.partition(".")[2])
    value = float(number) / FACTOR if large else float(number) * FACTOR
    return f"{value:.{digits}f}" if digits or not value % 1 else f"{value:.1f}"


_BY_SIZE = {"severe": "large", "minimal": "small", "mild": "small"}
_SIZED = dict.fromkeys(("pleural effusion", "pneumothorax", "hiatal hernia"), _BY_SIZE)


def severity_changed(report: Reference, draw: Draw) -> Result:
    """Make a finding graver or milder."""
    degrees = vocabulary().degrees
    any_degree = re.compile(rf"\b(?:{'|'.join(degrees)})\b", re.I)
    options = []
    for sentence, finding in _mentioned(report):
        matches = [*any_degree.finditer(sentence.text)]
        if len(matches) != 1 or finding.is_device or _GROWN.search(sentence.text):
            continue
        (match,) = matches
        if not _is_degree_of(finding, sentence, match):
            continue
        for word in degrees[match[0].lower()].values():
            after = _SIZED.get(finding.name, {}).get(word, word)
            options.append((_edit(sentence, match, like(after, match[0])), error(finding, "d")))
    return _made(options, draw, "no known finding is of a degree that can change")


def _is_degree_of(finding: Finding, sentence: Sentence, match: re.Match[str]) -> bool:
    """Whether a degree stands in the finding's name or up to three words before it."""
    inside = finding.pattern.search(sentence.text)
    if inside and inside.start() <= match.start() < inside.end():
        return True
    rest = sentence.text[match.end() :]
    after = finding.pattern.search(rest)
    return after is not None and len(rest[: after.start()].split()) <= 3


def acuity_changed(report: Reference, draw: Draw) -> Result:
    """Call an old fracture acute, or an acute one old."""
    kinds = [
        {finding.name for finding in found_in(one.text)} & _FRACTURES for one in report.sentences
    ]
    options = []
    for sentence, names in zip(report.sentences, kinds, strict=True):
        matches = [*_ACUTE.finditer(sentence.text)]
        is_alone = names and sum(map(bool, kinds)) == 1 and not is_negated(sentence.text)
        if (
            len(matches) == 1
            and is_alone
            and {f.name for f in found_in(sentence.text)} <= _FRACTURES
        ):
            (match,) = matches
            after = "old" if match[0].lower() == "acute" else "acute"
            wrong = Error(("d", "a", "b"), "fracture", is_significant=True, is_doubtful=False)
            options.append((_edit(sentence, match, like(after, match[0])), wrong))
    return _made(options, draw, "no sentence calls a fracture acute, old or healed")


def device_changed(report: Reference, draw: Draw) -> Result:
    """Put the tip of a tube or a line in a wrong place; else leave the sentence of a device out."""
    options = []
    for sentence, device in _mentioned(report):
        if not device.is_device or not _TIP.search(sentence.text):
            continue
        tips = vocabulary().tips
        places = [(match, to) for seen, to in tips if (match := seen.search(sentence.text))]
        if device.name == "endotracheal tube" and (match := _CARINA.search(sentence.text)):
            places = [(match, "in the right main bronchus")]
        if device.name in ("central line", "PICC", "port"):
            places = [(match, to) for match, to in places if "bronchus" not in to]
        if len(places) == 1:
            (match, to) = places[0]
            after = to.upper() if sentence.text.isupper() else to
            wrong = Error(("c",), device.name, is_significant=True, is_doubtful=False)
            options.append((_edit(sentence, match, after), wrong))
    if not options and len(report.sentences) > 1:
        pairs = [(sentence, device) for sentence, device in affirmed(report) if device.is_device]
        options = [(without(report, sentence), error(device, "b")) for sentence, device in pairs]
    return _made(options, draw, "no sentence says of one known device alone that it is there")


def comparison_changed(report: Reference, draw: Draw) -> Result:
    """Turn a comparison round or leave it out; make one up where the reference has none."""
    options = [*_turned(report), *_uncompared(report)]
    if not options and not compares(report.text):
        options = [*_compared(report)]
    return _made(options, draw, "no comparison of a known finding that can change")


def _compared(report: Reference) -> Iterator[tuple[Edit, Error]]:
    for sentence, finding in affirmed(report):
        if finding.is_device or not finding.denied or not sentence.text.endswith("."):
            continue
        end = sentence.end - 1
        words = ", unchanged since the prior study"
        words = words.upper() if sentence.text.isupper() else words
        yield Edit(end, end, words), _comparison(finding, "e")


def _comparison(finding: Finding, category: str) -> Error:
    return Error((category,), finding.name, is_significant=False, is_doubtful=False)


def _uncompared(report: Reference) -> Iterator[tuple[Edit, Error]]:
    for sentence, finding in _mentioned(report):
        forms = (_ADJECTIVE, _AFTER_NOUN, _AGAIN)
        matches = [match for form in forms for match in form.finditer(sentence.text)]
        if len(matches) != 1:
            continue
        (match,) = matches
        rest = sentence.text[: match.start()] + sentence.text[match.end() :]
        before = rest[: match.start()].rstrip()
        if compares(rest) or _MORE.search(rest) or _OPEN.search(before):
            continue
        if match.start() == 0:
            end = sentence.start + match.end()
            first = report.text[end]
            yield Edit(sentence.start, end + 1, first.upper()), _comparison(finding, "f")
        else:
            yield _edit(sentence, match, ""), _comparison(finding, "f")


def _turned(report: Reference) -> Iterator[tuple[Edit, Error]]:
    for sentence, finding in _mentioned(report):
        matches = [*_TURN.finditer(sentence.text)]
        if len(matches) != 1 or finding.is_device:
            continue
        (match,) = matches
        word = match[0].lower()
        if word in ("stable", "unchanged"):
            is_plain = finding.is_significant and _ADJECTIVE.search(sentence.text)
            if not is_plain or says_more(sentence) or re.search(r"enlarged|\d", sentence.text):
                continue
        elif not _IN_TIME.search(sentence.text):
            continue
        edit = _edit(sentence, match, like(_TURNED[word], match[0]))
        yield edit, error(finding, "e", "f", is_doubtful=True)

"""One known error about a detail: side, level, severity, measurement, device, comparison."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from judge.stress.findings import affirmed, error, told_once
from judge.stress.text import (
    Changed,
    Draw,
    Edit,
    Error,
    NotMade,
    Reference,
    Result,
    Sentence,
    capital,
    like,
)
from judge.stress.vocabulary import (
    Finding,
    compares,
    found_in,
    is_negated,
    says_more,
    vocabulary,
)

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
_IN_TIME = re.compile(
    r"\b(?:interval|has|have|since|prior|compared|comparison|previous|than)\b", re.I
)


def _told(report: Reference) -> Iterator[tuple[Sentence, Finding]]:
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
    for sentence, finding in _told(report):
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
    for sentence, finding in _told(report):
        places = [*_LEVEL.finditer(sentence.text)]
        if len(places) != 1 or finding.name in _AT_THE_BASE or "hilar" in sentence.text.lower():
            continue
        if finding.is_device:
            continue
        (match,) = places
        other = like(_LEVELS[match[0].lower()], match[0])
        options.append((_edit(sentence, match, other), error(finding, "c", is_doubtful=True)))
    return _made(options, draw, "no sentence puts one known finding in one lobe or at one level")


def _severity(way: str) -> Callable[[Reference, Draw], Result]:
    def change(report: Reference, draw: Draw) -> Result:
        degrees = vocabulary().degrees
        any_degree = re.compile(rf"\b(?:{'|'.join(degrees)})\b", re.I)
        options = []
        for sentence, finding in _told(report):
            said = [*any_degree.finditer(sentence.text)]
            if len(said) != 1 or finding.is_device or _GROWN.search(sentence.text):
                continue
            (match,) = said
            word = degrees[match[0].lower()].get(way)
            near = sentence.text[match.end() :]
            where = finding.pattern.search(near)
            inside = finding.pattern.search(sentence.text)
            is_inside = inside is not None and inside.start() <= match.start() < inside.end()
            if word is None or not (
                is_inside or (where and len(near[: where.start()].split()) <= 3)
            ):
                continue
            if finding.name in _SIZED:
                word = _SIZED[finding.name].get(word, word)
            options.append((_edit(sentence, match, like(word, match[0])), error(finding, "d")))
        return _made(options, draw, f"no known finding is of a degree that can go {way}")

    return change


_BY_SIZE = {"severe": "large", "minimal": "small", "mild": "small"}
_SIZED = dict.fromkeys(("pleural effusion", "pneumothorax", "hiatal hernia"), _BY_SIZE)
severity_up = _severity("up")
severity_down = _severity("down")


def measurement_changed(report: Reference, draw: Draw) -> Result:
    """Make a measurement twice as large, or half as large from 5 cm on."""
    options = []
    for sentence, finding in _told(report):
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


def device_renamed(report: Reference, draw: Draw) -> Result:
    """Call a device by the name of another."""
    options = []
    for sentence, device in _told(report):
        match = device.pattern.search(sentence.text)
        if match is None or not device.renamed:
            continue
        is_plural = re.search("[^i]s$", match[0], re.I) and not device.renamed.endswith("s")
        name = device.renamed + ("s" if is_plural else "")
        edit = _edit(sentence, match, like(name, match[0] if match.start() == 0 else name))
        wrong = Error(("a", "b"), device.name, is_significant=False, is_doubtful=True)
        if sentence.text.isupper():
            edit = Edit(edit.start, edit.end, edit.after.upper())
        elif match.start() == 0:
            edit = Edit(edit.start, edit.end, capital(name))
        options.append((edit, wrong))
    return _made(options, draw, "no sentence speaks of one known device alone")


def tip_moved(report: Reference, draw: Draw) -> Result:
    """Put the tip of a tube or a line in a wrong place."""
    options = []
    for sentence, device in _told(report):
        if not device.is_device:
            continue
        places = [
            (match, to) for seen, to in vocabulary().tips if (match := seen.search(sentence.text))
        ]
        if device.name == "endotracheal tube" and (match := _CARINA.search(sentence.text)):
            places = [(match, "in the right main bronchus")]
        if device.name in ("central line", "PICC", "port"):
            places = [(match, to) for match, to in places if "bronchus" not in to]
        if len(places) != 1 or not re.search(
            r"\b(?:tip|ends?|terminat|in |into |overl|project)", sentence.text, re.I
        ):
            continue
        (match, to) = places[0]
        after = to.upper() if sentence.text.isupper() else to
        options.append((_edit(sentence, match, after), Error(("c",), device.name, True, False)))  # noqa: FBT003
    return _made(options, draw, "no tip of a known device is in a place that is known")


def comparison_added(report: Reference, draw: Draw) -> Result:
    """Say of a finding that it is as before, where the reference compares nothing."""
    if compares(report.text):
        return NotMade("the reference compares with another examination")
    options = []
    for sentence, finding in affirmed(report):
        if finding.is_device or not finding.denied or not sentence.text.endswith("."):
            continue
        end = sentence.end - 1
        said = ", unchanged since the prior study"
        said = said.upper() if sentence.text.isupper() else said
        wrong = Error(("e",), finding.name, is_significant=False, is_doubtful=False)
        options.append((Edit(end, end, said), wrong))
    return _made(options, draw, "no sentence says of one known finding alone that it is there")


def comparison_removed(report: Reference, draw: Draw) -> Result:
    """Leave out that a finding is as before."""
    options = []
    for sentence, finding in _told(report):
        found = [
            one
            for form in (_ADJECTIVE, _AFTER_NOUN, _AGAIN)
            for one in form.finditer(sentence.text)
        ]
        if len(found) != 1:
            continue
        (match,) = found
        rest = sentence.text[: match.start()] + sentence.text[match.end() :]
        if (
            compares(rest)
            or _MORE.search(rest)
            or re.search(r"\b(?:is|are|and|or|remains?|appears?)$", rest[: match.start()].rstrip())
        ):
            continue
        wrong = Error(("f",), finding.name, is_significant=False, is_doubtful=False)
        if match.start() == 0:
            end = sentence.start + match.end()
            first = report.text[end]
            options.append((Edit(sentence.start, end + 1, first.upper()), wrong))
        else:
            options.append((_edit(sentence, match, ""), wrong))
    return _made(options, draw, "no known finding is called unchanged in a word that can go")


def comparison_turned(report: Reference, draw: Draw) -> Result:
    """Say that a finding has changed the other way."""
    options = []
    for sentence, finding in _told(report):
        said = [*_TURN.finditer(sentence.text)]
        if len(said) != 1 or finding.is_device:
            continue
        (match,) = said
        word = match[0].lower()
        is_still = word in ("stable", "unchanged")
        if is_still and not (finding.is_significant and _ADJECTIVE.search(sentence.text)):
            continue
        if is_still and (says_more(sentence) or re.search(r"enlarged|\d", sentence.text)):
            continue
        if not is_still and not _IN_TIME.search(sentence.text):
            continue
        after = like(_TURNED[word], match[0])
        options.append((_edit(sentence, match, after), error(finding, "e", "f", is_doubtful=True)))
    return _made(options, draw, "no known finding is said to have changed, or to be unchanged")

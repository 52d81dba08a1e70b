"""Changes that put one known error in: a finding, its side, place, degree, size or course."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from judge.stress.text import (
    Changed,
    Draw,
    Edit,
    Error,
    NotMade,
    Reference,
    Sentence,
    addition,
    in_case_of,
    removal,
)
from judge.stress.vocabulary import (
    AREAS,
    DEGREES,
    FINDINGS,
    LEVELS,
    NORMAL,
    PATTERNS,
    TIPS,
    TURNED,
    Finding,
    any_of,
    findings_in,
    has,
)

_Option = tuple[tuple[Edit, ...], Error]
_KINDS = r"(?:(?:focal|acute|large|definite|suspicious|pulmonary|visible|significant|displaced) )*"
FACTOR = 2
"""How much larger a measurement becomes; one of 5 cm or more becomes so much smaller."""
_OTHER_SIDE = {"left": "right", "right": "left", "l": "R", "r": "L"}
_LEVEL = any_of(sorted(LEVELS, key=len, reverse=True))
_TURN = any_of(TURNED)
_DEGREE = any_of(DEGREES)
_FRACTURES = {"fracture", "old fracture"}
_BY_SIZE = {"severe": "large", "minimal": "small", "mild": "small"}


def _error(finding: Finding, *categories: str, is_doubtful: bool = False) -> Error:
    return Error(categories, finding.name, finding.significant, is_doubtful or finding.doubtful)


def _chosen(options: Iterable[_Option], draw: Draw, reason: str) -> Changed:
    listed = [*options]
    if not listed:
        raise NotMade(reason)
    edits, error = draw.choice(listed)
    return Changed(edits, (error,))


def _replaced(sentence: Sentence, match: re.Match[str], after: str) -> tuple[Edit]:
    return (Edit(sentence.start + match.start(), sentence.start + match.end(), after),)


def _rewritten(sentence: Sentence, after: str) -> tuple[Edit]:
    after = after.upper() if sentence.text.isupper() else after
    return (Edit(sentence.start, sentence.end, after),)


def _is_said_once(report: Reference, finding: Finding) -> bool:
    """Whether one sentence alone speaks of the finding, or of its kin."""
    speaks = (any(map(finding.is_kin, findings_in(s.text))) for s in report.sentences)
    return sum(speaks) == 1


def _about_one(report: Reference) -> Iterator[tuple[Sentence, Finding]]:
    """Yield the sentences about one finding alone, not denied, that no other one speaks of."""
    for sentence in report.sentences:
        known = findings_in(sentence.text)
        if (
            len(known) == 1
            and not has("negated", sentence.text)
            and _is_said_once(report, known[0])
        ):
            yield sentence, known[0]


def _affirmed(report: Reference) -> Iterator[tuple[Sentence, Finding]]:
    """Yield the sentences that say plainly of one finding alone that it is there."""
    for sentence, finding in _about_one(report):
        text = sentence.text
        if not (has("further", text) or has("compares", text) or has("hedged", text)):
            yield sentence, finding


_NONE_THERE = "no sentence says of one known finding alone that it is there"


def denied(report: Reference, draw: Draw) -> Changed:
    """Deny a finding that the reference reports."""

    def options() -> Iterator[_Option]:
        for sentence, finding in _affirmed(report):
            if finding.denied:
                stop = "." if sentence.text.endswith(".") else ""
                after = in_case_of(finding.denied, sentence.text).rstrip(".") + stop
                yield _rewritten(sentence, after), _error(finding, "b")

    return _chosen(options(), draw, _NONE_THERE)


def removed(report: Reference, draw: Draw) -> Changed:
    """Leave out the sentence of a finding that the reference reports."""
    if len(report.sentences) < 2:
        raise NotMade("the reference has one sentence")
    options = (
        ((removal(report, sentence),), _error(finding, "b"))
        for sentence, finding in _affirmed(report)
        if not finding.is_device
    )
    return _chosen(options, draw, _NONE_THERE)


def asserted(report: Reference, draw: Draw) -> Changed:
    """Affirm a finding that the reference denies."""

    def options() -> Iterator[_Option]:
        for sentence, lead, others, finding in _deniable(report):
            after = in_case_of(str(finding.affirmed), sentence.text)
            if others:
                *most, last = others
                comma = "," if len(most) > 1 else ""
                rest = f"{', '.join(most)}{comma} or {last}" if most else last
                after = f"{lead}{rest}. {after}"
            yield _rewritten(sentence, after), _error(finding, "a")

    reason = "no plain list of denied findings holds one that can be affirmed"
    return _chosen(options(), draw, reason)


def _deniable(report: Reference) -> Iterator[tuple[Sentence, str, list[str], Finding]]:
    """Yield denied findings: the sentence, how its list begins, the others in it, the finding."""
    for sentence in report.sentences:
        match = PATTERNS["list"].fullmatch(sentence.text)
        if match is None or has("hedged", sentence.text):
            continue
        items = PATTERNS["between"].split(match["items"])
        known = [_only(item) for item in items]
        if not all(known) and len(items) > 1:
            continue
        for at, finding in enumerate(known):
            if finding is None or not finding.affirmed or not _is_said_once(report, finding):
                continue
            has_kin = any(f and finding.is_kin(f) for n, f in enumerate(known) if n != at)
            normal = NORMAL.get(finding.area)
            if not has_kin and not (normal and normal.search(report.text)):
                yield sentence, match["lead"], [*items[:at], *items[at + 1 :]], finding


def _only(item: str) -> Finding | None:
    for finding in findings_in(item):
        if re.fullmatch(rf"{_KINDS}(?:{finding.pattern.pattern})", item.strip(), re.I):
            return finding
    return None


def added(report: Reference, draw: Draw) -> Changed:
    """Add a finding in a part of the chest that the reference says nothing of."""
    options = (
        ((addition(report, finding.affirmed),), _error(finding, "a"))
        for finding in FINDINGS
        if finding.affirmed
        and not AREAS[finding.area].search(report.text)
        and not finding.pattern.search(report.text)
    )
    reason = "the reference speaks of every area that a finding could be added to"
    return _chosen(options, draw, reason)


def contradicted(report: Reference, draw: Draw) -> Changed:
    """Keep what is said of a finding, and say the opposite at the end."""
    options = [
        ((addition(report, finding.denied),), _error(finding, "b", "a", is_doubtful=True))
        for _, finding in _affirmed(report)
        if finding.denied
    ]
    options = options or [
        ((addition(report, str(finding.affirmed)),), _error(finding, "a"))
        for *_, finding in _deniable(report)
    ]
    reason = "no plain sentence affirms or denies a known finding that can be turned"
    return _chosen(options, draw, reason)


def side_swapped(report: Reference, draw: Draw) -> Changed:
    """Put a finding or a device on the other side."""

    def options() -> Iterator[_Option]:
        for sentence, finding in _about_one(report):
            sides = [
                *PATTERNS["side"].finditer(sentence.text),
                *PATTERNS["letter"].finditer(sentence.text),
            ]
            if len(sides) == 1 and not has("no_side", sentence.text):
                (side,) = sides
                other = _OTHER_SIDE[side[0].lower()]
                error = _error(finding, "c", is_doubtful=finding.is_device)
                yield _replaced(sentence, side, in_case_of(other, side[0])), error

    return _chosen(options(), draw, "no sentence puts one known finding on one side")


def level_changed(report: Reference, draw: Draw) -> Changed:
    """Put a finding in another lobe, or at another level."""

    def options() -> Iterator[_Option]:
        for sentence, finding in _about_one(report):
            levels = [*_LEVEL.finditer(sentence.text)]
            is_fixed = finding.is_device or finding.low
            if len(levels) == 1 and not is_fixed and "hilar" not in sentence.text.lower():
                (level,) = levels
                other = in_case_of(LEVELS[level[0].lower()], level[0])
                yield _replaced(sentence, level, other), _error(finding, "c", is_doubtful=True)

    reason = "no sentence puts one known finding in one lobe or at one level"
    return _chosen(options(), draw, reason)


def measurement_changed(report: Reference, draw: Draw) -> Changed:
    """Make a measurement twice as large, or half as large from 5 cm on."""

    def options() -> Iterator[_Option]:
        for sentence, finding in _about_one(report):
            text = sentence.text
            numbers = [*PATTERNS["measure"].finditer(text)]
            is_single = bool(numbers) and len(PATTERNS["unit"].findall(text)) == 1
            if finding.is_device or not is_single or has("compares", text):
                continue
            in_mm = [float(n[1]) * (1 if n[2].lower() == "mm" else 10) for n in numbers]
            factor = 1 / FACTOR if max(in_mm) >= 50 else FACTOR
            edits = [_replaced(sentence, n, _times(n[1], factor))[0] for n in numbers]
            yield tuple(edits), _error(finding, "d", is_doubtful=True)

    return _chosen(options(), draw, "no known finding is measured once, in mm or cm")


def _times(number: str, factor: float) -> str:
    digits = len(number.partition(".")[2])
    value = float(number) * factor
    return f"{value:.{digits}f}" if digits or not value % 1 else f"{value:.1f}"


def severity_changed(report: Reference, draw: Draw) -> Changed:
    """Make a finding graver or milder."""

    def options() -> Iterator[_Option]:
        for sentence, finding in _about_one(report):
            matches = [*_DEGREE.finditer(sentence.text)]
            if len(matches) != 1 or finding.is_device or has("grown", sentence.text):
                continue
            (degree,) = matches
            if not _is_degree_of(finding, sentence.text, degree):
                continue
            for word in DEGREES[degree[0].lower()].values():
                after = _BY_SIZE.get(word, word) if finding.sized else word
                edits = _replaced(sentence, degree, in_case_of(after, degree[0]))
                yield edits, _error(finding, "d")

    return _chosen(options(), draw, "no known finding is of a degree that can change")


def _is_degree_of(finding: Finding, text: str, degree: re.Match[str]) -> bool:
    """Whether a degree stands in the finding's name or up to three words before it."""
    name = finding.pattern.search(text)
    if name and name.start() <= degree.start() < name.end():
        return True
    after = finding.pattern.search(text, degree.end())
    return after is not None and len(text[degree.end() : after.start()].split()) <= 3


def acuity_changed(report: Reference, draw: Draw) -> Changed:
    """Call an old fracture acute, or an acute one old."""
    of_fractures = [
        sentence
        for sentence in report.sentences
        if _FRACTURES & {finding.name for finding in findings_in(sentence.text)}
    ]

    def options() -> Iterator[_Option]:
        (sentence,) = of_fractures
        matches = [*PATTERNS["acute"].finditer(sentence.text)]
        is_plain = not has("negated", sentence.text) and _FRACTURES.issuperset(
            finding.name for finding in findings_in(sentence.text)
        )
        if len(matches) == 1 and is_plain:
            (match,) = matches
            after = "old" if match[0].lower() == "acute" else "acute"
            error = Error(("d", "a", "b"), "fracture", is_significant=True, is_doubtful=False)
            yield _replaced(sentence, match, in_case_of(after, match[0])), error

    reason = "no sentence calls a fracture acute, old or healed"
    return _chosen(options() if len(of_fractures) == 1 else (), draw, reason)


def device_changed(report: Reference, draw: Draw) -> Changed:
    """Put the tip of a tube or a line in a wrong place; else leave the sentence of a device out."""
    options: list[_Option] = []
    for sentence, device in _about_one(report):
        if not device.is_device or not has("tip", sentence.text):
            continue
        places = [(match, to) for tip, to in TIPS.items() if (match := tip.search(sentence.text))]
        if device.name == "endotracheal tube" and (
            match := PATTERNS["carina"].search(sentence.text)
        ):
            places = [(match, "in the right main bronchus")]
        if device.name in ("central line", "PICC", "port"):
            places = [(match, to) for match, to in places if "bronchus" not in to]
        if len(places) == 1:
            (match, to) = places[0]
            after = to.upper() if sentence.text.isupper() else to
            error = Error(("c",), device.name, is_significant=True, is_doubtful=False)
            options.append((_replaced(sentence, match, after), error))
    if not options and len(report.sentences) > 1:
        options = [
            ((removal(report, sentence),), _error(device, "b"))
            for sentence, device in _affirmed(report)
            if device.is_device
        ]
    return _chosen(options, draw, "no sentence says of one known device alone that it is there")


def comparison_changed(report: Reference, draw: Draw) -> Changed:
    """Turn a comparison round or leave it out; make one up where the reference has none."""
    options = [*_turned(report), *_left_out(report)]
    if not options and not has("compares", report.text):
        options = [*_made_up(report)]
    return _chosen(options, draw, "no comparison of a known finding that can change")


def _comparison(finding: Finding, category: str) -> Error:
    return Error((category,), finding.name, is_significant=False, is_doubtful=False)


def _made_up(report: Reference) -> Iterator[_Option]:
    for sentence, finding in _affirmed(report):
        if not finding.is_device and finding.denied and sentence.text.endswith("."):
            words = ", unchanged since the prior study"
            words = words.upper() if sentence.text.isupper() else words
            end = sentence.end - 1
            yield (Edit(end, end, words),), _comparison(finding, "e")


def _left_out(report: Reference) -> Iterator[_Option]:
    for sentence, finding in _about_one(report):
        forms = (PATTERNS["adjective"], PATTERNS["after_noun"], PATTERNS["again"])
        matches = [match for form in forms for match in form.finditer(sentence.text)]
        if len(matches) != 1:
            continue
        (match,) = matches
        before, after = sentence.text[: match.start()], sentence.text[match.end() :]
        if (
            has("compares", before + after)
            or has("more", before + after)
            or has("open", before.rstrip())
        ):
            continue
        error = _comparison(finding, "f")
        if before:
            yield _replaced(sentence, match, ""), error
        else:
            end = sentence.start + match.end()
            yield (Edit(sentence.start, end + 1, after[0].upper()),), error


def _turned(report: Reference) -> Iterator[_Option]:
    for sentence, finding in _about_one(report):
        matches = [*_TURN.finditer(sentence.text)]
        if len(matches) != 1 or finding.is_device:
            continue
        (match,) = matches
        word = match[0].lower()
        if word in ("stable", "unchanged"):
            is_plain = finding.significant and PATTERNS["adjective"].search(sentence.text)
            if not is_plain or has("further", sentence.text) or has("size", sentence.text):
                continue
        elif not has("in_time", sentence.text):
            continue
        after = in_case_of(TURNED[word], match[0])
        yield _replaced(sentence, match, after), _error(finding, "e", "f", is_doubtful=True)

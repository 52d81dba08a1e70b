"""Perturbations with one known error: a finding, its side, place, degree, size or course."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from judge.stress.report_edits import (
    AREAS,
    DEGREES,
    FINDINGS,
    LEVELS,
    NORMAL,
    PATTERNS,
    TIPS,
    TURNED,
    Change,
    Edit,
    Finding,
    InjectedError,
    Reference,
    Sentence,
    addition,
    findings_in,
    has,
    match_case,
    removal,
)

_KINDS = r"(?:(?:focal|acute|large|definite|suspicious|pulmonary|visible|significant|displaced) )*"
FACTOR = 2
"""How much larger a measurement becomes; one of 5 cm or more becomes so much smaller."""
_OTHER_SIDE = {"left": "right", "right": "left", "l": "R", "r": "L"}
_FRACTURES = {"fracture", "old fracture"}
_BY_SIZE = {"severe": "large", "minimal": "small", "mild": "small"}
_PLAIN = "no sentence says of one known finding alone that it is there"
Options = Callable[[Reference], Iterator[Change]]
ERRORS: dict[str, tuple[str, Options, str]] = {}
"""By error: a description, the function that lists the options in a report, why there is none."""


def _injects(does: str, why_not: str) -> Callable[[Options], Options]:
    def register(options: Options) -> Options:
        ERRORS[options.__name__[1:]] = (does, options, why_not)
        return options

    return register


def _error(
    finding: Finding, *categories: str, is_doubtful: bool = False
) -> InjectedError:
    doubtful = is_doubtful or finding.doubtful
    return InjectedError(categories, finding.name, finding.significant, doubtful)


def _only(sentence: Sentence, *names: str) -> re.Match[str] | None:
    matches = [
        match for name in names for match in PATTERNS[name].finditer(sentence.text)
    ]
    return matches[0] if len(matches) == 1 else None


def _replaced(sentence: Sentence, match: re.Match[str], after: str) -> tuple[Edit]:
    return (_edit(sentence, *match.span(), match_case(after, match[0])),)


def _edit(sentence: Sentence, start: int, end: int, after: str) -> Edit:
    after = after.upper() if sentence.text.isupper() else after
    return Edit(sentence.start + start, sentence.start + end, after)


def _rewritten(sentence: Sentence, after: str) -> tuple[Edit]:
    return (_edit(sentence, 0, len(sentence.text), after),)


def _is_mentioned_once(report: Reference, finding: Finding) -> bool:
    return (
        sum(any(map(finding.is_kin, findings_in(s.text))) for s in report.sentences)
        == 1
    )


def _sentences_on_one_finding(report: Reference) -> Iterator[tuple[Sentence, Finding]]:
    """Yield the sentences that alone mention a finding, mention no other and do not deny it."""
    for sentence in report.sentences:
        known = findings_in(sentence.text)
        is_affirmed = len(known) == 1 and not has("negated", sentence.text)
        if is_affirmed and _is_mentioned_once(report, known[0]):
            yield sentence, known[0]


def _plain_statements(report: Reference) -> Iterator[tuple[Sentence, Finding]]:
    for sentence, finding in _sentences_on_one_finding(report):
        if not any(
            has(pattern, sentence.text) for pattern in ("further", "compares", "hedged")
        ):
            yield sentence, finding


@_injects("A finding is left out.", _PLAIN)
def _removed(report: Reference) -> Iterator[Change]:
    for sentence, finding in _plain_statements(report):
        if not finding.is_device and len(report.sentences) > 1:
            yield (removal(report, sentence),), _error(finding, "b")


@_injects("A finding is made up.", "the reference speaks of every area of the chest")
def _added(report: Reference) -> Iterator[Change]:
    for finding in FINDINGS:
        patterns = (AREAS[finding.area], finding.pattern)
        if finding.affirmed and not any(
            words.search(report.text) for words in patterns
        ):
            yield (addition(report, finding.affirmed),), _error(finding, "a")


@_injects("A finding of the reference is denied.", _PLAIN)
def _denied(report: Reference) -> Iterator[Change]:
    for sentence, finding in _plain_statements(report):
        if finding.denied:
            stop = "." if sentence.text.endswith(".") else ""
            after = match_case(finding.denied, sentence.text).rstrip(".") + stop
            yield _rewritten(sentence, after), _error(finding, "b")


@_injects(
    "A finding that is denied is affirmed.", "no denied finding that can be affirmed"
)
def _affirmed(report: Reference) -> Iterator[Change]:
    for sentence, lead, others, finding in _deniable(report):
        after = match_case(str(finding.affirmed), sentence.text)
        if others:
            comma = "," if len(others) > 2 else ""
            rest = f"{comma} or ".join(
                filter(None, (", ".join(others[:-1]), others[-1]))
            )
            after = f"{lead}{rest}. {after}"
        yield _rewritten(sentence, after), _error(finding, "a")


def _deniable(report: Reference) -> Iterator[tuple[Sentence, str, list[str], Finding]]:
    """Yield denied findings: sentence, the words before its list, the other items, finding."""
    for sentence in report.sentences:
        match = PATTERNS["list"].fullmatch(sentence.text)
        if match is None or has("hedged", sentence.text):
            continue
        items = PATTERNS["between"].split(match["items"])
        known = [_finding_of(item) for item in items]
        if not all(known) and len(items) > 1:
            continue
        for place, finding in enumerate(known):
            if (
                finding is None
                or not finding.affirmed
                or not _is_mentioned_once(report, finding)
            ):
                continue
            n_kin = sum(other is not None and finding.is_kin(other) for other in known)
            normal = NORMAL.get(finding.area)
            if n_kin == 1 and not (normal and normal.search(report.text)):
                yield (
                    sentence,
                    match["lead"],
                    [*items[:place], *items[place + 1 :]],
                    finding,
                )


def _finding_of(item: str) -> Finding | None:
    for finding in findings_in(item):
        if re.fullmatch(rf"{_KINDS}(?:{finding.pattern.pattern})", item.strip(), re.I):
            return finding
    return None


@_injects(
    "A finding is on the other side.", "no sentence puts one known finding on one side"
)
def _side_swapped(report: Reference) -> Iterator[Change]:
    for sentence, finding in _sentences_on_one_finding(report):
        side = _only(sentence, "side", "letter")
        if side and not has("no_side", sentence.text):
            error = _error(finding, "c", is_doubtful=finding.is_device)
            yield _replaced(sentence, side, _OTHER_SIDE[side[0].lower()]), error


@_injects(
    "A finding is in another lobe or level.", "no known finding is in one lobe or level"
)
def _level_changed(report: Reference) -> Iterator[Change]:
    for sentence, finding in _sentences_on_one_finding(report):
        level = _only(sentence, "level")
        is_fixed = finding.is_device or finding.low or "hilar" in sentence.text.lower()
        if level and not is_fixed:
            error = _error(finding, "c", is_doubtful=True)
            yield _replaced(sentence, level, LEVELS[level[0].lower()]), error


@_injects(
    "A finding is graver or milder.", "no known finding is of a degree that can change"
)
def _severity_changed(report: Reference) -> Iterator[Change]:
    for sentence, finding in _sentences_on_one_finding(report):
        degree = _only(sentence, "degree")
        if degree is None or finding.is_device or has("grown", sentence.text):
            continue
        if _is_degree_of(finding, sentence.text, degree):
            for word in DEGREES[degree[0].lower()].values():
                after = _BY_SIZE.get(word, word) if finding.sized else word
                yield _replaced(sentence, degree, after), _error(finding, "d")


def _is_degree_of(finding: Finding, text: str, degree: re.Match[str]) -> bool:
    name = finding.pattern.search(text)
    if name and name.start() <= degree.start() < name.end():
        return True
    after = finding.pattern.search(text, degree.end())
    return after is not None and len(text[degree.end() : after.start()].split()) <= 3


@_injects(
    f"A measurement is {FACTOR} times as large, or half as large.",
    "no known finding is measured once, in mm or cm",
)
def _measurement_changed(report: Reference) -> Iterator[Change]:
    for sentence, finding in _sentences_on_one_finding(report):
        text = sentence.text
        numbers = [*PATTERNS["measure"].finditer(text)]
        is_single = bool(numbers) and len(PATTERNS["unit"].findall(text)) == 1
        if finding.is_device or not is_single or has("compares", text):
            continue
        in_mm = [float(n[1]) * (1 if n[2].lower() == "mm" else 10) for n in numbers]
        factor = 1 / FACTOR if max(in_mm) >= 50 else FACTOR
        edits = [_replaced(sentence, n, _times(n[1], factor))[0] for n in numbers]
        yield tuple(edits), _error(finding, "d", is_doubtful=True)


def _times(number: str, factor: float) -> str:
    value = float(number) * factor
    digits = len(number.partition(".")[2]) or int(value % 1 > 0)
    return f"{value:.{digits}f}"


@_injects(
    "An old fracture is acute, or the reverse.", "no fracture is called acute or old"
)
def _acuity_changed(report: Reference) -> Iterator[Change]:
    findings = [
        (s, {finding.name for finding in findings_in(s.text)}) for s in report.sentences
    ]
    of_fractures = [
        (sentence, names) for sentence, names in findings if names & _FRACTURES
    ]
    for sentence, names in of_fractures:
        acuity = _only(sentence, "acute")
        is_plain = not has("negated", sentence.text) and names <= _FRACTURES
        if acuity and is_plain and len(of_fractures) == 1:
            after = "old" if acuity[0].lower() == "acute" else "acute"
            error = InjectedError(("d", "a", "b"), "fracture", is_significant=True)
            yield _replaced(sentence, acuity, after), error


@_injects(
    "The tip of a device is in a wrong place, or the device is left out.",
    "no sentence says of one known device alone that it is there",
)
def _device_changed(report: Reference) -> Iterator[Change]:
    moved = [*_tip_moved(report)]
    yield from moved
    if not moved and len(report.sentences) > 1:
        for sentence, device in _plain_statements(report):
            if device.is_device:
                yield (removal(report, sentence),), _error(device, "b")


def _tip_moved(report: Reference) -> Iterator[Change]:
    for sentence, device in _sentences_on_one_finding(report):
        text = sentence.text
        if not device.is_device or not has("tip", text):
            continue
        places = [
            (match, to) for tip, to in TIPS.items() if (match := tip.search(text))
        ]
        if device.name == "endotracheal tube" and (
            match := PATTERNS["carina"].search(text)
        ):
            places = [(match, "in the right main bronchus")]
        if device.name in ("central line", "PICC", "port"):
            places = [(match, to) for match, to in places if "bronchus" not in to]
        if len(places) == 1:
            match, to = places[0]
            error = InjectedError(("c",), device.name, is_significant=True)
            yield (_edit(sentence, *match.span(), to),), error


@_injects(
    "A comparison is turned, left out or made up.", "no comparison that can change"
)
def _comparison_changed(report: Reference) -> Iterator[Change]:
    options = [*_turned(report), *_left_out(report)]
    yield from options
    if not options and not has("compares", report.text):
        yield from _made_up(report)


def _made_up(report: Reference) -> Iterator[Change]:
    for sentence, finding in _plain_statements(report):
        if not finding.is_device and finding.denied and sentence.text.endswith("."):
            end = len(sentence.text) - 1
            edit = _edit(sentence, end, end, ", unchanged since the prior study")
            yield (edit,), InjectedError(("e",), finding.name)


def _left_out(report: Reference) -> Iterator[Change]:
    for sentence, finding in _sentences_on_one_finding(report):
        match = _only(sentence, "adjective", "after_noun", "again")
        if match is None:
            continue
        start, end = match.span()
        before, after = sentence.text[:start], sentence.text[end:]
        rest = before + after
        if has("compares", rest) or has("more", rest) or has("open", before.rstrip()):
            continue
        first = (end, "") if before else (end + 1, after[0].upper())
        yield (_edit(sentence, start, *first),), InjectedError(("f",), finding.name)


def _turned(report: Reference) -> Iterator[Change]:
    for sentence, finding in _sentences_on_one_finding(report):
        match = _only(sentence, "turn")
        if match is None or finding.is_device:
            continue
        if (word := match[0].lower()) in ("stable", "unchanged"):
            is_plain = finding.significant and has("adjective", sentence.text)
            if (
                not is_plain
                or has("further", sentence.text)
                or has("size", sentence.text)
            ):
                continue
        elif not has("in_time", sentence.text):
            continue
        error = _error(finding, "e", "f", is_doubtful=True)
        yield _replaced(sentence, match, TURNED[word]), error


@_injects(
    "The opposite is said too.", "no plain sentence affirms or denies one known finding"
)
def _contradicted(report: Reference) -> Iterator[Change]:
    deniable = [finding for _, finding in _plain_statements(report) if finding.denied]
    for finding in deniable:
        yield (
            (addition(report, str(finding.denied)),),
            _error(finding, "b", "a", is_doubtful=True),
        )
    if not deniable:
        for *_, finding in _deniable(report):
            yield (addition(report, str(finding.affirmed)),), _error(finding, "a")

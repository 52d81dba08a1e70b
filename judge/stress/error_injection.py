"""Perturbations with one known error: a finding, its side, place, degree, size or course."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from judge.stress.report_edits import (
    AREAS,
    DEGREES,
    FINDINGS,
    LEVELS,
    NORMAL,
    PATTERNS,
    TIPS,
    TURNED,
    Edit,
    InjectedError,
    Injection,
    Reference,
    Sentence,
    StressFinding,
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
_MM = {"mm": 1, "cm": 10}
_PLAIN = "no sentence says of one known finding alone that it is there"
Options = Callable[[Reference], Iterator[Injection]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorKind:
    """A kind of error that can be put into a reference.

    `options` yields each way to make one error of the kind in a report, and nothing where
    `why_not` is true of the report.
    """

    name: str
    description: str
    options: Options
    why_not: str


ERROR_KINDS: dict[str, ErrorKind] = {}
"""The kinds of errors by name, in the order in which they are printed."""


def _error_kind(
    name: str, *, description: str, why_not: str
) -> Callable[[Options], Options]:
    """Make an `ErrorKind` of the function that yields its options."""

    def register(options: Options) -> Options:
        ERROR_KINDS[name] = ErrorKind(
            name=name, description=description, options=options, why_not=why_not
        )
        return options

    return register


def _error(
    finding: StressFinding, *categories: str, is_doubtful: bool = False
) -> InjectedError:
    return InjectedError(
        categories,
        finding.name,
        is_significant=finding.significant,
        is_doubtful=is_doubtful or finding.doubtful,
    )


def _only(sentence: Sentence, *names: str) -> re.Match[str] | None:
    """Return what the patterns of these names find, None unless that is one place."""
    matches: list[re.Match[str]] = []
    for name in names:
        matches += PATTERNS[name].finditer(sentence.text)
    if len(matches) != 1:
        return None
    return matches[0]


def _replaced(sentence: Sentence, match: re.Match[str], after: str) -> tuple[Edit]:
    start, end = match.span()
    edit = _edit(sentence, start, end, match_case(after, match[0]))
    return (edit,)


def _edit(sentence: Sentence, start: int, end: int, after: str) -> Edit:
    if sentence.text.isupper():
        after = after.upper()
    return Edit(sentence.start + start, sentence.start + end, after)


def _rewritten(sentence: Sentence, after: str) -> tuple[Edit]:
    return (_edit(sentence, 0, len(sentence.text), after),)


def _is_mentioned_once(report: Reference, finding: StressFinding) -> bool:
    n = 0
    for sentence in report.sentences:
        n += any(map(finding.is_kin, findings_in(sentence.text)))
    return n == 1


def _sentences_on_one_finding(
    report: Reference,
) -> Iterator[tuple[Sentence, StressFinding]]:
    """Yield the sentences that alone mention a finding, mention no other and do not deny it."""
    for sentence in report.sentences:
        known = findings_in(sentence.text)
        if len(known) != 1 or has("negated", sentence.text):
            continue
        finding = known[0]
        if _is_mentioned_once(report, finding):
            yield sentence, finding


def _plain_statements(report: Reference) -> Iterator[tuple[Sentence, StressFinding]]:
    """Yield the sentences that say of one finding that it is there, and no more."""
    for sentence, finding in _sentences_on_one_finding(report):
        text = sentence.text
        says_more = has("further", text) or has("compares", text)
        if not says_more and not has("hedged", text):
            yield sentence, finding


@_error_kind(
    "removed",
    description="A finding is left out.",
    why_not=_PLAIN,
)
def _removed(report: Reference) -> Iterator[Injection]:
    for sentence, finding in _plain_statements(report):
        if not finding.is_device and len(report.sentences) > 1:
            yield (removal(report, sentence),), _error(finding, "b")


@_error_kind(
    "added",
    description="A finding is made up.",
    why_not="the reference speaks of every area of the chest",
)
def _added(report: Reference) -> Iterator[Injection]:
    for finding in FINDINGS:
        is_spoken_of = AREAS[finding.area].search(report.text)
        is_named = finding.pattern.search(report.text)
        if finding.affirmed and not is_spoken_of and not is_named:
            yield (addition(report, finding.affirmed),), _error(finding, "a")


@_error_kind(
    "denied",
    description="A finding of the reference is denied.",
    why_not=_PLAIN,
)
def _denied(report: Reference) -> Iterator[Injection]:
    for sentence, finding in _plain_statements(report):
        if not finding.denied:
            continue
        after = match_case(finding.denied, sentence.text).rstrip(".")
        if sentence.text.endswith("."):
            after += "."
        yield _rewritten(sentence, after), _error(finding, "b")


@_error_kind(
    "affirmed",
    description="A finding that is denied is affirmed.",
    why_not="no denied finding that can be affirmed",
)
def _affirmed(report: Reference) -> Iterator[Injection]:
    for sentence, lead, others, finding in _deniable(report):
        after = match_case(str(finding.affirmed), sentence.text)
        if others:
            after = f"{lead}{_listed(others)}. {after}"
        yield _rewritten(sentence, after), _error(finding, "a")


def _listed(items: list[str]) -> str:
    """Return items as "a", "a or b" or "a, b, or c"."""
    if len(items) == 1:
        return items[0]
    *earlier, last = items
    if len(earlier) == 1:
        return f"{earlier[0]} or {last}"
    return f"{', '.join(earlier)}, or {last}"


def _deniable(
    report: Reference,
) -> Iterator[tuple[Sentence, str, list[str], StressFinding]]:
    """Yield denied findings: sentence, the words before its list, the other items, finding."""
    for sentence in report.sentences:
        match = PATTERNS["list"].fullmatch(sentence.text)
        if match is None or has("hedged", sentence.text):
            continue
        items = PATTERNS["between"].split(match["items"])
        known = [_finding_of(item) for item in items]
        if not all(known) and len(items) > 1:
            continue
        for at, finding in enumerate(known):
            if finding is None or not finding.affirmed:
                continue
            kin = [other for other in known if other and finding.is_kin(other)]
            if len(kin) != 1 or not _is_mentioned_once(report, finding):
                continue
            # "The lungs are clear" would contradict an opacity.
            normal = NORMAL.get(finding.area)
            if normal is not None and normal.search(report.text):
                continue
            others = [*items[:at], *items[at + 1 :]]
            yield sentence, match["lead"], others, finding


def _finding_of(item: str) -> StressFinding | None:
    """Return the finding that an item of a list names, alone or with a usual adjective."""
    for finding in findings_in(item):
        pattern = rf"{_KINDS}(?:{finding.pattern.pattern})"
        if re.fullmatch(pattern, item.strip(), re.I):
            return finding
    return None


@_error_kind(
    "side_swapped",
    description="A finding is on the other side.",
    why_not="no sentence puts one known finding on one side",
)
def _side_swapped(report: Reference) -> Iterator[Injection]:
    for sentence, finding in _sentences_on_one_finding(report):
        side = _only(sentence, "side", "letter")
        if side and not has("no_side", sentence.text):
            after = _OTHER_SIDE[side[0].lower()]
            error = _error(finding, "c", is_doubtful=finding.is_device)
            yield _replaced(sentence, side, after), error


@_error_kind(
    "level_changed",
    description="A finding is in another lobe or level.",
    why_not="no known finding is in one lobe or level",
)
def _level_changed(report: Reference) -> Iterator[Injection]:
    for sentence, finding in _sentences_on_one_finding(report):
        # Devices, basal and hilar findings are in no other lobe.
        if finding.is_device or finding.low or "hilar" in sentence.text.lower():
            continue
        level = _only(sentence, "level")
        if level:
            after = LEVELS[level[0].lower()]
            error = _error(finding, "c", is_doubtful=True)
            yield _replaced(sentence, level, after), error


@_error_kind(
    "severity_changed",
    description="A finding is graver or milder.",
    why_not="no known finding is of a degree that can change",
)
def _severity_changed(report: Reference) -> Iterator[Injection]:
    for sentence, finding in _sentences_on_one_finding(report):
        degree = _only(sentence, "degree")
        if degree is None or finding.is_device or has("grown", sentence.text):
            continue
        if not _is_degree_of(finding, sentence.text, degree):
            continue
        others = DEGREES[degree[0].lower()]
        for word in others.values():
            if finding.sized:
                word = _BY_SIZE.get(word, word)
            yield _replaced(sentence, degree, word), _error(finding, "d")


_MOST_BETWEEN = 3


def _is_degree_of(finding: StressFinding, text: str, degree: re.Match[str]) -> bool:
    """Return whether a degree is part of a finding's name or stands shortly before it."""
    name = finding.pattern.search(text)
    if name and name.start() <= degree.start() < name.end():
        return True
    after = finding.pattern.search(text, degree.end())
    if after is None:
        return False
    words_between = text[degree.end() : after.start()].split()
    return len(words_between) <= _MOST_BETWEEN


@_error_kind(
    "measurement_changed",
    description=f"A measurement is {FACTOR} times as large, or half as large.",
    why_not="no known finding is measured once, in mm or cm",
)
def _measurement_changed(report: Reference) -> Iterator[Injection]:
    for sentence, finding in _sentences_on_one_finding(report):
        text = sentence.text
        if finding.is_device or has("compares", text):
            continue
        numbers = [*PATTERNS["measure"].finditer(text)]
        units = PATTERNS["unit"].findall(text)
        if not numbers or len(units) != 1:
            continue
        in_mm = [float(n[1]) * _MM[n[2].lower()] for n in numbers]
        factor: float = FACTOR
        # Twice as large would be larger than what is seen in a chest.
        if max(in_mm) >= _LARGE_MM:
            factor = 1 / FACTOR
        edits: list[Edit] = []
        for number in numbers:
            edits += _replaced(sentence, number, _times(number[1], factor))
        yield tuple(edits), _error(finding, "d", is_doubtful=True)


_LARGE_MM = 50


def _times(number: str, factor: float) -> str:
    """Return a number times a factor, with its own decimals, or with one where it needs one."""
    value = float(number) * factor
    _, _, decimals = number.partition(".")
    digits = len(decimals)
    if not digits and value % 1 > 0:
        digits = 1
    return f"{value:.{digits}f}"


@_error_kind(
    "acuity_changed",
    description="An old fracture is acute, or the reverse.",
    why_not="no fracture is called acute or old",
)
def _acuity_changed(report: Reference) -> Iterator[Injection]:
    of_fractures = []
    for sentence in report.sentences:
        names = {finding.name for finding in findings_in(sentence.text)}
        if names & _FRACTURES:
            of_fractures.append((sentence, names))
    for sentence, names in of_fractures:
        acuity = _only(sentence, "acute")
        is_plain = not has("negated", sentence.text) and names <= _FRACTURES
        if acuity and is_plain and len(of_fractures) == 1:
            after = "acute"
            if acuity[0].lower() == "acute":
                after = "old"
            error = InjectedError(("d", "a", "b"), "fracture", is_significant=True)
            yield _replaced(sentence, acuity, after), error


@_error_kind(
    "device_changed",
    description="The tip of a device is in a wrong place, or the device is left out.",
    why_not="no sentence says of one known device alone that it is there",
)
def _device_changed(report: Reference) -> Iterator[Injection]:
    moved = [*_tip_moved(report)]
    yield from moved
    if not moved and len(report.sentences) > 1:
        for sentence, device in _plain_statements(report):
            if device.is_device:
                yield (removal(report, sentence),), _error(device, "b")


def _tip_moved(report: Reference) -> Iterator[Injection]:
    for sentence, device in _sentences_on_one_finding(report):
        text = sentence.text
        if not device.is_device or not has("tip", text):
            continue
        wrong_places = _wrong_places(device, text)
        if len(wrong_places) == 1:
            match, to = wrong_places[0]
            error = InjectedError(("c",), device.name, is_significant=True)
            yield (_edit(sentence, *match.span(), to),), error


def _wrong_places(device: StressFinding, text: str) -> list[tuple[re.Match[str], str]]:
    """Return the words on a tip's place, each with a wrong place for this device."""
    carina = PATTERNS["carina"].search(text)
    if device.name == "endotracheal tube" and carina is not None:
        return [(carina, "in the right main bronchus")]
    is_in_vein = device.name in ("central line", "PICC", "port")
    places = []
    for tip, to in TIPS.items():
        match = tip.search(text)
        if match is not None and not (is_in_vein and "bronchus" in to):
            places.append((match, to))
    return places


@_error_kind(
    "comparison_changed",
    description="A comparison is turned, left out or made up.",
    why_not="no comparison that can change",
)
def _comparison_changed(report: Reference) -> Iterator[Injection]:
    options = [*_turned(report), *_left_out(report)]
    yield from options
    if not options and not has("compares", report.text):
        yield from _made_up(report)


def _made_up(report: Reference) -> Iterator[Injection]:
    for sentence, finding in _plain_statements(report):
        if not finding.is_device and finding.denied and sentence.text.endswith("."):
            end = len(sentence.text) - 1
            edit = _edit(sentence, end, end, ", unchanged since the prior study")
            yield (edit,), InjectedError(("e",), finding.name)


def _left_out(report: Reference) -> Iterator[Injection]:
    for sentence, finding in _sentences_on_one_finding(report):
        match = _only(sentence, "adjective", "after_noun", "again")
        if match is None:
            continue
        start, end = match.span()
        before = sentence.text[:start]
        after = sentence.text[end:]
        rest = before + after
        if has("compares", rest) or has("more", rest) or has("open", before.rstrip()):
            continue
        if before:
            edit = _edit(sentence, start, end, "")
        else:
            # The next word begins the sentence.
            edit = _edit(sentence, start, end + 1, after[0].upper())
        yield (edit,), InjectedError(("f",), finding.name)


def _turned(report: Reference) -> Iterator[Injection]:
    for sentence, finding in _sentences_on_one_finding(report):
        match = _only(sentence, "turn")
        if match is None or finding.is_device:
            continue
        word = match[0].lower()
        if word in ("stable", "unchanged"):
            is_adjective = finding.significant and has("adjective", sentence.text)
            says_more = has("further", sentence.text) or has("size", sentence.text)
            if not is_adjective or says_more:
                continue
        elif not has("in_time", sentence.text):
            continue
        error = _error(finding, "e", "f", is_doubtful=True)
        yield _replaced(sentence, match, TURNED[word]), error


@_error_kind(
    "contradicted",
    description="The opposite is said too.",
    why_not="no plain sentence affirms or denies one known finding",
)
def _contradicted(report: Reference) -> Iterator[Injection]:
    deniable = [finding for _, finding in _plain_statements(report) if finding.denied]
    for finding in deniable:
        edit = addition(report, str(finding.denied))
        yield (edit,), _error(finding, "b", "a", is_doubtful=True)
    if not deniable:
        for *_, finding in _deniable(report):
            yield (addition(report, str(finding.affirmed)),), _error(finding, "a")

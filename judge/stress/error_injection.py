"""Perturbations with one known error: a finding, its side, place, degree, size or course."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from judge.stress.report_edits import (
    DEGREES,
    LEVELS,
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
    has,
    match_case,
    removal,
)

_KINDS = r"(?:(?:focal|acute|large|definite|suspicious|pulmonary|visible|significant|displaced) )*"
FACTOR = 2
"""How much larger a measurement becomes; one of 5 cm or more becomes so much smaller."""
OTHER_SIDE = {"left": "right", "right": "left", "l": "R", "r": "L"}
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


def error_kind(
    name: str, *, description: str, why_not: str
) -> Callable[[Options], Options]:
    """Make an `ErrorKind` of the function that yields its options."""

    def register(options: Options) -> Options:
        ERROR_KINDS[name] = ErrorKind(
            name=name, description=description, options=options, why_not=why_not
        )
        return options

    return register


def error_of(
    finding: StressFinding, *categories: str, is_doubtful: bool = False
) -> InjectedError:
    """Return an error about a finding, in these categories; the finding says what it is worth."""
    return InjectedError(
        categories,
        finding.name,
        is_significant=finding.significant,
        is_doubtful=is_doubtful or finding.doubtful,
    )


def only_match(sentence: Sentence, *names: str) -> re.Match[str] | None:
    """Return what the patterns of these names find, None unless that is one place."""
    matches: list[re.Match[str]] = []
    for name in names:
        matches += PATTERNS[name].finditer(sentence.text)
    if len(matches) != 1:
        return None
    return matches[0]


def replaced(sentence: Sentence, match: re.Match[str], after: str) -> tuple[Edit]:
    """Return the edit that puts a word in the place of another, in its case."""
    start, end = match.span()
    edit = edit_of(sentence, start, end, match_case(after, match[0]))
    return (edit,)


def edit_of(sentence: Sentence, start: int, end: int, after: str) -> Edit:
    """Return the edit of a part of a sentence, in capitals where the sentence is."""
    if sentence.text.isupper():
        after = after.upper()
    return Edit(sentence.start + start, sentence.start + end, after)


def _rewritten(sentence: Sentence, after: str) -> tuple[Edit]:
    return (edit_of(sentence, 0, len(sentence.text), after),)


def is_mentioned_once(report: Reference, finding: StressFinding) -> bool:
    """Whether one sentence of the report mentions a finding, or another that may be the same."""
    n = 0
    for sentence in report.sentences:
        n += any(map(finding.is_kin, report.findings_in(sentence.text)))
    return n == 1


def sentences_on_one_finding(
    report: Reference,
) -> Iterator[tuple[Sentence, StressFinding]]:
    """Yield the sentences that alone mention a finding, mention no other and do not deny it."""
    for sentence in report.sentences:
        known = report.findings_in(sentence.text)
        if len(known) != 1 or has("negated", sentence.text):
            continue
        finding = known[0]
        if is_mentioned_once(report, finding):
            yield sentence, finding


def plain_statements(report: Reference) -> Iterator[tuple[Sentence, StressFinding]]:
    """Yield the sentences that say of one finding that it is there, and no more."""
    for sentence, finding in sentences_on_one_finding(report):
        text = sentence.text
        says_more = has("further", text) or has("compares", text)
        # `L4-L5: ...` heads the sentences after it.
        is_needed = ":" in text or leans_on(report, sentence)
        if report.is_sectional and is_needed:
            continue
        if not says_more and not has("hedged", text):
            yield sentence, finding


def leans_on(report: Reference, sentence: Sentence) -> bool:
    """Whether the next sentence says more of what this one says, as `It measures 12 mm` does."""
    after = report.sentences.index(sentence) + 1
    if after == len(report.sentences):
        return False
    text = report.sentences[after].text
    return PATTERNS["leans"].match(text) is not None or has("lesion_again", text)


@error_kind(
    "removed",
    description="A finding is left out.",
    why_not=_PLAIN,
)
def _removed(report: Reference) -> Iterator[Injection]:
    for sentence, finding in plain_statements(report):
        if not finding.is_device and len(report.sentences) > 1:
            yield (removal(report, sentence),), error_of(finding, "b")


@error_kind(
    "added",
    description="A finding is made up.",
    why_not="the reference speaks of every area of the chest",
)
def _added(report: Reference) -> Iterator[Injection]:
    for finding in report.vocabulary.findings:
        is_spoken_of = report.vocabulary.areas[finding.area].search(report.text)
        is_named = finding.pattern.search(report.text)
        if report.can_have(finding) and not is_spoken_of and not is_named:
            yield (addition(report, str(finding.affirmed)),), error_of(finding, "a")


@error_kind(
    "denied",
    description="A finding of the reference is denied.",
    why_not=_PLAIN,
)
def _denied(report: Reference) -> Iterator[Injection]:
    for sentence, finding in plain_statements(report):
        if not finding.denied:
            continue
        after = match_case(finding.denied, sentence.text).rstrip(".")
        if sentence.text.endswith("."):
            after += "."
        yield _rewritten(sentence, after), error_of(finding, "b")


@error_kind(
    "affirmed",
    description="A finding that is denied is affirmed.",
    why_not="no denied finding that can be affirmed",
)
def _affirmed(report: Reference) -> Iterator[Injection]:
    for sentence, lead, others, finding in _deniable(report):
        after = match_case(str(finding.affirmed), sentence.text)
        if others:
            after = f"{lead}{_listed(others)}. {after}"
        yield _rewritten(sentence, after), error_of(finding, "a")


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
        known = [_finding_of(report, item) for item in items]
        if not all(known) and len(items) > 1:
            continue
        for at, finding in enumerate(known):
            if finding is None or not report.can_have(finding):
                continue
            kin = [other for other in known if other and finding.is_kin(other)]
            if len(kin) != 1 or not is_mentioned_once(report, finding):
                continue
            # "The lungs are clear" would contradict an opacity.
            normal = report.vocabulary.normal.get(finding.area)
            if normal is not None and normal.search(report.text):
                continue
            others = [*items[:at], *items[at + 1 :]]
            yield sentence, match["lead"], others, finding


def _finding_of(report: Reference, item: str) -> StressFinding | None:
    """Return the finding that an item of a list names, alone or with a usual adjective."""
    for finding in report.findings_in(item):
        pattern = rf"{_KINDS}(?:{finding.pattern.pattern})"
        if re.fullmatch(pattern, item.strip(), re.I):
            return finding
    return None


@error_kind(
    "side_swapped",
    description="A finding is on the other side.",
    why_not="no sentence puts one known finding on one side",
)
def _side_swapped(report: Reference) -> Iterator[Injection]:
    for sentence, finding in sentences_on_one_finding(report):
        side = only_match(sentence, "side", "letter")
        if side and not has("no_side", sentence.text):
            after = OTHER_SIDE[side[0].lower()]
            error = error_of(finding, "c", is_doubtful=finding.is_device)
            yield replaced(sentence, side, after), error


@error_kind(
    "level_changed",
    description="A finding is in another lobe or level.",
    why_not="no known finding is in one lobe or level",
)
def _level_changed(report: Reference) -> Iterator[Injection]:
    for sentence, finding in sentences_on_one_finding(report):
        # Devices, basal and hilar findings are in no other lobe.
        if finding.is_device or finding.low or "hilar" in sentence.text.lower():
            continue
        level = only_match(sentence, "level")
        if level:
            after = LEVELS[level[0].lower()]
            error = error_of(finding, "c", is_doubtful=True)
            yield replaced(sentence, level, after), error


@error_kind(
    "severity_changed",
    description="A finding is graver or milder.",
    why_not="no known finding is of a degree that can change",
)
def _severity_changed(report: Reference) -> Iterator[Injection]:
    for sentence, finding in sentences_on_one_finding(report):
        degree = only_match(sentence, "degree")
        if degree is None or finding.is_device or has("grown", sentence.text):
            continue
        if not _is_degree_of(finding, sentence.text, degree):
            continue
        others = DEGREES[degree[0].lower()]
        for word in others.values():
            if finding.sized:
                word = _BY_SIZE.get(word, word)
            yield replaced(sentence, degree, word), error_of(finding, "d")


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


@error_kind(
    "measurement_changed",
    description=f"A measurement is {FACTOR} times as large, or half as large.",
    why_not="no known finding is measured once, in mm or cm",
)
def _measurement_changed(report: Reference) -> Iterator[Injection]:
    for sentence, finding in sentences_on_one_finding(report):
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
        if max(in_mm) >= LARGE_MM:
            factor = 1 / FACTOR
        edits: list[Edit] = []
        for number in numbers:
            edits += replaced(sentence, number, times(number[1], factor))
        yield tuple(edits), error_of(finding, "d", is_doubtful=True)


LARGE_MM = 50


def times(number: str, factor: float) -> str:
    """Return a number times a factor, with its own decimals, or with one where it needs one."""
    value = float(number) * factor
    _, _, decimals = number.partition(".")
    digits = len(decimals)
    if not digits and value % 1 > 0:
        digits = 1
    return f"{value:.{digits}f}"


@error_kind(
    "acuity_changed",
    description="An old fracture is acute, or the reverse.",
    why_not="no fracture is called acute or old",
)
def _acuity_changed(report: Reference) -> Iterator[Injection]:
    of_fractures = []
    for sentence in report.sentences:
        names = {finding.name for finding in report.findings_in(sentence.text)}
        if names & _FRACTURES:
            of_fractures.append((sentence, names))
    for sentence, names in of_fractures:
        acuity = only_match(sentence, "acute")
        is_plain = not has("negated", sentence.text) and names <= _FRACTURES
        if acuity and is_plain and len(of_fractures) == 1:
            after = "acute"
            if acuity[0].lower() == "acute":
                after = "old"
            error = InjectedError(("d", "a", "b"), "fracture", is_significant=True)
            yield replaced(sentence, acuity, after), error


@error_kind(
    "device_changed",
    description="The tip of a device is in a wrong place, or the device is left out.",
    why_not="no sentence says of one known device alone that it is there",
)
def _device_changed(report: Reference) -> Iterator[Injection]:
    moved = [*_tip_moved(report)]
    yield from moved
    if not moved and len(report.sentences) > 1:
        for sentence, device in plain_statements(report):
            if device.is_device:
                yield (removal(report, sentence),), error_of(device, "b")


def _tip_moved(report: Reference) -> Iterator[Injection]:
    for sentence, device in sentences_on_one_finding(report):
        text = sentence.text
        if not device.is_device or not has("tip", text):
            continue
        wrong_places = _wrong_places(device, text)
        if len(wrong_places) == 1:
            match, to = wrong_places[0]
            error = InjectedError(("c",), device.name, is_significant=True)
            yield (edit_of(sentence, *match.span(), to),), error


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


@error_kind(
    "comparison_changed",
    description="A comparison is turned, left out or made up.",
    why_not="no comparison that can change",
)
def _comparison_changed(report: Reference) -> Iterator[Injection]:
    options = [*_turned(report), *comparison_left_out(report)]
    yield from options
    if not options and not has("compares", report.text):
        yield from comparison_made_up(report)


def comparison_made_up(report: Reference) -> Iterator[Injection]:
    """Yield findings that are said to be unchanged, of a report that compares nothing."""
    for sentence, finding in plain_statements(report):
        if not finding.is_device and finding.denied and sentence.text.endswith("."):
            end = len(sentence.text) - 1
            edit = edit_of(sentence, end, end, ", unchanged since the prior study")
            yield (edit,), InjectedError(("e",), finding.name)


def comparison_left_out(report: Reference) -> Iterator[Injection]:
    """Yield findings of which it is no longer said that they are unchanged."""
    for sentence, finding in sentences_on_one_finding(report):
        match = only_match(sentence, "adjective", "after_noun", "again")
        if match is None:
            continue
        start, end = match.span()
        before = sentence.text[:start]
        after = sentence.text[end:]
        rest = before + after
        if has("compares", rest) or has("more", rest) or has("open", before.rstrip()):
            continue
        if before:
            edit = edit_of(sentence, start, end, "")
        else:
            # The next word begins the sentence.
            edit = edit_of(sentence, start, end + 1, after[0].upper())
        yield (edit,), InjectedError(("f",), finding.name)


def _turned(report: Reference) -> Iterator[Injection]:
    for sentence, finding in sentences_on_one_finding(report):
        match = only_match(sentence, "turn")
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
        error = error_of(finding, "e", "f", is_doubtful=True)
        yield replaced(sentence, match, TURNED[word]), error


@error_kind(
    "contradicted",
    description="The opposite is said too.",
    why_not="no plain sentence affirms or denies one known finding",
)
def _contradicted(report: Reference) -> Iterator[Injection]:
    deniable = [finding for _, finding in plain_statements(report) if finding.denied]
    for finding in deniable:
        edit = addition(report, str(finding.denied))
        yield (edit,), error_of(finding, "b", "a", is_doubtful=True)
    if not deniable:
        for *_, finding in _deniable(report):
            yield (addition(report, str(finding.affirmed)),), error_of(finding, "a")

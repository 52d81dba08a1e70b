"""Errors in reports of CT and MR: sizes, units, sides, places, levels, counts and comparisons.

Each is made where it is certainly an error: the sentence speaks of one known finding, does not
deny it, and no other sentence may be about the same one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from judge.stress.error_injection import (
    FACTOR,
    LARGE_MM,
    OTHER_SIDE,
    ErrorKind,
    Options,
    comparison_left_out,
    comparison_made_up,
    edit_of,
    error_kind,
    error_of,
    only_match,
    replaced,
)
from judge.stress.measurements import Measurement, measurements
from judge.stress.report_edits import (
    PATTERNS,
    PLACES,
    SINGULAR,
    TURNED_SECTIONS,
    InjectedError,
    Injection,
    Reference,
    Sentence,
    StressFinding,
    any_of,
    apply_edits,
    has,
    match_case,
    with_words,
)
from judge.stress.spine import levels_in, moved_levels

_PLACE = any_of(sorted(PLACES, key=len, reverse=True))


def _affirmed(report: Reference) -> Iterator[tuple[Sentence, StressFinding]]:
    """Yield the sentences that speak of one known finding and do not deny it."""
    for sentence in report.sentences:
        known = report.findings_in(sentence.text)
        if len(known) == 1 and not has("negated", sentence.text):
            yield sentence, known[0]


def _told_apart(report: Reference) -> Iterator[tuple[Sentence, StressFinding]]:
    """Yield such sentences if no other may be about the same finding.

    Another that affirms it, or its like, is about another one where it is on the other side or in
    another place.
    """
    affirmed = list(_affirmed(report))
    for sentence, finding in affirmed:
        others = []
        for other in report.sentences:
            is_alike = any(map(finding.is_kin, report.findings_in(other.text)))
            if other is not sentence and is_alike and not has("negated", other.text):
                others.append(other)
        if all(_is_elsewhere(sentence.text, other.text) for other in others):
            yield sentence, finding


def _is_elsewhere(text: str, other: str) -> bool:
    sides, other_sides = _found("side", text), _found("side", other)
    if len(sides) == len(other_sides) == 1 and sides != other_sides:
        return True
    places, other_places = _places(text), _places(other)
    return bool(places and other_places and not places & other_places)


def _found(pattern: str, text: str) -> set[str]:
    return {match.lower() for match in PATTERNS[pattern].findall(text)}


def _places(text: str) -> set[str]:
    places = {match.lower() for match in _PLACE.findall(text)}
    return places | {level.text for level in levels_in(text)}


def _side_swapped(report: Reference) -> Iterator[Injection]:
    for sentence, finding in _told_apart(report):
        side = only_match(sentence, "side")
        is_of_no_side = has("no_side", sentence.text) or has("one_side", sentence.text)
        if side is None or is_of_no_side:
            continue
        after = OTHER_SIDE[side[0].lower()]
        edits = replaced(sentence, side, after)
        # The same would be said twice.
        said = apply_edits(report.text, edits)
        twin = said[sentence.start : sentence.end + edits[0].growth]
        if twin.lower() in {other.text.lower() for other in report.sentences}:
            continue
        error = error_of(finding, "c", is_doubtful=finding.is_device)
        yield edits, error


def _level_changed(report: Reference) -> Iterator[Injection]:
    for sentence, finding in _told_apart(report):
        if finding.is_device:
            continue
        error = error_of(finding, "c", is_doubtful=True)
        places = list(_PLACE.finditer(sentence.text))
        levels = levels_in(sentence.text)
        if len(places) + len(levels) != 1:
            continue
        if places:
            # A lobe is not changed below one of its segments.
            if finding.low or has("segment", _PLACE.sub("", sentence.text)):
                continue
            (place,) = places
            after = PLACES[place[0].lower()]
            if after in report.text.lower():
                continue
            yield replaced(sentence, place, after), error
        elif not _heads_others(report, sentence):
            (level,) = levels
            for after in moved_levels(level, report.text):
                edit = edit_of(sentence, level.start, level.end, after)
                yield (edit,), error


def _heads_others(report: Reference, sentence: Sentence) -> bool:
    """Whether sentences after this one are about the level that it begins with, `L4-L5: ...`."""
    if not has("level_heading", sentence.text):
        return False
    after = report.sentences.index(sentence) + 1
    following = report.sentences[after : after + 1]
    return any(not has("level_heading", other.text) for other in following)


_SEGMENT_AFTER = 3
_SEGMENTS = 8
_ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII")


def _segment_changed(report: Reference) -> Iterator[Injection]:
    """Yield findings that are in another segment of the liver."""
    for sentence, finding in _affirmed(report):
        segment = only_match(sentence, "liver_segment")
        is_of_liver = has("of_liver", sentence.text)
        if segment is None or not is_of_liver or has("side", sentence.text):
            continue
        number = segment["number"]
        is_roman = number.upper() in _ROMAN
        if is_roman:
            at = _ROMAN.index(number.upper())
        else:
            at = int(number) - 1
        to = (at + _SEGMENT_AFTER) % _SEGMENTS
        after = str(to + 1)
        if is_roman:
            after = _ROMAN[to]
        every = PATTERNS["liver_segment"].finditer(report.text)
        named = [match["number"].upper() for match in every]
        if named.count(number.upper()) == 1 and after not in named:
            words = segment[0].removesuffix(number) + after
            edit = edit_of(sentence, *segment.span(), words)
            yield (edit,), error_of(finding, "c", is_doubtful=True)


def _level_or_segment_changed(report: Reference) -> Iterator[Injection]:
    yield from _level_changed(report)
    yield from _segment_changed(report)


def _sizes(
    report: Reference,
) -> Iterator[tuple[Sentence, StressFinding, Measurement]]:
    """Yield the sizes of known findings and organs that no other sentence gives."""
    known_sizes = []
    for sentence in report.sentences:
        known_sizes += [size.in_mm for size in measurements(sentence.text)]
    for sentence in report.sentences:
        text = sentence.text
        if has("negated", text) or has("no_size", text):
            continue
        known = report.findings_in(text)
        if not known:
            structures = report.vocabulary.structures
            known = tuple(one for one in structures if one.pattern.search(text))
        if len(known) != 1 or known[0].is_device:
            continue
        for size in measurements(text):
            if known_sizes.count(size.in_mm) == 1:
                yield sentence, known[0], size


def _measurement_changed(report: Reference) -> Iterator[Injection]:
    for sentence, finding, size in _sizes(report):
        factor = Decimal(FACTOR)
        if max(size.in_mm) >= LARGE_MM:
            factor = 1 / factor
        edit = edit_of(sentence, *size.put(sentence.text, size.times(factor)))
        yield (edit,), error_of(finding, "d", is_doubtful=True)


_MOST_MM = 30
_FEWEST_CM = 1


def _unit_changed(report: Reference) -> Iterator[Injection]:
    for sentence, finding, size in _sizes(report):
        # 40 cm would be larger than the organ, 0.5 mm smaller than what is seen.
        if size.unit.lower() == "mm":
            is_possible = max(size.in_mm) <= _MOST_MM
            unit = "cm"
        else:
            is_possible = min(map(Decimal, size.numbers)) >= _FEWEST_CM
            unit = "mm"
        if is_possible:
            after = size.with_unit(match_case(unit, size.unit))
            edit = edit_of(sentence, size.start, size.end, after)
            yield (edit,), error_of(finding, "d")


_MORE = {"two": "five", "three": "six", "2": "5", "3": "6"}
_FEWER = {"four": "two", "five": "two", "six": "two", "4": "2", "5": "2", "6": "2"}
_NUMBERS = {**_MORE, **_FEWER}
_PLURAL = {one: several for several, one in SINGULAR.items()}
_ADJECTIVES = r"(?P<between>(?: (?!or\b|and\b|to\b)[a-z-]+){0,3}?) "
_NOUNS = "|".join(sorted(SINGULAR, key=len, reverse=True))
_NOUN = "|".join(sorted(_PLURAL, key=len, reverse=True))
_COUNTED = re.compile(
    rf"\b(?P<count>{'|'.join(_NUMBERS)}){_ADJECTIVES}(?P<noun>{_NOUNS})\b", re.I
)
_SEVERAL = re.compile(
    r"(?P<start>\A(?:\d{1,2}[.)] )?(?:there are )?)(?P<count>multiple|numerous|several|many)"
    rf"{_ADJECTIVES}(?P<noun>{_NOUNS})\b(?P<verb> (?:are|measure)\b)?",
    re.I,
)
_ONE = re.compile(
    r"(?P<start>\A(?:\d{1,2}[.)] )?(?:there is )?)(?P<count>(?:a )?(?:single|solitary))"
    rf"{_ADJECTIVES}(?P<noun>{_NOUN})\b(?P<verb> (?:is|measures)\b)?",
    re.I,
)
_VERBS = {"are": "is", "measure": "measures"}
_PLURAL_VERBS = {one: several for several, one in _VERBS.items()}


def _count_changed(report: Reference) -> Iterator[Injection]:
    for sentence, finding in _told_apart(report):
        text = sentence.text
        if has("compares", text) or has("no_count", text):
            continue
        counted = list(_COUNTED.finditer(text))
        if len(counted) == 1:
            (match,) = counted
            if _is_named(finding, match):
                count = match["count"]
                after = match_case(_NUMBERS[count.lower()], count)
                edit = edit_of(sentence, *match.span("count"), after)
                yield (edit,), _error_of_count(finding, is_more=count.lower() in _MORE)
            continue
        rewritten = _as_one(text, finding) or _as_several(text, finding)
        if rewritten:
            end, after, is_more = rewritten
            yield (
                (edit_of(sentence, 0, end, after),),
                _error_of_count(finding, is_more=is_more),
            )


def _error_of_count(finding: StressFinding, *, is_more: bool) -> InjectedError:
    """Return the error of a count: findings are made up, or left out, or there are more of them."""
    other = "a" if is_more else "b"
    return error_of(finding, "d", other, is_doubtful=True)


def _is_named(finding: StressFinding, match: re.Match[str]) -> bool:
    return finding.pattern.search(match[0]) is not None


def _as_one(text: str, finding: StressFinding) -> tuple[int, str, bool] | None:
    """Return the end and the new words of `There are multiple nodules`."""
    match = _SEVERAL.match(text)
    if match is None or not _is_named(finding, match):
        return None
    if has("plural", match["between"]) or has("plural", text[match.end() :]):
        return None
    start = match["start"].replace("are", "is")
    count = "single"
    if match["start"] or match["verb"]:
        count = "a single"
    noun = SINGULAR[match["noun"].lower()]
    verb = _other_verb(match["verb"], _VERBS)
    words = f"{start}{match_case(count, match['count'])}{match['between']} {noun}{verb}"
    return match.end(), words, False


def _as_several(text: str, finding: StressFinding) -> tuple[int, str, bool] | None:
    """Return the end and the new words of `There is a single nodule`."""
    match = _ONE.match(text)
    if (
        match is None
        or not _is_named(finding, match)
        or has("one", text[match.end() :])
    ):
        return None
    start = match["start"].replace("is", "are")
    noun = _PLURAL[match["noun"].lower()]
    verb = _other_verb(match["verb"], _PLURAL_VERBS)
    words = f"{start}{match_case('multiple', match['count'])}{match['between']} {noun}{verb}"
    return match.end(), words, True


def _other_verb(verb: str | None, verbs: dict[str, str]) -> str:
    if not verb:
        return ""
    return f" {verbs[verb.strip().lower()]}"


def _comparison_changed(report: Reference) -> Iterator[Injection]:
    options = [*_turned(report), *comparison_left_out(report)]
    yield from options
    if not options and not has("compares", report.text):
        yield from comparison_made_up(report)


def _turned(report: Reference) -> Iterator[Injection]:
    for sentence, finding in _told_apart(report):
        text = sentence.text
        if finding.is_device or has("two_sizes", text):
            continue
        found = []
        for pattern, after in TURNED_SECTIONS.items():
            found += [(match, after) for match in pattern.finditer(text)]
        if len(found) != 1:
            continue
        ((match, after),) = found
        # Another comparison in the sentence would contradict it.
        rest = text[: match.start()] + text[match.end() :]
        if has("compares_to", rest):
            continue
        if not finding.sized:
            after = _NO_SIZE.get(after, after)
        words = _turned_words(match, after)
        edit = edit_of(sentence, *match.span(), words)
        yield (edit,), error_of(finding, "e", "f", is_doubtful=True)


_NO_SIZE = {
    "enlarging": "worsening",
    "larger": "worse",
    "has increased in size": "has worsened",
    "have increased in size": "have worsened",
}
"""What is said of findings that have no size."""


def _turned_words(match: re.Match[str], after: str) -> str:
    """Return the new words between those that stay, `a` and `b`, with the article that fits."""
    kept = match["a"]
    if kept.lower() == "a " and after[0] in "aeiou":
        kept = f"{kept[0]}n "
    if not kept:
        after = match_case(after, match[0])
    return f"{kept}{after}{match['b']}"


def _never(_report: Reference) -> Iterator[Injection]:
    """Yield nothing: on radiographs such an error is not made."""
    yield from ()


error_kind(
    "unit_changed",
    description="A size of a CT or MR report is in cm instead of mm, or the reverse.",
    why_not="no size in a CT or MR report that a unit can change",
)(_never)
error_kind(
    "count_changed",
    description="A CT or MR report counts other findings: two are five, several are one.",
    why_not="no known finding is counted in a CT or MR report",
)(_never)
SECTIONAL: dict[str, Options] = {
    "side_swapped": _side_swapped,
    "level_changed": _level_or_segment_changed,
    "measurement_changed": _measurement_changed,
    "unit_changed": _unit_changed,
    "count_changed": _count_changed,
    "comparison_changed": _comparison_changed,
}
"""How errors of some kinds are made in reports of CT and MR; the others are made as in any."""


def error_options(kind: ErrorKind, report: Reference) -> list[Injection]:
    """Return each way to make one error of a kind in a report.

    An error in a report of CT or MR has the words that it changes, before and after.
    """
    if not report.is_sectional:
        return list(kind.options(report))
    options = SECTIONAL.get(kind.name, kind.options)
    return [with_words(report, injection) for injection in options(report)]

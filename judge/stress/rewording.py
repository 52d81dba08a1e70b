"""Perturbations that say the same in other words: shorter, longer, in words, with slips."""

from __future__ import annotations

import re
from collections.abc import Iterator

from judge.stress.measurements import measurements
from judge.stress.report_edits import (
    RADIOGRAPHS,
    REWORDINGS,
    SECTIONS,
    Change,
    Edit,
    NotApplicable,
    Reference,
    SeededChoice,
    Sentence,
    has,
    match_case,
)
from judge.text import NUMBER_WORDS, capital

_TENS = (
    "",
    "",
    "twenty",
    "thirty",
    "forty",
    "fifty",
    "sixty",
    "seventy",
    "eighty",
    "ninety",
)
_ORDINALS = (
    "",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
)
"""Of ribs and vertebrae; there are no more."""
_OPENINGS = ("On this examination, ", "On these images, ")
_MOST_SLIPS = 3
_KEPT_LETTERS = 2
"""A slip leaves so many letters at each end of a word as they are."""
_MEANINGFUL = ("negated", "hedged", "compares", "degree", "turn", "side", "acute")
"""A slip in one of these words could change what is said."""


def terse(report: Reference, _draw: SeededChoice) -> Change:
    """Leave out words without content: `There is a small effusion.` is `Small effusion.`"""
    edits: list[Edit] = []
    for sentence in report.sentences:
        after = _shortened(sentence.text)
        if after and after != sentence.text:
            edits.append(Edit(sentence.start, sentence.end, after))
    if not edits:
        raise NotApplicable("no sentence that can be shortened")
    return tuple(edits), ()


def _shortened(text: str) -> str:
    """Return a sentence without empty words, as it is where it has none."""
    there_is = REWORDINGS["there_is"].fullmatch(text)
    if there_is:
        # What follows is a noun with its words, which stands by itself.
        rest = capital(there_is["rest"])
        if " no " in f" {there_is['lead'].lower()}":
            rest = match_case(f"no {there_is['rest']}", text)
        return rest
    is_seen = REWORDINGS["is_seen"].fullmatch(text)
    if is_seen and not has("leans", text):
        rest = re.sub(r"(?i)^an? ", "", is_seen["rest"])
        return f"{capital(rest)}{is_seen['end']}"
    is_normal = REWORDINGS["is_normal"].fullmatch(text)
    if is_normal and not _says_more(is_normal["what"]):
        what = capital(is_normal["what"])
        return f"{what} {is_normal['state']}{is_normal['end']}"
    return text


def _says_more(subject: str) -> bool:
    """Whether the subject of a sentence is more than a noun with its words."""
    return has("negated", subject) or has("leans", subject) or has("compares", subject)


def verbose(report: Reference, draw: SeededChoice) -> Change:
    """Begin sentences with words without content: `On this examination, the lungs are clear.`"""
    edits: list[Edit] = []
    for sentence in report.sentences:
        text = sentence.text
        is_plain = REWORDINGS["begins"].match(text)
        if is_plain is None or REWORDINGS["spoken_of"].search(text):
            continue
        opening = draw.shuffled(_OPENINGS)[len(edits) % len(_OPENINGS)]
        first = text[0].lower()
        if text.isupper():
            opening = opening.upper()
            first = text[0]
        edits.append(Edit(sentence.start, sentence.start + 1, opening + first))
    if not edits:
        raise NotApplicable("no sentence that can be made longer")
    return tuple(edits), ()


def spelled_numbers(report: Reference, _draw: SeededChoice) -> Change:
    """Write sizes and the numbers of ribs in words: `a six mm nodule`."""
    edits: list[Edit] = []
    for sentence in report.sentences:
        edits += _spelled(sentence)
    if not edits:
        raise NotApplicable("no size, rib or vertebra with a number")
    return tuple(edits), ()


def _spelled(sentence: Sentence) -> Iterator[Edit]:
    text = sentence.text
    found = []
    for match in REWORDINGS["number"].finditer(text):
        found.append((match, _in_words(match["number"])))
    for match in REWORDINGS["ordinal"].finditer(text):
        number = int(match["number"])
        if 0 < number < len(_ORDINALS):
            found.append((match, _ORDINALS[number]))
    for match, words in found:
        if text.isupper():
            words = words.upper()
        elif match.start() == 0:
            words = capital(words)
        yield Edit(sentence.start + match.start(), sentence.start + match.end(), words)


def _in_words(number: str) -> str:
    """Return a number below 100, with one decimal at most, in words."""
    whole, _, decimal = number.partition(".")
    value = int(whole)
    if value < len(NUMBER_WORDS):
        words = NUMBER_WORDS[value]
    else:
        words = _TENS[value // 10]
        if value % 10:
            words = f"{words}-{NUMBER_WORDS[value % 10]}"
    if decimal:
        words = f"{words} point {NUMBER_WORDS[int(decimal)]}"
    return words


def converted_units(report: Reference, _draw: SeededChoice) -> Change:
    """Write sizes in the other unit: `a 12 mm nodule` as `a 1.2 cm nodule`."""
    edits: list[Edit] = []
    for sentence in report.sentences:
        for size in measurements(sentence.text):
            start, end, after = size.put(sentence.text, size.converted())
            edits.append(Edit(sentence.start + start, sentence.start + end, after))
    if not edits:
        raise NotApplicable("no size in mm or cm")
    return tuple(edits), ()


def slips(report: Reference, draw: SeededChoice) -> Change:
    """Swap two letters within up to three long words, of which none decides what is said."""
    words: list[tuple[int, str]] = []
    for sentence in report.sentences:
        for match in REWORDINGS["word"].finditer(sentence.text):
            if not any(has(pattern, match[0]) for pattern in _MEANINGFUL):
                words.append((sentence.start + match.start(), match[0]))
    known = {word for _, word in words}
    edits: list[Edit] = []
    for start, word in draw.shuffled(words):
        slip = _slipped(word, draw)
        if slip is None or slip in known or _is_a_finding(slip):
            continue
        edits.append(Edit(start, start + len(word), slip))
        if len(edits) == _MOST_SLIPS:
            break
    if not edits:
        raise NotApplicable("no long word in which a slip changes nothing that is said")
    return tuple(edits), ()


def _slipped(word: str, draw: SeededChoice) -> str | None:
    """Return a word with two neighbouring letters swapped, None where they are all alike."""
    places = []
    for at in range(_KEPT_LETTERS, len(word) - _KEPT_LETTERS - 1):
        if word[at] != word[at + 1]:
            places.append(at)
    if not places:
        return None
    draw_of_word = SeededChoice(draw.seed, draw.study, f"{draw.purpose} {word}")
    at = draw_of_word.shuffled(places)[0]
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _is_a_finding(word: str) -> bool:
    known = (*RADIOGRAPHS.findings, *SECTIONS.findings)
    return any(finding.pattern.fullmatch(word) for finding in known)

"""Reports that the rules were not made for: of another language, or no X-ray."""

from __future__ import annotations

import re
from typing import Literal

from judge.backends.lexicon.data import Lexicon
from judge.sentences import sentences

_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH = frozenset({
    "the", "is", "are", "was", "of", "in", "and", "with", "no", "there", "has", "have", "an",
    "to", "for", "on", "at", "or", "be", "not", "without",
})  # fmt: skip
_FEWEST = 2
"""One word of another language may be a name or a loan."""

_ELSEWHERE = re.compile(
    r"\b(?:indication|history|reason|compar\w*|prior|previous\w*|recent|earlier|recommend\w*|correlat\w*|suggest\w*|same"
    r"|further|follow\w*|advis\w*|consider\w*|could|should|dedicated|guid\w*|subsequent\w*|see|seen)\b",
    re.I,
)
"""A sentence with one of these speaks of another examination."""


def unfamiliar(report: str, lexicon: Lexicon) -> Literal["language", "images"] | None:
    """Return why `report` is none that the rules were made for, if it seems so.

    `language`: most of its letters are not Latin, or more of its words are function words of
    another language than of English. `images`: it tells of CT, MRI or ultrasound, other than
    to compare with one or to ask for one.
    """
    words = [word.lower() for word in _WORD.findall(report)]
    letters = "".join(words)
    if letters and sum(letter > "\u024f" for letter in letters) > len(letters) / 2:
        return "language"
    foreign = sum(word in lexicon.foreign for word in words)
    if foreign >= _FEWEST and foreign > sum(word in _ENGLISH for word in words):
        return "language"
    if lexicon.other_images.search(report) and any(
        lexicon.other_images.search(report, start, end)
        for start, end in sentences(report)
        if not _ELSEWHERE.search(report, start, end)
    ):
        return "images"
    return None

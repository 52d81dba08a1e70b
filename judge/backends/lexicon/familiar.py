"""Whether a report is one that the rules were made for: in English, and of an X-ray."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.reading import pieces, split

_WORD = re.compile(r"[^\W\d_]+")
_NOT_LATIN = re.compile(r"[^\x00-\u024f]")
_ENGLISH = frozenset({
    "the", "is", "are", "was", "of", "in", "and", "with", "no", "there", "has", "have", "an",
    "to", "for", "on", "at", "or", "be", "not", "without",
})  # fmt: skip
_OF_REPORTS = _ENGLISH | {
    "findings", "report", "none", "discussed", "signed", "electronically", "years", "year", "old",
    "comparison", "history", "available", "known", "given", "reviewed", "view", "views", "upright",
    "physician", "please", "clinically", "this", "these", "from", "which", "likely", "within",
    "been",
}  # fmt: skip
"""With words of English reports that name no finding and are spelled so in no language near it."""
_FEWEST = 2
"""One word of another language may be a name or a loan."""

_ELSEWHERE = re.compile(
    r"\b(?:indication|history|reason|compar\w*|prior|previous\w*|recent|earlier|recommend\w*|correlat\w*|suggest\w*|same"
    r"|further|follow(?:ed|[-\s]?ups?)?|advis\w*|consider\w*|could|should|dedicated|guid\w*|subsequent\w*|see|pending"
    r"|(?:known|proven|seen)\b(?: \w+){0,4} (?:on|by|at) (?:the )?(?:ct|mri?|ultrasound)"
    r"|mri?[-\s](?:compatible|conditional|safe))\b",
    re.I,
)
"""A sentence with one of these speaks of another examination, or of a device."""

_DECOR = re.compile(r"(?:exam\w*|findings?|impression|technique|procedure|study)\s*:?", re.I)
"""A heading alone does not begin a report."""

_SOON_TOLD = 25
"""Characters within which a report's first sentence says what it is of."""


class _Look(NamedTuple):
    """How many words of a sentence are read or known, and of which language they seem to be.

    `image` is where it begins to speak of another examination in its own words, None where not.
    """

    words: int
    known: int
    letters: int
    not_latin: int
    foreign: int
    english: int
    image: int | None


@lru_cache(maxsize=8192)
def _look(piece: str, lexicon: Lexicon) -> _Look:
    """Return what a sentence looks like.

    A letter alone says nothing, nor does what stands where a name was taken out, as in XXXX.
    """
    every = _WORD.findall(piece.lower())
    words = [word for word in every if len(set(word)) > 1]
    known = sum(word in _OF_REPORTS or lexicon.knows(word) for word in words)
    image = lexicon.other_images.search(piece)
    letters = "".join(every)
    return _Look(
        *(len(words), known, len(letters)),
        0 if letters.isascii() else len(_NOT_LATIN.findall(letters)),
        sum(map(lexicon.unfamiliar.languages.__contains__, every)),
        sum(map(_ENGLISH.__contains__, every)),
        image.start() if image and not _ELSEWHERE.search(piece) else None,
    )


def unfamiliar(report: str, lexicon: Lexicon) -> Literal["language", "images"] | None:
    """Return why `report` is none that the rules were made for, if it seems so.

    `language`: most of its letters are not Latin, more of its words are function words of
    another language than of English, or of the words that are read (two or more) fewer than half
    are in the vocabulary or are common in English reports. `images`: it is itself of CT, MRI or
    ultrasound: it begins by saying so, or says so twice, other than to compare with one or to ask
    for one.
    """
    every = split(report)
    looks = [_look(piece, lexicon) for piece in every]
    letters, not_latin, foreign, english = (
        sum(getattr(look, name) for look in looks)
        for name in ("letters", "not_latin", "foreign", "english")
    )
    if not_latin > letters / 2 or english < foreign >= _FEWEST:
        return "language"
    read_alone = [_look(piece, lexicon) for _, piece in pieces(report)]
    words = sum(look.words for look in read_alone)
    if words >= _FEWEST and sum(look.known for look in read_alone) < words / 2:
        return "language"
    images = [at for at, look in enumerate(looks) if look.image is not None]
    if not images:
        return None
    first = next((at for at, piece in enumerate(every) if not _DECOR.fullmatch(piece)), 0)
    begins = images[0] == first and (looks[first].image or 0) <= _SOON_TOLD
    return "images" if begins or len(images) > 1 else None

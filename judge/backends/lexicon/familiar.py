"""Whether a report is one that the rules were made for: in English, and of an X-ray."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from judge.backends.lexicon.data import Lexicon, load
from judge.backends.lexicon.reading import pieces, split

_WORD = re.compile(r"[^\W\d_]+")
_NOT_LATIN = re.compile(r"[^\x00-\u024f]")
_FEWEST = 2
"""One word of another language may be a name or a loan."""

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
    of_english = load().unfamiliar
    common = (of_english.english, of_english.reports)
    known = sum(lexicon.knows(word) or any(word in some for some in common) for word in words)
    image = lexicon.other_images.search(piece)
    letters = "".join(every)
    return _Look(
        *(len(words), known, len(letters)),
        0 if letters.isascii() else len(_NOT_LATIN.findall(letters)),
        sum(map(lexicon.unfamiliar.languages.__contains__, every)),
        sum(map(of_english.english.__contains__, every)),
        image.start() if image and not load().elsewhere.search(piece) else None,
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
    not_latin, foreign = (
        sum(look.not_latin for look in looks),
        sum(look.foreign for look in looks),
    )
    if not_latin and not_latin > sum(look.letters for look in looks) / 2:
        return "language"
    if foreign >= _FEWEST and foreign > sum(look.english for look in looks):
        return "language"
    read_alone = [looks[number] for number, _ in pieces(report)]
    words = sum(look.words for look in read_alone)
    if words >= _FEWEST and sum(look.known for look in read_alone) < words / 2:
        return "language"
    images = [at for at, look in enumerate(looks) if look.image is not None]
    if not images:
        return None
    first = next((at for at, piece in enumerate(every) if not _DECOR.fullmatch(piece)), 0)
    begins = images[0] == first and (looks[first].image or 0) <= _SOON_TOLD
    return "images" if begins or len(images) > 1 else None

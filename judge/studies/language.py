"""The language of a report, recognised by its commonest words or by its script.

Nothing is loaded or asked: each language is a list of words that its reports have in nearly every
sentence. A report of a few words, and one in a language that is not listed, has no language here.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

LANGUAGES = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "ru": "Russian or another language in Cyrillic",
    "el": "Greek",
    "ar": "Arabic",
    "he": "Hebrew",
}
"""The languages that are told apart, by their codes."""
UNKNOWN = "und"
"""The code of a language that is not known, as in ISO 639-2."""
LEAST_SHARE = 0.05
"""A language of fewer of the reports whose language is known may be a mistake."""
_FEWEST = 2  # one word of another language may be a name or a loan
_WORDS = {
    "en": "the is are of no and with there without within not has have seen lungs lung heart size "
    "left right clear unchanged effusion effusions chest to or for from at in",
    "de": "der die das und ist sind kein keine keinen nicht mit ohne rechts links beidseits im des "
    "dem den von auf ein eine einer zum zur lunge herz in",
    "fr": "le la les des du de une un et est pas sans avec droit droite gauche au aux dans sur en "
    "il absence poumons",
    "es": "el los las la del de sin con en una un y se no derecho derecha izquierdo izquierda "
    "pulmones por ni al",
    "it": "il lo la gli le della delle dei nei nel di del non con senza destra sinistra e un una "
    "si a polmoni in",
    "pt": "o a os as da do das dos de sem com não em uma um e no na direito direita esquerdo "
    "esquerda pulmões se",
    "nl": "de het een van geen zijn met en is niet er rechts links of bij aan longen zonder in",
}
_LANGUAGES_OF: dict[str, list[str]] = {}
for _language, _listed in _WORDS.items():
    for _word in _listed.split():
        _LANGUAGES_OF.setdefault(_word, []).append(_language)
_SCRIPTS = {
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "CJK": "zh",
    "HANGUL": "ko",
    "CYRILLIC": "ru",
    "GREEK": "el",
    "ARABIC": "ar",
    "HEBREW": "he",
}
_WORD = re.compile(r"[^\W\d_]+")


def language_of(report: str) -> str:
    """Return the code of the report's language, `UNKNOWN` where it cannot be told.

    A report in Latin letters is in the language of which it has the most words of the list: two at
    least, and more than of any other.
    """
    if not report.isascii():
        by_script = _by_script(report)
        if by_script is not None:
            return by_script
    n_words: Counter[str] = Counter()
    for word in _WORD.findall(report.lower()):
        n_words.update(_LANGUAGES_OF.get(word, ()))
    first, second = [*n_words.most_common(2), ("", 0), ("", 0)][:2]
    if first[1] < _FEWEST or first[1] == second[1]:
        return UNKNOWN
    return first[0]


def _by_script(report: str) -> str | None:
    """Return the language of most letters' script; None for Latin letters."""
    scripts: Counter[str | None] = Counter()
    for letter in report:
        if letter.isalpha():
            script = unicodedata.name(letter, "").partition(" ")[0]
            scripts[_SCRIPTS.get(script)] += 1
    if not scripts:
        return None
    most = scripts.most_common(1)[0][0]
    # Japanese is written with Chinese characters too.
    if most == "zh" and scripts["ja"]:
        return "ja"
    return most


def languages_of(reports: Iterable[str]) -> dict[str, int]:
    """Return how many reports are in each language, the most frequent first.

    A language of less than `LEAST_SHARE` of the reports whose language is known counts as
    `UNKNOWN`, which comes last.
    """
    found = Counter(map(language_of, reports))
    n_unknown = found.pop(UNKNOWN, 0)
    least = LEAST_SHARE * found.total()
    languages: dict[str, int] = {}
    for code, n in found.most_common():
        if n < least:
            n_unknown += n
        else:
            languages[code] = n
    if n_unknown:
        languages[UNKNOWN] = n_unknown
    return languages


def language_name(code: str) -> str:
    """Return the name of a language by its code."""
    return LANGUAGES.get(code, "a language that could not be told")

"""Evidence that what a judge wrote down is about the two reports.

A judge that has nothing to list sometimes writes that down as an entry ("Nothing is left out"), and
a model that has lost the thread writes about another patient. Neither shares a word with the
reports. Such an entry is kept and counted, since its words may only be unusual, and gets a warning,
which the run's summary counts and `judge audit` shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from judge.rubrics.contract import Rubric
from judge.types import Annotation, Item, Study

if TYPE_CHECKING:
    from judge.backends.lexicon.data import Lexicon

NOT_ABOUT = "not about these reports"
"""The warning of an item that shares no content word with either report."""
_SHORTEST = 4  # letters of a stem
_TOKEN = re.compile(r"[^\W\d_]+|[0-9]+(?:[.,][0-9]+)*")
# "Left out" is no side.
_IDIOM = re.compile(r"\b(?:left out|all right|that's right|is right|are right)\b")
# British and American spelling.
_SPELLING = (("oe", "e"), ("ae", "e"), ("our", "or"))
# Words of a remark about reports and errors, and words of no content.
_REMARKS = """
a about absent accurate accurately actually add added adds agree agreed agreement agrees all
also although an and another any are as assessed at be because been being both but by called can
candidate categories category claims clinical clinically comment comments contradicted
contradiction contradicts correct corrected correctly could count counted describe described
describes description detail details did differ difference differences different differs
discrepancies discrepancy do does doing done each either else entirely error errors even every
everything evidence exactly except fail failed fails false falsely few finding findings for
found from further had has have he her here him his however i identical identified identifies if
image images in inaccurate incorporated incorrect incorrectly indicate indicated indicates
insignificant instead into is issue issues it its itself judged judgement just less list listed
lists made main make makes many match matched matches matching may me mention mentioned
mentioning mentions might misidentified misidentifies missed misses missing mistake mistakes
more most much must my near no none nor not note noted notes nothing now of omission omissions
omit omits omitted on one only or other others otherwise our out over own per perfect perfectly
please point points predicted prediction present provide provided provides rather reader really
refer reference report reported reports same say says section see seem seems seen sentence
sentences several severity she should show shown shows significance significant significantly
similar simply so some something sorry state stated statement statements states still such text
than thank that the their them then there these they thing things this those though three thus
to too total two unable under up upon us used uses very was we were what when where whereas
whether which while who whole whose why will with within without word words would wrong wrongly
yes yet you your zero
"""
_NO_CONTENT = frozenset(_REMARKS.split())
_ENGLISH = frozenset(
    ("the", "is", "are", "of", "and", "with", "there", "was", "not", "without")
)


def with_evidence(annotation: Annotation, rubric: Rubric, study: Study) -> Annotation:
    """Return the annotation, with the warning `NOT_ABOUT` at items that share no word with them.

    A word is shared by its stem of four letters or more, as a number, as an abbreviation, or as a
    finding that the built-in vocabulary has under several names. Items without a text, items that
    are tied to a line of the candidate, and reports in another language are not tested.
    """
    if not annotation.items:
        return annotation
    reports = f"{study.reference}\n{study.candidate}"
    listed = {kind.name for kind in rubric.kinds if kind.is_listed}
    tested = [
        said_by(item) if item.kind in listed else None for item in annotation.items
    ]
    flagged = {text for text in set(tested) if text and not is_about(text, reports)}
    if not flagged:
        return annotation
    items = []
    for item, text in zip(annotation.items, tested, strict=True):
        if text in flagged:
            item = replace(item, warnings=(*item.warnings, NOT_ABOUT))
        items.append(item)
    return replace(annotation, items=tuple(items))


def said_by(item: Item) -> str | None:
    """Return the words of an item that have to be about the reports, None where there are none.

    A correction's are the line that it writes: its comment says why. An error that is linked with
    findings is about these, which are items of their own.
    """
    if item.edit is not None:
        return item.edit.corrected or None
    if len(item.links) > 1:
        return None
    return item.text or None


@lru_cache(4096)
def is_about(text: str, reports: str) -> bool:
    """Return whether a text shares a content word with the reports, or they are not English."""
    words, known = _content(text), _content(reports)
    if words & known:
        return True
    stems = _by_start(known)
    if any(
        _is_inflected(word, other)
        for word in words
        for other in stems.get(word[:4], ())
    ):
        return True
    named = _findings(text)
    found = _findings(reports)
    if named & found:
        return True
    is_english = bool(found) or not _ENGLISH.isdisjoint(
        _TOKEN.findall(reports.casefold())
    )
    return not is_english


@lru_cache(256)
def _content(text: str) -> frozenset[str]:
    plain = _IDIOM.sub(" ", text.casefold())
    words = (word for word in _TOKEN.findall(plain) if word not in _NO_CONTENT)
    return frozenset(_spelled(word) for word in words if len(word) > 1)


def _spelled(word: str) -> str:
    for british, american in _SPELLING:
        word = word.replace(british, american)
    return word


def _by_start(words: Iterable[str]) -> dict[str, list[str]]:
    stems: dict[str, list[str]] = {}
    for word in words:
        if len(word) >= _SHORTEST:
            stems.setdefault(word[:_SHORTEST], []).append(word)
    return stems


def _is_inflected(word: str, other: str) -> bool:
    """Return whether two words share a stem: all but two letters of the shorter, at least four."""
    shorter = min(len(word), len(other))
    if shorter < _SHORTEST:
        return False
    needed = max(_SHORTEST, shorter - 2)
    return word[:needed] == other[:needed]


@cache
def _rules() -> Lexicon:
    """Return the built-in vocabulary, whose file is read once."""
    from judge.backends import lexicon

    return lexicon.load()


@lru_cache(256)
def _findings(text: str) -> frozenset[str]:
    """Return the findings of the built-in vocabulary that a text names, affirmed or denied."""
    from judge.backends.lexicon.data import tokenise
    from judge.backends.lexicon.negation import find_heads
    from judge.sentences import lines

    rules = _rules()
    named: set[str] = set()
    for sentence in lines(text):
        for tokens in tokenise(sentence, rules):
            named.update(head.finding for head in find_heads(tokens)[0] if head.finding)
    return frozenset(named)

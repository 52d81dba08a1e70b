"""What two reports have in common."""

from __future__ import annotations

from collections.abc import Sequence

from judge.backends.lexicon.align import Alignment
from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.mentions import Mention, Placed
from judge.sentences import sentences
from judge.types import Category, Discrepancy

_SPOILS = 2
"""A finding with an error of this severity or more is not matched."""

_LONGEST = 80


def matched(
    reference: Sequence[Placed],
    candidate: Sequence[Placed],
    alignment: Alignment,
    discrepancies: Sequence[Discrepancy],
    lexicon: Lexicon,
) -> tuple[str, ...]:
    """Return the reference's statements that the candidate bears out, in order, once each.

    A statement that denies a finding or calls a structure normal is borne out by one about
    the same finding or structure. Reports that have nothing in common in that way, and no
    error that counts, agree in other words: then whatever rules out the same bears it out.
    Neither holds where the candidate makes a false finding.
    """
    strictly = _agreed(reference, candidate, alignment, discrepancies, lexicon, widely=False)
    if strictly or any(one.severity >= _SPOILS for one in discrepancies):
        return strictly
    return _agreed(reference, candidate, alignment, discrepancies, lexicon, widely=True)


def _agreed(
    reference: Sequence[Placed],
    candidate: Sequence[Placed],
    alignment: Alignment,
    discrepancies: Sequence[Discrepancy],
    lexicon: Lexicon,
    *,
    widely: bool,
) -> tuple[str, ...]:
    spoilt = {
        (one.finding, one.reference_sentence) for one in discrepancies if one.severity >= _SPOILS
    }
    agreed = {id(pair.reference) for pair in (*alignment.same, *alignment.pairs)}
    false = {one.finding for one in discrepancies if one.category is Category.FALSE_FINDING}
    normals = _Normals(candidate, false, lexicon)
    words: dict[tuple[str, str, frozenset[str]], str] = {}
    for placed in reference:
        mention = placed.mention
        if mention.positive:
            name = lexicon.findings[mention.finding].label
            holds = id(placed) in agreed and (name, placed.sentence) not in spoilt
            key = (mention.finding, "present", mention.sides)
        else:
            holds = normals.bear_out(mention, widely=widely)
            key = (mention.finding, mention.structure, frozenset())
        if holds:
            words.setdefault(key, mention.words)
    return tuple(words.values())


def common_sentences(reference: str, candidate: str) -> tuple[str, ...]:
    """Return the sentences that both texts have, whatever they say.

    For reports in which no finding is recognised: an identical text always matches, even
    one without a letter, unless it is empty.
    """
    if reference.strip() and reference.split() == candidate.split() and not sentences(reference):
        return (_plain(reference)[:_LONGEST],)
    theirs = {_plain(candidate[start:end]) for start, end in sentences(candidate)}
    ours = dict.fromkeys(_plain(reference[start:end]) for start, end in sentences(reference))
    return tuple(one for one in ours if one in theirs)


def _plain(text: str) -> str:
    """Return `text` in lower case on one line, without what separates items in a list."""
    return " ".join(text.lower().replace(";", ",").split()).rstrip(".") or "."


class _Normals:
    """What a candidate calls normal or denies."""

    def __init__(self, candidate: Sequence[Placed], false: set[str], lexicon: Lexicon) -> None:
        said = {one.mention for one in candidate if not one.mention.positive}
        self._lexicon = lexicon
        self._said = said
        self._false = false
        self._false_areas = {
            finding.area for finding in lexicon.findings.values() if finding.label in false
        }
        self._denied = {mention.finding for mention in said if mention.finding}
        self._normal = {mention.structure for mention in said if mention.normal}
        self._ruled_out = {area for mention in said for area in _rules_out(mention, lexicon)}
        self._touched = self._ruled_out | {lexicon.findings[name].area for name in self._denied}

    def bear_out(self, mention: Mention, *, widely: bool) -> bool:
        """Return whether the candidate says the same of a finding denied or a normal structure.

        `widely`: or whether it rules out the same by other words.
        """
        if not mention.finding and not mention.normal:
            return mention in self._said
        wide = _rules_out(mention, self._lexicon)
        label = self._lexicon.findings[mention.finding].label if mention.finding else ""
        if wide & self._false_areas or label in self._false:
            return False
        if mention.finding in self._denied or mention.structure in self._normal:
            return True
        if not widely:
            return False
        if wide:
            return bool(wide & self._touched)
        return self._lexicon.findings[mention.finding].area in self._ruled_out


def _rules_out(mention: Mention, lexicon: Lexicon) -> frozenset[str]:
    if mention.normal:
        return lexicon.structures[mention.structure].rules_out
    return lexicon.findings[mention.finding].rules_out if mention.finding else frozenset()

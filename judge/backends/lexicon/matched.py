"""What two reports have in common."""

from __future__ import annotations

from collections.abc import Sequence

from judge.backends.lexicon.align import Alignment
from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.mentions import Mention
from judge.backends.lexicon.reports import rules_out
from judge.sentences import sentences
from judge.types import Category, Discrepancy

_SPOILS = 2
"""A finding with an error of this severity or more is not matched."""

_LONGEST = 80


def matched(
    reference: Sequence[Mention],
    candidate: Sequence[Mention],
    alignment: Alignment,
    discrepancies: Sequence[Discrepancy],
    lexicon: Lexicon,
) -> tuple[str, ...]:
    """Return what both reports state, in the reference's words and order, once each.

    A finding that is present is matched by its partner. A statement that denies a finding
    or calls a structure normal is matched by one about the same, or by any that rules out
    the same in other words ("No effusion", "Pleural spaces are clear"), unless the other
    report has a finding there that this one lacks. Each statement is decided by itself.
    After the reference's come the statements that only the candidate makes, and the
    reference bears out.
    """
    spoilt = {
        (one.finding, one.reference_sentence) for one in discrepancies if one.severity >= _SPOILS
    }
    agreed = {id(mention) for mention, _ in (*alignment.same, *alignment.pairs)}
    words: dict[tuple[str, str, frozenset[str]], str] = {}
    theirs = _Said(candidate, _contrary(Category.FALSE_FINDING, discrepancies), lexicon)
    for mention in reference:
        if mention.positive:
            name = lexicon.findings[mention.finding].label
            if id(mention) in agreed and (name, mention.sentence) not in spoilt:
                words.setdefault((mention.finding, "present", mention.sides), mention.words)
        elif theirs.bear_out(mention):
            words.setdefault((mention.finding, mention.structure, frozenset()), mention.words)
    ours = _Said(reference, _contrary(Category.MISSING_FINDING, discrepancies), lexicon)
    for mention in candidate:
        if not mention.positive and not ours.states(mention) and ours.bear_out(mention):
            words.setdefault((mention.finding, mention.structure, frozenset()), mention.words)
    return tuple(words.values())


def _contrary(category: Category, discrepancies: Sequence[Discrepancy]) -> set[str]:
    return {one.finding for one in discrepancies if one.category is category}


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


class _Said:
    """What a report calls normal or denies, and the findings that it has to itself."""

    def __init__(self, said: Sequence[Mention], alone: set[str], lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._said = {one for one in said if not one.positive}
        self._alone = alone
        self._alone_areas = {
            finding.area for finding in lexicon.findings.values() if finding.label in alone
        }
        self._sides: dict[tuple[str, str], set[frozenset[str]]] = {}
        for mention in self._said:
            if mention.finding or mention.normal:
                sides = self._sides.setdefault((mention.finding, mention.structure), set())
                sides.add(mention.sides)
        self._ruled_out = {
            area
            for one in self._said
            if len(one.sides) != 1
            for area in _widened(rules_out(one, lexicon))
        }
        self._touched = self._ruled_out | {
            lexicon.findings[name].area for name, _ in self._sides if name
        }

    def states(self, mention: Mention) -> bool:
        """Return whether the report denies the same finding or calls the same part normal."""
        if not mention.finding and not mention.normal:
            return mention in self._said
        said = self._sides.get((mention.finding, mention.structure), ())
        return any(not (one and mention.sides) or one & mention.sides for one in said)

    def bear_out(self, mention: Mention) -> bool:
        """Return whether the report says the same, or rules out the same in other words."""
        if not mention.finding and not mention.normal:
            return self.states(mention)
        own = rules_out(mention, self._lexicon)
        label = self._lexicon.findings[mention.finding].label if mention.finding else ""
        if own & self._alone_areas or label in self._alone:
            return False
        if self.states(mention):
            return True
        if len(mention.sides) == 1:
            return False  # other words seldom name a side
        if own:
            wide = _widened(own)
            return bool(wide & self._touched) and not wide & self._alone_areas
        return self._lexicon.findings[mention.finding].area in self._ruled_out


def _widened(areas: frozenset[str]) -> frozenset[str]:
    """Return the areas, and with the lungs the pleura: clear lungs have no fluid around them."""
    return areas | {"pleura"} if "lungs" in areas else areas

"""A report's mentions, laid out so that each question about them is one look-up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.mentions import MOST, Mention

WHOLE = ("", "chest")
"""The structures of which a change is one of the whole study."""


class ReadReport:
    """What one report says.

    `present` and `denied` hold the mentions by finding, `changes` what is said to have
    changed in the study as a whole.
    """

    def __init__(self, said: Sequence[Mention]) -> None:
        self.said = said
        self.present: dict[str, list[Mention]] = {}
        self.denied: dict[str, list[Mention]] = {}
        self.changes: frozenset[str] = frozenset()
        for one in said:
            if one.positive:
                for name in dict.fromkeys(one.names):
                    self.present.setdefault(name, []).append(one)
            elif one.finding:
                self.denied.setdefault(one.finding, []).append(one)
            elif one.structure in WHOLE:
                self.changes |= one.changes

    def named(self, wanted: Iterable[str]) -> list[Mention]:
        """Return what is present under any of the `wanted` names or readings."""
        return [one for name in wanted for one in self.present.get(name, ())[:MOST]]

    def twin(self, mention: Mention, lexicon: Lexicon) -> Mention | None:
        """Return what repeats `mention`, under its name or a related one, the same name first."""
        names = [
            name
            for name in self.present
            if any(lexicon.related(name, own) for own in mention.names)
        ]
        twins = [one for one in self.named(names) if one.agrees_in_site(mention)]
        return min(
            twins, key=lambda one: (one.finding != mention.finding, one.sentence), default=None
        )

    def denial(self, mention: Mention) -> Mention | None:
        """Return the statement that denies exactly this finding at this side."""
        for one in self.denied.get(mention.finding, ())[:MOST]:
            same_level = not one.levels or one.levels & mention.levels
            if same_level and (not one.sides or not mention.sides or one.sides & mention.sides):
                return one
        return None

    def denies_all(self, wanted: Sequence[str]) -> bool:
        """Return whether each of the `wanted` findings is denied outright and never present."""
        return all(
            name not in self.present
            and any(not one.levels for one in self.denied.get(name, ())[:MOST])
            for name in wanted
        )


class Reports(NamedTuple):
    """The two reports under comparison."""

    reference: ReadReport
    candidate: ReadReport
    lexicon: Lexicon


def rules_out(mention: Mention, lexicon: Lexicon) -> frozenset[str]:
    """Return the areas whose findings are not there if what is called normal or denied isn't."""
    if mention.normal:
        return lexicon.structures[mention.structure].rules_out
    return lexicon.findings[mention.finding].rules_out if mention.finding else frozenset()

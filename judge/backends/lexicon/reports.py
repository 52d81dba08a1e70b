"""A report's mentions, laid out so that each question about them is one look-up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from judge.backends.lexicon.align import names, readings
from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.mentions import Mention, Placed

_MOST = 64
"""No more mentions of one name than this are looked at: so that time stays linear."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one report says.

    `present` and `denied` hold the mentions by finding, `changes` what is said to have
    changed in the study as a whole.
    """

    said: Sequence[Placed]
    present: Mapping[str, Sequence[Placed]]
    denied: Mapping[str, Sequence[Placed]]
    changes: frozenset[str]

    def named(self, wanted: Iterable[str]) -> list[Mention]:
        """Return what is present under any of the `wanted` names or readings."""
        return [one.mention for name in wanted for one in self.present.get(name, ())[:_MOST]]

    def likely(self, mention: Mention, lexicon: Lexicon) -> list[Placed]:
        """Return what is present under a name related to those of `mention`, in order."""
        found = [
            one
            for name, placed in self.present.items()
            if any(lexicon.related(name, own) for own in names(mention))
            for one in placed[:_MOST]
        ]
        return sorted(found, key=lambda one: one.sentence)

    def denial(self, mention: Mention) -> Placed | None:
        """Return the statement that denies exactly this finding at this side."""
        for one in self.denied.get(mention.finding, ())[:_MOST]:
            other = one.mention
            same_level = not other.levels or bool(other.levels & mention.levels)
            if same_level and (
                not other.sides or not mention.sides or bool(other.sides & mention.sides)
            ):
                return one
        return None

    def denies_all(self, wanted: Sequence[str]) -> bool:
        """Return whether each of the `wanted` findings is denied outright and never present."""
        return all(
            name not in self.present
            and any(not one.mention.levels for one in self.denied.get(name, ())[:_MOST])
            for name in wanted
        )


@dataclass(frozen=True, slots=True)
class Reports:
    """The two reports under comparison."""

    reference: Report
    candidate: Report
    lexicon: Lexicon


def lay_out(said: Sequence[Placed]) -> Report:
    """Return `said` as a `Report`."""
    present: dict[str, list[Placed]] = defaultdict(list)
    denied: dict[str, list[Placed]] = defaultdict(list)
    changes: set[str] = set()
    for one in said:
        mention = one.mention
        if mention.positive:
            for name in dict.fromkeys((*names(mention), *readings(mention))):
                present[name].append(one)
        elif mention.finding:
            denied[mention.finding].append(one)
        elif mention.structure in ("", "chest"):
            changes |= mention.changes
    return Report(said, dict(present), dict(denied), frozenset(changes))

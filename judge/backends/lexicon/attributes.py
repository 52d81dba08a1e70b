"""What two mentions of one finding say differently: side, place, severity, change, reading."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from judge.backends.lexicon.align import SAME_SIZE, Pair, ratio
from judge.backends.lexicon.mentions import Mention
from judge.backends.lexicon.reports import Reports
from judge.backends.lexicon.weight import is_safe, weight
from judge.types import Category, Discrepancy, Severity

_OTHER_SIZE = 1.5
"""Lengths with this ratio are clearly different."""

_UPWARD = frozenset({"new", "worse"})
_DOWNWARD = frozenset({"better", "resolved"})


class Found(NamedTuple):
    """A discrepancy, and what it is about: one topic in one sentence makes one error."""

    discrepancy: Discrepancy
    topic: str


def found(
    category: Category,
    severity: Severity,
    finding: str,
    text: str,
    pair: tuple[Mention | None, Mention | None],
    topic: str,
) -> Found:
    """Return a discrepancy about a reference mention, a candidate mention, or both."""
    one, other = (None if mention is None else mention.sentence for mention in pair)
    return Found(Discrepancy(category, severity, finding, text, one, other), topic)


def differences(pair: Pair, reports: Reports) -> list[Found]:
    """Return the errors in what the candidate says of a finding that both reports have.

    At most one each of reading, number, site, severity and change. What another mention of the
    same finding in the same report bears out is no error.
    """
    both = _Differing(pair, reports)
    errors = (both.reading(), both.count(), both.site(), both.level(), both.change())
    said = f'The reference says "{both.one.words}", the candidate "{both.other.words}"'
    label = both.finding.label
    return [
        found(category, severity, label, f"{said} ({what}).", pair, topic or what)
        for category, severity, what, topic in filter(None, errors)
    ]


class _Error(NamedTuple):
    category: Category
    severity: Severity
    what: str
    topic: str = ""


class _Differing:
    """Two mentions of one finding, and all that each report says of it.

    `own` is the higher severity of the two.
    """

    def __init__(self, pair: Pair, reports: Reports) -> None:
        self.one, self.other = one, other = pair
        self.reports, self.lexicon = reports, reports.lexicon
        names = sorted({*one.names, *other.names})
        self.mine = [one, *reports.reference.named(names)]
        self.theirs = [other, *reports.candidate.named(names)]
        self.own: Severity = max(weight(one, self.lexicon), weight(other, self.lexicon))
        self.finding = self.lexicon.findings[one.finding]
        self.topic = f"{self.finding.label} {sorted(one.sides)} {sorted(one.places)}"

    def reading(self) -> _Error | None:
        """Return the error of reading one shadow as something else, if there is one.

        It is one too where only a wider word is used that leaves something out: an opacity
        for a cavity.
        """
        lexicon, findings = self.lexicon, self.lexicon.findings
        reference, candidate = self.reports.reference, self.reports.candidate
        first, second = self.one.readings, self.other.readings
        clash = not any(lexicon.related(a, b) for a in first for b in second)
        denied = set(first).isdisjoint(second) and (
            reference.denies_all(second) or candidate.denies_all(first)
        )
        if clash or denied:
            if weight(self.other, lexicon) == self.own:
                label = findings[second[0]].label
                return _Error(Category.FALSE_FINDING, self.own, f"read as {label}", label)
            label = findings[first[0]].label
            return _Error(Category.MISSING_FINDING, self.own, f"not read as {label}", label)
        for category, told, mention, partner, report in (
            (Category.MISSING_FINDING, "not said to be", self.one, self.other, candidate),
            (Category.FALSE_FINDING, "said to be", self.other, self.one, reference),
        ):
            finding = findings[mention.finding]
            if not finding.more_than:
                continue
            enough = [said for said in report.present if lexicon.stands_for(said, mention.finding)]
            if set(enough).isdisjoint(partner.names) and not any(
                mention.agrees_in_site(other) for other in report.named(enough)
            ):
                what = f"{told} {finding.label}"
                return _Error(category, weight(mention, lexicon), what, finding.label)
        return None

    def count(self) -> _Error | None:
        """Return the error of counting too few or too many, where each report counts once."""
        ours, theirs = self.one.count, self.other.count
        if not ours or not theirs or ours == theirs:
            return None
        if len(set(self.mine)) > 1 or len(set(self.theirs)) > 1:
            return None
        category = Category.MISSING_FINDING if theirs < ours else Category.FALSE_FINDING
        return _Error(category, weight(self.one, self.lexicon), f"{theirs} instead of {ours}")

    def site(self) -> _Error | None:
        """Return the error of naming another place.

        An actionable finding on the wrong side is urgent; a tube weighs as much as the worse
        of its two places.
        """
        one, other, own = self.one, self.other, self.own
        is_line = self.finding.where == "line"
        if is_line and self.finding.area == "devices":
            own = max(own, 2)
        sides = one.sides and other.sides and one.sides != other.sides
        places = one.places and other.places and not one.places & other.places
        if (sides or places) and not (
            _borne_out(one, self.theirs) and _borne_out(other, self.mine)
        ):
            opposite = sides and not one.sides & other.sides
            severity = max(own, 3) if opposite and own > 1 and not is_line else own
        elif is_line and ratio(one.sizes, other.sizes) >= _OTHER_SIZE:
            safe = is_safe(one, self.finding) and is_safe(other, self.finding)
            severity = 1 if self.finding.safe and safe else own
        else:
            return None
        return _Error(Category.WRONG_LOCATION, severity, "location", self.topic)

    def level(self) -> _Error | None:
        """Return the error of another degree or size: urgent at most."""
        one, other, own = self.one, self.other, min(self.own, 3)
        severities: list[Severity] = []
        if one.levels and other.levels:
            ours, theirs = _levels(one, other, self.mine), _levels(other, one, self.theirs)
            gaps = [_gap(level, one.levels) for level in other.levels - ours]
            gaps += [_gap(level, other.levels) for level in one.levels - theirs]
            if gaps:
                severities.append(1 if max(gaps) == 1 else own)
        times = ratio(one.sizes, other.sizes)
        if self.finding.where != "line" and times >= SAME_SIZE:
            severities.append(own if times >= _OTHER_SIZE else 1)
        if not severities:
            return None
        return _Error(Category.WRONG_SEVERITY, max(severities), "severity or size", self.topic)

    def change(self) -> _Error | None:
        """Return the error of a comparison that only one of the two makes."""
        one, other = self.one.changes, self.other.changes
        stated = one - _changes(self.theirs) - self.reports.candidate.changes
        claimed = other - _changes(self.mine) - self.reports.reference.changes
        severity = change_weight(self.own, one, other)
        if claimed:
            what = f"comparison not in the reference: {', '.join(sorted(claimed))}"
            return _Error(Category.FALSE_COMPARISON, severity, what)
        if stated:
            what = f"comparison left out: {', '.join(sorted(stated))}"
            return _Error(Category.OMITTED_COMPARISON, severity, what)
        return None


def _borne_out(mention: Mention, others: Sequence[Mention]) -> bool:
    """Return whether each side and place of `mention` is named by one of `others` at its site."""
    there = [other for other in others if mention.agrees_in_site(other)]
    sides = {side for other in there for side in other.sides}
    return mention.sides <= sides and mention.places <= {
        place for other in there for place in other.places
    }


def _levels(own: Mention, partner: Mention, others: Sequence[Mention]) -> set[int]:
    """Return how severe a report calls a finding, at the partner's site or without one."""
    there = [other for other in others if other.agrees_in_site(partner)]
    return {level for mention in (own, *there) for level in mention.levels}


def _gap(level: int, levels: frozenset[int]) -> int:
    return min(abs(level - other) for other in levels)


def _changes(mentions: Iterable[Mention]) -> set[str]:
    return {change for mention in mentions for change in mention.changes}


def change_weight(own: Severity, ones: frozenset[str], others: frozenset[str]) -> Severity:
    """Return how much a comparison weighs of a finding with the severity `own`.

    A comparison made or left out is not actionable [Huang et al. 2024], unless the change
    itself matters: something new or worse, or the opposite of what has happened.
    """
    rises, grew = bool(ones & _UPWARD), bool(others & _UPWARD)
    falls, shrank = bool(ones & _DOWNWARD), bool(others & _DOWNWARD)
    if (rises and shrank) or (falls and grew):
        return min(own, 3)
    contrary = bool(ones and others) and falls != shrank
    return min(own, 2) if rises != grew or contrary else 1

"""What is wrong with a candidate: where both reports speak of a finding, and where one does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.mentions import Mention
from judge.backends.lexicon.reports import (
    MOST,
    SAME_SIZE,
    WHOLE,
    Alignment,
    Pair,
    ReadReport,
    Reports,
    is_safe,
    ratio,
    weight,
)
from judge.types import Attribute, Category, Discrepancy, Severity

_OTHER_SIZE = 1.5
"""Lengths with this ratio are clearly different."""

_UPWARD = frozenset({"new", "worse"})
_DOWNWARD = frozenset({"better", "resolved"})


class Found(NamedTuple):
    """A discrepancy, and what it is about: one topic in one sentence makes one error.

    `pair` is there where both reports have the finding, `attribute` where the category does not
    tell which of its attributes differs, `against` is what the other report says to the contrary.
    """

    discrepancy: Discrepancy
    topic: str
    pair: Pair | None = None
    attribute: Attribute | None = None
    against: Mention | None = None


def differences(pair: Pair, reports: Reports) -> list[Found]:
    """Return the errors in what the candidate says of a finding that both reports have.

    At most one each of reading, number, site, severity, acuity and change. What another mention of
    the same finding in the same report bears out is no error.
    """
    both = _Differing(pair, reports)
    errors = (both.reading(), both.count(), both.site(), both.level(), both.acuity(), both.change())
    return [error for error in errors if error]


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
        self.site_topic = f"{self.finding.label} {sorted(one.sides)} {sorted(one.places)}"

    def error(self, category: Category, severity: Severity, what: str, topic: str = "") -> Found:
        """Return the error of saying something else; its topic is `what` where none is given."""
        one, other = self.one, self.other
        text = f'The reference says "{one.words}", the candidate "{other.words}" ({what}).'
        label, sentences = self.finding.label, (one.sentence, other.sentence)
        again = {said.sentence for said in self.theirs if said == other} - {other.sentence}
        found = Discrepancy(category, severity, label, text, *sentences, tuple(sorted(again)))
        return Found(found, topic or what, (one, other))

    def reading(self) -> Found | None:
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
                return self.error(Category.FALSE_FINDING, self.own, f"read as {label}", label)
            label = findings[first[0]].label
            return self.error(Category.MISSING_FINDING, self.own, f"not read as {label}", label)
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
                return self.error(category, weight(mention, lexicon), what, finding.label)
        return None

    def count(self) -> Found | None:
        ours, theirs = self.one.count, self.other.count
        differ = ours and theirs and ours != theirs
        if not differ or len(set(self.mine)) > 1 or len(set(self.theirs)) > 1:
            return None
        category = Category.MISSING_FINDING if theirs < ours else Category.FALSE_FINDING
        error = self.error(category, weight(self.one, self.lexicon), f"{theirs} instead of {ours}")
        return error._replace(attribute="severity")

    def site(self) -> Found | None:
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
        elif is_line and one.acts != other.acts:
            severity = own
        else:
            return None
        return self.error(Category.WRONG_LOCATION, severity, "location", self.site_topic)

    def level(self) -> Found | None:
        one, other, own = self.one, self.other, min(self.own, 3)
        gaps: list[int] = []
        if one.levels and other.levels:
            ours, theirs = _levels(one, other, self.mine), _levels(other, one, self.theirs)
            gaps += [min(abs(a - b) for b in one.levels) for a in other.levels - ours]
            gaps += [min(abs(a - b) for b in other.levels) for a in one.levels - theirs]
        times = 1.0 if self.finding.where == "line" else ratio(one.sizes, other.sizes)
        if not gaps and times < SAME_SIZE:
            return None
        far = max(gaps, default=1) > 1 or times >= _OTHER_SIZE or self._swapped()
        severity = own if far else 1
        error = self.error(Category.WRONG_SEVERITY, severity, "severity or size", self.site_topic)
        return error if gaps else error._replace(attribute="measurement")

    def _swapped(self) -> bool:
        one, other = self.one, self.other
        if one.sides != other.sides or len(one.sides) != 1:
            return False
        across = [
            [said.levels for said in report if len(said.sides) == 1 and said.sides != one.sides]
            for report in (self.mine, self.theirs)
        ]
        return other.levels in across[0] and one.levels in across[1]

    def acuity(self) -> Found | None:
        one, other = self.one, self.other
        if one.agrees_in_age(other):
            return None
        if any(one.acuity & said.acuity for said in self.theirs if said.agrees_in_site(one)):
            return None
        findings = (self.finding, self.lexicon.findings[other.finding])
        matters = any(finding.urgent_if_acute for finding in findings)
        severity: Severity = max(self.own, 2) if matters else 1
        return self.error(Category.WRONG_SEVERITY, severity, "acuity")._replace(
            attribute="temporal"
        )

    def change(self) -> Found | None:
        one, other = self.one.changes, self.other.changes
        stated = one - _changes(self.theirs) - self.reports.candidate.changes
        claimed = other - _changes(self.mine) - self.reports.reference.changes
        severity = _change_weight(self.own, one, other)
        if claimed:
            how = "comparison not in the reference" if not one else "wrong comparison"
            what = f"{how}: {', '.join(sorted(claimed))}"
            return self.error(Category.FALSE_COMPARISON, severity, what)
        if stated:
            what = f"comparison left out: {', '.join(sorted(stated))}"
            return self.error(Category.OMITTED_COMPARISON, severity, what)
        return None


def _borne_out(mention: Mention, others: Sequence[Mention]) -> bool:
    there = [other for other in others if mention.agrees_in_site(other)]
    sides = {side for other in there for side in other.sides}
    places = {place for other in there for place in other.places}
    return mention.sides <= sides and mention.places <= places


def _levels(own: Mention, partner: Mention, others: Sequence[Mention]) -> set[int]:
    there = [other for other in others if other.agrees_in_site(partner)]
    return {level for mention in (own, *there) for level in mention.levels}


def _changes(mentions: Iterable[Mention]) -> set[str]:
    return {change for mention in mentions for change in mention.changes}


def _change_weight(own: Severity, ones: frozenset[str], others: frozenset[str]) -> Severity:
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


class _Side:
    """The two reports as seen from one of them."""

    def __init__(self, reports: Reports, *, of_reference: bool) -> None:
        self.reports, self.lexicon = reports, reports.lexicon
        self.of_reference = of_reference
        both = [("reference", reports.reference), ("candidate", reports.candidate)]
        (self.who, self.own), (self.whom, self.opposite) = both if of_reference else both[::-1]

    def told(
        self, said: Mention, other: Mention | None, rest: str
    ) -> tuple[str, int | None, int | None]:
        text = f'The {self.who} says "{said.words}", the {self.whom} {rest}.'
        theirs = other.sentence if other else None
        return (text, said.sentence, theirs) if self.of_reference else (text, theirs, said.sentence)


def unpaired(alignment: Alignment, reports: Reports) -> tuple[list[Found], list[Pair]]:
    """Return the errors about mentions that have no partner in the other report.

    A mention that repeats what the other report says elsewhere is no error in itself; only
    what it says differently counts. Several mentions of one finding make one error. Beside the
    errors are the mentions that repeat others, with those.
    """
    twins: list[Pair] = []
    errors = _unpaired(alignment.only_candidate, _Side(reports, of_reference=False), twins)
    errors += _unpaired(alignment.only_reference, _Side(reports, of_reference=True), twins)
    return errors, twins


def _unpaired(alone: Sequence[Mention], side: _Side, twins: list[Pair]) -> list[Found]:
    errors: list[Found] = []
    emitted: list[tuple[Mention, int]] = []
    for mention in filter(lambda one: one.positive, alone):
        denial = side.opposite.denial(mention)
        blocked = denial is not None and _is_blocked(mention, denial, side)
        twin = None if blocked else side.opposite.twin(mention)
        if twin is not None:
            pair = (mention, twin) if side.of_reference else (twin, mention)
            twins.append(pair)
            errors += differences(pair, side.reports)
            continue
        same = (
            at
            for other, at in emitted[:MOST]
            if other.related(mention, side.lexicon)
            and other.agrees_in_site(mention)
            and other.agrees_in_age(mention)
        )
        known = next(same, None)
        if known is None:
            emitted.append((mention, len(errors)))
            errors.append(_alone(mention, side))
        else:
            error = errors[known].discrepancy
            heavier: Severity = max(error.severity, weight(mention, side.lexicon))
            again = error.again
            if not side.of_reference and mention.sentence not in (error.candidate_sentence, *again):
                again = (*again, mention.sentence)
            heavy = replace(error, severity=heavier, again=again)
            errors[known] = errors[known]._replace(discrepancy=heavy)
    return errors


def _is_blocked(mention: Mention, denial: Mention, side: _Side) -> bool:
    named = side.opposite.named((mention.finding,))
    return all(one.finding != mention.finding for one in named) or (
        denial not in side.own.denied.get(mention.finding, ())
    )


def _alone(mention: Mention, side: _Side) -> Found:
    finding = side.lexicon.findings[mention.finding]
    contrary = side.opposite.contrary(mention)
    against = next(iter(contrary), None)
    severity = weight(mention, side.lexicon)
    category = Category.MISSING_FINDING
    if not side.of_reference:
        category = Category.FALSE_FINDING
        if _only_unchanged(mention, side.opposite):
            severity = 1
        elif against is not None and finding.area == "devices":
            severity = max(severity, 2)  # a tube that is gone is not one left in place
    rest = f'says "{against.words}"' if against else "does not"
    topic = f"{finding.label} {sorted(mention.sides)}"
    told = side.told(mention, against, rest)
    same = (one for one in side.own.present[mention.finding][:MOST] if one == mention)
    others = {one.sentence for one in (contrary[1:] if side.of_reference else same)}
    again = tuple(sorted(others - {told[-1]}))
    error = Discrepancy(category, severity, finding.label, *told, again)
    return Found(error, topic, against=against)


def _only_unchanged(mention: Mention, report: ReadReport) -> bool:
    area, structures = report.lexicon.findings[mention.finding].area, report.lexicon.structures
    about = [
        one
        for one in report.said
        if one.structure and not one.finding and area in structures[one.structure].rules_out
    ]
    return (
        mention.changes == {"unchanged"}
        and any("unchanged" in one.changes for one in about)
        and not any(one.normal for one in about)
    )


def wider_changes(reports: Reports) -> list[Found]:
    """Return comparisons with an earlier study that the candidate leaves out or adds.

    They are said of a structure, of the whole study, or of something now gone; those of
    findings that are present are not meant here. Only what is contradicted is actionable.
    """
    errors = _wider_changes(_Side(reports, of_reference=True))
    clashing = {one.discrepancy.finding for one in errors}
    added = _wider_changes(_Side(reports, of_reference=False))
    return errors + [one for one in added if one.discrepancy.finding not in clashing]


def _wider_changes(side: _Side) -> list[Found]:
    told: dict[tuple[str, frozenset[str]], Found | None] = {}
    for mention in side.own.said:
        if not mention.changes or mention.positive:
            continue
        name = mention.structure.replace("_", " ") or "study"
        topic = side.lexicon.findings[mention.finding].label if mention.finding else name
        if (topic, mention.changes) not in told:
            lacks, other = _lacking(mention, side.opposite)
            error = _comparison(topic, mention, other, side) if lacks else None
            told[topic, mention.changes] = error
    return [error for error in told.values() if error]


def _comparison(topic: str, mention: Mention, other: Mention | None, side: _Side) -> Found:
    theirs = other.changes if other else frozenset()
    category = Category.OMITTED_COMPARISON
    if theirs or not side.of_reference:
        category = Category.FALSE_COMPARISON
    # Silence about what has not changed, or is gone, weighs nothing.
    severity = _change_weight(2 if theirs else 1, mention.changes, theirs)
    rest = f'"{other.words}"' if other else "makes no such comparison"
    what = f"{category.label}: {', '.join(sorted(mention.changes))}"
    told = side.told(mention, other, rest)
    return Found(Discrepancy(category, severity, topic, *told), what)


def _lacking(mention: Mention, report: ReadReport) -> tuple[bool, Mention | None]:
    if mention.finding:
        # Where the finding is still there, that is the error.
        denials = report.denied.get(mention.finding, ())
        gone = any("resolved" in one.changes for one in denials)
        return not gone and mention.finding not in report.present, next(iter(denials), None)
    if mention.structure in WHOLE:
        if any(mention.changes & one.changes for one in report.said):
            return False, None
        whole = (one for one in report.said if not one.finding and one.structure in WHOLE)
        return True, next((one for one in whole if one.changes), None)
    about = [one for one in report.said if _same_part(mention, one, report.lexicon)]
    if mention.changes & report.changes or any(mention.changes & one.changes for one in about):
        return False, None
    # A structure that the other report leaves out is no omitted comparison.
    return bool(about), next(iter(about), None)


def _same_part(mention: Mention, other: Mention, lexicon: Lexicon) -> bool:
    own = lexicon.structures[mention.structure]
    if other.positive:
        return lexicon.findings[other.finding].area in own.rules_out
    if other.finding or not other.structure:
        return False
    theirs = lexicon.structures[other.structure]
    return mention.structure in (other.structure, *theirs.same_as) or other.structure in own.same_as

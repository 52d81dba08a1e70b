"""Errors of a candidate: differences of findings in both reports, and findings in only one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from itertools import product

from judge.backends.lexicon.mentions import MOST, SAME_SIZE, Mention, Pair
from judge.backends.lexicon.reports import WHOLE, ReadReport
from judge.types import Aspect, Attribute, Category, Discrepancy, Severity

_OTHER_SIZE = 1.5
"""Lengths with this ratio are clearly different."""

_URGENT = 3
_NONE: frozenset[str] = frozenset()
_UPWARD = frozenset({"new", "worse"})
_DOWNWARD = frozenset({"better", "resolved"})


@dataclass(frozen=True, slots=True)
class Error(Discrepancy):
    """A discrepancy with its topic: one topic in one sentence is one error.

    `pair` is there where both reports have the finding, with the `attribute` that differs and the
    `aspects` of which both say something; `against` is what the other report says to the contrary.
    """

    topic: str = ""
    pair: Pair | None = None
    attribute: Attribute | None = None
    against: Mention | None = None
    aspects: tuple[Aspect, ...] = ()


def differences(
    pair: Pair, reference: ReadReport, candidate: ReadReport
) -> list[Error]:
    """Return the differences of one finding that both reports have, at most one of a kind.

    What another mention of the same finding in the same report bears out is no error.
    """
    both = _Both(pair, reference, candidate)
    errors = (
        both.reading(),
        both.count(),
        both.site(),
        both.greater(),
        both.level(),
        both.acuity(),
        both.trait(),
        both.exclusion(),
        both.change(),
    )
    return [error for error in errors if error]


def nuances(pair: Pair, reference: ReadReport, candidate: ReadReport) -> list[Error]:
    """Return the differences in certainty and precision, which the six categories do not cover.

    They matter where the finding is urgent when certain, and where the two names weigh differently.
    """
    both = _Both(pair, reference, candidate)
    found = (both.certainty(), both.precision())
    return [nuance for nuance in found if nuance]


class _Both:
    """Two mentions of one finding, and all that each report says of it."""

    def __init__(
        self, pair: Pair, reference: ReadReport, candidate: ReadReport
    ) -> None:
        ours, theirs = pair
        self.pair = pair
        self.ours = ours
        self.theirs = theirs
        self.reference = reference
        self.candidate = candidate
        names = sorted({*ours.names, *theirs.names})
        self.all_ours = [ours, *reference.named(names)]
        self.all_theirs = [theirs, *candidate.named(names)]
        self.weight: Severity = max(ours.weight, theirs.weight)
        self.finding = ours.kind
        sides = sorted(ours.sides)
        places = sorted(ours.places)
        self.site_topic = f"{self.finding.label} {sides} {places}"

    def error(
        self,
        category: Category,
        severity: Severity,
        attribute: Attribute,
        difference: str,
        topic: str = "",
        aspects: tuple[Aspect, ...] = (),
    ) -> Error:
        ours, theirs = self.pair
        same: set[int] = set()
        for other in self.all_theirs:
            if other == theirs:
                same.add(other.sentence)
        # What denies the finding would contradict the corrected report.
        for denial in self.candidate.contrary(ours):
            same.add(denial.sentence)
        said = f'The reference says "{ours.words}", the candidate "{theirs.words}"'
        return Error(
            category,
            severity,
            finding=self.finding.label,
            text=f"{said} ({difference}).",
            reference_sentence=ours.sentence,
            candidate_sentence=theirs.sentence,
            again=tuple(sorted(same - {theirs.sentence})),
            topic=topic or difference,
            pair=self.pair,
            attribute=attribute,
            aspects=aspects,
        )

    def reading(self) -> Error | None:
        """Return the error where the reports read one shadow as other findings."""
        lexicon = self.reference.lexicon
        ours = _readings(self.ours)
        theirs = _readings(self.theirs)
        are_related = any(lexicon.related(*names) for names in product(ours, theirs))
        # "Scarring versus nodule" and "nodule versus scarring": the first is a reading too.
        is_among = self.ours.finding in theirs or self.theirs.finding in ours
        clash = not are_related and not is_among
        denied = self.reference.denies_all(theirs) or self.candidate.denies_all(ours)
        if clash or (denied and set(ours).isdisjoint(theirs)):
            # The graver of the two readings says what kind of error it is.
            if self.theirs.weight == self.weight:
                return self._misread(
                    Category.FALSE_FINDING,
                    self.weight,
                    verb="read as",
                    name=theirs[0],
                )
            return self._misread(
                Category.MISSING_FINDING,
                self.weight,
                verb="not read as",
                name=ours[0],
            )
        # A wider word that leaves something out is an error too: an opacity for a cavity.
        if _says_more(self.ours, self.theirs, self.candidate):
            return self._misread(
                Category.MISSING_FINDING,
                self.ours.weight,
                verb="not said to be",
                name=self.ours.finding,
            )
        if _says_more(self.theirs, self.ours, self.reference):
            return self._misread(
                Category.FALSE_FINDING,
                self.theirs.weight,
                verb="said to be",
                name=self.theirs.finding,
            )
        return None

    def _misread(
        self, category: Category, severity: Severity, *, verb: str, name: str
    ) -> Error:
        label = self.reference.lexicon.findings[name].label
        attribute: Attribute = "unspecific"
        if category is Category.FALSE_FINDING:
            attribute = "overinterpretation"
        return self.error(
            category,
            severity,
            attribute=attribute,
            difference=f"{verb} {label}",
            topic=label,
            aspects=("morphology",),
        )

    def certainty(self) -> Error | None:
        if self.ours.doubted == self.theirs.doubted:
            return None
        certain = self.ours
        if self.ours.doubted:
            certain = self.theirs
        severity: Severity = 1
        if certain.weight >= _URGENT:
            severity = certain.weight
        return self._uncertain(severity)

    def _uncertain(self, severity: Severity) -> Error:
        return self.error(
            Category.WRONG_SEVERITY,
            severity,
            attribute="certainty",
            difference="certainty",
            aspects=("certainty",),
        )

    def precision(self) -> Error | None:
        ours, theirs = self.ours, self.theirs
        # The age and the reading of a shadow are differences of their own.
        if ours.acuity and theirs.acuity:
            return None
        if self.reading():
            return None
        severity: Severity = 1
        if ours.kind.severity != theirs.kind.severity:
            severity = max(ours.kind.severity, theirs.kind.severity)
        is_kind_of_ours = ours.finding in theirs.kind.kind_of
        if is_kind_of_ours and theirs.finding not in self.reference.present:
            return self.error(
                Category.FALSE_FINDING,
                severity,
                attribute="overinterpretation",
                difference="overinterpretation",
                aspects=("morphology",),
            )
        is_kind_of_theirs = theirs.finding in ours.kind.kind_of
        if is_kind_of_theirs and ours.finding not in self.candidate.present:
            return self.error(
                Category.MISSING_FINDING,
                severity,
                attribute="unspecific",
                difference="unspecific",
                aspects=("morphology",),
            )
        return None

    def count(self) -> Error | None:
        ours = self.ours.count
        theirs = self.theirs.count
        if not ours or not theirs or ours == theirs:
            return None
        category = Category.FALSE_FINDING
        if theirs < ours:
            category = Category.MISSING_FINDING
        return self.error(
            category,
            self.ours.weight,
            attribute="severity",
            difference=f"{theirs} instead of {ours}",
            aspects=("severity",),
        )

    def site(self) -> Error | None:
        """Return the error where the reports put one finding in different places."""
        ours = self.ours
        theirs = self.theirs
        severity = self.weight
        is_line = self.finding.where == "line"
        is_device = self.finding.area == "devices"
        is_tube = is_line or (is_device and self.finding.where != "none")
        if is_tube:
            misplaced = self._misplaced()
            if misplaced:
                return misplaced
        have_sides = bool(ours.sides and theirs.sides)
        sides_differ = have_sides and ours.sides != theirs.sides
        places_differ = not ours.agrees_in_place(theirs)
        side_of_tube_matters = is_device and self.finding.side_matters
        if is_tube and (places_differ or side_of_tube_matters):
            severity = max(severity, 2)
        if (sides_differ or places_differ) and not self._are_borne_out():
            is_wrong_side = have_sides and ours.sides.isdisjoint(theirs.sides)
            if is_wrong_side and severity > 1 and not is_tube:
                severity = max(severity, 3)
        elif is_line and ours.size_ratio(theirs) >= _OTHER_SIZE:
            # How deep a tube lies matters little where both depths are safe.
            are_safe = ours.is_safe(self.finding) and theirs.is_safe(self.finding)
            if self.finding.safe and are_safe:
                severity = 1
        elif not is_line or ours.acts == theirs.acts:
            return None
        return self.error(
            Category.WRONG_LOCATION,
            severity,
            attribute="location",
            difference="location",
            topic=self.site_topic,
            aspects=self._aspects_of_site(),
        )

    def _aspects_of_site(self) -> tuple[Aspect, ...]:
        """Return what differs of side and place; how deep a tube lies is a size."""
        ours, theirs = self.pair
        aspects: list[Aspect] = []
        if ours.sides and theirs.sides and ours.sides != theirs.sides:
            aspects.append("side")
        if not ours.agrees_in_place(theirs) or ours.acts != theirs.acts:
            aspects.append("location")
        return tuple(aspects)

    def _are_borne_out(self) -> bool:
        """Return whether each report says elsewhere what the other says of the place."""
        is_ours = _borne_out(self.ours, self.all_theirs)
        return is_ours and _borne_out(self.theirs, self.all_ours)

    def _misplaced(self) -> Error | None:
        """Return the error where one report says that a device lies badly and the other nothing."""
        if _lies_badly(self.ours) and _is_unsaid(self.theirs, self.all_theirs):
            bad = self.ours
            category = Category.MISSING_FINDING
        elif _lies_badly(self.theirs) and _is_unsaid(self.ours, self.all_ours):
            bad = self.theirs
            category = Category.FALSE_FINDING
        else:
            return None
        if bad.doubted:
            return None
        return self.error(
            category,
            bad.weight,
            attribute="location",
            difference="position",
        )

    def greater(self) -> Error | None:
        """Return the error where a finding is greater on the one side or on the other."""
        ours = self.ours.greater or _greater_side(self.all_ours)
        theirs = self.theirs.greater or _greater_side(self.all_theirs)
        # The degrees of the two sides are no comparison where neither report makes one.
        if not self.ours.greater and not self.theirs.greater:
            return None
        if not ours or not theirs or ours & theirs:
            return None
        severity: Severity = min(self.weight, 2)
        return self.error(
            Category.WRONG_LOCATION,
            severity,
            attribute="location",
            difference=f"greater on the {min(theirs)}, not the {min(ours)}",
            topic=f"{self.finding.label} greater side",
            aspects=("side",),
        )

    def trait(self) -> Error | None:
        """Return the error where the reports describe one finding in words that exclude another."""
        ours, theirs = self.pair
        contrast = ours.contrasts_with(theirs)
        if not contrast:
            return None
        for other in self.all_theirs:
            is_there = bool(other.traits) and other.agrees_in_site(ours)
            if is_there and not ours.contrasts_with(other):
                return None
        severity: Severity = 1
        if self.reference.lexicon.contrasts[contrast].matters:
            severity = self.weight
        return self.error(
            Category.WRONG_SEVERITY,
            severity,
            attribute="severity",
            difference=contrast,
            aspects=("morphology",),
        )

    def exclusion(self) -> Error | None:
        """Return the error where one report states what the other only cannot exclude."""
        ours, theirs = self.pair
        if ours.unexcluded == theirs.unexcluded:
            return None
        if ours.unexcluded:
            plain = theirs
            others = self.all_ours
        else:
            plain = ours
            others = self.all_theirs
        if plain.doubted or not all(one.doubted for one in others):
            return None
        if plain.weight >= _URGENT:
            return self._uncertain(3)
        return self._uncertain(1)

    def level(self) -> Error | None:
        """Return the error where the reports differ in the degree or the size of a finding."""
        ours = self.ours
        theirs = self.theirs
        gaps = _level_gaps(theirs, ours, self.all_ours)
        gaps += _level_gaps(ours, theirs, self.all_theirs)
        share_times = ours.share_ratio(theirs)
        times = share_times
        # The length of a line is where it ends, which is its site.
        if self.finding.where != "line":
            times = max(times, ours.size_ratio(theirs))
        if not gaps and times < SAME_SIZE:
            return None
        severity: Severity = 1
        is_far = max(gaps, default=1) > 1 or times >= _OTHER_SIZE
        if is_far or self._swapped():
            severity = min(self.weight, 3)
        attribute: Attribute = "measurement"
        if gaps:
            attribute = "severity"
        aspects: tuple[Aspect, ...] = ()
        if gaps or share_times >= SAME_SIZE:
            aspects = ("severity",)
        return self.error(
            Category.WRONG_SEVERITY,
            severity,
            attribute=attribute,
            difference="severity or size",
            topic=self.site_topic,
            aspects=aspects,
        )

    def _swapped(self) -> bool:
        """Return whether the reports have the degrees of the two sides the other way round."""
        sides = self.ours.sides
        if len(sides) != 1 or sides != self.theirs.sides:
            return False
        across_ours = _levels_across(self.all_ours, sides)
        if self.theirs.levels not in across_ours:
            return False
        across_theirs = _levels_across(self.all_theirs, sides)
        return self.ours.levels in across_theirs

    def acuity(self) -> Error | None:
        ours = self.ours
        theirs = self.theirs
        if ours.agrees_in_age(theirs):
            return None
        there = [one for one in self.all_theirs if one.agrees_in_site(ours)]
        if any(ours.acuity & one.acuity for one in there):
            return None
        severity: Severity = 1
        if self.finding.urgent_if_acute or theirs.kind.urgent_if_acute:
            severity = max(self.weight, 2)
        return self.error(
            Category.WRONG_SEVERITY,
            severity,
            attribute="temporal",
            difference="acuity",
            aspects=("comparison",),
        )

    def change(self) -> Error | None:
        ours = self.ours.changes
        theirs = self.theirs.changes
        # What is said of the other side or lobe bears nothing out.
        there = [one for one in self.all_theirs if one.agrees_in_site(self.ours)]
        here = [one for one in self.all_ours if one.agrees_in_site(self.theirs)]
        stated = ours - theirs - _changes(there) - self.candidate.changes
        claimed = theirs - ours - _changes(here) - self.reference.changes
        if (ours & theirs) - {"unchanged"}:
            # "Persistent, slightly worse" and "worse" are one comparison.
            stated -= {"unchanged"}
            claimed -= {"unchanged"}
        severity = _change_weight(self.weight, ours, theirs)
        aspects: tuple[Aspect, ...] = ()
        if ours and theirs:
            aspects = ("comparison",)
        if claimed:
            what = "comparison not in the reference"
            if ours:
                what = "wrong comparison"
            return self.error(
                Category.FALSE_COMPARISON,
                severity,
                attribute="temporal",
                difference=f"{what}: {', '.join(sorted(claimed))}",
                aspects=aspects,
            )
        if stated:
            return self.error(
                Category.OMITTED_COMPARISON,
                severity,
                attribute="temporal",
                difference=f"comparison left out: {', '.join(sorted(stated))}",
                aspects=aspects,
            )
        return None


def _lies_badly(device: Mention) -> bool:
    return bool(device.places) and device.weight >= _URGENT


def _is_unsaid(device: Mention, report: Sequence[Mention]) -> bool:
    """Return whether a report says nothing of where a device lies, and nothing bad of it."""
    if device.weight >= _URGENT:
        return False
    return not any(mention.places for mention in report)


def _readings(mention: Mention) -> tuple[str, ...]:
    """Return what a mention reads a shadow as: its readings, else itself, and descriptors."""
    if mention.also:
        return (*mention.also, *mention.descriptors)
    return (mention.finding, *mention.descriptors)


def _says_more(mention: Mention, partner: Mention, report: ReadReport) -> bool:
    """Return whether a mention says more than its partner, and nothing else in that's report."""
    if not mention.kind.more_than:
        return False
    lexicon = report.lexicon
    enough = set()
    for name in report.present:
        if lexicon.stands_for(name, mention.finding):
            enough.add(name)
    if any(map(mention.agrees_in_site, report.named(enough))):
        return False
    return enough.isdisjoint(partner.names)


def _level_gaps(
    mention: Mention, other: Mention, report: Sequence[Mention]
) -> list[int]:
    """Return how far each degree of a mention is from the other's, unless the report has it."""
    if not other.levels:
        return []
    stated = {*other.levels}
    for one in report:
        if one.agrees_in_site(mention):
            stated |= one.levels
    gaps = []
    for level in mention.levels - stated:
        distances = [abs(level - known) for known in other.levels]
        gaps.append(min(distances))
    return gaps


def _levels_across(
    mentions: Sequence[Mention], sides: frozenset[str]
) -> list[frozenset[int]]:
    """Return the degrees of the mentions that are on the one other side."""
    across: list[frozenset[int]] = []
    for mention in mentions:
        if len(mention.sides) == 1 and mention.sides != sides:
            across.append(mention.levels)
    return across


def _greater_side(mentions: Sequence[Mention]) -> frozenset[str]:
    """Return the side on which the mentions of a finding say that it is greater, if they do."""
    stated = _NONE.union(*(one.greater for one in mentions))
    if len(stated) > 1:
        return _NONE  # they say both
    if stated:
        return stated
    levels: dict[str, int] = {}
    for mention in mentions:
        if len(mention.sides) == 1 and mention.levels and mention.positive:
            (side,) = mention.sides
            gravest = max(mention.levels)
            levels[side] = max(levels.get(side, 0), gravest)
    left = levels.get("left")
    right = levels.get("right")
    if left is None or right is None or left == right:
        return _NONE
    if left > right:
        return frozenset({"left"})
    return frozenset({"right"})


def _borne_out(mention: Mention, others: Sequence[Mention]) -> bool:
    """Return whether the mentions of one site together have all sides and places of another."""
    sides: set[str] = set()
    places: set[str] = set()
    for other in others:
        if mention.agrees_in_site(other):
            sides |= other.sides
            places |= other.places
    return mention.sides <= sides and mention.places <= places


def _changes(mentions: Iterable[Mention]) -> set[str]:
    changes: set[str] = set()
    for mention in mentions:
        changes |= mention.changes
    return changes


def _change_weight(
    weight: Severity, reference: Set[str], candidate: Set[str]
) -> Severity:
    """Return how much a comparison weighs of a finding with the severity `weight`.

    One made or left out is not actionable [Huang et al. 2024], unless something is new or worse, or
    the opposite of what has happened.
    """
    rises = bool(reference & _UPWARD)
    grew = bool(candidate & _UPWARD)
    falls = bool(reference & _DOWNWARD)
    shrank = bool(candidate & _DOWNWARD)
    if (rises and shrank) or (falls and grew):
        return min(weight, 3)
    contrary = bool(reference and candidate) and falls != shrank
    if rises != grew or contrary:
        return min(weight, 2)
    return 1


def unpaired(
    alone: Sequence[Sequence[Mention]], reference: ReadReport, candidate: ReadReport
) -> tuple[list[Error], list[Pair]]:
    """Return the errors about the mentions of each report `alone`, one a finding.

    A mention that repeats what the other report says elsewhere is returned in a pair with that.
    """
    errors: list[Error] = []
    twins: list[Pair] = []
    for report, other, mentions in (
        (candidate, reference, alone[1]),
        (reference, candidate, alone[0]),
    ):
        emitted: list[tuple[Mention, int]] = []
        for mention in mentions:
            if not mention.positive:
                continue
            twin = None
            if not _is_blocked(mention, report, other):
                twin = other.twin(mention)
            if twin is not None:
                pair = (twin, mention)
                if report is reference:
                    pair = (mention, twin)
                twins.append(pair)
                errors += differences(pair, reference, candidate)
                continue
            for earlier, at in emitted[:MOST]:
                if _are_of_one(earlier, mention):
                    is_candidate = report is candidate
                    errors[at] = _repeated(
                        errors[at], mention, is_candidate=is_candidate
                    )
                    break
            else:
                emitted.append((mention, len(errors)))
                errors.append(_unpaired_error(mention, report, other))
    return errors, twins


def _are_of_one(earlier: Mention, mention: Mention) -> bool:
    """Return whether two mentions of a report are of one finding."""
    is_there = earlier.agrees_in_site(mention) and earlier.agrees_in_age(mention)
    return is_there and earlier.related(mention)


def _repeated(error: Error, mention: Mention, *, is_candidate: bool) -> Error:
    """Return an error with what a further mention of it adds: weight, and its sentence."""
    severity: Severity = max(error.severity, mention.weight)
    known = {*error.again, error.candidate_sentence}
    again = error.again
    if is_candidate and mention.sentence not in known:
        again = (*again, mention.sentence)
    return replace(error, severity=severity, again=again)


def _is_blocked(mention: Mention, report: ReadReport, other: ReadReport) -> bool:
    """Return whether the other report denies a finding, so that nothing there repeats it."""
    denied = other.denied.get(mention.finding, ())[:MOST]
    denial = next((normal for normal in denied if normal.against(mention)), None)
    if denial is None:
        return False
    if denial not in report.denied.get(mention.finding, ()):
        return True
    # Both reports deny it of one thing and may affirm it of another.
    named = other.named((mention.finding,))
    return all(one.finding != mention.finding for one in named)


def _unpaired_error(mention: Mention, report: ReadReport, other: ReadReport) -> Error:
    finding = mention.kind
    severity = mention.weight
    contrary = other.contrary(mention)
    against = next(iter(contrary), None)
    others = contrary[1:]
    category = Category.MISSING_FINDING
    if report.side == "candidate":
        category = Category.FALSE_FINDING
        present = report.present[mention.finding][:MOST]
        others = [one for one in present if one == mention]
        if _only_unchanged(mention, other):
            severity = 1
        elif against is not None and finding.area == "devices":
            # A tube that is gone is not one left in place.
            severity = max(severity, 2)
    rest = "does not"
    if against:
        rest = f'says "{against.words}"'
    reference_sentence, candidate_sentence = _sentences(mention, against, report)
    again = {one.sentence for one in others} - {candidate_sentence}
    return Error(
        category,
        severity,
        finding=finding.label,
        text=f'The {report.side} says "{mention.words}", the {other.side} {rest}.',
        reference_sentence=reference_sentence,
        candidate_sentence=candidate_sentence,
        again=tuple(sorted(again)),
        topic=f"{finding.label} {sorted(mention.sides)}",
        against=against,
    )


def _sentences(
    mention: Mention, against: Mention | None, report: ReadReport
) -> tuple[int | None, int | None]:
    """Return the sentences of reference and candidate of what `report` and the other say."""
    other = None
    if against:
        other = against.sentence
    if report.side == "reference":
        return mention.sentence, other
    return other, mention.sentence


def _only_unchanged(mention: Mention, report: ReadReport) -> bool:
    """Return whether a report calls the part of a finding unchanged too, and never normal."""
    if mention.changes != {"unchanged"}:
        return False
    parts = report.lexicon.structures
    about: list[Mention] = []
    for other in report.mentions:
        if not other.structure or other.finding:
            continue
        if mention.kind.area in parts[other.structure].rules_out:
            about.append(other)
    if any(one.normal for one in about):
        return False
    return "unchanged" in _changes(about)


def wider_changes(reference: ReadReport, candidate: ReadReport) -> list[Error]:
    """Return comparisons with an earlier study that the candidate leaves out or adds.

    They are said of a structure, of the whole study, or of something now gone.
    """
    if reference.mentions == candidate.mentions:
        return []
    errors = _wider_changes(reference, candidate)
    clashing = {error.finding for error in errors}
    added = _wider_changes(candidate, reference)
    return errors + [error for error in added if error.finding not in clashing]


def _wider_changes(report: ReadReport, other: ReadReport) -> list[Error]:
    said: dict[tuple[str, frozenset[str]], Mention] = {}
    for mention in report.mentions:
        if mention.positive or not mention.changes:
            continue
        if mention.finding:
            label = mention.kind.label
        else:
            label = mention.structure.replace("_", " ") or "study"
        said.setdefault((label, mention.changes), mention)
    errors: list[Error] = []
    for (label, changes), mention in said.items():
        lacks, partner = _lacking(mention, other)
        if not lacks:
            continue
        theirs = _NONE
        rest = "makes no such comparison"
        if partner:
            theirs = partner.changes
            rest = f'"{partner.words}"'
        category = Category.FALSE_COMPARISON
        if report.side == "reference" and not theirs:
            category = Category.OMITTED_COMPARISON
        # Silence about what has not changed, or is gone, weighs nothing.
        weight: Severity = 1
        if theirs:
            weight = 2
        severity = _change_weight(weight, changes, theirs)
        topic = f"{category.label}: {', '.join(sorted(changes))}"
        reference_sentence, candidate_sentence = _sentences(mention, partner, report)
        error = Error(
            category,
            severity,
            finding=label,
            text=f'The {report.side} says "{mention.words}", the {other.side} {rest}.',
            reference_sentence=reference_sentence,
            candidate_sentence=candidate_sentence,
            topic=topic,
        )
        errors.append(error)
    return errors


def _lacking(mention: Mention, report: ReadReport) -> tuple[bool, Mention | None]:
    """Return whether a report lacks a comparison, and what it says of the same thing instead."""
    if mention.finding:
        # Where the finding is still there, that is the error.
        denials = report.denied.get(mention.finding, ())
        is_gone = any("resolved" in denial.changes for denial in denials)
        lacks = not is_gone and mention.finding not in report.present
        return lacks, next(iter(denials), None)
    if mention.structure in WHOLE:
        lacks = mention.changes.isdisjoint(_changes(report.mentions))
        return lacks, _first_change_of_study(report)
    about = [stated for stated in report.mentions if _same_part(mention, stated)]
    # A structure that the other report leaves out is no omitted comparison.
    if not about:
        return False, None
    there = report.changes | _changes(about)
    return mention.changes.isdisjoint(there), about[0]


def _first_change_of_study(report: ReadReport) -> Mention | None:
    for mention in report.mentions:
        is_of_study = mention.structure in WHOLE and not mention.finding
        if mention.changes and is_of_study:
            return mention
    return None


def _same_part(mention: Mention, other: Mention) -> bool:
    structures = mention.lexicon.structures
    name = other.structure
    part = structures[mention.structure]
    if other.positive:
        return other.kind.area in part.rules_out
    if not name or other.finding:
        return False
    same = {name, *structures[name].same_as}
    return mention.structure in same or name in part.same_as

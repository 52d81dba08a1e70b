"""Errors of a candidate: differences of findings in both reports, and findings in only one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from itertools import product

from judge.backends.lexicon.mentions import MOST, SAME_SIZE, Mention, Pair
from judge.backends.lexicon.reports import WHOLE, ReadReport
from judge.types import Attribute, Category, Discrepancy, Severity

_OTHER_SIZE = 1.5
"""Lengths with this ratio are clearly different."""

_URGENT = 3
_NONE: frozenset[str] = frozenset()
_NO_LEVELS: frozenset[int] = frozenset()
_UPWARD = frozenset({"new", "worse"})
_DOWNWARD = frozenset({"better", "resolved"})


@dataclass(frozen=True, slots=True)
class Error(Discrepancy):
    """A discrepancy with its topic: one topic in one sentence is one error.

    `pair` is there where both reports have the finding, with the `attribute` that differs;
    `against` is what the other report says to the contrary.
    """

    topic: str = ""
    pair: Pair | None = None
    attribute: Attribute | None = None
    against: Mention | None = None


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
    return [nuance for nuance in (both.certainty(), both.precision()) if nuance]


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
        self.site_topic = (
            f"{self.finding.label} {sorted(ours.sides)} {sorted(ours.places)}"
        )

    def error(
        self,
        category: Category,
        severity: Severity,
        attribute: Attribute,
        difference: str,
        topic: str = "",
    ) -> Error:
        ours, theirs = self.pair
        same = {other.sentence for other in self.all_theirs if other == theirs}
        # What denies the finding would contradict the corrected report.
        same |= {denial.sentence for denial in self.candidate.contrary(ours)}
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
            if self.theirs.weight == self.weight:
                return self._misread(
                    Category.FALSE_FINDING, self.weight, verb="read as", name=theirs[0]
                )
            return self._misread(
                Category.MISSING_FINDING, self.weight, verb="not read as", name=ours[0]
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
        is_more = category is Category.FALSE_FINDING
        attribute: Attribute = "overinterpretation" if is_more else "unspecific"
        return self.error(category, severity, attribute, f"{verb} {label}", label)

    def certainty(self) -> Error | None:
        if self.ours.doubted == self.theirs.doubted:
            return None
        weight = (self.theirs if self.ours.doubted else self.ours).weight
        severity = weight if weight >= _URGENT else 1
        return self.error(Category.WRONG_SEVERITY, severity, "certainty", "certainty")

    def precision(self) -> Error | None:
        ours, theirs = self.ours, self.theirs
        if (ours.acuity and theirs.acuity) or self.reading():
            return None  # which is a difference of its own
        severity: Severity = 1
        if ours.kind.severity != theirs.kind.severity:
            severity = max(ours.kind.severity, theirs.kind.severity)
        is_kind_of_ours = ours.finding in theirs.kind.kind_of
        if is_kind_of_ours and theirs.finding not in self.reference.present:
            more: Attribute = "overinterpretation"
            return self.error(Category.FALSE_FINDING, severity, more, more)
        is_kind_of_theirs = theirs.finding in ours.kind.kind_of
        if is_kind_of_theirs and ours.finding not in self.candidate.present:
            return self.error(
                Category.MISSING_FINDING, severity, "unspecific", "unspecific"
            )
        return None

    def count(self) -> Error | None:
        ours, theirs = self.ours.count, self.theirs.count
        if not ours or not theirs or ours == theirs:
            return None
        category = Category.MISSING_FINDING if theirs < ours else Category.FALSE_FINDING
        return self.error(
            category, self.ours.weight, "severity", f"{theirs} instead of {ours}"
        )

    def site(self) -> Error | None:
        """Return the error where the reports put one finding in different places."""
        ours = self.ours
        theirs = self.theirs
        severity = self.weight
        is_line = self.finding.where == "line"
        has_place = self.finding.where != "none"
        is_tube = is_line or (self.finding.area == "devices" and has_place)
        if is_tube and self.finding.area == "devices" and self.finding.side_matters:
            severity = max(severity, 2)
        sides = ours.sides and theirs.sides and ours.sides != theirs.sides
        places = not ours.agrees_in_place(theirs)
        misplaced = self._misplaced() if is_tube else None
        if misplaced:
            return misplaced
        if is_tube and places:
            severity = max(severity, 2)
        if (sides or places) and not self._are_borne_out():
            if sides and not ours.sides & theirs.sides and severity > 1 and not is_tube:
                severity = max(severity, 3)  # on the wrong side
        elif is_line and ours.size_ratio(theirs) >= _OTHER_SIZE:
            are_safe = ours.is_safe(self.finding) and theirs.is_safe(self.finding)
            severity = 1 if self.finding.safe and are_safe else severity
        elif not is_line or ours.acts == theirs.acts:
            return None
        what: Attribute = "location"
        return self.error(
            Category.WRONG_LOCATION, severity, what, what, self.site_topic
        )

    def _are_borne_out(self) -> bool:
        """Return whether each report says elsewhere what the other says of the place."""
        is_ours = _borne_out(self.ours, self.all_theirs)
        return is_ours and _borne_out(self.theirs, self.all_ours)

    def _misplaced(self) -> Error | None:
        """Return the error where one report says that a device lies badly and the other nothing."""
        for mention, other, report, category in (
            (self.ours, self.theirs, self.all_theirs, Category.MISSING_FINDING),
            (self.theirs, self.ours, self.all_ours, Category.FALSE_FINDING),
        ):
            is_bad = bool(mention.places) and mention.weight >= _URGENT
            is_unsaid = other.weight < _URGENT and not any(one.places for one in report)
            if is_bad and is_unsaid:
                if mention.doubted:
                    return None
                return self.error(category, mention.weight, "location", "position")
        return None

    def greater(self) -> Error | None:
        """Return the error where a finding is greater on the one side or on the other."""
        ours = self.ours.greater or _greater_side(self.all_ours)
        theirs = self.theirs.greater or _greater_side(self.all_theirs)
        is_stated = self.ours.greater or self.theirs.greater
        if not is_stated or not ours or not theirs or ours & theirs:
            return None
        severity: Severity = min(self.weight, 2)
        difference = f"greater on the {min(theirs)}, not the {min(ours)}"
        topic = f"{self.finding.label} greater side"
        return self.error(
            Category.WRONG_LOCATION, severity, "location", difference, topic
        )

    def trait(self) -> Error | None:
        """Return the error where the reports describe one finding in words that exclude another."""
        ours, theirs = self.pair
        contrast = ours.contrasts_with(theirs)
        if not contrast:
            return None
        there = (one for one in self.all_theirs if one.agrees_in_site(ours))
        if any(one.traits and not ours.contrasts_with(one) for one in there):
            return None
        matters = self.reference.lexicon.contrasts[contrast].matters
        severity: Severity = self.weight if matters else 1
        return self.error(Category.WRONG_SEVERITY, severity, "severity", contrast)

    def exclusion(self) -> Error | None:
        """Return the error where one report states what the other only cannot exclude."""
        ours, theirs = self.pair
        if ours.unexcluded == theirs.unexcluded:
            return None
        plain = theirs if ours.unexcluded else ours
        others = self.all_ours if ours.unexcluded else self.all_theirs
        if plain.doubted or any(not one.doubted for one in others):
            return None
        severity: Severity = 3 if plain.weight >= _URGENT else 1
        return self.error(Category.WRONG_SEVERITY, severity, "certainty", "certainty")

    def level(self) -> Error | None:
        """Return the error where the reports differ in the degree or the size of a finding."""
        ours, theirs = self.ours, self.theirs
        gaps = _level_gaps(theirs, ours, self.all_ours)
        gaps += _level_gaps(ours, theirs, self.all_theirs)
        times = 1.0 if self.finding.where == "line" else ours.size_ratio(theirs)
        times = max(times, ours.share_ratio(theirs))
        if not gaps and times < SAME_SIZE:
            return None
        far = max(gaps, default=1) > 1 or times >= _OTHER_SIZE or self._swapped()
        severity: Severity = min(self.weight, 3) if far else 1
        attribute: Attribute = "severity" if gaps else "measurement"
        difference = "severity or size"
        return self.error(
            Category.WRONG_SEVERITY, severity, attribute, difference, self.site_topic
        )

    def _swapped(self) -> bool:
        """Return whether the reports have the degrees of the two sides the other way round."""
        sides = self.ours.sides
        is_one_side = sides == self.theirs.sides and len(sides) == 1
        across_ours = _levels_across(self.all_ours, sides)
        across_theirs = _levels_across(self.all_theirs, sides)
        is_across = self.theirs.levels in across_ours
        return is_one_side and is_across and self.ours.levels in across_theirs

    def acuity(self) -> Error | None:
        ours, theirs = self.ours, self.theirs
        there = [one for one in self.all_theirs if one.agrees_in_site(ours)]
        if ours.agrees_in_age(theirs) or any(ours.acuity & one.acuity for one in there):
            return None
        matters = self.finding.urgent_if_acute or theirs.kind.urgent_if_acute
        severity: Severity = max(self.weight, 2) if matters else 1
        return self.error(Category.WRONG_SEVERITY, severity, "temporal", "acuity")

    def change(self) -> Error | None:
        ours, theirs = self.ours.changes, self.theirs.changes
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
        if claimed:
            how = "wrong comparison" if ours else "comparison not in the reference"
            difference = f"{how}: {', '.join(sorted(claimed))}"
            return self.error(
                Category.FALSE_COMPARISON, severity, "temporal", difference
            )
        if stated:
            difference = f"comparison left out: {', '.join(sorted(stated))}"
            return self.error(
                Category.OMITTED_COMPARISON, severity, "temporal", difference
            )
        return None


def _readings(mention: Mention) -> tuple[str, ...]:
    """Return what a mention reads a shadow as: its readings, else itself, and descriptors."""
    return (*(mention.also or (mention.finding,)), *mention.descriptors)


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
    there = [one for one in report if one.agrees_in_site(mention)]
    stated = _NO_LEVELS.union(other.levels, *(one.levels for one in there))
    gaps = []
    for level in mention.levels - stated:
        distances = [abs(level - known) for known in other.levels]
        gaps.append(min(distances))
    return gaps


def _levels_across(
    mentions: Sequence[Mention], sides: frozenset[str]
) -> list[frozenset[int]]:
    """Return the degrees of the mentions that are on the one other side."""
    across = [one for one in mentions if len(one.sides) == 1 and one.sides != sides]
    return [one.levels for one in across]


def _greater_side(mentions: Sequence[Mention]) -> frozenset[str]:
    """Return the side on which the mentions of a finding say that it is greater, if they do."""
    stated = _NONE.union(*(one.greater for one in mentions))
    if stated:
        return stated if len(stated) == 1 else _NONE
    levels: dict[str, int] = {}
    for mention in mentions:
        if len(mention.sides) == 1 and mention.levels and mention.positive:
            (side,) = mention.sides
            levels[side] = max(levels.get(side, 0), max(mention.levels))
    left, right = levels.get("left"), levels.get("right")
    if left is None or right is None or left == right:
        return _NONE
    return frozenset({"left" if left > right else "right"})


def _borne_out(mention: Mention, others: Sequence[Mention]) -> bool:
    there = [other for other in others if mention.agrees_in_site(other)]
    sides = _NONE.union(*(one.sides for one in there))
    places = _NONE.union(*(one.places for one in there))
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
            twin = None if _is_blocked(mention, report, other) else other.twin(mention)
            if twin is not None:
                pair = (mention, twin) if report is reference else (twin, mention)
                twins.append(pair)
                errors += differences(pair, reference, candidate)
                continue
            for earlier, at in emitted[:MOST]:
                if _are_of_one(earlier, mention):
                    errors[at] = _repeated(
                        errors[at], mention, is_candidate=report is candidate
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
    denied = other.denied.get(mention.finding, ())[:MOST]
    denial = next((normal for normal in denied if normal.against(mention)), None)
    if denial is None or denial not in report.denied.get(mention.finding, ()):
        return denial is not None
    named = other.named((mention.finding,))
    return all(one.finding != mention.finding for one in named)


def _unpaired_error(mention: Mention, report: ReadReport, other: ReadReport) -> Error:
    finding, severity = mention.kind, mention.weight
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
            severity = max(severity, 2)  # a tube that is gone is not one left in place
    rest = f'says "{against.words}"' if against else "does not"
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
    other = against.sentence if against else None
    if report.side == "reference":
        return mention.sentence, other
    return other, mention.sentence


def _only_unchanged(mention: Mention, report: ReadReport) -> bool:
    parts, area = report.lexicon.structures, mention.kind.area
    stated = [one for one in report.mentions if one.structure and not one.finding]
    about = [one for one in stated if area in parts[one.structure].rules_out]
    is_unchanged = mention.changes == {"unchanged"} and "unchanged" in _changes(about)
    return is_unchanged and not any(one.normal for one in about)


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
        name = mention.structure.replace("_", " ") or "study"
        label = mention.kind.label if mention.finding else name
        if mention.changes and not mention.positive:
            said.setdefault((label, mention.changes), mention)
    errors: list[Error] = []
    for (label, changes), mention in said.items():
        lacks, partner = _lacking(mention, other)
        if not lacks:
            continue
        theirs = partner.changes if partner else frozenset()
        is_omitted = report.side == "reference" and not theirs
        category = (
            Category.OMITTED_COMPARISON if is_omitted else Category.FALSE_COMPARISON
        )
        # Silence about what has not changed, or is gone, weighs nothing.
        severity = _change_weight(2 if theirs else 1, changes, theirs)
        rest = f'"{partner.words}"' if partner else "makes no such comparison"
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
    if mention.finding:
        # Where the finding is still there, that is the error.
        denials = report.denied.get(mention.finding, ())
        gone = any("resolved" in denial.changes for denial in denials)
        lacks = not gone and mention.finding not in report.present
        return lacks, next(iter(denials), None)
    if mention.structure in WHOLE:
        changed = [one for one in report.mentions if one.changes and not one.finding]
        of_study = [one for one in changed if one.structure in WHOLE]
        lacks = mention.changes.isdisjoint(_changes(report.mentions))
        return lacks, next(iter(of_study), None)
    about = [stated for stated in report.mentions if _same_part(mention, stated)]
    # A structure that the other report leaves out is no omitted comparison.
    lacks = mention.changes.isdisjoint(report.changes | _changes(about)) and bool(about)
    return lacks, next(iter(about), None)


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

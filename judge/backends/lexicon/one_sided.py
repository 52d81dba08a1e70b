"""What only one of two reports says: findings, and changes of anything that is not one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from judge.backends.lexicon.align import Alignment
from judge.backends.lexicon.attributes import Found, change_weight, differences, found
from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.mentions import MOST, Mention
from judge.backends.lexicon.reports import WHOLE, ReadReport, Reports, rules_out
from judge.backends.lexicon.weight import weight
from judge.types import Category, Severity


class _Side:
    """The two reports as seen from one of them."""

    def __init__(self, reports: Reports, *, of_reference: bool) -> None:
        self.reports, self.lexicon = reports, reports.lexicon
        self.of_reference = of_reference
        self.own, self.opposite = reports.reference, reports.candidate
        self.who, self.whom = "reference", "candidate"
        if not of_reference:
            self.own, self.opposite = self.opposite, self.own
            self.who, self.whom = self.whom, self.who


def unpaired(alignment: Alignment, reports: Reports) -> list[Found]:
    """Return the errors about mentions that have no partner in the other report.

    A mention that repeats what the other report says elsewhere is no error in itself; only
    what it says differently counts. Several mentions of one finding make one error.
    """
    errors = _unpaired(alignment.only_candidate, _Side(reports, of_reference=False))
    return errors + _unpaired(alignment.only_reference, _Side(reports, of_reference=True))


def _unpaired(alone: Sequence[Mention], side: _Side) -> list[Found]:
    errors: list[Found] = []
    emitted: list[tuple[Mention, int]] = []
    for mention in alone:
        if not mention.positive:
            continue
        denial = side.opposite.denial(mention)
        blocked = denial is not None and _is_blocked(mention, denial, side)
        twin = None if blocked else side.opposite.twin(mention, side.lexicon)
        if twin is not None:
            pair = (mention, twin) if side.of_reference else (twin, mention)
            errors += differences(pair, side.reports)
            continue
        known = next(
            (
                at
                for other, at in emitted[:MOST]
                if other.related(mention, side.lexicon) and other.agrees_in_site(mention)
            ),
            None,
        )
        if known is None:
            emitted.append((mention, len(errors)))
            errors.append(_alone(mention, side))
        else:
            error, topic = errors[known]
            heavier: Severity = max(error.severity, weight(mention, side.lexicon))
            errors[known] = Found(replace(error, severity=heavier), topic)
    return errors


def _is_blocked(mention: Mention, denial: Mention, side: _Side) -> bool:
    """Return whether the denial holds against a related finding that could stand for it."""
    named = side.opposite.named((mention.finding,))
    return all(one.finding != mention.finding for one in named) or (
        denial not in side.own.denied.get(mention.finding, ())
    )


def _alone(mention: Mention, side: _Side) -> Found:
    """Return the error of leaving a finding out, or of making it up."""
    finding = side.lexicon.findings[mention.finding]
    against = _contrary(mention, side.opposite, side.lexicon)
    severity = weight(mention, side.lexicon)
    category = Category.MISSING_FINDING
    if not side.of_reference:
        category = Category.FALSE_FINDING
        if _only_unchanged(mention, side.opposite, side.lexicon):
            severity = 1
        elif against is not None and finding.area == "devices":
            severity = max(severity, 2)  # a tube that is gone is not one left in place
    rest = f'says "{against.words}"' if against else "does not"
    text = f'The {side.who} says "{mention.words}", the {side.whom} {rest}.'
    pair = (mention, against) if side.of_reference else (against, mention)
    topic = f"{finding.label} {sorted(mention.sides)}"
    return found(category, severity, finding.label, text, pair, topic)


def _contrary(mention: Mention, report: ReadReport, lexicon: Lexicon) -> Mention | None:
    """Return what `report` says against the finding: its denial, a wider one, or a normal."""
    denial = report.denial(mention)
    if denial is not None:
        return denial
    finding = lexicon.findings[mention.finding]
    for wider in sorted(finding.kind_of):
        if wider in report.denied:
            return report.denied[wider][0]
    against = (
        one for one in report.said if not one.positive and finding.area in rules_out(one, lexicon)
    )
    return next(against, None)


def _only_unchanged(mention: Mention, report: ReadReport, lexicon: Lexicon) -> bool:
    """Return whether `report` calls the finding's structure unchanged without calling it normal."""
    area = lexicon.findings[mention.finding].area
    about = [
        one
        for one in report.said
        if one.structure and not one.finding and area in lexicon.structures[one.structure].rules_out
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
    clashing = {error.finding for error, _ in errors}
    added = _wider_changes(_Side(reports, of_reference=False))
    return errors + [one for one in added if one.discrepancy.finding not in clashing]


def _wider_changes(side: _Side) -> list[Found]:
    errors: list[Found] = []
    seen: set[tuple[str, frozenset[str]]] = set()
    for mention in side.own.said:
        if mention.finding:
            topic = side.lexicon.findings[mention.finding].label
        else:
            topic = mention.structure.replace("_", " ") or "study"
        if not mention.changes or mention.positive or (topic, mention.changes) in seen:
            continue
        seen.add((topic, mention.changes))
        lacks, other = _lacking(mention, side.opposite, side.lexicon)
        if lacks:
            errors.append(_told(topic, mention, other, side))
    return errors


def _told(topic: str, mention: Mention, other: Mention | None, side: _Side) -> Found:
    against = f'"{other.words}"' if other else "makes no such comparison"
    theirs = other.changes if other else frozenset()
    category = Category.OMITTED_COMPARISON
    if theirs or not side.of_reference:
        category = Category.FALSE_COMPARISON
    # Silence about what has not changed, or is gone, weighs nothing.
    severity = change_weight(2 if theirs else 1, mention.changes, theirs)
    text = f'The {side.who} says "{mention.words}", the {side.whom} {against}.'
    pair = (mention, other) if side.of_reference else (other, mention)
    changes = ", ".join(sorted(mention.changes))
    return found(category, severity, topic, text, pair, f"{category.label}: {changes}")


def _lacking(mention: Mention, report: ReadReport, lexicon: Lexicon) -> tuple[bool, Mention | None]:
    """Return whether `report` lacks the change, and the statement that ought to have it."""
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
    about = [one for one in report.said if _same_part(mention, one, lexicon)]
    if mention.changes & report.changes or any(mention.changes & one.changes for one in about):
        return False, None
    # A structure that the other report leaves out is no omitted comparison.
    return bool(about), next(iter(about), None)


def _same_part(mention: Mention, other: Mention, lexicon: Lexicon) -> bool:
    """Return whether `other` is about the structure of `mention`, or a finding of it."""
    own = lexicon.structures[mention.structure]
    if other.positive:
        return lexicon.findings[other.finding].area in own.rules_out
    if other.finding or not other.structure:
        return False
    theirs = lexicon.structures[other.structure]
    return (
        mention.structure == other.structure
        or mention.structure in theirs.same_as
        or other.structure in own.same_as
    )

"""Changes that are said of a structure, of the whole study, or of something now gone."""

from __future__ import annotations

from judge.backends.lexicon.attributes import Found, discrepancy
from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.mentions import Mention, Placed
from judge.backends.lexicon.reports import Report, Reports
from judge.types import Category, Severity

_WHOLE = ("", "chest")


def wider_changes(reports: Reports) -> list[Found]:
    """Return comparisons with an earlier study that the candidate leaves out or adds.

    Those of findings that are present are not meant here. None is actionable.
    """
    found = _one_way(reports, of_reference=True)
    clashing = {one.discrepancy.finding for one in found}
    added = _one_way(reports, of_reference=False)
    return found + [one for one in added if one.discrepancy.finding not in clashing]


def _one_way(reports: Reports, *, of_reference: bool) -> list[Found]:
    own, opposite = reports.reference, reports.candidate
    if not of_reference:
        own, opposite = opposite, own
    found: list[Found] = []
    seen: set[tuple[str, frozenset[str]]] = set()
    for placed in own.said:
        mention = placed.mention
        topic = _topic(mention, reports.lexicon)
        if not mention.changes or mention.positive or (topic, mention.changes) in seen:
            continue
        seen.add((topic, mention.changes))
        lacks, other = _lacking(mention, opposite, reports.lexicon)
        if lacks:
            found.append(_told(topic, placed, other, of_reference=of_reference))
    return found


def _told(topic: str, placed: Placed, other: Placed | None, *, of_reference: bool) -> Found:
    who, whom = ("reference", "candidate") if of_reference else ("candidate", "reference")
    against = f'"{other.mention.words}"' if other else "makes no such comparison"
    contradicted = other is not None and bool(other.mention.changes)
    category = Category.OMITTED_COMPARISON
    if contradicted or not of_reference:
        category = Category.FALSE_COMPARISON
    # A claim about an earlier study weighs more than silence about one.
    severity: Severity = 2 if category is Category.FALSE_COMPARISON else 1
    text = f'The {who} says "{placed.mention.words}", the {whom} {against}.'
    pair = (placed, other) if of_reference else (other, placed)
    changes = ", ".join(sorted(placed.mention.changes))
    return Found(discrepancy(category, severity, topic, text, pair), f"{category.label}: {changes}")


def _topic(mention: Mention, lexicon: Lexicon) -> str:
    if mention.finding:
        return lexicon.findings[mention.finding].label
    return mention.structure.replace("_", " ") or "study"


def _lacking(mention: Mention, report: Report, lexicon: Lexicon) -> tuple[bool, Placed | None]:
    """Return whether `report` lacks the change, and the statement that ought to have it."""
    if mention.finding:
        # Where the finding is still there, that is the error.
        denials = report.denied.get(mention.finding, ())
        gone = any("resolved" in one.mention.changes for one in denials)
        lacks = not gone and mention.finding not in report.present
        return lacks, next(iter(denials), None)
    if mention.structure in _WHOLE:
        if any(mention.changes & one.mention.changes for one in report.said):
            return False, None
        study = (one for one in report.said if _is_whole(one.mention) and one.mention.changes)
        return True, next(study, None)
    about = [one for one in report.said if _same_part(mention, one.mention, lexicon)]
    if mention.changes & report.changes or any(
        mention.changes & one.mention.changes for one in about
    ):
        return False, None
    # A structure that the other report leaves out is no omitted comparison.
    return bool(about), next(iter(about), None)


def _is_whole(mention: Mention) -> bool:
    return not mention.finding and mention.structure in _WHOLE


def _same_part(mention: Mention, other: Mention, lexicon: Lexicon) -> bool:
    """Return whether `other` is about the structure of `mention`, or a finding of it."""
    own = lexicon.structures[mention.structure]
    if other.positive:
        return lexicon.findings[other.finding].area in own.rules_out
    if other.finding or not other.structure:
        return False
    theirs = lexicon.structures[other.structure]
    return own.name == theirs.name or own.name in theirs.same_as or theirs.name in own.same_as

"""Findings that only one of two reports has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from judge.backends.lexicon.align import Alignment, Pair, agree_in_site, related
from judge.backends.lexicon.attributes import Found, differences, discrepancy
from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.mentions import Mention, Placed
from judge.backends.lexicon.reports import Report, Reports
from judge.backends.lexicon.weight import label, weight
from judge.types import Category, Discrepancy

_MOST = 64
"""A finding is held against no more than this many others to be counted once."""


def unpaired(alignment: Alignment, reports: Reports) -> list[Found]:
    """Return the errors about mentions that have no partner in the other report.

    A mention that repeats what the other report says elsewhere is no error in itself; only
    what it says differently counts. Several mentions of one finding make one error.
    """
    found = _one_side(alignment.only_candidate, reports, of_reference=False)
    return found + _one_side(alignment.only_reference, reports, of_reference=True)


def _one_side(alone: Sequence[Placed], reports: Reports, *, of_reference: bool) -> list[Found]:
    found: list[Found] = []
    emitted: list[tuple[Mention, int]] = []
    own, opposite = reports.reference, reports.candidate
    if not of_reference:
        own, opposite = opposite, own
    for placed in alone:
        mention = placed.mention
        if not mention.positive:
            continue
        denial = opposite.denial(mention)
        blocked = denial is not None and _is_blocked(mention, denial, own, opposite)
        twin = None if blocked else _twin(mention, opposite, reports.lexicon)
        if twin is not None:
            pair = Pair(placed, twin) if of_reference else Pair(twin, placed)
            found += differences(pair, reports)
            continue
        known = next(
            (
                at
                for at, (other, _) in enumerate(emitted[:_MOST])
                if related(other, mention, reports.lexicon) and agree_in_site(other, mention)
            ),
            None,
        )
        if known is None:
            emitted.append((mention, len(found)))
            error = _alone(placed, opposite, reports.lexicon, of_reference=of_reference)
            found.append(Found(error, f"{error.finding} {sorted(mention.sides)}"))
        else:
            at = emitted[known][1]
            error = found[at].discrepancy
            heavier = max(error.severity, weight(mention, reports.lexicon))
            found[at] = replace(found[at], discrepancy=replace(error, severity=heavier))
    return found


def _twin(mention: Mention, opposite: Report, lexicon: Lexicon) -> Placed | None:
    """Return the other report's mention that this one repeats, the same finding first."""
    twins = [
        one
        for one in opposite.likely(mention, lexicon)
        if related(one.mention, mention, lexicon) and agree_in_site(one.mention, mention)
    ]
    same = [one for one in twins if one.mention.finding == mention.finding]
    return next(iter(same or twins), None)


def _is_blocked(mention: Mention, denial: Placed, own: Report, opposite: Report) -> bool:
    """Return whether the denial holds against a related finding that could stand for it."""
    named = [one for one in opposite.named((mention.finding,)) if one.finding == mention.finding]
    return not named or denial.mention not in [
        one.mention for one in own.denied.get(mention.finding, ())
    ]


def _alone(
    placed: Placed, opposite: Report, lexicon: Lexicon, *, of_reference: bool
) -> Discrepancy:
    mention = placed.mention
    against = _contrary(mention, opposite, lexicon)
    name = label(mention, lexicon)
    if of_reference:
        rest = (
            f'the candidate says "{against.mention.words}"' if against else "the candidate does not"
        )
        text = f'The reference says "{mention.words}", {rest}.'
        return discrepancy(
            Category.MISSING_FINDING, weight(mention, lexicon), name, text, (placed, against)
        )
    rest = f'the reference says "{against.mention.words}"' if against else "the reference does not"
    text = f'The candidate says "{mention.words}", {rest}.'
    severity = weight(mention, lexicon)
    if mention.finding and _only_unchanged(mention, opposite, lexicon):
        severity = 1
    return discrepancy(Category.FALSE_FINDING, severity, name, text, (against, placed))


def _contrary(mention: Mention, report: Report, lexicon: Lexicon) -> Placed | None:
    """Return what `report` says against the finding: its denial, a wider one, or a normal."""
    denial = report.denial(mention)
    if denial is not None:
        return denial
    finding = lexicon.findings[mention.finding]
    for wider in sorted(finding.kind_of):
        if wider in report.denied:
            return report.denied[wider][0]
    for one in report.said:
        other = one.mention
        if other.normal and finding.area in lexicon.structures[other.structure].rules_out:
            return one
        if (
            other.finding
            and not other.present
            and finding.area in lexicon.findings[other.finding].rules_out
        ):
            return one
    return None


def _only_unchanged(mention: Mention, report: Report, lexicon: Lexicon) -> bool:
    """Return whether `report` calls the finding's structure unchanged without calling it normal."""
    area = lexicon.findings[mention.finding].area
    about = [
        one.mention
        for one in report.said
        if one.mention.structure
        and not one.mention.finding
        and area in lexicon.structures[one.mention.structure].rules_out
    ]
    return (
        mention.changes == {"unchanged"}
        and any("unchanged" in one.changes for one in about)
        and not any(one.normal for one in about)
    )

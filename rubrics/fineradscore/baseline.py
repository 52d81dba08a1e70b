"""What the built-in judge found, as corrections of the candidate's lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from judge.rubrics.categories import error
from judge.rubrics.fineradscore.measures import NAMES, SEVERITY, closeness
from judge.sentences import lines
from judge.types import Annotation, Category, Discrepancy, Edit, Item, ReportComparison, Study

_SILENCE = Discrepancy(Category.MISSING_FINDING, 1, "", "The candidate says nothing.")
_TAKEN_OUT = (Category.FALSE_FINDING, Category.FALSE_COMPARISON)


@dataclass(slots=True)
class _Draft:
    sources: set[int] = field(default_factory=set)
    why: list[Discrepancy] = field(default_factory=list)


def baseline(comparison: ReportComparison, study: Study) -> Annotation:
    """Return what rules found as corrections that turn the candidate's lines into the reference's.

    A candidate line with a discrepancy is changed into the reference's lines that speak of
    the same, or deleted where there are none; a line of the reference that is said nowhere
    is inserted. One place gets one correction: the highest severity, all the categories. A
    candidate without a line lacks all of the reference's, those without a discrepancy at
    severity 1.
    """
    reference, candidate = lines(study.reference), lines(study.candidate)
    changed, displaced = _changed(comparison, reference, candidate)
    placed = {reference[at]: draft for draft in changed.values() for at in draft.sources}
    inserted: dict[str, _Draft] = {}
    if not candidate:
        inserted = {text: _Draft({at}) for at, text in enumerate(reference)}
    for one in displaced:
        at = one.reference_sentence
        if at is not None:
            draft = placed.get(reference[at]) or inserted.setdefault(reference[at], _Draft({at}))
            draft.why.append(one)
    partners = comparison.partners
    made = [(one, _rewritten(at, one, reference, candidate)) for at, one in sorted(changed.items())]
    made += [(one, Edit("insert", _place(one, partners), text)) for text, one in inserted.items()]
    return Annotation(tuple(_error(draft, edit) for draft, edit in made))


def _changed(
    comparison: ReportComparison, reference: Sequence[str], candidate: Sequence[str]
) -> tuple[dict[int, _Draft], list[Discrepancy]]:
    partners: dict[int, set[int]] = defaultdict(set)
    for theirs, ours in comparison.partners:
        partners[ours].add(theirs)
    changed: dict[int, _Draft] = defaultdict(_Draft)
    also: dict[int, Discrepancy] = {}
    for one in comparison.discrepancies:
        if (at := one.candidate_sentence) is not None:
            changed[at].sources |= partners[at]
            if one.reference_sentence is not None:
                changed[at].sources.add(one.reference_sentence)
        for at in one.again:
            changed[at].sources |= partners[at]
            also.setdefault(at, one)
    homes = _homes(changed, reference, candidate)
    for at, draft in changed.items():
        draft.sources = {source for source in draft.sources if homes.get(source) == at}
    displaced = []
    for one in comparison.discrepancies:
        at, source = one.candidate_sentence, one.reference_sentence
        if at is None:
            displaced.append(one)
        elif source is None or one.category in _TAKEN_OUT or source in changed[at].sources:
            changed[at].why.append(one)
        else:  # without a home it is said elsewhere in these words: what contradicts is taken out
            changed[homes.get(source, at)].why.append(one)
    for at, one in also.items():
        changed[at].why = changed[at].why or [one]
    return {at: draft for at, draft in changed.items() if draft.why}, displaced


def _homes(
    changed: dict[int, _Draft], reference: Sequence[str], candidate: Sequence[str]
) -> dict[int, int]:
    homes: dict[int, int] = {}
    taken = {line for at, line in enumerate(candidate) if at not in changed}
    for source in sorted({source for draft in changed.values() for source in draft.sources}):
        text = reference[source]
        if text in taken:
            continue
        taken.add(text)
        takers = [at for at, draft in changed.items() if source in draft.sources]
        homes[source] = max(takers, key=lambda at: (closeness(candidate[at], text), -at))
    return homes


def _rewritten(at: int, draft: _Draft, reference: Sequence[str], candidate: Sequence[str]) -> Edit:
    text = " ".join(reference[source] for source in sorted(draft.sources))
    is_new = text not in ("", candidate[at])
    return Edit("change", at, text) if is_new else Edit("delete", at, "")


def _place(draft: _Draft, partners: Sequence[tuple[int, int]]) -> int | None:
    after = [pair for pair in partners if pair[0] > max(draft.sources)]
    return min(after)[1] if after else None


def _error(draft: _Draft, edit: Edit) -> Item:
    why = draft.why or [_SILENCE]
    return error(
        sorted({one.category for one in why}),
        SEVERITY.name,
        NAMES[max(one.severity for one in why) - 1],
        " ".join(dict.fromkeys(one.text for one in why)),
        edit,
    )

"""How the built-in judge's findings become corrections."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from judge.rubrics.fineradscore.scale import NAMES
from judge.sentences import lines
from judge.types import Annotation, Category, Comparison, Discrepancy, Edit, Error, Study


@dataclass(slots=True)
class _Draft:
    """What is wrong in one place, and the reference's lines that belong there."""

    sources: set[int] = field(default_factory=set)
    why: list[Discrepancy] = field(default_factory=list)


def from_comparison(comparison: Comparison, study: Study) -> Annotation:
    """Return what rules found as corrections that turn the candidate's lines into the reference's.

    A candidate line with a discrepancy is changed into the reference's lines that speak of
    the same, or deleted where there are none; a line of the reference that is said nowhere
    is inserted. One place gets one correction: the highest severity, all the categories.
    """
    reference, candidate = lines(study.reference), lines(study.candidate)
    changed = _changed(comparison, reference, candidate)
    placed = {reference[at]: draft for draft in changed.values() for at in draft.sources}
    inserted: dict[str, _Draft] = {}
    for one in comparison.discrepancies:
        at = one.reference_sentence
        if one.candidate_sentence is None and at is not None:
            draft = placed.get(reference[at]) or inserted.setdefault(reference[at], _Draft({at}))
            draft.why.append(one)
    errors = [
        _error(draft, _rewritten(at, draft, reference, candidate))
        for at, draft in sorted(changed.items())
    ]
    for text, draft in inserted.items():
        errors.append(_error(draft, Edit("insert", _place(draft, comparison.partners), text)))
    return Annotation(tuple(errors))


def _changed(
    comparison: Comparison, reference: Sequence[str], candidate: Sequence[str]
) -> dict[int, _Draft]:
    """Return a draft for each candidate line with a discrepancy, by number.

    A line of the reference goes to one place only, and to none where the candidate has it
    already.
    """
    partners: dict[int, set[int]] = defaultdict(set)
    for theirs, ours in comparison.partners:
        partners[ours].add(theirs)
    changed: dict[int, _Draft] = defaultdict(_Draft)
    for one in comparison.discrepancies:
        if (at := one.candidate_sentence) is not None:
            draft = changed[at]
            draft.why.append(one)
            draft.sources |= partners[at]
            if one.reference_sentence is not None:
                draft.sources.add(one.reference_sentence)
    taken = {line for at, line in enumerate(candidate) if at not in changed}
    for _, draft in sorted(changed.items()):
        draft.sources = {at for at in draft.sources if reference[at] not in taken}
        taken |= {reference[at] for at in draft.sources}
    return changed


def _rewritten(at: int, draft: _Draft, reference: Sequence[str], candidate: Sequence[str]) -> Edit:
    text = " ".join(reference[source] for source in sorted(draft.sources))
    if not text or text == candidate[at]:
        return Edit("delete", at, "")
    return Edit("change", at, text)


def _place(draft: _Draft, partners: Sequence[tuple[int, int]]) -> int | None:
    """Return the candidate line that a new one goes before: the partner of what follows it."""
    after = [pair for pair in partners if pair[0] > max(draft.sources)]
    return min(after)[1] if after else None


def _error(draft: _Draft, edit: Edit) -> Error:
    return Error(
        categories=tuple(sorted({one.category for one in draft.why})),
        level=NAMES[max(map(_severity, draft.why)) - 1],
        text=" ".join(dict.fromkeys(one.text for one in draft.why)),
        edit=edit,
    )


def _severity(one: Discrepancy) -> int:
    """Return the lexicon's severity, one less for a comparison that the reference does not make.

    On this scale a comparison without ground is not actionable by itself [Huang et al.
    2024]; the lexicon counts it as 2 or more.
    """
    return max(1, one.severity - (one.category is Category.FALSE_COMPARISON))

"""Compares a candidate report with its reference, by rules."""

from __future__ import annotations

from collections.abc import Sequence

from judge.backends.lexicon.align import align
from judge.backends.lexicon.attributes import Found, differences
from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.matched import common_sentences, matched
from judge.backends.lexicon.mentions import Placed, read
from judge.backends.lexicon.presence import unpaired
from judge.backends.lexicon.reports import Reports, lay_out
from judge.backends.lexicon.wider import wider_changes
from judge.types import Category, Comparison, Discrepancy


def compare(reference: str, candidate: str, lexicon: Lexicon) -> Comparison:
    """Return the discrepancies between two reports, what matches, and a short explanation.

    Pure and deterministic. Discrepancies come in the order of the reference, then those
    that only the candidate gives rise to, in its order. Two reports in which no finding is
    recognised match in the sentences they share; two empty ones in nothing.
    """
    left, right = read(reference, lexicon), read(candidate, lexicon)
    alignment = align(left, right, lexicon)
    reports = Reports(lay_out(left), lay_out(right), lexicon)
    found = [one for pair in alignment.pairs for one in differences(pair, reports)]
    found += unpaired(alignment, reports)
    found += wider_changes(reports)
    ordered = tuple(sorted(_once(found), key=_order))
    if left or right:
        agreed = matched(left, right, alignment, ordered, lexicon)
    else:
        agreed = common_sentences(reference, candidate)
    partners = {
        (pair.reference.sentence, pair.candidate.sentence)
        for pair in (*alignment.same, *alignment.pairs)
    }
    explanation = _explain(left, right, ordered, agreed, lexicon)
    return Comparison(ordered, agreed, explanation, tuple(sorted(partners)))


def _once(found: Sequence[Found]) -> list[Discrepancy]:
    """Return the discrepancies, one for each category and topic in a pair of sentences."""
    kept: dict[tuple[object, ...], Discrepancy] = {}
    for one in found:
        error = one.discrepancy
        sentence = (error.reference_sentence, error.candidate_sentence)
        if error.category is Category.OMITTED_COMPARISON:
            sentence = (error.reference_sentence, None)
        elif error.category is Category.FALSE_COMPARISON:
            sentence = (None, error.candidate_sentence)
        kept.setdefault((error.category, one.topic, *sentence), error)
    return list(kept.values())


def _order(one: Discrepancy) -> tuple[bool, int, int, str, str, str]:
    only_candidate = one.reference_sentence is None
    return (
        only_candidate,
        -1 if one.reference_sentence is None else one.reference_sentence,
        -1 if one.candidate_sentence is None else one.candidate_sentence,
        one.category.value,
        one.finding,
        one.text,
    )


def _explain(
    reference: Sequence[Placed],
    candidate: Sequence[Placed],
    discrepancies: Sequence[Discrepancy],
    agreed: Sequence[str],
    lexicon: Lexicon,
) -> str:
    if not reference and not candidate:
        return (
            f"Rules of {lexicon.version}: no finding is recognised in either report, "
            f"sentences in common: {len(agreed)}."
        )
    counts = ", ".join(
        f"{category.label}: {number}"
        for category in dict.fromkeys(one.category for one in discrepancies)
        if (number := sum(one.category is category for one in discrepancies))
    )
    return (
        f"Rules of {lexicon.version}: {len(reference)} statements recognised in the reference, "
        f"{len(candidate)} in the candidate, {len(agreed)} in agreement, "
        f"{counts or 'no discrepancy'}."
    )

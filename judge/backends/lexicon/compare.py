"""Compares a candidate report with its reference, by rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from judge.backends.lexicon.align import align
from judge.backends.lexicon.attributes import Found, differences
from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.matched import common_sentences, matched
from judge.backends.lexicon.mentions import Mention, read
from judge.backends.lexicon.one_sided import unpaired, wider_changes
from judge.backends.lexicon.reports import ReadReport, Reports
from judge.types import Category, Discrepancy, ReportComparison


def compare(reference: str, candidate: str, lexicon: Lexicon) -> ReportComparison:
    """Return the discrepancies between two reports, what matches, and a short explanation.

    Pure and deterministic. Discrepancies come in the order of the reference, then those
    that only the candidate gives rise to, in its order. Two reports in which no finding is
    recognised match in the sentences they share; two empty ones in nothing.
    """
    left, right = read(reference, lexicon), read(candidate, lexicon)
    alignment = align(left, right, lexicon)
    reports = Reports(ReadReport(left), ReadReport(right), lexicon)
    found = [one for pair in alignment.pairs for one in differences(pair, reports)]
    found += unpaired(alignment, reports)
    found += wider_changes(reports)
    ordered = tuple(sorted(_once(found), key=_order))
    if left or right:
        agreed = matched(left, right, alignment, ordered, lexicon)
    else:
        agreed = common_sentences(reference, candidate)
    aligned = (*alignment.same, *alignment.pairs)
    partners = {(one.sentence, other.sentence) for one, other in aligned}
    explanation = _explain(left, right, ordered, agreed, lexicon)
    return ReportComparison(ordered, agreed, explanation, tuple(sorted(partners)))


def _once(found: Sequence[Found]) -> list[Discrepancy]:
    """Return the discrepancies, the gravest for each category and topic in a pair of sentences."""
    kept: dict[tuple[object, ...], Discrepancy] = {}
    for one in found:
        error = one.discrepancy
        sentence = (error.reference_sentence, error.candidate_sentence)
        if error.category is Category.OMITTED_COMPARISON:
            sentence = (error.reference_sentence, None)
        elif error.category is Category.FALSE_COMPARISON:
            sentence = (None, error.candidate_sentence)
        key = (error.category, one.topic, *sentence)
        if key not in kept or kept[key].severity < error.severity:
            kept[key] = error
    return list(kept.values())


def _order(one: Discrepancy) -> tuple[bool, int, int, str, str, str]:
    reference, candidate = one.reference_sentence, one.candidate_sentence
    return (
        reference is None,
        -1 if reference is None else reference,
        -1 if candidate is None else candidate,
        one.category.value,
        one.finding,
        one.text,
    )


def _explain(
    reference: Sequence[Mention],
    candidate: Sequence[Mention],
    discrepancies: Sequence[Discrepancy],
    agreed: Sequence[str],
    lexicon: Lexicon,
) -> str:
    if not reference and not candidate:
        return (
            f"Rules of {lexicon.version}: no finding is recognised in either report, "
            f"sentences in common: {len(agreed)}."
        )
    numbers = Counter(one.category.label for one in discrepancies)
    counts = ", ".join(f"{label}: {number}" for label, number in numbers.items())
    return (
        f"Rules of {lexicon.version}: {len(reference)} statements recognised in the reference, "
        f"{len(candidate)} in the candidate, {len(agreed)} in agreement, "
        f"{counts or 'no discrepancy'}."
    )

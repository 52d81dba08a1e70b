"""Compares a candidate report with its reference, by rules: what differs and what matches."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.errors import Found, differences, unpaired, wider_changes
from judge.backends.lexicon.findings import told_apart
from judge.backends.lexicon.mentions import Mention
from judge.backends.lexicon.reports import Alignment, ReadReport, Reports, align, rules_out
from judge.backends.lexicon.statements import statements
from judge.sentences import sentences
from judge.types import Category, Discrepancy, ReportComparison

_SPOILS = 2
"""A finding with an error of this severity or more is not matched."""

_LONGEST = 80


def compare(reference: str, candidate: str, lexicon: Lexicon) -> ReportComparison:
    """Return the discrepancies between two reports, what matches, and a short explanation.

    Pure and deterministic. Discrepancies come in the order of the reference, then those
    that only the candidate gives rise to, in its order. Two reports in which no finding is
    recognised match in the sentences they share; two empty ones in nothing.
    """
    reports = Reports(ReadReport(reference, lexicon), ReadReport(candidate, lexicon), lexicon)
    alignment = align(reports)
    found = [one for pair in alignment.pairs for one in differences(pair, reports)]
    alone, twins = unpaired(alignment, reports)
    found += alone
    findings, different = told_apart(reports, (*alignment.same, *alignment.pairs, *twins), found)
    found += wider_changes(reports)
    discrepancies = tuple(sorted(_once(found), key=_order))
    counts = Counter(one.category.label for one in discrepancies)
    partners = {(a.sentence, b.sentence) for a, b in (*alignment.same, *alignment.pairs)}
    left, right = reports.reference.said, reports.candidate.said
    if left or right:
        agreed = _matched(reports, alignment, discrepancies)
        listed = ", ".join(f"{label}: {number}" for label, number in counts.items())
        told = (
            f"{len(left)} statements recognised in the reference, {len(right)} in the candidate, "
            f"{len(agreed)} in agreement, {listed or 'no discrepancy'}"
        )
    else:
        agreed = _common_sentences(reference, candidate)
        told = f"no finding is recognised in either report, sentences in common: {len(agreed)}"
    explanation = f"Rules of {lexicon.version}: {told}."
    return ReportComparison(
        *(discrepancies, agreed, explanation, tuple(sorted(partners)), findings, different),
        statements=statements(reports, alignment),
    )


def _once(found: Sequence[Found]) -> list[Discrepancy]:
    """Return the discrepancies, the gravest for each category and topic in a pair of sentences."""
    kept: dict[tuple[object, ...], Discrepancy] = {}
    for one in found:
        error = one.discrepancy
        category, ours, theirs = error.category, error.reference_sentence, error.candidate_sentence
        ours = None if category is Category.FALSE_COMPARISON else ours
        theirs = None if category is Category.OMITTED_COMPARISON else theirs
        key = (category, one.topic, ours, theirs)
        if key not in kept or kept[key].severity < error.severity:
            kept[key] = error
    return list(kept.values())


def _order(one: Discrepancy) -> tuple[bool, int, int, str, str, str]:
    reference, candidate = one.reference_sentence, one.candidate_sentence
    at = -1 if candidate is None else candidate
    return (reference is None, reference or 0, at, one.category.value, one.finding, one.text)


def _matched(
    reports: Reports, alignment: Alignment, discrepancies: Sequence[Discrepancy]
) -> tuple[str, ...]:
    """Return what both reports state, in the reference's words and order, once each.

    A finding that is present is matched by its partner. A statement that denies a finding
    or calls a structure normal is matched by one about the same, or by any that rules out
    the same in other words ("No effusion", "Pleural spaces are clear"), unless the other
    report has a finding there that this one lacks. Each statement is decided by itself.
    After the reference's come the statements that only the candidate makes, and the
    reference bears out.
    """
    spoilt = {
        (one.finding, one.reference_sentence) for one in discrepancies if one.severity >= _SPOILS
    }
    agreed = {id(mention) for mention, _ in (*alignment.same, *alignment.pairs)}
    words: dict[tuple[str, str, frozenset[str]], str] = {}
    alone: defaultdict[Category, set[str]] = defaultdict(set)
    for one in discrepancies:
        alone[one.category].add(one.finding)
    theirs = _Said(reports.candidate, alone[Category.FALSE_FINDING])
    for mention in reports.reference.said:
        if mention.positive:
            name = reports.lexicon.findings[mention.finding].label
            if id(mention) in agreed and (name, mention.sentence) not in spoilt:
                words.setdefault((mention.finding, "present", mention.sides), mention.words)
        elif theirs.bear_out(mention):
            words.setdefault((mention.finding, mention.structure, frozenset()), mention.words)
    ours = _Said(reports.reference, alone[Category.MISSING_FINDING])
    for mention in reports.candidate.said:
        if not mention.positive and not ours.states(mention) and ours.bear_out(mention):
            words.setdefault((mention.finding, mention.structure, frozenset()), mention.words)
    return tuple(words.values())


def _common_sentences(reference: str, candidate: str) -> tuple[str, ...]:
    """Return the sentences that both texts have, whatever they say.

    For reports in which no finding is recognised: an identical text always matches, even
    one without a letter, unless it is empty.
    """
    if reference.strip() and reference.split() == candidate.split() and not sentences(reference):
        return (_plain(reference)[:_LONGEST],)
    theirs = {_plain(candidate[start:end]) for start, end in sentences(candidate)}
    ours = dict.fromkeys(_plain(reference[start:end]) for start, end in sentences(reference))
    return tuple(one for one in ours if one in theirs)


def _plain(text: str) -> str:
    """Return `text` in lower case on one line, without what separates items in a list."""
    return " ".join(text.lower().replace(";", ",").split()).rstrip(".") or "."


class _Said:
    """What a report calls normal or denies, and the findings that it has to itself."""

    def __init__(self, report: ReadReport, alone: Collection[str]) -> None:
        self._findings, self._lexicon = report.lexicon.findings, report.lexicon
        self._said = {one for one in report.said if not one.positive}
        self._alone = alone
        self._alone_areas = {one.area for one in self._findings.values() if one.label in alone}
        self._sides: defaultdict[tuple[str, str], set[frozenset[str]]] = defaultdict(set)
        self._ruled_out: set[str] = set()
        for one in self._said:
            if one.finding or one.normal:
                self._sides[one.finding, one.structure].add(one.sides)
            if len(one.sides) != 1:
                self._ruled_out |= _widened(rules_out(one, report.lexicon))
        denied = {self._findings[name].area for name, _ in self._sides if name}
        self._touched = self._ruled_out | denied

    def states(self, mention: Mention) -> bool:
        """Return whether the report denies the same finding or calls the same part normal."""
        if not mention.finding and not mention.normal:
            return mention in self._said
        said = self._sides.get((mention.finding, mention.structure), ())
        return any(not (one and mention.sides) or one & mention.sides for one in said)

    def bear_out(self, mention: Mention) -> bool:
        """Return whether the report says the same, or rules out the same in other words."""
        if not mention.finding and not mention.normal:
            return self.states(mention)
        own = rules_out(mention, self._lexicon)
        label = self._findings[mention.finding].label if mention.finding else ""
        if own & self._alone_areas or label in self._alone:
            return False
        if self.states(mention):
            return True
        if len(mention.sides) == 1:
            return False  # other words seldom name a side
        if own:
            wide = _widened(own)
            return bool(wide & self._touched) and not wide & self._alone_areas
        return self._findings[mention.finding].area in self._ruled_out


def _widened(areas: frozenset[str]) -> frozenset[str]:
    """Return the areas, and with the lungs the pleura: clear lungs have no fluid around them."""
    return areas | {"pleura"} if "lungs" in areas else areas

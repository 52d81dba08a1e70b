"""Compares a candidate report with its reference, by rules: what differs and what matches."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, cached_property, partial

from judge.backends.lexicon.data import Lexicon
from judge.backends.lexicon.errors import Found, differences, unpaired, wider_changes
from judge.backends.lexicon.findings import is_same, told_apart
from judge.backends.lexicon.mentions import Mention
from judge.backends.lexicon.reports import (
    MOST,
    Alignment,
    Pair,
    ReadReport,
    Reports,
    align,
    rules_out,
)
from judge.backends.lexicon.statements import statements
from judge.sentences import sentences
from judge.types import (
    AttributeDifference,
    Category,
    Discrepancy,
    ReportComparison,
    ReportFinding,
    Statement,
)

_CHANGES = (Category.FALSE_COMPARISON, Category.OMITTED_COMPARISON)

_LONGEST = 80


def compare(reference: str, candidate: str, lexicon: Lexicon) -> ReportComparison:
    """Return the discrepancies between two reports, what matches, and a short explanation.

    Pure and deterministic. Discrepancies come in the order of the reference, then those
    that only the candidate gives rise to, in its order. Two reports in which no finding is
    recognised match in the sentences they share; two empty ones in nothing. Findings,
    differences and statements are worked out when they are first asked for.
    """
    ours, theirs = ReadReport(reference, lexicon), ReadReport(candidate, lexicon, of_candidate=True)
    reports = Reports(ours, theirs, lexicon)
    alignment = align(reports)
    found = [one for pair in alignment.pairs for one in differences(pair, reports)]
    alone, twins = unpaired(alignment, reports)
    found += alone
    every = [*found, *wider_changes(reports)]
    discrepancies = tuple(sorted(_once(every), key=_order))
    partners = {(a.sentence, b.sentence) for a, b in (*alignment.same, *alignment.pairs)}
    pairs = [*alignment.same, *alignment.pairs, *twins]
    left, right = (sum(map(_says, one.said)) for one in (reports.reference, reports.candidate))
    if left or right:
        agreed = _matched(reports, pairs, found)
        counts = Counter(one.category.label for one in discrepancies)
        listed = ", ".join(f"{label}: {number}" for label, number in counts.items())
        told = (
            f"{left} statements recognised in the reference, {right} in the candidate, "
            f"{len(agreed)} in agreement, {listed or 'no discrepancy'}"
        )
    else:
        agreed = _common_sentences(reference, candidate)
        told = f"no finding is recognised in either report, sentences in common: {len(agreed)}"
    explanation = f"Rules of {lexicon.version}: {told}."
    told_first = (discrepancies, agreed, explanation, tuple(sorted(partners)))
    return _Compared(told_first, reports, alignment, pairs, found)


class _Compared(ReportComparison):
    """A comparison of which few rubrics need every part: those are made when they are asked for."""

    _told_apart: Callable[[], tuple[tuple[ReportFinding, ...], tuple[AttributeDifference, ...]]]
    _statements: Callable[[], tuple[Statement, ...]]

    def __init__(
        self,
        told: tuple[tuple[Discrepancy, ...], tuple[str, ...], str, tuple[tuple[int, int], ...]],
        reports: Reports,
        alignment: Alignment,
        pairs: Sequence[Pair],
        found: Sequence[Found],
    ) -> None:
        names = ("discrepancies", "matched", "explanation", "partners")
        for name, value in zip(names, told, strict=True):
            object.__setattr__(self, name, value)
        self.__dict__["_told_apart"] = cache(partial(told_apart, reports, pairs, found))
        self.__dict__["_statements"] = partial(statements, reports, alignment)

    @cached_property
    def findings(self) -> tuple[ReportFinding, ...]:
        return self._told_apart()[0]

    @cached_property
    def differences(self) -> tuple[AttributeDifference, ...]:
        return self._told_apart()[1]

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        return self._statements()


def _says(mention: Mention) -> bool:
    return bool(mention.finding or mention.normal or mention.changes)


def _once(found: Sequence[Found]) -> list[Discrepancy]:
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


def _matched(reports: Reports, pairs: Sequence[Pair], found: Sequence[Found]) -> tuple[str, ...]:
    """Return the findings of the reference that the candidate has too, once each, in its words.

    What is an error is not matched: a finding with an error in it, unless it is a comparison that
    does not matter, and a normal that a finding of the candidate's contradicts. A denial, or a
    structure that is called normal, is matched by the same or by what rules out the same in other
    words ("No effusion", "Pleural spaces are clear").
    """
    lexicon = reports.lexicon
    agreed = {id(mention) for mention, _ in pairs}
    wrong = {
        id(one.pair[0])
        for one in found
        if one.pair and (one.discrepancy.severity > 1 or one.discrepancy.category not in _CHANGES)
    }
    against = {one.against for one in found if one.against}
    theirs = _Said(reports.candidate, [one.discrepancy for one in found])
    kept: dict[str, list[tuple[Mention, list[Mention]]]] = defaultdict(list)
    words: dict[int, str] = {}
    denied: set[str] = set()
    groups: list[tuple[Mention, list[Mention]]] = []
    for mention in reports.reference.said:
        if mention.positive:
            known = (group for group in kept[mention.finding][:MOST] if is_same(group[0], mention))
            group = next(known, None)
            if group is None:
                group = (mention, [])
                kept[mention.finding].append(group)
                groups.append(group)
            group[1].append(mention)
        elif mention.finding or mention.normal:
            name = mention.finding or lexicon.structures[mention.structure].abnormal
            if name not in denied and theirs.bear_out(mention, against):
                denied.add(name)
                words[id(mention)] = mention.words
    for first, members in groups:
        ids = {id(one) for one in members}
        if ids & agreed and not ids & wrong:
            words[id(first)] = first.words
    stated = [one for one in reports.reference.said if not one.finding and not one.normal]
    if stated:
        common = {one for one in reports.candidate.said if _says(one)}
        words |= {id(one): one.words for one in stated if _says(one) and one in common}
    return tuple(words[id(one)] for one in reports.reference.said if id(one) in words)


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
    return " ".join(text.lower().replace(";", ",").split()).rstrip(".") or "."


class _Said:
    """What the candidate calls normal or denies, and the findings that it has to itself."""

    def __init__(self, report: ReadReport, errors: Iterable[Discrepancy]) -> None:
        self._findings, self._lexicon = report.lexicon.findings, report.lexicon
        false = [one for one in errors if one.category is Category.FALSE_FINDING]
        self._alone = {one.finding for one in false}
        grave = {one.finding for one in false if one.severity > 1}
        self._alone_areas = (
            {one.area for one in self._findings.values() if one.label in grave} if grave else set()
        )
        self._sides: defaultdict[tuple[str, str], set[frozenset[str]]] = defaultdict(set)
        self._ruled_out: set[str] = set()
        for one in report.said:
            if one.positive or not (one.finding or one.normal):
                continue
            self._sides[one.finding, one.structure].add(one.sides)
            if len(one.sides) != 1:
                self._ruled_out |= _widened(rules_out(one, report.lexicon))
        denied = {self._findings[name].area for name, _ in self._sides if name}
        self._touched = self._ruled_out | denied

    def bear_out(self, mention: Mention, against: Collection[Mention]) -> bool:
        """Return whether the report says the same, or rules out the same in other words.

        `against` is what errors say they are contrary to.
        """
        own = rules_out(mention, self._lexicon)
        label = self._findings[mention.finding].label if mention.finding else ""
        if own & self._alone_areas or label in self._alone:
            return False
        said = self._sides.get((mention.finding, mention.structure), ())
        if any(not (one and mention.sides) or one & mention.sides for one in said):
            return True
        if mention in against or len(mention.sides) == 1:
            return False  # other words seldom name a side
        if own:
            wide = _widened(own)
            return bool(wide & self._touched) and not wide & self._alone_areas
        return self._findings[mention.finding].area in self._ruled_out


def _widened(areas: frozenset[str]) -> frozenset[str]:
    return areas | {"pleura"} if "lungs" in areas else areas

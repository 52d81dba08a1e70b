"""What each report says, how it weighs, and which mentions of the two are of the same thing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from judge.backends.lexicon.data import Finding, Lexicon
from judge.backends.lexicon.mentions import Mention, read
from judge.types import Severity

MOST = 64
"""A mention is held against no more than this many others: so that time stays linear."""

WHOLE = ("", "chest")
"""The structures of which a change is one of the whole study."""

SAME_SIZE = 1.25
"""Lengths whose ratio is below this are equal."""

_OLD = {"old"}
_SCALE: tuple[Severity, ...] = (1, 2, 3, 4)

Pair = tuple[Mention, Mention]
"""A reference mention and the candidate's mention of the same thing."""


class ReadReport:
    """What one report says.

    `present` and `denied` hold the mentions by finding, `normal` what is denied or called normal,
    `changes` what is said to have changed in the study as a whole.
    """

    def __init__(self, text: str, lexicon: Lexicon, *, of_candidate: bool = False) -> None:
        self.lexicon = lexicon
        self.said = said = read(text, lexicon, of_candidate=of_candidate)
        self.present: defaultdict[str, list[Mention]] = defaultdict(list)
        self.denied: defaultdict[str, list[Mention]] = defaultdict(list)
        self.changes: frozenset[str] = frozenset()
        for one in said:
            if one.positive:
                for name in dict.fromkeys(one.names):
                    self.present[name].append(one)
            elif one.finding:
                self.denied[one.finding].append(one)
            elif one.structure in WHOLE:
                self.changes |= one.changes
        normal = [one for one in said if not one.positive and (one.finding or one.normal)]
        self.normal = normal[: 2 * MOST]

    def named(self, wanted: Iterable[str]) -> list[Mention]:
        """Return what is present under any of the `wanted` names or readings."""
        return [one for name in wanted for one in self.present.get(name, ())[:MOST]]

    def twin(self, mention: Mention) -> Mention | None:
        """Return what repeats `mention`, under its name or a related one, the same name first."""
        related = self.lexicon.related
        names = [name for name in self.present if any(related(name, n) for n in mention.names)]
        twins = [
            one
            for one in self.named(names)
            if one.agrees_in_site(mention) and one.agrees_in_age(mention)
        ]
        return min(twins, key=lambda n: (n.finding != mention.finding, n.sentence), default=None)

    def contrary(self, mention: Mention) -> list[Mention]:
        """Return what this report says that cannot be where `mention` is so.

        Its denial first, then that of a wider finding, then a part that is called normal.
        """
        against = ((clash(one, mention, self.lexicon), one) for one in self.normal)
        return [one for _, one in sorted(filter(itemgetter(0), against), key=itemgetter(0))]

    def denial(self, mention: Mention) -> Mention | None:
        """Return the statement that denies exactly this finding at this side."""
        denied = self.denied.get(mention.finding, ())[:MOST]
        return next((one for one in denied if clash(one, mention, self.lexicon)), None)

    def denies_all(self, wanted: Sequence[str]) -> bool:
        """Return whether each of the `wanted` findings is denied outright and never present."""
        return all(
            name not in self.present
            and any(not one.levels for one in self.denied.get(name, ())[:MOST])
            for name in wanted
        )


class Reports(NamedTuple):
    """The two reports under comparison."""

    reference: ReadReport
    candidate: ReadReport
    lexicon: Lexicon


class Alignment(NamedTuple):
    """`same` are equal pairs, `pairs` differ in something; the rest has no partner."""

    same: list[Pair]
    pairs: list[Pair]
    only_reference: list[Mention]
    only_candidate: list[Mention]


def align(reports: Reports) -> Alignment:
    """Pair the mentions of two reports, equal ones first, each with one partner at most.

    What a report repeats in the same words counts once. Only findings that are present are
    paired with a differing one.
    """
    left = {mention: mention for mention in reversed(reports.reference.said)}
    right = {mention: mention for mention in reversed(reports.candidate.said)}
    same = [(one, right.pop(one)) for one in [*left.values()][::-1] if one in right]
    for one, _ in same:
        del left[one]
    ours, theirs = [*left.values()][::-1], [*right.values()][::-1]
    pairs = _closest(ours, theirs, reports.lexicon)
    paired = {id(mention) for pair in pairs for mention in pair}
    return Alignment(
        same,
        pairs,
        *([one for one in alone if id(one) not in paired] for alone in (ours, theirs)),
    )


def _closest(left: Sequence[Mention], right: Sequence[Mention], lexicon: Lexicon) -> list[Pair]:
    options: list[tuple[float, int, int]] = []
    for i, one in enumerate(left):
        if one.positive:
            likely = (
                (-likeness, i, j)
                for j, other in enumerate(right)
                if other.positive and (likeness := _likeness(one, other, lexicon)) > 0
            )
            options += islice(likely, MOST)
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for _, i, j in sorted(options):
        if i not in pairs and j not in taken:
            pairs[i] = j
            taken.add(j)
    return [(left[i], right[j]) for i, j in sorted(pairs.items())]


def _likeness(one: Mention, other: Mention, lexicon: Lexicon) -> float:
    """Return how likely two differing mentions are of one finding; 0 or less: they are not."""
    if one.finding == other.finding:
        score = 8.0
    elif set(one.names) & set(other.names):
        score = 5.0
    elif one.related(other, lexicon):
        score = 3.0
    elif one.agrees_in_site(other) and _shadows(one, lexicon) & _shadows(other, lexicon):
        score = 1.0
    else:
        return 0.0
    if one.sides and other.sides:
        shared = one.sides & other.sides
        score += (2.0 if one.sides == other.sides else -0.5) if shared else -3.0
    if not one.agrees_in_age(other):
        score -= 2.0
    if one.places and other.places:
        score += 1.0 if one.places & other.places else -1.5
    if one.sizes and other.sizes:
        score += 1.5 if ratio(one.sizes, other.sizes) < SAME_SIZE else -1.0
    return score + 0.5 * bool(one.levels & other.levels) + 0.5 * (one.changes == other.changes)


def _shadows(mention: Mention, lexicon: Lexicon) -> set[str]:
    return {lexicon.findings[name].shadow for name in mention.names} - {""}


def ratio(ones: frozenset[float], others: frozenset[float]) -> float:
    """Return the largest length of one over that of the other, at least 1; 1 without both."""
    if not ones or not others:
        return 1.0
    small, large = sorted((max(ones), max(others)))
    return large / small if small > 0 else 1.0


def rules_out(mention: Mention, lexicon: Lexicon) -> frozenset[str]:
    """Return the areas whose findings are not there if what is called normal or denied isn't."""
    if mention.normal:
        return lexicon.structures[mention.structure].rules_out
    return lexicon.findings[mention.finding].rules_out if mention.finding else frozenset()


def clash(normal: Mention, mention: Mention, lexicon: Lexicon) -> int:
    """Return whether `mention`, a finding, cannot be so where `normal` is; 0 where it can.

    1 for its denial, 2 for that of a wider finding, 3 for a part that is called normal. "No acute
    disease" denies nothing that is old or not actionable.
    """
    if normal.sides and mention.sides and not normal.sides & mention.sides:
        return 0
    if not normal.agrees_in_age(mention):
        return 0
    if normal.levels and not normal.levels & mention.levels:
        return 0
    if normal.finding == mention.finding:
        return 1
    finding = lexicon.findings[mention.finding]
    if normal.finding in finding.kind_of:
        return 2
    if finding.area not in rules_out(normal, lexicon):
        return 0
    is_old = bool(normal.finding) and (mention.acuity == _OLD or weight(mention, lexicon) == 1)
    return 0 if is_old else 3


def weight(mention: Mention, lexicon: Lexicon) -> Severity:
    """Return the severity of leaving this finding out, or of making it up.

    The lexicon's own, by how large the finding is called and where it lies. One less where
    it is borderline or only possible. Of several readings the gravest counts, one that is
    only possible with one less.
    """
    severity = _plain(mention.finding, mention, lexicon)
    is_old = mention.acuity == _OLD and lexicon.findings[mention.finding].urgent_if_acute
    if mention.doubted or is_old or max(mention.levels, default=1) == 0:
        severity = _eased(severity)
    for name in mention.also:
        reading = _plain(name, mention, lexicon)
        severity = max(severity, _eased(reading) if name in mention.possible else reading)
    return severity


def _plain(name: str, mention: Mention, lexicon: Lexicon) -> Severity:
    finding = lexicon.findings[name]
    severity = finding.severity
    if finding.graded and mention.levels:
        # "Small to moderate" is taken for small.
        graded = {lexicon.levels[name]: severity for name, severity in finding.graded.items()}
        severity = min(graded.get(level, finding.severity) for level in mention.levels)
    if not is_safe(mention, finding):
        severity = max(severity, 3)  # it has to be moved
    # Words that leave a good place open are not taken for a bad one.
    placed = [finding.placed.get(tag, severity) for tag in mention.places]
    return max(severity, min(placed, default=severity))


def is_safe(mention: Mention, finding: Finding) -> bool:
    """Return whether a tube ends where it should above the carina, or nothing is said of it."""
    if mention.acts:
        return False
    if finding.safe is None or not mention.sizes:
        return True
    return finding.safe[0] <= max(mention.sizes) <= finding.safe[1]


def _eased(severity: Severity) -> Severity:
    return _SCALE[max(severity - 2, 0)]

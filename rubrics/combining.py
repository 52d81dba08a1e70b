"""A rubric as several judges used it on the same studies, or one judge against several references.

Each number of a study is combined by itself, as the rubric declares it, and all that is said of a
set of studies is made of what comes out:

    majority  the middle one; of an even number the worse of the two in the middle. So a count is 0
              where more than half of the judges say 0, and a tie counts as an error.
    mean      the mean. A rate becomes the mean of the parts' own rates.
    best      all numbers of the one part with the best score, which is the first that the rubric
              declares; ties go by the rubric's order of the worst studies, then to the first part.

Under `majority` what a ratio of sums divides comes from one part: of those with something to divide
by, the one whose own ratio in the study is the middle one.

A part that lacks a number is not in it. Beside them stands how far the parts disagree, where there
are two or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from judge.rubrics.contract import Rubric
from judge.rubrics.items import Facet, Label
from judge.rubrics.numbers import Measure, Order, Scale, Statistic
from judge.types import Annotation, Item, Measures

Rule = Literal["majority", "mean", "best"]
Of = Literal["judge", "reference"]
_FACETS = {"judge": "said_by", "reference": "against"}


@dataclass(frozen=True, slots=True)
class Combination:
    """What is combined, `of` what the parts are, by which rule, and how the parts are called."""

    of: Of
    rule: Rule
    names: tuple[str, ...]

    def rubric(self, rubric: Rubric) -> Rubric:
        """Return `rubric` with the numbers that it has of several parts, and a facet for each part.

        Raises ValueError where it declares something of the same name.
        """
        n, rates = len(self.names), _rates(rubric)
        whole = self.rule != "mean"
        scale = (0, n) if whole else (0, 1)
        share = f"{self.of}s" if whole else f"share of the {self.of}s"
        none, alone = f"no {self.of} has it", f"fewer than two {self.of}s have it"
        added = [Measure(f"{self.of}s_n", f"{self.of}s", (0, n), is_whole=True)]
        added += [
            Measure(
                self._name(one),
                f"{share} that say {one.label}",
                scale,
                higher_is_better=one.higher_is_better,
                is_whole=whole,
                undefined=none,
            )
            for one in rates
        ]
        if rates:
            label = f"{self.of}s in the minority"
            added.append(
                Measure(
                    self._minority, label, (0, n / 2), role="score", is_whole=True, undefined=alone
                )
            )
        if score := _score(rubric):
            label = f"spread of {score.label}"
            widest = _widest(score)
            added.append(Measure(self._spread, label, widest, role="score", undefined=alone))
        added += [
            Measure(self._against(one), f"not by majority: {one.label}", (0, 1), undefined=none)
            for one in rates
            if self._needs_own(one)
        ]
        added += [
            Measure(
                *(name, f"{label}: {one.label}"),
                higher_is_better=one.higher_is_better == (name == self._over(one)),
                is_whole=_is_whole(rubric, names),
                undefined=f"no {self.of} has it",
            )
            for one in self._ratios(rubric)
            for name, label, names in (
                (self._over(one), "numerator", one.measures),
                (self._per(one), "denominator", one.per),
            )
        ]
        picks = self.rule == "best"
        facet = Facet(
            _FACETS[self.of],
            self.of,
            f"{self.of}s",
            tuple(Label(self._label(at), name) for at, name in enumerate(self.names)),
        )
        return replace(
            rubric,
            measures=(
                *(replace(m, is_whole=m.is_whole and whole) for m in rubric.measures),
                *added,
            ),
            statistics=(*map(self._statistic, rubric.statistics), *self._disagreement(rubric)),
            kinds=rubric.kinds
            if picks
            else tuple(replace(kind, facets=(*kind.facets, facet.name)) for kind in rubric.kinds),
            facets=rubric.facets if picks else (*rubric.facets, facet),
            tally=rubric.tally if whole else None,
            editor=rubric.editor if picks else None,  # two judges change one line in two ways
        )

    def _statistic(self, one: Statistic) -> Statistic:
        if one.kind == "rate" and self.rule == "mean":
            words = f"mean of the {self.of}s"
            return replace(
                one,
                kind="mean",
                measures=(self._name(one),),
                scale=(0, 1),
                label=f"{one.label} ({words})",
                definition=f"{one.definition or one.label} ({words})",
                study_label=f"share of the {self.of}s that say {one.label}",
                rexrank=None,
            )
        if self._is_of_one_part(one):
            return replace(one, measures=(self._over(one),), per=(self._per(one),))
        return replace(one, measures=(self._against(one),)) if self._needs_own(one) else one

    def _disagreement(self, rubric: Rubric) -> list[Statistic]:
        found = []
        if rates := _rates(rubric):
            found.append(
                Statistic(
                    f"{self.of}s_agree",
                    f"all {self.of}s agree",
                    "rate",
                    (self._minority,),
                    higher_is_better=True,
                    definition=f"agreement of all {self.of}s "
                    f"({', '.join(one.label for one in rates)})",
                    shown=frozenset({"head", "groups"}),
                )
            )
        if score := _score(rubric):
            found.append(
                Statistic(
                    self._spread,
                    f"spread of {score.label} between the {self.of}s",
                    "mean",
                    (self._spread,),
                    higher_is_better=False,
                    scale=_widest(score),
                    shown=frozenset({"head"}),
                )
            )
        return found

    def measures(self, rubric: Rubric, found: Sequence[Measures]) -> dict[str, float | None]:
        """Return the numbers of a study by those of its parts, of which there is at least one.

        `rubric` is the one that the parts were judged by.
        """
        said = {one.name: says(one, found) for one in _rates(rubric)}
        picked = found[self.picked(rubric, found)] if self.rule == "best" else {}
        numbers = {
            one.name: picked[one.name]
            if picked
            else self._number(one, [m[one.name] for m in found])
            for one in rubric.measures
        }
        numbers[f"{self.of}s_n"] = len(found)
        for one in _rates(rubric):
            known = said[one.name]
            yes = sum(known) if known else None
            is_mean = self.rule == "mean" and yes is not None
            numbers[self._name(one)] = yes / len(known) if is_mean and yes is not None else yes
            if self._needs_own(one):
                numbers[self._against(one)] = _outvoted(one, known)
        if said:
            few = [min(sum(yes), len(yes) - sum(yes)) for yes in said.values() if len(yes) > 1]
            numbers[self._minority] = max(few, default=None)
        for one in self._ratios(rubric):
            numbers[self._over(one)], numbers[self._per(one)] = self._quotient(one, found)
        if score := _score(rubric):
            values = [value for m in found if (value := m[score.name]) is not None]
            numbers[self._spread] = max(values) - min(values) if len(values) > 1 else None
        return numbers

    def _number(self, measure: Measure, values: Sequence[float | None]) -> float | None:
        known = sorted(value for value in values if value is not None)
        if not known:
            return None
        if self.rule == "mean":
            return fmean(known)
        return known[_middle(len(known), up=measure.higher_is_better)]

    def _quotient(
        self, ratio: Statistic, found: Sequence[Measures]
    ) -> tuple[float, float] | tuple[None, None]:
        pairs = [(_sum(ratio.measures, one), _sum(ratio.per, one)) for one in found]
        known = sorted((a / b, b, a) for a, b in pairs if a is not None and b)
        if not known:
            return None, None
        _, per, over = known[_middle(len(known), up=ratio.higher_is_better)]
        return over, per

    def picked(self, rubric: Rubric, found: Sequence[Measures]) -> int:
        """Return which part is the best one."""
        score = _score(rubric)
        first = [Order(score.name, largest_first=not score.higher_is_better)] if score else []
        orders = (*first, *rubric.worst)

        def worst(measures: Measures) -> list[tuple[bool, float]]:
            return [
                (value is None, (value or 0) * (1 if one.largest_first else -1))
                for one in orders
                for value in [measures[one.measure]]
            ]

        return min(range(len(found)), key=lambda at: worst(found[at]))

    def annotation(self, rubric: Rubric, parts: Sequence[tuple[int, Annotation]]) -> Annotation:
        """Return what all parts say, each item with the part that says it, by the numbers of these.

        Items that are listed by their text alone have the part's name in it, unless other items
        link to them: those quote what a report says.
        """
        items: list[Item] = []
        for at, annotation in parts:
            before, facet = len(items), _FACETS[self.of]
            linked = {link for item in annotation.items for link in item.links}
            items += [
                replace(
                    item,
                    text=item.text
                    if rubric.kind(item.kind).graded_by or own in linked
                    else f"{self.names[at]}: {item.text}",
                    labels={**item.labels, facet: (self._label(at),)},
                    links=tuple(link + before for link in item.links),
                )
                for own, item in enumerate(annotation.items)
            ]
        said = [(self.names[at], one) for at, one in parts]
        return Annotation(
            tuple(items),
            "\n\n".join(f"[{name}] {one.explanation}" for name, one in said if one.explanation),
            warnings=tuple(f"{name}: {text}" for name, one in said for text in one.warnings),
        )

    def _label(self, at: int) -> str:
        return f"{self.of}{at + 1}"

    def _name(self, rate: Statistic) -> str:
        return f"{self.of}s_{rate.name}"

    def _against(self, rate: Statistic) -> str:
        return f"{self.of}s_not_{rate.name}"

    def _over(self, ratio: Statistic) -> str:
        return f"{self.of}s_{ratio.name}_over"

    def _per(self, ratio: Statistic) -> str:
        return f"{self.of}s_{ratio.name}_per"

    def _ratios(self, rubric: Rubric) -> list[Statistic]:
        return [one for one in rubric.statistics if self._is_of_one_part(one)]

    def _is_of_one_part(self, one: Statistic) -> bool:
        return one.kind == "ratio" and self.rule == "majority"

    def _needs_own(self, rate: Statistic) -> bool:
        return rate.kind == "rate" and self.rule == "majority" and len(rate.measures) > 1

    @property
    def _minority(self) -> str:
        return f"{self.of}s_minority"

    @property
    def _spread(self) -> str:
        return f"{self.of}s_spread"


def _middle(n: int, *, up: bool) -> int:
    return (n - 1) // 2 if up else n // 2


def says(rate: Statistic, found: Sequence[Measures]) -> list[bool]:
    """Return of each part whether all of a rate's measures are 0; one that lacks one is left out.

    This is what the rate of that part counts.
    """
    values = [[measures[name] for name in rate.measures] for measures in found]
    return [not any(of_part) for of_part in values if None not in of_part]


def ratings(rubric: Rubric) -> dict[str, tuple[str, bool]]:
    """Return what parts can agree about, by its name: its label, and whether it is yes or no."""
    found = {one.name: (one.label, True) for one in _rates(rubric)}
    score = _score(rubric)
    return found | ({f"score {score.name}": (score.label, False)} if score else {})


def rated(rubric: Rubric, measures: Measures | None) -> list[float | None]:
    """Return what one part says of each of the `ratings`; None where it says nothing."""
    if measures is None:
        return [None] * len(ratings(rubric))
    said = [says(one, [measures]) for one in _rates(rubric)]
    score = _score(rubric)
    return [
        *(float(yes[0]) if yes else None for yes in said),
        *([measures[score.name]] if score else []),
    ]


def _outvoted(rate: Statistic, said: Sequence[bool]) -> float | None:
    if not said:
        return None
    yes = 2 * sum(said)
    return float(not (yes > len(said) if rate.higher_is_better else yes >= len(said)))


def _rates(rubric: Rubric) -> list[Statistic]:
    return [one for one in rubric.statistics if one.kind == "rate"]


def _sum(names: Sequence[str], measures: Measures) -> float | None:
    known = [value for name in names if (value := measures[name]) is not None]
    return sum(known) if len(known) == len(names) else None


def _is_whole(rubric: Rubric, names: Sequence[str]) -> bool:
    return all(one.is_whole for one in rubric.measures if one.name in names)


def _widest(score: Measure) -> Scale:
    low, high = score.scale
    return (0, None if low is None or high is None else high - low)


def _score(rubric: Rubric) -> Measure | None:
    return next(iter(rubric.with_role("score")), None)

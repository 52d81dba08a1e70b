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
are two or more. The numbers are computed in `judge.running.aggregate`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from judge.rubrics.contract import Facet, Label, Measure, Rubric, Scale, Statistic
from judge.types import Annotation, Item

Rule = Literal["majority", "mean", "best"]
Of = Literal["judge", "reference"]
_FACETS = {"judge": "said_by", "reference": "against"}


@dataclass(frozen=True, slots=True)
class Aggregation:
    """What is combined, `of` what the parts are, by which rule, and how the parts are called."""

    of: Of
    rule: Rule
    names: tuple[str, ...]

    def column(self, what: str, statistic: Statistic | None = None) -> str:
        """Return the name of an added number, such as `judges_n` or `judges_clean`."""
        middle = f"_{statistic.name}" if statistic else ""
        return f"{self.of}s{middle}{f'_{what}' if what else ''}"

    def against(self, rate: Statistic) -> str:
        """Return the measure that is 0 in a study of which the majority says the rate."""
        return f"{self.of}s_not_{rate.name}"

    def ratios(self, rubric: Rubric) -> list[Statistic]:
        """Return the ratios whose two sums come from one part."""
        by_majority = self.rule == "majority"
        return [one for one in rubric.statistics if one.kind == "ratio" and by_majority]

    def outvoted(self, rubric: Rubric) -> list[Statistic]:
        """Return the rates of several measures, whose majority is not that of each measure."""
        by_majority = self.rule == "majority"
        return [rate for rate in rates(rubric) if by_majority and len(rate.measures) > 1]

    def rubric(self, rubric: Rubric) -> Rubric:
        """Return `rubric` with the numbers that it has of several parts, and a facet for each part.

        Raises ValueError where it declares something of the same name.
        """
        is_whole = self.rule != "mean"
        facet = Facet(
            _FACETS[self.of],
            self.of,
            f"{self.of}s",
            tuple(Label(self._label(part), name) for part, name in enumerate(self.names)),
        )
        changed = replace(
            rubric,
            measures=(
                *(replace(m, is_whole=m.is_whole and is_whole) for m in rubric.measures),
                *self._measures(rubric),
            ),
            statistics=(
                *(self._statistic(one, rubric) for one in rubric.statistics),
                *self._disagreement(rubric),
            ),
            tally=rubric.tally if is_whole else None,
        )
        if self.rule == "best":
            return changed
        kinds = tuple(replace(kind, facets=(*kind.facets, facet.name)) for kind in rubric.kinds)
        # Two judges change one line in two ways: there is no corrected report.
        return replace(changed, kinds=kinds, facets=(*rubric.facets, facet), editor=None)

    def _measures(self, rubric: Rubric) -> Iterator[Measure]:
        n, is_whole = len(self.names), self.rule != "mean"
        none, alone = f"no {self.of} has it", f"fewer than two {self.of}s have it"
        yield Measure(self.column("n"), f"{self.of}s", (0, n), is_whole=True)
        for rate in rates(rubric):
            yield Measure(
                self.column("", rate),
                f"{self.of}s that say {rate.label}"
                if is_whole
                else f"share of the {self.of}s that say {rate.label}",
                (0, n if is_whole else 1),
                higher_is_better=rate.higher_is_better,
                is_whole=is_whole,
                undefined=none,
            )
        if rates(rubric):
            label, half = f"{self.of}s in the minority", (0, n / 2)
            name = self.column("minority")
            yield Measure(name, label, half, role="score", is_whole=True, undefined=alone)
        if score := score_of(rubric):
            label, name = f"spread of {score.label}", self.column("spread")
            yield Measure(name, label, _widest(score), role="score", undefined=alone)
        for rate in self.outvoted(rubric):
            label = f"not by majority: {rate.label}"
            yield Measure(self.against(rate), label, (0, 1), undefined=none)
        whole = {measure.name for measure in rubric.measures if measure.is_whole}
        for ratio in self.ratios(rubric):
            for what, label, names in (
                ("over", "numerator", ratio.measures),
                ("per", "denominator", ratio.per),
            ):
                yield Measure(
                    self.column(what, ratio),
                    f"{label}: {ratio.label}",
                    higher_is_better=ratio.higher_is_better == (what == "over"),
                    is_whole=whole.issuperset(names),
                    undefined=none,
                )

    def _statistic(self, one: Statistic, rubric: Rubric) -> Statistic:
        if one.kind == "rate" and self.rule == "mean":
            words = f"mean of the {self.of}s"
            return replace(
                one,
                kind="mean",
                measures=(self.column("", one),),
                scale=(0, 1),
                label=f"{one.label} ({words})",
                definition=f"{one.definition or one.label} ({words})",
                study_label=f"share of the {self.of}s that say {one.label}",
                rexrank=None,
            )
        if one in self.ratios(rubric):
            both = (self.column("over", one),), (self.column("per", one),)
            return replace(one, measures=both[0], per=both[1])
        return replace(one, measures=(self.against(one),)) if one in self.outvoted(rubric) else one

    def _disagreement(self, rubric: Rubric) -> Iterator[Statistic]:
        if labels := ", ".join(rate.label for rate in rates(rubric)):
            yield Statistic(
                self.column("agree"),
                f"all {self.of}s agree",
                "rate",
                (self.column("minority"),),
                higher_is_better=True,
                definition=f"agreement of all {self.of}s ({labels})",
                shown=frozenset({"head", "groups"}),
            )
        if score := score_of(rubric):
            yield Statistic(
                self.column("spread"),
                f"spread of {score.label} between the {self.of}s",
                "mean",
                (self.column("spread"),),
                higher_is_better=False,
                scale=_widest(score),
                shown=frozenset({"head"}),
            )

    def annotation(self, rubric: Rubric, parts: Sequence[tuple[int, Annotation]]) -> Annotation:
        """Return what all parts say, each item with the part that says it, by the numbers of these.

        Items that are listed by their text alone have the part's name in it, unless other items
        link to them: those quote what a report says.
        """
        items: list[Item] = []
        for part, annotation in parts:
            before = len(items)
            linked = {link for item in annotation.items for link in item.links}
            for place, item in enumerate(annotation.items):
                is_named = not rubric.kind(item.kind).graded_by and place not in linked
                items.append(
                    replace(
                        item,
                        text=f"{self.names[part]}: {item.text}" if is_named else item.text,
                        labels={**item.labels, _FACETS[self.of]: (self._label(part),)},
                        links=tuple(link + before for link in item.links),
                    )
                )
        named = [(self.names[part], annotation) for part, annotation in parts]
        explanations = [f"[{name}] {one.explanation}" for name, one in named if one.explanation]
        warnings = (f"{name}: {text}" for name, one in named for text in one.warnings)
        return Annotation(tuple(items), "\n\n".join(explanations), warnings=tuple(warnings))

    def _label(self, part: int) -> str:
        return f"{self.of}{part + 1}"


def rates(rubric: Rubric) -> list[Statistic]:
    """Return the rates, of which each part of a study says yes or no."""
    return [one for one in rubric.statistics if one.kind == "rate"]


def score_of(rubric: Rubric) -> Measure | None:
    """Return the first score that a rubric declares."""
    return next(iter(rubric.with_role("score")), None)


def _widest(score: Measure) -> Scale:
    low, high = score.scale
    return (0, None if low is None or high is None else high - low)

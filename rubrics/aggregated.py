"""A rubric as several judges used it on the same studies, or one judge against several references.

Each number of a study is combined by itself:

    majority  the middle one; of an even number the worse of the two in the middle. So a count is 0
              where more than half of the judges say 0, and a tie counts as an error.
    mean      the mean. A rate becomes the mean of the parts' own rates.
    best      all numbers of the one part with the best score, which is the first that the rubric
              declares; ties go by the rubric's order of the worst studies, then to the first part.

A part that lacks a number is not in it. Beside them stand how many parts there are, how many say
each rate, and the spread of the score. `judge.running.aggregate` computes the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
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

    def column(self, what: str) -> str:
        """Return the name of an added number, such as `judges_n`."""
        return f"{self.of}s_{what}"

    def rubric(self, rubric: Rubric) -> Rubric:
        """Return `rubric` with the numbers that it has of several parts, and a facet for each part.
        """
        is_whole = self.rule != "mean"
        own = (replace(one, is_whole=one.is_whole and is_whole) for one in rubric.measures)
        statistics = [self._statistic(one) for one in rubric.statistics]
        changed = replace(
            rubric,
            measures=(*own, *self._measures(rubric)),
            statistics=(*statistics, *self._spread(rubric)),
            tally=rubric.tally if is_whole else None,
        )
        if self.rule == "best":
            return changed
        facet = Facet(
            _FACETS[self.of],
            self.of,
            f"{self.of}s",
            tuple(Label(self._label(part), name) for part, name in enumerate(self.names)),
        )
        kinds = tuple(replace(kind, facets=(*kind.facets, facet.name)) for kind in rubric.kinds)
        # Two judges change one line in two ways: there is no corrected report.
        return replace(changed, kinds=kinds, facets=(*rubric.facets, facet), editor=None)

    def _measures(self, rubric: Rubric) -> list[Measure]:
        n, is_whole = len(self.names), self.rule != "mean"
        measures = [Measure(self.column("n"), f"{self.of}s", (0, n), is_whole=True)]
        for rate in rates(rubric):
            share = "" if is_whole else "share of the "
            measures.append(
                Measure(
                    self.column(rate.name),
                    f"{share}{self.of}s that say {rate.label}",
                    (0, n if is_whole else 1),
                    higher_is_better=rate.higher_is_better,
                    is_whole=is_whole,
                    undefined=f"no {self.of} has it",
                )
            )
        if score := score_of(rubric):
            label, undefined = f"spread of {score.label}", f"fewer than two {self.of}s have it"
            measures.append(
                Measure(
                    *(self.column("spread"), label, _widest(score)),
                    role="score",
                    undefined=undefined,
                )
            )
        return measures

    def _statistic(self, one: Statistic) -> Statistic:
        if one.kind != "rate" or self.rule != "mean":
            return one
        words = f"mean of the {self.of}s"
        return replace(
            one,
            kind="mean",
            measures=(self.column(one.name),),
            scale=(0, 1),
            label=f"{one.label} ({words})",
            definition=f"{one.definition or one.label} ({words})",
            study_label=f"share of the {self.of}s that say {one.label}",
            rexrank=None,
        )

    def _spread(self, rubric: Rubric) -> list[Statistic]:
        score = score_of(rubric)
        if score is None:
            return []
        return [
            Statistic(
                self.column("spread"),
                f"spread of {score.label} between the {self.of}s",
                "mean",
                (self.column("spread"),),
                higher_is_better=False,
                scale=_widest(score),
                shown=frozenset({"head"}),
            )
        ]

    def annotation(self, rubric: Rubric, parts: Sequence[tuple[int, Annotation]]) -> Annotation:
        """Return what all parts say, each item with the part that says it, by the numbers of these.

        Items that are listed by their text alone have the part's name in it, unless others quote
        them.
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

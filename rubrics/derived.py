"""Rubrics derived from a declared one.

On a prompt's scale, for a prompt and model, for a reader, for several judges or references.

Readers are asked for a part of a rubric: the errors without the matched findings, severities
without categories. Measures that need the rest are undefined. Categories that a
reader adds are counted in the totals.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from judge.rubrics.categories import count_items, count_measures
from judge.rubrics.contract import PART_FACETS, Facet, Label, Measure, Rubric
from judge.stats.statistic import Mean, Rate, Statistic
from judge.types import Annotation, Item, JudgeError, Measures, Study

EDIT = "edit"
REFERENCE = "reference"
_NAME = re.compile(r"[a-z][a-z0-9_]{1,59}")


def category_name(text: str) -> str | None:
    """Return `poor_wording` of `Poor wording`; None for a code, such as a letter or a number."""
    name = "_".join(re.findall(r"[^\W_]+", text.casefold()))
    return name if _NAME.fullmatch(name) else None


def restrict(
    rubric: Rubric, missing: Mapping[str, str], extra_categories: Sequence[str] = ()
) -> Rubric:
    """Return `rubric` as used by a reader who was not asked for the `missing` parts.

    `missing` gives a reason in a few words for a kind of items, a facet, one of its labels, `EDIT`
    or `REFERENCE`; measures that count or need one of them are undefined. `extra_categories` are
    the reader's own. Raises ValueError for what the rubric does not have.
    """
    known = {
        *(kind.name for kind in rubric.kinds),
        *(facet.name for facet in rubric.facets),
    }
    known |= {label.name for facet in rubric.facets for label in facet.labels}
    unknown = missing.keys() - known - {EDIT, REFERENCE}
    if unknown:
        raise ValueError(f"{rubric.name} has no {min(unknown)!r} to lack")
    tally = rubric.tally
    facets, added = rubric.facets, tuple[Measure, ...]()
    if extra_categories:
        if tally is None or any(
            _NAME.fullmatch(name) is None for name in extra_categories
        ):
            raise ValueError(
                f"{rubric.name} takes no categories such as {extra_categories[0]!r}"
            )
        labels = tuple(Label(name, name.replace("_", " ")) for name in extra_categories)
        facets = tuple(
            replace(facet, labels=(*facet.labels, *labels))
            if facet.name == tally.rows
            else facet
            for facet in facets
        )
        grades, codes = rubric.facet(tally.columns), rubric.facet(tally.rows)
        counts = count_measures(
            rubric.kind(tally.kind), grades, replace(codes, labels=labels)
        )
        added = counts[len(grades.labels) :]
    declared = (*rubric.measures, *added)
    why = {
        one.name: reason for one in declared if (reason := _why_undefined(one, missing))
    }
    measures = tuple(
        replace(one, undefined=why.get(one.name, one.undefined)) for one in declared
    )

    def measure(annotation: Annotation, study: Study) -> Measures:
        measures = {
            **rubric.measure(annotation, study),
            **count_items(added, annotation),
        }
        return measures | dict.fromkeys(why)

    return replace(
        rubric,
        facets=facets,
        kinds=tuple(replace(kind, is_listed=True) for kind in rubric.kinds),
        measures=measures,
        measure=measure,
        tally=tally
        if tally and not {tally.rows, tally.columns, tally.kind} & {*missing}
        else None,
        editor=None if EDIT in missing else rubric.editor,
    )


def _why_undefined(measure: Measure, missing: Mapping[str, str]) -> str | None:
    counts = measure.counts
    labels = counts.labels if counts else {}
    made_of = (
        *measure.needs,
        *([counts.kind] if counts else []),
        *labels,
        *labels.values(),
    )
    return next((missing[part] for part in made_of if part in missing), None)


def on_scale(rubric: Rubric, scale: tuple[float, float] | None) -> Rubric:
    """Return the rubric on a prompt's `scale`; raises `JudgeError` where it has no use for one."""
    if scale is None:
        return rubric
    if rubric.on_scale is None:
        raise JudgeError(
            f"a prompt of the rubric {rubric.name} declares no scale: it has none"
        )
    parse, form = rubric.on_scale(scale)
    return replace(rubric, parse=parse, reply_model=form)


def for_prompt(rubric: Rubric, prompt: str, model: str) -> Rubric:
    """Return the rubric as it reads answers of the model to the prompt, both by their names."""
    parse = rubric.parse_for(prompt, model) if rubric.parse_for else None
    return replace(rubric, parse=parse) if parse else rubric


Rule = Literal["majority", "mean", "best"]


@dataclass(frozen=True, slots=True)
class Aggregation:
    """What is combined, `of` what the parts are, by which rule, and how the parts are called."""

    of: Literal["judge", "reference"]
    rule: Rule
    names: tuple[str, ...]

    def column(self, suffix: str) -> str:
        """Return the name of an added number, such as `judges_n`."""
        return f"{self.of}s_{suffix}"

    def rubric(self, rubric: Rubric) -> Rubric:
        """Return `rubric` with the numbers that it has of several parts, and a facet of these."""
        is_whole, n, parts = self.rule != "mean", len(self.names), f"{self.of}s"
        measures = [
            replace(measure, is_whole=measure.is_whole and is_whole)
            for measure in rubric.measures
        ]
        measures.append(Measure(self.column("n"), parts, (0, n), is_whole=True))
        statistics = []
        for statistic in rubric.statistics:
            if isinstance(statistic, Rate):
                measure, statistic = self._rate(statistic)
                measures.append(measure)
            statistics.append(statistic)
        if score := score_of(rubric):
            low, high = score.scale
            name, label = self.column("spread"), f"spread of {score.label}"
            scale = (0, None if low is None or high is None else high - low)
            undefined = f"fewer than two {parts} have it"
            measures.append(
                Measure(name, label, scale, role="score", undefined=undefined)
            )
            statistics.append(
                Mean(
                    name,
                    f"{label} between the {parts}",
                    measures=(name,),
                    higher_is_better=False,
                    scale=scale,
                    shown=frozenset({"head"}),
                )
            )
        changed = replace(
            rubric, measures=tuple(measures), statistics=tuple(statistics)
        )
        if not is_whole:
            changed = replace(changed, tally=None)
        if self.rule == "best":
            return changed
        labels = (
            Label(self._label(part), name) for part, name in enumerate(self.names)
        )
        facet = Facet(PART_FACETS[self.of], self.of, parts, tuple(labels))
        kinds = tuple(
            replace(kind, facets=(*kind.facets, facet.name)) for kind in rubric.kinds
        )
        # Two judges change one line in two ways: there is no corrected report.
        return replace(
            changed, kinds=kinds, facets=(*rubric.facets, facet), editor=None
        )

    def _rate(self, rate: Rate) -> tuple[Measure, Statistic]:
        """Return of a rate the number of the parts that say yes, and the rate of the whole."""
        name, is_share = self.column(rate.name), self.rule == "mean"
        says = f"{self.of}s that say {rate.label}"
        label = f"share of the {says}" if is_share else says
        measure = Measure(
            name,
            label,
            (0, 1 if is_share else len(self.names)),
            higher_is_better=rate.higher_is_better,
            is_whole=not is_share,
            undefined=f"no {self.of} has it",
        )
        if not is_share:
            return measure, rate
        changed = Mean(
            rate.name,
            f"{rate.label} (mean of the {self.of}s)",
            measures=(name,),
            higher_is_better=rate.higher_is_better,
            scale=(0, 1),
            definition=f"{rate.definition or rate.label} (mean of the {self.of}s)",
            study_label=label,
            shown=rate.shown,
        )
        return measure, changed

    def annotation(self, parts: Sequence[tuple[int, Annotation]]) -> Annotation:
        """Return the items of all parts, each labelled with its part."""
        items: list[Item] = []
        explanations, warnings = [], []
        for part, annotation in parts:
            name, before = self.names[part], len(items)
            for item in annotation.items:
                labels = {**item.labels, PART_FACETS[self.of]: (self._label(part),)}
                links = tuple(link + before for link in item.links)
                items.append(replace(item, labels=labels, links=links))
            if annotation.explanation:
                explanations.append(f"[{name}] {annotation.explanation}")
            warnings += [f"{name}: {text}" for text in annotation.warnings]
        return Annotation(
            tuple(items), "\n\n".join(explanations), warnings=tuple(warnings)
        )

    def _label(self, part: int) -> str:
        return f"{self.of}{part + 1}"


def score_of(rubric: Rubric) -> Measure | None:
    """Return the first score that a rubric declares."""
    return next(iter(rubric.with_role("score")), None)

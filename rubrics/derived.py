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
    unknown = missing.keys() - _parts_of(rubric)
    if unknown:
        raise ValueError(f"{rubric.name} has no {min(unknown)!r} to lack")
    facets = rubric.facets
    added: tuple[Measure, ...] = ()
    if extra_categories:
        facets, added = _with_categories(rubric, extra_categories)
    measures: list[Measure] = []
    undefined: list[str] = []
    for declared in (*rubric.measures, *added):
        reason = _why_undefined(declared, missing)
        if reason:
            undefined.append(declared.name)
            measures.append(replace(declared, undefined=reason))
        else:
            measures.append(declared)

    def measure(annotation: Annotation, study: Study) -> Measures:
        numbers = dict(rubric.measure(annotation, study))
        numbers.update(count_items(added, annotation))
        numbers.update(dict.fromkeys(undefined))
        return numbers

    tally = rubric.tally
    if tally is not None:
        made_of = {tally.rows, tally.columns, tally.kind}
        if made_of & missing.keys():
            tally = None
    editor = rubric.editor
    if EDIT in missing:
        editor = None
    # What a judge only counts, a reader may list.
    kinds = tuple(replace(kind, is_listed=True) for kind in rubric.kinds)
    return replace(
        rubric,
        facets=facets,
        kinds=kinds,
        measures=tuple(measures),
        measure=measure,
        tally=tally,
        editor=editor,
    )


def _parts_of(rubric: Rubric) -> set[str]:
    """Return the names of all that a reader may not be asked for."""
    parts = {EDIT, REFERENCE}
    parts.update(kind.name for kind in rubric.kinds)
    for facet in rubric.facets:
        parts.add(facet.name)
        parts.update(label.name for label in facet.labels)
    return parts


def _with_categories(
    rubric: Rubric, names: Sequence[str]
) -> tuple[tuple[Facet, ...], tuple[Measure, ...]]:
    """Return the facets with a reader's own categories, and the measures that count these."""
    tally = rubric.tally
    if tally is None or not all(map(_NAME.fullmatch, names)):
        raise ValueError(f"{rubric.name} takes no categories such as {names[0]!r}")
    labels = tuple(Label(name, name.replace("_", " ")) for name in names)
    facets = []
    for facet in rubric.facets:
        if facet.name == tally.rows:
            facet = replace(facet, labels=(*facet.labels, *labels))
        facets.append(facet)
    grades = rubric.facet(tally.columns)
    own = replace(rubric.facet(tally.rows), labels=labels)
    counts = count_measures(rubric.kind(tally.kind), grades, own)
    # The first count each grade whatever the category, and the rubric has them.
    return tuple(facets), counts[len(grades.labels) :]


def _why_undefined(measure: Measure, missing: Mapping[str, str]) -> str | None:
    made_of = list(measure.needs)
    counts = measure.counts
    if counts is not None:
        made_of.append(counts.kind)
        made_of.extend(counts.labels)
        made_of.extend(counts.labels.values())
    for part in made_of:
        if part in missing:
            return missing[part]
    return None


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
    if rubric.parse_for is None:
        return rubric
    parse = rubric.parse_for(prompt, model)
    if parse is None:
        return rubric
    return replace(rubric, parse=parse)


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
        n = len(self.names)
        parts = f"{self.of}s"
        measures = list(rubric.measures)
        if self.rule == "mean":
            # The mean of two counts may be a half.
            measures = [replace(measure, is_whole=False) for measure in measures]
        measures.append(Measure(self.column("n"), parts, (0, n), is_whole=True))
        statistics: list[Statistic] = []
        for statistic in rubric.statistics:
            if isinstance(statistic, Rate):
                measure, statistic = self._rate(statistic)
                measures.append(measure)
            statistics.append(statistic)
        score = score_of(rubric)
        if score is not None:
            measure, mean = self._spread(score)
            measures.append(measure)
            statistics.append(mean)
        changed = replace(
            rubric, measures=tuple(measures), statistics=tuple(statistics)
        )
        if self.rule == "mean":
            changed = replace(changed, tally=None)
        if self.rule == "best":
            return changed
        labels = []
        for part, name in enumerate(self.names):
            labels.append(Label(self._label(part), name))
        facet = Facet(PART_FACETS[self.of], self.of, parts, tuple(labels))
        kinds = []
        for kind in rubric.kinds:
            kinds.append(replace(kind, facets=(*kind.facets, facet.name)))
        # Two judges change one line in two ways: there is no corrected report.
        return replace(
            changed,
            kinds=tuple(kinds),
            facets=(*rubric.facets, facet),
            editor=None,
        )

    def _spread(self, score: Measure) -> tuple[Measure, Statistic]:
        """Return how far the parts are apart in their scores, and the mean of that."""
        parts = f"{self.of}s"
        name = self.column("spread")
        label = f"spread of {score.label}"
        low, high = score.scale
        widest = None
        if low is not None and high is not None:
            widest = high - low
        measure = Measure(
            name,
            label,
            scale=(0, widest),
            role="score",
            undefined=f"fewer than two {parts} have it",
        )
        mean = Mean(
            name,
            f"{label} between the {parts}",
            measures=(name,),
            higher_is_better=False,
            scale=(0, widest),
            shown=frozenset({"head"}),
        )
        return measure, mean

    def _rate(self, rate: Rate) -> tuple[Measure, Statistic]:
        """Return of a rate the number of the parts that say yes, and the rate of the whole."""
        name = self.column(rate.name)
        label = f"{self.of}s that say {rate.label}"
        is_share = self.rule == "mean"
        most = len(self.names)
        if is_share:
            label = f"share of the {label}"
            most = 1
        measure = Measure(
            name,
            label,
            scale=(0, most),
            higher_is_better=rate.higher_is_better,
            is_whole=not is_share,
            undefined=f"no {self.of} has it",
        )
        if not is_share:
            return measure, rate
        of_parts = f"(mean of the {self.of}s)"
        definition = rate.definition or rate.label
        changed = Mean(
            rate.name,
            f"{rate.label} {of_parts}",
            measures=(name,),
            higher_is_better=rate.higher_is_better,
            scale=(0, 1),
            definition=f"{definition} {of_parts}",
            study_label=label,
            shown=rate.shown,
        )
        return measure, changed

    def annotation(self, parts: Sequence[tuple[int, Annotation]]) -> Annotation:
        """Return the items of all parts, each labelled with its part."""
        items: list[Item] = []
        explanations: list[str] = []
        warnings: list[str] = []
        facet = PART_FACETS[self.of]
        for part, annotation in parts:
            name = self.names[part]
            n_before = len(items)
            for item in annotation.items:
                labels = {**item.labels, facet: (self._label(part),)}
                # A link is a position among the items of all parts now.
                links = tuple(link + n_before for link in item.links)
                items.append(replace(item, labels=labels, links=links))
            if annotation.explanation:
                explanations.append(f"[{name}] {annotation.explanation}")
            warnings += [f"{name}: {text}" for text in annotation.warnings]
        explanation = "\n\n".join(explanations)
        return Annotation(tuple(items), explanation, warnings=tuple(warnings))

    def _label(self, part: int) -> str:
        return f"{self.of}{part + 1}"


def score_of(rubric: Rubric) -> Measure | None:
    """Return the first score that a rubric declares."""
    return next(iter(rubric.with_role("score")), None)

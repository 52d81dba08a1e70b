"""Rubrics derived from a declared one: on a prompt's scale, for a prompt and model, for a reader.

Readers are asked for a part of a rubric: the errors without the matched findings, severities
without categories. Measures that need the rest are undefined. Categories that a
reader adds are counted in the totals.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from judge.rubrics.categories import ItemCounter, count_measures
from judge.rubrics.contract import Label, Measure, Rubric
from judge.types import Annotation, JudgeError, Measures, Study

EDIT = "edit"
REFERENCE = "reference"
_NAME = re.compile(r"[a-z][a-z0-9_]{1,59}")


def category_name(text: str) -> str | None:
    """Return the name of a category that a rubric has not, `poor_wording` of `Poor wording`.

    None for what is no name: a single letter or a number, which is a code off the list.
    """
    name = "_".join(re.findall(r"[^\W_]+", text.casefold()))
    return name if _NAME.fullmatch(name) else None


def restrict(rubric: Rubric, lacks: Mapping[str, str], further: Sequence[str] = ()) -> Rubric:
    """Return `rubric` as a reader used it who was not asked for what it `lacks`.

    `lacks` gives for a kind of items, a facet, one of its labels, `EDIT` or `REFERENCE` the reason
    in a few words; whatever counts or needs one of them is undefined. `further` are further
    categories of the reader's. Raises ValueError for what the rubric has not.
    """
    known = {*(kind.name for kind in rubric.kinds), *(facet.name for facet in rubric.facets)}
    known |= {label.name for facet in rubric.facets for label in facet.labels}
    if unknown := lacks.keys() - known - {EDIT, REFERENCE}:
        raise ValueError(f"{rubric.name} has no {min(unknown)!r} to lack")
    tally = rubric.tally
    facets, added = rubric.facets, tuple[Measure, ...]()
    if further:
        if tally is None or any(_NAME.fullmatch(name) is None for name in further):
            raise ValueError(f"{rubric.name} takes no categories such as {further[0]!r}")
        labels = tuple(Label(name, name.replace("_", " ")) for name in further)
        facets = tuple(
            replace(facet, labels=(*facet.labels, *labels)) if facet.name == tally.rows else facet
            for facet in facets
        )
        grades, codes = rubric.facet(tally.columns), rubric.facet(tally.rows)
        counts = count_measures(rubric.kind(tally.kind), grades, replace(codes, labels=labels))
        added = counts[len(grades.labels) :]
    # A reader's own category may be called as something that is lacking, such as an edit.
    rows = tally.rows if tally else ""
    measures = tuple(_restricted_measure(measure, lacks) for measure in rubric.measures)
    measures += tuple(_restricted_measure(measure, lacks, beside=rows) for measure in added)
    undefined = [
        now.name
        for now, then in zip(measures, (*rubric.measures, *added), strict=True)
        if now is not then
    ]
    of_items, count = rubric.measure, ItemCounter(added)

    def measure(annotation: Annotation, study: Study) -> Measures:
        measures = {**of_items(annotation, study), **count(annotation)}
        return measures | dict.fromkeys(undefined)

    return replace(
        rubric,
        facets=facets,
        kinds=tuple(replace(kind, is_listed=True) for kind in rubric.kinds),
        measures=measures,
        measure=measure,
        tally=tally if tally and not {tally.rows, tally.columns, tally.kind} & {*lacks} else None,
        editor=None if EDIT in lacks else rubric.editor,
    )


def _restricted_measure(measure: Measure, lacks: Mapping[str, str], beside: str = "") -> Measure:
    made_of = [*measure.needs]
    if measure.counts:
        labels = measure.counts.labels
        asked = [label for facet, label in labels.items() if facet != beside]
        made_of += [measure.counts.kind, *labels, *asked]
    why = next((lacks[part] for part in made_of if part in lacks), None)
    return measure if why is None else replace(measure, undefined=why)


def on_scale(rubric: Rubric, scale: tuple[float, float] | None) -> Rubric:
    """Return the rubric as it reads answers to a prompt that declares `scale`, None for none.

    Raises `JudgeError` for a scale where the rubric has no use for one.
    """
    if scale is None:
        return rubric
    if rubric.on_scale is None:
        raise JudgeError(f"a prompt of the rubric {rubric.name} declares no scale: it has none")
    parse, form = rubric.on_scale(scale)
    return replace(rubric, parse=parse, reply_model=form)


def for_prompt(rubric: Rubric, prompt: str, model: str) -> Rubric:
    """Return the rubric as it reads answers of the model to the prompt, both by their names."""
    parse = rubric.parse_for(prompt, model) if rubric.parse_for else None
    return replace(rubric, parse=parse) if parse else rubric

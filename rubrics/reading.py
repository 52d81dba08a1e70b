"""A rubric as a reader used it: what the reader was not asked for, and categories of their own.

A person who annotates reports is asked for some of what a rubric has: the errors but not the
findings that match, severities but no categories. What needs the rest is then undefined, never
0. A category that the rubric has not stands beside its own and counts in its totals. The rubric
of a judge stays as strict as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from judge.rubrics.categories import Counting, count_measures
from judge.rubrics.contract import Label, Measure, Rubric
from judge.types import Annotation, Measures, Study

EDIT = "edit"
REFERENCE = "reference"
_NAME = re.compile(r"[a-z][a-z0-9_]{1,59}")


def own_name(text: str) -> str | None:
    """Return the name of a category that a rubric has not, `poor_wording` of `Poor wording`.

    None for what is no name: a single letter or a number, which is a code off the list.
    """
    name = "_".join(re.findall(r"[^\W_]+", text.casefold()))
    return name if _NAME.fullmatch(name) else None


def as_read(rubric: Rubric, lacks: Mapping[str, str], further: Sequence[str] = ()) -> Rubric:
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
    measures = tuple(_lacking(measure, lacks) for measure in rubric.measures)
    measures += tuple(_lacking(measure, lacks, beside=rows) for measure in added)
    undefined = [
        now.name
        for now, then in zip(measures, (*rubric.measures, *added), strict=True)
        if now is not then
    ]
    of_items, count = rubric.measure, Counting(added)

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


def _lacking(measure: Measure, lacks: Mapping[str, str], beside: str = "") -> Measure:
    made_of = [*measure.needs]
    if measure.counts:
        labels = measure.counts.labels
        asked = [label for facet, label in labels.items() if facet != beside]
        made_of += [measure.counts.kind, *labels, *asked]
    why = next((lacks[part] for part in made_of if part in lacks), None)
    return measure if why is None else replace(measure, undefined=why)

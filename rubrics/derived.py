"""Rubrics derived from a declared one: on a prompt's scale, for a prompt and model, for a reader.

Readers are asked for a part of a rubric: the errors without the matched findings, severities
without categories. Measures that need the rest are undefined. Categories that a
reader adds are counted in the totals.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from judge.rubrics.categories import count_items, count_measures
from judge.rubrics.contract import Label, Measure, Rubric
from judge.types import Annotation, JudgeError, Measures, Study

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

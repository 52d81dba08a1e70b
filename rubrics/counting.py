"""Measures that count the items of an annotation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from judge.rubrics.items import Facet, Kind
from judge.rubrics.numbers import Counted, Measure
from judge.types import Annotation


def count_measures(kind: Kind, grades: Facet, codes: Facet) -> tuple[Measure, ...]:
    """Return the measures that count a kind's items: by grade, then by grade and code.

    Their names are `n_GRADE` and `GRADE_CODE`, such as `n_significant` and `significant_a`.
    """
    by_grade = [
        Measure(
            f"n_{grade.name}",
            grade.label,
            role="count",
            is_whole=True,
            counts=Counted(kind.name, {grades.name: grade.name}),
        )
        for grade in grades.labels
    ]
    by_both = [
        Measure(
            f"{grade.name}_{one.name}",
            f"{grade.label}: {one.label}",
            is_whole=True,
            counts=Counted(kind.name, {grades.name: grade.name, codes.name: one.name}),
        )
        for grade in grades.labels
        for one in codes.labels
    ]
    return (*by_grade, *by_both)


def counted(annotation: Annotation, measures: Iterable[Measure]) -> dict[str, int]:
    """Return how many items of an annotation each of the measures that count items finds."""
    found: Counter[tuple[str, frozenset[tuple[str, str]]]] = Counter()
    wanted = {
        measure.name: (measure.counts.kind, frozenset(measure.counts.labels.items()))
        for measure in measures
        if measure.counts
    }
    for item in annotation.items:
        carried = {(facet, value) for facet, values in item.labels.items() for value in values}
        for key in set(wanted.values()):
            found[key] += item.kind == key[0] and key[1] <= carried
    return {name: found[key] for name, key in wanted.items()}

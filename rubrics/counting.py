"""Measures that count the items of an annotation."""

from __future__ import annotations

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


class Counting:
    """Counts items by the measures that count some, in the order of these."""

    def __init__(self, measures: Iterable[Measure]) -> None:
        self._none: dict[str, int] = {}
        self._of_kind: dict[str, list[tuple[str, tuple[tuple[str, str], ...]]]] = {}
        for measure in measures:
            if one := measure.counts:
                self._none[measure.name] = 0
                labels = tuple(one.labels.items())
                self._of_kind.setdefault(one.kind, []).append((measure.name, labels))

    def __call__(self, annotation: Annotation) -> dict[str, int]:
        """Return how many items each of the measures finds."""
        found = self._none.copy()
        for item in annotation.items:
            carried = item.labels
            for name, labels in self._of_kind.get(item.kind, ()):
                for facet, value in labels:
                    if value not in carried.get(facet, ()):
                        break
                else:
                    found[name] += 1
        return found


def counted(annotation: Annotation, measures: Iterable[Measure]) -> dict[str, int]:
    """Return how many items of an annotation each of the measures that count items finds."""
    return Counting(measures)(annotation)

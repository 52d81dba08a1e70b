"""Errors that recur: those of one category about one finding, in how many studies.

An error that has two categories, or names two findings, is counted for each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from judge.rubrics.contract import Rubric
from judge.stats.estimate import Estimate, wilson
from judge.stats.metric import Metric
from judge.stats.paired import PairTest, Resampling, compare_pairs
from judge.stats.panel import Panel
from judge.types import Item

_EXAMPLES = 3
_TONES = (None, "good", "mild", "notable", "serious", "critical")
_FLIPS_A_TEST = 200
"""So many flips for each test that Holm's correction leaves the least p-value at 0.005."""


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """A kind of item, the category (None where it has none) and the finding that it is about.

    `finding` is None for errors whose text names no finding that is known.
    """

    kind: str
    category: str | None
    finding: str | None

    def category_text(self, rubric: Rubric) -> str:
        """Return the category as it is printed; the kind's name where there is none."""
        if self.category is None or rubric.codes is None:
            return rubric.kind(self.kind).label
        if self.category not in {label.name for label in rubric.codes.labels}:
            return self.category.replace("_", " ")  # a reader's own, in the other of two runs
        return rubric.codes.text(self.category)


@dataclass(frozen=True, slots=True)
class RecurringError:
    """How often the errors of a group occur.

    `studies` are those with such an error, k of the n that were scored. `n_grave` of the
    `n_errors` are grave. `examples` are up to three of the studies, the gravest errors first.
    """

    group: ErrorGroup
    n_errors: int
    n_grave: int
    studies: Estimate
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ErrorDifference:
    """How often the errors of a group occur in two models' reports on the same studies.

    `sides` are the two models', with examples from the studies in which that model alone has the
    error. `test`, of the first's share less the second's, is None for a group in too few studies;
    its `p_holm` is corrected for all groups that were tested.
    """

    group: ErrorGroup
    sides: tuple[RecurringError, RecurringError]
    n_either: int
    test: PairTest | None

    @property
    def is_significant(self) -> bool:
        """Whether a test supports the difference."""
        return self.test is not None and self.test.is_significant

    @property
    def ratio(self) -> float | None:
        """How many times as often the first model has the error, None where the other has none."""
        k, n = (side.studies.k or 0 for side in self.sides)
        return k / n if n else None


@dataclass(frozen=True)
class RecurringErrors:
    """What recurs in a run: `errors` in at least `min_studies` of its studies, in most first.

    `summary` is the run's own, `findings_by` the lexicon that found the findings.
    """

    rubric: Rubric
    summary: Mapping[str, Any]
    min_studies: int
    findings_by: str
    errors: tuple[RecurringError, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ErrorDifferences:
    """What recurs in two runs on the same studies, the largest difference first.

    `runs` describes them. All numbers are of the `n_scored` studies that were scored for both,
    of `n_studies`. `patient_field` is None where studies are taken as independent.
    """

    rubric: Rubric
    runs: tuple[Mapping[str, Any], ...]
    signature: str
    patient_field: str | None
    n_studies: int
    n_scored: int
    min_studies: int
    findings_by: str
    errors: tuple[ErrorDifference, ...]
    notes: tuple[str, ...]

    @property
    def tested(self) -> tuple[ErrorDifference, ...]:
        """The groups that were tested."""
        return tuple(error for error in self.errors if error.test is not None)


@dataclass(slots=True)
class _Counts:
    """The errors of a group; `gravest` has for each study how grave its gravest one is."""

    n_errors: int = 0
    n_grave: int = 0
    gravest: dict[str, int] = field(default_factory=dict)


class ErrorGroups:
    """A run's errors by group.

    `n_studies` counts the scored studies, `n_listed` the errors, `n_several` those of them that
    are in several groups. `n_stated` are the errors that the rubric's measures count: others
    than are listed where an answer states more than it lists.
    """

    def __init__(self, rubric: Rubric) -> None:
        self.rubric = rubric
        self.n_studies = self.n_listed = self.n_several = 0
        self.n_stated: float = 0
        self.groups: dict[ErrorGroup, _Counts] = {}
        self._measures = _error_counts(rubric)

    def add(
        self,
        study_id: str,
        errors: Iterable[tuple[Item, Sequence[str]]],
        measures: Mapping[str, float | None],
    ) -> None:
        """Take in a scored study: its errors, each with the findings that it names."""
        tally = self.rubric.tally
        self.n_studies += 1
        self.n_stated += sum(measures[name] or 0 for name in self._measures)
        for item, findings in errors:
            grade = self.rubric.grade(item)
            has_rows = tally is not None and tally.kind == item.kind
            categories = item.labels.get(tally.rows, ()) if tally and has_rows else ()
            groups = [
                ErrorGroup(item.kind, category, finding)
                for category in dict.fromkeys(categories or (None,))
                for finding in dict.fromkeys(findings or (None,))
            ]
            self.n_listed += 1
            self.n_several += len(groups) > 1
            for group in groups:
                counts = self.groups.setdefault(group, _Counts())
                counts.n_errors += 1
                counts.n_grave += grade.is_grave
                weight = max(counts.gravest.get(study_id, 0), _TONES.index(grade.tone))
                counts.gravest[study_id] = weight

    @property
    def states_others(self) -> bool:
        """Whether the rubric's measures count another number of errors than are listed."""
        return bool(self._measures) and self.n_stated != self.n_listed

    def studies(self, group: ErrorGroup) -> set[str]:
        """Return the ids of the studies with an error of the group."""
        return set(self.groups[group].gravest) if group in self.groups else set()

    def recurring(self, min_studies: int) -> tuple[RecurringError, ...]:
        """Return the groups in at least so many studies: most studies, then gravest first."""
        errors = [
            self.error(group, counts.gravest)
            for group, counts in self.groups.items()
            if len(counts.gravest) >= min_studies
        ]
        return tuple(
            sorted(
                errors,
                key=lambda error: (
                    -(error.studies.k or 0),
                    -error.n_grave,
                    -error.n_errors,
                    _place(error.group, self.rubric),
                ),
            )
        )

    def error(self, group: ErrorGroup, examples: Collection[str]) -> RecurringError:
        """Return a group's numbers, with examples out of these studies, which have the error."""
        counts = self.groups.get(group, _Counts())
        shown = [study_id for study_id in counts.gravest if study_id in examples]
        shown.sort(key=lambda study_id: -counts.gravest[study_id])
        studies = wilson(len(counts.gravest), self.n_studies)
        return RecurringError(
            group, counts.n_errors, counts.n_grave, studies, tuple(shown[:_EXAMPLES])
        )


def is_error(item: Item, rubric: Rubric) -> bool:
    """Whether an item is an error: one that is graded, and as something that is not good."""
    return rubric.kind(item.kind).graded_by is not None and rubric.grade(item).tone != "good"


def _error_counts(rubric: Rubric) -> list[str]:
    names: list[str] = []
    for kind in rubric.graded:
        for label in rubric.facet(str(kind.graded_by)).labels:
            if label.tone != "good":
                counting = rubric.counting(kind.name, {str(kind.graded_by): label.name})
                if len(counting) != 1:
                    return []
                names.append(counting[0].name)
    return names


def _place(group: ErrorGroup, rubric: Rubric) -> tuple[int, str, bool, str]:
    names = [label.name for label in rubric.codes.labels] if rubric.codes else []
    at = names.index(group.category) if group.category in names else len(names)
    return at, group.kind, group.finding is None, group.finding or ""


def differences(
    panel: Panel, sides: tuple[ErrorGroups, ErrorGroups], min_studies: int, how: Resampling
) -> tuple[ErrorDifference, ...]:
    """Compare how many studies have the errors of each group; the largest difference first.

    `panel` has the two models and the studies that were scored for both. Groups that are in at
    least `min_studies` studies, of either model, are tested, as rates are, and Holm's correction
    is for all of these. The others come last.
    """
    first, second = sides
    groups = sorted({*first.groups, *second.groups}, key=lambda one: _place(one, first.rubric))
    n_either = {group: len(first.studies(group) | second.studies(group)) for group in groups}
    tested = [group for group in groups if n_either[group] >= min_studies]
    tests = dict(zip(tested, _tests(panel, sides, tested, how), strict=True))
    found = []
    for group in groups:
        one, other = first.studies(group), second.studies(group)
        both = (first.error(group, one - other), second.error(group, other - one))
        found.append(ErrorDifference(group, both, n_either[group], tests.get(group)))

    def order(error: ErrorDifference) -> tuple[bool, int, int]:
        k, n = (side.studies.k or 0 for side in error.sides)
        return error.test is None, -abs(k - n), -error.n_either

    return tuple(sorted(found, key=order))


def _tests(
    panel: Panel,
    sides: tuple[ErrorGroups, ErrorGroups],
    groups: Sequence[ErrorGroup],
    how: Resampling,
) -> list[PairTest]:
    if not groups:
        return []
    values = {
        f"error group {number}": np.array(
            [[study_id in side.studies(group) for side in sides] for study_id in panel.study_ids],
            dtype=float,
        )
        for number, group in enumerate(groups)
    }
    metrics = tuple(
        Metric(name, name, "rate", higher_is_better=False, study_label=name) for name in values
    )
    of_groups = replace(panel, metrics=metrics, values=values, per={})
    flips = max(how.flips, _FLIPS_A_TEST * len(groups))
    pairs = compare_pairs(of_groups, {}, replace(how, flips=flips, family="table")).pairs
    return [pairs[metric.name][0] for metric in metrics]

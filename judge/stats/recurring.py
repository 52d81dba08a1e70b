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
from judge.stats.paired import PairTest, Resampling, compare_pairs, holm
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
    `n_errors` are grave. `examples` are the ids of up to three of the studies, those with the
    gravest errors first, then in the order of the run.
    """

    group: ErrorGroup
    n_errors: int
    n_grave: int
    studies: Estimate
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ErrorDifference:
    """How often the errors of a group occur in two models' reports on the same studies.

    `sides` are the two models', in their order, with examples from the studies in which that
    model alone has the error. The difference of `test` is the first's share less the second's;
    its `p_holm` is corrected for all groups that were tested. None for a group that is in too
    few studies to test.
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
        return tuple(one for one in self.errors if one.test is not None)


@dataclass(slots=True)
class _Found:
    """The errors of a group; `gravest` has for each study how grave its gravest one is."""

    n_errors: int = 0
    n_grave: int = 0
    gravest: dict[str, int] = field(default_factory=dict)


class ErrorGroups:
    """Gathers a run's errors by group, study after study, and keeps no more than their numbers.

    `n_studies` counts the scored studies, `n_listed` the errors, `n_several` those of them that
    are in several groups. `n_stated` are the errors that the rubric's measures count: others
    than are listed where an answer states more than it lists.
    """

    def __init__(self, rubric: Rubric) -> None:
        self.rubric = rubric
        self.n_studies = self.n_listed = self.n_several = 0
        self.n_stated: float = 0
        self._found: dict[ErrorGroup, _Found] = {}
        self._counts = _counts(rubric)

    def add(
        self,
        study_id: str,
        errors: Iterable[tuple[Item, Sequence[str]]],
        measures: Mapping[str, float | None],
    ) -> None:
        """Take in a scored study: its errors, each with the findings that it names."""
        self.n_studies += 1
        self.n_stated += sum(measures[name] or 0 for name in self._counts)
        for item, findings in errors:
            self.n_listed += 1
            grade = self.rubric.grade(item)
            groups = self._groups(item, findings)
            self.n_several += len(groups) > 1
            for group in groups:
                found = self._found.setdefault(group, _Found())
                found.n_errors += 1
                found.n_grave += grade.is_grave
                weight = max(found.gravest.get(study_id, 0), _TONES.index(grade.tone))
                found.gravest[study_id] = weight

    def _groups(self, item: Item, findings: Sequence[str]) -> list[ErrorGroup]:
        tally = self.rubric.tally
        values = item.labels.get(tally.rows, ()) if tally and tally.kind == item.kind else ()
        return [
            ErrorGroup(item.kind, category, finding)
            for category in dict.fromkeys(values or (None,))
            for finding in dict.fromkeys(findings or (None,))
        ]

    @property
    def states_others(self) -> bool:
        """Whether the rubric's measures count another number of errors than are listed."""
        return bool(self._counts) and self.n_stated != self.n_listed

    def studies(self, group: ErrorGroup) -> Collection[str]:
        """Return the ids of the studies with an error of the group."""
        return self._found[group].gravest.keys() if group in self._found else ()

    def recurring(self, min_studies: int) -> tuple[RecurringError, ...]:
        """Return the groups that are in at least so many studies, those in the most first.

        Where that is equal, those with the most grave errors, then with the most errors.
        """
        errors = (
            self.error(group, found.gravest)
            for group, found in self._found.items()
            if len(found.gravest) >= min_studies
        )
        return tuple(
            sorted(
                errors,
                key=lambda one: (
                    *(-len(self.studies(one.group)), -one.n_grave, -one.n_errors),
                    *_place(one.group, self.rubric),
                ),
            )
        )

    def error(self, group: ErrorGroup, examples: Collection[str]) -> RecurringError:
        """Return a group's numbers, with examples out of these studies, which have the error."""
        found = self._found.get(group, _Found())
        shown = [study_id for study_id in found.gravest if study_id in examples]
        shown.sort(key=lambda study_id: -found.gravest[study_id])
        studies = wilson(len(found.gravest), self.n_studies)
        return RecurringError(
            group, found.n_errors, found.n_grave, studies, tuple(shown[:_EXAMPLES])
        )

    @property
    def groups(self) -> Collection[ErrorGroup]:
        """The groups that there are."""
        return self._found.keys()


def is_error(item: Item, rubric: Rubric) -> bool:
    """Whether an item is an error: one that is graded, and as something that is not good."""
    return rubric.kind(item.kind).graded_by is not None and rubric.grade(item).tone != "good"


def _counts(rubric: Rubric) -> tuple[str, ...]:
    found: list[str] = []
    for kind in rubric.graded:
        for label in rubric.facet(str(kind.graded_by)).labels:
            if label.tone == "good":
                continue
            counting = rubric.counting(kind.name, {str(kind.graded_by): label.name})
            if len(counting) != 1:
                return ()
            found.append(counting[0].name)
    return tuple(found)


def _place(group: ErrorGroup, rubric: Rubric) -> tuple[int, str, bool, str]:
    names = [label.name for label in rubric.codes.labels] if rubric.codes else []
    at = names.index(group.category) if group.category in names else len(names)
    return at, group.kind, group.finding is None, group.finding or ""


def differences(
    panel: Panel, sides: tuple[ErrorGroups, ErrorGroups], min_studies: int, how: Resampling
) -> tuple[ErrorDifference, ...]:
    """Compare how many studies have the errors of each group; the largest difference first.

    `panel` has the two models and the studies that were scored for both, whose errors `sides`
    hold. Groups that are in at least `min_studies` studies, of either model, are tested, by
    McNemar's mid-p or, where a patient has several studies, by sign flips of patients
    (`judge.stats.paired`); Holm's correction is for all of these. The others come last.
    """
    one, other = sides
    groups = sorted({*one.groups, *other.groups}, key=lambda group: _place(group, one.rubric))
    either = {group: {*one.studies(group), *other.studies(group)} for group in groups}
    tested = [group for group in groups if len(either[group]) >= min_studies]
    tests = dict(zip(tested, _tests(panel, sides, tested, how), strict=True))
    found = [
        ErrorDifference(
            group,
            (
                one.error(group, {*one.studies(group)} - {*other.studies(group)}),
                other.error(group, {*other.studies(group)} - {*one.studies(group)}),
            ),
            len(either[group]),
            tests.get(group),
        )
        for group in groups
    ]
    return tuple(
        sorted(
            found,
            key=lambda each: (
                each.test is None,
                -abs(len(one.studies(each.group)) - len(other.studies(each.group))),
                -each.n_either,
            ),
        )
    )


def _tests(
    panel: Panel,
    sides: tuple[ErrorGroups, ErrorGroups],
    groups: Sequence[ErrorGroup],
    how: Resampling,
) -> list[PairTest]:
    if not groups:
        return []
    row_of = {study_id: row for row, study_id in enumerate(panel.study_ids)}
    metrics, values = [], {}
    for number, group in enumerate(groups):
        name = f"error group {number}"
        metrics.append(Metric(name, name, "rate", False, name, False))  # noqa: FBT003
        values[name] = grid = np.zeros((len(row_of), len(sides)))
        for model, side in enumerate(sides):
            grid[[row_of[study_id] for study_id in side.studies(group)], model] = 1
    of_groups = replace(panel, metrics=tuple(metrics), values=values, per={})
    enough = replace(how, flips=max(how.flips, _FLIPS_A_TEST * len(groups)))
    pairs = compare_pairs(of_groups, {}, enough).pairs
    tests = [pairs[metric.name][0] for metric in metrics]
    corrected = holm([test.p for test in tests])
    return [replace(test, p_holm=p) for test, p in zip(tests, corrected, strict=True)]

"""Recurring errors, from run folders to their numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from judge import rubrics
from judge.backends import lexicon
from judge.comparing.comparison import aligned, comparison_signature
from judge.comparing.names import RunChoice
from judge.rubrics.contract import Rubric
from judge.running.folder import Run
from judge.sentences import lines
from judge.stats.paired import Resampling
from judge.stats.recurring import (
    ErrorDifferences,
    ErrorGroups,
    RecurringErrors,
    differences,
    is_error,
)
from judge.stats.table import OUTCOMES
from judge.types import Annotated, Edit, Item, JudgeError

_MODELS = 2
_USUAL = Resampling()
FEWEST, FEWEST_TESTED = 2, 10
"""In how many studies an error recurs, and in how many, of either of two runs, it is tested.

With fewer than ten no difference would stand Holm's correction for dozens of tests.
"""


def recurring_in(
    choices: Sequence[RunChoice],
    min_studies: int | None = None,
    *,
    common: bool = False,
    allow: Collection[str] = (),
    patient_field: str | None = None,
) -> RecurringErrors | ErrorDifferences:
    """Return what recurs in one run, or in two; raises `JudgeError` for none and for more."""
    if len(choices) == 1:
        found, model = recurring(Run(choices[0].path), min_studies or FEWEST), choices[0].model
        return replace(found, summary={**found.summary, "model": model}) if model else found
    if len(choices) != _MODELS:
        raise JudgeError(f"one run or two, not {len(choices)}; judge compare takes any number")
    return recurring_between(
        choices,
        min_studies or FEWEST_TESTED,
        common=common,
        allow=allow,
        patient_field=patient_field,
    )


def recurring(run: Run, min_studies: int = FEWEST) -> RecurringErrors:
    """Return the errors that recur in a run; raises `JudgeError` as `Run.records` does.

    Studies that were not scored are in no number. Raises `JudgeError` too for a rubric whose
    items are not graded.
    """
    groups = _gathered(run, run.rubric)
    errors = groups.recurring(min_studies)
    notes = tuple(_noted(groups))
    version = str(lexicon.load().version)
    return RecurringErrors(run.rubric, run.summary(), min_studies, version, errors, notes)


def recurring_between(
    choices: Sequence[RunChoice],
    min_studies: int = FEWEST_TESTED,
    how: Resampling = _USUAL,
    *,
    common: bool = False,
    allow: Collection[str] = (),
    patient_field: str | None = None,
) -> ErrorDifferences:
    """Return what recurs in two runs of one rubric, on the studies that were scored for both.

    `common`, `allow` and `patient_field` are as in `compare_runs`, and so is what is refused.
    Raises `JudgeError` too for runs of two rubrics, and where no study was scored for both.
    """
    opened = aligned(choices, allow=allow, patient_field=patient_field, common=common)
    names = {run.rubric: run for run in opened.runs}
    if len(names) > 1:
        what = " and ".join(f"{run.shown} of {name}" for name, run in names.items())
        raise JudgeError(f"{what}: errors are compared between runs of one rubric; name two")
    folders = [Run(run.path) for run in opened.runs]
    _check_asked(folders)
    rows = np.flatnonzero(opened.is_scored.all(axis=1))
    if not len(rows):
        raise JudgeError(
            f"none of {len(opened.is_scored):,} studies was scored in both "
            f"{' and '.join(run.shown for run in opened.runs)}; judge audit RUN says why"
        )
    panel = opened.panel.take(rows)
    rubric, wanted = folders[0].rubric, frozenset(panel.study_ids)
    one, other = (_gathered(folder, rubric, wanted) for folder in folders)
    version = str(lexicon.load().version)
    notes = [
        note
        for side, run in zip((one, other), opened.runs, strict=True)
        for note in _noted(side, f"{run.model}: ")
    ]
    return ErrorDifferences(
        rubric,
        tuple(run.described() for run in opened.runs),
        f"{comparison_signature(opened, how, ())}|errors:{min_studies}+{version}",
        panel.patient_field if panel.is_clustered else None,
        len(opened.is_scored),
        len(rows),
        min_studies,
        version,
        differences(panel, (one, other), min_studies, how),
        (*opened.notes, *notes),
    )


def _check_asked(runs: Sequence[Run]) -> None:
    tally = rubrics.load(runs[0].manifest["rubric"]).tally
    parts = {tally.kind, tally.rows, tally.columns} if tally else set()
    asked = [
        (frozenset(), frozenset())
        if run.reading is None
        else (frozenset(run.reading["lacks"]), frozenset(run.reading["own"]))
        for run in runs
    ]
    if tally:
        facets = (runs[0].rubric.facet(name) for name in (tally.rows, tally.columns))
        parts |= {label.name for facet in facets for label in facet.labels}
    if len({(lacks & parts, own) for lacks, own in asked}) > 1:
        raise JudgeError(
            f"{' and '.join(str(run.path) for run in runs)} do not have the same categories and "
            "levels, since a reader was not asked for them or has others: what one cannot have is "
            "no error that it lacks. judge errors RUN shows each by itself"
        )


def _gathered(run: Run, rubric: Rubric, wanted: Collection[str] | None = None) -> ErrorGroups:
    if not rubric.graded:
        raise JudgeError(f"{rubric.title} grades nothing that it lists: it has no errors to group")
    found = ErrorGroups(rubric)
    for record in run.records():
        if record["outcome"] == OUTCOMES[Annotated] and (
            wanted is None or record["study_id"] in wanted
        ):
            found.add(record["study_id"], _errors(record, rubric), record["measures"])
    if wanted is not None and found.n_studies != len(wanted):
        raise JudgeError(
            f"the annotations of {run.path} hold {found.n_studies:,} of {len(wanted):,} studies "
            "that its table has scored: they do not fit together; judge its studies again"
        )
    return found


def _errors(record: dict[str, Any], rubric: Rubric) -> Iterator[tuple[Item, Sequence[str]]]:
    for given in record["annotation"]["items"]:
        edit = Edit(**given["edit"]) if given["edit"] else None
        item = Item(given["kind"], given["text"], given["labels"], edit=edit)
        if is_error(item, rubric):
            yield item, _findings(item, record["candidate"])


def _findings(item: Item, candidate: str) -> Sequence[str]:
    """Return the findings that an error's text names; else those that its edit changes."""
    rules = lexicon.load()
    found = lexicon.named(item.text, rules)
    if found or item.edit is None:
        return found
    is_new = item.edit.kind == "insert" or item.edit.line is None
    before = "" if is_new else lines(candidate)[item.edit.line or 0]
    return lexicon.changed(before, item.edit.corrected, rules)


def _noted(groups: ErrorGroups, whose: str = "") -> Iterator[str]:
    """Say what is to be known of a run's numbers; `whose` they are goes before it."""
    if groups.n_several:
        yield (
            f"{whose}{groups.n_several:,} of {groups.n_listed:,} errors are about several findings "
            "or of several categories, and counted for each"
        )
    if groups.states_others:
        yield (
            f"{whose}the answers state {groups.n_stated:,.0f} errors and list "
            f"{groups.n_listed:,}: what recurs is counted of those that are listed"
        )

"""Recurring errors, from run folders to their numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
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
    """Return what recurs in one run, or in two of one rubric on the studies scored for both.

    Raises `JudgeError` for a rubric whose items are not graded, for more than two runs, and of two
    as `compare_runs` does.
    """
    if len(choices) > _MODELS:
        raise JudgeError(f"one run or two, not {len(choices)}; judge compare takes any number")
    if len(choices) == _MODELS:
        least = min_studies or FEWEST_TESTED
        return _between(choices, least, common=common, allow=allow, patient_field=patient_field)
    run, least = Run(choices[0].path), min_studies or FEWEST
    groups = _gathered(run, run.rubric)
    summary = run.summary()
    if choices[0].model:
        summary = {**summary, "model": choices[0].model}
    version = str(lexicon.load().version)
    errors = groups.recurring(least)
    return RecurringErrors(run.rubric, summary, least, version, errors, tuple(_notes(groups)))


def _between(
    choices: Sequence[RunChoice],
    min_studies: int,
    *,
    common: bool,
    allow: Collection[str],
    patient_field: str | None,
) -> ErrorDifferences:
    compared = aligned(choices, allow=allow, patient_field=patient_field, common=common)
    if len({run.rubric for run in compared.runs}) > 1:
        what = " and ".join(f"{run.shown} of {run.rubric}" for run in compared.runs)
        raise JudgeError(f"{what}: errors are compared between runs of one rubric; name two")
    runs = compared.loaded.runs
    _check_asked(runs)
    is_scored = np.asarray(compared.loaded.is_scored.all(axis=1))
    if not is_scored.any():
        raise JudgeError(
            f"none of {len(is_scored):,} studies was scored in both "
            f"{' and '.join(compared.loaded.names)}; judge audit RUN says why"
        )
    panel = compared.panel.take(is_scored.nonzero()[0])
    rubric, wanted = runs[0].rubric, frozenset(panel.study_ids)
    first, second = (_gathered(run, rubric, wanted) for run in runs)
    version = str(lexicon.load().version)
    notes = [
        f"{run.model}: {note}"
        for side, run in zip((first, second), compared.runs, strict=True)
        for note in _notes(side)
    ]
    return ErrorDifferences(
        rubric,
        tuple(run.described() for run in compared.runs),
        f"{comparison_signature(compared, _USUAL, ())}|errors:{min_studies}+{version}",
        panel.patient_field if panel.is_clustered else None,
        len(is_scored),
        len(panel.study_ids),
        min_studies,
        version,
        differences(panel, (first, second), min_studies, _USUAL),
        (*compared.notes, *notes),
    )


def _check_asked(runs: Sequence[Run]) -> None:
    tally = rubrics.load(runs[0].manifest["rubric"]).tally
    if tally is None:
        return
    facets = (runs[0].rubric.facet(name) for name in (tally.rows, tally.columns))
    parts = {tally.kind, tally.rows, tally.columns}
    parts |= {label.name for facet in facets for label in facet.labels}
    asked = {
        (frozenset(run.reading["lacks"]) & parts, frozenset(run.reading["own"]))
        if run.reading
        else (frozenset(), frozenset())
        for run in runs
    }
    if len(asked) > 1:
        raise JudgeError(
            f"{' and '.join(str(run.path) for run in runs)} do not have the same categories and "
            "levels, since a reader was not asked for them or has others; judge errors RUN shows "
            "each by itself"
        )


def _gathered(run: Run, rubric: Rubric, wanted: Collection[str] | None = None) -> ErrorGroups:
    if not rubric.graded:
        raise JudgeError(f"{rubric.title} grades nothing that it lists: it has no errors to group")
    groups = ErrorGroups(rubric)
    for record in run.records():
        if record["outcome"] == OUTCOMES[Annotated] and (
            wanted is None or record["study_id"] in wanted
        ):
            groups.add(record["study_id"], _errors(record, rubric), record["measures"])
    if wanted is not None and groups.n_studies != len(wanted):
        raise JudgeError(
            f"the annotations of {run.path} hold {groups.n_studies:,} of {len(wanted):,} studies "
            "that its table has scored; judge its studies again"
        )
    return groups


def _errors(record: dict[str, Any], rubric: Rubric) -> Iterator[tuple[Item, Sequence[str]]]:
    for plain in record["annotation"]["items"]:
        edit = Edit(**plain["edit"]) if plain["edit"] else None
        item = Item(plain["kind"], plain["text"], plain["labels"], edit=edit)
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


def _notes(groups: ErrorGroups) -> Iterator[str]:
    if groups.n_several:
        yield (
            f"{groups.n_several:,} of {groups.n_listed:,} errors are about several findings "
            "or of several categories, and counted for each"
        )
    if groups.states_others:
        yield (
            f"the answers state {groups.n_stated:,.0f} errors and list {groups.n_listed:,}: what "
            "recurs is counted of those that are listed"
        )

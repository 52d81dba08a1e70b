"""How far a judge agrees with readers over all of its runs: pooled, and within a reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from judge.passports.evidence import Evidence
from judge.readers.annotations import READER
from judge.rubrics.quantities import SharedMeasure
from judge.running.folder import RunFolder
from judge.signature import Digests, digests
from judge.stats.agreement import (
    candidate_pairs,
    correlation_measure,
    ranking_measure,
)
from judge.stats.correlation import ACCURACY
from judge.stats.estimate import Estimate
from judge.stats.intervals import Codes, Draws, Values, draw_resamples, generator
from judge.stats.rater_figures import Measure, rater_figures
from judge.types import JudgeError
from judge.validating.raters import RatedStudies, Rater, align_raters

_ONE_CANDIDATE = "no reference has several candidates that were judged and read"


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """A judge beside readers, on all reports that it judged and one of them read.

    `pooled` is Kendall's tau-b with the mean of the readers over all reports, `within` over the
    pairs of candidates of one reference alone, of which `n_references` have several; `right_order`
    is the share of the pairs that the readers order which the judge orders alike, its ties by half.
    `in_place` is the judge's tau as a reader's is made, in the place of each reader in turn, and
    `ceiling` the mean over the readers of theirs. Intervals resample patients, where a run names
    them, else references with all of their candidates: `units`.
    """

    quantity: str
    readers: tuple[str, ...]
    runs: tuple[RunFolder, ...]
    reader_runs: tuple[RunFolder, ...]
    pooled: Estimate
    within: Estimate
    right_order: Estimate
    in_place: Estimate
    ceiling: Estimate
    n_references: int
    units: str


@dataclass
class _Report:
    """One report that was judged: who read it, of which reference and patient it is."""

    judge: float
    reference: object
    patient: object
    by_reader: dict[str, float] = field(default_factory=dict)


_Key = tuple[str, Digests]
"""A report: the study's id, and the digests of both texts."""


def agreement_of(
    evidence: Evidence, runs: Sequence[RunFolder], draws: Draws
) -> Agreement | None:
    """Return how far the judge of `runs`, the newest first, agrees with the readers.

    A report that several runs judged counts once, by the newest. Each run is held against each
    reader's run by what their rubrics share: significant errors, else all errors. Readers' runs of
    other reports say nothing of it. Returns None where no reader read any of the reports.
    """
    reports: dict[_Key, _Report] = {}
    used: dict[int, RunFolder] = {}
    quantity: SharedMeasure | None = None
    for run in runs:
        judge = Rater(name="judge", shown=str(run.path), run=run)
        of_run: dict[_Key, _Report] = {}
        # Of two runs of a reader the one by the judge's own rubric says more.
        readers = sorted(
            evidence.readers,
            key=lambda reader: reader.manifest.rubric != run.manifest.rubric,
        )
        for reader in readers:
            try:
                studies = align_raters([judge], [_rater(reader)])
            except JudgeError as error:
                # Of other reports, or of a rubric that counts other things.
                evidence.not_compared.setdefault(str(reader.path), str(error))
                continue
            shared = _quantity(studies)
            if shared is None or shared.name != (quantity or shared).name:
                reason = "it counts other things than the first readers' runs"
                evidence.not_compared.setdefault(str(reader.path), reason)
                continue
            quantity = shared
            used |= {id(run): run, id(reader): reader}
            _add(of_run, studies, shared)
        reports = of_run | reports
    if quantity is None:
        return None
    return _figures(list(reports.values()), quantity, draws, list(used.values()))


def _rater(reader: RunFolder) -> Rater:
    name = reader.manifest.judge.name.removeprefix(READER)
    return Rater(name=name, shown=str(reader.path), run=reader)


def _quantity(studies: RatedStudies) -> SharedMeasure | None:
    """Return the first count of a level that the reader has, else the first count."""
    having: list[SharedMeasure] = []
    for quantity in studies.quantities:
        by_reader = studies.values[quantity.name][:, 1]
        is_count = quantity.role == "count" and not quantity.category
        if is_count and not np.isnan(by_reader).all():
            having.append(quantity)
    having.sort(key=lambda quantity: not quantity.is_level)
    return next(iter(having), None)


def _add(
    reports: dict[_Key, _Report], studies: RatedStudies, quantity: SharedMeasure
) -> None:
    """Add the reports of one run and one reader."""
    judge_run = studies.judges[0].run
    texts = digests(judge_run.records(of_any_version=True), set(studies.study_ids))
    patients: Sequence[object] = [None] * len(studies.study_ids)
    # Also where no patient has several reports in this run: another run may have one.
    named = studies.runs.patients()
    if named is not None:
        column, _ = studies.runs.field(named[0])
        patients = column or patients
    reader = studies.readers[0].name
    values = studies.values[quantity.name]
    for study_id, patient, (by_judge, by_reader) in zip(
        studies.study_ids, patients, values.tolist(), strict=True
    ):
        text = texts[study_id]
        # Candidates of a study have its id before the last slash, or its id in several runs.
        study, slash, _ = study_id.rpartition("/")
        if not slash:
            study = study_id
        report = _Report(judge=by_judge, reference=(study, text[0]), patient=patient)
        known = reports.setdefault((study_id, text), report)
        known.by_reader.setdefault(reader, by_reader)


def _figures(
    reports: Sequence[_Report],
    quantity: SharedMeasure,
    draws: Draws,
    used: Sequence[RunFolder],
) -> Agreement:
    names = sorted({name for report in reports for name in report.by_reader})
    columns: list[list[float]] = [[report.judge for report in reports]]
    for name in names:
        columns.append([report.by_reader.get(name, np.nan) for report in reports])
    values = np.array(columns).T
    references = _codes([report.reference for report in reports])
    has_patients = any(report.patient is not None for report in reports)
    units = references
    if has_patients:
        units = _codes([_unit(report) for report in reports])
    n = len(reports)
    resamples = draw_resamples(
        units, n, generator(draws.seed, "passport", {}), draws.resamples
    )
    resamples = replace(resamples, has_patients=has_patients)
    pooled = _tau(correlation_measure(resamples), values)
    pairs = candidate_pairs(
        references,
        units if has_patients else None,
        generator(draws.seed, "passport", {"pairs": "within references"}),
        draws.count(n),
    )
    within = right_order = Estimate(n=0, reason=_ONE_CANDIDATE)
    n_references = 0
    if pairs is not None:
        found = rater_figures(ranking_measure(pairs), values, 1, shares=(ACCURACY,))[0]
        within = found.estimate("kendall")
        right_order = found.estimate(ACCURACY)
        known = found.figures.known
        n_references = len(np.unique(references[pairs.first[known]]))
    return Agreement(
        quantity=quantity.label,
        readers=tuple(names),
        runs=tuple(run for run in used if run.reading is None),
        reader_runs=tuple(run for run in used if run.reading is not None),
        pooled=pooled["all readers"],
        within=within,
        right_order=right_order,
        in_place=pooled["in place"],
        ceiling=pooled["readers"],
        n_references=n_references,
        units="patient" if has_patients else "reference",
    )


def _tau(measure: Measure, values: Values) -> dict[str, Estimate]:
    """Return the judge's tau with all readers and in a reader's place, and the readers' own."""
    one_reader = Estimate(n=0, reason="there is one reader")
    found = {"in place": one_reader, "readers": one_reader}
    for row in rater_figures(measure, values, 1):
        estimate = row.estimate("kendall")
        if row.rater is None:
            found["readers"] = estimate
        elif row.rater == 0 and row.is_left_out:
            found["in place"] = estimate
        elif row.rater == 0:
            found["all readers"] = estimate
    return found


def _unit(report: _Report) -> object:
    if report.patient is None:
        return ("reference", report.reference)
    return ("patient", report.patient)


def _codes(keys: Sequence[object]) -> Codes:
    """Return the number of each key, equal keys the same."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.intp)

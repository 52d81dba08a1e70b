"""What is known of a judge on the reports of one modality: its figures, and their answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from judge.comparing.alignment import align
from judge.passports.agreement import Agreement, agreement_of
from judge.passports.criteria import Criterion, judged, verdict_of
from judge.passports.evidence import Evidence
from judge.rubrics.contract import Rubric
from judge.rubrics.quantities import quantities_of
from judge.run_files.passport import CriterionEntry, ModalityEntry, OtherFigure
from judge.run_files.summary import FigureEntry
from judge.running.folder import RunFolder
from judge.signature import signature_line
from judge.stats.estimate import Estimate
from judge.stats.intervals import Draws, rate_interval, wilson
from judge.stats.statistic import sum_of
from judge.stats.summary import OUTCOMES
from judge.stress.report import stress_figures
from judge.studies.language import languages_of
from judge.types import JudgeError, Scored
from judge.validating.validation import cost_of_run

_NO_READINGS = "no reader's run here is of reports that it judged"
_NO_STRESS = "no run of judge stress"
_NO_REPEATS = "no run asked it the same again"
_NO_RUN = "no run of models' reports"
_ALWAYS_SAME = "it answers the same each time by its making"
_UNKNOWN_LEVEL = "the rubric counts no errors"


def of_modality(
    evidence: Evidence, modality: str, criteria: Sequence[Criterion], draws: Draws
) -> ModalityEntry:
    """Return what the runs of a modality say, and the verdict; runs that are of no use are noted.

    Without a run of it all is unknown.
    """
    runs = [run for run in evidence.judged if evidence.modality(run) == modality]
    stressed = [run for run in evidence.stressed if evidence.modality(run) == modality]
    agreement = agreement_of(evidence, runs, draws)
    stress = _stress(evidence, stressed)
    figures = {
        "agreement": _none(_NO_READINGS),
        "agreement_within": _none(_NO_READINGS),
        "errors_found": stress.get("errors_found", _none(_NO_STRESS)),
        "false_alarms": stress.get("false_alarms", _none(_NO_STRESS)),
        "same_verdict": _same_verdict(runs, stress),
        "unread": _unread(runs),
    }
    n_of: dict[str, int] = {}
    if agreement is not None:
        figures["agreement"] = agreement.pooled
        figures["agreement_within"] = agreement.within
        n_of["agreement_within"] = agreement.n_references
    holds = ""
    if _answer_the_same([*runs, *stressed]):
        holds = "same_verdict"
        figures[holds] = Estimate(n=0, value=1.0, reason=_ALWAYS_SAME)
    entries: list[CriterionEntry] = []
    for criterion in criteria:
        entries.append(
            judged(
                criterion,
                figures[criterion.name],
                n_of=n_of.get(criterion.name),
                is_by_construction=criterion.name == holds,
            )
        )
    verdict, why = verdict_of(entries)
    of_languages = [*runs, *stressed]
    if agreement is not None:
        of_languages = list(agreement.runs)
    return ModalityEntry(
        modality=modality,
        verdict=verdict,
        why=why,
        quantity=agreement.quantity if agreement else "",
        languages=_languages(of_languages),
        readers=list(agreement.readers) if agreement else [],
        reader_runs=[str(run.path) for run in agreement.reader_runs]
        if agreement
        else [],
        n_runs=len(runs) + len(stressed),
        criteria=entries,
        others=[*_of_agreement(agreement), *_costs(runs), *_of_stress(stress)],
    )


def _none(reason: str) -> Estimate:
    return Estimate(n=0, reason=reason)


def _answer_the_same(runs: Sequence[RunFolder]) -> bool:
    """Return whether the judge answers the same question the same each time, by its making.

    The built-in rules are no model and are sent nothing; `hf:` models decode greedily.
    """
    if not runs or runs[0].manifest.combined is not None:
        return False
    manifest = runs[0].manifest
    is_of_rules = manifest.sampling is None and not manifest.prompts
    return is_of_rules or manifest.judge.name.startswith("hf:")


# Stress


def _stress(evidence: Evidence, runs: Sequence[RunFolder]) -> dict[str, Estimate]:
    """Return the rates of the stress test with the most candidates."""
    repeats = _largest_test(evidence, runs)
    if not repeats:
        return {}
    try:
        data = stress_figures(repeats).data
    except JudgeError as error:
        for run in repeats:
            evidence.leave_out(run, str(error))
        return {}
    rates = {
        "errors_found": data["detection_all"]["found"],
        "right_category": data["detection_all"]["right_category"],
        "false_alarms": data["false_alarms_all"]["any"],
    }
    if data["stability"] is not None:
        rates["flips"] = data["stability"]["flips"]
    return {
        name: Estimate.read(rate) for name, rate in rates.items() if rate is not None
    }


def _largest_test(evidence: Evidence, runs: Sequence[RunFolder]) -> list[RunFolder]:
    """Return the repeats of the stress test with the most candidates, and leave out the others."""
    tests: dict[str, dict[int, RunFolder]] = {}
    for run in runs:
        line = signature_line(
            run.manifest.signature_parts(without=("repeat", "version"))
        )
        repeats = tests.setdefault(line, {})
        same = repeats.setdefault(run.repeat, run)
        if same is not run:
            evidence.leave_out(run, f"the same reading as {same.path}")
    largest: list[RunFolder] = []
    n_largest = 0
    for repeats in tests.values():
        of_test = list(repeats.values())
        n = len(of_test[0].columns([]))
        if n > n_largest:
            largest, n_largest = of_test, n
    for repeats in tests.values():
        for run in repeats.values():
            if run not in largest:
                evidence.leave_out(run, "another stress test has more candidates")
    return largest


def _of_stress(stress: dict[str, Estimate]) -> Iterator[OtherFigure]:
    if "right_category" in stress:
        yield OtherFigure(
            name="right_category",
            label="known errors found in the right category",
            figure=_entry(stress["right_category"]),
        )


# Asked again


def _same_verdict(runs: Sequence[RunFolder], stress: dict[str, Estimate]) -> Estimate:
    """Return the share of studies on which runs that asked the same agree that one has no error.

    Each study counts once for all repeats; a study that one of them did not score is not counted.
    Without such runs it is the share of the stress test's candidates whose readings do not flip.
    """
    groups: dict[str, list[RunFolder]] = {}
    for run in runs:
        spent = run.manifest.spent
        # Else they are the cache's answers again.
        if spent is not None and spent.asked:
            parts = run.manifest.signature_parts(without=("repeat", "version"))
            groups.setdefault(signature_line(parts), []).append(run)
    is_same: list[bool] = []
    units: list[object] = []
    for number, group in enumerate(groups.values()):
        if len(group) < 2:
            continue
        made_of = _verdict_measures(group[0].rubric)
        if not made_of:
            return _none(_UNKNOWN_LEVEL)
        aligned = align([(str(run.path), run) for run in group])
        columns = []
        for place in range(len(group)):
            numbers = aligned.numbers(place, made_of)
            columns.append(sum_of(numbers, numbers))
        counts = np.column_stack(columns)
        is_scored = ~np.isnan(counts).any(axis=1)
        is_clean = counts == 0
        agrees = (is_clean == is_clean[:, :1]).all(axis=1)
        is_same += agrees[is_scored].tolist()
        patients = aligned.patients()
        codes: list[object] = list(range(len(agrees)))
        if patients is not None:
            codes = patients[1].tolist()
        units += [(number, code) for code in np.array(codes)[is_scored].tolist()]
    if is_same:
        numbers_of = {unit: place for place, unit in enumerate(dict.fromkeys(units))}
        of_units = np.array([numbers_of[unit] for unit in units], np.intp)
        return rate_interval(np.array(is_same, bool), of_units)
    if "flips" in stress:
        return _complement(stress["flips"])
    return _none(_NO_REPEATS)


def _verdict_measures(rubric: Rubric) -> tuple[str, ...]:
    """Return the measures of the errors that a study is clean without: of a level, else all."""
    counts = [
        quantity
        for quantity in quantities_of(rubric).values()
        if quantity.role == "count" and not quantity.category
    ]
    counts.sort(key=lambda quantity: not quantity.is_level)
    if not counts:
        return ()
    return counts[0].made_of


def _complement(rate: Estimate) -> Estimate:
    """Return the rate of those that a rate does not count."""
    if rate.value is None or rate.low is None or rate.high is None:
        return Estimate(n=rate.n, reason=rate.reason)
    n, k = rate.n or 0, rate.k or 0
    return Estimate(
        n=n, k=n - k, value=1 - rate.value, low=1 - rate.high, high=1 - rate.low
    )


# Unread, price and time


def _unread(runs: Sequence[RunFolder]) -> Estimate:
    """Return the share of studies without a score; the same studies count once, by the newest."""
    n = k = 0
    seen: set[tuple[str, str]] = set()
    whole = {run.manifest.studies_digest for run in runs if run.manifest.shard is None}
    for run in runs:
        digest, shard = run.manifest.studies_digest, run.manifest.shard
        is_part_of_another = shard is not None and digest in whole
        if is_part_of_another or (digest, str(shard)) in seen:
            continue
        seen.add((digest, str(shard)))
        outcomes = run.columns([])["outcome"].to_pylist()
        n += len(outcomes)
        k += sum(outcome != OUTCOMES[Scored] for outcome in outcomes)
    if not runs:
        return _none(_NO_RUN)
    return wilson(k, n)


def _costs(runs: Sequence[RunFolder]) -> Iterator[OtherFigure]:
    """Yield price and time of the newest run that has them, else why there are none."""
    labels = {
        "dollars_per_1000": "dollars per 1,000 studies",
        "seconds": "seconds per study",
    }
    for name, label in labels.items():
        first = None
        for run in runs:
            figure = Estimate.read(cost_of_run(run)[name])
            shown = OtherFigure(
                name=name, label=label, figure=_entry(figure), of=str(run.path)
            )
            first = first or shown
            if figure.value is not None:
                first = shown
                break
        if first is not None:
            yield first


def _of_agreement(agreement: Agreement | None) -> Iterator[OtherFigure]:
    if agreement is None:
        return
    figures = {
        "right_order": (
            "pairs of one reference in the readers' order",
            agreement.right_order,
        ),
        "in_place_of_a_reader": (
            "tau of the judge in the place of each reader",
            agreement.in_place,
        ),
        "readers": ("tau of the readers among themselves", agreement.ceiling),
    }
    for name, (label, estimate) in figures.items():
        yield OtherFigure(
            name=name,
            label=label,
            figure=_entry(estimate),
            of=f"{len(agreement.readers)} readers, intervals by {agreement.units}",
        )


def _entry(estimate: Estimate) -> FigureEntry:
    return FigureEntry.model_validate(estimate.plain())


def _languages(runs: Sequence[RunFolder]) -> dict[str, int]:
    references: set[str] = set()
    for run in runs:
        for record in run.records(of_any_version=True):
            references.add(record["reference"])
    return languages_of(references)

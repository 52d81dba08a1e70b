"""Comparing runs, from their folders to the comparison and its signature."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from judge import plugins, rubrics
from judge.comparing import checks
from judge.comparing.checks import ComparedRun
from judge.comparing.loaded import LoadedRuns, load
from judge.comparing.metric_files import MetricFile
from judge.comparing.names import RunChoice
from judge.rubrics.contract import Rubric
from judge.signature import Signature
from judge.stats.compare import Comparison, compare
from judge.stats.estimate import summed
from judge.stats.metric import Metric, find, rubric_metrics
from judge.stats.paired import Resampling
from judge.stats.panel import GROUP_FIELDS, Counts, Panel, Values
from judge.stats.tally import cuts
from judge.types import JudgeError

ALLOWED = ("judge", "prompt", "references")
_JUDGE_AGAIN = "judge both with the same references"


@dataclass(frozen=True)
class AlignedRuns:
    """Runs on the same studies; `digests` identify the joined metrics and how they are read."""

    loaded: LoadedRuns
    panel: Panel
    runs: tuple[ComparedRun, ...]
    allowed: tuple[str, ...]
    digests: tuple[str, ...]
    notes: tuple[str, ...]


def compare_runs(
    choices: Sequence[RunChoice],
    how: Resampling | None,
    *,
    sort: str | None = None,
    by: Sequence[str] = (),
    common: bool = False,
    allow: Collection[str] = (),
    patient_field: str | None = None,
    metrics: Sequence[MetricFile] = (),
) -> tuple[AlignedRuns, Comparison]:
    """Open runs, align them and compare them; without `how` nothing is tested.

    Runs of several rubrics on one model become one row. `common` compares on the studies that all
    runs have; `allow` names what may differ: the `judge` or the `prompt` of a rubric's runs, the
    `references` of all. Raises `JudgeError` that says what differs.
    """
    aligned_runs = aligned(choices, by, allow, patient_field, metrics, common=common)
    if how is not None and how.primary is not None:
        how = replace(how, primary=find(aligned_runs.panel.metrics, how.primary).name)
    comparison = compare(
        aligned_runs.panel,
        sort=sort,
        by=by,
        how=how,
        signature=comparison_signature(aligned_runs, how, by),
        notes=aligned_runs.notes,
    )
    return aligned_runs, comparison


def aligned(
    choices: Sequence[RunChoice],
    by: Sequence[str] = (),
    allow: Collection[str] = (),
    patient_field: str | None = None,
    metrics: Sequence[MetricFile] = (),
    *,
    common: bool = False,
) -> AlignedRuns:
    """Open runs and align them on studies as `compare_runs` does; raises as it does."""
    runs = checks.opened(choices)
    loaded = load([(run.shown, run.run) for run in runs])
    notes = checks.check(runs, loaded, allow, common=common)
    runs = [
        replace(run, outcomes=Counter(outcomes))
        for run, outcomes in zip(runs, loaded.outcomes.T.tolist(), strict=True)
    ]
    models = tuple(dict.fromkeys(run.model for run in runs))
    values, per, tallies = _rubric_values(runs, loaded, models)
    patients = loaded.patients(patient_field)
    names = [*by, *GROUP_FIELDS, *([patients[0]] if patients else [])]
    merged = {
        name: loaded.field(name, _JUDGE_AGAIN if name in by else "")
        for name in dict.fromkeys(names)
    }
    values |= _file_values(metrics, loaded.study_ids, models, {metric.name for metric in values})
    notes += _file_notes(metrics, values, loaded.study_ids, models)
    notes += [note for _, note in merged.values() if note]
    notes += checks.run_notes(runs)
    if any(run.run.summary()["n_class_inferred"] for run in runs):
        notes.append("the study class was inferred by the lexicon")
    judged = {(run.rubric, run.model) for run in runs}
    panel = Panel(
        models,
        loaded.study_ids,
        tuple(values),
        {metric.name: grid for metric, grid in values.items()},
        {name: tuple(column) for name, (column, _) in merged.items() if column is not None},
        patients[1] if patients else None,
        patients[0] if patients else None,
        per,
        tallies,
        {
            rubric: frozenset(
                at for at, model in enumerate(models) if (rubric, model) not in judged
            )
            for rubric, _ in judged
        },
    )
    read_as = [f"{m.name} {m.kind} {m.higher_is_better}" for m in values if m.rubric is None]
    return AlignedRuns(
        loaded,
        panel,
        tuple(runs),
        tuple(what for what in ALLOWED if what in allow),
        (*(file.sha256 for file in metrics), *read_as),
        tuple(notes),
    )


def _rubric_of(run: ComparedRun) -> Rubric:
    # A reader may have categories beside the rubric's: they are compared in its totals. What is
    # said of several judges is another thing than of one.
    return run.run.rubric if run.run.combined else rubrics.load(run.rubric)


def _rubric_values(
    runs: Sequence[ComparedRun], loaded: LoadedRuns, models: Sequence[str]
) -> tuple[dict[Metric, Values], dict[str, Values], dict[str, Counts]]:
    """Return each metric's values, what ratios are divided by, and the counts of tallies."""
    values: dict[Metric, Values] = {}
    per: dict[str, Values] = {}
    tallies: dict[str, Counts] = {}
    shape = (len(loaded.study_ids), len(models))
    figures: dict[str, list[Metric]] = {}
    for at, run in sorted(enumerate(runs), key=lambda pair: (pair[1].rubric, pair[0])):
        rubric = _rubric_of(run)
        metrics, tally = rubric_metrics(rubric), [*cuts(rubric).values()]
        # By majority a panel's figure may be made of other measures; it is the same figure.
        plain = [replace(metric, measures=(), per=()) for metric in metrics]
        if figures.setdefault(run.rubric, plain) != plain:
            raise JudgeError(
                f"the panel {run.shown} was made by --rule mean: make it with --rule majority to "
                "compare it with runs of judges"
            )
        model = models.index(run.model)
        measures = [name for metric in metrics for name in (*metric.measures, *metric.per)]
        columns = loaded.numbers(at, [*measures, *tally])
        first = {metric.name: metric for metric in values}
        for metric in metrics:
            number = summed(
                [columns[name] for name in metric.measures], sizes=metric.kind == "rate"
            )
            if metric.kind == "rate":
                number = np.where(np.isnan(number), np.nan, number == 0)
            if metric.per:
                under = summed([columns[name] for name in metric.per])
                number = np.where(np.isnan(under), np.nan, number)
                grid = per.setdefault(metric.name, np.full(shape, np.nan))
                grid[:, model] = np.where(np.isnan(number), np.nan, under)
            values.setdefault(first.get(metric.name, metric), np.full(shape, np.nan))[:, model] = (
                number
            )
        if tally:
            empty = np.full((len(models), len(tally), shape[0]), np.nan, np.float32)
            tallies.setdefault(run.rubric, empty)[model] = [columns[name] for name in tally]
    in_order = dict.fromkeys(run.rubric for run in runs if run.rubric in tallies)
    return values, per, {rubric: tallies[rubric] for rubric in in_order}


def _file_values(
    files: Sequence[MetricFile], study_ids: Sequence[str], models: Sequence[str], taken: set[str]
) -> dict[Metric, Values]:
    """Return the values of the files' metrics; files of several models fill one column."""
    values: dict[Metric, Values] = {}
    for file in files:
        for metric, grid in file.on(study_ids, models):
            # A rubric's reciprocal is called after the score that it is of.
            if metric.name in taken or f"inverse_{metric.name}" in taken:
                metric = replace(
                    metric,
                    name=f"file_{metric.name}",
                    label=f"{metric.label} (file)",
                    study_label=f"{metric.study_label} (file)",
                    rexrank=None,
                )
            known = values.setdefault(metric, np.full(grid.shape, np.nan))
            both = np.argwhere(~np.isnan(known) & ~np.isnan(grid))
            if len(both):
                study, model = both[0]
                raise JudgeError(
                    f"{metric.study_label} of {models[model]!r} on the study "
                    f"{study_ids[study]!r} is in {file.path} and in another file; leave one out"
                )
            values[metric] = np.where(np.isnan(grid), known, grid)
    return values


def _file_notes(
    files: Sequence[MetricFile],
    values: Mapping[Metric, Values],
    study_ids: Sequence[str],
    models: Sequence[str],
) -> list[str]:
    n = len(study_ids)
    notes = [note for file in files for note in file.notes]
    for metric, grid in values.items():
        counts = (~np.isnan(grid)).sum(axis=0)
        short = [f"{m} {k:,}" for m, k in zip(models, counts, strict=True) if k < n]
        if metric.rubric is None and short:
            notes.append(f"{metric.study_label} is there for {', '.join(short)} of {n:,}")
    unused = [(file.n_unused(study_ids, models), file.path) for file in files]
    return notes + [
        f"{k:,} rows of {path} are about no study compared here" for k, path in unused if k
    ]


def records(
    compared: AlignedRuns, wanted: Mapping[tuple[str, str], Collection[str]]
) -> dict[tuple[str, str], dict[str, dict[str, Any]]]:
    """Return the records of some studies, by model and rubric, then by study id."""
    return {
        key: compared.loaded.records(at, wanted[key])
        for at, run in enumerate(compared.runs)
        if wanted.get(key := (run.model, run.rubric))
    }


def comparison_signature(compared: AlignedRuns, how: Resampling | None, by: Sequence[str]) -> str:
    """Return one line that names everything that changes a number of the comparison.

    The runs stand in it as a digest over their models and signatures, whatever their order;
    the resamples, the seed and the family of tests only where something was tested.
    """
    lines = sorted(f"{run.model}\t{run.run.signature}" for run in compared.runs)
    judges = sorted({f"{run.rubric}={run.judge}" for run in compared.runs})
    panel = compared.panel
    parts = [
        "compare:1",
        f"models:{len(panel.models)}",
        f"runs:{len(lines)}+{_digest(lines)}",
        f"judge:{','.join(judges)}",
        f"studies:{len(panel.study_ids)}+{_digest(sorted(panel.study_ids))}",
        *([f"metrics:{_digest(sorted(compared.digests))}"] if compared.digests else []),
        *([f"allowed:{','.join(compared.allowed)}"] if compared.allowed else []),
        f"by:{','.join(by) or 'none'}",
        f"patient:{panel.patient_field or 'none'}",
    ]
    if how:
        parts += [
            f"resamples:{how.resamples}",
            f"flips:{how.flips}",
            f"seed:{how.seed}",
            f"family:{how.family}",
            *([f"primary:{how.primary}"] if how.primary else []),
            f"numpy:{version('numpy')}",
        ]
    parts.append(f"version:{plugins.version()}")
    return str(Signature(parts))


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]

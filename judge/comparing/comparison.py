"""Comparing runs, from their folders to the comparison and its signature."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge import distribution
from judge.comparing import checks
from judge.comparing.checks import ComparedRun, Difference
from judge.comparing.metric_files import MetricFile
from judge.comparing.names import RunChoice, named_runs
from judge.comparing.table import RunTable, merged_field, read_table
from judge.running.folder import Run
from judge.signature import Signature
from judge.stats.compare import Comparison, compare
from judge.stats.metric import Metric
from judge.stats.paired import Resampling
from judge.stats.panel import GROUP_FIELDS, Counts, Panel, Values
from judge.stats.table import OUTCOMES
from judge.studies.names import FIELD_NAMES
from judge.types import Annotated, JudgeError

PATIENT_FIELDS = FIELD_NAMES["patient"]
ALLOWED = ("judge", "prompt", "references")
_JUDGE_BOTH = "judge both with the same references"


@dataclass(frozen=True)
class AlignedRuns:
    """Runs on the same studies; `digests` identify the joined metrics and how they are read.

    `is_scored` says of which studies each run has a score, studies by runs.
    """

    panel: Panel
    runs: tuple[ComparedRun, ...]
    allowed: tuple[str, ...]
    digests: tuple[str, ...]
    notes: tuple[str, ...]
    is_scored: NDArray[np.bool_]


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
    """Open runs, put their studies side by side and compare them; without `how` nothing is tested.

    Runs of several rubrics on one model become one row. `common` compares on the studies
    that all runs have. `allow` names what may differ: the `judge` or the `prompt` of a
    rubric's runs, the `references` of all. What else differs can't be mended by a flag:
    another section is another text, and another version of a rubric is brought up to date
    by `judge rescore` at no cost.
    `patient_field` is by default the first of `PATIENT_FIELDS` that a run has; `none`
    takes studies as independent. Raises `JudgeError` that says what differs, and as
    `judge.stats.compare.compare` does.
    """
    opened = aligned(choices, by, allow, patient_field, metrics, common=common)
    comparison = compare(
        opened.panel,
        sort=sort,
        by=by,
        how=how,
        signature=comparison_signature(opened, how, by),
        notes=opened.notes,
    )
    return opened, comparison


def aligned(
    choices: Sequence[RunChoice],
    by: Sequence[str] = (),
    allow: Collection[str] = (),
    patient_field: str | None = None,
    metrics: Sequence[MetricFile] = (),
    *,
    common: bool = False,
) -> AlignedRuns:
    """Open runs and put their studies side by side, as `compare_runs` does; raises as it does."""
    named = named_runs(choices)
    runs = [checks.compared(run) for run in named]
    differing, notes = checks.settings(runs, allow)
    notes += checks.check_files(named)
    wanted = list(dict.fromkeys([*by, *GROUP_FIELDS, *_patient_names(patient_field)]))
    tables = [read_table(run, wanted) for run in named]
    study_ids, n_common, other_studies = _studies(runs, tables, common=common)
    differing += other_studies
    if study_ids and len({run.section for run in runs}) == 1:  # of another section all differ
        others, more = checks.other_references(named, study_ids, allow)
        differing, notes = [*differing, *others], [*notes, *more]
    checks.check_same(differing)
    own = [table.on(study_ids) for table in tables]
    runs = [_counted(run, table) for run, table in zip(runs, own, strict=True)]
    sides = list(zip(runs, own, strict=True))
    fields, disagreements = _fields(sides, wanted, by, _patient_names(patient_field))
    patient = _patient(fields, patient_field)
    models = tuple(dict.fromkeys(run.model for run in runs))
    values, per = _rubric_values(sides, len(study_ids), models)
    values |= _file_values(metrics, study_ids, models, taken={metric.name for metric in values})
    notes += [*_joined(metrics, values, study_ids, models), *disagreements]
    notes += [*checks.judge_notes(named), *checks.unjudged(runs)]
    notes += [*checks.left_out(runs), *checks.not_scored(runs)]
    notes += [f"{m.label}: {m.definition}" for m in values if m.definition]
    if any(table.n_inferred for table in tables):
        notes.append("the study class was inferred by the lexicon")
    if n_common is not None:
        most = max(len(table.study_ids) for table in tables)
        notes.append(f"compared on the {n_common:,} studies that all runs have, of up to {most:,}")
    panel = Panel(
        models,
        study_ids,
        tuple(values),
        {metric.name: grid for metric, grid in values.items()},
        fields,
        _numbers(fields[patient]) if patient else None,
        patient,
        {metric.name: grid for metric, grid in per.items()},
        _tallies(sides, len(study_ids), models),
        _without_run(runs, models),
    )
    allowed = tuple(what for what in ALLOWED if what in allow)
    joined = [f"{m.name} {m.kind} {m.higher_is_better}" for m in values if m.rubric is None]
    digests = (*(file.sha256 for file in metrics), *joined)
    is_scored = np.stack([table.outcomes == OUTCOMES[Annotated] for table in own], axis=1)
    return AlignedRuns(panel, tuple(runs), allowed, digests, tuple(notes), is_scored)


_Sides = Sequence[tuple[ComparedRun, RunTable]]
"""Runs, and their tables of the studies that are compared."""


def _counted(run: ComparedRun, table: RunTable) -> ComparedRun:
    scored, unparsed, failed = (int((table.outcomes == name).sum()) for name in OUTCOMES.values())
    n = len(table.study_ids)
    return replace(run, n_studies=n, n_scored=scored, n_unparsed=unparsed, n_failed=failed)


def _rubric_values(
    sides: _Sides, n_studies: int, models: Sequence[str]
) -> tuple[dict[Metric, Values], dict[Metric, Values]]:
    """Return the values of every rubric's metrics, studies by models; NaN: no such run."""
    values: dict[Metric, Values] = {}
    per: dict[Metric, Values] = {}
    for name in sorted({run.rubric for run, _ in sides}):
        tables = {models.index(run.model): table for run, table in sides if run.rubric == name}
        first, *others = tables.values()
        # By majority a panel's figure may be made of other measures; it is the same figure.
        figures = [
            [replace(metric, measures=(), per=()) for metric in table.metrics]
            for table in (first, *others)
        ]
        if any(other != figures[0] for other in figures):
            raise JudgeError(
                f"a panel's rates by --rule mean are means of {name}'s, and are compared with "
                "those of other panels by the mean only; make it with --rule majority"
            )
        for metric in first.metrics:
            parts = [(values, "values")] + [(per, "per")] * (metric.kind == "ratio")
            for grids, part in parts:
                grid = grids[metric] = np.full((n_studies, len(models)), np.nan)
                for model, table in tables.items():
                    grid[:, model] = getattr(table, part)[metric.name]
    return values, per


def _tallies(sides: _Sides, n_studies: int, models: Sequence[str]) -> dict[str, Counts]:
    grids: dict[str, Counts] = {}
    for run, table in sides:
        if len(table.tally):
            shape = (len(models), len(table.tally), n_studies)
            grid = grids.setdefault(run.rubric, np.full(shape, np.nan, np.float32))
            grid[models.index(run.model)] = table.tally
    return grids


def _without_run(runs: Sequence[ComparedRun], models: Sequence[str]) -> dict[str, frozenset[int]]:
    judged = {(run.rubric, run.model) for run in runs}
    return {
        rubric: frozenset(
            number for number, model in enumerate(models) if (rubric, model) not in judged
        )
        for rubric, _ in judged
    }


def _file_values(
    files: Sequence[MetricFile],
    study_ids: Sequence[str],
    models: Sequence[str],
    taken: Collection[str],
) -> dict[Metric, Values]:
    """Return the values of the files' metrics; files of several models fill one column."""
    values: dict[Metric, Values] = {}
    metric_of: dict[str, Metric] = {}
    for file in files:
        for metric, grid in file.on(study_ids, models):
            # A rubric's reciprocal is called after the score that it is of.
            is_taken = metric.name in taken or f"inverse_{metric.name}" in taken
            own = _beside(metric) if is_taken else metric
            if metric_of.setdefault(own.name, own) != own:
                raise JudgeError(
                    f"a column of {file.path} and another would both be the metric {own.name!r}; "
                    "rename one of them"
                )
            known = values.setdefault(own, np.full(grid.shape, np.nan))
            twice = np.argwhere(~np.isnan(known) & ~np.isnan(grid))
            if len(twice):
                study, model = twice[0]
                raise JudgeError(
                    f"{metric.study_label} of {models[model]!r} on the study "
                    f"{study_ids[study]!r} is in {file.path} and in another file; leave one out"
                )
            values[own] = np.where(np.isnan(grid), known, grid)
    return values


def _beside(metric: Metric) -> Metric:
    label, study_label = f"{metric.label} (file)", f"{metric.study_label} (file)"
    return replace(
        metric, name=f"file_{metric.name}", label=label, study_label=study_label, rexrank=None
    )


def _joined(
    files: Sequence[MetricFile],
    values: Mapping[Metric, Values],
    study_ids: Sequence[str],
    models: Sequence[str],
) -> list[str]:
    n = len(study_ids)
    notes = [note for file in files for note in file.notes]
    for metric, grid in values.items():
        if metric.rubric is None:
            counts = (~np.isnan(grid)).sum(axis=0)
            short = [f"{m} {k:,}" for m, k in zip(models, counts, strict=True) if k < n]
            if short:
                notes.append(f"{metric.study_label} is there for {', '.join(short)} of {n:,}")
    unused = [(file.n_unused(study_ids, models), file.path) for file in files]
    notes += [f"{k:,} rows of {path} are about no study compared here" for k, path in unused if k]
    return notes


def _fields(
    sides: _Sides, wanted: Sequence[str], by: Sequence[str], patient: Sequence[str]
) -> tuple[dict[str, tuple[object, ...]], list[str]]:
    remedies = dict.fromkeys(patient, f"{_JUDGE_BOTH}, or set it aside: --patient-field none")
    remedies |= dict.fromkeys(by, _JUDGE_BOTH)
    fields, notes = {}, []
    for name in wanted:
        tables = [(run.shown, table) for run, table in sides if name in table.fields]
        column, note = merged_field(name, tables, remedies.get(name))
        if column is not None:
            fields[name] = column
        notes += [note] if note else []
    return fields, notes


def records(
    runs: Sequence[ComparedRun], wanted: Mapping[tuple[str, str], Collection[str]]
) -> dict[tuple[str, str], dict[str, dict[str, Any]]]:
    """Return what is known of some studies, by model and rubric, then by study id."""
    return {
        (run.model, run.rubric): {
            record["study_id"]: record
            for record in Run(run.path).records()
            if record["study_id"] in ids
        }
        for run in runs
        if (ids := set(wanted.get((run.model, run.rubric), ())))
    }


def _studies(
    runs: Sequence[ComparedRun], tables: Sequence[RunTable], *, common: bool
) -> tuple[tuple[str, ...], int | None, list[Difference]]:
    """Return the ids of the studies that all runs have, how many where sets differ, and where.

    In an order of their own, so that no number rests on which run is named first.
    """
    sets = [frozenset(table.study_ids) for table in tables]
    if all(ids == sets[0] for ids in sets):
        return tuple(sorted(sets[0])), None, []
    shared = frozenset.intersection(*sets)
    if common and shared:
        return tuple(sorted(shared)), len(shared), []
    values: dict[str, list[str]] = {}
    for run, ids in zip(runs, sets, strict=True):
        value = f"{len(ids):,}"
        if extra := ids - shared:
            value += f", {len(extra):,} of them not in all runs, {min(extra)!r} among them"
        values.setdefault(value, []).append(run.shown)
    remedy = f"--common: the {len(shared):,} in all runs" if shared else "no study is in all runs"
    return tuple(sorted(shared)), len(shared), [Difference("studies", remedy, values)]


def _patient_names(patient_field: str | None) -> tuple[str, ...]:
    if patient_field == "none":
        return ()
    return PATIENT_FIELDS if patient_field is None else (patient_field,)


def _patient(fields: Mapping[str, tuple[object, ...]], asked: str | None) -> str | None:
    if asked not in (None, "none") and asked not in fields:
        raise JudgeError(f"no run has the field {asked!r}; name the patient with --patient-field")
    return next((name for name in _patient_names(asked) if name in fields), None)


def _numbers(column: Sequence[object]) -> NDArray[np.int64]:
    """Return a number for each patient; a study without one is a patient of its own."""
    names = [f"study {row}" if one is None else f"patient {one}" for row, one in enumerate(column)]
    number_of = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([number_of[name] for name in names], dtype=np.int64)


def comparison_signature(opened: AlignedRuns, how: Resampling | None, by: Sequence[str]) -> str:
    """Return one line that names everything that changes a number of the comparison.

    The runs stand in it as a digest over their models and signatures, whatever their order;
    the resamples and the seed only where something was tested.
    """
    lines = sorted(f"{run.model}\t{run.signature}" for run in opened.runs)
    judges = sorted({f"{run.rubric}={run.judge}" for run in opened.runs})
    panel = opened.panel
    parts = [
        "compare:1",
        f"models:{len(panel.models)}",
        f"runs:{len(lines)}+{_digest(lines)}",
        f"judge:{','.join(judges)}",
        f"studies:{len(panel.study_ids)}+{_digest(sorted(panel.study_ids))}",
        *([f"metrics:{_digest(sorted(opened.digests))}"] if opened.digests else []),
        *([f"allowed:{','.join(opened.allowed)}"] if opened.allowed else []),
        f"by:{','.join(by) or 'none'}",
    ]
    if how:
        parts += [
            f"patient:{panel.patient_field or 'none'}",
            f"resamples:{how.resamples}",
            f"flips:{how.flips}",
            f"seed:{how.seed}",
            f"numpy:{version('numpy')}",
        ]
    parts.append(f"version:{distribution.version()}")
    return str(Signature(parts))


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]

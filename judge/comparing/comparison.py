"""From run folders to a comparison: checks, scores, notes and the signature."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from operator import attrgetter
from typing import Any

import numpy as np

from judge import plugins, rubrics
from judge.comparing.alignment import (
    AlignedRuns,
    RunChoice,
    align,
    model_of_run,
)
from judge.comparing.metric_files import MetricFile
from judge.run_files.entries import recognised_text
from judge.running.folder import RunFolder
from judge.signature import signature_line
from judge.stats.intervals import USUAL_DRAWS, Draws, Values
from judge.stats.metric import Metric, rubric_metrics
from judge.stats.scores import GROUP_FIELDS, Counts, ScoreMatrix, cuts
from judge.stats.significance import Comparison, Resampling, Track, compare
from judge.stats.summary import OUTCOMES, fields_of
from judge.text import counted, listed
from judge.types import JudgeError

ALLOWED = ("judge", "prompt", "references")
_JUDGE_AGAIN = "judge both with the same references"
_MOST = 5
_MOST_NAMED = 10
_SETTINGS = ("sampling", "reask")
_CONTEXT = ("context", "prior", "modality")


@dataclass(frozen=True)
class ComparedRun:
    """A run, its row `model`, its name `shown` in messages, and how its studies ended."""

    run: RunFolder
    model: str
    shown: str
    rubric: str
    version: str
    section: str
    judge: str
    prompt: str
    outcomes: Mapping[str, int] = field(default_factory=dict)

    def described(self) -> dict[str, Any]:
        """Return a description of the run as JSON's types."""
        counts = {}
        for name in OUTCOMES.values():
            counts[f"n_{name}"] = self.outcomes.get(name, 0)
        return {
            "run": self.shown,
            "signature": self.run.signature,
            "model": self.model,
            "rubric": self.rubric,
            "judge": self.judge,
            "prompt": self.prompt,
            "section": self.section,
            "n_studies": sum(self.outcomes.values()),
            **counts,
            "n_left_out": sum(self.run.summary().omitted.values()),
        }


def _opened(choice: RunChoice) -> ComparedRun:
    run = RunFolder.open(choice.path)
    manifest = run.manifest
    stated = manifest.judge_parts()
    # What runs must have in common to be of one judge, and of one prompt.
    settings = [stated[name] for name in _SETTINGS if name in stated]
    if manifest.combined is not None and manifest.combined.of == "reference":
        settings.append(manifest.combined.rule)
    context = [f"{name} {stated[name]}" for name in _CONTEXT if name in stated]
    prompt = "none"
    if not manifest.reading:
        prompt = stated["prompt"]
    return ComparedRun(
        run=run,
        model=choice.model or model_of_run(run),
        shown=choice.shown,
        rubric=manifest.rubric,
        version=manifest.rubric_and_version,
        section=manifest.section,
        judge=" ".join([manifest.judge.version, *settings]),
        prompt=" ".join([prompt, *context]),
    )


@dataclass(frozen=True)
class ComparedRuns:
    """Runs on the same studies; `signature_parts` are those of metrics and options."""

    aligned: AlignedRuns
    panel: ScoreMatrix
    runs: tuple[ComparedRun, ...]
    signature_parts: tuple[str, ...]
    notes: tuple[str, ...]


def compare_runs(
    choices: Sequence[RunChoice],
    how: Resampling | None,
    *,
    draws: Draws = USUAL_DRAWS,
    sort: str | None = None,
    by: Sequence[str] = (),
    common: bool = False,
    allow: Collection[str] = (),
    patient_field: str | None = None,
    metrics: Sequence[MetricFile] = (),
    notes: Sequence[str] = (),
    track: Track = lambda tested, _n: tested,
) -> tuple[ComparedRuns, Comparison]:
    """Open runs and compare them; raises `JudgeError` that says what differs and must not.

    `notes` are said first among those of the comparison.

    `draws` are those of the intervals of ratios where nothing is tested; with tests they are those
    of `how`.
    """
    compared = read_scores(
        choices,
        by=by,
        allow=allow,
        patient_field=patient_field,
        metrics=metrics,
        common=common,
    )
    panel = compared.panel
    if how is None:
        draws = draws.of(panel.n_units)
    else:
        how = how.of(panel.n_units)
        draws = how.draws
    panel = replace(panel, draws=draws)
    compared = replace(compared, panel=panel, notes=(*notes, *compared.notes))
    comparison = compare(
        panel,
        sort=sort,
        by=by,
        how=how,
        notes=compared.notes,
        track=track,
    )
    # The number of flips is known only now.
    signature = comparison_signature(compared, comparison.how, by)
    return compared, replace(comparison, signature=signature)


def read_scores(
    choices: Sequence[RunChoice],
    by: Sequence[str] = (),
    allow: Collection[str] = (),
    patient_field: str | None = None,
    metrics: Sequence[MetricFile] = (),
    *,
    common: bool = False,
) -> ComparedRuns:
    """Open runs and align them on studies as `compare_runs` does; raises as it does."""
    runs = opened(choices)
    aligned = align([(run.shown, run.run) for run in runs])
    notes = check(runs, aligned, allow, common=common)
    counted = []
    for run, outcomes in zip(runs, aligned.outcomes.T.tolist(), strict=True):
        counted.append(replace(run, outcomes=Counter(outcomes)))
    runs = counted
    models = tuple(dict.fromkeys(run.model for run in runs))
    values, per, tallies = _rubric_values(runs, aligned, models)
    values |= _file_values(metrics, aligned.study_ids, models)
    group_fields = fields_of(*by)
    patient, clusters = aligned.patients(patient_field) or (None, None)
    wanted = dict.fromkeys((*group_fields, *GROUP_FIELDS))
    if patient:
        wanted[patient] = None
    fields: dict[str, tuple[object, ...]] = {}
    for name in wanted:
        # A field that the user groups by must not be left out.
        remedy = ""
        if name in group_fields:
            remedy = _JUDGE_AGAIN
        column, note = aligned.field(name, remedy)
        if column is not None:
            fields[name] = tuple(column)
        if note:
            notes.append(note)
    notes += [*_run_notes(runs, models), *_coverage(values, models)]
    panel = ScoreMatrix(
        models=models,
        study_ids=aligned.study_ids,
        metrics=tuple(values),
        values={metric.name: grid for metric, grid in values.items()},
        fields=fields,
        clusters=clusters,
        patient_field=patient,
        per=per,
        tallies=tallies,
        without_run=_without_run(runs, models),
    )
    parts = []
    if metrics:
        made_of = [file.sha256 for file in metrics]
        for metric in values:
            if metric.rubric is None:
                read_as = f"{metric.name} {metric.kind} {metric.higher_is_better}"
                made_of.append(read_as)
        parts.append(f"metrics:{_digest(sorted(made_of))}")
    allowed = [what for what in ALLOWED if what in allow]
    if allowed:
        parts.append(f"allowed:{','.join(allowed)}")
    return ComparedRuns(
        aligned=aligned,
        panel=panel,
        runs=tuple(runs),
        signature_parts=tuple(parts),
        notes=tuple(notes),
    )


def _without_run(
    runs: Sequence[ComparedRun], models: Sequence[str]
) -> dict[str, frozenset[int]]:
    """Return the numbers of the models that each rubric has no run of."""
    judged: dict[str, set[str]] = {}
    for run in runs:
        judged.setdefault(run.rubric, set()).add(run.model)
    without_run = {}
    for rubric, judged_models in judged.items():
        missing = [row for row, name in enumerate(models) if name not in judged_models]
        without_run[rubric] = frozenset(missing)
    return without_run


def opened(choices: Sequence[RunChoice]) -> list[ComparedRun]:
    """Open the runs; raises `JudgeError` where two are of one rubric and model, or seem so."""
    opened_runs: dict[tuple[str, str], ComparedRun] = {}
    first: dict[str, tuple[ComparedRun, RunChoice]] = {}
    for chosen in choices:
        new = _opened(chosen)
        model = new.model
        same = opened_runs.setdefault((model, new.rubric), new)
        if same is not new:
            raise JudgeError(
                f"{same.shown} and {new.shown} are two runs of {new.rubric} of the model "
                f"{model!r}; name their models: NAME={new.shown}"
            )
        other, other_choice = first.setdefault(model, (new, chosen))
        files = set()
        for run in (other, new):
            file = run.run.manifest.input_of("preds")
            if file:
                files.add(file.sha256)
        # The user may well judge two files of one model, and says so by its name.
        are_both_named = chosen.model and other_choice.model
        if len(files) > 1 and not are_both_named:
            raise JudgeError(
                f"{other.shown} and {new.shown} would be one model, {model!r}, but judged "
                "different files of predictions; name each run's model: NAME=RUN"
            )
    return list(opened_runs.values())


# What differs, what allows it, and the runs by value.
_Differing = tuple[str, str, Mapping[str, Sequence[str]]]


def check(
    runs: Sequence[ComparedRun],
    aligned: AlignedRuns,
    allow: Collection[str],
    *,
    common: bool,
) -> list[str]:
    """Raise `JudgeError` that lists all that differs and must not; return notes of the rest."""
    allowed = {f"--allow {what}" for what in allow}
    differing = [*_settings(runs), *_references(runs, aligned)]
    n = len(aligned.study_ids)
    sizes = {run.run.summary().n_studies for run in runs}
    if sizes != {n}:
        remedy = "no study is in all runs"
        if n:
            remedy = f"--common: the {n:,} in all runs"
        if n and common:
            allowed.add(remedy)
        by_studies, foreign = _by_studies(runs)
        if foreign:
            remedy = f"no study is in all runs: leave out {listed(foreign)}"
        differing.insert(0, ("studies", remedy, by_studies))
    texts = {what: _by_run(values) for what, _, values in differing}
    refused = []
    notes = []
    for what, remedy, _ in differing:
        text = f"{what} ({remedy}): {texts[what]}"
        notes.append(f"the runs differ in {text}")
        if remedy not in allowed:
            refused.append(f"  {text}")
    if refused:
        what = "\n".join(refused)
        raise JudgeError(
            f"these runs cannot be compared together; what differs:\n{what}"
        )
    return notes


def _by_studies(
    runs: Sequence[ComparedRun],
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the runs by their studies, first those that most runs have, and the foreign runs.

    Foreign runs have none of the studies that most runs have. Where no two runs have the same
    studies nobody can say which are foreign.
    """
    by_ids: dict[frozenset[str], list[str]] = {}
    for run in runs:
        ids = run.run.columns([])["study_id"].to_pylist()
        by_ids.setdefault(frozenset(ids), []).append(run.shown)
    usual, *others = sorted(by_ids, key=lambda ids: len(by_ids[ids]), reverse=True)
    by_studies = {f"{len(usual):,}": by_ids[usual]}
    foreign: list[str] = []
    for ids in others:
        n_shared = len(ids & usual)
        text = counted(len(ids), "other", "others")
        if n_shared:
            text = f"{len(ids):,} ({n_shared:,} of them the same)"
        elif len(by_ids[usual]) > 1:
            foreign += by_ids[ids]
        by_studies.setdefault(text, []).extend(by_ids[ids])
    return by_studies, foreign


def _by_run(values: Mapping[str, Sequence[str]]) -> str:
    """Return what each run has, such as `findings in a and 2 more; impression in b and c`.

    Of the value that most runs have only the first run is named, of the others all, up to ten.
    """
    usual = max(values, key=lambda value: len(values[value]))
    texts = []
    for value, names in values.items():
        shown = list(names[:_MOST_NAMED])
        if value == usual:
            shown = [names[0]]
        n_more = len(names) - len(shown)
        if n_more:
            shown.append(f"{n_more} more")
        texts.append(f"{value} in {listed(shown)}")
    return "; ".join(texts)


def _settings(runs: Sequence[ComparedRun]) -> list[_Differing]:
    settings = [
        ("section", "compare the runs of each section by themselves", "section", runs)
    ]
    for name in dict.fromkeys(run.rubric for run in runs):
        same = [run for run in runs if run.rubric == name]
        settings += [
            (f"version of {name}", "judge rescore", "version", same),
            (f"judge of {name}", "--allow judge", "judge", same),
            (f"prompt of {name}", "--allow prompt", "prompt", same),
        ]
    differing: list[_Differing] = []
    for what, remedy, name, of in settings:
        values = _by_value(of, attrgetter(name))
        if len(values) > 1:
            differing.append((what, remedy, values))
    return differing


def _by_value(
    runs: Sequence[ComparedRun], value: Callable[[ComparedRun], str]
) -> dict[str, list[str]]:
    by_value: dict[str, list[str]] = {}
    for run in runs:
        by_value.setdefault(value(run), []).append(run.shown)
    return by_value


def _references(
    runs: Sequence[ComparedRun], aligned: AlignedRuns
) -> Iterator[_Differing]:
    sections = {run.section for run in runs}
    # Of another section all references differ, which is said of the section.
    if len(sections) > 1:
        return
    for name, other, ids in aligned.differing_texts("references"):
        where = f"others for {len(ids):,} studies, {ids[0]!r} among them,"
        values = {f"those of {name}": [name], where: [other]}
        yield f"references of {other}", "--allow references", values


def _run_notes(runs: Sequence[ComparedRun], models: Sequence[str]) -> Iterator[str]:
    titles: dict[str, list[str]] = {}
    for run in runs:
        judge = run.run.manifest.judge
        if judge.note:
            note = f"judged by {judge.name}, {judge.note}"
            titles.setdefault(note, []).append(rubrics.load(run.rubric).title)
    for note, on in titles.items():
        yield f"{' and '.join(dict.fromkeys(on))}: {note}"
    yield from _recognised_notes(runs)
    for rubric in dict.fromkeys(run.rubric for run in runs):
        of_rubric = [run for run in runs if run.rubric == rubric]
        packages = {}
        for run in of_rubric:
            package = ", ".join(run.run.manifest.packages) or None
            packages[package] = run.shown
        if len(packages) > 1:
            shown = [f"{package} in {run}" for package, run in packages.items()]
            yield (
                f"the rubric {rubric} comes from packages that differ: "
                f"{', '.join(shown)}"
            )
        judged = {run.model for run in of_rubric}
        missing = [model for model in models if model not in judged]
        if missing:
            yield f"no run of {rubric} is of {', '.join(missing)}"
    yield from _lost_notes(runs)
    if any(run.run.summary().n_class_inferred for run in runs):
        yield "the study class was inferred by the lexicon"


def _lost_notes(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """Say which runs have the most studies that were not scored."""
    n = sum(runs[0].outcomes.values())

    def n_lost(run: ComparedRun) -> int:
        return n - run.outcomes["scored"]

    most_first = sorted(runs, key=n_lost, reverse=True)
    named = []
    for run in most_first[:_MOST]:
        if n_lost(run):
            named.append(f"{run.model} {n_lost(run):,} ({run.rubric})")
    if named:
        yield f"studies not scored, of {n:,}: {', '.join(named)}"


def _recognised_notes(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """Say how much the built-in judge understood, once for each model."""
    shares: dict[str, str] = {}
    for run in runs:
        text = recognised_text(run.run.manifest.recognised)
        if text:
            shares.setdefault(run.model, f"{run.model} {text}")
    if shares:
        yield f"statements that the built-in judge recognised: {'; '.join(shares.values())}"


def _rubric_values(
    runs: Sequence[ComparedRun], aligned: AlignedRuns, models: Sequence[str]
) -> tuple[dict[Metric, Values], dict[str, Values], dict[str, Counts]]:
    """Return each metric's values, the denominators of ratios, and the counts of tallies."""
    values: dict[Metric, Values] = {}
    per: dict[str, Values] = {}
    tallies: dict[str, Counts] = {}
    shape = (len(aligned.study_ids), len(models))
    figures: dict[str, list[Metric]] = {}
    # Columns are in the order of the rubrics' names, whatever the order of the runs.
    numbers = sorted(range(len(runs)), key=lambda number: runs[number].rubric)
    for index in numbers:
        run = runs[index]
        # A reader's own categories are compared in the rubric's totals; a panel has measures of
        # its own.
        if run.run.combined:
            rubric = run.run.rubric
        else:
            rubric = rubrics.load(run.rubric)
        metrics = rubric_metrics(rubric)
        tally = list(cuts(rubric).values())
        # By majority a panel's figure may be made of other measures; it is the same figure.
        bare = [metric.bare for metric in metrics]
        if figures.setdefault(run.rubric, bare) != bare:
            raise JudgeError(
                f"the panel {run.shown} was made by --rule mean: make it with --rule majority to "
                "compare it with runs of judges"
            )
        model = models.index(run.model)
        measures: list[str] = []
        for metric in metrics:
            measures += metric.statistic.columns
        columns = aligned.numbers(index, [*measures, *tally])
        # The first run's metric stands for those of all runs of the rubric.
        first = {metric.name: metric for metric in values}
        for metric in metrics:
            numerators, denominators = metric.statistic.study_values(columns)
            if denominators is not None:
                grid = per.setdefault(metric.name, np.full(shape, np.nan))
                grid[:, model] = denominators
            key = first.get(metric.name, metric)
            grid = values.setdefault(key, np.full(shape, np.nan))
            grid[:, model] = numerators
        if tally:
            counts_shape = (len(models), len(tally), len(aligned.study_ids))
            empty = np.full(counts_shape, np.nan, np.float32)
            counts = tallies.setdefault(run.rubric, empty)
            counts[model] = [columns[name] for name in tally]
    in_order = dict.fromkeys(run.rubric for run in runs)
    tallies = {rubric: tallies[rubric] for rubric in in_order if rubric in tallies}
    return values, per, tallies


def _file_values(
    files: Sequence[MetricFile], study_ids: Sequence[str], models: Sequence[str]
) -> dict[Metric, Values]:
    """Return the values of the files' metrics; files of several models fill one column."""
    values: dict[Metric, Values] = {}
    for file in files:
        for metric, grid in file.on(study_ids, models).items():
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


def _coverage(values: Mapping[Metric, Values], models: Sequence[str]) -> Iterator[str]:
    """Say for how many studies a file has a metric, where that is not all."""
    for metric, grid in values.items():
        if metric.rubric is not None:
            continue
        n = len(grid)
        n_known = (~np.isnan(grid)).sum(axis=0)
        counts = zip(models, n_known, strict=True)
        short = [f"{model} {k:,}" for model, k in counts if k < n]
        if short:
            yield f"{metric.study_label} is there for {', '.join(short)} of {n:,}"


def records(
    compared: ComparedRuns, wanted: Mapping[tuple[str, str], Collection[str]]
) -> dict[tuple[str, str], dict[str, dict[str, Any]]]:
    """Return the records of some studies, by model and rubric, then by study id."""
    by_run = {}
    for index, run in enumerate(compared.runs):
        key = (run.model, run.rubric)
        study_ids = wanted.get(key)
        if study_ids:
            by_run[key] = compared.aligned.records(index, study_ids)
    return by_run


def comparison_signature(
    compared: ComparedRuns, how: Resampling | None, by: Sequence[str]
) -> str:
    """Return one line that names everything that changes a number of the comparison."""
    lines = sorted(f"{run.model}\t{run.run.signature}" for run in compared.runs)
    judges = sorted({f"{run.rubric}={run.judge}" for run in compared.runs})
    panel = compared.panel
    parts = [
        "compare:1",
        f"models:{len(panel.models)}",
        f"runs:{len(lines)}+{_digest(lines)}",
        f"judge:{','.join(judges)}",
        f"studies:{len(panel.study_ids)}+{_digest(sorted(panel.study_ids))}",
        *compared.signature_parts,
        f"by:{'+'.join(by) or 'none'}",
        f"patient:{panel.patient_field or 'none'}",
    ]
    if how:
        flips = f"{how.flips}"
        if how.refined_flips is not None:
            flips += f"+{how.refined_flips}"
        parts += [
            f"resamples:{how.resamples}",
            f"flips:{flips}",
            f"seed:{how.seed}",
            f"family:{how.family}",
            f"primary:{how.primary or 'none'}",
            f"numpy:{version('numpy')}",
        ]
    elif any(metric.statistic.is_resampled for metric in panel.metrics):
        parts += panel.draws.parts
    parts.append(f"version:{plugins.version()}")
    return signature_line(parts)


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]

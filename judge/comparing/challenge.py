"""The ReXrank challenge: one comparison for each section, over the runs of all data sets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judge.comparing.alignment import RunChoice, model_of_run
from judge.comparing.comparison import (
    ComparedRun,
    ComparedRuns,
    comparison_signature,
    read_scores,
)
from judge.comparing.metric_files import MetricFile
from judge.running.folder import RunFolder
from judge.stats.intervals import Codes, mean_interval, units_of
from judge.stats.metric import Metric
from judge.stats.scores import ScoreMatrix, groups_of
from judge.stats.significance import Comparison, compare
from judge.stats.statistic import OfMean
from judge.types import JudgeError

NORMAL, ABNORMAL = "normal", "abnormal"
ALL_DATASETS = "all data sets"


def challenge_comparisons(
    choices: Sequence[RunChoice],
    *,
    sort: str | None = None,
    allow: Collection[str] = (),
    patient_field: str | None = None,
    metrics: Sequence[MetricFile] = (),
) -> dict[str, Comparison]:
    """Compare models over data sets, by section; raises `JudgeError` as `read_scores` does."""
    sections: dict[str, dict[str, list[tuple[str, RunChoice]]]] = {}
    for choice in choices:
        run = RunFolder.open(choice.path)
        datasets = sections.setdefault(run.manifest.section, {})
        model = choice.model or model_of_run(run)
        datasets.setdefault(_dataset_of(run), []).append((model, choice))
    comparisons = {}
    for section, datasets in sections.items():
        parts = {}
        for dataset, named in datasets.items():
            named.sort(key=lambda pair: pair[0])  # one order of models in all data sets
            chosen = [choice for _, choice in named]
            parts[dataset] = read_scores(
                chosen,
                allow=allow,
                patient_field=patient_field,
                metrics=metrics,
            )
        runs = _joined(parts)
        fields = runs.panel.fields
        if not {NORMAL, ABNORMAL} <= set(fields.get("study_class", ())):
            raise JudgeError(
                f"{section}: the challenge compares normal with abnormal studies"
            )
        by = ["study_class"]
        if "dataset" in fields:
            by.append("dataset")
        comparisons[section] = compare(
            runs.panel,
            sort=sort,
            by=by,
            signature=comparison_signature(runs, None, by),
            notes=runs.notes,
        )
    return comparisons


CHALLENGE_AXES = ("data", "model", "section", "rubric")
"""What the runs of an experiment may differ in that make a challenge."""


def _dataset_of(run: RunFolder) -> str:
    """Return the data set of a run, empty where the field of its studies has it."""
    experiment = run.manifest.experiment
    if experiment is not None and experiment.data:
        return experiment.data
    if "dataset" in run.manifest.fields:
        return ""
    file = run.manifest.input_of("refs")
    if file is None:
        return ""
    name, _, _ = Path(file.path).name.partition(".")
    return name.removeprefix("refs_")


def _joined(parts: Mapping[str, ComparedRuns]) -> ComparedRuns:
    """Return the runs of several data sets as one, with the data set's name in each study id."""
    (first_name, first), *others = parts.items()
    if not others:
        return first
    for name, part in others:
        has_same_models = part.panel.models == first.panel.models
        has_same_metrics = part.panel.metrics == first.panel.metrics
        if not (has_same_models and has_same_metrics):
            differing = set(part.panel.models) ^ set(first.panel.models)
            what = "same rubrics"
            if differing:
                what = f"models {', '.join(sorted(differing))}"
            raise JudgeError(
                f"{first_name} and {name} do not both have the {what}: give one run for each "
                "model, rubric and data set"
            )
    panels = {name: part.panel for name, part in parts.items()}
    fields: dict[str, list[object]] = {"dataset": []}
    for panel in panels.values():
        for name in panel.fields:
            fields.setdefault(name, [])
    units: list[Codes] = []
    n_units = 0
    study_ids: list[str] = []
    patient_field = None
    for dataset, panel in panels.items():
        n_studies = len(panel.study_ids)
        for name, column in fields.items():
            usual: list[object] = [None] * n_studies
            if name == "dataset":
                usual = [dataset] * n_studies
            column += panel.fields.get(name, usual)
        # Patients of two data sets are two patients, whatever their numbers are.
        units_of_dataset = units_of(panel.clusters, n_studies) + n_units
        n_units = int(units_of_dataset.max()) + 1
        units.append(units_of_dataset)
        study_ids += [f"{dataset}/{study}" for study in panel.study_ids]
        patient_field = patient_field or panel.patient_field
    clusters = None
    if patient_field:
        clusters = np.concatenate(units)
    runs: list[ComparedRun] = []
    notes: dict[str, None] = {}
    for part in parts.values():
        runs += part.runs
        notes |= dict.fromkeys(part.notes)
    panel = replace(
        first.panel,
        study_ids=tuple(study_ids),
        values=_stacked([panel.values for panel in panels.values()], axis=0),
        fields={field: tuple(column) for field, column in fields.items()},
        clusters=clusters,
        patient_field=patient_field,
        per=_stacked([panel.per for panel in panels.values()], axis=0),
        tallies=_stacked([panel.tallies for panel in panels.values()], axis=2),
    )
    return replace(first, panel=panel, runs=tuple(runs), notes=tuple(notes))


def _stacked(grids: Sequence[Mapping[str, Any]], axis: int) -> dict[str, Any]:
    stacked = {}
    for name in grids[0]:
        stacked[name] = np.concatenate([grid[name] for grid in grids], axis)
    return stacked


def challenge_metrics(comparison: Comparison) -> list[Metric]:
    """Return the metrics that the challenge prints: scores and rates, no counts of errors."""
    metrics = []
    for metric in comparison.panel.metrics:
        is_of_mean = isinstance(metric.statistic, OfMean)
        if is_of_mean and metric.what != "count":
            metrics.append(metric)
    return metrics


def challenge_figures(comparison: Comparison) -> pd.DataFrame:
    """Return one row a data set, class, model and metric; first those of all data sets.

    `plus_minus` is 1.96 standard errors of `value`, as ReXrank prints them. `gain`, in the rows of
    normal studies, is (normal - abnormal) / abnormal of a figure of which more is better.
    """
    panel = comparison.panel
    parts = groups_of(panel, ["study_class"])
    if "dataset" in panel.fields:
        parts += groups_of(panel, ["dataset", "study_class"])
    metrics = challenge_metrics(comparison)
    rows = []
    for key, part in parts:
        for model, name in enumerate(panel.models):
            for metric in metrics:
                row = {
                    "dataset": key.get("dataset", ALL_DATASETS),
                    "study_class": key["study_class"],
                    "model": name,
                    "metric": metric.name,
                    **_figure(part, model, metric),
                }
                rows.append(row)
    frame = pd.DataFrame(rows)
    keys = ["dataset", "model", "metric"]
    is_normal = frame["study_class"] == NORMAL
    is_abnormal = frame["study_class"] == ABNORMAL
    by_keys = frame[is_abnormal].set_index(keys)["value"]
    # The figure of the abnormal studies beside each row's.
    rows_by_keys = pd.MultiIndex.from_frame(frame[keys])
    abnormal = by_keys.reindex(rows_by_keys).to_numpy()
    higher = {metric.name for metric in panel.metrics if metric.higher_is_better}
    has_gain = is_normal & frame["metric"].isin(higher) & (abnormal > 0)
    gain = (frame["value"] - abnormal) / abnormal
    frame["gain"] = gain.where(has_gain)
    return frame


def _figure(part: ScoreMatrix, model: int, metric: Metric) -> dict[str, float | None]:
    column = part.values[metric.name][:, model]
    known = ~np.isnan(column)
    units = None
    if part.clusters is not None and part.is_clustered:
        units = part.clusters[known]
    estimate = mean_interval(column[known], None, units)
    if estimate.value and isinstance(metric.statistic, OfMean):
        # ReXrank's standard errors know no scale.
        statistic = replace(metric.statistic, scale=None)
        estimate = statistic.of_mean(estimate)
    half = None
    if estimate.high is not None and estimate.value is not None:
        half = estimate.high - estimate.value
    return {"n": estimate.n, "value": estimate.value, "plus_minus": half}

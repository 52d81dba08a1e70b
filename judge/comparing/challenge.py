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
            parts[dataset] = read_scores(chosen, (), allow, patient_field, metrics)
        runs = _joined(parts)
        fields = runs.panel.fields
        if not {NORMAL, ABNORMAL} <= set(fields.get("study_class", ())):
            raise JudgeError(
                f"{section}: the challenge compares normal with abnormal studies"
            )
        by = ["study_class", *(["dataset"] if "dataset" in fields else [])]
        line = comparison_signature(runs, None, by)
        made = compare(runs.panel, sort=sort, by=by, signature=line, notes=runs.notes)
        comparisons[section] = made
    return comparisons


def _dataset_of(run: RunFolder) -> str:
    """Return the data set of a run, empty where the field of its studies has it."""
    if "dataset" in run.manifest.fields:
        return ""
    file = run.manifest.input_of("refs")
    name = Path(file.path).name if file else ""
    return name.partition(".")[0].removeprefix("refs_")


def _joined(parts: Mapping[str, ComparedRuns]) -> ComparedRuns:
    """Return the runs of several data sets as one, with the data set's name in each study id."""
    (first_name, first), *others = parts.items()
    if not others:
        return first
    for name, part in others:
        if (part.panel.models, part.panel.metrics) != (
            first.panel.models,
            first.panel.metrics,
        ):
            differing = {*part.panel.models} ^ {*first.panel.models}
            what = (
                f"models {', '.join(sorted(differing))}"
                if differing
                else "same rubrics"
            )
            raise JudgeError(
                f"{first_name} and {name} do not both have the {what}: give one run for each "
                "model, rubric and data set"
            )
    panels = {name: part.panel for name, part in parts.items()}
    fields: dict[str, list[object]] = {"dataset": []}
    for panel in panels.values():
        for name in panel.fields:
            fields.setdefault(name, [])
    clusters: list[Codes] = []
    for dataset, panel in panels.items():
        for name, column in fields.items():
            usual = [dataset if name == "dataset" else None] * len(panel.study_ids)
            column += panel.fields.get(name, usual)
        units = units_of(panel.clusters, len(panel.study_ids))
        clusters.append(units + (clusters[-1].max() + 1 if clusters else 0))
    patient_field = next(
        (p.patient_field for p in panels.values() if p.patient_field), None
    )
    study_ids: list[str] = []
    for dataset, panel in panels.items():
        study_ids += [f"{dataset}/{study}" for study in panel.study_ids]
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
        clusters=np.concatenate(clusters) if patient_field else None,
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
    metrics = comparison.panel.metrics
    return [
        metric
        for metric in metrics
        if metric.what != "count" and isinstance(metric.statistic, OfMean)
    ]


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
    abnormal = frame[frame["study_class"] == ABNORMAL].set_index(keys)["value"]
    of_same = abnormal.reindex(pd.MultiIndex.from_frame(frame[keys])).to_numpy()
    higher = {metric.name for metric in panel.metrics if metric.higher_is_better}
    has_gain = (
        (frame["study_class"] == NORMAL) & frame["metric"].isin(higher) & (of_same > 0)
    )
    frame["gain"] = ((frame["value"] - of_same) / of_same).where(has_gain)
    return frame


def _figure(part: ScoreMatrix, model: int, metric: Metric) -> dict[str, float | None]:
    column = part.values[metric.name][:, model]
    known = ~np.isnan(column)
    units = (
        part.clusters[known]
        if part.clusters is not None and part.is_clustered
        else None
    )
    mean = mean_interval(column[known], None, units)
    if mean.value and isinstance(metric.statistic, OfMean):
        # ReXrank's standard errors know no scale.
        mean = replace(metric.statistic, scale=None).of_mean(mean)
    half = None if mean.high is None or mean.value is None else mean.high - mean.value
    return {"n": mean.n, "value": mean.value, "plus_minus": half}

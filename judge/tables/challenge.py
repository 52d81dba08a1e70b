"""The figures and tables of the ReXrank challenge, as files for a paper."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from judge.comparing.challenge import NORMAL, challenge_figures, challenge_metrics
from judge.figures import specs
from judge.figures.comparison import comparison_figures, model_names
from judge.figures.files import Figure, FigureSet, flat, with_unique_names, write_figures
from judge.signature import safe_name
from judge.stats.metric import Metric
from judge.stats.significance import Comparison
from judge.tables.document import Cell, Column, Estimate, Table
from judge.tables.latex import latex_table
from judge.tables.rexrank import ModelInfo, rexrank_files, write_texts


def write_challenge(
    comparisons: Mapping[str, Comparison], folder: Path, info: ModelInfo
) -> list[Path]:
    """Write a folder for each section: figures, `tables.tex`, `tables.csv`, ReXrank's columns."""
    files: list[Path] = []
    for section, comparison in comparisons.items():
        place = folder / safe_name(section)
        frame = challenge_figures(comparison)
        files += write_figures(_figures(comparison, frame), place)
        texts = rexrank_files(comparison, info) | {
            "tables.csv": frame.assign(signature=comparison.signature).to_csv(index=False),
            "tables.tex": _latex(comparison, frame, section),
        }
        files += write_texts(texts, place)
    return files


def _figures(comparison: Comparison, frame: pd.DataFrame) -> FigureSet:
    figures = comparison_figures(comparison)
    by_number = model_names(comparison)
    names = [by_number[model] for model in comparison.order]
    panels = list(dict.fromkeys(frame["dataset"]))
    gains = []
    for metric in challenge_metrics(comparison):
        values = frame[(frame["metric"] == metric.name) & (frame["study_class"] == NORMAL)]
        rows = [
            {"panel": row["dataset"], "name": flat(row["model"]), "series": ""}
            | {"value": None if pd.isna(row["gain"]) else row["gain"], "low": None, "high": None}
            for row in values.to_dict("records")
        ]
        if any(row["value"] is not None for row in rows):
            title = f"Relative gain of normal over abnormal studies: {metric.label}"
            caption = f"{title}, (normal - abnormal) / abnormal, per model and data set."
            axis = "(normal - abnormal) / abnormal"
            spec = specs.dots(title, rows, names=names, panels=panels, axis=axis, percent=True)
            gains.append(Figure(f"gain_{metric.name}", title, caption, spec))
    return replace(figures, figures=with_unique_names([*figures.figures, *gains]))


def _latex(comparison: Comparison, frame: pd.DataFrame, section: str) -> str:
    metrics = challenge_metrics(comparison)
    order = [comparison.panel.models[model] for model in comparison.order]
    tables = [
        _table(f"{dataset}, {study_class}, {section}", part, metrics, order)
        for (dataset, study_class), part in frame.groupby(["dataset", "study_class"], sort=False)
    ]
    gains = frame[frame["study_class"] == NORMAL].assign(value=frame["gain"], plus_minus=None)
    tables += [
        _table(f"relative gain of normal over abnormal, {dataset}, {section}", part, metrics, order)
        for dataset, part in gains.groupby("dataset", sort=False)
    ]
    head = [r"% needs \usepackage{booktabs}; $\pm$ is 1.96 standard errors, the best is bold"]
    return "\n\n".join([*head, *tables, f"% signature {comparison.signature}"]) + "\n"


def _table(title: str, frame: pd.DataFrame, metrics: Sequence[Metric], order: Sequence[str]) -> str:
    """Return a row a model, in the order of the whole comparison, and a column a metric."""
    figures = {(row["model"], row["metric"]): row for row in frame.to_dict("records")}
    columns = [Column("model", "model")]
    for metric in metrics:
        better: Literal["high", "low"] = "high" if metric.higher_is_better else "low"
        digits = 1 if metric.kind == "rate" else 3
        columns.append(Column(metric.name, metric.label, "plus_minus", better, digits))
    rows: list[tuple[Cell, ...]] = [
        (model, *(_cell(figures[model, metric.name], metric) for metric in metrics))
        for model in order
    ]
    return latex_table(Table("challenge", title, columns, rows))


def _cell(figure: Mapping[Hashable, Any], metric: Metric) -> Estimate:
    value, plus_minus = figure["value"], figure["plus_minus"]
    if pd.isna(value):
        return Estimate(None)
    scale = 100 if metric.kind == "rate" else 1
    high = None if pd.isna(plus_minus) else scale * (value + plus_minus)
    return Estimate(scale * value, high=high)

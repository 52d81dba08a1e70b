"""The figures and tables of the ReXrank challenge, as files for a paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from judge.comparing.challenge import (
    NORMAL,
    challenge_figures,
    challenge_metrics,
)
from judge.figures import specs
from judge.figures.comparison import comparison_figures
from judge.figures.figure import Figure, FigureSet, short_names, with_unique_names
from judge.figures.files import write_figures
from judge.signature import safe_name
from judge.stats.metric import Metric
from judge.stats.significance import Comparison
from judge.tables.latex import escaped
from judge.tables.rexrank import ModelInfo, write_rexrank
from judge.types import JudgeError


def write_challenge(
    comparisons: Mapping[str, Comparison], folder: Path, info: ModelInfo, top_sites: int
) -> list[Path]:
    """Write a folder for each section: figures, `tables.tex`, `tables.csv`, ReXrank's columns."""
    files: list[Path] = []
    for section, comparison in comparisons.items():
        place = folder / safe_name(section)
        frame = challenge_figures(comparison)
        files += write_figures(_figures(comparison, frame, top_sites), place)
        files += write_rexrank(comparison, place, info)
        texts = {
            "tables.csv": frame.assign(signature=comparison.signature).to_csv(index=False),
            "tables.tex": _latex(comparison, frame, section),
        }
        for name, text in texts.items():
            try:
                (place / name).write_text(text, "utf-8")
            except OSError as error:
                raise JudgeError(f"cannot write to {place}: {error.strerror}") from error
            files.append(place / name)
    return files


def _figures(comparison: Comparison, frame: pd.DataFrame, top_sites: int) -> FigureSet:
    figures = comparison_figures(comparison, top_sites=top_sites)
    models = [comparison.panel.models[model] for model in comparison.order]
    names = short_names(models)
    panels = list(dict.fromkeys(frame["dataset"]))
    gains = []
    for metric in challenge_metrics(comparison):
        values = frame[(frame["metric"] == metric.name) & (frame["study_class"] == NORMAL)]
        rows = [
            {"panel": row["dataset"], "name": names[models.index(row["model"])], "series": ""}
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
    columns = []
    for metric in metrics:
        part = frame[frame["metric"] == metric.name].set_index("model").loc[list(order)]
        best = float(part["value"].max() if metric.higher_is_better else part["value"].min())
        figures = zip(part["value"].tolist(), part["plus_minus"].tolist(), strict=True)
        columns.append([_cell(value, half, metric, best) for value, half in figures])
    lines = [
        f"% {title.replace(chr(10), ' ')}",
        rf"\begin{{tabular}}{{l{'r' * len(metrics)}}}",
        r"\toprule",
        " & ".join(["model", *(escaped(metric.label) for metric in metrics)]) + r" \\",
        r"\midrule",
        *(
            " & ".join([escaped(model), *cells]) + r" \\"
            for model, *cells in zip(order, *columns, strict=True)
        ),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


def _cell(value: float, plus_minus: float | None, metric: Metric, best: float) -> str:
    if math.isnan(value):
        return "n/a"
    scale, digits = (100, 1) if metric.kind == "rate" else (1, 3)
    text = f"{scale * value:z.{digits}f}"
    if plus_minus is not None and not math.isnan(plus_minus):
        text += rf" $\pm$ {scale * plus_minus:.{digits}f}"
    return rf"\textbf{{{text}}}" if abs(value - best) <= 1e-12 * abs(best) else text

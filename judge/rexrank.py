"""A comparison in the columns of ReXrank's result tables, and the files of its challenge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from judge.comparing.challenge import NORMAL, challenge_figures, challenge_metrics
from judge.figures.comparison import comparison_figures
from judge.figures.files import draw_figures, write_figures
from judge.files import cannot_write, replacing
from judge.signature import safe_name
from judge.stats.metric import REXRANK_COLUMNS, Metric
from judge.stats.scores import Group
from judge.stats.significance import Comparison, model_order
from judge.studies.load import load
from judge.tables.forms import latex, latex_row, latex_tabular, rows_as_csv
from judge.tables.kinds import figure_kind, printed
from judge.text import number
from judge.types import JudgeError

# By model, the columns of ReXrank's tables that no run has.
ModelInfo = Mapping[str, Mapping[str, str]]
_INFO_COLUMNS = {"Date": "date", "Institution": "institution", "Model URL": "url"}
_HEAD = ("Rank", "Date", "Model Name", "Institution", "Model URL")


def read_model_info(path: str) -> ModelInfo:
    """Read each model's date, institution and URL; raises `JudgeError` where none is there."""
    frame = load(path, "model info").frame
    columns = {str(name).strip().lower(): list(frame[name]) for name in frame.columns}
    models = map(str, columns.get("model", frame.index))
    known = {
        name: columns[key] for name, key in _INFO_COLUMNS.items() if key in columns
    }
    if not known:
        raise JudgeError(f"{path} needs the columns model, date, institution and url")
    return {
        model: {name: str(cells[row] or "") for name, cells in known.items()}
        for row, model in enumerate(models)
    }


def as_rexrank(
    comparison: Comparison, info: ModelInfo, group: Group | None = None
) -> str:
    """Return the figures of a group by rank in ReXrank's columns; others are empty."""
    group = group or comparison.groups[0]
    metrics = {
        metric.rexrank: metric.name
        for metric in comparison.panel.metrics
        if metric.rexrank
    }
    rows = []
    for model in model_order(group, comparison.sort):
        name, rank = (
            comparison.panel.models[model],
            group.ranks[comparison.sort][model],
        )
        row: dict[str, object] = dict.fromkeys((*_HEAD, *REXRANK_COLUMNS), "")
        row |= {"Rank": rank or "", "Model Name": name, **info.get(name, {})}
        for column, metric in metrics.items():
            estimate = group.estimates[metric][model]
            row[column] = "" if estimate.value is None else printed(estimate).number
        rows.append(row)
    return rows_as_csv(rows)


def write_rexrank(comparison: Comparison, info: ModelInfo, folder: Path) -> list[Path]:
    """Write `rexrank.csv` of all studies and a `rexrank_GROUP.csv` for each group."""
    texts: dict[str, str] = {}
    for group in comparison.groups:
        name = "_".join(
            ["rexrank", *(safe_name(str(value)) for value in group.key.values())]
        )
        while f"{name}.csv".lower() in map(str.lower, texts):
            name += "-2"
        texts[f"{name}.csv"] = as_rexrank(comparison, info, group) + "\n"
    return _write(texts, folder)


def _write(texts: Mapping[str, str], folder: Path) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    for name, text in texts.items():
        with replacing(folder / name) as staged:
            staged.write_text(text, "utf-8")
    return [folder / name for name in texts]


def write_challenge(
    comparisons: Mapping[str, Comparison], folder: Path, info: ModelInfo
) -> list[Path]:
    """Write a folder for each section: figures, `tables.tex`, `tables.csv`, ReXrank's columns."""
    files: list[Path] = []
    for section, comparison in comparisons.items():
        place = folder / safe_name(section)
        frame = challenge_figures(comparison)
        files += write_figures(draw_figures(comparison_figures(comparison)), place)
        files += write_rexrank(comparison, info, place)
        table = frame.assign(signature=comparison.signature).to_csv(index=False)
        latex_tables = _latex(comparison, frame, section)
        files += _write({"tables.csv": table, "tables.tex": latex_tables}, place)
    return files


def _latex(comparison: Comparison, frame: pd.DataFrame, section: str) -> str:
    models = [comparison.panel.models[model] for model in comparison.order]
    parts = {
        f"{dataset}, {study_class}, {section}": part
        for (dataset, study_class), part in frame.groupby(
            ["dataset", "study_class"], sort=False
        )
    }
    gains = frame[frame["study_class"] == NORMAL].assign(
        value=frame["gain"], plus_minus=None
    )
    parts |= {
        f"relative gain of normal over abnormal, {dataset}, {section}": part
        for dataset, part in gains.groupby("dataset", sort=False)
    }
    metrics = challenge_metrics(comparison)
    head = [
        r"% needs \usepackage{booktabs}; $\pm$ is 1.96 standard errors, the best is bold"
    ]
    tables = [_table(title, part, metrics, models) for title, part in parts.items()]
    return "\n\n".join([*head, *tables, f"% signature {comparison.signature}"]) + "\n"


def _table(
    title: str, frame: pd.DataFrame, metrics: Sequence[Metric], models: Sequence[str]
) -> str:
    """Return a row a model, in the order of the whole comparison, and a column a metric."""
    cells = {metric.name: _column(frame, metric, models) for metric in metrics}
    labels = [latex(metric.label) for metric in metrics]
    body = []
    for model in models:
        figures = [column[model] for column in cells.values()]
        body.append(latex_row([latex(model), *figures]))
    return latex_tabular(
        title=title,
        columns="l" + "r" * len(metrics),
        head=[latex_row(["model", *labels])],
        body=body,
    )


def _column(
    frame: pd.DataFrame, metric: Metric, models: Sequence[str]
) -> dict[str, str]:
    """Return a metric's figures by model as LaTeX, the best in bold."""
    figures = frame[frame["metric"] == metric.name].set_index("model").loc[list(models)]
    kind = figure_kind(is_share=metric.is_share)
    scale, digits = kind.factor, kind.digits()
    values = (scale * figures["value"].astype(float)).round(digits)
    best = values.max() if metric.higher_is_better else values.min()
    cells = {}
    for model, value, half in zip(models, values, figures["plus_minus"], strict=True):
        text = number(value, digits)
        if not pd.isna(half):
            text += rf" $\pm$ {scale * half:.{digits}f}"
        text = rf"\textbf{{{text}}}" if value == best else text
        cells[model] = "n/a" if pd.isna(value) else text
    return cells

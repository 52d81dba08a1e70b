"""A comparison in the columns of ReXrank's result tables, and the files of its challenge."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from judge.comparing.alignment import RunChoice
from judge.comparing.comparison import compare_runs
from judge.comparing.metric_files import MetricFile
from judge.figures.comparison import comparison_figures
from judge.figures.files import write_figures
from judge.running.folder import Run
from judge.signature import safe_name
from judge.stats.intervals import inverse, mean_interval
from judge.stats.metric import REXRANK_COLUMNS, Metric
from judge.stats.scores import Group, ScoreMatrix, groups_of
from judge.stats.significance import Comparison, model_order
from judge.studies.load import load
from judge.tables.forms import rows_as_csv
from judge.types import JudgeError

ModelInfo = Mapping[str, Mapping[str, str]]
"""By model, the columns of ReXrank's tables that no run has."""

_INFO_COLUMNS = {"date": "Date", "institution": "Institution", "url": "Model URL"}
_HEAD = ("Rank", "Date", "Model Name", "Institution", "Model URL")


def read_model_info(path: str) -> ModelInfo:
    """Read the date, institution and URL of each model from a CSV or JSON file.

    A CSV has the columns `model`, `date`, `institution` and `url`; JSON may have the same in
    objects by model. Raises `JudgeError` for a file without any of the three.
    """
    frame = load(path, "model info").rename(columns=lambda name: str(name).strip().lower())
    if "model" in frame:
        frame = frame.set_index("model")
    known = frame[[name for name in _INFO_COLUMNS if name in frame]].rename(columns=_INFO_COLUMNS)
    if known.empty:
        raise JudgeError(f"{path} needs the columns model, date, institution and url")
    known.index = known.index.map(str)
    texts = known.map(lambda cell: str(cell or ""))
    return texts[~texts.index.duplicated(keep="last")].to_dict("index")


def as_rexrank(
    comparison: Comparison, info: ModelInfo | None = None, group: Group | None = None
) -> str:
    """Return the figures of a group, by default of all studies, as ReXrank's tables have them.

    Figures have three decimals, and models come in the order of their rank. Columns of metrics
    that were not computed are empty, as are those of `info` without it.
    """
    group = group or comparison.groups[0]
    metrics = {metric.rexrank: metric.name for metric in comparison.panel.metrics if metric.rexrank}
    rows = []
    for model in model_order(group, comparison.sort):
        name = comparison.panel.models[model]
        row: dict[str, object] = dict.fromkeys((*_HEAD, *REXRANK_COLUMNS), "")
        row["Rank"] = group.cells[comparison.sort][model].rank or ""
        row["Model Name"] = name
        row |= (info or {}).get(name, {})
        for column, metric in metrics.items():
            value = group.cells[metric][model].value
            row[column] = "" if value is None else f"{value:z.3f}"
        rows.append(row)
    return rows_as_csv(rows)


def rexrank_files(comparison: Comparison, info: ModelInfo | None = None) -> dict[str, str]:
    """Return `rexrank.csv` of all studies and a `rexrank_GROUP.csv` for each group, by name."""
    files: dict[str, str] = {}
    for group in comparison.groups:
        name = "_".join(["rexrank", *(safe_name(str(value)) for value in group.key.values())])
        while f"{name}.csv".lower() in map(str.lower, files):
            name += "-2"
        files[f"{name}.csv"] = as_rexrank(comparison, info, group) + "\n"
    return files


def write_texts(texts: Mapping[str, str], folder: Path) -> list[Path]:
    """Write files into a folder that is made where it is missing; return their paths."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, "utf-8")
    except OSError as error:
        raise JudgeError(f"cannot write to {folder}: {error.strerror}") from error
    return [folder / name for name in texts]


def challenge_comparisons(
    choices: Sequence[RunChoice],
    *,
    sort: str | None = None,
    allow: Collection[str] = (),
    patient_field: str | None = None,
    metrics: Sequence[MetricFile] = (),
) -> dict[str, Comparison]:
    """Compare models by class and by the field `dataset`, for each section that was judged.

    Raises `JudgeError` for studies without a class or a data set, and as `compare_runs` does.
    """
    sections: dict[str, list[RunChoice]] = {}
    for choice in choices:
        sections.setdefault(str(Run(choice.path).manifest["section"]), []).append(choice)
    return {
        section: compare_runs(
            of_section,
            None,
            sort=sort,
            by=["study_class", "dataset"],
            allow=allow,
            patient_field=patient_field,
            metrics=metrics,
        )[1]
        for section, of_section in sections.items()
    }


def write_challenge(
    comparisons: Mapping[str, Comparison], folder: Path, info: ModelInfo, top_sites: int
) -> list[Path]:
    """Write a folder for each section: figures, `tables.csv` and ReXrank's columns."""
    files: list[Path] = []
    for section, comparison in comparisons.items():
        place = folder / safe_name(section)
        figures = comparison_figures(comparison, top_sites=top_sites)
        files += write_figures(figures, place)
        tables = _frame(comparison).assign(signature=comparison.signature).to_csv(index=False)
        files += write_texts({**rexrank_files(comparison, info), "tables.csv": tables}, place)
    return files


def _frame(comparison: Comparison) -> pd.DataFrame:
    """Return one row a data set, class, model, and score or rate; first those of all data sets.

    `plus_minus` is 1.96 standard errors of `value`, as ReXrank prints them. `gain`, in the rows of
    normal studies, is (normal - abnormal) / abnormal of a figure of which more is better.
    """
    panel = comparison.panel
    metrics = [m for m in panel.metrics if m.what != "count" and m.kind != "ratio"]
    parts = [*groups_of(panel, ["study_class"]), *groups_of(panel, ["dataset", "study_class"])]
    frame = pd.DataFrame(
        {
            "dataset": key.get("dataset", "all data sets"),
            "study_class": key["study_class"],
            "model": name,
            "metric": metric.name,
            **_figure(part, model, metric),
        }
        for key, part in parts
        for model, name in enumerate(panel.models)
        for metric in metrics
    )
    keys = ["dataset", "model", "metric"]
    abnormal = frame[frame["study_class"] == "abnormal"].set_index(keys)["value"]
    of_same = abnormal.reindex(pd.MultiIndex.from_frame(frame[keys])).to_numpy()
    higher = [metric.name for metric in metrics if metric.higher_is_better]
    has_gain = (frame["study_class"] == "normal") & frame["metric"].isin(higher) & (of_same > 0)
    frame["gain"] = ((frame["value"] - of_same) / of_same).where(has_gain)
    return frame


def _figure(part: ScoreMatrix, model: int, metric: Metric) -> dict[str, float | None]:
    column = part.values[metric.name][:, model]
    known = ~np.isnan(column)
    units = part.clusters[known] if part.clusters is not None and part.is_clustered else None
    mean = mean_interval(column[known], None, units)
    mean = inverse(mean) if metric.kind == "inverse" and mean.value else mean
    half = None if mean.high is None or mean.value is None else mean.high - mean.value
    return {"n": mean.n, "value": mean.value, "plus_minus": half}

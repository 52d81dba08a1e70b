"""A comparison in the columns of ReXrank's result tables, and the files of its challenge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from judge.comparing.alignment import RunChoice
from judge.comparing.comparison import compare_runs
from judge.figures.comparison import comparison_figures
from judge.figures.files import write_figures
from judge.files import replacing
from judge.running.folder import Run
from judge.signature import safe_name
from judge.stats.metric import REXRANK_COLUMNS
from judge.stats.scores import Group
from judge.stats.significance import Comparison, model_order
from judge.tables.comparison import comparison_document
from judge.tables.forms import as_csv, rows_as_csv

_BY = ("study_class", "dataset", "dataset,study_class")
_HEAD = ("Rank", "Date", "Model Name", "Institution", "Model URL")


def as_rexrank(comparison: Comparison, group: Group | None = None) -> str:
    """Return the figures of a group by rank in ReXrank's columns; others are empty."""
    group = group or comparison.groups[0]
    metrics = {metric.rexrank: metric.name for metric in comparison.panel.metrics if metric.rexrank}
    rows = []
    for model in model_order(group, comparison.sort):
        row: dict[str, object] = dict.fromkeys((*_HEAD, *REXRANK_COLUMNS), "")
        row["Rank"] = group.cells[comparison.sort][model].rank or ""
        row["Model Name"] = comparison.panel.models[model]
        for column, metric in metrics.items():
            value = group.cells[metric][model].value
            row[column] = "" if value is None else f"{value:z.3f}"
        rows.append(row)
    return rows_as_csv(rows)


def _by_group(comparison: Comparison) -> dict[str, str]:
    """Return `rexrank.csv` of all studies and a `rexrank_GROUP.csv` for each group, by name."""
    files: dict[str, str] = {}
    for group in comparison.groups:
        name = "_".join(["rexrank", *(safe_name(str(value)) for value in group.key.values())])
        while f"{name}.csv".lower() in map(str.lower, files):
            name += "-2"
        files[f"{name}.csv"] = as_rexrank(comparison, group) + "\n"
    return files


def challenge_comparisons(choices: Sequence[RunChoice], **options: Any) -> dict[str, Comparison]:  # noqa: ANN401
    """Compare models by class and `dataset`, for each section; `options` as of `compare_runs`."""
    sections: dict[str, list[RunChoice]] = {}
    for choice in choices:
        sections.setdefault(str(Run(choice.path).manifest["section"]), []).append(choice)
    return {
        section: compare_runs(of_section, None, by=_BY, **options)[1]
        for section, of_section in sections.items()
    }


def write_challenge(comparisons: Mapping[str, Comparison], folder: Path) -> list[Path]:
    """Write a folder for each section: figures, `tables.csv` and ReXrank's columns."""
    files: list[Path] = []
    for section, comparison in comparisons.items():
        place = folder / safe_name(section)
        files += write_figures(comparison_figures(comparison), place)
        tables = as_csv(comparison_document(comparison, complete=True)) + "\n"
        for name, text in {**_by_group(comparison), "tables.csv": tables}.items():
            with replacing(place / name) as staged:
                staged.write_text(text, "utf-8")
            files.append(place / name)
    return files

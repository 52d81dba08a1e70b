"""One comparison in a process of its own: `python -m judge.service.compared FOLDER`.

What is to be compared comes in one line of JSON on standard input. The pieces of the page
and the whole as JSON go into the folder; then one line on standard output says that they
are there, or why not, and the figures follow.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from judge.comparing.comparison import compare_runs
from judge.comparing.names import RunChoice
from judge.comparing.opened import Opened
from judge.plots import available, page_figures
from judge.report import leaderboard_formats
from judge.report.compare_page import data
from judge.report.compare_page.packing import coded
from judge.report.page.packing import as_json
from judge.service.pieces import COLUMNS, FIGURES, OVERVIEW, WHOLE, figure_file, values_file
from judge.stats.compare import Comparison
from judge.stats.paired import Resampling
from judge.types import JudgeError


def main() -> None:
    """Compare into the folder that the command line names."""
    folder, asked = Path(sys.argv[1]), json.loads(sys.stdin.readline())
    try:
        opened, comparison = compared(asked)
    except JudgeError as error:
        print(json.dumps({"detail": _without_paths(str(error), asked)}), flush=True)
        return
    for name, content in _pieces(opened, comparison):
        (folder / name).write_bytes(content)
    print("{}", flush=True)
    figures = page_figures(comparison) if available() else ()
    for at, figure in enumerate(figures):
        (folder / figure_file(at)).write_bytes(figure.svg.encode())
    # Last, since it says that all of them are there.
    (folder / FIGURES).write_bytes(as_json([figure.words for figure in figures]))


def _without_paths(text: str, asked: Mapping[str, Any]) -> str:
    """Return what is said of a damaged run without where it is kept."""
    for run in sorted(asked["runs"], key=lambda run: -len(run["path"])):
        text = text.replace(run["path"], run["id"])
    return text


def compared(asked: Mapping[str, Any]) -> tuple[Opened, Comparison]:
    """Compare as `judge compare` does; raises `JudgeError` where it would say why not."""
    choices = [RunChoice(Path(run["path"]), run["id"], run["model"]) for run in asked["runs"]]
    return compare_runs(
        choices,
        Resampling(**asked["how"]) if asked["tests"] else None,
        sort=asked["sort"],
        by=asked["by"],
        common=asked["common"],
        allow=asked["allow"],
        patient_field=asked["patient_field"],
    )


def _pieces(opened: Opened, c: Comparison) -> Iterator[tuple[str, bytes]]:
    described = [run.described() for run in opened.runs]
    yield WHOLE, as_json(leaderboard_formats.as_data(c, described))
    runs = [
        {"model": c.panel.models.index(run.model), "rubric": run.rubric, "run": run.shown}
        for run in opened.runs
    ]
    yield OVERVIEW, as_json({**data.overview(c), "runs": runs})
    codes = {metric.name: coded(c.panel.values[metric.name]) for metric in c.panel.metrics}
    yield COLUMNS, as_json(data.columns(c, codes))
    for at, metric in enumerate(c.panel.metrics):
        yield values_file(at), codes[metric.name].data


if __name__ == "__main__":
    main()

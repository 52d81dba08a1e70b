"""One comparison in a process of its own.

The first request says what to compare and names a folder, the second asks for the figures.
In the folder then are

    comparison.json                       what `judge compare --format json` prints
    overview.json, columns.json, values-N the page's numbers, N the index of a metric
    figures.json, figure-N.svg            after the second request: the figures and their words
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from judge.comparing.comparison import AlignedRuns, compare_runs
from judge.comparing.names import RunChoice
from judge.figures import available, page_figures
from judge.report import leaderboard_formats
from judge.report.compare_page import data
from judge.report.frontend import as_json
from judge.service.worker import Channel, memory_limit
from judge.stats.compare import Comparison
from judge.stats.paired import Resampling
from judge.types import JudgeError


def main() -> None:
    """Compare, then draw."""
    channel = Channel()
    request = channel.receive()
    with channel.replying(request):
        folder = Path(request["folder"])
        opened, comparison = _compared(request)
        for name, content in _numbers(opened, comparison):
            (folder / name).write_bytes(content)
    with channel.replying(channel.receive()):
        figures = page_figures(comparison) if available() else ()
        for index, figure in enumerate(figures):
            (folder / f"figure-{index}.svg").write_bytes(figure.svg.encode())
        (folder / "figures.json").write_bytes(as_json([figure.words for figure in figures]))


def _compared(asked: Mapping[str, Any]) -> tuple[AlignedRuns, Comparison]:
    choices = [
        RunChoice(Path(run["path"]), run["id"], run["model"] or None) for run in asked["runs"]
    ]
    how = {option: asked[option] for option in ("resamples", "flips", "seed")}
    resampling = Resampling(**{option: n for option, n in how.items() if n is not None})
    with memory_limit(asked["max_memory"]):
        try:
            return compare_runs(
                choices,
                resampling if asked["tests"] else None,
                sort=asked["sort"] or None,
                by=[field.strip() for field in asked["by"].split(",") if field.strip()],
                common=asked["common"],
                allow=asked["allow"],
                patient_field=asked["patient_field"] or None,
            )
        except JudgeError as error:
            text = str(error)  # what is wrong with a run, without where it is kept
            for choice in sorted(choices, key=lambda choice: -len(str(choice.path))):
                text = text.replace(str(choice.path), choice.shown)
            raise JudgeError(text) from error


def _numbers(opened: AlignedRuns, c: Comparison) -> Iterator[tuple[str, bytes]]:
    described = [run.described() for run in opened.runs]
    yield "comparison.json", as_json(leaderboard_formats.as_data(c, described))
    runs = [
        {"model": c.panel.models.index(run.model), "rubric": run.rubric, "run": run.shown}
        for run in opened.runs
    ]
    yield "overview.json", as_json({**data.overview(c), "runs": runs})
    yield "columns.json", as_json(data.columns(c))
    for index, metric in enumerate(c.panel.metrics):
        yield f"values-{index}", data.values(c, metric)


if __name__ == "__main__":
    main()

"""`judge runs [FOLDER...]`: the runs there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.output import emit, format_of, note, print_tables
from judge.report.words import NOTHING, counted

if TYPE_CHECKING:
    from judge.report.tables import Table

_COLUMNS = ("run", "model", "judge", "studies", "scored")


@click.command("runs")
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[FOLDER]...")
@format_of("table", "json", "csv", text="What to print: tables for people, or JSON, CSV.")
def command(folders: tuple[Path, ...], form: str) -> None:
    """List the runs in FOLDER, the newest first. Default: judge-runs.

    Shows for each its model, judge, studies, headline figures and age. A FOLDER that is a run
    itself is listed too. What cannot be read is named on standard error.
    """
    from judge.report.formats import as_json, rows_as_csv
    from judge.running.run import RUNS
    from judge.types import JudgeError

    chosen = folders or (RUNS,)
    if missing := [str(folder) for folder in folders if not folder.is_dir()]:
        raise JudgeError(f"no such folder: {', '.join(missing)}")
    found = sorted(_described(chosen), key=lambda run: str(run["finished"]), reverse=True)
    if form == "json":
        emit(as_json([{k: v for k, v in run.items() if k != "title"} for run in found]))
    elif form == "csv":
        emit(rows_as_csv(_rows(found), (*_COLUMNS, "rubric", "finished")))
    elif found:
        titles = dict.fromkeys(run["title"] for run in found)
        print_tables([_table(title, [r for r in found if r["title"] == title]) for title in titles])
    else:
        places = ", ".join(map(str, chosen))
        note(f"no run in {places}; judge green preds.json refs.json makes one")


def _described(folders: Sequence[Path]) -> Iterator[dict[str, Any]]:
    from judge.comparing.names import known_model
    from judge.report.tables import headline_figures
    from judge.running.folder import MANIFEST, Run
    from judge.types import JudgeError

    try:
        below = [
            path
            for folder in folders
            if folder.is_dir()
            for path in (folder, *folder.iterdir())
            if (path / MANIFEST).is_file()
        ]
    except OSError as error:
        raise JudgeError(f"cannot list {error.filename}: {error.strerror}") from error
    for path in dict.fromkeys(below):
        try:
            run = Run(path)
            summary, rubric = run.summary(), run.rubric
            yield {
                "run": str(path),
                "model": known_model(run),
                "rubric": rubric.name,
                "title": rubric.title,
                "judge": summary["judge"]["name"],
                "studies": summary["n_studies"],
                "scored": summary["n_scored"],
                "figures": dict(headline_figures(summary, rubric)),
                "finished": run.manifest.get("finished"),
            }
        except JudgeError as error:
            note(f"{path}: {error}")


def _rows(runs: Sequence[dict[str, Any]]) -> list[dict[str, object]]:
    names = list(dict.fromkeys(name for run in runs for name in run["figures"]))
    return [
        {name: run[name] for name in (*_COLUMNS, "rubric", "finished")}
        | {name: run["figures"].get(name) for name in names}
        for run in runs
    ]


def _table(title: str, runs: Sequence[dict[str, Any]]) -> Table:
    from judge.report.tables import Table

    figures = list(dict.fromkeys(name for run in runs for name in run["figures"]))
    rows = tuple(
        (
            *(
                f"{run[name]:,}" if isinstance(run[name], int) else run[name] or NOTHING
                for name in _COLUMNS
            ),
            *(run["figures"].get(name, "") for name in figures),
            _age(run["finished"]),
        )
        for run in runs
    )
    return Table(title, (*_COLUMNS, *figures, "age"), rows, n_left=3)


def _age(finished: object) -> str:
    try:
        seconds = (datetime.now(UTC) - datetime.fromisoformat(str(finished))).total_seconds()
    except (ValueError, TypeError):
        return "unknown"
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return counted(int(seconds // size), unit, f"{unit}s")
    return "just now"

"""`judge runs`, `merge`, `panel` and `rescore`: the runs there are, and new ones made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.output import (
    emit,
    format_of,
    format_option,
    note,
    print_summary,
    print_tables,
)
from judge.text import NOTHING, counted

if TYPE_CHECKING:
    from judge.running.folder import Run
    from judge.tables.document import Table

_PATH = click.Path(path_type=Path)


@click.command("runs")
@click.argument("folders", nargs=-1, type=_PATH, metavar="[FOLDER]...")
@format_of("table", "json", text="What to print: tables for people, or JSON.")
def runs(folders: tuple[Path, ...], form: str) -> None:
    """List the runs in FOLDER, the newest first. Default: judge-runs.

    Shows for each its model, judge, studies, headline figures and when it ended. A FOLDER that is a
    run itself is listed too. What cannot be read is named on standard error.
    """
    from judge.running.session import RUNS
    from judge.tables.data import as_json
    from judge.types import JudgeError

    chosen = folders or (RUNS,)
    if missing := [str(folder) for folder in folders if not folder.is_dir()]:
        raise JudgeError(f"no such folder: {', '.join(missing)}")
    found = sorted(_described(chosen), key=lambda run: str(run["finished"]), reverse=True)
    if form == "json":
        emit(as_json([{k: v for k, v in run.items() if k != "title"} for run in found]))
    elif found:
        titles = dict.fromkeys(run["title"] for run in found)
        print_tables(
            *(_table(title, [r for r in found if r["title"] == title]) for title in titles)
        )
    else:
        places = ", ".join(map(str, chosen))
        note(f"no run in {places}; judge green preds.json refs.json makes one")


def _described(folders: Sequence[Path]) -> Iterator[dict[str, Any]]:
    from judge.comparing.names import known_model
    from judge.running.folder import MANIFEST, Run
    from judge.tables.run import headline_figures
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


def _table(title: str, runs: Sequence[dict[str, Any]]) -> Table:
    from judge.tables.document import Column, Table

    figures = list(dict.fromkeys(name for run in runs for name in run["figures"]))
    rows = tuple(
        (
            *(run["run"], run["model"] or NOTHING, run["judge"]),
            *(run[name] for name in ("studies", "scored")),
            *(run["figures"].get(name, "") for name in figures),
            str(run["finished"] or NOTHING)[:16],
        )
        for run in runs
    )
    columns = [Column(name, name) for name in ("run", "model", "judge")]
    columns += [Column(name, name, "count") for name in ("studies", "scored")]
    columns += [Column(name, name, "number") for name in (*figures, "finished")]
    return Table("runs", title, tuple(columns), rows)


_runs = click.argument("runs", nargs=-1, required=True, type=_PATH)
_out = click.option("--out", required=True, type=_PATH, metavar="DIR", help="The new run's folder.")


@click.command("merge")
@_runs
@_out
@format_option
def merge(runs: tuple[Path, ...], out: Path, form: str) -> None:
    """Join the RUNS of all shards of a set, judged with --shard I/N, into one run.

    Its files are those of the run of the whole set, to the byte but for manifest.json, which names
    the shards and adds up what they spent. The shards stay as they are; nothing is asked.

    \b
    judge green preds.json refs.json --shard 1/2 --out one
    judge green preds.json refs.json --shard 2/2 --out two
    judge merge one two --out whole
    """
    from judge.running.folder import Run
    from judge.running.shards import merge as merge_runs

    _print(merge_runs([Run(path) for path in runs], out), form)


@click.command("panel")
@_runs
@_out
@click.option(
    "--rule",
    type=click.Choice(("majority", "mean")),
    required=True,
    help="What a study's numbers become. majority: the middle one, a tie to the worse; mean: the "
    "mean, of rates too.",
)
@format_option
def panel(runs: tuple[Path, ...], out: Path, rule: Any, form: str) -> None:  # noqa: ANN401
    """Make one run out of the RUNS of several judges, of one rubric over the same studies.

    It is a run like any other: judge rates, audit, compare and serve open it. Every judge's
    errors stand in it, each with its judge; how far they disagree stands at its head and, study by
    study, in its table. Nothing is asked, and the RUNS stay as they are.

    \b
    judge panel first second third --rule majority --out panel
    """
    from judge.running.aggregate import panel as panel_of
    from judge.running.folder import Run

    _print(panel_of([Run(path) for path in runs], out, rule), form)


@click.command("rescore")
@click.argument("run", type=_PATH)
@click.option(
    "--out",
    type=_PATH,
    metavar="DIR",
    help="Write the new run here. Default: replace RUN's files; its manifest keeps the history.",
)
@format_option
def rescore(run: Path, out: Path | None, form: str) -> None:
    """Read the raw answers of RUN again with today's parser, without asking a judge."""
    from judge.running.folder import Run
    from judge.running.rescoring import rescore as rescore_run

    path, n_changed = rescore_run(Run(run), out)
    again = Run(path)
    n = again.summary()["n_studies"]
    note(f"{n_changed:,} of {counted(n, 'study', 'studies')} read differently")
    _print(again, form)


def _print(run: Run, form: str) -> None:
    note(f"run folder  {run.path}")
    print_summary(run.summary(), run.rubric, form)

"""`judge runs`, `merge`, `panel` and `rescore`: the runs there are, and new ones made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.options import Decorator
from judge.cli.output import (
    emit,
    format_of,
    format_option,
    list_option,
    note,
    print_summary,
    print_tables,
)
from judge.report.words import NOTHING, counted

if TYPE_CHECKING:
    from judge.report.tables import Table

_COLUMNS = ("run", "model", "judge", "studies", "scored")


@click.command("runs")
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[FOLDER]...")
@format_of("table", "json", text="What to print: tables for people, or JSON.")
def runs(folders: tuple[Path, ...], form: str) -> None:
    """List the runs in FOLDER, the newest first. Default: judge-runs.

    Shows for each its model, judge, studies, headline figures and age. A FOLDER that is a run
    itself is listed too. What cannot be read is named on standard error.
    """
    from judge.report.formats import as_json
    from judge.running.run import RUNS
    from judge.types import JudgeError

    chosen = folders or (RUNS,)
    if missing := [str(folder) for folder in folders if not folder.is_dir()]:
        raise JudgeError(f"no such folder: {', '.join(missing)}")
    found = sorted(_described(chosen), key=lambda run: str(run["finished"]), reverse=True)
    if form == "json":
        emit(as_json([{k: v for k, v in run.items() if k != "title"} for run in found]))
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


def _table(title: str, runs: Sequence[dict[str, Any]]) -> Table:
    from judge.report.tables import Table

    figures = list(dict.fromkeys(name for run in runs for name in run["figures"]))
    rows = tuple(
        (
            *(run["run"], run["model"] or NOTHING, run["judge"]),
            *(f"{run[name]:,}" for name in ("studies", "scored")),
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


def _makes(run: str, by: str) -> Decorator:
    """Return the arguments of a command that makes one run of several."""
    path = click.Path(path_type=Path)
    return lambda command: click.argument("runs", nargs=-1, required=True, type=path)(
        click.option(
            *("--out", "out"), required=True, type=path, metavar="DIR", help=f"The folder of {run}."
        )(
            list_option(
                "--by",
                metavar="FIELD",
                help="Group the rates by this field (repeat it, or separate with commas, for "
                f"several). Default: as {by}.",
            )(command)
        )
    )


@click.command("merge")
@_makes("the merged run", "the shards do")
@format_option
def merge(runs: tuple[Path, ...], out: Path, by: list[str], form: str) -> None:
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

    merged = merge_runs([Run(path) for path in runs], out, by=by or None)
    note(f"{counted(len(runs), 'shard', 'shards')} merged")
    _print(merged.path, form)


@click.command("panel")
@_makes("the panel's run", "in the run of the judge that is first by name")
@click.option(
    "--rule",
    type=click.Choice(("majority", "mean")),
    required=True,
    help="What a study's numbers become. majority: the middle one, a tie to the worse; mean: the "
    "mean, of rates too.",
)
@click.option(
    "--min-judges",
    type=click.IntRange(min=1),
    metavar="N",
    help="Score a study that at least N judges scored. Default: all of them.",
)
@format_option
def panel(
    runs: tuple[Path, ...],
    out: Path,
    by: list[str],
    rule: Any,  # noqa: ANN401 - one of the choices
    min_judges: int | None,
    form: str,
) -> None:
    """Make one run out of the RUNS of several judges, of one rubric over the same studies.

    It is a run like any other: judge rates, audit, compare and serve open it. Every judge's
    errors stand in it, each with its judge; how far they disagree stands at its head and, study by
    study, in its table. Nothing is asked, and the RUNS stay as they are.

    \b
    judge panel first second third --rule majority --out panel
    """
    from judge.running.aggregate import panel as panel_of
    from judge.running.folder import Run

    made = panel_of([Run(path) for path in runs], out, rule, min_judges=min_judges, by=by or None)
    note(f"{len(runs)} judges, by the rule {rule}")
    _print(made.path, form)


@click.command("rescore")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the new run here. Default: replace RUN's files; its manifest keeps the history.",
)
@format_option
def rescore(run: Path, out: Path | None, form: str) -> None:
    """Read the raw answers of RUN again with today's parser, without asking a judge."""
    from judge.running.answers import rescore as rescore_run
    from judge.running.folder import Run

    path, n_changed = rescore_run(Run(run), out)
    n = Run(path).summary()["n_studies"]
    note(f"{n_changed:,} of {counted(n, 'study', 'studies')} read differently")
    _print(path, form)


def _print(path: Path, form: str) -> None:
    from judge.running.folder import Run

    run = Run(path)
    note(f"run folder  {path}")
    print_summary(run.summary(), run.rubric, form)

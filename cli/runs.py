"""`judge runs list` and `export`, `merge`, `panel`, `rescore` and `cite`: what becomes of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from judge.cli.options import (
    PATH,
    GroupedCommand,
    format_option,
    groupings,
    table_option,
)
from judge.cli.output import emit, note, print_document, print_summary, runs_among
from judge.text import counted
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.run_files.summary import RunSummary
    from judge.running.folder import RunFolder


class _RunsGroup(click.Group):
    """A group whose first command is meant where none is named: `judge runs FOLDER`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; without a command it is that of `list`."""
        is_help = bool(args) and args[0] in ctx.help_option_names
        if not is_help and (not args or args[0] not in self.commands):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group("runs", cls=_RunsGroup)
def runs() -> None:
    """List runs, or export what reviewers said of one.

    \b
    judge runs FOLDER                 the same as judge runs list FOLDER
    judge runs export RUN --reviews
    """


@runs.command("list", cls=GroupedCommand, short_help="List the runs in folders.")
@click.argument("folders", type=PATH, nargs=-1, metavar="[FOLDER]...")
@format_option(["table", "json"])
def list_(*, folders: tuple[Path, ...], form: str) -> None:
    """List the runs in FOLDER (default: judge-runs) and its subfolders, the newest first.

    Shows the model, judge, studies, main figures and date of each. FOLDER may be a run itself.
    Runs in the trash of judge serve are left out.
    """
    from judge.run_files.manifest import MANIFEST
    from judge.running.folder import RunFolder
    from judge.running.run import RUNS
    from judge.tables.run import described_run, runs_document

    missing = [str(folder) for folder in folders if not folder.is_dir()]
    if missing:
        raise JudgeError(f"no such folder: {', '.join(missing)}")
    folders = folders or (RUNS,)
    paths = []
    # The run itself, a folder of runs, a folder of such folders, and parts of an experiment in it.
    for below in ("", "*/", "*/*/", "*/*/limit-*/"):
        for folder in folders:
            for path in folder.glob(f"{below}{MANIFEST}"):
                inside = path.relative_to(folder).parts
                # A hidden folder has no runs of today, as that of deleted ones.
                if not any(part.startswith(".") for part in inside):
                    paths.append(path.parent)
    described = []
    for path in dict.fromkeys(paths):
        try:
            described.append(described_run(RunFolder.open(path)))
        except JudgeError as error:
            note(f"{path}: {error}")
    described.sort(key=lambda run: str(run["finished"]), reverse=True)
    if not described:
        places = ", ".join(map(str, folders))
        note(f"no run in {places}; judge green preds.json refs.json makes one")
    print_document(runs_document(described), form, described)


@runs.command(
    "export", cls=GroupedCommand, short_help="Print what reviewers said of a run."
)
@click.argument("run", type=PATH)
@click.option(
    "--reviews",
    is_flag=True,
    help=(
        "The reviews that were made in judge serve, the judge's precision by them, and the "
        "agreement of each two reviewers (kappa)."
    ),
)
@table_option(["reviews", "precision", "agreement"])
@format_option(
    ["table", "json", "csv", "md"],
    text="csv has each review, json has all, the others have the figures.",
)
def export(*, run: Path, reviews: bool, table: tuple[str, ...], form: str) -> None:
    """Print the reviews of RUN: what readers said of the judge's errors in judge serve.

    Precision is the share of reviewed errors that more than half of their reviewers call right;
    finding precision counts a wrong severity as right. Reviews of errors that the run no longer
    has are stale: they are marked, and count in no figure.

    \b
    judge runs export RUN --reviews
    judge runs export RUN --reviews --format csv > reviews.csv
    """
    from judge.running.folder import RunFolder
    from judge.study.reviews import REVIEWS, RunReviews, StudyUnits
    from judge.tables.reviews import exported_reviews

    if not reviews:
        raise click.UsageError(
            "say what to export: --reviews (the table of studies is studies.csv in the run's "
            "folder)"
        )
    opened = RunFolder.open(run)
    found = RunReviews.read(opened)
    if found is None:
        note(f"no reviews in {run}: there is no {REVIEWS}, or all were withdrawn")
        found = RunReviews.of(
            [], {}, units=StudyUnits({}, has_patients=False), rubric=opened.rubric
        )
    with_each = form == "csv" or "reviews" in table
    document = exported_reviews(found, opened.rubric, with_each=with_each)
    data = {"reviews": found.listed(), "statistics": found.summary.plain()}
    print_document(document, form, data, table)


@click.command("merge", cls=GroupedCommand)
@click.argument("runs", type=PATH, nargs=-1, metavar="RUN...", required=True)
@click.option(
    "--out", type=PATH, metavar="DIR", required=True, help="The new run's folder."
)
@format_option(["table", "json", "csv", "md"])
def merge(*, runs: tuple[Path, ...], out: Path, form: str) -> None:
    """Join the RUNs of all shards (judge RUBRIC --shard I/N) into one run.

    The new run has the same numbers as one of the whole set. Nothing is asked; the shards stay.

    \b
    judge green preds.json refs.json --shard 1/2 --out one
    judge green preds.json refs.json --shard 2/2 --out two
    judge merge one two --out whole
    """
    from judge.running.combining import merge as merge_runs
    from judge.running.folder import RunFolder

    merged = merge_runs([RunFolder.open(path) for path in runs], out)
    _print(merged, form)


@click.command("panel", cls=GroupedCommand)
@click.argument("runs", type=PATH, nargs=-1, metavar="RUN...", required=True)
@click.option(
    "--out", type=PATH, metavar="DIR", required=True, help="The new run's folder."
)
@format_option(["table", "json", "csv", "md"])
@click.option(
    "--rule",
    type=click.Choice(["majority", "mean"]),
    required=True,
    help=(
        "How a study's numbers are combined: by their median, with ties to the worse, or by their "
        "mean."
    ),
)
def panel(
    *, runs: tuple[Path, ...], out: Path, form: str, rule: Literal["majority", "mean"]
) -> None:
    """Combine the RUNs of several judges, by one rubric on the same studies, into one run.

    The new run opens in rates, audit, compare and serve like any other. It has every judge's
    errors. Nothing is asked; the RUNs stay.

    \b
    judge panel first second third --rule majority --out panel
    """
    from judge.running.combining import panel as panel_of
    from judge.running.folder import RunFolder

    combined = panel_of([RunFolder.open(path) for path in runs], out, rule)
    _print(combined, form)


@click.command("rescore", cls=GroupedCommand)
@click.argument("run", type=PATH)
@click.option(
    "--out",
    type=PATH,
    metavar="DIR",
    help="Write a new run here. Default: replace RUN; its manifest keeps the history.",
)
@format_option(["table", "json", "csv", "md"])
def rescore(*, run: Path, out: Path | None, form: str) -> None:
    """Read the raw answers of RUN again with the current parser, without asking a judge."""
    from judge.running.combining import rescore as rescore_run
    from judge.running.folder import RunFolder

    path, n_changed = rescore_run(RunFolder.open(run), out)
    rescored = RunFolder.open(path)
    n = rescored.summary().n_studies
    note(f"{n_changed:,} of {counted(n, 'study', 'studies')} read differently")
    _print(rescored, form)


def _print(run: RunFolder, form: str) -> None:
    note(f"run folder  {run.path}")
    print_summary(run.summary(), run.rubric, form)


def _summary_by(run: RunFolder, by: Sequence[str]) -> RunSummary:
    """Return the summary with the groups that were asked for, by default as it is in the run.

    Intervals by a bootstrap are those of the run's own seed and number of resamples.
    """
    summary = run.summary()
    if not by:
        return summary
    if list(by) == ["none"]:
        return summary.model_copy(update={"rates": []})
    from judge.stats.intervals import USUAL_DRAWS, Draws

    draws = USUAL_DRAWS
    if summary.resampling is not None:
        draws = Draws(summary.resampling.seed, summary.resampling.resamples)
    return run.regrouped(by, draws=draws)


@click.command("cite", cls=GroupedCommand)
@click.argument("runs", type=PATH, nargs=-1, metavar="RUN...", required=True)
@click.option(
    "--by",
    multiple=True,
    metavar="FIELD[,FIELD]",
    callback=groupings,
    help=(
        "Give the figures by this field too (repeatable); a,b gives them by combinations; none "
        "leaves groups out. Default: the fields that the run was made with, usually study_class."
    ),
)
@format_option(
    ["text", "latex", "bibtex"],
    text="text has both; latex the methods text, with \\cite; bibtex the references.",
)
def cite(*, runs: tuple[Path, ...], by: tuple[str, ...], form: str) -> None:
    """Write the methods text about each RUN, and the references it cites as BibTeX.

    The text names reports, rubric, judge and settings, the studies that were scored, the figures
    with their intervals for all studies and by study class, and the signature, all as the run
    recorded them.

    \b
    judge cite RUN --by study_class --by site
    """
    from judge import plugins
    from judge.comparing.alignment import RunChoice
    from judge.running.folder import RunFolder
    from judge.tables.citation import citation, citations_text

    chosen = runs_among([RunChoice(path, str(path)) for path in dict.fromkeys(runs)])
    opened = [RunFolder.open(run.path) for run in chosen]
    citations = [
        citation(
            run.manifest,
            _summary_by(run, by),
            run.rubric,
            plugins.RUBRICS.packages(run.rubric.name, run.manifest.versions),
        )
        for run in opened
    ]
    emit(citations_text(citations, form))

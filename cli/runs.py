"""`judge runs ...`: what becomes of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from judge.cli.options import (
    PATH,
    GroupedCommand,
    SuggestingGroup,
    out_option,
    output_options,
)
from judge.cli.output import note, print_document, print_summary
from judge.cli.run_options import RUN_TABLES
from judge.tables.document import Document
from judge.text import counted
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.running.folder import RunFolder


class _RunsGroup(SuggestingGroup):
    """A group whose first command is meant where none is named: `judge runs FOLDER`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; without a command it is that of `list`."""
        is_help = bool(args) and args[0] in ctx.help_option_names
        if not is_help and (not args or args[0] not in self.commands):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(
    "runs",
    cls=_RunsGroup,
    examples=["judge runs list judge-runs", "judge runs export RUN --reviews"],
    page="docs/auditing.md",
)
def runs() -> None:
    """List, join, combine, read again, export, verify or delete runs.

    judge runs FOLDER is short for judge runs list FOLDER.
    """


@runs.command(
    "list",
    cls=GroupedCommand,
    short_help="List the runs in folders.",
    examples=["judge runs list judge-runs"],
    page="docs/auditing.md",
)
@click.argument("folders", type=PATH, nargs=-1, metavar="[FOLDER]...")
@output_options(["runs"])
def list_(*, folders: tuple[Path, ...], table: tuple[str, ...], form: str) -> None:
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
    print_document(runs_document(described), form, described, table)


@runs.command(
    "export",
    cls=GroupedCommand,
    short_help="Print what reviewers said of a run.",
    examples=["judge runs export RUN --reviews --format csv"],
    page="docs/auditing.md",
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
@output_options(
    ["reviews", "precision", "agreement"],
    text="csv has each review, json has all, the others have the figures.",
)
def export(*, run: Path, reviews: bool, table: tuple[str, ...], form: str) -> None:
    """Print the reviews of RUN: what readers said of the judge's errors in judge serve.

    Precision is the share of reviewed errors that more than half of their reviewers call right;
    finding precision counts a wrong severity as right. Reviews of errors that the run no longer
    has are stale: they are marked, and count in no figure.
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


@runs.command(
    "merge",
    cls=GroupedCommand,
    short_help="Join the shards of a set of studies into one run.",
    examples=[
        "judge green preds.json refs.json --shard 1/2 --out one",
        "judge green preds.json refs.json --shard 2/2 --out two",
        "judge runs merge one two --out whole",
    ],
    page="docs/gpu.md",
)
@click.argument("runs", type=PATH, nargs=-1, metavar="RUN...", required=True)
@out_option("The new run's folder.", required=True)
@output_options(RUN_TABLES)
def merge(
    *, runs: tuple[Path, ...], out: Path, table: tuple[str, ...], form: str
) -> None:
    """Join the RUNs of all shards (judge RUBRIC --shard I/N) into one run.

    The new run has the same numbers as one of the whole set. Nothing is asked; the shards stay.
    """
    from judge.running.combining import merge as merge_runs
    from judge.running.folder import RunFolder

    merged = merge_runs([RunFolder.open(path) for path in runs], out)
    _print(merged, form, table)


@runs.command(
    "panel",
    cls=GroupedCommand,
    short_help="Combine the runs of several judges into one.",
    examples=["judge runs panel RUN SECOND --rule mean --out panel"],
    page="docs/judging.md",
)
@click.argument("runs", type=PATH, nargs=-1, metavar="RUN...", required=True)
@out_option("The new run's folder.", required=True)
@output_options(RUN_TABLES)
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
    *,
    runs: tuple[Path, ...],
    out: Path,
    table: tuple[str, ...],
    form: str,
    rule: Literal["majority", "mean"],
) -> None:
    """Combine the RUNs of several judges, by one rubric on the same studies, into one run.

    The new run opens in rates, audit, compare and serve like any other. It has every judge's
    errors. Nothing is asked; the RUNs stay.
    """
    from judge.running.combining import panel as panel_of
    from judge.running.folder import RunFolder

    combined = panel_of([RunFolder.open(path) for path in runs], out, rule)
    _print(combined, form, table)


@runs.command(
    "rescore",
    cls=GroupedCommand,
    short_help="Read a run's answers again with the current parser.",
    examples=["judge runs rescore RUN --out again"],
    page="docs/answers.md",
)
@click.argument("run", type=PATH)
@out_option(
    "Write a new run here. Default: replace RUN; its manifest keeps the history."
)
@output_options(RUN_TABLES)
def rescore(*, run: Path, out: Path | None, table: tuple[str, ...], form: str) -> None:
    """Read the raw answers of RUN again with the current parser, without asking a judge."""
    from judge.running.combining import rescore as rescore_run
    from judge.running.folder import RunFolder

    path, n_changed = rescore_run(RunFolder.open(run), out)
    rescored = RunFolder.open(path)
    n = rescored.summary().n_studies
    note(f"{n_changed:,} of {counted(n, 'study', 'studies')} read differently")
    _print(rescored, form, table)


def _print(run: RunFolder, form: str, tables: tuple[str, ...]) -> None:
    note(f"run folder  {run.path}")
    print_summary(run.summary(), run.rubric, form, tables)


@runs.command(
    "delete",
    cls=GroupedCommand,
    short_help="Move runs to the trash.",
    examples=["judge runs delete RUN"],
    page="docs/auditing.md",
)
@click.argument("runs", type=PATH, nargs=-1, metavar="RUN...", required=True)
def delete(*, runs: tuple[Path, ...]) -> None:
    """Move each RUN to the trash beside it, the folder .trash, with its reviews and readings.

    judge serve lists the trash and restores runs from it. Nothing is removed for good: delete
    .trash yourself to free the space. A run that is being judged is refused.
    """
    from judge.running.folder import RunFolder
    from judge.service.moving import moved_to_trash

    for path in runs:
        RunFolder.open(path)
    for path in runs:
        print_document(Document(facts=[("moved to", str(moved_to_trash(path)))]))


@runs.command(
    "verify",
    cls=GroupedCommand,
    short_help="Check that runs or evidence packs are as they were written.",
    examples=["judge runs verify RUN"],
    page="docs/evidence-pack.md",
)
@click.argument("paths", type=PATH, nargs=-1, metavar="RUN|PACK.zip...", required=True)
@output_options(["checks"])
@click.pass_context
def verify(
    ctx: click.Context, *, paths: tuple[Path, ...], table: tuple[str, ...], form: str
) -> None:
    """Check each RUN or evidence pack: exit code 1 if something is not as it was written.

    Of a run: the signature, the checksum of each record, the digest of the studies, and the
    figures, which are computed again. Of a pack (judge cite RUN --pack): the names and the SHA-256
    of all files, the signatures, and figures and tables, which are computed again from studies.csv.
    This finds damage and mistakes. Whoever writes a whole run or pack anew can make it pass.
    """
    from judge.pack.verification import verified
    from judge.tables.run import checks_document

    checks = []
    for path in paths:
        checks += verified(path)
    data = [check.plain() for check in checks]
    print_document(checks_document(data), form, data, table)
    if not all(check.holds for check in checks):
        ctx.exit(1)

"""`judge rescore RUN`: today's parser on yesterday's answers."""

from __future__ import annotations

from pathlib import Path

import click

from judge.cli.output import format_option, note, print_summary
from judge.report.words import counted


@click.command("rescore")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the new run here. Default: replace RUN's files; its manifest keeps the history.",
)
@format_option
def command(run: Path, out: Path | None, form: str) -> None:
    """Read the raw answers of RUN again with today's parser, without asking a judge."""
    from judge.running.answers import rescore
    from judge.running.folder import Run

    opened = Run(run)
    result = rescore(opened, out)
    print_summary(result.summary, opened.rubric, form)
    total = counted(result.summary["n_studies"], "study", "studies")
    note(f"{result.n_changed:,} of {total} read differently")
    note(f"run folder  {result.path}")

"""`judge rates RUN`: the rates again, by any field."""

from __future__ import annotations

from pathlib import Path

import click

from judge.cli.options import patient_option
from judge.cli.output import (
    by_option,
    format_of,
    print_summary,
    readings_at_random_option,
)
from judge.types import JudgeError


@click.command("rates")
@click.argument("run", type=click.Path(path_type=Path))
@by_option
@click.option(
    "--readings",
    "readers",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="READER_RUN",
    help="Take the judge's bias out by what a reader wrote about studies drawn at random: the "
    "reader's run (repeatable), or a folder of such runs.",
)
@readings_at_random_option
@patient_option
@format_of(
    *("table", "json", "csv", "md"),
    text="What to print on standard output: tables for people, or JSON, CSV, Markdown.",
    tables=("rates", "corrected", "errors", "unread", "warnings"),
)
def command(
    run: Path,
    by: list[str],
    readers: tuple[Path, ...],
    *,
    at_random: bool,
    patient_field: str | None,
    form: str,
) -> None:
    """Compute the rates of RUN again, grouped by any field, without asking a judge.

    With --readings each figure stands beside the one with the judge's bias taken out, and beside
    what the readings say alone; docs/corrected.md says when that holds.
    """
    from judge.running.folder import Run

    opened = Run(run)
    if not readers:
        if at_random:
            raise JudgeError("--readings-at-random goes with --readings")
        print_summary(opened.regrouped(by, patient_field), opened.rubric, form)
        return
    from judge.validating.bias_correction import corrected_summary

    summary = corrected_summary(
        opened, by, readers, at_random=at_random, patient_field=patient_field
    )
    print_summary(summary, opened.rubric, form)

"""`judge stress report RUN...`: what a judge made of errors that are known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.groups import GroupedCommand, heading
from judge.cli.output import emit, format_of, note, print_facts, print_tables

if TYPE_CHECKING:
    from judge.stress.report import StressReport


@click.command("report", GroupedCommand, short_help="Say what a judge made of known errors.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...|DIR")
@heading("Candidates")
@click.option(
    "--truth",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The truth.jsonl of the candidates, or its folder. Default: the one that the run lies "
    "beside, or that stands beside the predictions that it judged.",
)
@heading("Output")
@format_of(
    *("table", "md", "csv", "json"),
    text="What to print on standard output; csv has a figure a row.",
)
def command(runs: tuple[str, ...], truth: Path | None, form: str) -> None:
    """Say what a judge saw of known errors, and where it did not stay still.

    RUN is a run of candidates of judge stress make, by any judge; several runs are of one judge,
    by its prompts and repeats. A folder of judge stress stands for all runs in it. No judge is
    asked. docs/stress.md explains each number.
    """
    from judge.stress.report import report_of

    show(report_of(runs, truth), form)


def show(
    report: StressReport, form: str, html: Path | None = None, figures: Path | None = None
) -> None:
    """Print a report in the form asked for; write its page and its figures where they are wanted.

    Raises `JudgeError` where these cannot be written.
    """
    from judge.report import stress as printed
    from judge.report.formats import as_json

    del html, figures
    found = report.plain()
    if form == "table":
        print_facts(printed.facts(found))
        print_tables(printed.tables(found))
        emit(f"signature  {found['signature']}")
        return
    written = {"json": as_json, "md": printed.as_markdown, "csv": printed.as_csv}
    emit(written[form](found))
    for text in found["notes"]:
        note(text)

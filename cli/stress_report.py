"""`judge stress report RUN...`: what a judge made of errors that are known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.drawn import check_drawn, figures_option, html_option, put, say_drawn
from judge.cli.groups import GroupedCommand, heading, with_options
from judge.cli.output import format_of, note

if TYPE_CHECKING:
    from judge.stress.report import StressReport


drawn_options = with_options(
    figures_option("errors found by class, false alarms by change"),
    html_option(
        "Write a page: the verdict, the tables, and each pair with what was changed and what "
        "the judge wrote."
    ),
)
report_format = format_of(
    *("table", "md", "csv", "json"),
    text="What to print on standard output; csv has a figure a row.",
)


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
@drawn_options
@report_format
def command(
    runs: tuple[str, ...],
    truth: Path | None,
    figures: Path | None,
    html: Path | None,
    form: str,
) -> None:
    """Say what a judge saw of known errors, and where it did not stay still.

    RUN is a run of candidates of judge stress make, by any judge; several runs are of one judge,
    by its prompts and repeats. A folder of judge stress stands for all runs in it. No judge is
    asked. docs/stress.md explains each number.
    """
    from judge.report.stress_page.file import MARK
    from judge.stress.report import report_of

    check_drawn(html, figures, MARK)
    show(report_of(runs, truth), form, html, figures)


def show(
    report: StressReport, form: str, html: Path | None = None, figures: Path | None = None
) -> None:
    """Print a report in the form asked for; write its page and its figures where they are wanted.

    Raises `JudgeError` where these cannot be written, and where the run is damaged.
    """
    from judge.report import stress

    found = report.plain()
    # Whoever reads the output may stop early, as head does: files come first.
    if figures:
        draw({found["judge"]["name"]: found}, figures)
    if html:
        _write_page(report, html)
    put(found, stress, form)


def draw(reports: Mapping[str, Mapping[str, Any]], folder: Path) -> None:
    """Draw the figures of judges' reports, by their names; raises `JudgeError`."""
    from judge.plots import draw_stress

    say_drawn(draw_stress(reports, folder), folder)


def _write_page(report: StressReport, path: Path) -> None:
    from judge.cli.page import write_html
    from judge.plots import available, stress_page_figures
    from judge.report.stress_page.file import MARK, page
    from judge.stress.pairs import pairs

    found = report.plain()
    figures = stress_page_figures(found) if available() else None
    write_html(page(found, report.first.run.rubric, pairs(report), figures), path, MARK)
    note(f"page  {path}")

"""`judge compare` and `judge reproduce`: models against each other on the same studies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.options import (
    AlignOptions,
    AllowOptions,
    MetricFileOptions,
    ResamplingOptions,
    argument,
    by_option,
    command,
    figures_option,
    format_option,
    html_option,
    list_option,
    option,
    options,
    patient_option,
    require,
    table_option,
)
from judge.cli.output import (
    TABLE_FORMS,
    check_outputs,
    emit,
    note,
    note_figures,
    note_once,
    print_document,
    tracked,
)

if TYPE_CHECKING:
    from judge.comparing.comparison import ComparedRuns
    from judge.stats.metric import Metric
    from judge.stats.significance import Comparison


@options
class _Studies(AlignOptions):
    runs: tuple[str, ...] = argument("[NAME=]RUN...", required=True)
    by: tuple[str, ...] = by_option(
        "Also a leaderboard by this field (study_class, site, dataset, ...), one table for each "
        "--by; a,b groups by combinations."
    )


@options
class _Tests(ResamplingOptions):
    tests: bool = option("--tests/--no-tests", "Test differences.", default=True)
    flips: int | None = option(
        "--flips N",
        "Flips of the permutation test of means. Default: 10000.",
        type=click.IntRange(min=100),
    )


@options
class _Figures:
    """Options of both commands."""

    GROUP = "Output"

    sort: str | None = option(
        "--sort METRIC",
        "Rank by this metric: GREEN, 1/FineRadScore, green_errors, ... Default: the first that "
        "most models have.",
    )


@options
class _Compare(_Studies, MetricFileOptions, _Tests, _Figures):
    GROUP = "Output"

    columns: tuple[str, ...] = list_option(
        "--columns METRIC", "Metrics of the leaderboards, named as for --sort. Default: all."
    )
    table: tuple[str, ...] = table_option("leaderboard", "errors", "tests", "ranks", "correlations")
    figures: Path | None = figures_option()
    html: Path | None = html_option("Write a page with leaderboard, figures and studies.")
    form: str = format_option(
        *("table", "md", "latex", "csv", "json", "rexrank"),
        text="csv has one table, rexrank has ReXrank's columns.",
    )


@command("compare")
def compare(options: _Compare) -> None:
    """Rank models by their runs on the same studies, and test which differences are real.

    Give one RUN for each model and rubric. NAME=RUN names the model; otherwise it is the run's
    model, or comes from its file name. Runs that do not fit together are refused, with the option
    that allows it.

    \b
    judge compare RUN RUN --by study_class --html models.html
    judge compare A=RUN B=RUN --by change --allow judge
    """
    from judge.comparing.alignment import choice
    from judge.comparing.comparison import compare_runs, records
    from judge.figures import available, draw_figures, page_figures
    from judge.files import write_html
    from judge.pages.comparison import MARK, page, wanted
    from judge.stats.metric import find

    require(options.form in TABLE_FORMS, f"--format {', '.join(TABLE_FORMS)}", "table", "columns")
    require(options.tests, "--tests", "flips", "resamples", "seed")
    check_outputs(options.html, options.figures, MARK)
    compared, comparison = compare_runs(
        [choice(run) for run in options.runs],
        options.resampling() if options.tests else None,
        sort=options.sort,
        by=options.by,
        common=options.common,
        allow=options.allow,
        patient_field=options.patient_field,
        metrics=options.read_files(),
        track=tracked,
    )
    panel = comparison.panel
    columns = tuple(dict.fromkeys(find(panel.metrics, name) for name in options.columns)) or None
    # A damaged run is found here, before the figures are drawn.
    studies = records(compared, wanted(comparison)) if options.html else {}
    # Files first: whoever reads the output may close it early, as head does.
    if options.figures:
        note_figures(draw_figures(comparison, options.figures), options.figures)
    if options.html:
        figures = page_figures(comparison) if available() else ()
        write_html(page(comparison, studies, figures=figures), options.html, MARK)
        note(f"page  {options.html}")
    if options.form == "rexrank":
        from judge.tables.rexrank import as_rexrank

        emit(as_rexrank(comparison))
        note_once(comparison.notes)
    else:
        _print(comparison, compared, options.form, columns, options.table)


def _print(
    comparison: Comparison,
    compared: ComparedRuns,
    form: str,
    columns: Sequence[Metric] | None = None,
    tables: Sequence[str] = (),
) -> None:
    from judge.tables.comparison import as_data, comparison_document

    document = comparison_document(comparison, compared, columns, complete=form == "csv")
    is_json = form == "json"
    data = as_data(comparison, [run.described() for run in compared.runs]) if is_json else None
    print_document(document, form, data, tables)


@click.group("reproduce")
def reproduce() -> None:
    """Make the figures and tables of a published evaluation from your own runs."""


@options
class _Challenge(AllowOptions, MetricFileOptions, _Figures):
    GROUP = "Output"

    runs: tuple[str, ...] = argument("[NAME=]RUN...", required=True)
    out: Path = option("--out DIR", "The new folder.", required=True)
    patient_field: str | None = patient_option()


@command("challenge", group=reproduce, short_help="Reproduce the ReXrank challenge.")
def challenge(options: _Challenge) -> None:
    """Make every figure and table of the ReXrank challenge that comes from a judge.

    Give one RUN for each model, section and rubric. The data sets are the values of the field
    `dataset` of its studies.
    """
    from judge.comparing.alignment import choice
    from judge.figures import check_figures
    from judge.tables.rexrank import challenge_comparisons, write_challenge

    check_figures(options.out)
    comparisons = challenge_comparisons(
        [choice(run) for run in options.runs],
        sort=options.sort,
        allow=options.allow,
        metrics=options.read_files(),
        patient_field=options.patient_field,
    )
    files = write_challenge(comparisons, options.out)
    note_once(text for comparison in comparisons.values() for text in comparison.notes)
    note(f"challenge  {len(files)} files in {options.out}")

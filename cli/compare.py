"""`judge compare` and `judge reproduce`: models against each other on the same studies."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from judge.cli.options import (
    NEW_FILE,
    AlignOptions,
    AllowOptions,
    MetricFileOptions,
    ResamplingOptions,
    argument,
    by_option,
    command,
    figures_option,
    format_option,
    option,
    options,
    patient_option,
    require,
    table_option,
)
from judge.cli.output import (
    TABLE_FORMS,
    check_outputs,
    draw,
    emit,
    note,
    note_once,
    print_document,
    tracked,
)


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
    primary: str | None = option(
        "--primary METRIC",
        "The metric that was chosen before the results were seen. Its tests are corrected by "
        "themselves, those of all other metrics together. Models are ranked by it without --sort.",
    )
    family: Literal["groups", "table", "metric", "all"] | None = option(
        "--family",
        "Tests that are corrected together: those of all studies, and those of all groups of --by, "
        "at half of 5% each (groups); of each table; of each metric in a table; or all. "
        "Default: groups.",
    )
    flips: int | None = option(
        "--flips N",
        "Flips of each permutation test of means. Default: 10000, and for small p-values 200 for "
        "each test of the family, as far as that takes about a minute.",
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
    model_info: str | None = option(
        "--model-info FILE",
        "A CSV or JSON file with model, date, institution and url, for ReXrank's columns.",
    )


@options
class _Compare(_Studies, MetricFileOptions, _Tests, _Figures):
    GROUP = "Output"

    table: tuple[str, ...] = table_option(
        "leaderboard", "errors", "tests", "ranks", "correlations"
    )
    figures: Path | None = figures_option()
    html: Path | None = option(
        "--html FILE",
        "Write a page with leaderboard, figures and studies.",
        type=NEW_FILE,
    )
    out: Path | None = option(
        "--out DIR",
        "With --format rexrank: a CSV of all studies and of each group of --by here.",
    )
    form: str = format_option(
        "table",
        "md",
        "latex",
        "csv",
        "json",
        "rexrank",
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
    from judge.figures.comparison import comparison_figures
    from judge.figures.files import available, page_figures
    from judge.files import write_html
    from judge.pages.comparison import MARK, page, wanted
    from judge.tables.comparison import as_data, comparison_document

    require(options.form in TABLE_FORMS, f"--format {', '.join(TABLE_FORMS)}", "table")
    require(options.tests, "--tests", "flips", "primary", "family")
    if options.primary and options.family == "metric":
        raise click.UsageError(
            "--primary corrects the tests of all other metrics together: leave out --family metric"
        )
    require(options.form == "rexrank", "--format rexrank", "out", "model_info")
    if options.form == "rexrank" and options.by and not options.out:
        raise click.UsageError(
            "--format rexrank with --by writes a CSV a group: add --out DIR"
        )
    check_outputs(options.html, options.figures, MARK)
    compared, comparison = compare_runs(
        [choice(run) for run in options.runs],
        options.resampling() if options.tests else None,
        draws=options.resampling().draws,
        sort=options.sort,
        by=options.by,
        common=options.common,
        allow=options.allow,
        patient_field=options.patient_field,
        metrics=options.read_files(),
        track=tracked,
    )
    # A damaged run is found here, before the figures are drawn.
    studies = records(compared, wanted(comparison)) if options.html else {}
    # Files first: whoever reads the output may close it early, as head does.
    if options.figures:
        draw(comparison_figures(comparison), options.figures)
    if options.html:
        figures = page_figures(comparison_figures(comparison)) if available() else ()
        write_html(page(comparison, studies, figures=figures), options.html, MARK)
        note(f"page  {options.html}")
    if options.form == "rexrank":
        from judge.rexrank import as_rexrank, read_model_info, write_rexrank

        info = read_model_info(options.model_info) if options.model_info else {}
        if options.out:
            for file in write_rexrank(comparison, info, options.out):
                note(f"ReXrank's columns  {file}")
        else:
            emit(as_rexrank(comparison, info))
        note_once(comparison.notes)
    else:
        document = comparison_document(
            comparison, compared, complete=options.form == "csv"
        )
        data = as_data(comparison, [run.described() for run in compared.runs])
        print_document(document, options.form, data, options.table)


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

    Give one RUN for each model, data set, section and rubric. The data sets are the values of the
    field `dataset`; without it a run is one data set, named after its file of references.
    """
    from judge.comparing.alignment import choice
    from judge.comparing.challenge import challenge_comparisons
    from judge.figures.files import check_figures
    from judge.rexrank import read_model_info, write_challenge

    check_figures(options.out)
    info = read_model_info(options.model_info) if options.model_info else {}
    comparisons = challenge_comparisons(
        [choice(run) for run in options.runs],
        sort=options.sort,
        allow=options.allow,
        metrics=options.read_files(),
        patient_field=options.patient_field,
    )
    files = write_challenge(comparisons, options.out, info)
    notes: list[str] = []
    for comparison in comparisons.values():
        notes += comparison.notes
    note_once(notes)
    note(f"challenge  {len(files)} files in {options.out}")

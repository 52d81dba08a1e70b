"""`judge compare` and `judge reproduce`: models against each other on the same studies."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import click

from judge.cli.options import (
    BOARD_TABLES,
    FORMS,
    GroupedCommand,
    GroupedOption,
    SuggestingGroup,
    align_options,
    allow_option,
    by_option,
    check_floor_table,
    figures_options,
    floor_option,
    format_option,
    metric_file_options,
    out_option,
    patient_option,
    read_metric_files,
    require,
    resampling_options,
    shared_options,
    table_option,
)
from judge.cli.output import (
    TABLE_FORMS,
    emit,
    note,
    note_once,
    print_document,
    tracked,
    write_drawn,
)
from judge.figures import COMPARISON_FIGURES, usual
from judge.types import JudgeError

_output_option = partial(click.option, cls=GroupedOption, group="Output")
_statistics_option = partial(click.option, cls=GroupedOption, group="Statistics")
_sort_option = _output_option(
    "--sort",
    metavar="METRIC",
    help=(
        "Rank by this metric: GREEN, 1/FineRadScore, green_errors, ... Default: the first "
        "that most models have."
    ),
)
_model_info_option = _output_option(
    "--model-info",
    metavar="FILE",
    help="A CSV or JSON file with model, date, institution and url, for ReXrank's columns.",
)
comparison_options = shared_options(
    [
        align_options,
        by_option("Also a leaderboard by this field, such as site.", group="Studies"),
        metric_file_options,
        resampling_options,
        _statistics_option(
            "--tests/--no-tests",
            default=True,
            show_default=True,
            help="Test differences.",
        ),
        _statistics_option(
            "--primary",
            metavar="METRIC",
            help=(
                "The metric that was chosen before the results were seen. Its tests are corrected "
                "by themselves, those of all other metrics together. Models are ranked by it "
                "without --sort."
            ),
        ),
        _statistics_option(
            "--family",
            type=click.Choice(["groups", "table", "metric", "all"]),
            help=(
                "Tests that are corrected together: those of all studies, and those of all groups "
                "of --by, at half of 5% each (groups); of each table; of each metric in a table; "
                "or all. Default: groups."
            ),
        ),
        _statistics_option(
            "--flips",
            type=click.IntRange(min=100),
            metavar="FLIPS",
            hidden=True,
            help=(
                "Flips of each permutation test of means. Default: 10000, and for small p-values "
                "200 for each test of the family, as far as that takes about a minute."
            ),
        ),
        _sort_option,
    ]
)
"""What is compared and how: `allow`, `common`, `by`, those of metric files and of resampling,
`tests`, `primary`, `family`, `flips`, `sort`."""


def check_tests(*, tests: bool, primary: str | None, family: str | None) -> None:
    """Raise `click.UsageError` where options of tests contradict each other."""
    require(tests, "--tests", "flips", "primary", "family")
    if primary and family == "metric":
        raise click.UsageError(
            "--primary corrects the tests of all other metrics together: leave out --family metric"
        )


@click.command(
    "compare",
    cls=GroupedCommand,
    rare={
        "--metrics",
        "--higher-is-better",
        "--lower-is-better",
        "--patient-field",
        "--family",
        "--model-info",
        "--out",
        "--common",
        "--floor",
    },
    examples=[
        "judge compare RUN OTHER --by study_class",
        "judge compare A=RUN B=OTHER --table leaderboard --format csv",
        "judge compare A=RUN B=SECOND --allow judge --table disagreements",
    ],
    page="docs/comparing.md",
)
@click.argument("runs", nargs=-1, metavar="[NAME=]RUN...", required=True)
@comparison_options
@floor_option(
    "The folder of judge stress run by the judge of the runs: show its errors on harmless changes "
    "beside each figure. Repeat it for several rubrics or judges.",
    multiple=True,
    group="Statistics",
)
@_model_info_option
@table_option([*BOARD_TABLES, "disagreements", "floor"], group="Output")
@figures_options(COMPARISON_FIGURES, usual(COMPARISON_FIGURES), group="Output")
@out_option(
    "With --format rexrank: a CSV of all studies and of each group of --by here.",
    group="Output",
)
@format_option(
    [*FORMS, "rexrank"],
    text="csv has one table, rexrank has ReXrank's columns.",
    group="Output",
)
def compare(
    *,
    runs: tuple[str, ...],
    allow: tuple[str, ...],
    common: bool,
    by: tuple[str, ...],
    files: tuple[str, ...],
    higher: tuple[str, ...],
    lower: tuple[str, ...],
    patient_field: str | None,
    resamples: int | None,
    seed: int,
    tests: bool,
    primary: str | None,
    family: Literal["groups", "table", "metric", "all"] | None,
    flips: int | None,
    sort: str | None,
    floor: tuple[Path, ...],
    model_info: str | None,
    table: tuple[str, ...],
    figures: Path | None,
    only: tuple[str, ...],
    out: Path | None,
    form: str,
) -> None:
    """Rank models by their runs on the same studies, and test which differences are real.

    Give one RUN for each model and rubric. NAME=RUN names the model; otherwise it is the run's
    model, or comes from its file name. Runs that do not fit together are refused, with the option
    that allows it. The folder of judge run stands for its runs. Of runs of the same reports by
    different judges, --table disagreements lists the errors that two of them see differently.
    """
    from judge.comparing.alignment import choices_of
    from judge.comparing.comparison import compare_runs
    from judge.comparing.floor import comparison_floor, floor_report
    from judge.comparing.run_arguments import chosen_runs
    from judge.figures.comparison import comparison_figures
    from judge.figures.files import check_figures, draw_figures
    from judge.stats.significance import Resampling
    from judge.study.disagreements import NO_JUDGES, judge_disagreements
    from judge.tables.comparison import as_data, comparison_document
    from judge.tables.disagreements import disagreements_table
    from judge.tables.floor import with_floor

    require(form in TABLE_FORMS, f"--format {', '.join(TABLE_FORMS)}", "table")
    check_tests(tests=tests, primary=primary, family=family)
    require(form == "rexrank", "--format rexrank", "out", "model_info")
    require(figures is not None, "--figures", "only")
    require(form != "rexrank", f"--format {', '.join(FORMS)}", "floor")
    check_floor_table(table, has_floor=bool(floor))
    if form == "rexrank" and by and not out:
        raise click.UsageError(
            "--format rexrank with --by writes a CSV a group: add --out DIR"
        )
    if figures:
        check_figures(figures)
    resampling = Resampling(
        seed=seed,
        resamples=resamples,
        flips=flips,
        family=family or "groups",
        primary=primary,
    )
    chosen = chosen_runs(choices_of(runs))
    compared, comparison = compare_runs(
        chosen.choices,
        resampling if tests else None,
        draws=resampling.draws,
        sort=sort,
        by=by,
        common=common,
        allow=allow,
        patient_field=patient_field,
        metrics=read_metric_files(files, higher=higher, lower=lower),
        notes=chosen.skipped,
        track=tracked,
    )
    beside = None
    if floor:
        beside = comparison_floor(floor, compared, resampling.draws)
    # Files first: whoever reads the output may close it early, as head does.
    if figures:
        drawn = draw_figures(comparison_figures(comparison, only, beside))
        write_drawn(drawn, figures)
    if form == "rexrank":
        from judge.rexrank import as_rexrank, read_model_info, write_rexrank

        info = read_model_info(model_info) if model_info else {}
        if out:
            for file in write_rexrank(comparison, info, out):
                note(f"ReXrank's columns  {file}")
        else:
            emit(as_rexrank(comparison, info))
        note_once(comparison.notes)
    else:
        document = comparison_document(comparison, compared, complete=form == "csv")
        if "disagreements" in table:
            differing = judge_disagreements(compared)
            if not differing:
                raise JudgeError(NO_JUDGES)
            of_pairs = disagreements_table(differing, complete=form == "csv")
            document = replace(document, tables=(*document.tables, of_pairs))
        data = as_data(comparison, [run.described() for run in compared.runs])
        if beside is not None:
            report = floor_report(comparison, compared, beside)
            document = with_floor(
                document,
                report,
                by=comparison.by,
                what="metric",
                complete=form == "csv",
            )
            data["floor"] = report.plain()
        print_document(document, form, data, table)


@click.group(
    "reproduce",
    cls=SuggestingGroup,
    examples=["judge reproduce challenge RUN --out challenge"],
    page="docs/challenge.md",
)
def reproduce() -> None:
    """Make the figures and tables of a published evaluation from your own runs."""


@reproduce.command(
    "challenge",
    cls=GroupedCommand,
    short_help="Reproduce the ReXrank challenge.",
    examples=["judge reproduce challenge RUN --out challenge"],
    page="docs/challenge.md",
)
@click.argument("runs", nargs=-1, metavar="[NAME=]RUN...", required=True)
@allow_option
@metric_file_options
@_sort_option
@_model_info_option
@out_option("The new folder.", required=True, group="Output")
@patient_option(group="Output")
def challenge(
    *,
    runs: tuple[str, ...],
    allow: tuple[str, ...],
    files: tuple[str, ...],
    higher: tuple[str, ...],
    lower: tuple[str, ...],
    sort: str | None,
    model_info: str | None,
    out: Path,
    patient_field: str | None,
) -> None:
    """Make every figure and table of the ReXrank challenge that comes from a judge.

    Give one RUN for each model, data set, section and rubric. The data sets are the values of the
    field `dataset`; without it a run is one data set, named after its file of references. The
    folder of judge run stands for its runs, and its data sets have their names there.
    """
    from judge.comparing.alignment import choices_of
    from judge.comparing.challenge import CHALLENGE_AXES, challenge_comparisons
    from judge.comparing.run_arguments import chosen_runs
    from judge.figures.files import check_figures
    from judge.rexrank import read_model_info, write_challenge

    check_figures(out)
    info = read_model_info(model_info) if model_info else {}
    chosen = chosen_runs(choices_of(runs, CHALLENGE_AXES))
    comparisons = challenge_comparisons(
        chosen.choices,
        sort=sort,
        allow=allow,
        metrics=read_metric_files(files, higher=higher, lower=lower),
        patient_field=patient_field,
    )
    written = write_challenge(comparisons, out, info)
    notes = list(chosen.skipped)
    for comparison in comparisons.values():
        notes += comparison.notes
    note_once(notes)
    note(f"challenge  {len(written)} files in {out}")

"""`judge validate RUN...`: how well judges agree with readers."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from judge.cli.options import (
    NEW_FILE,
    GroupedCommand,
    GroupedOption,
    figures_options,
    metric_file_options,
    output_options,
    read_metric_files,
    readers_option,
    require,
    resampling_options,
)
from judge.cli.output import (
    check_outputs,
    note,
    print_document,
    runs_among,
    write_drawn,
)
from judge.figures import VALIDATION_FIGURES, usual

_output_option = partial(click.option, cls=GroupedOption, group="Output")
_readers_option = partial(click.option, cls=GroupedOption, group="Readers")


@click.command(
    "validate",
    cls=GroupedCommand,
    rare={
        "--metrics",
        "--higher-is-better",
        "--lower-is-better",
        "--patient-field",
        "--random-readers",
    },
    examples=["judge validate RUN --readers readers --format md"],
    page="docs/trust.md",
)
@click.argument("runs", nargs=-1, metavar="[NAME=]RUN...", required=True)
@readers_option(required=True, group="Readers")
@_readers_option(
    "--epsilon",
    type=click.FloatRange(0, 1, max_open=True),
    metavar="SHARE",
    default=0.2,
    show_default=True,
    help=(
        "The margin of the alternative-annotator test: 0.2 for experts, 0.15 for trained readers, "
        "0.1 for laypeople."
    ),
)
@_readers_option(
    "--random-readers",
    is_flag=True,
    help="Intervals also cover the choice of the readers; needs three. Default: these readers.",
)
@_readers_option(
    "--level",
    type=click.Choice(["actionable", "urgent", "emergent", "significant"]),
    help=(
        "The least severity that counts as significant. Default: the rubric's own; actionable if a "
        "scale of two levels meets one of four."
    ),
)
@metric_file_options
@resampling_options
@figures_options(VALIDATION_FIGURES, usual(VALIDATION_FIGURES), group="Output")
@_output_option(
    "--html",
    type=NEW_FILE,
    metavar="FILE",
    help="Write a page with tables, counts and studies.",
)
@output_options(
    [
        "judges",
        "agreement",
        "ranking",
        "no_significant_error",
        "agreement_significant_error",
        "no_actionable_error",
        "agreement_actionable_error",
        "severity",
        "differences",
        "limits",
        "alternative_annotator",
    ],
    group="Output",
)
def validate(
    *,
    runs: tuple[str, ...],
    readers: tuple[str, ...],
    epsilon: float,
    random_readers: bool,
    level: str | None,
    files: tuple[str, ...],
    higher: tuple[str, ...],
    lower: tuple[str, ...],
    patient_field: str | None,
    resamples: int | None,
    seed: int,
    figures: Path | None,
    only: tuple[str, ...],
    html: Path | None,
    table: tuple[str, ...],
    form: str,
) -> None:
    """Measure how well the judges of RUN agree with readers, and readers with each other.

    For each count that the rubrics share, the score and other metrics: correlation with the
    readers; the order of several candidates of one reference; agreement on studies without
    significant errors and on the highest severity; differences between judges; bias and limits of
    agreement; the alternative-annotator test. docs/trust.md explains each number.
    """
    from judge.comparing.alignment import choice
    from judge.figures.files import draw_figures
    from judge.figures.validation import validation_figures
    from judge.files import write_html
    from judge.pages.validation import VALIDATION, validation_page
    from judge.stats.significance import Resampling
    from judge.tables.validation import validation_document
    from judge.validating.raters import align_raters, open_raters
    from judge.validating.validation import compute_validation

    require(figures is not None, "--figures", "only")
    check_outputs(html, figures, VALIDATION)
    chosen = runs_among([choice(run) for run in runs])
    judges = open_raters(chosen, readers=False)
    humans = open_raters([choice(run) for run in readers], readers=True)
    metrics = read_metric_files(files, higher=higher, lower=lower)
    studies = align_raters(judges, humans, metrics, patient_field, level)
    validation = compute_validation(
        studies,
        Resampling(seed=seed, resamples=resamples),
        epsilon,
        random_readers=random_readers,
    )
    # A damaged run is found here, before anything is written.
    pieces = validation_page(validation, studies) if html else ()
    # Files first: whoever reads the output may close it early, as head does.
    if figures:
        drawn = draw_figures(validation_figures(validation, studies, only))
        write_drawn(drawn, figures)
    if html:
        write_html(pieces, html, VALIDATION)
        note(f"page  {html}")
    document = validation_document(validation)
    print_document(document, form, validation, table)

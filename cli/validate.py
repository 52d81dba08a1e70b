"""`judge validate RUN...`: how well judges agree with readers."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from judge.cli.options import (
    NEW_FILE,
    MetricFileOptions,
    ResamplingOptions,
    argument,
    command,
    figures_option,
    format_option,
    option,
    options,
    table_option,
)
from judge.cli.output import check_outputs, draw, note, print_document


@options
class _Readers:
    GROUP = "Readers"

    readers: tuple[str, ...] = option(
        "--readers [NAME=]RUN",
        "A reader's run of the same reports, from judge import, or a folder of them (repeatable).",
        required=True,
    )
    epsilon: float = option(
        "--epsilon SHARE",
        "The margin of the alternative-annotator test: 0.2 for experts, 0.15 for trained readers, "
        "0.1 for laypeople.",
        type=click.FloatRange(0, 1, max_open=True),
        default=0.2,
    )
    random_readers: bool = option(
        "--random-readers",
        "Intervals also cover the choice of the readers; needs three. Default: these readers.",
    )
    level: Literal["actionable", "urgent", "emergent", "significant"] | None = option(
        "--level",
        "The least severity that counts as significant. Default: the rubric's own; actionable if a "
        "scale of two levels meets one of four.",
    )


@options
class _Validate(_Readers, MetricFileOptions, ResamplingOptions):
    GROUP = "Output"

    runs: tuple[str, ...] = argument("[NAME=]RUN...", required=True)
    figures: Path | None = figures_option(
        "Kendall's tau-b of each judge and of the readers"
    )
    html: Path | None = option(
        "--html FILE", "Write a page with tables, counts and studies.", type=NEW_FILE
    )
    table: tuple[str, ...] = table_option(
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
    )
    form: str = format_option(
        "table", "md", "latex", "csv", "json", text="csv has one table."
    )


@command("validate")
def validate(options: _Validate) -> None:
    """Measure how well the judges of RUN agree with readers, and readers with each other.

    For each count that the rubrics share, the score and other metrics: correlation with the
    readers; the order of several candidates of one reference; agreement on studies without
    significant errors and on the highest severity; differences between judges; bias and limits of
    agreement; the alternative-annotator test. docs/trust.md explains each number.

    \b
    judge validate RUN --readers readers --html validation.html
    """
    from judge.comparing.alignment import choice
    from judge.figures.validation import validation_figures
    from judge.files import write_html
    from judge.pages.validation import VALIDATION, validation_page
    from judge.tables.validation import validation_document
    from judge.validating.raters import align_raters, open_raters
    from judge.validating.validation import compute_validation

    check_outputs(options.html, options.figures, VALIDATION)
    judges = open_raters([choice(run) for run in options.runs], readers=False)
    readers = open_raters([choice(run) for run in options.readers], readers=True)
    files = options.read_files()
    studies = align_raters(judges, readers, files, options.patient_field, options.level)
    validation = compute_validation(
        studies,
        options.resampling(),
        options.epsilon,
        random_readers=options.random_readers,
    )
    # A damaged run is found here, before anything is written.
    pieces = validation_page(validation, studies) if options.html else ()
    # Files first: whoever reads the output may close it early, as head does.
    if options.figures:
        draw(validation_figures(validation), options.figures)
    if options.html:
        write_html(pieces, options.html, VALIDATION)
        note(f"page  {options.html}")
    document = validation_document(validation)
    print_document(document, options.form, validation, options.table)

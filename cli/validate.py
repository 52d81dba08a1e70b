"""`judge validate RUN...`: how well judges agree with readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.options import (
    GroupedCommand,
    GroupedOption,
    figures_options,
    metric_file_options,
    output_options,
    read_metric_files,
    readers_option,
    require,
    resampling_options,
    shared_options,
)
from judge.cli.output import (
    print_document,
    runs_among,
    write_drawn,
)
from judge.figures import VALIDATION_FIGURES, usual

if TYPE_CHECKING:
    from judge.comparing.metric_files import MetricFile
    from judge.validating.raters import RatedStudies

_output_option = partial(click.option, cls=GroupedOption, group="Output")
_readers_option = partial(click.option, cls=GroupedOption, group="Readers")


validation_options = shared_options(
    [
        _readers_option(
            "--epsilon",
            type=click.FloatRange(0, 1, max_open=True),
            metavar="SHARE",
            default=0.2,
            show_default=True,
            help=(
                "The margin of the alternative-annotator test: 0.2 for experts, 0.15 for trained "
                "readers, 0.1 for laypeople."
            ),
        ),
        _readers_option(
            "--random-readers",
            is_flag=True,
            help=(
                "Intervals also cover the choice of the readers; needs three. Default: these "
                "readers."
            ),
        ),
        _readers_option(
            "--level",
            type=click.Choice(["actionable", "urgent", "emergent", "significant"]),
            help=(
                "The least severity that counts as significant. Default: the rubric's own; "
                "actionable if a scale of two levels meets one of four."
            ),
        ),
    ]
)
"""How judges are compared with readers: `epsilon`, `random_readers`, `level`."""


def rated_studies(
    runs: Sequence[str],
    readers: Sequence[str],
    metrics: Sequence[MetricFile],
    *,
    patient_field: str | None,
    level: str | None,
) -> RatedStudies:
    """Return the judges and readers that arguments name, on the studies that they share."""
    from judge.comparing.alignment import choice
    from judge.validating.raters import align_raters, open_raters

    chosen = runs_among([choice(run) for run in runs])
    judges = open_raters(chosen, readers=False)
    humans = open_raters([choice(run) for run in readers], readers=True)
    return align_raters(judges, humans, metrics, patient_field, level)


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
    examples=[
        "judge validate RUN --readers readers --format md",
        "judge validate RUN --readers readers --table disagreements",
    ],
    page="docs/trust.md",
)
@click.argument("runs", nargs=-1, metavar="[NAME=]RUN...", required=True)
@readers_option(required=True, group="Readers")
@validation_options
@metric_file_options
@resampling_options
@figures_options(VALIDATION_FIGURES, usual(VALIDATION_FIGURES), group="Output")
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
        "disagreements",
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
    table: tuple[str, ...],
    form: str,
) -> None:
    """Measure how well the judges of RUN agree with readers, and readers with each other.

    For each count that the rubrics share, the score and other metrics: correlation with the
    readers; the order of several candidates of one reference; agreement on studies without
    significant errors and on the highest severity; differences between judges; bias and limits of
    agreement; the alternative-annotator test. docs/trust.md explains each number. With
    --table disagreements, the errors that a judge and a reader, or two judges, see differently.
    """
    from judge.figures.files import check_figures, draw_figures
    from judge.figures.validation import validation_figures
    from judge.stats.significance import Resampling
    from judge.study.disagreements import rater_disagreements
    from judge.tables.disagreements import disagreements_table
    from judge.tables.validation import validation_document
    from judge.validating.validation import compute_validation

    require(figures is not None, "--figures", "only")
    if figures:
        check_figures(figures)
    metrics = read_metric_files(files, higher=higher, lower=lower)
    studies = rated_studies(
        runs, readers, metrics, patient_field=patient_field, level=level
    )
    validation = compute_validation(
        studies,
        Resampling(seed=seed, resamples=resamples),
        epsilon,
        random_readers=random_readers,
    )
    # Files first: whoever reads the output may close it early, as head does.
    if figures:
        drawn = draw_figures(validation_figures(validation, studies, only))
        write_drawn(drawn, figures)
    document = validation_document(validation)
    if "disagreements" in table:
        differing = disagreements_table(
            rater_disagreements(studies), complete=form == "csv"
        )
        document = replace(document, tables=(*document.tables, differing))
    print_document(document, form, validation, table)

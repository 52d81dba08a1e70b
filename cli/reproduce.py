"""`judge reproduce challenge`: the figures and tables of a published evaluation, of own runs."""

from __future__ import annotations

from pathlib import Path

import click

from judge.cli.options import (
    AllowOptions,
    MetricFileOptions,
    argument,
    command,
    option,
    options,
    patient_option,
)
from judge.cli.output import note


@click.group("reproduce")
def reproduce() -> None:
    """Make the figures and tables of a published evaluation from your own runs."""


@options
class _Challenge(AllowOptions, MetricFileOptions):
    GROUP = "Output"

    runs: tuple[str, ...] = argument("[NAME=]RUN...", required=True)
    out: Path = option("--out DIR", "The new folder.", required=True)
    sort: str | None = option("--sort METRIC", "Rank by this metric, as in judge compare.")
    model_info: str | None = option(
        "--model-info FILE",
        "A CSV or JSON file with model, date, institution and url, for ReXrank's columns.",
    )
    top_sites: int = option(
        "--top-sites N", "The largest N sites that a heat map of ranks shows.", default=30
    )
    patient_field: str | None = patient_option()


@command("challenge", group=reproduce, short_help="Reproduce the ReXrank challenge.")
def challenge(options: _Challenge) -> None:
    """Make every figure and table of the ReXrank challenge that comes from a judge.

    Give one RUN for each model, data set, section and rubric. The data sets are the values of the
    field `dataset`; without it a run is one data set, named after its file of references.
    """
    from judge.comparing.challenge import challenge_comparisons
    from judge.comparing.run_choice import choice
    from judge.figures import check_figures
    from judge.tables.challenge import write_challenge
    from judge.tables.rexrank import read_model_info

    check_figures(options.out)
    info = read_model_info(options.model_info) if options.model_info else {}
    comparisons = challenge_comparisons(
        [choice(run) for run in options.runs],
        sort=options.sort,
        allow=options.allow,
        metrics=options.read_files(),
        patient_field=options.patient_field,
    )
    files = write_challenge(comparisons, options.out, info, options.top_sites)
    notes = (text for comparison in comparisons.values() for text in comparison.notes)
    for text in dict.fromkeys(notes):
        note(text)
    note(f"challenge  {len(files)} files in {options.out}")

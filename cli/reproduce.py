"""`judge reproduce challenge`: the figures and tables of a published evaluation, of own runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from judge.cli.metric_files import metric_options, read_files
from judge.cli.options import allow_option, patient_option
from judge.cli.output import note


@click.group("reproduce")
def command() -> None:
    """Make the figures and tables of a published evaluation from own runs."""


@command.command("challenge")
@click.argument("runs", nargs=-1, required=True, metavar="[NAME=]RUN...")
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="The new folder."
)
@click.option("--sort", metavar="METRIC", help="Rank by this metric, as in judge compare.")
@click.option(
    "--model-info",
    metavar="FILE",
    help="A CSV or JSON file with model, date, institution and url, for ReXrank's columns.",
)
@click.option("--top-sites", type=click.IntRange(min=1), default=30, show_default=True)
@metric_options
@allow_option
@patient_option
def challenge(runs: tuple[str, ...], out: Path, **options: Any) -> None:  # noqa: ANN401
    """Make every figure and table of the ReXrank challenge that a judge is behind.

    Give one run for each model, data set, section and rubric. A run's data sets are those of its
    field `dataset`, else the run is one, called after its file of references.
    """
    from judge.comparing.challenge import challenge_comparisons
    from judge.comparing.run_choice import choice
    from judge.figures import check_figures
    from judge.tables.challenge import write_challenge
    from judge.tables.rexrank import read_model_info

    check_figures(out)
    info = read_model_info(options["model_info"]) if options["model_info"] else {}
    comparisons = challenge_comparisons(
        [choice(run) for run in runs],
        sort=options["sort"],
        allow=options["allow"],
        metrics=read_files(options),
        patient_field=options["patient_field"],
    )
    files = write_challenge(comparisons, out, info, options["top_sites"])
    notes = (text for comparison in comparisons.values() for text in comparison.notes)
    for text in dict.fromkeys(notes):
        note(text)
    note(f"challenge  {len(files)} files in {out}")

"""`judge readers import`, `sample` and `export`: what readers read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.options import (
    NEW_FOLDER,
    PATH,
    GroupedCommand,
    SuggestingGroup,
    draw_seed_option,
    limit_option,
    model_option,
    out_option,
    output_options,
    reader_option,
    renamed,
    strata_option,
)
from judge.cli.output import note, print_document
from judge.cli.run_options import encoding_option, section_option

if TYPE_CHECKING:
    from judge.running.folder import RunFolder

_runs_out_option = out_option(
    "The folder for the runs, one for each reader; new or empty.",
    path=NEW_FOLDER,
    required=True,
)


@click.group(
    "readers",
    cls=SuggestingGroup,
    examples=[
        "judge readers sample RUN --limit 10",
        "judge readers import tidy readings.csv --out imported",
    ],
    page="docs/readers.md",
)
def readers() -> None:
    """Draw studies for readers, import what they annotated, export what they read."""


@readers.command(
    "import",
    cls=GroupedCommand,
    short_help="Import radiologists' annotations as runs.",
    examples=["judge readers import tidy readings.csv --out imported"],
    page="docs/readers.md",
)
@click.argument("layout", metavar="LAYOUT")
@click.argument("files", nargs=-1, metavar="FILE...", required=True)
@_runs_out_option
@model_option()
@section_option(
    help="The part of the reports that was read. Default: report; impression for refisco."
)
@reader_option("The reader's name for radevalx. Default: the file's name.")
@encoding_option()
@output_options(["readers"])
def import_(
    *,
    layout: str,
    files: tuple[str, ...],
    out: Path,
    model: str | None,
    section: str | None,
    reader: str | None,
    encoding: str | None,
    table: tuple[str, ...],
    form: str,
) -> None:
    """Import radiologists' annotations as runs, one for each reader, which every command opens.

    LAYOUT is tidy, rexval, refisco, radpref or radevalx (docs/readers.md has their columns), or
    auto to recognise these. Studies that cannot be read are left out and named.
    """
    from judge.readers import annotation_store, datasets
    from judge.readers.annotations import write_runs
    from judge.studies.sections import known_section

    section = known_section(section)
    if layout == annotation_store.LAYOUT:
        if len(files) > 1:
            raise click.UsageError("readings are exported from one run at a time")
        renamed("judge readers import readings", "judge readers export RUN")
        runs = _export(Path(files[0]), reader, out, model=model, section=section)
    else:
        layout, readings, inputs = datasets.read(layout, files, reader, encoding)
        runs = write_runs(layout, readings, inputs, out, model=model, section=section)
    _print(runs, layout, form, table)


def _export(
    path: Path,
    reader: str | None,
    out: Path,
    *,
    model: str | None = None,
    section: str | None = None,
) -> list[RunFolder]:
    """Write the finished readings that were made of a run in the browser as runs."""
    from judge.readers import annotation_store
    from judge.readers.annotations import write_runs
    from judge.running.folder import RunFolder

    run = RunFolder.open(path)
    readings, inputs = annotation_store.finished(run, reader)
    return write_runs(
        annotation_store.LAYOUT,
        readings,
        inputs,
        out,
        model=model or run.manifest.model,
        section=section,
    )


def _print(
    runs: Sequence[RunFolder], layout: str, form: str, tables: tuple[str, ...]
) -> None:
    """Print the runs of readers, and say where they are."""
    from judge.tables.run import readers_document

    data = [{"run": str(run.path), **run.summary().plain()} for run in runs]
    print_document(readers_document(runs, layout), form, data, tables)
    for run in runs:
        note(f"run folder  {run.path}")


@readers.command(
    "export",
    cls=GroupedCommand,
    short_help="Make runs of what readers read in the browser.",
    examples=["judge readers export RUN --out exported"],
    page="docs/readers.md",
)
@click.argument("run", type=PATH)
@_runs_out_option
@reader_option("Export the readings of this reader alone.")
@output_options(["readers"])
def export(
    *,
    run: Path,
    out: Path,
    reader: str | None,
    table: tuple[str, ...],
    form: str,
) -> None:
    """Make a run for each reader who read studies of RUN in judge serve.

    Studies that a reader has not finished are left out.
    """
    from judge.readers.annotation_store import LAYOUT

    _print(_export(run, reader, out), LAYOUT, form, table)


@readers.command(
    "sample",
    cls=GroupedCommand,
    short_help="Draw a random sample of studies for readers.",
    examples=["judge readers sample RUN --limit 10 --strata study_class"],
    page="docs/readers.md",
)
@click.argument("run", type=PATH)
@limit_option(
    "How many studies are drawn in all, with those drawn before. Default: show the run's sample."
)
@strata_option()
@draw_seed_option()
@output_options(["sample"])
def sample(
    *,
    run: Path,
    limit: int | None,
    by: tuple[str, ...],
    seed: int | None,
    table: tuple[str, ...],
    form: str,
) -> None:
    """Draw studies of RUN at random, in the order in which readers should read them.

    The sample is saved with the run. A larger sample begins with the studies of the smaller one,
    and a reader who stops early has read a random sample too. Studies without a score are drawn
    like all others.
    """
    from judge.readers.annotation_store import described
    from judge.readers.sample import SAMPLE, sampled
    from judge.running.folder import RunFolder
    from judge.tables.run import sample_document

    data = described(run, sampled(RunFolder.open(run), limit, by, seed))
    print_document(sample_document(data), form, data, table)
    note(f"sample saved in {run / SAMPLE}")

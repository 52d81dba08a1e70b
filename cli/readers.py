"""`judge import` and `judge sample`: what readers read."""

from __future__ import annotations

from pathlib import Path

import click

from judge.cli.options import (
    NEW_FOLDER,
    PATH,
    POSITIVE_INTEGER,
    GroupedCommand,
    format_option,
    split_commas,
)
from judge.cli.output import note, print_document
from judge.cli.run_options import encoding_option, section_option


@click.command("import", cls=GroupedCommand)
@click.argument("layout", metavar="LAYOUT")
@click.argument("files", nargs=-1, metavar="FILE...", required=True)
@click.option(
    "--out",
    type=NEW_FOLDER,
    metavar="DIR",
    required=True,
    help="The folder for the runs, one a reader; new or empty.",
)
@click.option(
    "--model",
    metavar="NAME",
    help="The model that wrote the candidates. Default: the field model, else from the file name.",
)
@section_option(
    help="The part of the reports that was read. Default: report; impression for refisco."
)
@click.option(
    "--reader",
    metavar="NAME",
    help=(
        "The reader's name for radevalx (default: the file's name); with readings, import only "
        "this reader."
    ),
)
@encoding_option()
@format_option(["table", "json"])
def import_(
    *,
    layout: str,
    files: tuple[str, ...],
    out: Path,
    model: str | None,
    section: str | None,
    reader: str | None,
    encoding: str | None,
    form: str,
) -> None:
    """Import radiologists' annotations as runs, one a reader, which every command opens.

    LAYOUT is tidy, rexval, refisco, radpref or radevalx (docs/readers.md has their columns), auto
    to recognise these, or readings: annotations made in judge serve, with the run that was read as
    FILE. Studies that cannot be read are left out and named.

    \b
    judge import tidy readings.csv --out readers
    judge validate RUN --readers readers
    """
    from judge.readers import annotation_store, datasets
    from judge.readers.annotations import write_runs
    from judge.running.folder import RunFolder
    from judge.studies.sections import known_section
    from judge.tables.run import readers_document

    section = known_section(section)
    if layout == annotation_store.LAYOUT:
        if len(files) > 1:
            raise click.UsageError("readings are imported from one run at a time")
        run = RunFolder.open(Path(files[0]))
        readings, inputs = annotation_store.finished(run, reader)
        model = model or run.manifest.model
    else:
        layout, readings, inputs = datasets.read(layout, files, reader, encoding)
    runs = write_runs(
        layout,
        readings,
        inputs,
        out,
        model=model,
        section=section,
    )
    data = [{"run": str(run.path), **run.summary().plain()} for run in runs]
    print_document(readers_document(runs, layout), form, data)
    for run in runs:
        note(f"run folder  {run.path}")


@click.command("sample", cls=GroupedCommand)
@click.argument("run", type=PATH)
@click.option(
    "-n",
    type=POSITIVE_INTEGER,
    metavar="N",
    help="Studies in all, with those drawn before. Default: show the run's sample.",
)
@click.option(
    "--by",
    multiple=True,
    metavar="FIELD",
    callback=split_commas,
    help=(
        "Draw from each group of studies by this field (repeatable, or with commas), about in "
        "proportion to its size. Default: study_class."
    ),
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="Random seed of the order. Default: 1.",
)
@format_option(["table", "json"])
def sample(
    *,
    run: Path,
    n: int | None,
    by: tuple[str, ...],
    seed: int | None,
    form: str,
) -> None:
    """Draw N studies of RUN at random, in the order in which readers should read them.

    The sample is saved with the run. A larger sample begins with the studies of the smaller one,
    and a reader who stops early has read a random sample too. Studies without a score are drawn
    like all others.

    \b
    judge sample RUN -n 100
    """
    from judge.readers.annotation_store import described
    from judge.readers.sample import SAMPLE, sampled
    from judge.running.folder import RunFolder
    from judge.tables.run import sample_document

    data = described(run, sampled(RunFolder.open(run), n, by, seed))
    print_document(sample_document(data), form, data)
    note(f"sample saved in {run / SAMPLE}")

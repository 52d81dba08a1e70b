"""`judge import` and `judge sample`: what readers read."""

from __future__ import annotations

from pathlib import Path

import click

from judge.cli.options import (
    NEW_FOLDER,
    argument,
    command,
    format_option,
    list_option,
    option,
    options,
)
from judge.cli.output import note, print_document
from judge.cli.run_options import encoding_option, section_option


@options
class _Import:
    layout: str = argument("LAYOUT")
    files: tuple[str, ...] = argument("FILE...")
    out: Path = option(
        "--out DIR",
        "The folder for the runs, one a reader; new or empty.",
        type=NEW_FOLDER,
        required=True,
    )
    model: str | None = option(
        "--model NAME",
        "The model that wrote the candidates. Default: the field model, else from the file name.",
    )
    section: str | None = section_option(
        "The part of the reports that was read. Default: report; impression for refisco."
    )
    reader: str | None = option(
        "--reader NAME",
        "The reader's name for radevalx (default: the file's name); with readings, import only "
        "this reader.",
    )
    encoding: str | None = encoding_option()
    form: str = format_option("table", "json")


@command("import")
def import_(options: _Import) -> None:
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

    layout, files, reader, model = (
        options.layout,
        options.files,
        options.reader,
        options.model,
    )
    section = known_section(options.section)
    if layout == annotation_store.LAYOUT:
        if len(files) > 1:
            raise click.UsageError("readings are imported from one run at a time")
        run = RunFolder.open(Path(files[0]))
        readings, inputs = annotation_store.finished(run, reader)
        model = model or run.manifest.model
    else:
        layout, readings, inputs = datasets.read(
            layout, files, reader, options.encoding
        )
    runs = write_runs(
        layout,
        readings,
        inputs,
        options.out,
        model=model,
        section=section,
    )
    data = [{"run": str(run.path), **run.summary().plain()} for run in runs]
    print_document(readers_document(runs, layout), options.form, data)
    for run in runs:
        note(f"run folder  {run.path}")


@options
class _Sample:
    run: Path = argument()
    n: int | None = option(
        "-n N",
        "Studies in all, with those drawn before. Default: show the run's sample.",
    )
    by: tuple[str, ...] = list_option(
        "--by FIELD",
        "Draw from each group of studies by this field (repeatable, or with commas), about in "
        "proportion to its size. Default: study_class.",
    )
    seed: int | None = option(
        "--seed N", "Random seed of the order. Default: 1.", type=click.IntRange(min=0)
    )
    form: str = format_option("table", "json")


@command("sample")
def sample(options: _Sample) -> None:
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

    path = options.run
    data = described(
        path, sampled(RunFolder.open(path), options.n, options.by, options.seed)
    )
    print_document(sample_document(data), options.form, data)
    note(f"sample saved in {path / SAMPLE}")

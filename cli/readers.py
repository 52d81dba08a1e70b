"""`judge readers import`, `sample` and `export`: what readers read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.options import (
    NEW_FOLDER,
    PATH,
    FiniteRange,
    GroupedCommand,
    GroupedOption,
    SuggestingGroup,
    draw_seed_option,
    dry_run_option,
    limit_option,
    model_option,
    out_option,
    output_options,
    patient_option,
    prompt_option,
    reader_option,
    renamed,
    require,
    strata_option,
)
from judge.cli.output import note, print_document
from judge.cli.run_options import column_option, encoding_option, section_option

if TYPE_CHECKING:
    from judge.readers.annotations import Readings
    from judge.readers.pair_names import NewName
    from judge.readers.pairs import FileNames
    from judge.running.folder import RunFolder

_ROLES = (
    "id",
    "reference",
    "candidate",
    "errors",
    "category",
    "level",
    "text",
    "error",
    "total",
    "reader",
    "model",
    "patient",
    "class",
)
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


def _new_names(
    _ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]
) -> tuple[NewName, ...]:
    """Return what the values of `--map` say."""
    from judge.readers.pair_names import new_name

    names = []
    for text in value:
        try:
            names.append(new_name(text))
        except ValueError as error:
            raise click.BadParameter(str(error)) from error
    return tuple(names)


def _counts(
    _ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]
) -> dict[tuple[str, str], str]:
    """Return the columns of `--count` by category and level."""
    from judge.readers.pair_names import counted_column

    columns: dict[tuple[str, str], str] = {}
    for text in value:
        try:
            key, column = counted_column(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error
        if key in columns:
            raise click.BadParameter(
                f"{text!r}: its category and level are given twice"
            )
        columns[key] = column
    return columns


_pairs_option = partial(click.option, cls=GroupedOption, group="Pairs")


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
@reader_option(
    "The reader's name for radevalx, and for pairs without a field of it. Default: the file's name."
)
@encoding_option()
@column_option(
    *_ROLES,
    group="Pairs",
    text=(
        "NAME may lead into nested values: annotations.errors; annotations.*.errors has a reader "
        "each. category, level, text and error are below errors, the list of a pair; without it "
        "each row is an error."
    ),
)
@_pairs_option(
    "--map",
    "names",
    multiple=True,
    metavar="ROLE:OLD=NEW",
    callback=_new_names,
    help=(
        "What a name of the file means (repeatable): category:Omission=b, level:Critical="
        "significant, error:2=no. NEW of a category may be own (counted by its own word) or none "
        "(no error); OLD may be empty, for blank cells."
    ),
)
@_pairs_option(
    "--count",
    "counts",
    multiple=True,
    metavar="CATEGORY:LEVEL=NAME",
    callback=_counts,
    help=(
        "The field NAME counts the errors of a category and level (repeatable), such as "
        "b:significant=missed."
    ),
)
@dry_run_option(
    "Show how the file of pairs is understood; write nothing.", group="Pairs"
)
@output_options(["readers", "names"])
def import_(
    *,
    layout: str,
    files: tuple[str, ...],
    out: Path,
    model: str | None,
    section: str | None,
    reader: str | None,
    encoding: str | None,
    columns: Mapping[str, str],
    names: tuple[NewName, ...],
    counts: Mapping[tuple[str, str], str],
    dry_run: bool,
    table: tuple[str, ...],
    form: str,
) -> None:
    """Import radiologists' annotations as runs, one for each reader, which every command opens.

    LAYOUT is tidy, rexval, refisco, radpref or radevalx (docs/readers.md has their columns), auto
    to recognise these, or pairs: any file of pairs of reports with their errors, whose fields
    --column names. Studies that cannot be read are left out and named.
    """
    from judge.readers import annotation_store, datasets, pairs
    from judge.readers.annotations import write_runs
    from judge.studies.sections import known_section

    section = known_section(section)
    if layout != pairs.LAYOUT:
        given = {
            "--column": columns,
            "--map": names,
            "--count": counts,
            "--dry-run": dry_run,
        }
        unused = [option for option, value in given.items() if value]
        if unused:
            raise click.UsageError(
                f"{unused[0]} is for judge readers import pairs, not for {layout}"
            )
    if layout == annotation_store.LAYOUT:
        if len(files) > 1:
            raise click.UsageError("readings are exported from one run at a time")
        renamed("judge readers import readings", "judge readers export RUN")
        runs = _export(Path(files[0]), reader, out, model=model, section=section)
    elif layout == pairs.LAYOUT:
        if len(files) > 1:
            raise click.UsageError("pairs are imported from one file at a time")
        options = pairs.PairsOptions(
            columns=columns,
            names=names,
            counts=counts,
            reader=reader,
            encoding=encoding,
        )
        readings, inputs, understood = pairs.read(files[0], options)
        if dry_run:
            _print_understood(readings, understood, form, table)
            return
        runs = write_runs(layout, readings, inputs, out, model=model, section=section)
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


def _print_understood(
    readings: Sequence[Readings],
    understood: FileNames,
    form: str,
    tables: tuple[str, ...],
) -> None:
    """Print how a file of pairs is understood."""
    from judge.readers.pairs import plain
    from judge.tables.run import pairs_document

    data = plain(readings, understood)
    print_document(pairs_document(data), form, data, tables)
    note("nothing is written (--dry-run)")


def _print(
    runs: Sequence[RunFolder], layout: str, form: str, tables: tuple[str, ...]
) -> None:
    """Print the runs of readers, and say where they are."""
    from judge.tables.run import readers_document

    data = [{"run": str(run.path), **run.summary().plain()} for run in runs]
    print_document(readers_document(runs, layout), form, data, tables)
    for run in runs:
        note(f"run folder  {run.path}")


_training_option = partial(click.option, cls=GroupedOption, group="Training data")


@readers.command(
    "export",
    cls=GroupedCommand,
    short_help="Make runs, or training data, of what readers read.",
    examples=[
        "judge readers export RUN --out exported",
        "judge readers export exported --for-training --out training",
    ],
    page="docs/own-judge.md",
)
@click.argument("runs", metavar="RUN...", nargs=-1, type=PATH, required=True)
@_runs_out_option
@reader_option("Export the readings of this reader alone.")
@_training_option(
    "--for-training",
    is_flag=True,
    help=(
        "Write chat examples to fine-tune a judge on (train.jsonl), and a held-out part that only "
        "judge gate --judge opens. RUN may also be readers' runs."
    ),
)
@prompt_option(
    "The prompt that the fine-tuned judge will be asked by. Default: the rubric's own.",
    group="Training data",
)
@_training_option(
    "--held-out",
    type=FiniteRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    default=0.3,
    show_default=True,
    help="The share of the patients that is held out, all of their studies.",
)
@draw_seed_option(default=1, group="Training data")
@patient_option(group="Training data")
@output_options(["readers"])
def export(
    *,
    runs: tuple[Path, ...],
    out: Path,
    reader: str | None,
    for_training: bool,
    prompt: str | None,
    held_out: float,
    seed: int,
    patient_field: str | None,
    table: tuple[str, ...],
    form: str,
) -> None:
    """Make a run for each reader who read studies of RUN in judge serve.

    Studies that a reader has not finished are left out. With --for-training, the readings become
    examples for fine-tuning a judge instead.
    """
    require(
        for_training,
        "--for-training",
        "prompt",
        "held_out",
        "seed",
        "patient_field",
    )
    if for_training:
        _export_for_training(
            runs,
            out,
            reader,
            prompt=prompt,
            share=held_out,
            seed=seed,
            patient_field=patient_field,
            form=form,
            table=table,
        )
        return
    if len(runs) > 1:
        raise click.UsageError("runs are exported one at a time, but for training")
    (run,) = runs
    from judge.readers.annotation_store import LAYOUT

    _print(_export(run, reader, out), LAYOUT, form, table)


def _export_for_training(
    runs: Sequence[Path],
    out: Path,
    reader: str | None,
    *,
    prompt: str | None,
    share: float,
    seed: int,
    patient_field: str | None,
    form: str,
    table: tuple[str, ...],
) -> None:
    """Write the readings of runs, or of readers' runs, as training data, and say what became."""
    from judge import prompts, rubrics
    from judge.readers.training import read_all, training_set, write_training_set
    from judge.tables.training import training_document

    readings, inputs = read_all(runs, reader)
    name = prompt or rubrics.load(readings[0].rubric).prompt
    made = training_set(
        readings,
        prompts.load(name, os.environ),
        share=share,
        seed=seed,
        patient_field=patient_field,
        inputs=inputs,
    )
    write_training_set(made, out)
    print_document(training_document(made), form, made.plain(), table)
    note(f"written to {out}")


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

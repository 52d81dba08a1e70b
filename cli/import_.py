"""`judge import LAYOUT FILE... --out DIR`: radiologists' annotations as runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.options import NEW_FOLDER, argument, command, format_option, option, options
from judge.cli.output import emit, note, print_tables
from judge.cli.run_options import encoding_option, section_option

if TYPE_CHECKING:
    from judge.running.folder import Run


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
        "The model that wrote the candidates. Default: the field model, else from the file name of "
        "the candidates.",
    )
    section: str | None = section_option(
        "The part of the reports that was read. Default: report; impression for refisco."
    )
    reader: str | None = option(
        "--reader NAME",
        "The reader's name for radevalx (default: the file's name); with readings, import only "
        "this reader.",
    )
    strict: bool = option(
        "--strict", "Stop at a study whose rows contradict each other, instead of leaving it out."
    )
    encoding: str | None = encoding_option()
    form: str = format_option("table", "json")


@command("import")
def import_(options: _Import) -> None:
    """Import radiologists' annotations as runs, one a reader, which every command opens.

    LAYOUT is tidy, rexval, refisco, radpref or radevalx (docs/readers.md has their columns), auto
    to recognise these, or readings: annotations made in judge serve, with the run that was read as
    FILE. Studies whose rows contradict each other are left out and named.

    \b
    judge import tidy readings.csv --out readers
    judge validate RUN --readers readers
    """
    from judge.readers import datasets, page_annotations
    from judge.readers.reader_runs import write_runs
    from judge.running.folder import Run
    from judge.studies.sections import known_section

    layout, files, reader, model = options.layout, options.files, options.reader, options.model
    section = known_section(options.section)
    arguments: dict[str, object] = {"layout": layout, "files": list(files), "model": model}
    arguments |= {"reader": reader, "strict": options.strict}
    if layout == page_annotations.LAYOUT:
        if len(files) > 1:
            raise click.UsageError("readings are imported from one run at a time")
        run = Run(Path(files[0]))
        readings, inputs = page_annotations.finished(run, reader)
        model = model or run.manifest.get("model")
    else:
        layout, readings, inputs = datasets.read(
            layout, files, reader, options.encoding, strict=options.strict
        )
    runs = write_runs(
        layout, readings, inputs, options.out, model=model, section=section, arguments=arguments
    )
    if options.form == "json":
        from judge.tables.data import as_json

        emit(as_json([{"run": str(run.path), **run.summary()} for run in runs]))
    else:
        _print_runs(runs, layout)


def _print_runs(runs: Sequence[Run], layout: str) -> None:
    from judge.tables.document import Column, Table, columns
    from judge.tables.run import headline_figures

    facts, rows, head = [("layout", layout), ("rubric", runs[0].rubric.title)], [], []
    readers_of: dict[str, list[str]] = {}
    for run in runs:
        summary, name = run.summary(), run.manifest["judge"]["name"]
        for text in summary["notes"]:
            readers_of.setdefault(text, []).append(name)
        figures = headline_figures(summary, run.rubric)
        head = [label for label, _ in figures]
        counts = (summary[name] for name in ("n_studies", "n_scored"))
        rows.append((name, *counts, *(text for _, text in figures)))
    for text, names in readers_of.items():
        facts.append(("note", text if len(names) == len(runs) else f"{', '.join(names)}: {text}"))
    figure_columns = [Column(label, label, "number") for label in head]
    left = columns("judge", "studies||count", "scored||count")
    print_tables(Table("readers", "Readers", [*left, *figure_columns], rows), facts=facts)
    for run in runs:
        note(f"run folder  {run.path}")

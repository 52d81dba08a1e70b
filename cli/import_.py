"""`judge import LAYOUT FILE... --out DIR`: what readers wrote about reports, as runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.options import GroupedCommand, NamedPath, heading
from judge.cli.output import emit, format_of, note, print_facts, print_tables
from judge.cli.studies import encoding_option

if TYPE_CHECKING:
    from judge.running.folder import Run


@click.command("import", GroupedCommand)
@click.argument("layout", metavar="LAYOUT")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@heading("Files")
@click.option(
    "--out",
    type=NamedPath(file_okay=False),
    required=True,
    metavar="DIR",
    help="Write the runs here, one folder per reader. It may be new, or empty.",
)
@click.option(
    "--model",
    metavar="NAME",
    help="The model whose reports were read. Default: the field model, else the name of the file "
    "that has the candidates.",
)
@click.option(
    "--section",
    metavar="findings|impression|report",
    help="The part of the reports that was read. Default: report; of refisco impression.",
)
@click.option(
    "--reader",
    metavar="NAME",
    help="Who read, for radevalx, whose file does not say (default: the name of the file); for "
    "readings this reader's alone.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Refuse files with a study whose rows contradict each other. Default: leave it out.",
)
@encoding_option
@heading("Output")
@format_of("table", "json", text="What to print: the readers for people, or JSON.")
def command(
    *,
    layout: str,
    files: tuple[str, ...],
    out: Path,
    model: str | None,
    section: str | None,
    reader: str | None,
    strict: bool,
    encoding: str | None,
    form: str,
) -> None:
    """Make a run of what each reader wrote in FILE, which rates, audit, compare and serve open.

    LAYOUT is tidy, rexval, refisco, radpref or radevalx (docs/readers.md has their columns), or
    auto, which goes by their columns; or readings, made on the pages of judge serve: FILE is then
    the run whose studies were read. A study whose rows contradict each other is left out, counted
    and named. No judge is asked.
    """
    from judge.readers import datasets, page_annotations
    from judge.readers.reader_runs import write_runs
    from judge.running.folder import Run
    from judge.studies.names import known_section

    known = known_section(section)
    arguments: dict[str, object] = {"layout": layout, "files": list(files), "model": model}
    arguments |= {"reader": reader, "strict": strict}
    if layout == page_annotations.LAYOUT:
        if len(files) > 1:
            raise click.UsageError("readings are imported of one run at a time")
        opened = Run(Path(files[0]))
        readings, inputs = page_annotations.finished(opened, reader)
        model = model or opened.manifest.get("model")
    else:
        layout, readings, inputs = datasets.read(layout, files, reader, encoding, strict=strict)
    runs = write_runs(
        layout, readings, inputs, out, model=model, section=known, arguments=arguments
    )
    if form == "json":
        from judge.tables.data import as_json

        emit(as_json([{"run": str(run.path), **run.summary()} for run in runs]))
    else:
        _print_runs(runs, layout)


def _print_runs(runs: Sequence[Run], layout: str) -> None:
    from judge.tables.document import Column, Table
    from judge.tables.run import headline_figures

    facts, rows, head = [("layout", layout), ("rubric", runs[0].rubric.title)], [], []
    whose: dict[str, list[str]] = {}
    for run in runs:
        summary, name = run.summary(), run.manifest["judge"]["name"]
        for text in summary["notes"]:
            whose.setdefault(text, []).append(name)
        figures = headline_figures(summary, run.rubric)
        head = [label for label, _ in figures]
        counts = (summary[name] for name in ("n_studies", "n_scored"))
        rows.append((name, *counts, *(text for _, text in figures)))
    for text, names in whose.items():
        facts.append(("note", text if len(names) == len(runs) else f"{', '.join(names)}: {text}"))
    print_facts(facts)
    columns = [Column("judge", "judge")]
    columns += [Column(name, name, "count") for name in ("studies", "scored")]
    columns += [Column(label, label, "number") for label in head]
    print_tables(Table("readers", "Readers", tuple(columns), tuple(rows)))
    for run in runs:
        note(f"run folder  {run.path}")

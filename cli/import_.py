"""`judge import LAYOUT FILE... --out DIR`: what readers wrote about reports, as runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.options import GroupedCommand, NamedPath, heading
from judge.cli.output import by_option, emit, format_of, note, print_facts, print_tables
from judge.cli.studies import encoding_option

if TYPE_CHECKING:
    from judge.report.tables import Table
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
    help="Who read, for radevalx, whose file does not say. Default: the name of the file.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Refuse files with a study whose rows contradict each other. Default: leave it out.",
)
@encoding_option
@heading("Output")
@by_option
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
    by: list[str],
    form: str,
) -> None:
    """Make a run of what each reader wrote in FILE, which rates, audit, compare and serve open.

    LAYOUT is tidy, rexval, refisco, radpref or radevalx (docs/readers.md has their columns), or
    auto, which goes by their columns. A study whose rows contradict each other is left out,
    counted and named. No judge is asked.
    """
    from judge.readers import datasets
    from judge.readers.runs import write_runs
    from judge.studies.sections import known_section

    known = known_section(section)
    layout, readings, inputs = datasets.read(layout, files, reader, encoding, strict=strict)
    arguments: dict[str, object] = {
        "layout": layout,
        "files": list(files),
        "model": model,
        "reader": reader,
    }
    arguments |= {"strict": strict, "by": by}
    runs = write_runs(
        layout, [readings], inputs, out, model=model, section=known, by=by, arguments=arguments
    )
    print_runs(runs, [("layout", layout)], form)


def print_runs(runs: Sequence[Run], facts: Sequence[tuple[str, str]], form: str) -> None:
    """Print readers' runs: what they have in common, `facts` first, and a row each; or JSON."""
    from judge.report.formats import as_json

    if form == "json":
        emit(as_json([{"run": str(run.path), **run.summary()} for run in runs]))
        return
    print_facts([*facts, *_said(runs)])
    print_tables([_table(runs)])
    for run in runs:
        note(f"run folder  {run.path}")


def _said(runs: Sequence[Run]) -> list[tuple[str, str]]:
    facts = [("rubric", runs[0].rubric.title)]
    notes = {run: run.summary()["notes"] for run in runs}
    shared = [text for text in notes[runs[0]] if all(text in told for told in notes.values())]
    facts += [("note", text) for text in shared]
    for run, told in notes.items():
        who = run.manifest["judge"]["name"]
        facts += [("note", f"{who}: {text}") for text in told if text not in shared]
    return facts


def _table(runs: Sequence[Run]) -> Table:
    from judge.report.tables import Table, headline_figures

    rows, head = [], []
    for run in runs:
        summary = run.summary()
        figures = headline_figures(summary, run.rubric)
        head = [label for label, _ in figures]
        counts = (f"{summary[name]:,}" for name in ("n_studies", "n_scored"))
        rows.append((run.manifest["judge"]["name"], *counts, *(text for _, text in figures)))
    return Table("Readers", ("judge", "studies", "scored", *head), tuple(rows))

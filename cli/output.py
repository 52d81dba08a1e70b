"""Printing: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from judge.cli.options import FORMS, QUIET
from judge.rubrics import Rubric
from judge.tables import forms
from judge.tables.document import Column, Document, Table
from judge.text import harmless

if TYPE_CHECKING:
    from judge.comparing.alignment import RunChoice
    from judge.figures.files import DrawnFigures
    from judge.run_files.summary import RunSummary
    from judge.stress.floor import FloorReport

T = TypeVar("T")

TABLE_FORMS = FORMS[:-1]


def is_quiet() -> bool:
    """Whether the command was given --quiet."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET))


def note(text: str) -> None:
    """Say something on standard error, but not with --quiet."""
    if not is_quiet():
        warn(text)


def warn(text: str) -> None:
    """Say on standard error why a command ends as it does; what steers a terminal is visible."""
    click.echo(harmless(text), err=True)


def note_once(texts: Iterable[str]) -> None:
    """Say each of several texts once."""
    for text in dict.fromkeys(texts):
        note(text)


def emit(text: str) -> None:
    """Print a result: as it is into a file or a pipe, harmless on a terminal."""
    click.echo(harmless(text) if sys.stdout.isatty() else text)


def tracked(items: Iterable[T], n: int) -> Iterable[T]:
    """Pass on `n` items as they come, with a progress bar on a terminal."""
    from rich.console import Console
    from rich.progress import track

    shown = Console(stderr=True)
    hidden = not sys.stderr.isatty()
    return track(items, "Comparing", n, console=shown, transient=True, disable=hidden)


def print_document(
    document: Document,
    form: str = "table",
    data: object = None,
    tables: Sequence[str] = (),
) -> None:
    """Print a document as text, Markdown, LaTeX or CSV, or `data` as JSON.

    `tables` are the names of the tables to print, by default all, or the first as CSV. One that
    has nothing to show is printed without rows.
    """
    if tables and form not in TABLE_FORMS:
        raise click.UsageError(f"--table goes with --format {', '.join(TABLE_FORMS)}")
    if form == "csv" and len(tables) > 1:
        raise click.UsageError("a CSV has one table: name one with --table")
    if tables:
        document = document.with_empty(tables).only(tables)
    if form == "table":
        from judge.tables.terminal import as_lines

        click.echo("\n".join(as_lines(document)))
    elif form == "json":
        emit(forms.as_json(data))
    elif form == "csv":
        if not document.tables:
            document = replace(document, tables=[_facts_table(document)])
        emit(forms.as_csv(document))
        note_once(document.notes)
    elif form == "md":
        emit(forms.as_markdown(document))
    else:
        emit(forms.as_latex(document))


def _facts_table(document: Document) -> Table:
    """Return the facts of a document as a table, for a form that has tables alone."""
    columns = [Column("name"), Column("value")]
    return Table("facts", document.title, columns, list(document.facts))


def print_summary(
    summary: RunSummary,
    rubric: Rubric,
    form: str,
    tables: Sequence[str] = (),
    *,
    floor: FloorReport | None = None,
) -> None:
    """Print the summary of a run, with its figures beside a floor where one is given."""
    from judge.tables.run import run_document

    if "corrected" in tables and summary.readings is None:
        raise click.UsageError("--table corrected goes with --readers")
    is_complete = form == "csv"
    document = run_document(summary, rubric, complete=is_complete, also=tables)
    data = summary.plain()
    if floor is not None:
        from judge.tables.floor import with_floor

        document = with_floor(document, floor, by=summary.by, complete=is_complete)
        data["floor"] = floor.plain()
    print_document(document, form, data, tables)


def runs_among(choices: Sequence[RunChoice]) -> tuple[RunChoice, ...]:
    """Return the runs among arguments, and say what a pattern such as `runs/*` found besides."""
    from judge.comparing.run_arguments import chosen_runs

    chosen = chosen_runs(choices)
    note_once(chosen.skipped)
    return chosen.choices


def write_drawn(figures: DrawnFigures, folder: Path) -> None:
    """Write figures into a folder, and say how many files they are."""
    from judge.figures.files import write_figures

    note(f"figures  {len(write_figures(figures, folder))} files in {folder}")

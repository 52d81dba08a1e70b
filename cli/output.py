"""Printing: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from judge.rubrics import Rubric
from judge.tables import forms
from judge.tables.document import Document
from judge.text import harmless

if TYPE_CHECKING:
    from judge.comparing.alignment import RunChoice
    from judge.figures.files import DrawnFigures
    from judge.run_files.summary import RunSummary

T = TypeVar("T")

TABLE_FORMS = ("table", "md", "latex", "csv")


def note(text: str) -> None:
    """Say something on standard error; what steers a terminal is made visible."""
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

    `tables` are the names of the tables to print, by default all, or the first as CSV.
    """
    if tables and form not in TABLE_FORMS:
        raise click.UsageError(f"--table goes with --format {', '.join(TABLE_FORMS)}")
    if form == "csv" and len(tables) > 1:
        raise click.UsageError("a CSV has one table: name one with --table")
    if tables:
        document = document.only(tables)
    if form == "table":
        from judge.tables.terminal import as_lines

        click.echo("\n".join(as_lines(document)))
    elif form == "json":
        emit(forms.as_json(data))
    elif form == "csv":
        emit(forms.as_csv(document))
        note_once(document.notes)
    elif form == "md":
        emit(forms.as_markdown(document))
    else:
        emit(forms.as_latex(document))


def print_summary(
    summary: RunSummary, rubric: Rubric, form: str, tables: Sequence[str] = ()
) -> None:
    """Print the summary of a run."""
    from judge.tables.run import run_document

    document = run_document(summary, rubric, complete=form == "csv")
    print_document(document, form, summary.plain(), tables)


def runs_among(choices: Sequence[RunChoice]) -> tuple[RunChoice, ...]:
    """Return the runs among arguments, and say what a pattern such as `runs/*` found besides."""
    from judge.comparing.run_arguments import chosen_runs

    chosen = chosen_runs(choices)
    note_once(chosen.skipped)
    return chosen.choices


def check_outputs(html: Path | None, figures: Path | None, mark: str) -> None:
    """Raise `JudgeError` where the page, which begins with `mark`, or figures cannot be written."""
    from judge.files import check_writable

    if html:
        check_writable(html, mark=mark)
    if figures:
        from judge.figures.files import check_figures

        check_figures(figures)


def write_drawn(figures: DrawnFigures, folder: Path) -> None:
    """Write figures into a folder, and say how many files they are."""
    from judge.figures.files import write_figures

    note(f"figures  {len(write_figures(figures, folder))} files in {folder}")

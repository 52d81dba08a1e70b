"""Printing: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.rubrics import Rubric

if TYPE_CHECKING:
    from rich.console import Console

    from judge.report.line import Line
    from judge.report.tables import Table

# Text in a pipe is wrapped for whoever reads it; a line of a table is one line there.
_PIPE_WIDTH, _PIPE_TABLE_WIDTH = 160, 2000
_STYLES = {
    "title": "bold",
    "heading": "bold cyan",
    "significant": "red",
    "insignificant": "yellow",
    "removed": "red strike",
    "added": "green",
    "plain": "",
}

format_option = click.option(
    "--format",
    "form",
    type=click.Choice(("table", "json", "csv", "md")),
    default="table",
    show_default=True,
    help="What to print on standard output: tables for people, or JSON, CSV, Markdown.",
)


def split_fields(_ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> list[str]:
    """Return the fields of a repeated, comma-separated option."""
    names = [name.strip() for part in value for name in part.split(",")]
    if not all(names):
        raise click.BadParameter("an empty field name")
    return names


by_option = click.option(
    "--by",
    multiple=True,
    default=("study_class",),
    show_default="study_class",
    callback=split_fields,
    metavar="FIELD",
    help="Group the rates by this field (repeat it, or separate with commas, for several).",
)

cache_option = click.option(
    "--cache",
    type=click.Path(path_type=Path),
    envvar="JUDGE_CACHE",
    show_envvar=True,
    metavar="DIR",
    help="The folder where answers are kept. Default: the platform's cache folder.",
)


def note(text: str) -> None:
    """Say something on standard error."""
    click.echo(text, err=True)


def console(pipe_width: int = _PIPE_WIDTH) -> Console:
    """Return the terminal, or a wide page without colour where output is piped."""
    from rich.console import Console

    return Console(
        width=None if sys.stdout.isatty() else pipe_width,
        highlight=False,
        markup=False,
        emoji=False,
    )


def print_summary(summary: Mapping[str, Any], rubric: Rubric, form: str) -> None:
    """Print a summary in the format asked for."""
    from judge.report import formats
    from judge.report.tables import headline, tables

    if form == "json":
        click.echo(formats.as_json(summary))
    elif form == "csv":
        click.echo(formats.as_csv(summary, rubric))
    elif form == "md":
        click.echo(formats.as_markdown(summary, rubric))
    else:
        print_facts(headline(summary, rubric))
        print_tables(tables(summary, rubric))
        click.echo(f"signature  {summary['signature']}")


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns."""
    from rich.table import Table as RichTable
    from rich.text import Text

    from judge.report.words import harmless

    grid = RichTable.grid(padding=(0, 2))
    for name, value in facts:
        grid.add_row(Text(name, style="bold"), Text(harmless(value)))
    console().print(grid)
    click.echo()


def print_tables(tables: Iterable[Table]) -> None:
    """Print tables one below the other."""
    from judge.report.formats import as_rich

    out = console(_PIPE_TABLE_WIDTH)
    for table in tables:
        out.print(as_rich(table, out.width))


def print_lines(lines: Iterable[Line]) -> None:
    """Print an audit's lines; reports are text from outside and never read as markup."""
    from rich.text import Text

    from judge.report.words import harmless

    out = console()
    for line in lines:
        if line.style == "heading":
            click.echo()
        out.print(Text(harmless(line.text), style=_STYLES[line.style]))

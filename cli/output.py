"""Printing: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from judge.cli.options import Decorator
from judge.report.words import harmless
from judge.rubrics import Rubric

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from judge.report.study import Beside, Line
    from judge.report.tables import Table

_Command = TypeVar("_Command", bound=Callable[..., object])

# Text in a pipe is wrapped for whoever reads it; a line of a table is one line there.
_PIPE_WIDTH, _PIPE_TABLE_WIDTH = 160, 2000
_SIDE_BY_SIDE = 120
"""Columns from which two reports stand side by side."""
_STYLES = {
    "title": "bold",
    "heading": "bold cyan",
    "significant": "red",
    "insignificant": "yellow",
    "removed": "red strike",
    "added": "green",
    "plain": "not strike",
    "quiet": "dim",
}


def format_of(*forms: str, text: str) -> Callable[[_Command], _Command]:
    """Return the option `--format` of a command that prints in these forms; the first is usual."""
    kind = click.Choice(forms)
    return click.option(
        "--format", "form", type=kind, default=forms[0], show_default=True, help=text
    )


format_option = format_of(
    *("table", "json", "csv", "md"),
    text="What to print on standard output: tables for people, or JSON, CSV, Markdown.",
)


def list_option(*names: str, **more: Any) -> Decorator:  # noqa: ANN401 - as click takes them
    """Return an option that is repeated, or has several values between commas."""
    return click.option(*names, multiple=True, callback=_parts, **more)


def _parts(_ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> list[str]:
    names = [name.strip() for part in value for name in part.split(",")]
    if not all(names):
        raise click.BadParameter("an empty field name")
    return names


by_option = list_option(
    "--by",
    default=("study_class",),
    show_default=True,
    metavar="FIELD",
    help="Group the rates by this field (repeat it, or separate with commas, for several).",
)

readings_at_random_option = click.option(
    "--readings-at-random",
    "at_random",
    is_flag=True,
    help="Take the studies of --readings for drawn at random, where their runs do not say so.",
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
    """Say something on standard error; what steers a terminal is made visible."""
    click.echo(harmless(text), err=True)


def emit(text: str) -> None:
    """Print a result: as it is into a file or a pipe, harmless on a terminal."""
    click.echo(harmless(text) if sys.stdout.isatty() else text)


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
    from judge.report.tables import headline, tables, unread_lines

    if form == "json":
        emit(formats.as_json(summary))
    elif form == "csv":
        emit(formats.as_csv(summary, rubric))
    elif form == "md":
        emit(formats.as_markdown(summary, rubric))
    else:
        print_facts(headline(summary, rubric))
        print_tables(tables(summary, rubric))
        for line in unread_lines(summary, rubric):
            emit(f"{line}\n")
        for name, line in formats.signatures(summary):
            emit(f"{name:9}  {line}")


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns."""
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable.grid(padding=(0, 2))
    for name, value in facts:
        grid.add_row(Text(name, style="bold"), Text(harmless(value)))
    _show(console(), grid)
    click.echo()


def print_tables(tables: Iterable[Table]) -> None:
    """Print tables one below the other."""
    from judge.report.terminal import as_rich

    out = console(_PIPE_TABLE_WIDTH)
    for table in tables:
        _show(out, as_rich(table, out.width))


def _show(out: Console, renderable: RenderableType) -> None:
    with out.capture() as captured:
        out.print(renderable)
    click.echo("\n".join(line.rstrip() for line in captured.get().split("\n")), nl=False)


def print_lines(lines: Iterable[Line | Beside]) -> None:
    """Print an audit's lines; reports are text from outside and never read as markup."""
    from rich.console import Group
    from rich.table import Table as RichTable

    from judge.report.study import Beside

    out = console()
    has_room = out.is_terminal and out.width >= _SIDE_BY_SIDE
    for line in lines:
        if not isinstance(line, Beside):
            _print_line(out, line)
        elif has_room:
            grid = RichTable.grid(padding=(0, 4, 0, 0), expand=True)
            grid.add_column(ratio=1)
            grid.add_column(ratio=1)
            sides = ([_as_rich(out, each) for each in side] for side in (line.left, line.right))
            grid.add_row(*(Group(*side) for side in sides))
            click.echo()
            _show(out, grid)
        else:
            for each in (*line.left, *line.right):
                _print_line(out, each)


def _print_line(out: Console, line: Line) -> None:
    if line.style == "heading":
        click.echo()
    _show(out, _as_rich(out, line))


def _as_rich(out: Console, line: Line) -> RenderableType:
    from rich.table import Table as RichTable
    from rich.text import Text

    style = _STYLES[line.style]
    has_colour = out.color_system is not None and not out.no_color
    text = Text(style=style)
    for piece in line.pieces:
        words, own = harmless(piece.text), _STYLES[piece.style] if piece.style else ""
        if not piece.errors:
            text.append(words, own)
            continue
        text.append(words if has_colour else f"[{words}]", f"{own} underline")
        text.append(f"({','.join(map(str, piece.errors))})", f"{own} bold")
    if not line.lead:
        return text
    grid = RichTable.grid()
    grid.add_row(Text(harmless(line.lead), style=style), text)
    return grid

"""Printing: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from judge.rubrics import Rubric
from judge.text import harmless

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from judge.cli.options import Decorator
    from judge.study.terminal import Line
    from judge.tables.document import Document, Table

_Command = TypeVar("_Command", bound=Callable[..., object])
T = TypeVar("T")

_TABLES = "judge.tables"
_TABLE_FORMS = ("table", "md", "latex", "csv")
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


def format_of(*forms: str, text: str, tables: Sequence[str] = ()) -> Callable[[_Command], _Command]:
    """Return the option `--format` of a command that prints in these forms; the first is usual.

    With the names of its `tables` the command has `--table` too, which `print_document` obeys.
    """
    kind = click.Choice(forms)
    form = click.option(
        "--format", "form", type=kind, default=forms[0], show_default=True, help=text
    )
    if not tables:
        return form

    def keep(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> None:
        names = _parts(ctx, param, value)
        if unknown := [name for name in names if name not in tables]:
            raise click.BadParameter(
                f"there is no table {unknown[0]!r}; there are: {', '.join(tables)}"
            )
        ctx.meta[_TABLES] = names

    table = click.option(
        "--table",
        multiple=True,
        callback=keep,
        expose_value=False,
        metavar="NAME",
        help=f"Print these tables alone: {', '.join(tables)} (repeat it, or separate with "
        f"commas). Default: all, or {tables[0]} as CSV.",
    )
    return lambda command: form(table(command))


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


def groupings_option(text: str, **more: Any) -> Decorator:  # noqa: ANN401 - as click takes them
    """Return `--by`: a table for each time it is given, of combinations of fields for `a,b`."""
    return click.option(
        "--by", multiple=True, callback=_groupings, metavar="FIELD[,FIELD]", help=text, **more
    )


def _groupings(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(",".join(_parts(ctx, param, (grouping,))) for grouping in value)


by_option = groupings_option(
    "Group the rates by this field; a table for each --by, of combinations for a,b.",
    default=("study_class",),
    show_default=True,
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


def print_document(document: Document, form: str, data: object = None) -> None:
    """Print a document as tables, Markdown, LaTeX or CSV, or `data` as JSON.

    The option --table, where the command has it, chooses tables.
    """
    names: Sequence[str] = click.get_current_context().meta.get(_TABLES, ())
    if names and form not in _TABLE_FORMS:
        raise click.UsageError(f"--table goes with --format {', '.join(_TABLE_FORMS)}")
    if form == "csv" and len(names) > 1:
        raise click.UsageError("a CSV has one table: name one with --table")
    if names:
        document = document.only(names)
    if form == "table":
        from judge.tables.terminal import as_lines

        click.echo("\n".join(as_lines(document)))
    elif form == "json":
        from judge.tables.data import as_json

        emit(as_json(data))
    elif form == "csv":
        from judge.tables.data import as_csv

        emit(as_csv(document))
        for text in document.notes:
            note(text)
    elif form == "md":
        from judge.tables.markdown import as_markdown

        emit(as_markdown(document))
    else:
        from judge.tables.latex import as_latex

        emit(as_latex(document))


def tracked(items: Iterable[T], n: int) -> Iterable[T]:
    """Pass on `n` items as they come, with a progress bar on a terminal."""
    from rich.console import Console
    from rich.progress import track

    shown = Console(stderr=True)
    hidden = not sys.stderr.isatty()
    return track(items, "Comparing", n, console=shown, transient=True, disable=hidden)


def print_summary(summary: Mapping[str, Any], rubric: Rubric, form: str) -> None:
    """Print the summary of a run."""
    from judge.tables.run import run_document

    print_document(run_document(summary, rubric, complete=form == "csv"), form, summary)


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns."""
    from judge.tables.document import Document

    print_document(Document("", tuple(facts)), "table")


def print_tables(*tables: Table) -> None:
    """Print tables one below the other."""
    from judge.tables.document import Document

    print_document(Document("", tables=tables), "table")


def print_lines(lines: Iterable[Line]) -> None:
    """Print an audit's lines; reports are text from outside and never read as markup."""
    from judge.tables.terminal import shown, terminal

    out = terminal()
    for line in lines:
        if line.style == "heading":
            click.echo()
        click.echo("\n".join(shown(_as_rich(out, line), out)))


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

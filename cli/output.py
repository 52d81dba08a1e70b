"""Printing: results to standard output, everything else to standard error."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from judge.rubrics import Rubric
from judge.text import harmless

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod, RenderableType

    from judge.figures import WrittenFigures
    from judge.study.terminal import Line
    from judge.tables.run import Table

T = TypeVar("T")

# Text in a pipe is wrapped for whoever reads it; a line of a table is one line there.
_WRITERS = {"md": "as_markdown", "latex": "as_latex", "csv": "as_csv"}
_PIPE_WIDTH, _PIPE_TABLE_WIDTH = 160, 2000
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


def tracked(items: Iterable[T], n: int) -> Iterable[T]:
    """Pass on `n` items as they come, with a progress bar on a terminal."""
    from rich.console import Console
    from rich.progress import track

    shown = Console(stderr=True)
    hidden = not sys.stderr.isatty()
    return track(items, "Comparing", n, console=shown, transient=True, disable=hidden)


def print_summary(summary: Mapping[str, Any], rubric: Rubric, form: str) -> None:
    """Print a summary in the format asked for."""
    from judge.tables.run import headline, signatures, tables, unread_lines

    if form != "table":
        from judge.tables import document as formats

        writes = {"csv": formats.as_csv, "md": formats.as_markdown}
        emit(writes[form](summary, rubric) if form in writes else formats.as_json(summary))
    else:
        print_facts(headline(summary, rubric))
        print_tables(tables(summary, rubric))
        for line in unread_lines(summary, rubric):
            emit(f"{line}\n")
        for name, line in signatures(summary):
            emit(f"{name:9}  {line}")


def put(data: Mapping[str, Any], printed: ModuleType, form: str) -> None:
    """Print data in `form`, by the module that has its tables."""
    from judge.tables.document import as_json

    if form == "table":
        print_facts(printed.facts(data))
        print_tables(printed.tables(data))
        emit(f"signature  {data['signature']}")
        return
    emit(as_json(data) if form == "json" else getattr(printed, _WRITERS[form])(data))
    for text in data.get("notes", ()):
        note(text)


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
    out = console(_PIPE_TABLE_WIDTH)
    for table in tables:
        _show(out, as_rich(table, out.width))


def _show(out: Console, renderable: RenderableType) -> None:
    with out.capture() as captured:
        out.print(renderable)
    click.echo("\n".join(line.rstrip() for line in captured.get().split("\n")), nl=False)


def print_lines(lines: Iterable[Line]) -> None:
    """Print an audit's lines; reports are text from outside and never read as markup."""
    out = console()
    for line in lines:
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


# What a name may be broken to before the numbers beside it are.
_FOLD = 12
# An interval, a count of studies, a number with its sign before it, or a word.
_PIECE = re.compile(r"\[[^\]]*\]|\([^)]*\)|[±<] \S+|\S+")


def as_rich(table: Table, width: int) -> RenderableType:
    """Return a table for a terminal of `width` characters, its text never read as markup.

    Where a row does not fit in one line, its cells take several, and numbers stay whole. Where even
    that is too wide, each cell of a row gets a line of its own after the name of its column.
    """
    from rich import box
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table as Grid
    from rich.text import Text

    head, *rows = [
        [harmless(cell).replace("\n", " ").replace("\t", " ") for cell in row]
        for row in (table.head, *table.rows)
    ]
    title = Text(harmless(table.title), "bold", overflow="fold")
    note: list[RenderableType] = []
    if table.note:
        note = [Text(harmless(table.note), "dim", overflow="fold"), ""]
    columns = list(zip(head, *rows, strict=True))
    whole = list(map(_longest, columns))
    widths = [_longest([piece for cell in column for piece in _pieces(cell)]) for column in columns]
    widths[: table.n_left] = [min(_FOLD, name) for name in widths[: table.n_left]]
    gap = 3 if sum(whole) + 3 * len(head) <= width else 2
    spare = width - gap * len(head) - sum(widths)
    if spare < 0:
        records = ["\n".join(map("{}: {}".format, head, row)) for row in rows]
        return Group(title, "", Text("\n\n".join(records), overflow="fold"), "", *note)
    grid = Grid(box=box.SIMPLE, show_edge=False, padding=(0, gap - 2, 0, 1), header_style="bold")
    for at, name in enumerate(head):
        more = min(spare, whole[at] - widths[at])  # names first: they stand on the left
        spare -= more
        widths[at] += more
        justify: JustifyMethod = "left" if at < table.n_left else "right"
        grid.add_column(Text(name), width=widths[at], justify=justify, overflow="fold")
    for row in rows:
        cells = [
            cell
            if at < table.n_left or _longest([cell]) <= widths[at]
            else "\n".join(_pieces(cell))
            for at, cell in enumerate(row)
        ]
        grid.add_row(*map(Text, cells))
    return Group(title, Padding(grid, (1, 0, 1, 1)), *note)


def _pieces(cell: str) -> list[str]:
    return _PIECE.findall(cell)


def _longest(parts: Sequence[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, parts), default=1)


def check_outputs(html: Path | None, figures: Path | None, mark: str) -> None:
    """Raise `JudgeError` where the page, which begins with `mark`, or figures cannot be written."""
    from judge.files import check_writable

    if html:
        check_writable(html, mark=mark)
    if figures:
        from judge.figures import check_figures

        check_figures(figures)


def note_figures(written: WrittenFigures, folder: Path) -> None:
    """Say which figures were written, and their notes."""
    for text in written.notes:
        note(text)
    note(f"figures  {len(written.files)} files in {folder}")

"""--figures and --html, and the output of commands that have tables, a page and figures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.options import Decorator, NamedPath, cannot_write, check_writable, replacing, target
from judge.cli.output import note
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.figures import WrittenFigures


def figures_option(shown: str = "") -> Decorator:
    """Return the option of a folder for figures; `shown` says what those show."""
    return click.option(
        "--figures",
        type=NamedPath(file_okay=False),
        metavar="DIR",
        help="Draw the figures into this folder, as SVG, PDF, PNG and Vega-Lite (needs vl-convert)"
        f"{shown and ': '}{shown}.",
    )


def html_option(text: str) -> Decorator:
    """Return the option of a page, with its help."""
    return click.option("--html", type=NamedPath(dir_okay=False), metavar="FILE", help=text)


def check_drawn(html: Path | None, figures: Path | None, mark: str) -> None:
    """Raise `JudgeError` where the page, which begins with `mark`, or figures cannot be written."""
    if html:
        check_html(html, mark)
    if figures:
        from judge.figures import check_figures

        check_figures(figures)


def say_drawn(drawn: WrittenFigures, folder: Path) -> None:
    """Say what was drawn, and what a reader of the figures should know."""
    for text in drawn.notes:
        note(text)
    note(f"figures  {len(drawn.files)} files in {folder}")


def write_html(pieces: Iterable[str], path: Path, mark: str) -> None:
    """Write `pieces` to `path`, whole or not at all; raises `JudgeError` as `check_html`."""
    check_html(path, mark)
    # Half a surrogate pair, as the name of a folder may hold, is no text for a page.
    with replacing(path) as staged, staged.open("w", encoding="utf-8", errors="replace") as file:
        for piece in pieces:
            file.write(piece)


def check_html(path: Path, mark: str) -> None:
    """Raise `JudgeError` where no page that begins with `mark` can be written to `path`."""
    check_writable(path)
    there = target(path)
    try:
        with there.open("rb") as file:
            start = file.read(len(mark))
    except FileNotFoundError:
        return
    except OSError as error:
        raise cannot_write(path, error) from error
    if start not in (b"", mark.encode()):
        raise JudgeError(f"{path} is not a page that judge wrote; choose another place")

"""`judge page RUN... --out DIR`: the pages of several runs with an index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.options import argument, command, option, options
from judge.files import cannot_write, check_writable, write_html
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.running.folder import Run


INDEX = "<!doctype html><!-- judge page -->"
"""How the index of a site begins, so that it is known again."""


@options
class _Page:
    runs: tuple[Path, ...] = argument("RUN...")
    out: Path = option(
        "--out DIR",
        "The folder of the site. A comparison.html in it (judge compare RUN... --html) is linked.",
        required=True,
        type=click.Path(path_type=Path, file_okay=False),
    )


@command("page")
def page(options: _Page) -> None:
    """Write a page for each RUN and an index.html that lists them, for a paper's supplement.

    The pages need no server and no network: index.html opens from the folder. A page is named
    after the run's folder.
    """
    from judge.cli.output import note
    from judge.pages.bundle import site_index
    from judge.pages.run import MARK
    from judge.running.folder import Run

    out = options.out
    opened: dict[str, Run] = {}
    for path in dict.fromkeys(path.resolve() for path in options.runs):
        name = f"{path.name}.html"
        if name in opened or name in ("index.html", "comparison.html"):
            raise JudgeError(f"{path} has no page of its own, {name}: rename the run's folder")
        opened[name] = Run(path)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(out, error) from error
    for name in opened:
        check_writable(out / name, mark=MARK)
    check_writable(out / "index.html", mark=INDEX)
    for name, run in opened.items():
        write_page(run, out / name)
    has_comparison = (out / "comparison.html").is_file()
    write_html(site_index(INDEX, opened, has_comparison=has_comparison), out / "index.html", INDEX)
    note(f"site  {out / 'index.html'}")


def write_page(run: Run, path: Path) -> None:
    """Write the page of `run` to `path`, whole or not at all; raises `JudgeError` as `write_html`.

    A page of ours that is there already is replaced. It raises too where the run's files do not
    fit together.
    """
    from judge.pages.run import MARK, page

    try:
        write_html(page(run), path, MARK)
    except (KeyError, ValueError) as error:
        raise JudgeError(
            f"the files of {run.path} do not fit together ({error}): make the run again"
        ) from error

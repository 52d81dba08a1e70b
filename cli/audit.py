"""`judge audit RUN`: see why."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.drawn import html_option
from judge.cli.output import note, print_lines, print_tables

if TYPE_CHECKING:
    from judge.rubrics import Rubric
    from judge.running.folder import Run


_WORST = 10


@click.command("audit")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("study_id", required=False)
@click.option("--raw", is_flag=True, help="Show the judge's raw answer too.")
@click.option(
    "--worst",
    type=click.IntRange(min=1),
    metavar="N",
    help="List the N studies to look at first. Default, where no study is named: 10.",
)
@click.option(
    "--next",
    "walk",
    is_flag=True,
    help="Walk through the studies, worst first or from STUDY_ID on. Needs a terminal.",
)
@html_option(
    "Write the whole run as one page that opens without a network. Such a page that is "
    "there already is replaced; any other file is left alone."
)
def command(
    run: Path,
    study_id: str | None,
    raw: bool,  # noqa: FBT001
    worst: int | None,
    walk: bool,  # noqa: FBT001
    html: Path | None,
) -> None:
    """Show one study of RUN, list the worst, walk through them, or write a page of all.

    Shows the reference and the candidate, with the words marked that each error speaks of,
    each error with its category and significance - as an edit of the candidate where the
    rubric corrects lines: taken out (-), put in (+) -, the matched findings and the judge's
    explanation.
    """
    from judge.report.study import audit
    from judge.report.tables import worst_table
    from judge.running.folder import Run
    from judge.stats.table import worst_rows

    shows_study = study_id is not None or walk
    if [shows_study, worst is not None, html is not None].count(True) > 1:
        raise click.UsageError("--worst, --html and a study (STUDY_ID or --next) go one at a time")
    opened = Run(run)
    rubric = opened.rubric
    if html is not None:
        from judge.cli.page import write_page

        write_page(opened, rubric, html)
        note(f"page  {html}")
    elif walk:
        _walk(opened, rubric, study_id, raw=raw)
    elif study_id is not None:
        print_lines(audit(opened.record(study_id), rubric, raw=raw))
    else:
        print_tables([worst_table(worst_rows(opened.table(), rubric, worst or _WORST), rubric)])
    if not (shows_study or worst or html):
        note(f"judge audit {run} STUDY_ID shows one of them; --next walks through them")


def _walk(run: Run, rubric: Rubric, first: str | None, *, raw: bool) -> None:
    from judge.report.study import Line, audit
    from judge.stats.table import worst_order
    from judge.types import JudgeError

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(
            "--next asks for keys and needs a terminal; use --worst N, then name a STUDY_ID"
        )
    table = run.table()
    order, lines = worst_order(table, rubric), list(run.lines())
    ids = [str(table["study_id"].iloc[place]) for place in order]
    if first is not None and first not in ids:
        raise JudgeError(f"no study {first!r} in {run.path}; list some with --worst N")
    at = ids.index(first) if first is not None else 0
    while ids:
        click.clear()
        record = run.parsed(order[at] + 1, lines[order[at]])
        print_lines(audit(record, rubric, raw=raw))
        keys = "Enter or n: next, p: previous, r: raw answer, q: quit"
        click.echo()
        print_lines([Line(f"{at + 1} of {len(ids)}   {keys}", "quiet")])
        key = _key()
        if key == "q":
            return
        if key == "r":
            raw = not raw
        elif key == "p":
            at = max(0, at - 1)
        elif at + 1 == len(ids):
            note("That was the last study.")
            return
        else:
            at += 1


def _key() -> str:
    """Wait for a key that means something; the end of input means to leave."""
    while True:
        try:
            key = click.getchar()
        except (EOFError, KeyboardInterrupt):
            return "q"
        if key in ("\r", "\n", "n"):
            return "n"
        if key in ("p", "q", "r"):
            return key
        if key in ("\x03", "\x04", "\x1b"):
            return "q"

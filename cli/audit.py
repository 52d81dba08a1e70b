"""`judge audit RUN`: see why."""

from __future__ import annotations

from pathlib import Path

import click

from judge.cli.drawn import html_option
from judge.cli.output import note, print_lines, print_tables

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
@html_option(
    "Write the whole run as one page that opens without a network. Such a page that is "
    "there already is replaced; any other file is left alone."
)
def command(
    run: Path,
    study_id: str | None,
    raw: bool,  # noqa: FBT001
    worst: int | None,
    html: Path | None,
) -> None:
    """Show one study of RUN, list the worst, or write a page of all.

    Shows the reference and the candidate, with the words marked that each error speaks of,
    each error with its category and significance - as an edit of the candidate where the
    rubric corrects lines: taken out (-), put in (+) -, the matched findings and the judge's
    explanation.
    """
    from judge.running.folder import Run
    from judge.stats.table import worst_rows
    from judge.study.terminal import audit
    from judge.tables.run import worst_table

    if [study_id, worst, html].count(None) < 2:
        raise click.UsageError("STUDY_ID, --worst and --html go one at a time")
    opened = Run(run)
    rubric = opened.rubric
    if html is not None:
        from judge.cli.page import write_page

        write_page(opened, html)
        note(f"page  {html}")
    elif study_id is not None:
        print_lines(audit(opened.record(study_id), rubric, raw=raw))
    else:
        print_tables(worst_table(worst_rows(opened.table(), rubric, worst or _WORST), rubric))
        if worst is None:
            note(f"judge audit {run} STUDY_ID shows one of them")

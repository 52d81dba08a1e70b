"""`judge audit RUN`: see why."""

from __future__ import annotations

from pathlib import Path

import click

from judge.cli.output import print_lines, print_tables


@click.command("audit")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("study_id", required=False)
@click.option("--raw", is_flag=True, help="Show the judge's raw answer too.")
@click.option(
    "--worst", type=click.IntRange(min=1), metavar="N", help="List the N studies to look at first."
)
def command(run: Path, study_id: str | None, raw: bool, worst: int | None) -> None:  # noqa: FBT001
    """Show one study of RUN, or list the worst.

    Shows the reference, the candidate, each error with its category and significance - as
    an edit of the candidate where the rubric corrects lines: taken out (-), put in (+) -,
    the matched findings and the judge's explanation.
    """
    from judge import rubrics
    from judge.report.study import audit
    from judge.report.tables import worst_table
    from judge.run.folder import Run
    from judge.stats.worst import worst_rows

    if (study_id is None) == (worst is None):
        raise click.UsageError("name one STUDY_ID, or list the worst with --worst N")
    opened = Run(run)
    rubric = rubrics.load(opened.manifest["rubric"])
    if study_id is not None:
        print_lines(audit(opened.record(study_id), rubric, raw=raw))
    elif worst is not None:
        print_tables([worst_table(worst_rows(opened.table(), rubric, worst), rubric)])

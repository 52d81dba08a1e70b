"""`judge errors RUN [RUN]`: what goes wrong again and again."""

from __future__ import annotations

from typing import Any

import click

from judge.cli.options import allow_option, common_option, patient_option
from judge.cli.output import format_option, note, print_document


@click.command("errors")
@click.argument("runs", nargs=-1, required=True, metavar="[NAME=]RUN [[NAME=]RUN]")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=15,
    show_default=True,
    help="How many groups the table shows; JSON and CSV have all.",
)
@click.option(
    "--min-studies",
    type=click.IntRange(min=1),
    help="In how many studies an error recurs. Default: 2; of two runs 10, of either model.",
)
@common_option
@allow_option
@patient_option
@format_option
def command(runs: tuple[str, ...], top: int, form: str, **options: Any) -> None:  # noqa: ANN401
    """Show the errors that recur in RUN: of the same category, about the same finding.

    Says in how many studies, and names some to open with judge audit RUN STUDY_ID. Of two runs
    of one rubric on the same studies it says which model makes an error more often, where a
    paired test supports it. No judge is asked.
    """
    from judge.comparing.names import choice
    from judge.comparing.recurring import recurring_in
    from judge.tables.recurring import as_data, recurring_document

    recurring = recurring_in([choice(run) for run in runs], **options)
    document = recurring_document(recurring, top, complete=form == "csv")
    print_document(document, form, as_data(recurring))
    if form == "table" and document.tables:
        note("judge audit RUN STUDY_ID shows one of the examples")

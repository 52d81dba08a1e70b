"""`judge errors RUN [RUN]`: what goes wrong again and again."""

from __future__ import annotations

import shlex

import click

from judge.cli.output import emit, format_option, note, print_facts, print_tables


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
@click.option("--common", is_flag=True, help="Of two runs: compare on the studies that both have.")
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(("judge", "prompt", "references")),
    help="Of two runs: what may differ (repeatable).",
)
@click.option(
    "--patient-field",
    metavar="FIELD",
    help="Of two runs: test by this field. Default: patient, patient_id, subject_id or subject "
    "where a run has it; none takes studies as independent.",
)
@format_option
def command(
    runs: tuple[str, ...],
    top: int,
    min_studies: int | None,
    common: bool,  # noqa: FBT001
    allow: tuple[str, ...],
    patient_field: str | None,
    form: str,
) -> None:
    """Show the errors that recur in RUN: of the same category, about the same finding.

    Says in how many studies, and names some to open with judge audit RUN STUDY_ID. Of two runs
    of one rubric on the same studies it says which model makes an error more often, where a
    paired test supports it. No judge is asked.
    """
    from judge.comparing.names import choice
    from judge.comparing.recurring import recurring_in
    from judge.report import recurring as printed
    from judge.report.formats import as_json

    found = recurring_in(
        [choice(run) for run in runs],
        min_studies,
        common=common,
        allow=allow,
        patient_field=patient_field,
    )
    if form == "json":
        emit(as_json(printed.as_data(found)))
    elif form == "csv":
        emit(printed.as_csv(found))
    elif form == "md":
        emit(printed.as_markdown(found, top))
    else:
        print_facts(printed.facts(found))
        table = printed.table(found, top)
        print_tables([table] if table else [])
        for text in printed.sentences(found):
            emit(text)
        emit(f"signature  {printed.signature(found)}")
        if table:
            shown = shlex.quote(choice(runs[0]).shown) if len(runs) == 1 else "RUN"
            note(f"judge audit {shown} STUDY_ID shows one of the examples")

"""`judge reviews RUN`: what readers said of a run."""

from __future__ import annotations

from pathlib import Path

import click

from judge.cli.output import format_of, note, print_document


@click.command("reviews")
@click.argument("run", type=click.Path(path_type=Path))
@format_of(
    *("table", "json", "csv"), text="Tables for people, the same as JSON, or every review as CSV."
)
def command(run: Path, form: str) -> None:
    """Show how right the judge was in the eyes of RUN's readers.

    Readers review errors on the pages of `judge serve`; the last word of each about an
    error counts.
    """
    from judge.running.folder import Run
    from judge.service import reviews
    from judge.tables.run import reviews_document

    opened = Run(run)
    events = reviews.read(run)
    if form == "csv":
        click.echo(reviews.as_csv(events), nl=False)
        return
    wanted = {event.study_id for event in events}
    errors = {
        record["study_id"]: frozenset(reviews.errors_of(record, opened.rubric))
        for record in (opened.records() if wanted else ())
        if record["study_id"] in wanted
    }
    found = reviews.measured(
        events, lambda study_id: errors.get(study_id, frozenset()), opened.rubric
    )
    print_document(reviews_document(found, opened.rubric), form, found)
    if form == "table":
        note(found["note"])

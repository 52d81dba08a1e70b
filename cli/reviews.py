"""`judge reviews RUN`: what readers said of a run."""

from __future__ import annotations

from pathlib import Path

import click

from judge.cli.options import argument, command, format_option, options
from judge.cli.output import note, print_document


@options
class _Reviews:
    run: Path = argument()
    form: str = format_option("table", "json", "csv", text="csv has every review.")


@command("reviews")
def reviews(options: _Reviews) -> None:
    """Show how often the reviewers of RUN agreed with the judge.

    Reviews are made on the pages of judge serve; each reader's last word about an error counts.
    """
    from judge.running.folder import Run
    from judge.service import reviews as service_reviews
    from judge.tables.run import reviews_document

    opened = Run(options.run)
    events = service_reviews.read(options.run)
    if options.form == "csv":
        click.echo(service_reviews.as_csv(events), nl=False)
        return
    wanted = {event.study_id for event in events}
    errors = {
        record["study_id"]: frozenset(service_reviews.errors_of(record, opened.rubric))
        for record in (opened.records() if wanted else ())
        if record["study_id"] in wanted
    }
    found = service_reviews.measured(
        events, lambda study_id: errors.get(study_id, frozenset()), opened.rubric
    )
    print_document(reviews_document(found, opened.rubric), options.form, found)
    if options.form == "table":
        note(found["note"])

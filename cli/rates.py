"""`judge rates RUN`: the rates again, by any field."""

from __future__ import annotations

from pathlib import Path

import click

from judge.cli.output import by_option, format_option, print_summary


@click.command("rates", short_help="Compute a run's rates again, by any field.")
@click.argument("run", type=click.Path(path_type=Path))
@by_option
@format_option
def command(run: Path, by: list[str], form: str) -> None:
    """Compute the rates of RUN again, grouped by any field, without asking a judge."""
    from judge.running.folder import Run

    opened = Run(run)
    print_summary(opened.regrouped(by), opened.rubric, form)

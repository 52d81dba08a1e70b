"""`judge panel RUN RUN... --rule RULE --out DIR`: several judges' runs as one."""

from __future__ import annotations

from pathlib import Path

import click

from judge.cli.output import format_option, list_option, note, print_summary


@click.command("panel", short_help="Make one run out of several judges' runs.")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option(
    "--rule",
    type=click.Choice(("majority", "mean")),
    required=True,
    help="What a study's numbers become. majority: the middle one, a tie to the worse; mean: the "
    "mean, of rates too.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder of the panel's run.",
)
@click.option(
    "--min-judges",
    type=click.IntRange(min=1),
    metavar="N",
    help="Score a study that at least N judges scored. Default: all of them.",
)
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(("prompt",)),
    help="prompt: the judges may have read different prompts, or been told different things of "
    "the patient.",
)
@list_option(
    "--by",
    metavar="FIELD",
    help="Group the rates by this field (repeat it, or separate with commas, for several). "
    "Default: as the run of the judge that is first by name.",
)
@format_option
def command(
    runs: tuple[Path, ...],
    rule: str,
    out: Path,
    min_judges: int | None,
    allow: tuple[str, ...],
    by: list[str],
    form: str,
) -> None:
    """Make one run out of the RUNs of several judges, of one rubric over the same studies.

    It is a run like any other: judge rates, audit, compare and serve open it. Every judge's
    errors stand in it, each with its judge; how far they disagree stands at its head and, study by
    study, in its table. Nothing is asked, and the RUNs stay as they are.

    \b
    judge panel first second third --rule majority --out panel
    """
    from judge.running.aggregate import panel, rule_called
    from judge.running.folder import Run

    opened = [Run(path) for path in runs]
    finished = panel(
        opened, out, rule_called(rule), min_judges=min_judges, by=by or None, allow=allow
    )
    note(f"{len(opened)} judges, by the rule {rule}")
    note(f"run folder  {finished.path}")
    print_summary(finished.summary, Run(finished.path).rubric, form)

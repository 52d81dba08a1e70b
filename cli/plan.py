"""`judge plan RUN`: how many studies, candidates, readings and readers a result needs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from judge.cli.options import (
    PATH,
    FiniteRange,
    GroupedCommand,
    GroupedOption,
    against_option,
    align_options,
    drawn_at_random_option,
    margin_option,
    metric_option,
    output_options,
    readers_option,
    require,
    resampling_options,
)
from judge.cli.output import print_document

_goal_option = partial(click.option, cls=GroupedOption, group="Goal")
_GATE = "No worse than another run"
_gate_option = partial(click.option, cls=GroupedOption, group=_GATE)
_readers_option = partial(click.option, cls=GroupedOption, group="Readings")


@click.command(
    "plan",
    cls=GroupedCommand,
    rare=["--patient-field", "--allow", "--common", "--drawn-at-random"],
    examples=[
        "judge plan RUN --width 0.05",
        "judge plan RUN --against OTHER --margin 0.02 --power 0.8",
        "judge plan RUN --readers readers --width 0.05 --studies 10000",
    ],
    page="docs/plan.md",
)
@click.argument("run", type=PATH, metavar="RUN")
@_goal_option(
    "--width",
    type=FiniteRange(min=0, min_open=True),
    metavar="VALUE",
    help=(
        "The whole width of the 95% interval, upper end less lower end: 0.05 is 5 points of a "
        "rate. With --against that of the difference."
    ),
)
@metric_option(
    "metrics",
    "The metrics to plan for. Default: the rubric's scores and rates, urgent recall and precision",
    group="Goal",
)
@against_option(
    "A run of another model on the same studies: plan the paired comparison.",
    group=_GATE,
)
@margin_option(
    "The drop that judge gate --non-inferior --max-drop must exclude.", group=_GATE
)
@_gate_option(
    "--power",
    type=FiniteRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    default=0.8,
    show_default=True,
    help="The chance that the gate passes.",
)
@_gate_option(
    "--difference",
    type=FiniteRange(),
    metavar="VALUE",
    default=0.0,
    help=(
        "The true difference to assume, RUN's figure less that of --against; of one --metric. "
        "Default: 0."
    ),
)
@align_options
@readers_option(
    "With --width: plan a rate corrected for the judge's bias, and the agreement with readers. ",
    group="Readings",
)
@_readers_option(
    "--studies",
    type=click.IntRange(min=1),
    metavar="STUDIES",
    help="How many studies the judge scores in all. Default: as many as in RUN.",
)
@drawn_at_random_option(group="Readings")
@resampling_options
@output_options(
    ["studies", "candidates", "differences", "gate", "readings", "readers"],
    group="Output",
)
def plan(
    *,
    run: Path,
    width: float | None,
    metrics: tuple[str, ...],
    against: Path | None,
    margin: float | None,
    power: float,
    difference: float,
    allow: tuple[str, ...],
    common: bool,
    readers: tuple[str, ...],
    studies: int | None,
    at_random: bool,
    patient_field: str | None,
    resamples: int | None,
    seed: int,
    table: tuple[str, ...],
    form: str,
) -> None:
    """Plan how many studies, candidates, readings and readers a result needs.

    RUN is a pilot: a judged sample of the studies that you will report on. It says how many an
    interval of a --width takes, a gate of a --power, or a rate corrected by --readers. The cautious
    numbers allow for a pilot whose variance came out too small by chance.
    """
    from judge.comparing.alignment import RunChoice, choice
    from judge.planning.plan import Goal
    from judge.planning.plan import plan as plan_of
    from judge.stats.intervals import Draws
    from judge.tables.plan import plan_document

    if margin == 0:
        raise click.UsageError(
            "--margin must be above 0: no number of studies shows a drop of 0"
        )
    has_goal = width is not None or margin is not None
    if not has_goal:
        raise click.UsageError(
            "say what the plan is for: --width, or --against with --margin"
        )
    require(against is not None, "--against", "margin", "allow", "common")
    require(margin is not None, "--margin", "power", "difference")
    require(bool(readers), "--readers", "studies", "at_random")
    require(width is not None, "--width", "readers")
    if against is not None and readers:
        raise click.UsageError("give --against or --readers, not both")
    goal = Goal(
        width=width,
        margin=margin,
        power=power,
        difference=difference,
        n_judged=studies,
    )
    other = None
    if against is not None:
        other = RunChoice(against, str(against))
    found = plan_of(
        RunChoice(run, str(run)),
        goal,
        against=other,
        readers=[choice(reader) for reader in readers],
        metrics=metrics,
        at_random=at_random,
        common=common,
        allow=allow,
        patient_field=patient_field,
        draws=Draws(seed, resamples),
    )
    print_document(plan_document(found), form, found.plain(), table)

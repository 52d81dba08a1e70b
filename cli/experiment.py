"""`judge run`: the runs of an experiment, and their leaderboards."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.options import (
    BOARD_TABLES,
    PATH,
    GroupedCommand,
    GroupedOption,
    by_option,
    cache_option,
    concurrency_option,
    dry_run_option,
    give_up_after_option,
    limit_option,
    max_cost_option,
    min_coverage_option,
    out_option,
    output_options,
)
from judge.cli.output import note, note_once, print_document, tracked, warn
from judge.cli.progress import LOW_COVERAGE, uncovered, watching
from judge.text import counted

if TYPE_CHECKING:
    from judge.experiments.execution import ExperimentRunner, FailedRun, FinishedRun
    from judge.experiments.experiment import ExperimentSource
    from judge.experiments.leaderboards import ExperimentBoard
    from judge.running.run import RunResult

_AT_FAULT = 2
_MIN_COVERAGE = 0.99

_run_option = partial(click.option, cls=GroupedOption, group="Run")
_output_option = partial(click.option, cls=GroupedOption, group="Output")


def _axes(
    _ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]
) -> dict[str, list[str]]:
    """Return the names of `--only AXIS=NAME`, which is repeated, by axis."""
    wanted: dict[str, list[str]] = {}
    for pair in value:
        axis, equals, name = pair.partition("=")
        if not (axis and equals and name):
            raise click.BadParameter(f"{pair!r} is not AXIS=NAME, such as model=alder")
        wanted.setdefault(axis, []).append(name)
    return wanted


@click.command(
    "run",
    cls=GroupedCommand,
    rare=[
        "--concurrency",
        "--cache",
    ],
    examples=[
        "judge run experiment.yaml --dry-run",
        "judge run experiment.yaml --only model=alder --limit 50",
    ],
    page="docs/experiment.md",
)
@click.argument("file", type=PATH)
@_run_option(
    "--only",
    multiple=True,
    metavar="AXIS=NAME",
    callback=_axes,
    help=(
        "Only the runs of this model, data (set), section, rubric or judge, such as "
        "model=alder (repeatable)."
    ),
)
@limit_option(
    "Take this many studies of each data set, drawn at random but the same ones each time; their "
    "runs have a folder limit-N of their own.",
    group="Run",
)
@max_cost_option(group="Run")
@dry_run_option(group="Run")
@concurrency_option(group="Run")
@min_coverage_option(group="Run")
@cache_option(group="Run")
@give_up_after_option(group="Run")
@by_option("Group rates and leaderboards by this field.", group="Output")
@_output_option(
    "--tests/--no-tests", default=True, show_default=True, help="Test differences."
)
@out_option(
    "The folder of all runs. Default: that of FILE, or judge-runs/NAME for NAME.yaml.",
    group="Output",
)
@output_options(BOARD_TABLES, group="Output")
def run(
    *,
    file: Path,
    only: Mapping[str, Sequence[str]],
    dry_run: bool,
    cache: Path | None,
    tests: bool,
    out: Path | None,
    table: tuple[str, ...],
    form: str,
    **changes: Any,  # noqa: ANN401
) -> None:
    """Judge several models, data sets, sections, rubrics and judges, and rank the models.

    FILE is YAML: references and candidates, or several data sets, and whatever else differs from
    the defaults. Each combination is a run in one folder; the same command goes on where it was
    stopped, and asks nothing twice.

    Exit codes are those of judge RUBRIC; 2 also where a run could not be judged, or a leaderboard
    could not be made.
    """
    from dataclasses import replace

    from judge.experiments.experiment import read_experiment

    if dry_run and table:
        raise click.UsageError(
            "--table is of the leaderboards, which --dry-run does not make"
        )
    source = read_experiment(file)
    changes["by"] = list(changes["by"]) or None
    experiment = source.experiment.with_changes(**changes)
    judge_experiment(
        replace(source, experiment=experiment),
        only=only,
        dry_run=dry_run,
        cache=cache,
        tests=tests,
        out=out,
        form=form,
        table=table,
    )


def judge_experiment(
    source: ExperimentSource,
    *,
    only: Mapping[str, Sequence[str]],
    dry_run: bool,
    cache: Path | None,
    tests: bool,
    out: Path | None,
    form: str,
    table: tuple[str, ...] = (),
) -> None:
    """Judge the runs of an experiment that are not there yet, and print its leaderboards."""
    from judge.experiments.execution import ExperimentRunner, plan_of

    plan = plan_of(source, only=only, out=out)
    note_once(plan.matrix.notes)
    runner = ExperimentRunner(plan, environ=os.environ, say=note, cache=cache)
    with runner:
        runner.prepare()
        note_once(runner.notes)
        runner.read()
        if dry_run:
            _print_price(runner, form)
            return
        note(
            f"experiment  {plan.folder}: {counted(len(plan.runs), 'run', 'runs')}, "
            f"{len(runner.finished):,} finished"
        )
        if runner.todo:
            _judge(runner)
    boards, faults = _boards(runner, tests=tests)
    _print_boards(boards, form, table)
    _end(runner, faults)


def _print_price(runner: ExperimentRunner, form: str) -> None:
    from judge.tables.experiment import price_document, prices_as_data

    forecasts = runner.forecasts()
    document = price_document(forecasts, n_finished=len(runner.finished))
    print_document(document, form, prices_as_data(forecasts))


def _judge(runner: ExperimentRunner) -> None:
    """Say the price of all runs, and judge them with one progress."""
    from judge.tables.experiment import price_sentence

    for forecast in runner.forecasts(reads_answers=False):
        note(price_sentence(forecast))
    n_ended = 0

    with watching() as listener:

        def ended(end: FinishedRun | FailedRun, result: RunResult | None) -> None:
            nonlocal n_ended
            n_ended += 1
            place = f"{n_ended:,}/{len(runner.todo):,} {end.planned.name}"
            listener.say(f"{place}: {_end_text(end, result)}")

        runner.judge(listener, ended)


def _end_text(end: FinishedRun | FailedRun, result: RunResult | None) -> str:
    from judge.experiments.execution import FailedRun

    if isinstance(end, FailedRun):
        return f"not judged: {end.why}"
    summary = end.summary
    text = f"scored {summary.n_scored:,} of {summary.n_studies:,}"
    if result is not None and result.progress.asked:
        text += f", cost {result.progress.cost}"
    return text


def _boards(
    runner: ExperimentRunner, *, tests: bool
) -> tuple[list[ExperimentBoard], list[str]]:
    """Return the leaderboards of all runs that have a folder, and why some could not be made."""
    from judge.experiments.leaderboards import experiment_boards
    from judge.stats.significance import Resampling

    how = Resampling() if tests else None
    return experiment_boards(
        runner.in_order,
        how,
        by=runner.plan.source.experiment.by or (),
        track=tracked,
    )


def _print_boards(
    boards: Sequence[ExperimentBoard], form: str, tables: tuple[str, ...]
) -> None:
    from judge.tables.experiment import (
        board_document,
        boards_as_data,
        boards_document,
    )

    if form == "json":
        print_document(boards_document([]), form, boards_as_data(boards), tables)
    elif form == "csv" and boards:
        print_document(boards_document(boards), form, tables=tables)
    else:
        for board in boards:
            print_document(board_document(board), form, tables=tables)


def _end(runner: ExperimentRunner, faults: Sequence[str]) -> None:
    """Exit with the code of the worst that happened, and say why.

    `faults` say which leaderboards could not be made.
    """
    is_low = False
    least = runner.plan.source.experiment.min_coverage
    if least is None:
        least = _MIN_COVERAGE
    for end in runner.in_order:
        why = uncovered(end.summary, least)
        if why:
            is_low = True
            warn(f"{end.planned.name}: {why}")
    for failed in runner.failed:
        warn(f"{failed.planned.name} was not judged: {failed.why}")
    for fault in dict.fromkeys(faults):
        warn(fault)
    if faults or any(not failed.is_stopped for failed in runner.failed):
        sys.exit(_AT_FAULT)
    if is_low or runner.failed:
        sys.exit(LOW_COVERAGE)

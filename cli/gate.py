"""`judge gate RUN`: an exit code for CI, from an earlier run, limits, or the drift of a judge."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.judging import limited, read_context
from judge.cli.options import (
    PATH,
    FiniteRange,
    GroupedCommand,
    GroupedOption,
    against_option,
    align_options,
    key_values,
    limit_option,
    metric_option,
    out_option,
    output_options,
    readers_option,
    require,
    resampling_options,
    yes_option,
)
from judge.cli.output import note, print_document
from judge.cli.progress import forecast, judge_studies, watching
from judge.cli.run_options import JudgeOptions, judge_options, running_options
from judge.run_settings import DEFAULT_BY, RunSettings
from judge.text import counted
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.comparing.gate import Gate
    from judge.running.session import JudgeSession
    from judge.stats.significance import Resampling
    from judge.studies import StudySet
    from judge.validating.judge_gate import HeldOut

_checks_option = partial(click.option, cls=GroupedOption, group="Checks")
_drift_option = partial(click.option, cls=GroupedOption, group="Drift of the judge")


@dataclass(frozen=True, slots=True)
class _Drops:
    """How much worse a figure may be: any, and some by name."""

    usual: float
    by_metric: Mapping[str, float]


def _read_drops(
    _ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]
) -> _Drops:
    number = FiniteRange(min=0)
    usual: float | None = None
    by_metric: dict[str, float] = {}
    for text in values:
        name, equals, value = text.rpartition("=")
        drop = number.convert(value, None, None)
        if equals and not name:
            raise click.BadParameter(f"{text!r} is not METRIC=VALUE")
        if name in by_metric:
            raise click.BadParameter(f"{name} is given twice")
        if equals:
            by_metric[name] = drop
        elif usual is not None:
            raise click.BadParameter(
                "a VALUE for all metrics is given twice; name the METRIC"
            )
        else:
            usual = drop
    return _Drops(usual or 0.0, by_metric)


@click.command(
    "gate",
    cls=GroupedCommand,
    rare=[
        "--allow",
        "--base-url",
        "--cache",
        "--common",
        "--dry-run",
        "--metric",
        "--limit",
        "--out",
        "--patient-field",
        "--prompt",
        "--yes",
    ],
    examples=[
        "judge gate RUN --against OTHER --max-drop green=0.05",
        "judge gate RUN --min no_significant_error=0.2",
        "judge gate --drift RUN --max-cost 5",
        "judge gate --judge gpt-6-luna --against RUN --readers held-out --max-cost 5",
    ],
    page="docs/comparing.md",
)
@click.argument("run", type=PATH, metavar="[RUN]", required=False)
@align_options
@against_option(
    (
        "Fail if RUN is worse than this earlier run, by a paired test; with --judge, if that "
        "judge agrees less with the readers than the judge of this run."
    ),
    group="Checks",
)
@_checks_option(
    "--max-drop",
    multiple=True,
    metavar="[METRIC=]VALUE",
    callback=_read_drops,
    help=(
        "How much worse a figure may be: 0.02 is two points of a rate. With METRIC= of that one "
        "metric (repeatable). Default: 0."
    ),
)
@_checks_option(
    "--non-inferior",
    is_flag=True,
    help=(
        "Fail too if a drop of more than --max-drop cannot be excluded. Needs 50 studies, or "
        "patients; with --drift it is a test of equivalence."
    ),
)
@metric_option(
    "metrics",
    "The metrics to compare. Default: the rubric's scores and rates, urgent recall and precision",
    group="Checks",
)
@_checks_option(
    "--min",
    "floors",
    multiple=True,
    metavar="METRIC=VALUE",
    callback=key_values(parse=FiniteRange()),
    help="Fail if a figure of RUN is lower (repeatable). Default: scored=0.99.",
)
@_checks_option(
    "--max",
    "ceilings",
    multiple=True,
    metavar="METRIC=VALUE",
    callback=key_values(parse=FiniteRange()),
    help="Fail if a figure of RUN is higher (repeatable).",
)
@_drift_option(
    "--drift",
    type=PATH,
    metavar="RUN",
    help=(
        "Fail if the judge of this earlier run judges differently now. Without the argument RUN "
        "the judge is asked again, which can cost money: give --max-cost or --yes."
    ),
)
@limit_option(
    "How many studies the judge is asked about again, drawn at random.",
    default=100,
    group="Drift of the judge",
)
@judge_options
@readers_option(
    text="Compare --judge and the judge of --against with these held-out readings. ",
    group="Judge",
)
@running_options
@yes_option(
    "Ask a judge that costs money without a limit and without a question.",
    group="Run",
)
@out_option(
    "The folder of the new run. Default: beside the earlier one, with today's date.",
    group="Run",
)
@resampling_options
@output_options(["checks"], group="Output")
def gate(
    *,
    run: Path | None,
    allow: tuple[str, ...],
    common: bool,
    against: Path | None,
    max_drop: _Drops,
    non_inferior: bool,
    metrics: tuple[str, ...],
    floors: Mapping[str, float],
    ceilings: Mapping[str, float],
    drift: Path | None,
    limit: int,
    readers: tuple[str, ...],
    yes: bool,
    out: Path | None,
    patient_field: str | None,
    resamples: int | None,
    seed: int,
    table: tuple[str, ...],
    form: str,
    **judge_values: Any,  # noqa: ANN401
) -> None:
    """Check a run in CI: exit code 1 if it is worse than a baseline or beyond a limit.

    A check passes only if it would with the studies that were not scored at their worst. With
    --judge a new judge is compared with an old one, by readings that were held out.

    Exit codes: 0 all checks pass; 1 a check fails; 2 wrong usage or input; 3 a check cannot be
    decided, because too few studies are scored.
    """
    from judge.comparing import gate as gates
    from judge.comparing.alignment import RunChoice
    from judge.stats.significance import Resampling

    options = JudgeOptions(**judge_values)
    earlier = against or drift
    if against and drift:
        raise click.UsageError("give --against or --drift, not both")
    require(
        earlier is not None,
        "--against or --drift",
        "metrics",
        "max_drop",
        "non_inferior",
    )
    require(False, "judge RUBRIC; a gate has --min scored=SHARE", "min_coverage")  # noqa: FBT003
    asks_again = drift is not None and run is None
    require(asks_again, "--drift and no RUN", "limit")
    require(
        asks_again or options.judge is not None,
        "--judge, or --drift and no RUN",
        "max_cost",
        "yes",
        "out",
        "cache",
    )
    require(
        options.judge is not None,
        "--judge",
        "readers",
        *judge_values.keys() - {"max_cost", "cache"},
    )
    if options.judge is not None:
        if run is not None or against is None or len(readers) != 1:
            raise click.UsageError(
                "--judge needs --against RUN, one --readers FOLDER, and no RUN before them"
            )
        if floors or ceilings or metrics or allow or common or max_drop.by_metric:
            raise click.UsageError(
                "with --judge two judges are compared by readings: leave --min, --max, --metric, "
                "--allow, --common and a METRIC in --max-drop out"
            )
        gate_judges(
            options,
            against,
            Path(readers[0]),
            max_drop=max_drop.usual,
            non_inferior=non_inferior,
            yes=yes,
            out=out,
            patient_field=patient_field,
            how=Resampling(seed=seed, resamples=resamples),
            form=form,
            table=table,
        )
        return
    if not (earlier or floors or ceilings):
        raise click.UsageError("name a check: --against, --drift, --min or --max")
    if run is None:
        if drift is None:
            raise click.UsageError("name the RUN to check")
        run = _ask_again(
            drift,
            limit=limit,
            max_cost=options.max_cost,
            yes=yes,
            out=out,
            cache=options.cache,
        )
        common = True
    result = gates.gate(
        RunChoice(run, str(run)),
        RunChoice(earlier, str(earlier)) if earlier else None,
        drift=drift is not None,
        floors=floors,
        ceilings=ceilings,
        metrics=metrics,
        max_drop=max_drop.usual,
        max_drops=max_drop.by_metric,
        non_inferior=non_inferior,
        common=common,
        allow=allow,
        patient_field=patient_field,
        how=Resampling(seed=seed, resamples=resamples),
    )
    _end(result, form, table)


def _end(result: Gate, form: str, table: tuple[str, ...]) -> None:
    """Print a gate and leave with the exit code of its verdict."""
    from judge.tables.comparison import gate_document

    print_document(gate_document(result), form, result.plain(), table)
    click.get_current_context().exit(
        {"pass": 0, "fail": 1, "undecided": 3}[result.verdict]
    )


def gate_judges(
    options: JudgeOptions,
    against: Path,
    readings: Path,
    *,
    max_drop: float,
    non_inferior: bool,
    yes: bool,
    out: Path | None,
    patient_field: str | None,
    how: Resampling,
    form: str,
    table: tuple[str, ...],
) -> None:
    """Ask a new judge about the reports that were read, and compare it with the old one."""
    from judge.comparing.alignment import RunChoice
    from judge.validating.judge_gate import judge_gate, open_held_out, record_opening

    held_out = open_held_out(readings)
    settings = new_judge_settings(against, options.judge_values())
    session = options.session(settings)
    studies = _reports_that_were_read(session, settings, against, held_out)
    if options.dry_run:
        forecast(session, studies)
        return
    if session.judge.billing_url and options.max_cost is None and not yes:
        _ask_to_spend(session, studies)
    finished = _judged_by_new(session, settings, studies, out)
    result = judge_gate(
        RunChoice(finished, str(finished)),
        RunChoice(against, str(against)),
        held_out,
        max_drop=max_drop,
        non_inferior=non_inferior,
        patient_field=patient_field,
        how=how,
    )
    # Before it is printed: whoever has seen it has opened the readings.
    record_opening(held_out, result, finished)
    _end(result, form, table)


def new_judge_settings(against: Path, judge_values: Mapping[str, Any]) -> RunSettings:
    """Return the settings of a new judge of an old run's reports; raises `JudgeError`."""
    from judge.running.folder import RunFolder

    old = RunFolder.open(against)
    recorded = old.manifest.settings
    if recorded is None or old.combined is not None:
        raise JudgeError(
            f"{against} does not say how one judge was asked about each study once: it is a "
            "reader's run, a panel or of several references; give the run of one judge"
        )
    return recorded.by_new_judge(str(against), judge_values)


def _reports_that_were_read(
    session: JudgeSession, settings: RunSettings, against: Path, held_out: HeldOut
) -> StudySet:
    studies = read_context(session.rubric, settings, str(against), None)
    read = held_out.study_ids()
    rows = [row for row, name in enumerate(studies.study_ids) if name in read]
    if not rows:
        raise JudgeError(
            f"{against} has none of the {len(read):,} studies that were read for "
            f"{held_out.folder}; judge those reports with the old judge first"
        )
    return studies.take(rows)


def _judged_by_new(
    session: JudgeSession, settings: RunSettings, studies: StudySet, out: Path | None
) -> Path:
    from judge.running.run import default_folder, with_classes

    signature = session.identity(*with_classes(studies)).signature
    with watching() as listener:
        finished = judge_studies(
            session,
            studies,
            out=out or default_folder(session, None, signature),
            settings=settings,
            listener=listener,
        )
    return finished.path


def _ask_again(
    path: Path,
    *,
    limit: int,
    max_cost: float | None,
    yes: bool,
    out: Path | None,
    cache: Path | None,
) -> Path:
    """Ask the judge of a run the same questions again, as another repeat; return the new run.

    The repeat is the date: the same command on the same day pays for no answer twice.
    """
    from judge.running.folder import RunFolder
    from judge.running.settings import session_of

    earlier = RunFolder.open(path)
    recorded = earlier.manifest.settings
    if recorded is None or earlier.combined is not None:
        raise JudgeError(
            f"{path} does not say how one judge was asked about each study once: it is a reader's "
            "run, a panel, of several references, or from Python by an earlier version; judge its "
            "reports again, and give both runs: judge gate NEW --drift EARLIER"
        )
    rubric, today = earlier.rubric, datetime.now(UTC).date()
    settings = _of_its_own_reports(recorded, path, limit, max_cost)
    studies = limited(read_context(rubric, settings, str(path), None), limit)
    session = session_of(
        settings,
        environ=os.environ,
        say=note,
        cache=cache,
        repeat=int(today.strftime("%Y%m%d")),
    )
    if session.judge.billing_url and max_cost is None and not yes:
        _ask_to_spend(session, studies)
    with watching() as listener:
        finished = judge_studies(
            session,
            studies,
            out=out or path.with_name(f"{path.name}-{today}"),
            settings=settings,
            listener=listener,
        )
    return finished.path


def _ask_to_spend(session: JudgeSession, studies: StudySet) -> None:
    """Ask on a terminal whether a judge that costs money may be asked; elsewhere refuse."""
    n = counted(len(studies), "study", "studies")
    name = session.judge.name
    if not sys.stdin.isatty():
        raise click.UsageError(
            f"{name} is asked about {n}, which can cost money: give --max-cost DOLLARS, or --yes "
            "to go without a limit"
        )
    click.confirm(f"Ask {name} about {n}? This can cost money.", abort=True, err=True)


def _of_its_own_reports(
    settings: RunSettings, path: Path, limit: int, max_cost: float | None
) -> RunSettings:
    """Return the settings of a run with the reports in its folder in place of its files.

    The folder has one reference a study and the usual names; what the judge was shown of the
    further fields, it is shown again.
    """
    return settings.model_copy(
        update={
            "preds": str(path),
            "refs": None,
            "columns": settings.shown_columns,
            "encoding": None,
            "model": None,
            "allow_missing": False,
            "shard": None,
            "limit": limit,
            "max_cost": max_cost,
            "batch": False,
            "by": list(DEFAULT_BY),
        }
    )

"""`judge gate RUN`: an exit code for CI, from an earlier run, limits, or the drift of a judge."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from judge.cli.judging import limited, read_context
from judge.cli.options import (
    AlignOptions,
    FiniteRange,
    ResamplingOptions,
    argument,
    cache_option,
    command,
    format_option,
    list_option,
    option,
    options,
    pairs_option,
    require,
)
from judge.cli.output import note, print_document
from judge.cli.progress import judge_studies, watching
from judge.run_settings import DEFAULT_BY, ColumnSettings, RunSettings
from judge.types import JudgeError


@dataclass(frozen=True, slots=True)
class _Drops:
    """How much worse a figure may be: any, and some by name."""

    usual: float
    by_metric: Mapping[str, float]


def _read_drops(_ctx: Any, _param: Any, values: tuple[str, ...]) -> _Drops:  # noqa: ANN401
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


@options
class _Limits(AlignOptions):
    GROUP = "Checks"

    run: Path | None = argument("[RUN]")
    against: Path | None = option(
        "--against BASELINE",
        "Fail if RUN is worse than this earlier run, by a paired test.",
    )
    max_drop: _Drops = option(
        "--max-drop [METRIC=]VALUE",
        "How much worse a figure may be: 0.02 is two points of a rate. With METRIC= of that one "
        "metric (repeatable). Default: 0.",
        multiple=True,
        type=str,
        callback=_read_drops,
    )
    non_inferior: bool = option(
        "--non-inferior",
        "Fail too if a drop of more than --max-drop cannot be excluded. Needs 50 studies, or "
        "patients; with --drift it is a test of equivalence.",
    )
    metrics: tuple[str, ...] = list_option(
        "--metric NAME",
        "Metrics to compare. Default: the rubric's scores and rates, urgent recall and precision.",
    )
    floors: Mapping[str, float] = pairs_option(
        "--min METRIC=VALUE",
        "Fail if a figure of RUN is lower (repeatable). Default: scored=0.99.",
        parse=FiniteRange(),
    )
    ceilings: Mapping[str, float] = pairs_option(
        "--max METRIC=VALUE",
        "Fail if a figure of RUN is higher (repeatable).",
        parse=FiniteRange(),
    )


@options
class _Drift(_Limits):
    GROUP = "Drift of the judge"

    drift: Path | None = option(
        "--drift EARLIER",
        "Fail if the judge of this run judges differently now. Without RUN it is asked again.",
    )
    limit: int = option(
        "--limit N", "Without RUN: ask about N studies, drawn at random.", default=100
    )
    out: Path | None = option(
        "--out DIR",
        "The folder of the new run. Default: beside EARLIER, with today's date.",
    )
    cache: Path | None = cache_option()


@options
class _Gate(_Drift, ResamplingOptions):
    GROUP = "Output"

    form: str = format_option("table", "json", "csv", "md")


@command("gate")
def gate(options: _Gate) -> None:
    """Check a run in CI: exit code 1 if it is worse than a baseline or beyond a limit.

    \b
    judge gate RUN --against BASELINE --max-drop green=0.05
    judge gate RUN --min no_significant_error=0.8
    judge gate --drift EARLIER

    A check passes only if it would with the studies that were not scored at their worst.

    Exit codes: 0 all checks pass; 1 a check fails; 2 wrong usage or input; 3 a check cannot be
    decided, because too few studies are scored.
    """
    from judge.comparing import gate as gates
    from judge.comparing.alignment import RunChoice
    from judge.tables.comparison import gate_document

    earlier = options.against or options.drift
    if options.against and options.drift:
        raise click.UsageError("give --against or --drift, not both")
    require(
        earlier is not None,
        "--against or --drift",
        "metrics",
        "max_drop",
        "non_inferior",
    )
    asks = options.drift is not None and options.run is None
    require(asks, "--drift and no RUN", "limit", "out", "cache")
    if not (earlier or options.floors or options.ceilings):
        raise click.UsageError("name a check: --against, --drift, --min or --max")
    common, run = options.common, options.run
    if run is None:
        if options.drift is None:
            raise click.UsageError("name the RUN to check")
        run, common = _ask_again(options, options.drift), True
    result = gates.gate(
        RunChoice(run, str(run)),
        RunChoice(earlier, str(earlier)) if earlier else None,
        drift=options.drift is not None,
        floors=options.floors,
        ceilings=options.ceilings,
        metrics=options.metrics,
        max_drop=options.max_drop.usual,
        max_drops=options.max_drop.by_metric,
        non_inferior=options.non_inferior,
        common=common,
        allow=options.allow,
        patient_field=options.patient_field,
        how=options.resampling(),
    )
    print_document(gate_document(result), options.form, result.plain())
    click.get_current_context().exit(
        {"pass": 0, "fail": 1, "undecided": 3}[result.verdict]
    )


def _ask_again(options: _Drift, path: Path) -> Path:
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
    settings = _of_its_own_reports(recorded, path, options.limit)
    studies = limited(read_context(rubric, settings, str(path), None), options.limit)
    session = session_of(
        settings,
        environ=os.environ,
        say=note,
        cache=options.cache,
        repeat=int(today.strftime("%Y%m%d")),
    )
    with watching() as listener:
        finished = judge_studies(
            session,
            studies,
            out=options.out or path.with_name(f"{path.name}-{today}"),
            settings=settings,
            listener=listener,
        )
    return finished.path


def _of_its_own_reports(settings: RunSettings, path: Path, limit: int) -> RunSettings:
    """Return the settings of a run with the reports in its folder in place of its files.

    The folder has one reference a study and the usual names; what the judge was shown of the
    further fields, it is shown again.
    """
    columns = ColumnSettings(
        prior=settings.columns.prior, context=settings.columns.context
    )
    return settings.model_copy(
        update={
            "preds": str(path),
            "refs": None,
            "columns": columns,
            "encoding": None,
            "model": None,
            "allow_missing": False,
            "shard": None,
            "limit": limit,
            "batch": False,
            "by": list(DEFAULT_BY),
        }
    )

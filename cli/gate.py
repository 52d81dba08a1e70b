"""`judge gate RUN`: an exit code for CI, from an earlier run, limits, or the drift of a judge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.options import (
    AlignOptions,
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
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.running.folder import Run

_EXIT = {"pass": 0, "fail": 1, "undecided": 3}
_ASKED = (
    *("section", "no_context", "modality", "references", "prompt", "base_url", "server"),
    *("max_tokens", "temperature", "body", "reply", "concurrency", "timeout", "reask", "max_cost"),
)
"""The options of a run with which its judge is asked again."""


@options
class _Limits(AlignOptions):
    GROUP = "Checks"

    run: Path | None = argument("[RUN]")
    against: Path | None = option(
        "--against BASELINE", "Fail if RUN is worse than this earlier run, by a paired test."
    )
    max_drop: float = option(
        "--max-drop X",
        "How much worse a figure may be, in its own unit: 0.02 is two points of a rate.",
        type=click.FloatRange(min=0),
        default=0.0,
    )
    non_inferior: bool = option(
        "--non-inferior", "Fail too if a drop of more than --max-drop cannot be excluded."
    )
    metrics: tuple[str, ...] = list_option(
        "--metric NAME", "Metrics to compare. Default: the rubric's scores and rates."
    )
    floors: Mapping[str, float] = pairs_option(
        "--min METRIC=VALUE",
        "Fail if a figure of RUN is lower (repeatable). scored, the share of studies that were "
        "scored, must be 0.99 unless given here.",
        parse=float,
    )
    ceilings: Mapping[str, float] = pairs_option(
        "--max METRIC=VALUE", "Fail if a figure of RUN is higher (repeatable).", parse=float
    )


@options
class _Drift(_Limits):
    GROUP = "Drift of the judge"

    drift: Path | None = option(
        "--drift EARLIER",
        "Fail if the judge of this run judges the same reports differently now. Without RUN it is "
        "asked again.",
    )
    limit: int = option(
        "--limit N", "Without RUN: ask about N studies, drawn at random.", default=100
    )
    out: Path | None = option(
        "--out DIR", "The folder of the new run. Default: beside EARLIER, with today's date."
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
    judge gate RUN --against BASELINE --max-drop 0.02
    judge gate RUN --min no_significant_error=0.8
    judge gate --drift EARLIER

    Exit codes: 0 all checks pass; 1 a check fails; 2 an error to fix; 3 a check cannot be decided,
    because too few studies are scored.
    """
    from judge.comparing import gate as gates
    from judge.comparing.run_choice import RunChoice
    from judge.tables.gate import gate_document

    earlier = options.against or options.drift
    if options.against and options.drift:
        raise click.UsageError("give --against or --drift, not both")
    require(earlier is not None, "--against or --drift", "metrics", "max_drop", "non_inferior")
    require(
        options.drift is not None and options.run is None,
        "--drift and no RUN",
        "limit",
        "out",
        "cache",
    )
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
        max_drop=options.max_drop,
        non_inferior=options.non_inferior,
        common=common,
        allow=options.allow,
        patient_field=options.patient_field,
        how=options.resampling(),
    )
    print_document(gate_document(result), options.form, result.plain())
    click.get_current_context().exit(_EXIT[result.verdict])


def _ask_again(options: _Drift, path: Path) -> Path:
    """Ask the judge of a run the same questions again, as another repeat; return the new run.

    The repeat is the date: the same command on the same day pays for no answer twice.
    """
    from judge.backends import LEXICON
    from judge.cli.judging import command_for, limited, read_context
    from judge.cli.progress import note_effort, watching
    from judge.cli.run_options import RunOptions
    from judge.running.folder import Run
    from judge.running.session import JudgeSession
    from judge.running.session import run as run_session

    earlier = Run(path)
    arguments = earlier.manifest["arguments"] or {}
    if "judge_name" not in arguments:
        raise JudgeError(
            f"{path} does not say how its judge was asked; judge its reports again, and give both "
            "runs: judge gate NEW --drift EARLIER"
        )
    rubric, today = earlier.rubric, datetime.now(UTC).date()
    context = command_for(rubric).make_context(rubric.name, [*_words(earlier, arguments)])
    asked = RunOptions(**context.params)
    name = arguments["judge_name"] or LEXICON
    studies = limited(read_context(rubric, asked, str(path), None, asked.section), options.limit)
    session = JudgeSession.load(
        *(rubric.name, name, asked.judge_settings(name)),
        policy=asked.request_policy(),
        cache=options.cache,
        repeat=int(today.strftime("%Y%m%d")),
    )
    with session, watching() as listener:
        finished = run_session(
            *(session, studies),
            out=options.out or path.with_name(f"{path.name}-{today}"),
            arguments={**arguments, "preds": str(path), "refs": None},
            listener=listener,
        )
    note_effort(finished.progress)
    note(f"run folder  {finished.path}")
    return finished.path


def _words(run: Run, arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the command line with which the judge of a run was asked, but for its files."""
    from judge.cli.judging import command_for

    yield str(run.path)
    fields = [("context", name) for name in arguments.get("context_fields") or ()]
    fields += [("prior", name) for name in [arguments.get("prior_field")] if name]
    for role, name in fields:
        yield f"--column={role}={name}"
    for param in command_for(run.rubric).params:
        value = arguments.get(str(param.name))
        if param.name not in _ASKED or value in (None, False, [], {}, ()):
            continue
        if value is True:
            yield param.opts[0]
            continue
        values = value if isinstance(value, list) else [value]
        if isinstance(value, dict):
            is_json = param.name == "body"
            values = [
                key if item is None else f"{key}={json.dumps(item) if is_json else item}"
                for key, item in value.items()
            ]
        yield from (f"{param.opts[0]}={item}" for item in values)

"""`judge RUBRIC PREDS [REFS]`: one command for each rubric there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.asking import (
    RUNNING_OPTIONS,
    SERVER_OPTIONS,
    WHO,
    WORDING,
    policy_of,
    sampling_options,
    settings_of,
)
from judge.cli.batches import (
    BATCH_OPTIONS,
    asked_in_batches,
    batch_policy,
    check_batches,
    warn_of_batches,
)
from judge.cli.endings import end_stopped, end_uncovered
from judge.cli.groups import GroupedCommand, heading, with_options
from judge.cli.output import by_option, format_option, note, print_summary
from judge.cli.studies import FILE_OPTIONS, part_of, read_studies, reading, shard_option
from judge.rubrics import Rubric

if TYPE_CHECKING:
    from judge.running.run import Finished


def command_for(rubric: Rubric) -> click.Command:
    """Return the command that judges reports by `rubric`."""

    def command(**options: Any) -> None:  # noqa: ANN401
        _judge(rubric, options)

    callback = with_options(*_OPTIONS)(command)
    named = click.command(
        rubric.name, GroupedCommand, help=_help(rubric), short_help=rubric.summary
    )
    return named(callback)


_OPTIONS = (
    *FILE_OPTIONS,
    heading("Judge"),
    click.option(
        "--judge",
        "judge_names",
        multiple=True,
        metavar="JUDGE",
        help=f"{WHO} With --dry-run repeat it to see several side by side.",
    ),
    click.option("--prompt", metavar="NAME|FILE", help=WORDING),
    *SERVER_OPTIONS,
    *sampling_options("--seed"),
    *RUNNING_OPTIONS,
    click.option(
        "--sample",
        type=click.IntRange(min=1),
        metavar="N",
        help="Judge N studies drawn at random, say what all of them would cost and how long "
        "they would take, and stop. Their answers are in the cache for the run.",
    ),
    shard_option,
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="N",
        help="The processes that the built-in judge works in, one a core. Other judges have "
        "--concurrency.",
    ),
    *BATCH_OPTIONS,
    heading("Output"),
    by_option,
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="The run folder. Default: a folder below judge-runs, named after the signature.",
    ),
    format_option,
)
_NOT_OF_THE_RUN = ("form", "out", "cache")
"""Options that stand in no manifest."""


def _help(rubric: Rubric) -> str:
    return f"""{rubric.summary}

    PREDS holds the candidate reports, REFS the references: JSON as in ReXrank, a list of
    objects or of texts, JSON Lines, CSV, TSV, Parquet or a text file (.txt) with a report a
    line, gzipped or not, or a folder of Hugging Face datasets; - is standard input. REFS may
    be left out when PREDS holds both.

    Exit codes: 0 all is well; 2 an error to fix, said in one line; 3 too few studies
    could be scored, --max-cost was reached, or most answers could not be read
    (--give-up-after); 130 interrupted, 143 after SIGTERM, 141 where the output is a
    pipe that was closed early, as `| head` does: the run is complete then.
    """


def _judge(rubric: Rubric, options: dict[str, Any]) -> None:
    from judge.backends import LEXICON
    from judge.cli.forecast import dry_run, sample_run
    from judge.cli.progress import watching
    from judge.running.budget import Purse
    from judge.running.engine import RunStoppedError, UnreadableError
    from judge.running.run import run
    from judge.running.session import JudgeSession
    from judge.running.shards import Shard
    from judge.stats.table import reserved_names

    named = options.pop("judge_names")
    _check_usage(named, options)
    batches = batch_policy(options)
    shard = None if options["shard"] is None else Shard.of(options["shard"])
    settings, policy = settings_of(options), policy_of(options)
    budget = Purse(policy.max_cost) if batches and policy.max_cost is not None else None
    sessions = [
        JudgeSession.load(
            *(rubric.name, name, settings), policy=policy, cache=options["cache"], budget=budget
        )
        for name in named or (LEXICON,)
    ]
    check_batches(sessions, batches)
    studies = read_studies(options, reserved_names(rubric))
    note(reading(studies))
    session = sessions[0]
    if not named:
        note(f"No --judge given: using {LEXICON}, {session.judge.note}.")
    options["judge_name"] = named[0] if named else None  # as the manifest has it
    options["shard"] = shard and str(shard)
    part = part_of(studies, shard) if shard else studies
    if options["dry_run"]:
        dry_run(sessions, part, in_batches=batches is not None)
        return
    try:
        if n := options.pop("sample"):
            sample_run(session, part, n)
            return
        with session:
            if batches is None:
                warn_of_batches(session)
            with watching() as listener:
                finished = run(
                    session,
                    studies,
                    out=options["out"],
                    by=options["by"],
                    arguments={k: v for k, v in options.items() if k not in _NOT_OF_THE_RUN},
                    shard=shard,
                    listener=listener,
                    asking=asked_in_batches(session, part, batches, listener) if batches else None,
                )
    except (UnreadableError, RunStoppedError) as stopped:
        end_stopped(stopped)
    else:
        _finished(finished, rubric, options)


def _check_usage(named: Sequence[str], options: Mapping[str, Any]) -> None:
    if len(named) > 1 and not options["dry_run"]:
        raise click.UsageError("name one --judge; several go with --dry-run, side by side")
    if options["sample"] and (options["out"] or options["dry_run"]):
        raise click.UsageError("--sample writes no run; give it without --out and --dry-run")
    if options["sample"] and options["in_batches"]:
        raise click.UsageError("--sample asks directly: give it without --batch")


def _finished(finished: Finished, rubric: Rubric, options: dict[str, Any]) -> None:
    from judge.cli.progress import account

    for line in account(finished.progress):
        note(line)
    note(f"run folder  {finished.path}")  # first: who reads the table may close it early
    print_summary(finished.summary, rubric, options["form"])
    end_uncovered([finished.summary], options["min_coverage"])

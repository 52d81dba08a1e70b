"""`judge merge RUN... --out DIR`: the shards of a set as one run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.output import format_option, list_option, note, print_summary
from judge.report.words import counted
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.running.folder import Run
    from judge.running.merging import MissingShardsError
    from judge.running.shards import Shard

_SHOWN = 10
# What the manifest calls otherwise than the command line.
_JUDGE = "judge_name"


@click.command("merge", short_help="Join the shards of a set into one run.")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder of the merged run.",
)
@click.option(
    "--allow-missing",
    is_flag=True,
    help="Merge what there is. Signature and notes say which shards are missing.",
)
@list_option(
    "--by",
    metavar="FIELD",
    help="Group the rates by this field (repeat it, or separate with commas, for several). "
    "Default: as the shards do.",
)
@format_option
def command(
    runs: tuple[Path, ...],
    out: Path,
    allow_missing: bool,  # noqa: FBT001
    by: list[str],
    form: str,
) -> None:
    """Join the RUNs of all shards of a set, judged with --shard I/N, into one run.

    Its files are those of the run of the whole set, to the byte but for manifest.json, which names
    the shards and adds up what they spent. The shards stay as they are; nothing is asked.

    \b
    judge green preds.json refs.json --shard 1/2 --out one
    judge green preds.json refs.json --shard 2/2 --out two
    judge merge one two --out whole
    """
    from judge.cli.progress import account
    from judge.running.folder import Run
    from judge.running.merging import MissingShardsError, merge

    opened = [Run(path) for path in runs]
    try:
        finished = merge(opened, out, allow_missing=allow_missing, by=by or None)
    except MissingShardsError as error:
        raise JudgeError(f"{error}\n{_commands(error)}") from error
    for line in account(finished.progress):
        note(line)
    note(f"{counted(len(opened), 'shard', 'shards')} merged")
    note(f"run folder  {finished.path}")
    print_summary(finished.summary, opened[0].rubric, form)


def _commands(error: MissingShardsError) -> str:
    """Return how each missing shard is made: as one that is there, whose folders are not known."""
    shown = [f"  {line}" for shard in error.missing[:_SHOWN] if (line := again(error.run, shard))]
    if not shown:
        one = error.missing[0]
        return f"From Python: judge.run(..., shard=({one.index}, {one.count}))"
    if len(error.missing) > _SHOWN:
        shown.append(f"  and {len(error.missing) - _SHOWN:,} more")
    return "\n".join(["With --out and --cache as the others had them:", *shown])


def again(run: Run, shard: Shard) -> str | None:
    """Return the command that judges another shard as `run` was judged; None for a run by Python.

    Where it was written and the cache stand in no manifest.
    """
    from judge.cli.judging import command_for

    arguments: Mapping[str, Any] = {**(run.manifest["arguments"] or {}), "shard": str(shard)}
    if "preds" not in arguments:
        return None
    command = command_for(run.rubric)
    unsaid = command.make_context(run.rubric.name, [str(arguments["preds"])]).params
    words, options = ["judge", run.rubric.name], []
    for one in command.params:
        name = str(one.name)
        value = arguments.get(_JUDGE if name == "judge_names" else name)
        if value is None or (isinstance(one, click.Option) and _same(value, unsaid[name])):
            continue
        several = value if isinstance(value, list | tuple) else [value]
        if isinstance(one, click.Argument):
            words.append(str(value))
        elif isinstance(one, click.Option):
            for each in several:
                options += [one.opts[0]] if one.is_flag else [one.opts[0], str(each)]
    return shlex.join([*words, *options])


def _same(value: object, default: object) -> bool:
    """Whether an argument in a manifest is what it is where nobody says it; a list was a tuple."""
    both = (list(one) if isinstance(one, tuple) else one for one in (value, default))
    return next(both) == next(both)

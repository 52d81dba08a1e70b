"""`judge merge RUN... --out DIR`: the shards of a set as one run."""

from __future__ import annotations

from pathlib import Path

import click

from judge.cli.output import format_option, list_option, note, print_summary
from judge.report.words import counted


@click.command("merge")
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
    from judge.running.shards import merge

    opened = [Run(path) for path in runs]
    finished = merge(opened, out, allow_missing=allow_missing, by=by or None)
    for line in account(finished.progress):
        note(line)
    note(f"{counted(len(opened), 'shard', 'shards')} merged")
    note(f"run folder  {finished.path}")
    print_summary(finished.summary, opened[0].rubric, form)

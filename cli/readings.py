"""`judge readings RUN --out DIR`: what readers found on the page, as runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.options import NamedPath
from judge.cli.output import by_option, format_of, note

if TYPE_CHECKING:
    from judge.readers.own import Finished


@click.command("readings")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=NamedPath(file_okay=False),
    required=True,
    metavar="DIR",
    help="Write the runs here, one folder per reader. It may be new, or empty.",
)
@click.option("--reader", metavar="NAME", help="This reader's alone. Default: all readers.")
@click.option(
    "--all",
    "also_undrawn",
    is_flag=True,
    help="Readings of studies too that judge sample did not draw. The run is then no random "
    "sample, and says so.",
)
@by_option
@format_of("table", "json", text="What to print: the readers for people, or JSON.")
def command(
    *, run: Path, out: Path, reader: str | None, also_undrawn: bool, by: list[str], form: str
) -> None:
    """Make a run of what each reader found in the studies of RUN, which rates, audit, compare and
    serve open.

    Readers read on the pages of `judge serve`. The last state of each reading counts; those that
    were begun and not finished are left out, and counted.
    """
    from judge.cli.import_ import print_runs
    from judge.readers import own
    from judge.readers.runs import write_runs
    from judge.running.folder import Run
    from judge.types import JudgeError

    opened = Run(run)
    found, inputs = own.finished(opened, reader, also_undrawn=also_undrawn)
    for name, one in found.items():
        _say_left(name, one)
    whole = [one.readings for name, one in found.items() if one.readings.by_reader[name]]
    if not whole:
        others = any(one.left_out for one in found.values())
        more = ", and of a study that was drawn; --all takes those of others" if others else ""
        raise JudgeError(f"no reading of {run} is finished{more}")
    runs = write_runs(
        own.LAYOUT,
        whole,
        inputs,
        out,
        model=opened.manifest.get("model"),
        section=opened.manifest["section"],
        by=by,
        arguments={"run": str(run), "reader": reader, "all": also_undrawn, "by": by},
    )
    print_runs(runs, [("readings of", str(run))], form)


def _say_left(reader: str, found: Finished) -> None:
    from judge.report.words import counted

    if found.begun:
        n = counted(len(found.begun), "reading is", "readings are")
        note(f"{reader}: {n} begun and not finished, and left out")
    if found.left_out:
        n = counted(len(found.left_out), "reading is of a study", "readings are of studies")
        note(f"{reader}: {n} not drawn, and left out; --all takes them")

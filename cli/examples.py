"""`judge examples`: the example studies, to try the program on."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

import judge
from judge.cli.output import note
from judge.types import JudgeError


@click.command("examples")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default="examples",
    show_default=True,
    metavar="DIR",
    help="Copy them into this folder, which must not be there yet.",
)
def command(out: Path) -> None:
    """Copy fifteen made-up studies, models' reports and readers' annotations into a folder.

    The commands of the documentation work on it: judge green examples/preds.json
    examples/refs.json
    """
    # In the package, or beside it in a checkout.
    source = next(path for folder in judge.__path__ if (path := Path(folder, "examples")).is_dir())
    try:
        shutil.copytree(source, out, ignore=shutil.ignore_patterns("__pycache__"))
    except FileExistsError as error:
        raise JudgeError(f"{out} is there already: move it away, or name another --out") from error
    except OSError as error:
        raise JudgeError(f"cannot write {out}: {error.strerror or error}") from error
    note(f"example studies in {out}; its README.md says what they are")

"""`judge prompts`: the wordings of the rubrics' questions; and `judge examples`."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import click

import judge
from judge.cli.options import argument, command, option, options
from judge.cli.output import note
from judge.types import JudgeError


@click.group("prompts")
def prompts() -> None:
    """List the prompts, show one as it is sent, or fetch an official one."""


@prompts.command("list", short_help="List the prompts, built-in and official.")
def list_() -> None:
    """List the prompts of the program, of installed rubrics, and the official ones.

    Official prompts are their authors' texts; judge prompts fetch NAME downloads one.
    """
    from judge import official
    from judge import prompts as built_in

    names = {name: name for name in built_in.names()} | _of_plugins()
    for name in (*names, *official.recipes()):
        try:
            prompt = official.load(names.get(name, name), os.environ)
        except JudgeError as error:
            click.echo(f"{name}  not usable: {error}")
        else:
            about = f"rubric {prompt.rubric}, version {prompt.version}, {prompt.digest}"
            click.echo(f"{name}  {about}")


@prompts.command("show", short_help="Show a prompt as it is sent.")
@click.argument("name", metavar="NAME|FILE")
def show(name: str) -> None:
    """Show a prompt as it is sent, around two placeholder reports."""
    from judge import official

    prompt = official.load(_of_plugins().get(name, name), os.environ)
    for message in prompt.messages("(the reference report)", "(the candidate report)"):
        click.echo(f"--- {message.role} ---\n{message.content}\n")


@options
class _Fetch:
    name: str = argument()
    origin: Path | None = option(
        "--from FILE", "Take a copy of the authors' file, or the folder of their files, instead."
    )


@command("fetch", group=prompts, short_help="Download an official prompt.")
def fetch(options: _Fetch) -> None:
    """Download the official prompt NAME from its authors' source.

    The source is checked against the known text, never run, and kept in the user's configuration
    folder (JUDGE_CONFIG).
    """
    from judge import official
    from judge.files import replacing

    name = options.name
    recipe = official.recipes().get(name)
    if recipe is None:
        raise JudgeError(f"no official prompt {name!r}; there are: {', '.join(official.recipes())}")
    sources = (
        official.read_copy(recipe, options.origin) if options.origin else official.download(recipe)
    )
    prompt = recipe.extract(sources)
    folder = official.folder_of(name, os.environ)
    for path, source in sources.items():
        place = folder / Path(path).name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with replacing(place) as staged:
                staged.write_text(source, "utf-8", newline="")
        except OSError as error:
            raise JudgeError(f"{error}; set JUDGE_CONFIG to a folder you can write to") from error
    click.echo(f"{name} ({prompt.digest}) is now in {folder}")


def _of_plugins() -> dict[str, str]:
    """Return the files of the prompts that rubrics of other packages bring, by name."""
    from judge import plugins, rubrics

    files: dict[str, str] = {}
    for rubric in plugins.RUBRICS.names(rubrics.built_in()):
        with suppress(JudgeError):  # a package that fails has no prompt to show
            files |= {name: str(path) for name, path in rubrics.prompt_files(rubric).items()}
    return files


@options
class _Examples:
    out: Path = option("--out DIR", "The folder to make.", default="examples")


@command("examples")
def examples(options: _Examples) -> None:
    """Copy fifteen made-up studies, with models' reports and readers' annotations, into a folder.

    \b
    judge examples
    judge green examples/preds.json examples/refs.json
    """
    out = options.out
    # In the package, or beside it in a checkout.
    source = next(path for folder in judge.__path__ if (path := Path(folder, "examples")).is_dir())
    try:
        shutil.copytree(source, out, ignore=shutil.ignore_patterns("__pycache__"))
    except FileExistsError as error:
        raise JudgeError(f"{out} is there already: move it away, or name another --out") from error
    except OSError as error:
        raise JudgeError(f"cannot write {out}: {error.strerror or error}") from error
    note(f"example studies in {out}; its README.md describes them")

"""`judge prompts`: the wordings of the rubrics' questions."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import click


@click.group("prompts")
def command() -> None:
    """List the prompts, show one as it is sent, or fetch an official one."""


@command.command("list", short_help="List prompts, built in and official.")
def list_() -> None:
    """List the prompts that come with the program or with a rubric, and the official ones.

    An official prompt is its authors' text: `judge prompts fetch` gets it.
    """
    from judge import official, prompts
    from judge.types import JudgeError

    names = {name: name for name in prompts.names()} | _of_plugins()
    for name in (*names, *official.recipes()):
        try:
            prompt = official.load(names.get(name, name), os.environ)
        except JudgeError as error:
            click.echo(f"{name}  not usable: {error}")
        else:
            about = f"rubric {prompt.rubric}, version {prompt.version}, {prompt.digest}"
            click.echo(f"{name}  {about}")


@command.command("show", short_help="Show a prompt as it is sent.")
@click.argument("name")
def show(name: str) -> None:
    """Show the turns of prompt NAME (or of a file) around two placeholder reports."""
    from judge import official

    prompt = official.load(_of_plugins().get(name, name), os.environ)
    for message in prompt.messages("(the reference report)", "(the candidate report)"):
        click.echo(f"--- {message.role} ---\n{message.content}\n")


@command.command("fetch", short_help="Fetch an official prompt.")
@click.argument("name")
@click.option(
    "--from",
    "origin",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A copy of the authors' file, or the folder that holds their files.",
)
def fetch(name: str, origin: Path | None) -> None:
    """Fetch the official prompt NAME, one of those that `judge prompts list` names.

    It is read from the source that its authors published, which is not run, accepted only
    if it is the known text, and kept in the user's configuration folder, or in JUDGE_CONFIG.
    """
    from judge import official
    from judge.cli.options import replacing
    from judge.types import JudgeError

    recipe = official.recipes().get(name)
    if recipe is None:
        raise JudgeError(f"no official prompt {name!r}; there are: {', '.join(official.recipes())}")
    sources = official.read_copy(recipe, origin) if origin else official.download(recipe)
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
    from judge.types import JudgeError

    files: dict[str, str] = {}
    for rubric in plugins.RUBRICS.names(rubrics.built_in()):
        with suppress(JudgeError):  # a package that fails has no prompt to show
            files |= {name: str(path) for name, path in rubrics.prompt_files(rubric).items()}
    return files

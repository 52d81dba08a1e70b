"""`judge prompts`: the wordings of the rubrics' questions."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from judge.prompts import Prompt


@click.group("prompts")
def command() -> None:
    """List the prompts, show one as it is sent, or fetch an official one."""


@command.command("list", short_help="List prompts, built in and official.")
def list_() -> None:
    """List the prompts that come with the program or with a rubric, and the official ones.

    An official prompt is its authors' text: `judge prompts fetch` gets it.
    """
    from judge import official, plugins, prompts, rubrics
    from judge.types import JudgeError

    for name in prompts.names():
        _print(prompts.load(name), "built in")
    for rubric in plugins.RUBRICS.names(rubrics.built_in()):
        (package, *_) = plugins.RUBRICS.packages(rubric)
        try:
            for path in rubrics.prompt_files(rubric).values():
                _print(prompts.load(str(path)), f"{package}, in {path}")
        except JudgeError as error:
            click.echo(f"of the rubric {rubric}, not usable: {error}")
    for name, recipe in official.recipes().items():
        path = official.path_of(name, os.environ)
        try:
            _print(official.load(name, os.environ), f"{recipe.repository}, in {path}")
        except JudgeError as error:
            state = f"not usable: {error}" if path.exists() else "not here yet"
            click.echo(f"{name}  rubric {recipe.rubric}, {state}: judge prompts fetch {name}")


@command.command("show", short_help="Show a prompt as it is sent.")
@click.argument("name")
def show(name: str) -> None:
    """Show the turns of prompt NAME (or of a file) around two placeholder reports."""
    from judge import official

    prompt = official.load(_find(name), os.environ)
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
    from judge.types import JudgeError

    recipe = official.recipes().get(name)
    if recipe is None:
        raise JudgeError(f"no official prompt {name!r}; there are: {', '.join(official.recipes())}")
    sources = official.read_copy(recipe, origin) if origin else official.download(recipe)
    prompt = recipe.extract(sources)
    path = official.path_of(name, os.environ)
    _save(path, official.as_yaml(prompt, recipe))
    click.echo(f"{name} ({prompt.digest}) is now in {path}")


def _save(path: Path, content: str) -> None:
    from judge.cli.options import replacing
    from judge.types import JudgeError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as staged:
            staged.write_text(content, "utf-8")
    except (OSError, JudgeError) as error:
        raise JudgeError(f"{error}; set JUDGE_CONFIG to a folder that can be written to") from error


def _find(name: str) -> str:
    """Return the path of a prompt that a package brings, and any other name as it is."""
    from judge import official, plugins, prompts, rubrics
    from judge.types import JudgeError

    if name in prompts.names() or name in official.recipes() or Path(name).exists():
        return name
    for rubric in plugins.RUBRICS.names(rubrics.built_in()):
        with suppress(JudgeError):  # a package that fails has no prompt to show
            if name in (files := rubrics.prompt_files(rubric)):
                return str(files[name])
    return name


def _print(prompt: Prompt, origin: str) -> None:
    click.echo(
        f"{prompt.name}  rubric {prompt.rubric}, version {prompt.version}, {prompt.digest}, "
        f"{origin}"
    )

"""`judge prompts`: the wordings of the rubrics' questions."""

from __future__ import annotations

import click


@click.group("prompts")
def command() -> None:
    """List the prompts, or show one as it is sent."""


@command.command("list")
def list_() -> None:
    """List the prompts that come with the program."""
    from judge import prompts

    for name in prompts.names():
        prompt = prompts.load(name)
        click.echo(
            f"{prompt.name}  rubric {prompt.rubric}, version {prompt.version}, {prompt.digest}"
        )


@command.command("show")
@click.argument("name")
def show(name: str) -> None:
    """Show the turns of prompt NAME (or of a file) around two placeholder reports."""
    from judge import prompts

    for message in prompts.load(name).messages("(the reference report)", "(the candidate report)"):
        click.echo(f"--- {message.role} ---\n{message.content}\n")

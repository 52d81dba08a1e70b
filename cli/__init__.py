"""The command line. Commands are imported when they are called, libraries when they are used."""

from __future__ import annotations

import importlib

import click

from judge import rubrics
from judge.types import JudgeError

_COMMANDS = (
    *("audit", "cache", "compare", "metrics", "prompts", "rates", "rescore", "reviews", "serve"),
)

_INTERRUPTED = 130


class _MendableError(click.ClickException):
    """A message on standard error and exit code 2, as for a wrong option."""

    exit_code = 2


class _Commands(click.Group):
    """The rubrics, each a command, and the commands that work on runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*rubrics.names(), *_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in _COMMANDS:
            command: click.Command = importlib.import_module(f"judge.cli.{cmd_name}").command
            return command
        if cmd_name in rubrics.names():
            from judge.cli.judging import command_for

            return command_for(rubrics.load(cmd_name))
        return None

    def invoke(self, ctx: click.Context) -> object:
        """Turn what the user can mend into one line and exit code 2."""
        try:
            return super().invoke(ctx)
        except JudgeError as error:
            raise _MendableError(str(error)) from error
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(_INTERRUPTED)


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="judge")
def main() -> None:
    """Find out what radiology report-generation models get wrong.

    A judge compares each candidate report with the radiologist's reference and writes
    down every error. Begin with:

        judge green preds.json refs.json
    """

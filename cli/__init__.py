"""The command line. Commands are imported when they are called, libraries when they are used."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from judge import rubrics
from judge.types import JudgeError

_COMMANDS = (
    *("audit", "cache", "compare", "metrics", "prompts", "rates", "rescore", "reviews", "serve"),
)

_INTERRUPTED = 130
_UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


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

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:  # noqa: ANN401
        """Read the command line; `--help` prints here already."""
        with _mendable():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> object:
        """Turn what the user can mend into one line and exit code 2."""
        if sys.stdout is None:  # as after `>&-`; whatever is opened next would get its number
            raise _MendableError("standard output is closed; send it to a file, or to /dev/null")
        try:
            with _mendable():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(_INTERRUPTED)


@contextmanager
def _mendable() -> Iterator[None]:
    try:
        yield
    except JudgeError as error:
        raise _MendableError(str(error)) from error
    except UnicodeEncodeError as error:
        raise _MendableError(_unprintable(error)) from error
    except OSError as error:
        # Every file that is opened has a name here; standard output has none.
        if error.filename is not None or error.errno not in _UNWRITTEN:
            raise
        _drop_output()
        raise _MendableError(f"cannot write the output: {error.strerror}") from error


def _unprintable(error: UnicodeEncodeError) -> str:
    text = error.object[error.start : error.end][:1]
    if "\ud800" <= text <= "\udfff":
        return (
            f"a name or a text holds {text!r}, which is not UTF-8 and cannot be written; rename it"
        )
    return (
        f"the output's encoding, {error.encoding}, has no {text!r}; "
        "set the environment variable PYTHONIOENCODING=utf-8"
    )


def _drop_output() -> None:
    """Drop what standard output still holds; else Python tries again when it ends, and says so."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="judge")
def main() -> None:
    """Find out what radiology report-generation models get wrong.

    A judge compares each candidate report with the radiologist's reference and writes
    down every error. Begin with:

        judge green preds.json refs.json
    """

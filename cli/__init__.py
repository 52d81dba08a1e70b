"""The command line. Commands are imported when they are called, libraries when they are used."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from keyword import iskeyword
from typing import Any

import click

from judge import plugins, rubrics
from judge.plugins import NAME
from judge.types import JudgeError

_COMMANDS = {
    "audit": "See why: one study, the worst, or a page of a run.",
    "batch": "Look after the batches that runs are asked in.",
    "cache": "Look after the answers that are kept on disk.",
    "check": "Say what would be judged; no judge is asked.",
    "cite": "Write a run up for a paper, with the works to cite.",
    "compare": "Rank models by their runs, and test differences.",
    "errors": "Show the errors that recur, in a run or between two models.",
    "examples": "Copy the example studies here, to try things on.",
    "import": "Make runs of what radiologists annotated.",
    "merge": "Join the shards of a set into one run.",
    "metrics": "Compute other metrics, study by study.",
    "page": "Write the pages of several runs, with an index.",
    "panel": "Make one run out of several judges' runs.",
    "prompts": "List prompts, show one, or fetch an official one.",
    "rates": "Compute a run's rates again, by any field.",
    "rescore": "Read a run's answers again with today's parser.",
    "reproduce": "Make the figures and tables of a published evaluation.",
    "reviews": "Show how right the judge was to its reviewers.",
    "runs": "List the runs there are.",
    "sample": "Draw the studies that readers read.",
    "serve": "Show and start runs in a browser; REST API.",
    "stress": "Put a judge to the test with errors that are known.",
    "validate": "Say how far judges agree with readers.",
}
_OF_RUNS = ("merge", "panel", "rescore", "runs")

_INTERRUPTED, _PIPE_CLOSED, _TERMINATED = 130, 141, 143
_UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


class _UserError(click.ClickException):
    """A message on standard error and exit code 2, as for a wrong option."""

    exit_code = 2

    def format_message(self) -> str:
        from judge.text import harmless

        return harmless(self.message)


class _Added(click.Command):
    """The command of a rubric that a package adds, which is imported when the command is used."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:  # noqa: ANN401
        if self.name in _COMMANDS:
            plugins.RUBRICS.check_unique(self.name)
        return _command_for(str(self.name)).make_context(*args, **kwargs)


def _command_for(rubric: str) -> click.Command:
    from judge.cli.judging import command_for

    return command_for(rubrics.load(rubric))


def _short_help(name: str) -> str:
    if name in _COMMANDS:
        return _COMMANDS[name]
    if packages := plugins.RUBRICS.packages(name):
        return f"A rubric of {' and '.join(packages)}."
    return rubrics.summary(name)


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*(name for name in rubrics.names() if name not in _COMMANDS), *_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in (*_COMMANDS, *rubrics.names()):
            return None
        if plugins.RUBRICS.packages(cmd_name):
            return _Added(cmd_name, short_help=_short_help(cmd_name))
        if cmd_name in _COMMANDS:
            home = "runs" if cmd_name in _OF_RUNS else cmd_name
            module = importlib.import_module(f"judge.cli.{home}{'_' * iskeyword(home)}")
            command: click.Command = getattr(module, cmd_name if home == "runs" else "command")
            command.short_help = _COMMANDS[cmd_name]
            return command
        return _command_for(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _short_help(name)) for name in self.list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; where there is none of that name, say which are spelled like it."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            if not (close := get_close_matches(args[0], self.list_commands(ctx))):
                raise
            guess = f"{error.message} Did you mean {' or '.join(close)}?"
            raise click.UsageError(guess, ctx) from error

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:  # noqa: ANN401
        with _user_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> object:
        if sys.stdout is None:  # as after `>&-`; whatever is opened next would get its number
            raise _UserError("standard output is closed; send it to a file, or to /dev/null")
        with suppress(ValueError):  # in another thread than the main one
            signal.signal(signal.SIGTERM, _terminated)
        with _user_errors():
            return super().invoke(ctx)


def _terminated(_signal: int, _frame: object) -> None:
    sys.exit(_TERMINATED)


@contextmanager
def _user_errors() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
        sys.exit(_INTERRUPTED)
    except JudgeError as error:
        raise _UserError(str(error)) from error
    except UnicodeEncodeError as error:
        raise _UserError(_unprintable(error)) from error
    except OSError as error:
        if error.errno == errno.EPIPE:  # who reads has seen enough, as `head` does
            _drop_output()
            sys.exit(_PIPE_CLOSED)
        # Every file that is opened has a name here; standard output has none.
        if error.filename is not None or error.errno not in _UNWRITTEN:
            raise
        _drop_output()
        raise _UserError(f"cannot write the output: {error.strerror}") from error


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
    """Drop what the outputs still hold; else Python tries again when it ends, and says so."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(None, "-V", "--version", package_name=NAME, prog_name="judge")
def main() -> None:
    """Find out what radiology report-generation models get wrong.

    A judge compares each candidate report with the radiologist's reference and writes
    down every error. Begin with:

        judge green preds.json refs.json
    """

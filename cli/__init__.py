"""The command line. A command and what it needs are imported when it is called."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from judge import plugins, rubrics
from judge.cli.options import VERBOSE, SuggestingGroup, renamed
from judge.plugins import NAME
from judge.types import JudgeError

COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Judge reports": {
        "run": (
            "experiment:run",
            "Judge several models, data sets, rubrics and judges by one file.",
        ),
        "check": (
            "judging:check",
            "Show what would be judged, without asking a judge.",
        ),
    },
    "Look at the results": {
        "audit": (
            "look:audit",
            "Show a study with its errors, or list the worst studies.",
        ),
        "rates": (
            "look:rates",
            "Show a run's rates by any field, or corrected by readers.",
        ),
        "errors": (
            "look:errors",
            "List the errors that recur in a run or differ between two.",
        ),
        "serve": (
            "serve:serve",
            "Open runs in the browser, review them and start new ones.",
        ),
        "page": (
            "page:page",
            "Write a run, a comparison or a validation as pages for the browser.",
        ),
    },
    "Compare models": {
        "compare": (
            "compare:compare",
            "Rank models on the same studies and test differences.",
        ),
        "gate": (
            "gate:gate",
            "Fail in CI if a model, or a judge, has changed for the worse.",
        ),
        "plan": (
            "plan:plan",
            "Plan how many studies and readings a result needs.",
        ),
        "monitor": (
            "monitor:monitor",
            "Judge drafts as they are signed, with charts and alarms.",
        ),
        "reproduce": (
            "compare:reproduce",
            "Make the figures and tables of a challenge.",
        ),
        "metrics": (
            "metrics:metrics",
            "Compute BLEU, BERTScore, RadGraph-F1 and other metrics.",
        ),
    },
    "Trust the judge": {
        "validate": (
            "validate:validate",
            "Measure how well judges agree with readers.",
        ),
        "readers": (
            "readers:readers",
            "Draw studies for radiologists; import or export what they read.",
        ),
        "stress": ("stress:stress", "Test a judge with known errors."),
        "passport": (
            "passport:passport",
            "Collect what is known of a judge, and whether to trust it.",
        ),
        "bridge": (
            "bridge:bridge",
            "Restate the figures of a judge that ends on a new judge's scale.",
        ),
    },
    "Keep runs and answers": {
        "runs": (
            "runs:runs",
            "List, merge, combine, read again, verify or delete runs.",
        ),
        "cite": (
            "cite:cite",
            "Write methods text, references and evidence pack for a paper.",
        ),
        "cache": ("cache:cache", "Inspect, extend or prune the cached answers."),
        "batch": ("cache:batch", "List or cancel the batches of runs."),
    },
    "Set up": {
        "examples": (
            "prompts:examples",
            "Copy example studies here, to try things out.",
        ),
        "doctor": (
            "doctor:doctor",
            "Show what is installed, which keys are set and what ends soon.",
        ),
        "prompts": (
            "prompts:prompts",
            "List or show prompts, or fetch an official one.",
        ),
    },
}
"""Heading -> command -> its function as MODULE:NAME, and its one line in the help.

A new command is one line here. The rubrics stand at the top, before `run`.
"""
MOVED = {
    "import": ("readers", "import"),
    "sample": ("readers", "sample"),
    "merge": ("runs", "merge"),
    "panel": ("runs", "panel"),
    "rescore": ("runs", "rescore"),
}
"""Commands of the last version -> the words that name them now. They work, with a note."""
_COMMANDS: dict[str, tuple[str, str]] = {}
for _group in COMMANDS.values():
    _COMMANDS |= _group
_RUBRICS = ("green", "fineradscore", "crimson", "facts", "counts", "direct")

_INTERRUPTED, _PIPE_CLOSED, _TERMINATED = 130, 141, 143
_UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


class _UserError(click.ClickException):
    exit_code = 2

    def format_message(self) -> str:
        from judge.text import harmless

        return harmless(self.message)


def _short_help(name: str) -> str:
    if name in _COMMANDS:
        return _COMMANDS[name][1]
    packages = plugins.RUBRICS.packages(name)
    if packages:
        return f"A rubric of {' and '.join(packages)}."
    return rubrics.summary(name)


def command_groups() -> dict[str, list[str]]:
    """Return the commands under each heading of the help; the rubrics are in the first."""
    groups = {title: list(commands) for title, commands in COMMANDS.items()}
    names = [name for name in rubrics.names() if name not in _COMMANDS]
    names.sort(
        key=lambda name: _RUBRICS.index(name) if name in _RUBRICS else len(_RUBRICS)
    )
    first = next(iter(groups))
    return groups | {first: names + groups[first]}


class _Commands(SuggestingGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        commands: list[str] = []
        for names in command_groups().values():
            commands += names
        return commands

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in (*_COMMANDS, *rubrics.names()):
            return None
        if cmd_name in _COMMANDS:
            plugins.RUBRICS.check_unique(cmd_name)
            module, _, function = _COMMANDS[cmd_name][0].partition(":")
            command: click.Command = getattr(
                importlib.import_module(f"judge.cli.{module}"), function
            )
            command.short_help = _COMMANDS[cmd_name][1]
            return command
        from judge.cli.judging import command_for

        return command_for(rubrics.load(cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, also by its name in the last version."""
        old = args[0]
        if old not in MOVED or old in rubrics.names():
            return super().resolve_command(ctx, args)
        words = MOVED[old]
        renamed(f"judge {old}", f"judge {' '.join(words)}")
        group = self.get_command(ctx, words[0])
        assert isinstance(group, click.Group)
        command = group.get_command(ctx, words[1])
        return " ".join(words), command, args[1:]

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """List the commands in their groups, without importing them."""
        formatter.write("\n")
        # No blank lines between the groups, so that the whole list fits a screen.
        for title, names in command_groups().items():
            formatter.write(f"{title}:\n")
            formatter.indent()
            formatter.write_dl([(name, _short_help(name)) for name in names])
            formatter.dedent()

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:  # noqa: ANN401
        with _user_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> object:
        if (
            sys.stdout is None
        ):  # as after `>&-`; whatever is opened next would get its number
            raise _UserError(
                "standard output is closed; send it to a file, or to /dev/null"
            )
        with suppress(ValueError):  # in another thread than the main one
            signal.signal(signal.SIGTERM, _terminated)
            # A closed terminal or connection. Below nohup it is ignored, and stays so.
            if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
                signal.signal(signal.SIGHUP, _terminated)
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
        context = click.get_current_context(silent=True)
        if context is not None and context.meta.get(VERBOSE):
            traceback.print_exception(error)
        raise _UserError(str(error)) from error
    except UnicodeEncodeError as error:
        text = error.object[error.start : error.end][:1]
        raise _UserError(
            f"{text!r} cannot be written in {error.encoding}; set PYTHONIOENCODING=utf-8"
        ) from error
    except OSError as error:
        if error.errno == errno.EPIPE:  # who reads has seen enough, as `head` does
            _drop_output()
            sys.exit(_PIPE_CLOSED)
        # Every file that is opened has a name here; standard output has none.
        if error.filename is not None or error.errno not in _UNWRITTEN:
            raise
        _drop_output()
        raise _UserError(f"cannot write the output: {error.strerror}") from error


def _drop_output() -> None:
    """Drop what the outputs still hold; else Python tries again when it ends, and says so."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@click.command(
    cls=_Commands,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
    },
    examples=["judge examples", "judge green examples/preds.json examples/refs.json"],
    page="docs/index.md",
)
@click.version_option(None, "-V", "--version", package_name=NAME, prog_name="judge")
def main() -> None:
    """Find out what radiology report-generation models get wrong.

    A judge compares each candidate report with the radiologist's reference and lists its errors.
    Begin with the examples below; judge COMMAND --help says more of a command.
    """

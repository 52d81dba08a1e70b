"""`judge stress REFS --judge JUDGE`: put a judge to the test with errors that are known."""

from __future__ import annotations

from typing import Any

import click

from judge.cli import stress_make, stress_report
from judge.cli.asking import RUNNING_OPTIONS, SERVER_OPTIONS, WHO, WORDING, sampling_options
from judge.cli.files import NamedPath
from judge.cli.groups import GroupedCommand, heading, with_options

_RUBRIC = "green"


class _Stress(click.Group, GroupedCommand):
    """Commands, and beside them a command of its own where the first word names none of them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] in self.commands:
            ctx.meta[__name__] = True
        else:
            ctx.allow_interspersed_args = True
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        return [p for p in params if p not in self.params] if ctx.meta.get(__name__) else params

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "REFS [OPTIONS]")
        formatter.write_usage(ctx.command_path, "COMMAND [ARGS]...", prefix="       ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        GroupedCommand.format_options(self, ctx, formatter)


@click.group(
    "stress",
    _Stress,
    invoke_without_command=True,
    no_args_is_help=True,
    short_help="Put a judge to the test with errors that are known.",
)
@click.argument("refs")
@with_options(
    heading("Files"),
    click.option(
        "--out",
        type=NamedPath(file_okay=False),
        metavar="DIR",
        help="The folder of the candidates and, in runs, of the runs. Candidates that this command "
        "made there before are found again. Default: a folder below judge-runs, named after what "
        "makes the candidates.",
    ),
    *stress_make.SOURCE_OPTIONS,
    *stress_make.CANDIDATE_OPTIONS,
    heading("Judge"),
    click.option(
        "--rubric",
        default=_RUBRIC,
        show_default=True,
        metavar="NAME",
        help="What to judge by: green, fineradscore or another that is installed.",
    ),
    click.option("--judge", "judge_name", metavar="JUDGE", help=WHO),
    click.option(
        "--prompt",
        "prompts",
        multiple=True,
        metavar="NAME|FILE",
        help=f"{WORDING} Repeat it to hold several side by side: a run for each.",
    ),
    *SERVER_OPTIONS,
    click.option(
        "--repeats",
        type=click.IntRange(min=1, max=100),
        default=1,
        show_default=True,
        metavar="K",
        help="Ask each question so many times, a run for each: would it say the same again? What "
        "is in the cache of one run is no answer of another.",
    ),
    *sampling_options("--sampling-seed"),
    *RUNNING_OPTIONS,
    heading("Output"),
    stress_report.drawn_options,
    stress_report.report_format,
)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:  # noqa: ANN401
    """Put a judge to the test: does it see known errors, and stay still when nothing changed?

    Candidates are made out of the references REFS, with a known truth for each, and judged as
    any others are: one run for each prompt and repeat. The same command goes on where it was
    stopped. With another --judge and the same --out its runs stand beside. --seed is of the
    candidates; that of sampling is --sampling-seed. A file called make is ./make here.

    Exit codes are those of a run: 3 where too few candidates could be scored, --max-cost was
    reached for all runs together, or most answers could not be read.
    """
    if ctx.invoked_subcommand is None:
        from judge.cli.stress_run import run

        run(options)


command.add_command(stress_make.make)
command.add_command(stress_report.command)

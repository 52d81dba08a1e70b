"""`judge stress REFS --judge JUDGE`: put a judge to the test with errors that are known."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.asking import (
    RUNNING_OPTIONS,
    SERVER_OPTIONS,
    WHO,
    WORDING,
    policy_of,
    sampling_options,
    settings_of,
)
from judge.cli.drawn import (
    check_drawn,
    figures_option,
    html_option,
    put,
    say_drawn,
    write_html,
)
from judge.cli.judging import account, end_stopped, end_uncovered, shared_servers, watching
from judge.cli.options import GroupedCommand, NamedPath, heading, with_options
from judge.cli.output import emit, format_of, format_option, list_option, note, print_tables

if TYPE_CHECKING:
    from judge.running.run import Finished
    from judge.running.session import JudgeSession
    from judge.stress.candidates import Made
    from judge.stress.changes import Change
    from judge.stress.report import StressReport
    from judge.studies import StudySet

_RUBRIC = "green"
_CANDIDATES = (
    click.option("--id-field", metavar="FIELD", help="The field that holds the study id."),
    click.option("--reference-field", metavar="FIELD", help="The field that holds the report."),
    click.option(
        "--section",
        metavar="findings|impression|report",
        help="The part of the reports to change. Default: findings where the references have "
        "them, else the whole report.",
    ),
    heading("Candidates"),
    click.option(
        "-n",
        type=click.IntRange(min=1),
        default=200,
        show_default=True,
        metavar="N",
        help="How many studies to draw at random.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=1,
        show_default=True,
        help="The seed of the draw and of every choice.",
    ),
    list_option(
        "--changes",
        metavar="NAME",
        help="Make these alone (repeat it, or separate with commas). Default: all.",
    ),
    click.option(
        "--rubric",
        default=_RUBRIC,
        show_default=True,
        metavar="NAME",
        help="What to judge by. A forged answer among the hostile texts is in its layout.",
    ),
)
_DRAWN = with_options(
    figures_option("errors found by class, false alarms by change"),
    html_option(
        "Write a page: the tables, and each pair with what was changed and what was found."
    ),
)
_REPORT_FORMAT = format_of(
    *("table", "md", "csv", "json"),
    text="What to print on standard output; csv has a figure a row.",
)


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
)
@click.argument("refs")
@with_options(
    heading("Files"),
    click.option(
        "--out",
        type=NamedPath(file_okay=False),
        metavar="DIR",
        default="stress",
        show_default=True,
        help="The folder of the candidates and, in runs, of the runs. The same candidates may be "
        "there already.",
    ),
    *_CANDIDATES,
    heading("Judge"),
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
        help="Ask each question K times, a run for each: would the judge say the same again?",
    ),
    *sampling_options("--sampling-seed"),
    *RUNNING_OPTIONS,
    heading("Output"),
    _DRAWN,
    _REPORT_FORMAT,
)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:  # noqa: ANN401
    """Put a judge to the test: does it see known errors, and stay still when nothing changed?

    Candidates are made out of the references REFS, with known errors, and judged as any others
    are: one run for each prompt and repeat. The same command goes on where it was stopped. With
    another --judge and the same --out its runs stand beside, for judge compare --by change.

    Exit codes are those of a run: 3 where too few candidates could be scored, --max-cost was
    reached for all runs together, or most answers could not be read.
    """
    if ctx.invoked_subcommand is None:
        _run(options)


@command.command("make", GroupedCommand, short_help="Make candidates with errors that are known.")
@click.argument("refs", required=False)
@heading("Files")
@click.option(
    "--out",
    type=NamedPath(file_okay=False),
    metavar="DIR",
    help="Write preds.jsonl and refs.jsonl here. It may be new, or empty.",
)
@with_options(
    *_CANDIDATES,
    click.option("--list", "is_list", is_flag=True, help="List the changes, and make nothing."),
)
@heading("Output")
@format_option
def _make(*, is_list: bool, form: str, **options: Any) -> None:  # noqa: ANN401
    """Make candidates out of the references REFS, with known errors.

    Judge them as any others: judge green DIR/preds.jsonl DIR/refs.jsonl. The id of a candidate is
    STUDY/CHANGE; the fields of refs.jsonl say what was changed and which errors are right. What
    could not be made is counted with its reason. No judge is asked.
    """
    from judge.stress.changes import chosen

    changes = chosen(options["changes"], options["rubric"])
    if is_list:
        listed = [
            {
                "change": change.name,
                "group": change.group,
                "does": change.does,
                "expected": change.expected,
            }
            for change in changes
        ]
        _print_rows("Changes", listed, form)
        return
    if options["refs"] is None or options["out"] is None:
        raise click.UsageError("give REFS and --out DIR, or --list")
    made = _made(options, changes, again=False)
    _print_rows("Made", made.rows(changes), form)
    note(f"written to {options['out']}")


@command.command("report", GroupedCommand, short_help="Say what a judge made of known errors.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...|DIR")
@heading("Output")
@_DRAWN
@_REPORT_FORMAT
def _report(runs: tuple[str, ...], figures: Path | None, html: Path | None, form: str) -> None:
    """Say what a judge saw of known errors, and where it did not stay still.

    RUN is a run of candidates of judge stress make, by any judge; several runs are of one judge,
    by its prompts and repeats. A folder of judge stress stands for all runs in it. No judge is
    asked. docs/stress.md explains each number.
    """
    from judge.report.stress_page.data import MARK
    from judge.stress.report import stress_report

    check_drawn(html, figures, MARK)
    _show(stress_report(runs), form, html, figures)


def _run(options: dict[str, Any]) -> None:
    """Make the candidates or find them, judge them and print the report."""
    from judge.report.stress_page.data import MARK
    from judge.running.engine import RunStoppedError, UnreadableError
    from judge.stress import candidates
    from judge.stress.changes import chosen
    from judge.stress.report import stress_report

    html, figures, out = options.pop("html"), options.pop("figures"), options["out"]
    check_drawn(html, figures, MARK)
    sessions = [*_sessions(options)]
    changes = chosen(options["changes"], options["rubric"])
    if options["dry_run"]:
        from judge.cli.judging import foretell

        with tempfile.TemporaryDirectory() as folder:
            options["out"] = Path(folder) / "candidates"
            _made(options, changes, again=False)
            foretell(sessions, candidates.read(options["out"], options["section"]))
        return
    _made(options, changes, again=True)
    note(f"folder  {out}")
    studies = candidates.read(out, options["section"])
    try:
        with shared_servers(sessions):
            finished = [_judge(session, studies, options) for session in sessions]
    except (UnreadableError, RunStoppedError) as stopped:
        end_stopped(stopped)
    else:
        report = stress_report([run.path for run in finished])
        _show(report, options["form"], html, figures)
        end_uncovered([run.summary for run in finished], options["min_coverage"])


def _made(options: dict[str, Any], changes: Sequence[Change], *, again: bool) -> Made:
    from judge.stress import candidates
    from judge.studies.names import NamedFields

    named = NamedFields(id=options["id_field"], reference=options["reference_field"])
    studies = candidates.read_references(options["refs"], named, options["section"])
    options["section"] = str(studies.section)
    if n_left := sum(studies.omitted.values()):
        note(f"{n_left:,} of the references are empty, and left out")
    drawn = studies.drawn(options["n"], options["seed"])
    made = candidates.write(options["out"], drawn, changes, options["seed"], again=again)
    n = made.candidates.total()
    note(f"{n:,} candidates of {len(drawn):,} of {len(studies):,} studies, seed {options['seed']}")
    return made


def _sessions(options: dict[str, Any]) -> Iterator[JudgeSession]:
    """Yield a session for each prompt and repeat; all pay from one budget."""
    from judge.backends import LEXICON
    from judge.running.cost import Budget
    from judge.running.session import JudgeSession

    if options["repeats"] > 1 and options["sampling_seed"] is not None:
        raise click.UsageError("--sampling-seed asks for the same answer each time; leave it out")
    settings = settings_of({**options, "prompt": None})
    policy = policy_of(options)
    budget = None if policy.max_cost is None else Budget(policy.max_cost)
    name = options["judge_name"] or LEXICON
    for prompt in dict.fromkeys(options["prompts"]) or (None,):
        for repeat in range(options["repeats"]):
            session = JudgeSession.load(
                options["rubric"],
                name,
                replace(settings, prompt=prompt),
                policy=replace(policy, max_cost=None),
                cache=options["cache"],
                budget=budget,
                repeat=repeat,
            )
            if repeat and (session.judge.runs_inline or session.judge.is_deterministic):
                note(f"{name} answers the same question the same each time: one run.")
                break
            if options["judge_name"] is None and not repeat:
                note(f"No --judge given: using {LEXICON}, {session.judge.note}.")
            yield session


def _judge(session: JudgeSession, studies: StudySet, options: dict[str, Any]) -> Finished:
    from judge.running.run import default_folder, run, with_classes
    from judge.stress.report import RUNS

    line = session.signature(*with_classes(studies))
    place = options["out"] / RUNS / default_folder(session, None, line).name
    with session, watching() as listener:
        arguments = {k: v for k, v in options.items() if k not in ("form", "out", "cache")}
        finished = run(
            session, studies, out=place, by=("change",), arguments=arguments, listener=listener
        )
    for text in account(finished.progress):
        note(text)
    note(f"run folder  {place}")
    return finished


def _show(report: StressReport, form: str, html: Path | None, figures: Path | None) -> None:
    """Print a report; write its page and its figures first: who reads the output may stop early."""
    from judge.report import stress

    if figures:
        from judge.figures import draw_stress

        data = report.plain()
        say_drawn(draw_stress({data["judge"]["name"]: data}, figures), figures)
    if html:
        _write_page(report, html)
    put(report.plain(), stress, form)


def _write_page(report: StressReport, path: Path) -> None:
    from judge.figures import available, stress_page_figures
    from judge.report.stress_page.data import MARK, page, pairs

    data = report.plain()
    figures = stress_page_figures(data) if available() else None
    rubric = report.first.run.rubric
    write_html(page(data, rubric, pairs(report), figures), path, MARK)
    note(f"page  {path}")


def _print_rows(title: str, rows: list[dict[str, Any]], form: str) -> None:
    from judge.report.formats import as_json, markdown_table, rows_as_csv
    from judge.report.tables import Table

    names = tuple(rows[0])
    if form == "json":
        emit(as_json(rows))
    elif form == "csv":
        emit(rows_as_csv(rows, names))
    else:
        cells = tuple(tuple(str(row[name]) for name in names) for row in rows)
        table = Table(title, names, cells, 4)
        if form == "md":
            emit(markdown_table(table))
        else:
            print_tables([table])

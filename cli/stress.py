"""`judge stress REFS --judge JUDGE`: put a judge to the test with errors that are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.drawn import (
    check_drawn,
    figures_option,
    html_option,
    say_drawn,
    write_html,
)
from judge.cli.judging import (
    account,
    end_stopped,
    end_uncovered,
    foretell,
    shared_servers,
    watching,
)
from judge.cli.options import (
    RUNNING_OPTIONS,
    SERVER_OPTIONS,
    WHO,
    WORDING,
    GroupedCommand,
    NamedPath,
    heading,
    policy_of,
    sampling_options,
    settings_of,
    with_options,
)
from judge.cli.output import format_of, list_option, note, print_document, print_tables

if TYPE_CHECKING:
    from judge.running.session import JudgeSession, RunResult
    from judge.stress.report import StressReport
    from judge.studies import StudySet

_CANDIDATES = (
    heading("Candidates"),
    click.option(
        "--out",
        type=NamedPath(file_okay=False),
        metavar="DIR",
        default="stress",
        help="The folder of the candidates, which may be there already. Default: stress.",
    ),
    click.option("--id-field", metavar="FIELD", help="The field that holds the study id."),
    click.option("--reference-field", metavar="FIELD", help="The field that holds the report."),
    click.option(
        "--section",
        metavar="findings|impression|report",
        help="The part of the reports to change. Default: findings where the references have "
        "them, else the whole report.",
    ),
    click.option(
        "-n",
        type=click.IntRange(1),
        default=200,
        metavar="N",
        help="SeededChoice N studies. Default: 200.",
    ),
    click.option(
        "--seed", type=click.IntRange(0), default=1, help="Of every random choice. Default: 1."
    ),
    list_option("--changes", metavar="NAME", help="Make these alone (repeatable). Default: all."),
    click.option(
        "--rubric",
        default="green",
        metavar="NAME",
        help="What to judge by; forged answers are in its layout. Default: green.",
    ),
)
_TABLES = (
    *("detection", "matrix", "false_alarms", "monotone", "wrong_way", "stability", "hostile"),
)
_OUTPUT = with_options(
    heading("Output"),
    figures_option("errors found by class, false alarms by change"),
    html_option("Write a page: the tables, and each pair with what was changed in it."),
    format_of(
        *("table", "md", "csv", "json"),
        text="What to print on standard output; csv has one table.",
        tables=_TABLES,
    ),
)


class _Stress(click.Group):
    """A group whose command `run` is meant where none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_named = not args or args[0] in {*self.commands, *self.get_help_option_names(ctx)}
        return super().parse_args(ctx, args if is_named else ["run", *args])


@click.group("stress", _Stress)
def command() -> None:
    """Put a judge to the test: does it see known errors, and stay still when nothing changed?

    judge stress REFS is short for judge stress run REFS.
    """


@command.command("run", GroupedCommand, short_help="Make candidates, judge them and report.")
@click.argument("refs")
@with_options(
    *_CANDIDATES,
    heading("Judge"),
    click.option("--judge", "judge_name", metavar="JUDGE", help=WHO),
    click.option("--prompt", metavar="NAME|FILE", help=WORDING),
    *SERVER_OPTIONS,
    click.option(
        "--repeats",
        type=click.IntRange(1, 100),
        default=1,
        metavar="K",
        help="Ask each question K times, a run for each: would the judge say the same again?",
    ),
    *sampling_options("--sampling-seed"),
    *RUNNING_OPTIONS,
    _OUTPUT,
)
def _run(*, html: Path | None, figures: Path | None, **options: Any) -> None:  # noqa: ANN401
    """Make candidates with known errors out of the references REFS, judge them and report.

    They are judged as any others are, in a run for each repeat, below --out in runs. The same
    command goes on where it was stopped. With another --judge and the same --out its runs are
    beside, for judge compare --by change.

    Exit codes are those of a run: 3 where too few candidates could be scored, --max-cost was
    reached for all runs together, or most answers could not be read.
    """
    from judge.pages.stress import MARK
    from judge.running.engine import RunStoppedError, UnreadableError
    from judge.stress import candidates
    from judge.stress.perturbations import choose_perturbations
    from judge.stress.report import stress_report

    check_drawn(html, figures, MARK)
    sessions = [*_sessions(options)]
    drawn, changes = _drawn(options), choose_perturbations(options["changes"], options["rubric"])
    if options["dry_run"]:
        counts: dict[str, Counter[str]] = {}
        asked = [
            study
            for study, _ in candidates.make_candidates(drawn, changes, options["seed"], counts)
        ]
        foretell(sessions, asked)
        return
    candidates.write_candidates(options["out"], drawn, changes, options["seed"])
    note(f"folder  {options['out']}")
    studies = candidates.read_candidates(options["out"], str(drawn.section))
    try:
        with shared_servers(sessions):
            finished = [_judge(session, studies, options) for session in sessions]
    except (UnreadableError, RunStoppedError) as stopped:
        end_stopped(stopped)
    _show(stress_report([run.path for run in finished]), options["form"], html, figures)
    end_uncovered([run.summary for run in finished], options["min_coverage"])


@command.command("make", GroupedCommand, short_help="Make candidates with errors that are known.")
@click.argument("refs")
@with_options(*_CANDIDATES)
def _make(**options: Any) -> None:  # noqa: ANN401
    """Make candidates out of the references REFS, with known errors; no judge is asked.

    Judge them as any others: judge green DIR/preds.jsonl DIR/refs.jsonl. The id of a candidate is
    STUDY/CHANGE; the fields of refs.jsonl say what was changed and which errors are right. What
    could not be made is counted with its reason.
    """
    from judge.stress import candidates
    from judge.stress.perturbations import choose_perturbations
    from judge.tables.document import Column, Table

    changes = choose_perturbations(options["changes"], options["rubric"])
    counts = candidates.write_candidates(options["out"], _drawn(options), changes, options["seed"])
    rows = []
    for name, reasons in counts.items():
        n = reasons.pop(candidates.MADE, 0)
        why = "; ".join(f"{reason} ({k:,})" for reason, k in reasons.most_common())
        rows.append((name, why, n, reasons.total()))
    columns = (
        Column("change", "change"),
        Column("why", "why not made"),
        Column("made", "made", "count"),
        Column("not_made", "not made", "count"),
    )
    print_tables(Table("candidates", "Candidates", columns, tuple(rows)))
    note(f"written to {options['out']}")


@command.command("report", GroupedCommand, short_help="Say what a judge made of known errors.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...|DIR")
@_OUTPUT
def _report(runs: tuple[str, ...], figures: Path | None, html: Path | None, form: str) -> None:
    """Say what a judge saw of known errors, and where it did not stay still.

    RUN is a run of the candidates of judge stress, by any judge; several runs are its repeats. A
    folder of judge stress has all of them. docs/stress.md explains each number.
    """
    from judge.pages.stress import MARK
    from judge.stress.report import stress_report

    check_drawn(html, figures, MARK)
    _show(stress_report(runs), form, html, figures)


def _drawn(options: dict[str, Any]) -> StudySet:
    from judge.stress.candidates import read_references
    from judge.studies.names import NamedFields

    named = NamedFields(id=options["id_field"], reference=options["reference_field"])
    studies = read_references(options["refs"], named, options["section"])
    if n_left := sum(studies.omitted.values()):
        note(f"{n_left:,} of the references are empty, and left out")
    drawn = studies.drawn(options["n"], options["seed"])
    note(f"{len(drawn):,} of {len(studies):,} studies, seed {options['seed']}")
    return drawn


def _sessions(options: dict[str, Any]) -> Iterator[JudgeSession]:
    """Yield a session for each repeat; all pay from one budget."""
    from judge.backends import LEXICON
    from judge.running.cost import SpendingLimit
    from judge.running.session import JudgeSession

    if options["repeats"] > 1 and options["sampling_seed"] is not None:
        raise click.UsageError("--sampling-seed asks for the same answer each time; leave it out")
    settings, policy = settings_of(options), policy_of(options)
    budget = None if policy.max_cost is None else SpendingLimit(policy.max_cost)
    name = options["judge_name"] or LEXICON
    for repeat in range(options["repeats"]):
        session = JudgeSession.load(
            *(options["rubric"], name, settings),
            policy=policy,
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


def _judge(session: JudgeSession, studies: StudySet, options: dict[str, Any]) -> RunResult:
    from judge.running.session import default_folder, run, with_classes
    from judge.stress.report import RUNS

    signature = session.signature(*with_classes(studies))
    folder = options["out"] / RUNS / default_folder(session, None, signature).name
    arguments = {k: v for k, v in options.items() if k not in ("form", "out", "cache")}
    with session, watching() as listener:
        finished = run(
            session, studies, out=folder, by=("change",), arguments=arguments, listener=listener
        )
    for text in account(finished.progress):
        note(text)
    note(f"run folder  {folder}")
    return finished


def _show(report: StressReport, form: str, html: Path | None, figures: Path | None) -> None:
    """Print a report; write its page and its figures first: who reads the output may stop early."""
    from judge.tables.stress import stress_document

    data = report.plain()
    if figures:
        from judge.figures import draw_stress

        say_drawn(draw_stress({data["judge"]["name"]: data}, figures), figures)
    if html:
        from judge.figures import available, stress_page_figures
        from judge.pages.stress import MARK, page, pairs

        drawn = stress_page_figures(data) if available() else None
        write_html(page(data, report.first.run.rubric, pairs(report), drawn), html, MARK)
        note(f"page  {html}")
    print_document(stress_document(data), form, data)

"""`judge RUBRIC PREDS [REFS]`, one command for each rubric, and `judge check`."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import click

from judge.cli.options import (
    BOARD_TABLES,
    GroupedCommand,
    format_option,
    judge_option,
)
from judge.cli.output import note, print_document, print_summary
from judge.cli.progress import (
    Owner,
    described_judge,
    end_uncovered,
    forecast,
    judge_studies,
    watching,
)
from judge.cli.run_options import (
    ROLES,
    RUN_TABLES,
    ReportOptions,
    RunOptions,
    StudyOptions,
    column_option,
    report_options,
    run_options,
    study_options,
)
from judge.rubrics import Rubric
from judge.tables.document import Document
from judge.text import counted
from judge.types import LEXICON

if TYPE_CHECKING:
    from judge.backends import Judge
    from judge.batching.batch_run import BatchPolicy
    from judge.rubrics.derived import Rule
    from judge.run_settings import ReportSettings, RunSettings
    from judge.running.progress import ProgressListener
    from judge.running.session import JudgeSession
    from judge.running.shard import Shard
    from judge.studies import StudySet

_HELP = """

    PREDS has the candidate reports and REFS the references: JSON, JSON Lines, CSV, TSV, Parquet,
    Excel, .txt files. PREDS alone may have both; several PREDS are judged one by one and compared.
    Exit codes: 0 success, 2 wrong usage or input, 3 too few studies scored or --max-cost reached.
    """


def command_for(rubric: Rubric) -> click.Command:
    """Return the command that judges reports by `rubric`."""

    @click.command(
        rubric.name,
        cls=GroupedCommand,
        short_help=rubric.summary,
        rare={
            "--model",
            "--allow-missing",
            "--references",
            "--cache",
            "--batch",
            "--table",
            "--prompt",
        },
        help=rubric.summary + _HELP,
        examples=[
            f"judge {rubric.name} preds.json refs.json",
            f"judge {rubric.name} preds.json refs.json --judge gpt-6-luna --max-cost 20",
        ],
        page="docs/judging.md",
    )
    @run_options
    def run(**values: Any) -> None:  # noqa: ANN401
        options = RunOptions(**values)
        if options.more:
            _judge_several(rubric, options)
        else:
            _judge(rubric, options)

    return run


def _check_tables(tables: Sequence[str], known: Sequence[str], needed: str) -> None:
    """Raise `click.UsageError` for a table that this command line does not make."""
    for name in tables:
        if name not in known:
            raise click.UsageError(f"--table {name} goes with {needed}")


def _judge_several(rubric: Rubric, options: RunOptions) -> None:
    """Judge several files of candidates as an experiment, and compare them."""
    from judge.cli.experiment import judge_experiment

    _check_tables(options.table, BOARD_TABLES, "one PREDS")

    if not options.judge:
        note(f"No --judge given: using {LEXICON}.")
    judge_experiment(
        options.experiment(rubric.name),
        only={},
        dry_run=options.dry_run,
        cache=options.cache,
        tests=True,
        out=options.out,
        form=options.form,
        table=options.table,
    )


def _judge(rubric: Rubric, options: RunOptions) -> None:
    """Judge reports as the options of the command say."""
    from judge.running.coverage import coverage_notes
    from judge.running.folder import RunFolder
    from judge.running.settings import shard_of_settings
    from judge.studies.join import ONLY_IN_PREDS

    _check_tables(options.table, RUN_TABLES, "several PREDS")
    settings, batches = options.settings(rubric.name), options.batch_policy()
    shard = shard_of_settings(settings)
    owner = click.get_current_context().find_object(Owner)
    session = options.session(settings, owner.budget if owner else None)
    if batches is not None:
        from judge.batching.batch_run import require_batch_judge

        require_batch_judge(session, batches.most)
    studies = read_context(rubric, settings, options.preds, options.refs)
    sides = (
        f"{side} from {studies.read_from[side]}" for side in ("candidate", "reference")
    )
    note("; ".join(sides))
    # REFS may have some of the studies alone: the others were not to be judged.
    n_left_out = sum(n for why, n in studies.omitted.items() if why != ONLY_IN_PREDS)
    n_read = len(studies) + n_left_out
    studies = limited(studies, options.limit)
    if not options.judge:
        note(f"No --judge given: using {LEXICON}, {session.judge.note}.")
    # Before anything is paid for; the run's notes say it again.
    for said in coverage_notes(session.judged_by(as_asked=True), studies):
        note(said)
    asked = questions_of(studies, shard, settings.references)
    if options.dry_run:
        forecast(session, asked, in_batches=batches is not None)
        return
    with watching() as listener:
        result = judge_studies(
            session,
            studies,
            out=options.out,
            by=options.by,
            settings=settings,
            shard=shard,
            references=options.references,
            listener=listener,
            asking=_in_batches(session, asked, batches, listener),
        )
    rubric_of_run = RunFolder.open(result.path).rubric
    print_summary(result.summary, rubric_of_run, options.form, options.table)
    end_uncovered([result.summary], options.min_coverage, (n_read, n_left_out))


def read_studies(
    options: ReportOptions, preds: str, refs: str | None
) -> tuple[StudySet, ReportSettings]:
    """Read the studies of two files as the options say; returns the settings too.

    Raises `JudgeError` as `read_pair`.
    """
    from judge.run_settings import ReportSettings
    from judge.running.settings import read_reports

    settings = ReportSettings(preds=preds, refs=refs, **options.report_values())
    return read_reports(settings, preds, refs, reserved=()), settings


def read_context(
    rubric: Rubric, settings: RunSettings, preds: str, refs: str | None
) -> StudySet:
    """Read the studies, and what the judge is shown beside their reports."""
    from judge.running.settings import read_reports, with_context
    from judge.stats.summary import reserved_names

    studies = read_reports(settings, preds, refs, reserved_names(rubric))
    return with_context(studies, settings, rubric)


def limited(studies: StudySet, n: int | None) -> StudySet:
    """Return `n` studies drawn at random by their ids, in their order, and say so."""
    from judge.running.settings import limited as limited_to

    part = limited_to(studies, n)
    if len(part) < len(studies):
        note(part.notes[-1])
    return part


def questions_of(
    studies: StudySet, shard: Shard | None, references: Rule | None
) -> StudySet:
    """Return the studies of a shard, or each study with each of its references."""
    if shard:
        part = studies.take(shard.rows(studies))
        note(
            f"shard {shard}: {len(part):,} of {counted(len(studies), 'study', 'studies')}"
        )
        return part
    if not references:
        return studies
    from judge.running.panel import SeveralReferences

    questions = SeveralReferences(studies, references).asked
    note(f"{len(studies):,} studies, {len(questions):,} questions about the candidates")
    return questions


@contextmanager
def _in_batches(
    session: JudgeSession,
    studies: StudySet,
    policy: BatchPolicy | None,
    listener: ProgressListener,
) -> Iterator[None]:
    """Have the questions answered in batches before the block; say how to come back to them."""
    if policy is None:
        if session.cache is not None:
            from judge.batching.ledger import pending

            names = pending(session.folder, session.kind)
            if names:
                listener.say(
                    f"Such questions are being answered in batches ({names}): asked here again, "
                    "they are paid for twice. With --batch the run waits for them."
                )
        yield
        return
    from judge.batching.batch_run import ask_in_batches

    # A shell that starts a command in the background has it ignore SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        ask_in_batches(session, studies, policy, listener)
    except (KeyboardInterrupt, SystemExit):
        listener.say(
            "The batches that were sent keep running. The same command collects their answers; "
            f"judge batch list shows them, judge batch cancel ends one:\n  {policy.command}"
        )
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    yield


def judge_called(name: str) -> Judge:
    """Return the judge of a name, which is asked nothing; raises `JudgeError` for no judge."""
    from judge import backends, rubrics

    settings = backends.JudgeSettings(environ=os.environ, say=note, sends=False)
    return backends.load(name, rubrics.load("green"), settings)


@click.command(
    "check",
    cls=GroupedCommand,
    examples=["judge check preds.json refs.json --judge gpt-6-luna"],
    page="docs/judging.md",
)
@click.argument("preds")
@click.argument("refs", metavar="[REFS]", required=False)
@column_option(*ROLES, group="Reports")
@report_options
@study_options
@judge_option(
    "Also say of this judge whether its key is there, and whether it ends soon.",
    group="Output",
)
@format_option(group="Output")
def check(
    *,
    preds: str,
    refs: str | None,
    judge: str | None,
    form: str,
    **values: Any,  # noqa: ANN401
) -> None:
    """Show what would be judged in PREDS and REFS, without asking a judge.

    Names the fields that ids and reports are read from, the study classes, further fields and
    studies that are left out, and shows the first three studies. Then `judge RUBRIC --dry-run`
    estimates the cost, and --limit 50 judges fifty studies.
    """
    from judge.running.forecast import described, preview
    from judge.running.settings import shard_of_settings

    options = StudyOptions(**values)
    studies, settings = read_studies(options, preds, refs)
    shard = shard_of_settings(settings)
    studies = limited(studies, options.limit)
    description = described(questions_of(studies, shard, settings.references))
    lines = preview(description)
    if judge is not None:
        description["judge"] = described_judge(judge_called(judge))
        lines.append(("judge", description["judge"]))
    for study in description["first"]:
        lines.append((f"study {study['study_id']}", ""))
        for side in ("reference", "candidate"):
            text = shorten(study[side], 400, placeholder=" ...")
            lines.append((side, text or "(empty)"))
    print_document(Document(facts=lines), form, description)

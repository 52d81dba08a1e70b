"""`judge RUBRIC PREDS [REFS]`, one command for each rubric, and `judge check`."""

from __future__ import annotations

import signal
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.options import argument, command, format_option, options
from judge.cli.output import note, print_document, print_summary
from judge.cli.progress import (
    Owner,
    end_uncovered,
    forecast,
    judge_studies,
    shared_servers,
    watching,
)
from judge.cli.run_options import ROLES, ReportOptions, RunOptions, StudyOptions, column_option
from judge.rubrics import Rubric
from judge.signature import safe_name
from judge.tables.document import Document
from judge.text import counted

if TYPE_CHECKING:
    from judge.batching.batch_run import BatchPolicy
    from judge.running.combining import Shard
    from judge.running.engine import ProgressListener
    from judge.running.session import JudgeSession, RunResult
    from judge.studies import StudySet

_SEED = 20260101
_LONGEST = 400
_HELP = """

    PREDS has the candidate reports and REFS the references: JSON, JSON Lines, CSV, TSV or
    Parquet; gzipped too; - is standard input. PREDS alone may have both.
    With several files of candidates before REFS, each is a model, and a leaderboard follows.

    \b
    judge {name} preds.json refs.json
    judge {name} maira2.json medversa.json refs.json --judge gpt-4o

    Exit codes: 0 success; 2 an error to fix; 3 too few studies scored, --max-cost reached, or most
    answers unreadable; 130 interrupted; 143 terminated; 141 output closed early, as by head.
    """


@dataclass(frozen=True, slots=True)
class _Task:
    """The studies of one model, and where their run goes."""

    studies: StudySet
    n_read: int
    n_left_out: int
    out: Path | None
    arguments: Mapping[str, Any]


def command_for(rubric: Rubric) -> click.Command:
    """Return the command that judges reports by `rubric`."""

    def run(options: RunOptions) -> None:
        from judge.backends import LEXICON

        shard, batches = options.chosen_shard(), options.batch_policy()
        owner = click.get_current_context().find_object(Owner)
        name = options.judge or LEXICON
        session = options.session(rubric.name, name, owner.budget if owner else None)
        if batches is not None:
            from judge.batching.batch_run import require_batch_judge

            require_batch_judge(session)
        tasks = _read_tasks(rubric, options)
        if not options.judge:
            note(f"No --judge given: using {LEXICON}, {session.judge.note}.")
        questions = [_questions(task.studies, shard, options) for task in tasks.values()]
        if options.dry_run or len(tasks) > 1:
            every = [study for studies in questions for study in studies]
            say = click.echo if options.dry_run else note
            forecast(session, every, in_batches=batches is not None, say=say)
        if options.dry_run:
            return
        # --max-cost is for all runs together.
        others = [options.session(rubric.name, name, session.budget) for _ in [*tasks][1:]]
        finished = {}
        with shared_servers([session, *others]):
            for next_session, asked, (label, task) in zip(
                [session, *others], questions, tasks.items(), strict=True
            ):
                if len(tasks) > 1:
                    note(f"judging {label}")
                with watching() as listener:
                    finished[label] = judge_studies(
                        *(next_session, task.studies),
                        out=task.out,
                        by=options.by,
                        arguments=task.arguments,
                        shard=shard,
                        references=options.references,
                        listener=listener,
                        asking=_in_batches(next_session, asked, batches, listener),
                    )
        _print(finished, options)
        left_out = [(task.n_read, task.n_left_out) for task in tasks.values()]
        summaries = [result.summary for result in finished.values()]
        end_uncovered(summaries, options.min_coverage, left_out)

    run.__doc__ = rubric.summary + _HELP.format(name=rubric.name)
    return command(rubric.name, short_help=rubric.summary)(run)


def _read_tasks(rubric: Rubric, options: RunOptions) -> dict[str, _Task]:
    """Return the studies of each model by its name, and say how they were read."""
    from judge.studies.join import ONLY_IN_PREDS

    preds = options.files[:-1] or options.files
    refs = options.files[-1] if len(options.files) > 1 else None
    is_several = len(preds) > 1
    if is_several and (options.model is not None or refs == "-"):
        raise click.UsageError("several models go without --model, and with a file for REFS")
    if is_several and options.form not in ("table", "json"):
        raise click.UsageError("several models go with --format table and json")
    tasks: dict[str, _Task] = {}
    folders = {""}
    for path in preds:
        studies = read_context(rubric, options, path, refs)
        label = studies.model or path
        folder = safe_name(label)
        if label in tasks or (is_several and options.out and folder in folders):
            raise click.UsageError(
                f"{path}: {label!r} has no folder of its own below --out; rename it"
            )
        folders.add(folder)
        fields = "; ".join(
            f"{side} from {studies.read_from[side]}" for side in ("candidate", "reference")
        )
        note(f"{label}: {fields}" if is_several else fields)
        # REFS may have some of the studies alone: the others were not to be judged.
        n_left_out = sum(n for why, n in studies.omitted.items() if why != ONLY_IN_PREDS)
        tasks[label] = _Task(
            limited(studies, options.limit),
            len(studies) + n_left_out,
            n_left_out,
            options.out / folder if options.out and is_several else options.out,
            {**options.arguments, "preds": path, "refs": refs, "judge_name": options.judge},
        )
    return tasks


def read_studies(
    options: ReportOptions,
    preds: str,
    refs: str | None,
    reserved: Collection[str] = (),
) -> StudySet:
    """Read the studies of two files as the options say; raises `JudgeError` as `read_pair`."""
    from judge.studies import read_pair

    return read_pair(
        preds,
        refs,
        fields=options.named_fields(),
        section=options.section,
        allow_missing=options.allow_missing,
        model=options.model,
        reserved=reserved,
    )


def read_context(rubric: Rubric, options: RunOptions, preds: str, refs: str | None) -> StudySet:
    """Read the studies, and what the judge is shown beside their reports."""
    from judge.stats.table import reserved_names
    from judge.studies.study_set import attach_context

    context = options.columns.get("context", ())
    if options.no_context and context:
        raise click.UsageError("--no-context and --column context exclude each other")
    by_default = None if rubric.takes_context else ()
    return attach_context(
        read_studies(options, preds, refs, reserved_names(rubric)),
        context=() if options.no_context else context or by_default,
        prior=options.columns.get("prior"),
        modality=options.modality,
    )


def limited(studies: StudySet, n: int | None) -> StudySet:
    """Return `n` studies drawn at random by their ids, in their order, and say so."""
    if n is None or n >= len(studies):
        return studies
    text = f"{n:,} of {counted(len(studies), 'study', 'studies')}, drawn at random (--limit)"
    note(text)
    return replace(studies.sample(n, _SEED), notes=(*studies.notes, text))


def _questions(studies: StudySet, shard: Shard | None, options: StudyOptions) -> StudySet:
    """Return the studies of a shard, or each study with each of its references."""
    if shard:
        part = studies.take(shard.rows(studies))
        note(f"shard {shard}: {len(part):,} of {counted(len(studies), 'study', 'studies')}")
        return part
    if not options.references:
        return studies
    from judge.running.aggregate import SeveralReferences

    questions = SeveralReferences(studies, options.references).asked
    note(f"{len(studies):,} studies, {len(questions):,} questions about the candidates")
    return questions


@contextmanager
def _in_batches(
    session: JudgeSession, studies: StudySet, policy: BatchPolicy | None, listener: ProgressListener
) -> Iterator[None]:
    """Have the questions answered in batches before the block; say how to come back to them."""
    if policy is None:
        if session.cache is not None:
            from judge.batching.ledger import pending

            if names := pending(session.cache.path, session.kind):
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


def _print(finished: Mapping[str, RunResult], options: RunOptions) -> None:
    from judge.running.folder import Run

    if len(options.files) > 2:
        from judge.cli.compare import print_leaderboard

        paths = {model: run.path for model, run in finished.items()}
        print_leaderboard(paths, options.by, options.form)
        return
    (result,) = finished.values()
    print_summary(result.summary, Run(result.path).rubric, options.form)


@options
class _Check(StudyOptions):
    GROUP = "Output"

    preds: str = argument()
    refs: str | None = argument("[REFS]")
    columns: Mapping[str, Any] = column_option(*ROLES)
    form: str = format_option("table", "json")


@command("check")
def check(options: _Check) -> None:
    """Show what would be judged in PREDS and REFS, without asking a judge.

    Names the fields that ids and reports are read from, the study classes, further fields and
    studies that are left out, and shows the first three studies. Then `judge RUBRIC --dry-run`
    estimates the cost, and --limit 50 judges fifty studies.
    """
    from judge.running.cost import described, preview

    studies = limited(read_studies(options, options.preds, options.refs), options.limit)
    description = described(_questions(studies, options.chosen_shard(), options))
    lines = preview(description)
    for study in description["first"]:
        lines.append((f"study {study['study_id']}", ""))
        lines.append(("reference", _cut(study["reference"])))
        lines.append(("candidate", _cut(study["candidate"]) or "(empty)"))
    print_document(Document(facts=lines), options.form, description)


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 3] + "..."

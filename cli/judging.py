"""`judge RUBRIC PREDS [REFS]`: one command for each rubric there is."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from judge.cli.options import FiniteRange, GroupedCommand, heading, with_options
from judge.cli.output import by_option, emit, format_option, note, print_summary, print_tables
from judge.cli.progress import (
    account,
    dry_run,
    end_stopped,
    end_uncovered,
    say_price,
    watching,
)
from judge.cli.studies import (
    TOLD_OPTIONS,
    check_sections,
    file_options,
    limit_option,
    limited,
    part_of,
    reading,
    shard_option,
    told_studies,
)
from judge.rubrics import Rubric
from judge.signature import safe_name

if TYPE_CHECKING:
    from judge.backends.pool import Servers
    from judge.batching.batch_run import BatchPolicy
    from judge.running.cost import Budget
    from judge.running.engine import ProgressListener
    from judge.running.run import Finished
    from judge.running.session import JudgeSession
    from judge.running.shards import Shard
    from judge.studies import StudySet

# OpenAI takes no more in a batch.
_MOST_REQUESTS = 50_000
BATCH_OPTIONS = (
    heading("Batch"),
    click.option(
        "--batch",
        "in_batches",
        is_flag=True,
        help="Ask in batches, at the provider's price for those: what the cache lacks is sent as a "
        "file and answered within a day. Ctrl-C leaves a batch running; the same command comes "
        "back to it (see also judge batch).",
    ),
    click.option(
        "--batch-size",
        type=click.IntRange(min=1, max=_MOST_REQUESTS),
        default=_MOST_REQUESTS,
        show_default=True,
        metavar="N",
        help="The most questions in a batch.",
    ),
    click.option(
        "--batch-poll",
        type=FiniteRange(min=0, min_open=True),
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="How often to look at a batch.",
    ),
)
"""How questions are asked in batches."""


def batch_policy(options: dict[str, Any]) -> BatchPolicy | None:
    """Return how the options ask in batches, None where they do not."""
    is_asked = options.pop("in_batches")
    most, poll = options.pop("batch_size"), options.pop("batch_poll")
    if not is_asked:
        return None
    from judge.batching.batch_run import BatchPolicy

    return BatchPolicy(most, poll, shlex.join(["judge", *sys.argv[1:]]))


@contextmanager
def asked_in_batches(
    session: JudgeSession, studies: StudySet, policy: BatchPolicy, listener: ProgressListener
) -> Iterator[None]:
    """Have the questions answered in batches before the block; say how to come back if it ends."""
    from judge.batching.batch_run import ask_in_batches

    # As in every run, also where a shell that started it in the background had it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        ask_in_batches(session, studies, policy, listener)
    except (KeyboardInterrupt, SystemExit):
        listener.say(
            "Batches that were sent go on. Come back to them with the same command; judge "
            f"batch list shows them, judge batch cancel ends one:\n  {policy.command}"
        )
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    yield


def warn_of_batches(session: JudgeSession) -> None:
    """Say where questions of the kind that this run asks stand in batches: they cost twice."""
    if session.cache is None:
        return
    from judge.batching.ledger import CREATING, RUNNING, Ledger

    with Ledger(session.cache.path, create=False) as ledger:
        batches = [
            batch
            for state in (CREATING, RUNNING)
            for batch in ledger.batches(kind=session.kind, state=state)
        ]
    if batches:
        names = ", ".join(batch.id for batch in batches)
        note(
            f"Questions of this kind are under way in batches ({names}). "
            "What they hold is asked again here, and paid for twice; with --batch the run waits "
            "for them."
        )


def check_batches(sessions: Iterable[JudgeSession], policy: BatchPolicy | None) -> None:
    """Raise `JudgeError` where a judge is to be asked in batches that cannot be."""
    if policy is not None:
        from judge.batching.batch_run import require_batch_judge

        for session in sessions:
            require_batch_judge(session)


REFERENCE_OPTIONS = (
    heading("Several references"),
    click.option(
        "--references",
        type=click.Choice(("best", "mean")),
        help="REFS holds several references a study, as lists of texts or as records of one id: "
        "take each study's numbers from the one that gives the best score, or their mean.",
    ),
    click.option(
        "--reference-id-field",
        metavar="FIELD",
        help="The field that says whose reference a record is. Default: reference_id, else the "
        "references of a study are numbered.",
    ),
)


def asked_of(studies: StudySet, shard: Shard | None, options: Mapping[str, Any]) -> StudySet:
    """Return what is asked about: the studies, a shard, or each with each of its references.

    Raises `click.UsageError` for options that do not go together.
    """
    if not options["references"]:
        if options["reference_id_field"]:
            raise click.UsageError("--reference-id-field goes with --references")
        return part_of(studies, shard) if shard else studies
    if shard:
        raise click.UsageError("--shard is for studies with one reference each")
    from judge.running.aggregate import SeveralReferences

    asked = SeveralReferences(studies).asked()
    note(f"{len(studies):,} studies, {len(asked):,} questions about the candidates")
    return asked


def run_asked(
    session: JudgeSession,
    studies: StudySet,
    options: Mapping[str, Any],
    **how: Any,  # noqa: ANN401
) -> Finished:
    """Judge the studies as the options say, and write the run or the runs."""
    if not options["references"]:
        from judge.running.run import run

        return run(session, studies, **how)
    from judge.running.aggregate import run_references

    return run_references(session, studies, options["references"], **how)


def rubric_of(finished: Finished, rubric: Rubric) -> Rubric:
    """Return the rubric of a run: that of several references has more numbers."""
    if "|references:" not in finished.summary["signature"]:
        return rubric
    from judge.running.folder import Run

    return Run(finished.path).rubric


_ASKING = (
    *file_options(
        "are judged one after the other, each a run of its own (with --out DIR in DIR/SECTION), "
        "and printed side by side; --max-cost is for each.",
        several_models=True,
    ),
    *TOLD_OPTIONS,
    *REFERENCE_OPTIONS,
    heading("Judge"),
    click.option(
        "--judge",
        "judge_names",
        multiple=True,
        metavar="JUDGE",
        help=f"{WHO} With --dry-run repeat it to see several side by side.",
    ),
    click.option("--prompt", metavar="NAME|FILE", help=WORDING),
    *SERVER_OPTIONS,
    *sampling_options("--seed"),
)
_RUNNING = (
    *RUNNING_OPTIONS,
    limit_option,
    shard_option,
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        default=None,
        metavar="N",
        help="The processes that the built-in judge works in.  [default: one, and from 2,000 "
        "studies on one a core]  Other judges have --concurrency.",
    ),
    *BATCH_OPTIONS,
    heading("Output"),
    by_option,
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="The run folder. Default: a folder below judge-runs, named after the signature.",
    ),
    format_option,
)
_MOST_OF_ONE = 2
"""The files of one model: its predictions, and the references."""
_NOT_OF_THE_RUN = ("form", "out", "cache")
"""Options that stand in no manifest."""
_HELP = """

    PREDS holds the candidate reports, REFS the references: JSON as in ReXrank, a list of
    objects or of texts, JSON Lines, CSV, TSV, Parquet or a text file (.txt) with a report a
    line, gzipped or not, or a folder of Hugging Face datasets; - is standard input. REFS may
    be left out when PREDS holds both. With three files or more the last is REFS, and each
    other is judged against it: a run for each model (with --out DIR in DIR/MODEL), --max-cost
    for all of them, and a leaderboard at the end.

    Exit codes: 0 all is well; 2 an error to fix, said in one line; 3 too few studies
    could be scored, --max-cost was reached, or most answers could not be read
    (--give-up-after); 130 interrupted, 143 after SIGTERM, 141 where the output is a
    pipe that was closed early, as `| head` does: the run is complete then.
    """


def command_for(rubric: Rubric) -> click.Command:
    """Return the command that judges reports by `rubric`."""

    def command(files: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401
        if len(files) > _MOST_OF_ONE:
            _judge_models(rubric, files, options)
            return
        options["preds"], options["refs"] = (*files, None)[:_MOST_OF_ONE]
        sections = [one.strip() for one in (options["section"] or "").split(",")]
        if len(sections) > 1:
            finished = _judge_sections(rubric, sections, options)
        else:
            finished = [_judge(rubric, options)]
        if runs := [run for run in finished if run is not None]:
            for run in runs:
                for line in account(run.progress):
                    note(line)
                note(f"run folder  {run.path}")  # first: who reads the table may close it early
            summaries = [run.summary for run in runs]
            own, are_sections = rubric_of(runs[0], rubric), len(sections) > 1
            _print(summaries, own, options["form"], are_sections=are_sections)
            end_uncovered(summaries, options["min_coverage"])

    callback = with_options(*_ASKING, *_RUNNING)(command)
    return click.command(
        *(rubric.name, GroupedCommand), help=rubric.summary + _HELP, short_help=rubric.summary
    )(callback)


def _judge_models(rubric: Rubric, files: Sequence[str], options: dict[str, Any]) -> None:
    """Judge each model's file against the last one, and print the leaderboard."""
    from judge.cli.compare import print_leaderboard
    from judge.running.cost import Budget
    from judge.running.shards import Shard

    *preds, refs = files
    if options["model"] is not None or "," in (options["section"] or ""):
        raise click.UsageError("several models go with one --section and without --model")
    if options["form"] not in ("table", "json"):
        raise click.UsageError("several models go with --format table and json")
    if len(options["judge_names"]) > 1:
        raise click.UsageError("several models go with one --judge")
    if refs == "-":
        raise click.UsageError(
            "standard input is read once: name a file for REFS of several models"
        )
    sets = {}
    for path in preds:
        studies = told_studies({**options, "preds": path, "refs": refs}, rubric)
        if (model := studies.model or path) in sets:
            raise click.UsageError(f"two files are of the model {model!r}; rename {path}")
        sets[model] = studies if not options["limit"] else limited(studies, options["limit"])
    folders = _folders(sets, options["out"])
    budget = None if options["max_cost"] is None else Budget(options["max_cost"])
    named = [{**options, "max_cost": None, "refs": refs, "preds": path} for path in preds]
    sessions = [_sessions(rubric, each, budget)[0] for each in named]
    shard = None if options["shard"] is None else Shard.of(options["shard"])
    parts = [studies.take(shard.rows(studies)) if shard else studies for studies in sets.values()]
    every = [study for part in parts for study in part]
    note(f"{len(sets)} models: {', '.join(sets)}")
    in_batches = batch_policy(dict(options)) is not None
    if options["dry_run"]:
        dry_run(sessions[:1], every, in_batches=in_batches)
        return
    say_price(_sessions(rubric, named[0])[0], every, in_batches=in_batches)
    finished: dict[str, Finished] = {}
    with shared_servers(sessions):
        for session, each, (model, studies) in zip(sessions, named, sets.items(), strict=True):
            each["out"] = folders[model]
            note(f"model {model}")
            run = _judge(rubric, each, studies, session)
            assert run is not None  # a run that is stopped ends the program
            finished[model] = run
            note(f"run folder  {run.path}")
    print_leaderboard(
        {model: run.path for model, run in finished.items()}, options["by"], options["form"]
    )
    end_uncovered([run.summary for run in finished.values()], options["min_coverage"])


def _folders(models: Iterable[str], out: Path | None) -> dict[str, Path | None]:
    """Return each model's run folder below `out`; raises where two would be one."""
    folders = {model: out and out / safe_name(model) for model in models}
    for model, folder in folders.items():
        others = [other for other in folders if other != model and folders[other] == folder]
        if folder is not None and (folder == out or others):
            raise click.UsageError(
                f"--out has no folder of its own for the model {model!r}, whose name as a folder "
                f"is {safe_name(model)!r}; rename its file, or leave --out away"
            )
    return folders


@contextmanager
def shared_servers(sessions: Sequence[JudgeSession]) -> Iterator[None]:
    """Let judges that start the same server share one, which is gone at the end of the block."""
    started: dict[tuple[object, ...], Servers] = {}
    for session in sessions:
        servers = session.judge.servers
        if servers is None or servers.starts is None:
            continue
        first = started.setdefault(servers.starts, servers)
        if first is not servers:
            session.judge.servers = first
            first.stays = True
    try:
        yield
    finally:
        for servers in started.values():
            servers.stop()


def _judge_sections(
    rubric: Rubric, sections: Sequence[str], options: Mapping[str, Any]
) -> list[Finished | None]:
    """Judge each section's studies; raises for what is wrong with any, before one is judged."""
    from judge.studies.study_set import check_sections_differ

    check_sections(sections, options)
    if options["form"] not in ("table", "json"):
        raise click.UsageError("several sections go with --format table and json")
    tracks = {one: told_studies({**options, "section": one}, rubric) for one in sections}
    check_sections_differ(tracks)
    finished = []
    for section, studies in tracks.items():
        note(f"section {section}")
        out = options["out"] and options["out"] / section
        finished.append(_judge(rubric, {**options, "section": section, "out": out}, studies))
    return finished


def _print(
    summaries: Sequence[Mapping[str, Any]], rubric: Rubric, form: str, *, are_sections: bool
) -> None:
    if are_sections and form == "json":
        from judge.report.formats import as_json

        emit(as_json({summary["section"]: summary for summary in summaries}))
        return
    for summary in summaries:
        print_summary(summary, rubric, form)
    if are_sections:
        from judge.report.tables import tracks_table

        print_tables([tracks_table(summaries, rubric)])


def _sessions(
    rubric: Rubric, options: dict[str, Any], budget: Budget | None = None
) -> list[JudgeSession]:
    """Return a session for each judge that the options name; asks nobody."""
    from judge.backends import LEXICON
    from judge.running.session import JudgeSession

    names = options["judge_names"]
    if len(names) > 1 and not options["dry_run"]:
        raise click.UsageError("name one --judge; several go with --dry-run, side by side")
    settings, policy, cache = settings_of(options), policy_of(options), options["cache"]
    return [
        JudgeSession.load(rubric.name, name, settings, policy=policy, cache=cache, budget=budget)
        for name in names or (LEXICON,)
    ]


def _judge(
    rubric: Rubric,
    options: dict[str, Any],
    studies: StudySet | None = None,
    session: JudgeSession | None = None,
) -> Finished | None:
    """Return the run that the options ask for, None where they ask for none.

    `studies` and `session` are those of the options, where they are there already.
    """
    from judge.backends import LEXICON
    from judge.running.engine import RunStoppedError, UnreadableError

    sessions = [session] if session else _sessions(rubric, options)
    names = options.pop("judge_names")
    batches, shard = batch_policy(options), None
    if options["shard"] is not None:
        from judge.running.shards import Shard

        shard = Shard.of(options["shard"])
    check_batches(sessions, batches)
    studies = told_studies(options, rubric) if studies is None else studies
    note(reading(studies))
    if options["limit"]:
        studies = limited(studies, options["limit"])
    session = sessions[0]
    if not names:
        note(f"No --judge given: using {LEXICON}, {session.judge.note}.")
    options["judge_name"] = names[0] if names else None  # as the manifest has it
    options["shard"] = shard and str(shard)
    part = asked_of(studies, shard, options)
    if options["dry_run"]:
        dry_run(sessions, part, in_batches=batches is not None)
        return None
    try:
        with session:
            if batches is None:
                warn_of_batches(session)
            with watching() as listener:
                return run_asked(
                    session,
                    studies,
                    options,
                    out=options["out"],
                    by=options["by"],
                    arguments={k: v for k, v in options.items() if k not in _NOT_OF_THE_RUN},
                    shard=shard,
                    listener=listener,
                    asking=asked_in_batches(session, part, batches, listener) if batches else None,
                )
    except (UnreadableError, RunStoppedError) as stopped:
        end_stopped(stopped)
    return None

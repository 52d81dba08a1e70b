"""`judge RUBRIC PREDS [REFS]`: one command for each rubric there is; how a run goes and ends."""

from __future__ import annotations

import shlex
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from judge.cli.options import (
    RUNNING_OPTIONS,
    SERVER_OPTIONS,
    WHO,
    WORDING,
    FiniteRange,
    GroupedCommand,
    heading,
    policy_of,
    sampling_options,
    settings_of,
    with_options,
)
from judge.cli.output import by_option, emit, format_option, note, print_summary, print_tables
from judge.cli.studies import (
    TOLD_OPTIONS,
    check_sections_differ,
    file_options,
    limit_option,
    limited,
    part_of,
    reading,
    says_left_out,
    shard_option,
    told_studies,
)
from judge.rubrics import Rubric
from judge.signature import safe_name
from judge.text import counted, harmless

if TYPE_CHECKING:
    from judge.batching.batch_run import BatchPolicy
    from judge.running.cost import SpendingLimit
    from judge.running.engine import (
        Progress,
        ProgressListener,
        RunStoppedError,
        UnreadableError,
    )
    from judge.running.session import JudgeSession, RunResult
    from judge.running.shards import Shard
    from judge.studies import StudySet
    from judge.types import Study


@dataclass(frozen=True, slots=True)
class Owner:
    """Who started the command, where that is a service: who pays, and who is told how it goes."""

    budget: SpendingLimit | None
    tick: Callable[[Progress], None]


_SECONDS_BETWEEN_LINES = 30.0
_LONGEST_TROUBLE = 60
_LOW_COVERAGE = 3
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


def _batch_policy(options: dict[str, Any]) -> BatchPolicy | None:
    """Return how the options ask in batches, None where they do not."""
    is_asked = options.pop("in_batches")
    most, poll = options.pop("batch_size"), options.pop("batch_poll")
    if not is_asked:
        return None
    from judge.batching.batch_run import BatchPolicy

    return BatchPolicy(most, poll, shlex.join(["judge", *sys.argv[1:]]))


@contextmanager
def _in_batches(
    session: JudgeSession,
    studies: StudySet,
    policy: BatchPolicy | None,
    listener: ProgressListener,
) -> Iterator[None]:
    """Have the questions answered in batches before the block; say how to come back if it ends."""
    if policy is None:
        _warn_of_batches(session, listener)
        yield
        return
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


def _warn_of_batches(session: JudgeSession, listener: ProgressListener) -> None:
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
        listener.say(
            f"Questions of this kind are under way in batches ({names}). "
            "What they hold is asked again here, and paid for twice; with --batch the run waits "
            "for them."
        )


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
    """Return what is asked about: the studies, a shard, or each with each of its references."""
    if not options["references"]:
        if options["reference_id_field"]:
            raise click.UsageError("--reference-id-field goes with --references")
        return part_of(studies, shard) if shard else studies
    if shard:
        raise click.UsageError("--shard is for studies with one reference each")
    from judge.running.aggregate import SeveralReferences

    asked = SeveralReferences(studies, options["references"]).asked
    note(f"{len(studies):,} studies, {len(asked):,} questions about the candidates")
    return asked


_ASKING = (
    *file_options(
        "are judged one after the other, each a run of its own (with --out DIR in DIR/SECTION), "
        "and printed side by side; --max-cost is for all of them.",
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
        help=f"{WHO} With --dry-run repeat it to see several.",
    ),
    click.option("--prompt", metavar="NAME|FILE", help=WORDING),
    *SERVER_OPTIONS,
    *sampling_options("--seed"),
)
_RUNNING = (
    *RUNNING_OPTIONS,
    limit_option,
    shard_option,
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
_NOT_OF_THE_RUN = ("form", "out", "cache")
"""Options that stand in no manifest."""
_HELP = """

    PREDS holds the candidate reports, REFS the references: JSON as in ReXrank, a list of
    objects or of texts, JSON Lines, CSV, TSV, Parquet or a text file (.txt) with a report a
    line, gzipped or not; - is standard input. REFS may
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
        from judge.running.engine import RunStoppedError, UnreadableError

        try:
            finished = _judge(rubric, files, options)
        except (UnreadableError, RunStoppedError) as stopped:
            end_stopped(stopped)
        if finished:
            _print(finished, options, are_models=len(files) > 2)
            end_uncovered([run.summary for run in finished.values()], options["min_coverage"])

    callback = with_options(*_ASKING, *_RUNNING)(command)
    return click.command(
        *(rubric.name, GroupedCommand), help=rubric.summary + _HELP, short_help=rubric.summary
    )(callback)


def _judge(rubric: Rubric, files: Sequence[str], options: dict[str, Any]) -> dict[str, RunResult]:
    from judge.backends import LEXICON
    from judge.running.session import JudgeSession
    from judge.running.session import run as run_session

    batches, names = _batch_policy(options), options.pop("judge_names")
    settings, policy = settings_of(options), policy_of(options)
    shard, owner = None, click.get_current_context().find_object(Owner)
    if options["shard"] is not None:
        from judge.running.shards import Shard

        shard = Shard.of(options["shard"])

    def session(name: str, budget: SpendingLimit | None = None) -> JudgeSession:
        return JudgeSession.load(
            rubric.name, name, settings, policy=policy, cache=options["cache"], budget=budget
        )

    name, *others = names or (LEXICON,)
    if others and not options["dry_run"]:
        raise click.UsageError("name one --judge; several go with --dry-run")
    judges = [session(each, owner.budget if owner else None) for each in (name, *others)]
    if batches is not None:
        from judge.batching.batch_run import require_batch_judge

        for each in judges:
            require_batch_judge(each)
    sets = _read(rubric, files, options)
    if not names:
        note(f"No --judge given: using {LEXICON}, {judges[0].judge.note}.")
    asked = {label: asked_of(studies, shard, options) for label, (_, studies) in sets.items()}
    every = [study for studies in asked.values() for study in studies]
    if options["dry_run"]:
        foretell(judges, every, in_batches=batches is not None)
        return {}
    if len(sets) > 1:
        foretell(judges, every, in_batches=batches is not None, say=note)
    # What a judge says of its questions is of one run; what the first may cost is for all.
    sessions = [judges[0], *(session(name, judges[0].budget) for _ in [*sets][1:])]
    finished = {}
    with shared_servers(sessions):
        for each, (label, (arguments, studies)) in zip(sessions, sets.items(), strict=True):
            if len(sets) > 1:
                note(f"judging {label}")
            arguments |= {"judge_name": name if names else None}
            with each, watching() as listener:
                run = run_session(
                    *(each, studies),
                    out=arguments["out"],
                    by=options["by"],
                    arguments={k: v for k, v in arguments.items() if k not in _NOT_OF_THE_RUN},
                    shard=shard,
                    references=options["references"],
                    listener=listener,
                    asking=_in_batches(each, asked[label], batches, listener),
                )
            for text in account(run.progress):
                note(text)
            note(f"run folder  {run.path}")  # first: who reads the table may close it early
            finished[label] = run
    return finished


def _read(
    rubric: Rubric, files: Sequence[str], options: Mapping[str, Any]
) -> dict[str, tuple[dict[str, Any], StudySet]]:
    """Return the studies of each model or section, and what the user asked for, by its name."""
    preds, refs = (files[:-1], files[-1]) if len(files) > 1 else (files, None)
    sections = list(dict.fromkeys(map(str.strip, (options["section"] or "").split(","))))
    if len(preds) > 1:
        if options["model"] is not None or len(sections) > 1:
            raise click.UsageError("several models go with one --section and without --model")
        if refs == "-":
            raise click.UsageError("standard input is read once: name a file for REFS")
    is_several = len(preds) > 1 or len(sections) > 1
    if is_several and options["form"] not in ("table", "json"):
        raise click.UsageError("several models or sections go with --format table and json")
    sets, folders = {}, {""}
    for path in preds:
        for section in sections:
            own = {**options, "preds": path, "refs": refs, "section": section or None}
            studies = told_studies(own, rubric)
            label = section if len(sections) > 1 else studies.model or path
            folder = safe_name(label)
            if label in sets or (is_several and options["out"] and folder in folders):
                raise click.UsageError(
                    f"{path}: {label!r} gives no folder of its own below --out; rename it"
                )
            folders.add(folder)
            if is_several and options["out"]:
                own["out"] = options["out"] / folder
            note(f"{label}: {reading(studies)}" if is_several else reading(studies))
            if options["limit"]:
                studies = limited(studies, options["limit"])
            sets[label] = own, studies
    if len(sections) > 1:
        check_sections_differ(studies for _, studies in sets.values())
    return sets


def _print(
    finished: Mapping[str, RunResult], options: Mapping[str, Any], *, are_models: bool
) -> None:
    from judge.running.folder import Run

    form = options["form"]
    if are_models:
        from judge.cli.compare import print_leaderboard

        print_leaderboard({name: run.path for name, run in finished.items()}, options["by"], form)
        return
    summaries = [run.summary for run in finished.values()]
    if len(finished) > 1 and form == "json":
        from judge.tables.data import as_json

        emit(as_json({summary["section"]: summary for summary in summaries}))
        return
    rubric = Run(next(iter(finished.values())).path).rubric
    for summary in summaries:
        print_summary(summary, rubric, form)
    if len(finished) > 1:
        from judge.tables.run import tracks_table

        print_tables(tracks_table(summaries, rubric))


@contextmanager
def shared_servers(sessions: Sequence[JudgeSession]) -> Iterator[None]:
    """Let sessions of one judge share the servers that it starts, which end with the block."""
    servers = sessions[0].judge.servers
    starts = servers is not None and servers.starts is not None
    if servers is not None and starts:
        servers.stays = len(sessions) > 1
        for session in sessions:
            session.judge.servers = servers
    try:
        yield
    finally:
        if servers is not None and starts:
            servers.stop()


@contextmanager
def watching() -> Iterator[ProgressListener]:
    """Show a run's progress: a line that stays on a terminal, elsewhere one every half a minute."""
    from judge.running.engine import ProgressListener

    if owner := click.get_current_context().find_object(Owner):
        yield ProgressListener(owner.tick, note)
        return
    is_terminal, began = sys.stderr.isatty(), time.monotonic()
    said = began

    def show(text: str, end: str = "") -> None:
        click.echo(f"\r\x1b[2K{harmless(text)}{end}", err=True, nl=False)

    def tick(progress: Progress) -> None:
        nonlocal said
        now = time.monotonic()
        if is_terminal:
            show(line(progress, now - began)[: shutil.get_terminal_size().columns - 1])
        elif now - said >= _SECONDS_BETWEEN_LINES:
            said = now
            note(line(progress, now - began))

    try:
        yield ProgressListener(tick, (lambda text: show(text, "\n")) if is_terminal else note)
    finally:
        if is_terminal:
            show("")


def line(progress: Progress, seconds: float) -> str:
    """Return how far a run has come after so many seconds, in a line."""
    rate = progress.done / seconds if seconds else 0.0
    parts = [f"{progress.done:,}/{progress.total:,}"]
    if progress.from_cache:
        parts.append(f"{progress.from_cache:,} from cache")
    parts += [f"{progress.unparsed:,} unparsed", f"{progress.failed:,} failed", f"{rate:,.1f}/s"]
    if progress.asked:
        tokens = progress.prompt_tokens + progress.completion_tokens
        parts += [f"{tokens:,} tokens", f"cost {cost(progress)}"]
    if progress.trouble:
        parts.append(f"waiting: {harmless(progress.trouble[:_LONGEST_TROUBLE])}")
    if rate and progress.done < progress.total:
        left = timedelta(seconds=round((progress.total - progress.done) / rate))
        parts.append(f"{left} left")
    return ", ".join(parts)


def account(progress: Progress) -> list[str]:
    """Return what a run took, in a few lines."""
    if not (progress.asked or progress.from_cache or progress.retries):
        return []
    sent, cached = progress.prompt_tokens, progress.cached_tokens
    prompt = f"{sent:,} in ({cached:,} of them cached by the provider)"
    lines = [
        f"asked {progress.asked:,}, from cache {progress.from_cache:,}",
        f"tokens {prompt}, {progress.completion_tokens:,} out; cost {cost(progress)}",
    ]
    if progress.damaged:
        lines.append(
            f"{progress.damaged:,} cached answers were damaged and asked for again "
            "(judge cache info --check looks at the others)"
        )
    if progress.retries:
        tried = ", ".join(f"{reason} {n:,}" for reason, n in sorted(progress.retries.items()))
        lines.append(f"sent again after: {tried}")
    return lines


def cost(progress: Progress) -> str:
    """Return the cost of a run so far; a price that is not known is not guessed."""
    return "unknown" if progress.dollars is None else f"${progress.dollars:,.2f}"


def end_uncovered(summaries: Sequence[Mapping[str, Any]], min_coverage: float) -> None:
    """Exit where too few studies of a run could be scored, and say how many and why."""
    is_low = says_left_out(min_coverage)
    for summary in summaries:
        n, scored = summary["n_studies"], summary["n_scored"]
        if n and scored / n < min_coverage:
            is_low = True
            reasons = ", ".join(f"{why} {k}" for why, k in summary["reasons"].items())
            note(
                f"Only {scored:,} of {n:,} studies could be scored, less than --min-coverage "
                f"{min_coverage:g} ({reasons})."
            )
    if is_low:
        sys.exit(_LOW_COVERAGE)


def end_stopped(error: UnreadableError | RunStoppedError) -> NoReturn:
    """Say how far the run came, what the answers looked like and how to go on, and exit."""
    from judge.running.engine import INTERRUPTED, TERMINATED, RunStoppedError

    progress, command = error.progress, ["judge", *sys.argv[1:]]
    far = f"after {progress.done:,} of {progress.total:,} studies."
    is_given_up = not isinstance(error, RunStoppedError)
    note(f"Given up {far} {error}" if is_given_up else f"Stopped ({error}) {far}")
    for text in account(progress):
        note(text)
    if is_given_up:
        command += ["--give-up-after", "0"]
    elif progress.asked or progress.from_cache:
        note("Every answer is in the cache. Go on with the same command:")
    else:
        note("No run was written. Start again with:")
    note("  " + shlex.join(command))
    sys.exit({INTERRUPTED: 130, TERMINATED: 143}.get(str(error), _LOW_COVERAGE))


def foretell(
    sessions: Sequence[JudgeSession],
    studies: StudySet | Sequence[Study],
    *,
    in_batches: bool = False,
    say: Callable[[str], None] = click.echo,
) -> None:
    """Say what each judge would be asked about `studies` and what that may cost; asks nobody."""
    from judge.running.cost import forecast, without_requests

    for session in sessions:
        with session:
            coming = forecast(session, studies, in_batches=in_batches)
            if coming is None:
                among = counted(len(studies), "study", "studies")
                note(f"{among}; {without_requests(session.judge)}.")
                continue
            if n := session.cache and session.cache.n_damaged:
                note(f"{n:,} cached answers are damaged and would be asked for again.")
            facts = {"judge": session.judge.name, "studies": f"{len(studies):,}"}
            at_a_time = None if in_batches else session.concurrency
            facts |= coming.facts(at_a_time, unseen="unknown until some are there: --limit 50")
        for name, value in facts.items():
            say(f"{name:<16}{value}")

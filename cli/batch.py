"""`judge batch`: what was asked in batches, and batches that somebody else answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge import rubrics
from judge.cli.asking import SERVER_OPTIONS, WORDING, settings_of
from judge.cli.batches import size_option
from judge.cli.files import NamedPath
from judge.cli.groups import GroupedCommand, heading, with_options
from judge.cli.output import cache_option, format_of, note, print_facts, print_tables
from judge.cli.sampling import sampling_options
from judge.cli.studies import TOLD_OPTIONS, file_options, reading, told_studies
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.batching.ledger import Batch, Ledger
    from judge.batching.openai_form import Provider

_TABLE = ("batch", "rubric", "judge", "made", "state", "asked", "answered", "cost")
_FORM = format_of("table", "json", text="A table for people, or JSON.")


@click.group("batch", short_help="Look after the batches that runs are asked in.")
def command() -> None:
    """Look after the batches that `judge RUBRIC ... --batch` makes, and make files of your own.

    What is known of them lies beside the cache.
    """


@command.command("list", short_help="List the batches.")
@cache_option
@_FORM
def list_(cache: Path | None, form: str) -> None:
    """List the batches, the oldest first, as they were when judge last looked.

    Asks no server; `judge batch show` does.
    """
    with _ledger(cache) as ledger:
        found = ledger.batches() if ledger else []
    if form == "json":
        _print_json([asdict(batch) for batch in found])
        return
    if not found:
        click.echo("No batch was made yet: judge RUBRIC ... --batch makes them.")
        return
    from judge.report.tables import Table

    rows = tuple(
        (
            *(batch.id, batch.rubric, batch.judge, batch.created[:16].replace("T", " ")),
            *(_state(batch), f"{batch.n:,}", f"{batch.answered:,}", _cost(batch)),
        )
        for batch in found
    )
    print_tables([Table("Batches", _TABLE, rows, 5)])


@command.command("show", short_help="Show one batch, as it is at its provider.")
@click.argument("batch_id", metavar="ID")
@cache_option
@_FORM
def show(batch_id: str, cache: Path | None, form: str) -> None:
    """Show a batch, by its id here or at the provider, which is asked how far it is.

    The key comes from the environment, as for the run.
    """
    from judge.batching.ledger import RUNNING

    with _ledger(cache) as ledger:
        batch = _batch(ledger, batch_id)
    there: dict[str, object] = {}
    if batch.state == RUNNING and batch.remote_id:
        with _provider(batch) as provider:
            remote = provider.look(batch.remote_id)
        there = {
            "there": remote.state,
            "answered there": remote.n_answered,
            "failed there": remote.n_failed,
            "faults": list(remote.faults),
        }
    if form == "json":
        _print_json(asdict(batch) | {name.replace(" ", "_"): of for name, of in there.items()})
        return
    facts = {
        "batch": batch.id,
        "at": f"{batch.server} as {batch.remote_id}" if batch.server else "somebody else's",
        "state": _state(batch),
        "made": batch.created,
        "rubric": batch.rubric,
        "judge": batch.judge,
        "asked": f"{batch.n:,}",
        "answered": f"{batch.answered:,}",
        "failed": f"{batch.failed:,}",
        "again": f"{batch.again:,}",
        "tokens": f"{batch.prompt_tokens:,} in, {batch.completion_tokens:,} out",
        "cost": _cost(batch),
        **{name: _words(value) for name, value in there.items()},
        "command": batch.command or "-",
    }
    print_facts(list(facts.items()))


@command.command("cancel", short_help="End a batch with what it has answered.")
@click.argument("batch_id", metavar="ID")
@cache_option
def cancel(batch_id: str, cache: Path | None) -> None:
    """End a batch; what is answered by then is paid for, and read by the command that made it.

    One that has ended by itself is read at once. A batch that was written for somebody else, or
    that its provider does not know any more, is forgotten: its questions are asked here again.
    """
    from judge.batching.collecting import collect, said
    from judge.batching.ledger import ELSEWHERE, OVER, RUNNING
    from judge.batching.openai_form import GoneError
    from judge.cache import CompletionCache

    with _ledger(cache) as ledger:
        batch = _batch(ledger, batch_id)
        assert ledger is not None
        if batch.state == OVER:
            raise JudgeError(f"batch {batch.id} is over already ({batch.remote_state})")
        if batch.state == ELSEWHERE:
            with ledger.making(note):
                ledger.drop(batch.id)
            note(f"Batch {batch.id} is forgotten: its {batch.n:,} questions may be asked here.")
            return
        if batch.state != RUNNING or batch.remote_id is None:
            raise JudgeError(
                f"whether batch {batch.id} was made is not known yet: the command that made it "
                f"finds out:\n  {batch.command}"
            )
        try:
            with _provider(batch) as provider:
                remote = provider.look(batch.remote_id)
                if not remote.is_over:
                    remote = provider.cancel(batch.remote_id)
                else:
                    with CompletionCache(ledger.folder.parent) as kept, ledger.making(note):
                        if ledger.batch(batch.id).state == RUNNING:
                            collect(provider, ledger, kept, batch, remote)
                    note(said(ledger.batch(batch.id)))
                    return
        except GoneError:
            with ledger.making(note):
                ledger.drop(batch.id)
            note(
                f"{batch.server} does not have batch {batch.id}, or its answers, any more: it is "
                "forgotten, and what it asked is asked again."
            )
            return
    note(
        f"Batch {batch.id} is {remote.state} at {batch.server}. Its answers so far are read by:\n"
        f"  {batch.command}"
    )


@command.command("write", GroupedCommand, short_help="Write the questions to a file.")
@click.argument("file", type=NamedPath(dir_okay=False))
@with_options(
    *file_options(),
    *TOLD_OPTIONS,
    heading("Judge"),
    click.option("--rubric", required=True, metavar="NAME", help="What is asked."),
    click.option(
        "--judge",
        "judge_name",
        required=True,
        metavar="JUDGE",
        help="Who is to answer, as the run will name it: gpt-4o, or vllm:MODEL with --reply "
        "structured.",
    ),
    click.option("--prompt", metavar="NAME|FILE", help=WORDING),
    *SERVER_OPTIONS,
    *sampling_options("--seed"),
    heading("Output"),
    size_option("The most questions in a file; FILE-2, FILE-3, ... hold the others."),
    cache_option,
)
def write(file: Path, **options: Any) -> None:  # noqa: ANN401
    """Write to FILE what the cache lacks to judge PREDS by REFS, in OpenAI's form of batches.

    For whoever runs it elsewhere: `vllm run-batch`, an Azure deployment, a colleague. Each
    line names its question by its key in the cache. `judge batch read` takes the answers; then
    the run itself, judge RUBRIC PREDS REFS with the same judge, asks nothing of what it read. Ask
    again for answers that cannot be read by writing another file.
    """
    from judge.batching.elsewhere import write_files
    from judge.running.session import JudgeSession

    rubric = rubrics.load(options["rubric"])
    if file.exists() or file.is_symlink():
        raise JudgeError(f"{file} exists already; name another file")
    settings = settings_of({**options, "dry_run": True})
    session = JudgeSession.load(
        rubric.name, options["judge_name"], settings, cache=options["cache"]
    )
    studies = told_studies(options, rubric)
    note(reading(studies))
    with session:
        written = write_files(session, studies, file, options["batch_size"], note)
    for path, batch in written:
        click.echo(f"{path}  {batch.n:,} questions, batch {batch.id}")
    if not written:
        note("Nothing to ask: every question has its answer in the cache, or is in a batch.")
    else:
        note("Take the answers with: judge batch read ANSWERS")


@command.command("read", short_help="Take answers that somebody else's run gave.")
@click.argument("files", nargs=-1, required=True, type=NamedPath(dir_okay=False, exists=True))
@cache_option
def read(files: tuple[Path, ...], cache: Path | None) -> None:
    """Put the answers in FILES, of OpenAI's form of batches, into the cache.

    The questions must have been written here, with the same --cache. Files may come in any
    order, and again. Exit code 1 where a line was no answer to such a question, or held none.
    """
    from judge.batching.elsewhere import read_files

    with _ledger(cache) as ledger:
        if ledger is None:
            raise JudgeError("no question was written here: look at --cache")
        taken, left = read_files(ledger, files, note)
    click.echo(f"{taken.answered:,} answers taken")
    if taken.failed or taken.again:
        note(f"{taken.failed + taken.again:,} lines say why there is no answer")
    for why, n in taken.refused.most_common():
        note(f"{n:,} requests were refused: {why}")
    if taken.strange:
        note(f"{taken.strange:,} lines answer no question that was written here")
    if taken.twice:
        note(f"{taken.twice:,} questions had their answer already: it stays")
    for batch, n in left:
        note(f"{n:,} of the {batch.n:,} questions of batch {batch.id} have no answer yet")
    sys.exit(1 if taken.failed or taken.again or taken.refused or taken.strange else 0)


@contextmanager
def _ledger(cache: Path | None) -> Iterator[Ledger | None]:
    from judge.batching.ledger import Ledger
    from judge.cache import place

    ledger = Ledger.found(place(cache, os.environ))
    if ledger is None:
        yield None
        return
    with ledger:
        yield ledger


def _batch(ledger: Ledger | None, batch_id: str) -> Batch:
    if ledger is None:
        raise JudgeError("no batch was made here yet: look at --cache")
    return ledger.batch(batch_id)


def _provider(batch: Batch) -> Provider:
    from judge.backends.base import TIMEOUT
    from judge.backends.connection import Connection
    from judge.batching.openai_form import Provider

    connection = Connection(batch.server, TIMEOUT)
    return Provider(connection, connection.key(os.environ))


def _state(batch: Batch) -> str:
    return batch.remote_state or batch.state


def _cost(batch: Batch) -> str:
    if batch.dollars is None or not batch.server:
        return "unknown"
    return f"${batch.dollars:,.2f}"


def _words(value: object) -> str:
    return "; ".join(map(str, value)) or "-" if isinstance(value, list) else str(value)


def _print_json(value: object) -> None:
    from judge.report.formats import as_json

    click.echo(as_json(value))

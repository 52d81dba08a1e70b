"""`--batch`: the questions of a run asked in batches, before it reads the answers."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from judge.batching import MOST_REQUESTS
from judge.cli.options import FiniteRange, heading
from judge.cli.output import note

if TYPE_CHECKING:
    from judge.batching.batch_run import BatchPolicy
    from judge.running.engine import ProgressListener
    from judge.running.session import JudgeSession
    from judge.studies import StudySet


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
        type=click.IntRange(min=1, max=MOST_REQUESTS),
        default=MOST_REQUESTS,
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
    from judge.batching.ledger import OVER, Ledger

    with Ledger(session.cache.path, create=False) as ledger:
        batches = [batch for batch in ledger.batches(kind=session.kind) if batch.state != OVER]
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

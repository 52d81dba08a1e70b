"""How a run ends that is not all it was to be: what is said, and the exit code."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from judge.cli.output import note
from judge.cli.studies import says_left_out

if TYPE_CHECKING:
    from judge.running.engine import RunStoppedError, UnreadableError

_LOW_COVERAGE, _INTERRUPTED, _TERMINATED = 3, 130, 143


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


def end_stopped(error: UnreadableError | RunStoppedError) -> None:
    """Say how far the run came, what the answers looked like and how to go on, and exit."""
    from judge.cli.progress import account
    from judge.running.engine import INTERRUPTED, TERMINATED, RunStoppedError

    progress, command = error.progress, ["judge", *sys.argv[1:]]
    far = f"after {progress.done:,} of {progress.total:,} studies."
    is_given_up = not isinstance(error, RunStoppedError)
    note(f"Given up {far} {error}" if is_given_up else f"Stopped ({error}) {far}")
    for line in account(progress):
        note(line)
    if is_given_up:
        command += ["--give-up-after", "0"]
    elif progress.asked or progress.from_cache:
        note("Every answer is in the cache. Go on with the same command:")
    else:
        note("No run was written. Start again with:")
    note("  " + shlex.join(command))
    codes = {INTERRUPTED: _INTERRUPTED, TERMINATED: _TERMINATED}
    sys.exit(codes.get(str(error), _LOW_COVERAGE))

"""Processes of a service: each run and each comparison has one of its own.

When the service ends, also by a kill, their standard input ends, and so do they. The task
`run JOB RUN LEDGER ARGUMENT...` is the command `judge`, paid from the service's ledger; `check
LEDGER ARGUMENT...` prints what that would judge; `compare FOLDER` writes the pieces of the
comparison in `request.json`, or those of one of its screens. The last two print what is wrong.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.service import ProblemError
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.running.progress import Progress

REQUEST, REFUSED = "request.json", 2
# What allows runs that differ, as the form in the browser says that compares them.
_ALLOWS = {
    "judge": "allow different judges",
    "prompt": "allow different prompts",
    "references": "allow different references",
}
_ALLOWS_STUDIES = "allow different studies"
STOP = "stop"
"""The file in the folder of a job that has a byte for each time somebody asked to stop its run."""
_LOOK_SECONDS = 0.25


@asynccontextmanager
async def worker(
    task: str,
    *arguments: str,
    patience: float = 0.0,
    **options: Any,  # noqa: ANN401 - as asyncio takes them
) -> AsyncIterator[Process]:
    """Start a process for a task; it has `patience` seconds to end after the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "judge.service.worker",
        task,
        *arguments,
        stdin=PIPE,
        start_new_session=True,  # Ctrl-C at the terminal is for the service alone
        **options,
    )
    assert process.stdin is not None
    try:
        yield process
    finally:
        process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), patience)
        if process.returncode is None:
            process.kill()
            await process.wait()


async def printed(
    task: str,
    *arguments: str,
    most_seconds: float,
    **options: Any,  # noqa: ANN401 - as asyncio takes them
) -> bytes:
    """Return what the process of a task prints.

    Raises `ProblemError` 422 with what it refuses, 504 where it takes more than `most_seconds`, and
    502 where it ends otherwise.
    """
    try:
        async with (
            asyncio.timeout(most_seconds),
            worker(task, *arguments, stdout=PIPE, **options) as process,
        ):
            assert process.stdout is not None
            text = await process.stdout.read()
            code = await process.wait()
    except TimeoutError:
        raise ProblemError(504, f"it took longer than {most_seconds} seconds") from None
    if code == REFUSED:
        raise ProblemError(422, text.decode("utf-8", "replace").strip())
    if code:
        raise ProblemError(
            502, f"its process ended with exit code {code}; see the service's log"
        )
    return text


# From here on: inside the process.


def main() -> None:
    """Do the task that the command line names."""
    threading.Thread(target=_end_with_service, daemon=True).start()
    task, *arguments = sys.argv[1:]
    tasks: dict[str, Callable[..., None]] = {
        "run": _run,
        "check": _check,
        "compare": _compare,
    }
    tasks[task](*arguments)


def _end_with_service() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)  # a run saves the answers under way


def _run(job_folder: str, run_folder: str, ledger: str, *arguments: str) -> None:
    from judge.cli import main as judge
    from judge.cli.progress import Owner
    from judge.running.underway import keep_begun, progress_text, write_progress
    from judge.service.settings import Ledger

    job = Path(job_folder)
    run = Path(run_folder)
    threading.Thread(target=_stop_when_asked, args=(job,), daemon=True).start()
    is_kept = False
    last = b""

    def tick(progress: Progress) -> None:
        nonlocal is_kept, last
        counts = progress_text(progress)
        if counts != last:
            last = counts
            write_progress(job, progress)
        # Also those who look at the run after it was stopped see its first studies.
        if not is_kept:
            is_kept = keep_begun(run, job)

    judge([*arguments], prog_name="judge", obj=Owner(Ledger(*json.loads(ledger)), tick))


def _stop_when_asked(job: Path) -> None:
    """Press Ctrl-C in this process each time that a service, whichever, asks to stop its run."""
    n_seen = 0
    while True:
        try:
            n_asked = (job / STOP).lstat().st_size
        except OSError:
            n_asked = 0
        if n_asked > n_seen:
            n_seen = n_asked
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(_LOOK_SECONDS)


def _check(ledger: str, *arguments: str) -> None:
    from judge.service.dry_run import checked
    from judge.service.settings import Ledger

    try:
        found = checked(Ledger(*json.loads(ledger)), arguments)
    except JudgeError as error:
        print(error)
        sys.exit(REFUSED)
    sys.stdout.write(json.dumps(found, default=str, allow_nan=False))


def _compare(folder: str) -> None:
    from judge.comparing.alignment import RunChoice
    from judge.comparing.comparison import Remedies, compare_runs
    from judge.comparing.run_names import named_apart
    from judge.pages.comparison import ComparisonPage
    from judge.pages.meeting import address_in_service
    from judge.pages.screens import Screens
    from judge.stats.significance import Resampling

    request = json.loads((Path(folder) / REQUEST).read_bytes())
    runs = [RunChoice(Path(run["path"]), run["id"]) for run in request["runs"]]
    screen = request.get("screen")
    how: Resampling | None = Resampling()
    if screen is not None:
        # A screen shows no tests, which take longest.
        how = None
    try:
        compared, comparison = compare_runs(
            # A client names runs, not models: two runs of one model are told apart here.
            named_apart(runs),
            how,
            by=[field.strip() for field in request["by"].split(",") if field.strip()],
            common=request["common"],
            allow=request["allow"],
            remedies=Remedies(allow=_ALLOWS, common=_ALLOWS_STUDIES),
            patient_field=request["patient_field"] or None,
        )
        screens = Screens(compared, comparison, address_in_service)
        if screen == "meeting":
            pieces = dict(screens.meeting_pieces())
        elif screen == "disagreements":
            pieces = dict(screens.disagreement_pieces())
        else:
            pieces = dict(ComparisonPage.of(compared, comparison).pieces())
    except JudgeError as error:
        print(error)
        sys.exit(REFUSED)
    for name, content in pieces.items():
        (Path(folder) / name).write_bytes(content)


if __name__ == "__main__":
    main()

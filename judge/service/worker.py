"""Processes of a service: each run and each comparison has one of its own.

When the service ends, also by a kill, their standard input ends, and so do they. The task
`run PROGRESS LEDGER ARGUMENT...` is the command `judge`, paid from the service's ledger; `check
LEDGER ARGUMENT...` prints what that would judge; `compare FOLDER` writes the pieces of the
comparison in `request.json`. The last two print what is wrong.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.files import write_regular
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


def _run(progress_file: str, ledger: str, *arguments: str) -> None:
    from judge.cli import main as judge
    from judge.cli.progress import Owner
    from judge.service.settings import Ledger

    path = Path(progress_file)
    last = ""

    def tick(progress: Progress) -> None:
        nonlocal last
        now = asdict(progress)
        del now["sentences"]  # as long as there are failed studies
        counts = json.dumps(now)
        if counts != last:
            last = counts
            aside = path.with_suffix(".new")
            write_regular(aside, counts.encode())
            aside.replace(path)

    judge([*arguments], prog_name="judge", obj=Owner(Ledger(*json.loads(ledger)), tick))


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
    from judge.stats.significance import Resampling

    request = json.loads((Path(folder) / REQUEST).read_bytes())
    runs = [RunChoice(Path(run["path"]), run["id"]) for run in request["runs"]]
    try:
        compared, comparison = compare_runs(
            # A client names runs, not models: two runs of one model are told apart here.
            named_apart(runs),
            Resampling(),
            by=[field.strip() for field in request["by"].split(",") if field.strip()],
            common=request["common"],
            allow=request["allow"],
            remedies=Remedies(allow=_ALLOWS, common=_ALLOWS_STUDIES),
            patient_field=request["patient_field"] or None,
        )
        pieces = dict(ComparisonPage.of(compared, comparison).pieces())
    except JudgeError as error:
        print(error)
        sys.exit(REFUSED)
    for name, content in pieces.items():
        (Path(folder) / name).write_bytes(content)


if __name__ == "__main__":
    main()

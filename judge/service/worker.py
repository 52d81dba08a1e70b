"""Processes of a service: each run, check and comparison has one of its own.

A task that breaks or takes too long ends its own process alone.

`python -m judge.service.worker TASK` reads its request from the first line of standard input. When
standard input ends, the service is gone, and so is the process. `run` is the command `judge`, paid
from the service's ledger. `check` reads the files of a run as that command would. `compare` writes
the pieces of a comparison into a folder, in this order:

    overview, columns, values-N  the numbers of the page, N the index of a metric
    comparison                   what `judge compare --format json` prints
    figure-N                     the SVG of each figure
    figures                      the titles and captions of the figures
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from judge.service import ProblemError
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.running.engine import Progress

_MAX_LINE = 2**28
NUMBERS, FIGURES = "comparison", "figures"
"""The pieces of a comparison after which its numbers, and its figures, are complete."""


@asynccontextmanager
async def worker(
    task: str,
    request: Mapping[str, Any],
    patience: float = 0.0,
    **options: Any,  # noqa: ANN401 - as asyncio takes them
) -> AsyncIterator[Process]:
    """Start a process for a task; it has `patience` seconds to end after the block."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "judge.service.worker", task),
        stdin=PIPE,
        stdout=PIPE,
        limit=_MAX_LINE,
        start_new_session=True,  # Ctrl-C at the terminal is for the service alone
        **options,
    )
    assert process.stdin is not None
    try:
        with suppress(ConnectionError):
            process.stdin.write(json.dumps(request).encode() + b"\n")
            await process.stdin.drain()
        yield process
    finally:
        process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), patience)
        if process.returncode is None:
            process.kill()
            await process.wait()


async def answer(
    task: str, request: Mapping[str, Any], seconds: float, cwd: Path | None = None
) -> dict[str, Any]:
    """Return what a task answers.

    Raises `ProblemError`: the answer itself, 502 where the process ends without one, and 504 after
    `seconds`.
    """
    try:
        async with asyncio.timeout(seconds), worker(task, request, cwd=cwd) as process:
            assert process.stdout is not None
            if not (line := await process.stdout.readline()):
                cause = exit_cause(await process.wait())
                raise ProblemError(502, f"the process of {task} ended ({cause}); see the log")
    except TimeoutError:
        raise ProblemError(504, f"{task} took longer than {seconds:g} seconds") from None
    answered: dict[str, Any] = json.loads(line)
    if "status" in answered:
        raise ProblemError(answered["status"], answered["detail"])
    return answered


def exit_cause(code: int) -> str:
    """Return the name of the signal that ended a process, or its exit code."""
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


# From here on: inside the process.

_UNSEEN = "not known: no answer to this rubric's questions has been seen yet"


def main() -> None:
    """Do the task of the request on standard input, and reply on standard output."""
    from click import ClickException

    # `sys.stdin` cannot be closed by the interpreter while a thread waits in it.
    stdin = open(0, "rb", closefd=False)  # noqa: SIM115
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    request = json.loads(stdin.readline())
    threading.Thread(target=_end_with_service, args=(stdin,), daemon=True).start()
    tasks = {"run": _run, "check": _check, "compare": _compare}
    try:
        answer = tasks[sys.argv[1]](request)
    except ClickException as error:
        answer = {"status": 422, "detail": error.format_message()}
    except JudgeError as error:
        answer = {"status": 422, "detail": str(error)}
    replies.write(json.dumps(answer).encode() + b"\n")
    replies.flush()


def _end_with_service(stdin: IO[bytes]) -> None:
    stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)  # a run saves the answers under way


def _run(request: Mapping[str, Any]) -> dict[str, Any]:
    from judge.cli import main as judge
    from judge.cli.progress import Owner
    from judge.service.settings import Ledger

    path = Path(request["progress"])
    last: dict[str, Any] = {}

    def tick(progress: Progress) -> None:
        if (counts := asdict(progress)) != last:
            last.update(counts)
            _replace(path, json.dumps(counts).encode())

    judge(request["arguments"], prog_name="judge", obj=Owner(Ledger(*request["ledger"]), tick))
    return {}


def _check(request: Mapping[str, Any]) -> dict[str, Any]:
    from judge import rubrics
    from judge.cli.judging import command_for, read_context
    from judge.cli.run_options import RunOptions
    from judge.running import preview
    from judge.running.cost import forecast
    from judge.service.settings import Ledger
    from judge.stats.table import TableBuilder, check_fields

    name, *arguments = request["arguments"]
    command = command_for(rubrics.load(name))
    with command.make_context(name, ["--dry-run", *arguments]) as context:
        options = RunOptions(**context.params)
        preds, refs = [*options.files, None][:2]
        (judge,) = options.judge
        session = options.session(name, judge)
        studies = read_context(session.rubric, options, str(preds), refs, options.section)
    check_fields(options.by, TableBuilder(session.rubric, studies.fields).columns)
    described = preview.described(studies)
    with session:
        cost = forecast(session, studies)
    costs = {"cost": "none: the built-in judge answers on this machine"}
    if cost is not None:
        costs = cost.facts(session.concurrency, unseen=_UNSEEN)
        ledger = Ledger(*request["ledger"])
        if (left := ledger.left()) is not None:
            most = cost.worst.dollars
            is_short = cost.requests and (most is None or most > left)
            stop = "; a run that needs more stops there and can be resumed" if is_short else ""
            costs["budget"] = ledger.left_in_words() + stop
    facts = {"facts": preview.facts(described), "costs": costs.items()}
    return described | {
        name: [{"name": label, "text": text} for label, text in rows]
        for name, rows in facts.items()
    }


def _compare(request: Mapping[str, Any]) -> dict[str, Any]:
    from judge.comparing.alignment import RunChoice
    from judge.comparing.comparison import compare_runs
    from judge.figures import available, page_figures
    from judge.pages import comparison as comparison_page
    from judge.pages.bundle import as_json
    from judge.stats.significance import Resampling
    from judge.tables import comparison as comparison_tables

    folder = Path(request["folder"])
    choices = [
        RunChoice(Path(run["path"]), run["id"], run["model"] or None) for run in request["runs"]
    ]
    resampling = Resampling() if request["seed"] is None else Resampling(seed=request["seed"])
    aligned, comparison = compare_runs(
        choices,
        resampling,
        sort=request["sort"] or None,
        by=[field.strip() for field in request["by"].split(",") if field.strip()],
        common=request["common"],
        allow=request["allow"],
        patient_field=request["patient_field"] or None,
    )
    panel = comparison.panel
    runs = [
        {"model": panel.models.index(run.model), "rubric": run.rubric, "run": run.shown}
        for run in aligned.runs
    ]
    described = [run.described() for run in aligned.runs]
    pieces = {
        "overview": as_json({**comparison_page.overview(comparison), "runs": runs}),
        "columns": as_json(comparison_page.columns(comparison)),
    }
    for index, metric in enumerate(panel.metrics):
        pieces[f"values-{index}"] = comparison_page.values(comparison, metric)
    pieces[NUMBERS] = as_json(comparison_tables.as_data(comparison, described))
    for name, content in pieces.items():
        _replace(folder / name, content)
    figures = page_figures(comparison) if available() else ()
    # The list of figures is written last: whoever finds it finds them all.
    for name, content in reversed([*comparison_page.figure_pieces(figures)]):
        _replace(folder / name, content)
    return {}


def _replace(path: Path, content: bytes) -> None:
    """Write a file whole before it has its name."""
    aside = path.with_suffix(".new")
    aside.write_bytes(content)
    aside.replace(path)


if __name__ == "__main__":
    main()

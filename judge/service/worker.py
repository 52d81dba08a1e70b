"""Processes of a service: each run, check and comparison has one of its own.

What a request breaks or outlasts is its own process, and so no other's work.

`python -m judge.service.worker TASK` gets its request in the first line of standard input; that
this ends tells it that the service is gone, also where it was killed. `run` is the command `judge`,
paid from the service's ledger. `check` reads a run's files as that command would. `compare` writes
into a folder, and replies as soon as the numbers are there:

    comparison                   what `judge compare --format json` prints
    overview, columns, values-N  the page's numbers, N the index of a metric
    figures, figure-N            the words of the figures, and the SVG of each
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from judge.service import ProblemError
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.running.engine import Progress
    from judge.service.settings import Ledger

_LONGEST_LINE = 2**28


@asynccontextmanager
async def process(
    task: str,
    request: Mapping[str, Any],
    patience: float = 0.0,
    **how: Any,  # noqa: ANN401 - as asyncio takes them
) -> AsyncIterator[Process]:
    """Start a process for a task; after the block it ends, within `patience` seconds in order."""
    started = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "judge.service.worker", task),
        stdin=PIPE,
        stdout=PIPE,
        limit=_LONGEST_LINE,
        start_new_session=True,  # Ctrl-C at the terminal is for the service alone
        **how,
    )
    assert started.stdin is not None
    try:
        with suppress(ConnectionError):
            started.stdin.write(json.dumps(request).encode() + b"\n")
            await started.stdin.drain()
        yield started
    finally:
        started.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(started.wait(), patience)
        if started.returncode is None:
            started.kill()
            await started.wait()


async def reply(started: Process, task: str) -> dict[str, Any]:
    """Return the next reply; raises the `ProblemError` that it is, 502 where there is none."""
    assert started.stdout is not None
    if not (line := await started.stdout.readline()):
        why = ended_by(await started.wait())
        raise ProblemError(
            502, f"the process of this {task} broke off ({why}); the service's log says more"
        )
    answer: dict[str, Any] = json.loads(line)
    if "status" in answer:
        raise ProblemError(answer["status"], answer["detail"])
    return answer


def ended_by(code: int) -> str:
    """Return what ended a process, a signal's name or its exit code."""
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


@asynccontextmanager
async def time_limit(seconds: float, task: str) -> AsyncIterator[None]:
    """Raise `ProblemError` 504 where the block takes longer than so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise ProblemError(504, f"the {task} took longer than {seconds:g} seconds") from None


# The process's own end

_UNSEEN = "not known: no answer to this rubric's questions has been seen yet"


def main() -> None:
    """Do what the first line of standard input asks for, and reply on standard output."""
    # Not `sys.stdin`: the interpreter cannot close that while a thread waits in it.
    stdin = open(0, "rb", closefd=False)  # noqa: SIM115
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    request = json.loads(stdin.readline())
    threading.Thread(target=_end_with_service, args=(stdin,), daemon=True).start()
    work = {"run": _run, "check": _check, "compare": _compare}[sys.argv[1]]
    for answer in _replies(work, request):
        replies.write(json.dumps(answer).encode() + b"\n")
        replies.flush()


def _replies(
    work: Callable[[Mapping[str, Any]], Iterator[dict[str, Any]]], request: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    from click import ClickException

    try:
        yield from work(request)
    except ClickException as error:
        yield {"status": 422, "detail": error.format_message()}
    except JudgeError as error:
        yield {"status": 422, "detail": str(error)}


def _end_with_service(stdin: IO[bytes]) -> None:
    stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)  # a run keeps the answers under way


def _run(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    from judge.cli import main as judge
    from judge.cli.judging import Owner

    progress = Path(request["progress"])
    counts: dict[str, Any] = {}

    def tick(now: Progress) -> None:
        if (latest := asdict(now)) != counts:
            counts.update(latest)
            aside = progress.with_suffix(".new")
            aside.write_text(json.dumps(counts), "utf-8")
            aside.replace(progress)

    owner = Owner(_ledger(request), tick)
    judge(request["arguments"], prog_name="judge", obj=owner)
    yield {}


def _ledger(request: Mapping[str, Any]) -> Ledger | None:
    from judge.service.settings import Ledger

    return Ledger(*request["ledger"]) if request["ledger"] else None


def _check(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    from judge import rubrics
    from judge.cli.judging import command_for
    from judge.cli.options import policy_of, settings_of
    from judge.cli.studies import told_studies
    from judge.running import preview
    from judge.running.cost import forecast
    from judge.running.session import JudgeSession
    from judge.stats.table import TableBuilder, check_fields

    name, *arguments = request["arguments"]
    rubric = rubrics.load(name)
    with command_for(rubric).make_context(name, ["--dry-run", *arguments]) as context:
        options = context.params
        preds, refs = [*options.pop("files"), None][:2]
        (judge_name,) = options["judge_names"]
        settings, policy = settings_of(options), policy_of(options)
        session = JudgeSession.load(
            name, judge_name, settings, policy=policy, cache=options["cache"]
        )
        studies = told_studies({**options, "preds": preds, "refs": refs}, session.rubric)
    check_fields(options["by"], TableBuilder(session.rubric, studies.fields).columns)
    described = preview.described(studies)
    with session:
        coming = forecast(session, studies)
    costs = {"cost": "none: the built-in judge answers on this machine"}
    if coming is not None:
        costs = coming.facts(session.concurrency, unseen=_UNSEEN)
        if (ledger := _ledger(request)) and (left := ledger.left()) is not None:
            worst = coming.worst.dollars
            is_short = coming.requests and (worst is None or worst > left)
            end = "; a run that needs more stops there and can go on later" if is_short else ""
            costs["budget"] = ledger.shown() + end
    yield {
        **described,
        "facts": [{"name": name, "text": text} for name, text in preview.facts(described)],
        "costs": [{"name": name, "text": text} for name, text in costs.items()],
    }


def _compare(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    from judge.comparing.comparison import compare_runs
    from judge.comparing.names import RunChoice
    from judge.figures import available, page_figures
    from judge.pages import comparison as comparison_page
    from judge.pages.frontend import as_json
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
    models = comparison.panel.models
    runs = [
        {"model": models.index(run.model), "rubric": run.rubric, "run": run.shown}
        for run in aligned.runs
    ]
    described = [run.described() for run in aligned.runs]
    files = {
        "comparison": as_json(comparison_tables.as_data(comparison, described)),
        "overview": as_json({**comparison_page.overview(comparison), "runs": runs}),
        "columns": as_json(comparison_page.columns(comparison)),
    }
    for index, metric in enumerate(comparison.panel.metrics):
        files[f"values-{index}"] = comparison_page.values(comparison, metric)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    yield {}
    figures = page_figures(comparison) if available() else ()
    for index, figure in enumerate(figures):
        (folder / f"figure-{index}").write_bytes(figure.svg.encode())
    (folder / "figures").write_bytes(as_json([figure.words for figure in figures]))
    yield {}


if __name__ == "__main__":
    main()

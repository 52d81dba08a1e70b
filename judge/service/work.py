"""One run in a process of its own: `python -m judge.service.work FOLDER`.

Standard input stays open for as long as the service lives; the other half of the settings
come by it in the first line. The run stops in order when the service is gone, and goes on
under the next one, or when somebody leaves word in the job's folder.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from io import FileIO
from pathlib import Path

from judge import backends, rubrics
from judge.cache import CompletionCache, place
from judge.run.asking import Effort
from judge.run.judging import RunStoppedError, Watch
from judge.run.progress import Progress
from judge.run.run import run
from judge.service import jobs
from judge.service.jobs import Job, State
from judge.stats.table import reserved_names
from judge.studies import StudySet, read_pair
from judge.types import JudgeError

_LOOK_SECONDS = 0.25
# How long the answers under way are waited for when the service is gone.
_PATIENCE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Owner:
    """What the service's owner decides: the judge's address and where answers are kept."""

    base_url: str | None
    cache: str | None


def main() -> None:
    """Work on the job in the folder that the command line names."""
    path = Path(sys.argv[1]).resolve()
    service = os.fdopen(0, "rb", buffering=0)  # nothing of it may be read ahead of `select`
    owner = Owner(**json.loads(service.readline()))
    job = jobs.find(path.parent.parent, path.name)
    if job is None:
        sys.exit(f"{path} is no job")
    with job.locked() as is_mine:
        if is_mine and job.state().state in jobs.UNFINISHED:
            _work(job, owner, service)


def _work(job: Job, owner: Owner, service: FileIO) -> None:
    cut_off = threading.Event()
    threading.Thread(target=_listen, args=(job, service, cut_off), daemon=True).start()
    progress: dict[str, object] = {}

    def tick(now: Progress) -> None:
        if (counts := asdict(now)) != progress:
            progress.update(counts)
            job.put(State(jobs.RUNNING, progress=dict(progress)))

    try:
        try:
            job.put(State(jobs.RUNNING))
            _judge(job, owner, tick)
        finally:  # from here on there is nothing to stop
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except JudgeError as error:
        job.put(State(jobs.FAILED, str(error), dict(progress)))
    except (RunStoppedError, KeyboardInterrupt) as stopped:
        if isinstance(stopped, RunStoppedError) and not stopped.interrupted:
            job.put(State(jobs.STOPPED, stopped.why, dict(progress)))
        elif not cut_off.is_set():
            job.put(State(jobs.STOPPED, "stopped by a reader", dict(progress)))
        # Else it is still `running`: the next service goes on with it.
    else:
        job.put(State(jobs.FINISHED, progress=dict(progress)))
        job.forget_uploads()


def _judge(job: Job, owner: Owner, tick: Callable[[Progress], None]) -> None:
    asked = job.asked
    os.chdir(job.path)  # messages name the files, not where the service keeps them
    rubric = rubrics.load(asked.rubric)
    settings = backends.Settings(
        prompt=asked.prompt, base_url=owner.base_url, environ=os.environ, say=_say
    )
    judge = backends.load(asked.judge, rubric, settings)
    studies = read_pair(
        asked.preds,
        asked.refs,
        section=asked.section,
        class_field=asked.class_field,
        allow_missing=asked.allow_missing,
        id_field=asked.id_field,
        reserved=reserved_names(rubric),
    )
    with ExitStack() as stack:
        cache = None
        if not judge.is_free:
            folder = place(Path(owner.cache) if owner.cache else None, os.environ)
            cache = stack.enter_context(CompletionCache(folder))
        run(
            _as_called(studies, job),
            rubric,
            judge,
            cache=cache,
            effort=Effort(max_cost=asked.max_cost),
            out=job.run,
            by=asked.by,
            arguments={name: value for name, value in asdict(asked).items() if value},
            watch=Watch(tick, _say),
        )


def _as_called(studies: StudySet, job: Job) -> StudySet:
    """Return the studies with their files called what the client called them."""
    names = {job.asked.preds: job.asked.preds_name, job.asked.refs: job.asked.refs_name}
    inputs = tuple(replace(file, path=names[file.path] or file.path) for file in studies.inputs)
    return replace(studies, inputs=inputs)


def _listen(job: Job, service: FileIO, cut_off: threading.Event) -> None:
    """Interrupt the run, as Ctrl-C does, when it is to stop or the service is gone."""
    while True:
        heard, _, _ = select.select([service], [], [], _LOOK_SECONDS)
        if job.is_to_stop:
            break
        if heard and not service.read(1):
            cut_off.set()
            break
    os.kill(os.getpid(), signal.SIGINT)
    if cut_off.wait(_PATIENCE_SECONDS) and not job.is_to_stop:
        threading.Event().wait(_PATIENCE_SECONDS)
        os.kill(os.getpid(), signal.SIGINT)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

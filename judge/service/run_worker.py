"""One run in a process of its own.

The run stops in order when the service is gone, and goes on under the next one, or when
somebody leaves word in the job's folder.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from judge import backends
from judge.running.engine import Progress, ProgressListener, RunStoppedError
from judge.running.session import JudgeSession, RequestPolicy, run
from judge.service import jobs
from judge.service.budget import Ledger
from judge.service.jobs import Job, RunRequest
from judge.service.worker import Channel, memory_limit, say
from judge.stats.table import reserved_names
from judge.studies import StudySet, read_pair
from judge.studies.names import model_of
from judge.studies.study_set import attach_context
from judge.types import JudgeError

_LOOK_SECONDS = 0.25
# How long the answers under way are waited for when the service is gone.
_PATIENCE_SECONDS = 20.0


def main() -> None:
    """Work on the job that the first request names, unless another process does."""
    service_gone = threading.Event()
    channel = Channel(service_gone.set)
    request = channel.receive()
    path = Path(request["job"]).resolve()
    with channel.replying(request):
        job = jobs.find(path.parent.parent, path.name)
        if job is None:
            raise JudgeError(f"{path.name} is no job")
        with job.locked() as is_mine:
            if is_mine and job.state().state in jobs.UNFINISHED:
                _work(job, request, service_gone)


def _work(job: Job, owner: Mapping[str, Any], service_gone: threading.Event) -> None:
    threading.Thread(target=_interrupt, args=(job, service_gone), daemon=True).start()
    progress: dict[str, Any] = {}

    def tick(now: Progress) -> None:
        if (counts := asdict(now)) != progress:
            progress.update(counts)
            job.put(jobs.RUNNING, progress=progress)

    try:
        try:
            job.put(jobs.RUNNING, progress=progress)
            _judge(job, owner, tick)
        finally:  # from here on there is nothing to stop
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except JudgeError as error:
        job.put(jobs.FAILED, str(error), progress)
    except (RunStoppedError, KeyboardInterrupt) as stopped:
        if isinstance(stopped, RunStoppedError) and not stopped.interrupted:
            job.put(jobs.STOPPED, stopped.why, progress)
        elif not service_gone.is_set():
            job.put(jobs.STOPPED, "stopped by a reader", progress)
        # Else it is still `running`: the next service goes on with it.
    else:
        job.put(jobs.FINISHED, progress=progress)
        job.forget_uploads()


def _judge(job: Job, owner: Mapping[str, Any], tick: Callable[[Progress], None]) -> None:
    asked = job.request
    session, studies = opened(job.path, asked, owner)
    with session:
        run(
            session,
            studies,
            out=job.run,
            by=asked.fields,
            arguments={"judge": asked.judge, **asked.model_dump(exclude_defaults=True)},
            listener=ProgressListener(tick, say),
        )


def opened(
    folder: Path, asked: RunRequest, owner: Mapping[str, Any], *, sends: bool = True
) -> tuple[JudgeSession, StudySet]:
    """Assemble a run from the client's request and the owner's settings, and read its files.

    `sends` is False where nothing will be asked. Raises `JudgeError`; this process is then
    in `folder`, where the files are.
    """
    os.chdir(folder)  # messages name the files, not where the service keeps them
    settings = backends.JudgeSettings(
        prompt=asked.prompt or None,
        base_url=owner["base_url"],
        reply=None if asked.reply == "auto" else asked.reply,
        sampling=asked.sampling,
        environ=os.environ,
        say=say,
        sends=sends,
    )
    session = JudgeSession.load(
        asked.rubric,
        asked.judge,
        settings,
        policy=RequestPolicy(max_cost=asked.max_cost, give_up_after=asked.give_up_after),
        cache=owner["cache"],
        budget=Ledger.of(owner["ledger"]),
    )
    with memory_limit(owner["max_memory"]):
        studies = read_pair(
            asked.preds,
            asked.refs or None,
            fields=replace(asked.named_fields, max_input=owner["max_input"]),
            section=asked.section or None,
            allow_missing=asked.allow_missing,
            model=asked.model or None,
            reserved=reserved_names(session.rubric),
        )
        studies = attach_context(
            studies,
            context=asked.context_fields(takes=session.rubric.takes_context),
            prior=asked.prior_field or None,
            modality=asked.modality or None,
        )
    return session, _as_called(studies, asked)


def _as_called(studies: StudySet, asked: RunRequest) -> StudySet:
    if not asked.model and studies.model == model_of(asked.preds):
        studies = replace(studies, model=model_of(asked.preds_name))
    names = {asked.preds: asked.preds_name, asked.refs: asked.refs_name}
    inputs = tuple(replace(file, path=names[file.path] or file.path) for file in studies.inputs)
    return replace(studies, inputs=inputs)


def _interrupt(job: Job, service_gone: threading.Event) -> None:
    """Interrupt the run, as Ctrl-C does, when it is to stop or the service is gone.

    A service that ends does not wait for ever: a second time the run stops at once.
    """
    while not service_gone.wait(_LOOK_SECONDS) and not job.is_to_stop:
        pass
    os.kill(os.getpid(), signal.SIGINT)
    service_gone.wait()
    time.sleep(_PATIENCE_SECONDS)
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    main()

"""The runs of an experiment, one after the other: what is done already, what it costs, judging."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from judge.experiments.experiment import Experiment, ExperimentSource
from judge.experiments.matrix import Matrix, PlannedRun, SessionKey, resolve
from judge.experiments.spool import StudySpool
from judge.files import is_regular
from judge.plugins import version
from judge.run_files.entries import ExperimentEntry
from judge.run_files.manifest import MANIFEST, RunManifest
from judge.run_files.summary import RunSummary
from judge.running.engine import GO_ON
from judge.running.folder import RunFolder, claim
from judge.running.progress import Progress, ProgressListener, RunStoppedError
from judge.running.run import RUNS, RunResult
from judge.running.run import run as judge_run
from judge.running.session import JudgeSession
from judge.running.settings import session_of
from judge.signature import safe_name, short_digest
from judge.stats.summary import TableBuilder, check_fields
from judge.studies import StudySet
from judge.text import counted
from judge.types import JudgeError, Study

if TYPE_CHECKING:
    from judge.running.cost import SpendingLimit
    from judge.running.forecast import Forecast

# The settings that change a number, with the words for them; who judges is in `judged_by`.
_SETTINGS = {
    "model": "model",
    "section": "section",
    "columns": "columns",
    "encoding": "encoding",
    "allow_missing": "allow_missing",
    "references": "several_references",
    "limit": "limit",
    "modality": "modality",
    # What was asked for: which of it a server took is known only after it was asked.
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "sampling": "sampling",
    "reply": "reply",
    "reask": "reask",
}
# What changes no number, or has a folder of its own.
_EFFORT = {
    "by",
    "concurrency",
    "give_up_after",
    "limit",
    "max_cost",
    "max_outage",
    "max_requests",
    "min_coverage",
    "out",
    "timeout",
}
_ASKING = {
    "rubric_version": "version of the rubric",
    "packages": "package of the rubric",
    "prompts": "prompt",
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """An experiment with the runs that are wanted of it.

    `matrix` has all its runs, `runs` those that are wanted. `out` is the folder of all of them.
    """

    source: ExperimentSource
    matrix: Matrix
    runs: tuple[PlannedRun, ...]
    out: Path

    @property
    def folder(self) -> Path:
        """The folder of the run folders: `out`, or one in it for a part of the studies."""
        limit = self.source.experiment.limit
        if limit is None:
            return self.out
        return self.out / f"limit-{limit}"

    def path(self, planned: PlannedRun) -> Path:
        """Return the folder of a run."""
        return self.folder / planned.name

    def entry(self, planned: PlannedRun) -> ExperimentEntry:
        """Return what a run's manifest says of the experiment."""
        source = self.source
        file = None
        if source.file is not None:
            file = str(source.file)
        return ExperimentEntry(
            file=file,
            sha256=source.sha256,
            text=source.text,
            matrix=self.matrix.names,
            data=planned.data,
            model=planned.model,
            section=planned.section,
            rubric=planned.rubric,
            judge=planned.judge,
        )


def plan_of(
    source: ExperimentSource,
    *,
    only: Mapping[str, Sequence[str]] | None = None,
    out: Path | None = None,
) -> Plan:
    """Return the plan of an experiment, of the runs that have one of the names `only` on each axis.

    `out` comes before the experiment's own; without either it is a folder in `judge-runs`. Raises
    `JudgeError` as `resolve` and `Matrix.only`.
    """
    matrix = resolve(source)
    wanted = matrix.only(only or {})
    own = source.experiment.out
    if out is None and own is not None:
        out = source.folder / Path(own).expanduser()
    if out is None and source.file is not None:
        out = RUNS / (safe_name(source.file.stem) or "experiment")
    if out is None:
        out = RUNS / f"experiment-{_lasting_digest(source.experiment)}"
    return Plan(source=source, matrix=matrix, runs=wanted.runs, out=out)


def _lasting_digest(experiment: Experiment) -> str:
    """Return a digest of what may not differ within one folder of runs.

    With a higher limit of cost, for one, the same runs go on.
    """
    values = experiment.model_dump(mode="json", exclude_unset=True, exclude=_EFFORT)
    return short_digest([json.dumps(values, sort_keys=True)])


@dataclass(kw_only=True)
class JudgeForecast:
    """What one judge of an experiment will be asked, and what that may cost.

    `parts` has one forecast a rubric, none for a judge that answers in this process.
    """

    judge: str
    n_runs: int = 0
    n_studies: int = 0
    parts: list[Forecast] = field(default_factory=list)

    @property
    def requests(self) -> int:
        """The requests to send."""
        return sum(part.requests for part in self.parts)

    @property
    def cached(self) -> int:
        """The answers that are in the cache already."""
        return sum(part.cached for part in self.parts)

    @property
    def further(self) -> int:
        """The most requests that may follow from the answers, in no other number."""
        return sum(part.further for part in self.parts)

    @property
    def typical_dollars(self) -> float | None:
        """The price with answers of the usual length, None where it is unknown."""
        return _sum_known(part.typical_dollars for part in self.parts)

    @property
    def worst_dollars(self) -> float | None:
        """The highest price, None where it is unknown."""
        return _sum_known(part.dollars for part in self.parts)


def _sum_known(values: Iterable[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


@dataclass(frozen=True, kw_only=True)
class FinishedRun:
    """A run of an experiment that has its folder; `is_new` says that this command judged it."""

    planned: PlannedRun
    path: Path
    summary: RunSummary
    is_new: bool


@dataclass(frozen=True, kw_only=True)
class FailedRun:
    """A run of an experiment that has no folder, and why.

    `why` is a sentence; `is_stopped` says that it was given up since most answers were unreadable.
    """

    planned: PlannedRun
    why: str
    is_stopped: bool = False


class ExperimentRunner(AbstractContextManager["ExperimentRunner"]):
    """Judges the runs of a plan that are not there yet.

    Attributes:
        plan: What is to be judged.
        todo: The runs that have no folder yet, after `prepare`.
        finished: The runs that have one, in the order of the plan; those of earlier commands first.
        failed: The runs that ended without a folder.
        notes: What `prepare` found out that the user should know.
        n_studies: How many studies are to be judged in all runs, after `read`.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        environ: Mapping[str, str],
        say: Callable[[str], None],
        cache: str | Path | None = None,
    ) -> None:
        """Put it together; nothing is read or asked."""
        self.plan = plan
        self.todo: list[PlannedRun] = []
        self.finished: list[FinishedRun] = []
        self.failed: list[FailedRun] = []
        self.notes: list[str] = []
        self.n_studies = 0
        self._environ, self._say, self._cache = environ, say, cache
        self._quiet: dict[SessionKey, JudgeSession] = {}
        self._spool = StudySpool(plan.folder)
        self._before = Progress(total=0)
        self._session: JudgeSession | None = None
        self._is_interrupted = False

    def __exit__(self, *_error: object) -> None:
        self._spool.close()

    @property
    def in_order(self) -> list[FinishedRun]:
        """The runs that have a folder, in the order of the plan."""
        by_name = {run.planned.name: run for run in self.finished}
        return [by_name[run.name] for run in self.plan.runs if run.name in by_name]

    # Before anything is asked

    def prepare(self) -> None:
        """Find out which runs are there already, and that the others can be judged.

        Raises `JudgeError`, which names all faults, for files that cannot be read and for folders
        that hold other runs.
        """
        faults: dict[str, None] = {}
        is_other_file = False
        for planned in self.plan.runs:
            try:
                manifest = self._manifest(planned)
                if manifest is None:
                    claim(self.plan.path(planned), "")
                elif self._is_same(planned, manifest):
                    is_other_file |= self._is_of_other_file(manifest)
                    self.finished.append(self._finished(planned))
                    continue
                self.todo.append(planned)
            except JudgeError as error:
                faults[str(error)] = None
        self._raise(faults)
        if is_other_file:
            self.notes.append(
                "some finished runs were made by an earlier text of the experiment; they are "
                "asked for in the same way by this one, and stay"
            )
        left = self._left_over()
        if left:
            runs = counted(len(left), "run", "runs")
            self.notes.append(
                f"{self.plan.folder} has {runs} that this experiment does not ask for "
                f"({', '.join(left[:3])}{', ...' if len(left) > 3 else ''}): left alone"
            )

    def _manifest(self, planned: PlannedRun) -> RunManifest | None:
        """Return the manifest of a run that is there."""
        path = self.plan.path(planned)
        if not os.path.lexists(path / MANIFEST):
            return None
        return RunFolder.open(path).manifest

    def _is_same(self, planned: PlannedRun, manifest: RunManifest) -> bool:
        """Return whether a run is the planned one, whole; False where it is but for its groups.

        Raises `JudgeError` where it is another, since only one can be in its folder.
        """
        differing = list(self._differing(planned, manifest))
        if differing:
            raise JudgeError(
                f"{self.plan.path(planned)} holds a run with another {', '.join(differing)}: put "
                "that back, or name another folder with --out"
            )
        settings = manifest.settings
        return settings is not None and settings.by == planned.settings.by

    def _differing(self, planned: PlannedRun, manifest: RunManifest) -> Iterator[str]:
        """Yield in which respects a run is not the planned one."""
        for role, path in (("preds", planned.preds), ("refs", planned.refs)):
            file = manifest.input_of(role)
            if path is None:
                continue
            known = _sha256(path)
            if known is not None and (file is None or file.sha256 != known):
                side = "candidates" if role == "preds" else "references"
                yield f"file of {side} ({path} has changed)"
        if manifest.settings is None:
            yield "way of being asked for"
            return
        for name, words in _SETTINGS.items():
            if getattr(manifest.settings, name) != getattr(planned.settings, name):
                yield words
        judged_by = self.session(planned).judged_by()
        if manifest.judge.version != judged_by.judge.version:
            yield "judge"
        for name, words in _ASKING.items():
            if getattr(manifest, name) != getattr(judged_by, name):
                yield words
        if manifest.version != version():
            yield f"version of judge ({manifest.version})"

    def _is_of_other_file(self, manifest: RunManifest) -> bool:
        entry = manifest.experiment
        return entry is not None and entry.sha256 != self.plan.source.sha256

    def _finished(self, planned: PlannedRun) -> FinishedRun:
        path = self.plan.path(planned)
        summary = RunFolder.open(path).summary()
        return FinishedRun(planned=planned, path=path, summary=summary, is_new=False)

    def _left_over(self) -> list[str]:
        """Return the names of runs in the folder that are none of the experiment's."""
        known = {planned.name for planned in self.plan.matrix.runs}
        folder = self.plan.folder
        if not folder.is_dir():
            return []
        found = sorted(path.parent.name for path in folder.glob(f"*/{MANIFEST}"))
        return [name for name in found if name not in known]

    def read(self) -> None:
        """Read the studies of all runs that are to be judged, and count them.

        Raises `JudgeError`, which names all faults, where files cannot be read or joined, or lack a
        field that rates are to be grouped by.
        """
        faults: dict[str, None] = {}
        for planned in self.todo:
            try:
                studies = self.studies(planned)
                self.n_studies += len(studies)
                table = TableBuilder(self.session(planned).rubric, [*studies.fields])
                check_fields(planned.settings.by, table.columns)
            except JudgeError as error:
                faults[f"{planned.name}: {error}"] = None
        self._raise(faults)

    def _raise(self, faults: Mapping[str, None]) -> None:
        if len(faults) == 1:
            raise JudgeError(next(iter(faults)))
        if faults:
            listed = "\n".join(f"  {fault}" for fault in faults)
            raise JudgeError(f"nothing was asked, for {len(faults)} reasons:\n{listed}")

    def session(self, planned: PlannedRun) -> JudgeSession:
        """Return the session of a run's judge and rubric, which will send nothing."""
        if planned.asked not in self._quiet:
            self._quiet[planned.asked] = session_of(
                planned.settings,
                environ=self._environ,
                say=lambda _text: None,
                sends=False,
                cache=self._cache,
            )
        return self._quiet[planned.asked]

    def studies(self, planned: PlannedRun) -> StudySet:
        """Return the studies of a run; raises `JudgeError` where they cannot be read."""
        return self._spool.get(planned, self.session(planned).rubric)

    # The price

    def forecasts(self, *, reads_answers: bool = True) -> list[JudgeForecast]:
        """Return what each judge will be asked in the runs that are to be judged.

        `reads_answers` is that of `forecast`: reading all that is in the cache takes as long as
        judging it.
        """
        from judge.running.forecast import forecast

        found: dict[str, JudgeForecast] = {}
        for runs in _by_session(self.todo):
            first = runs[0]
            of_judge = found.setdefault(first.judge, JudgeForecast(judge=first.judge))
            of_judge.n_runs += len(runs)
            session = self.session(first)
            with session:
                expected = forecast(
                    session,
                    self._asked(runs, of_judge),
                    reads_answers=reads_answers,
                )
            if expected is not None:
                of_judge.parts.append(expected)
            else:
                of_judge.n_studies += sum(len(self.studies(run)) for run in runs)
        return list(found.values())

    def _asked(
        self, runs: Iterable[PlannedRun], counted_in: JudgeForecast
    ) -> Iterator[Study]:
        """Yield all that the judge is asked about in some runs, and count the studies."""
        for planned in runs:
            studies = self.studies(planned)
            counted_in.n_studies += len(studies)
            yield from self._questions(planned, studies)

    def _questions(self, planned: PlannedRun, studies: StudySet) -> StudySet:
        rule = planned.settings.references
        if rule is None:
            return studies
        from judge.running.panel import SeveralReferences

        return SeveralReferences(studies, rule).asked

    def _counted_budget(self) -> SpendingLimit | None:
        """Return the budget of all runs, with what earlier commands have spent on them."""
        limit = self.plan.source.experiment.max_cost
        if limit is None:
            return None
        from judge.running.cost import SpendingLimit, spent_earlier
        from judge.running.spending import UnansweredRequests

        budget = SpendingLimit(limit)
        budget.counts_earlier = False
        counted_keys: set[str] = set()
        for runs in _by_session(self.plan.runs):
            session = self.session(runs[0])
            with session:
                if session.cache is None:
                    continue
                with UnansweredRequests(session.folder) as unanswered:
                    unknown = unanswered.by_key()
                uncounted = JudgeForecast(judge=runs[0].judge)
                dollars = spent_earlier(
                    session.plan,
                    session.cache,
                    self._asked(runs, uncounted),
                    unknown,
                    counted_keys,
                )
                budget.count_earlier(dollars)
        return budget

    # Judging

    def judge(
        self,
        listener: ProgressListener,
        ended: Callable[[FinishedRun | FailedRun, RunResult | None], None],
    ) -> None:
        """Judge the runs that are to be judged, and call `ended` after each.

        `listener` is told of the progress of all runs together. A run that cannot be judged is
        among the `failed`, and so are the further runs of a judge that could not go on. Raises
        `RunStoppedError` where all was interrupted, or the money was used up.
        """
        budget = self._counted_budget()
        sessions: dict[SessionKey, JudgeSession] = {}
        for runs in _by_session(self.todo):
            # All keys and servers are looked for before the first question is asked.
            sessions[runs[0].asked] = session_of(
                runs[0].settings,
                environ=self._environ,
                say=self._say,
                cache=self._cache,
                budget=budget,
            )
        self._before = Progress(total=self.n_studies)

        def tick(progress: Progress) -> None:
            listener.tick(self._together(progress))

        together = ProgressListener(tick, listener.say)
        for runs in _by_session(self.todo):
            session = sessions[runs[0].asked]
            with session.kept_open():
                self._judge_session(session, runs, together, ended)
            log = session.judge.log
            if log is not None and not self.failed:
                log.unlink()  # each run has a copy

    def interrupt(self) -> None:
        """End all runs within a second; called in another thread."""
        self._is_interrupted = True
        if self._session is not None:
            self._session.interrupt()

    def _together(self, progress: Progress) -> Progress:
        """Return how far all runs are, of which `progress` is the one under way."""
        together = replace(self._before, trouble=progress.trouble)
        together.lost_since = progress.lost_since
        together.retries = dict(self._before.retries)
        together.sentences = dict(self._before.sentences)
        together.add(progress)
        return together

    def _judge_session(
        self,
        session: JudgeSession,
        runs: Iterable[PlannedRun],
        listener: ProgressListener,
        ended: Callable[[FinishedRun | FailedRun, RunResult | None], None],
    ) -> None:
        given_up: FailedRun | None = None
        for planned in runs:
            if given_up is not None:
                why = f"not tried, as {given_up.planned.name} could not be judged"
                self._fail(replace(given_up, planned=planned, why=why), ended)
                continue
            session.begin()
            self._session = session
            if self._is_interrupted:
                session.interrupt()
            try:
                result = self._judge_one(session, planned, listener)
            except RunStoppedError as error:
                if error.option != GO_ON:
                    raise self._stopped(error) from error
                given_up = FailedRun(planned=planned, why=str(error), is_stopped=True)
                self._fail(given_up, ended)
            except JudgeError as error:
                failed = FailedRun(planned=planned, why=str(error))
                self._fail(failed, ended)
                # Nothing was begun where the run's own folder was at fault.
                if session.progress.total:
                    given_up = failed
            else:
                self._before = self._together(result.progress)
                finished = FinishedRun(
                    planned=planned,
                    path=result.path,
                    summary=result.summary,
                    is_new=True,
                )
                self.finished.append(finished)
                ended(finished, result)

    def _stopped(self, error: RunStoppedError) -> RunStoppedError:
        """Return the end of all runs that the end of one is."""
        return RunStoppedError(
            error.why,
            self._together(error.progress),
            error.option,
            n_finished=len(self.finished),
        )

    def _fail(
        self,
        failed: FailedRun,
        ended: Callable[[FinishedRun | FailedRun, RunResult | None], None],
    ) -> None:
        self.failed.append(failed)
        ended(failed, None)

    def _judge_one(
        self, session: JudgeSession, planned: PlannedRun, listener: ProgressListener
    ) -> RunResult:
        settings = planned.settings
        with session:
            return judge_run(
                session,
                self.studies(planned),
                out=self.plan.path(planned),
                by=settings.by,
                settings=settings,
                experiment=self.plan.entry(planned),
                references=settings.references,
                listener=listener,
            )


def _by_session(runs: Iterable[PlannedRun]) -> list[list[PlannedRun]]:
    """Return the runs of each session together, in their order."""
    sessions: dict[SessionKey, list[PlannedRun]] = {}
    for planned in runs:
        sessions.setdefault(planned.asked, []).append(planned)
    return list(sessions.values())


@cache
def _sha256_of(path: str, _stamp: tuple[int, int]) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sha256(path: str) -> str | None:
    """Return the digest of a file's bytes; None for a folder, and where it cannot be read."""
    if not is_regular(Path(os.path.realpath(path))):
        return None
    try:
        status = os.stat(path)  # noqa: PTH116
        return _sha256_of(path, (status.st_size, status.st_mtime_ns))
    except OSError:
        return None

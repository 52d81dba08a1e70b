"""Judging from Python: reports in, a DataFrame or a run out."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar, Unpack

import pandas as pd

from judge import rubrics
from judge.backends import LEXICON
from judge.experiments.execution import ExperimentRunner, plan_of
from judge.experiments.experiment import (
    Experiment,
    ExperimentSource,
    read_experiment,
)
from judge.results.experiment import ExperimentResult, result_of
from judge.results.run import Run
from judge.run_files.entries import RecognisedEntries
from judge.run_settings import DEFAULT_BY, RunSettings
from judge.running.combining import merge as merge_runs
from judge.running.combining import panel as panel_of
from judge.running.engine import judge_all
from judge.running.judging import judge_set
from judge.running.policy import RequestPolicy
from judge.running.progress import (
    INTERRUPTED,
    ProgressListener,
    RunStoppedError,
    StopSignal,
)
from judge.running.records import StudyResult, corrected_report
from judge.running.run import recognised_entries, with_classes
from judge.running.run import run as run_session
from judge.running.session import JudgeSession
from judge.running.settings import named_fields, with_context
from judge.running.settings import session_of as session_of_settings
from judge.running.shard import Shard
from judge.stats.significance import Resampling
from judge.stats.summary import TableBuilder, reserved_names
from judge.studies import StudySet, from_python
from judge.text import harmless
from judge.types import JudgeError
from judge.wording import for_python, in_python

T = TypeVar("T")
_USUAL_TESTS = Resampling()
Column: TypeAlias = "Sequence[object] | Mapping[Any, Any] | pd.Series[Any]"
"""One value per study, in order or by id."""
Reports: TypeAlias = "Column | pd.DataFrame | Iterable[Any]"
"""The reports of one side; a dataset is an iterable of records."""


class JudgeOptions(TypedDict, total=False):
    """The options of a judge; see `annotate`."""

    prompt: str | None
    base_url: str | Sequence[str] | None
    timeout: float
    max_tokens: int | None
    reply: str | None
    sampling: Mapping[str, object] | None
    service_tier: str | None
    options: Mapping[str, object] | None
    policy: RequestPolicy | None
    cache: str | Path | None


class ContextOptions(JudgeOptions, total=False):
    """The options of a judge and of the context that it is shown."""

    context_fields: Sequence[str] | None
    prior_field: str | None
    modality: str | None


class Options(ContextOptions, total=False):
    """The options of `annotate` and `run`."""

    columns: Mapping[str, str | Sequence[str]] | None
    study_ids: Sequence[object] | None
    study_classes: Column | None
    fields: Mapping[str, Column] | None
    section: str | None
    allow_missing: bool
    model: str | None
    shard: str | tuple[int, int] | None


_ROLES = ("id", "candidate", "reference", "class", "patient", "prior", "context")
_SHOWN = ("context_fields", "prior_field", "modality")
_REPORT_OPTIONS = ("study_ids", "study_classes", "fields", "section", "allow_missing")


@in_python()
def annotate(
    references: Reports,
    candidates: Reports | None = None,
    *,
    rubric: str = "green",
    judge: str = LEXICON,
    out: str | Path | None = None,
    **options: Unpack[Options],
) -> pd.DataFrame:
    """Judge candidate reports against their references.

    Parameters
    ----------
    references, candidates
        Lists of reports; dictionaries of id to report or Series, joined by id; or DataFrames, a
        `datasets.Dataset` and dictionaries of id to record: two joined by id, or one for both.
    rubric, judge
        A rubric's name; "lexicon", "vllm:MODEL", "hf:MODEL", or a model of an API such as
        "gpt-6-luna".
    out
        A folder for the run. By default only the cache is written.
    columns
        Fields with unusual names, by role, as of `--column`: `{"candidate": "ai_text"}`. The
        roles are id, candidate, reference, class, patient, prior, and context, which may be a list.
    study_ids, study_classes, fields
        Columns beside reports in lists; a class of None is inferred.
    policy
        A `judge.RequestPolicy`: how many requests at a time, how often again, when to give up.
    options
        Settings of a server that is started, as of `--server`; docs/python.md has the other
        keywords.

    Returns
    -------
    DataFrame
        One row per study, in the given order: the columns of a run's table of studies, `answer`,
        and `corrected` for a rubric that corrects lines. Scores and counts are missing if `outcome`
        is not "scored". `attrs["signature"]` has all settings that change a number. Of the
        built-in judge `attrs["recognised"]` says of how many statements (`n`) of the references
        and the candidates it recognised how many (`k`).

    Raises
    ------
    JudgeError
        For wrong arguments.
    RunStoppedError
        If it is interrupted, `policy.max_cost` is reached, or most of the first answers cannot be
        read; the answers so far are in the cache.
    """
    session, studies, run_options = _open(
        references, candidates, rubric, judge, options
    )
    table = TableBuilder(session.rubric, studies.fields)
    rows: list[int] = []
    answers: dict[str, list[Any]] = {"answer": [], "corrected": []}

    def keep(judged: StudyResult) -> None:
        table.add(judged.study, judged.outcome, judged.measures)
        rows.append(judged.row)
        answers["answer"].append(judged.completion.text if judged.completion else None)
        answers["corrected"].append(
            corrected_report(session.rubric, judged.study, judged.outcome)
        )

    def work() -> tuple[str, RecognisedEntries | None]:
        with session:
            if out is not None:
                finished = run_session(
                    session, studies, out=Path(out), also=keep, **run_options
                )
                summary = finished.summary
                return summary.signature, summary.recognised
            classed, class_source = with_classes(studies)
            shard = run_options["shard"]
            part = classed.take(shard.rows(classed)) if shard else classed
            judge_set(session, part, keep, ProgressListener())
            recognised = session.judge.recognised(part.references, part.candidates)
            entry = shard.entry(classed, ()) if shard else None
            identity = session.identity(classed, class_source, shard=entry)
            return identity.signature, recognised_entries(recognised)

    signature, recognised = _outside_any_loop(session, work)
    if not session.rubric.editor:
        del answers["corrected"]
    frame = (
        table.build()
        .assign(**answers)
        .set_axis(rows)
        .sort_index()
        .reset_index(drop=True)
    )
    frame.attrs["signature"] = signature
    frame.attrs["note"] = session.judge.note
    if recognised is not None:
        frame.attrs["recognised"] = recognised.model_dump()
    return frame


@in_python()
def run(
    references: Reports,
    candidates: Reports | None = None,
    *,
    rubric: str = "green",
    judge: str = LEXICON,
    out: str | Path | None = None,
    by: Sequence[str] = DEFAULT_BY,
    **options: Unpack[Options],
) -> Run:
    """Judge candidate reports as `annotate` does, write the run's folder and open it.

    Without `out` it is a folder below `judge-runs`; `by` are the fields that group the rates.
    """
    session, studies, run_options = _open(
        references, candidates, rubric, judge, options
    )
    by = [by] if isinstance(by, str) else by
    run_options |= {"out": None if out is None else Path(out), "by": by}

    def work() -> Run:
        with session:
            return Run.open(run_session(session, studies, **run_options).path)

    return _outside_any_loop(session, work)


@in_python(of_experiment=True)
def experiment(
    source: str | Path | Mapping[str, Any] | Experiment,
    *,
    only: Mapping[str, str | Sequence[str]] | None = None,
    out: str | Path | None = None,
    cache: str | Path | None = None,
    tests: Resampling | None = _USUAL_TESTS,
    sort: str | None = None,
    **changes: Any,  # noqa: ANN401
) -> ExperimentResult:
    """Judge the runs of an experiment that are not there yet, as `judge run` does.

    Parameters
    ----------
    source
        The path of an experiment's file; or its keys and values, with paths relative to the
        working folder.
    only
        The runs to judge and compare: names by axis, such as `{"model": ["alder", "birch"]}`. The
        axes are data, model, section, rubric and judge.
    out
        The folder of the runs, before that of the experiment. By default one below `judge-runs`.
    cache
        The folder of cached answers.
    tests
        How differences are tested, as in `compare`; None tests nothing.
    sort
        The metric to rank by, as in `compare`.
    changes
        Other values of keys of the experiment, such as `limit=50` or `max_cost=20.0`.

    Returns
    -------
    ExperimentResult
        The runs by name and the leaderboards. A run that could not be judged is in `failed`.

    Raises
    ------
    JudgeError
        For a file or a value that is at fault, and for reports that cannot be read; nothing was
        asked then.
    RunStoppedError
        If it is interrupted or `max_cost` is reached. What was answered is kept, and the same call
        goes on.
    """
    found = _source_of(source)
    found = replace(found, experiment=found.experiment.with_changes(**changes))
    wanted = {}
    for axis, names in (only or {}).items():
        wanted[axis] = [names] if isinstance(names, str) else list(names)
    plan = plan_of(found, only=wanted, out=None if out is None else Path(out))
    runner = ExperimentRunner(plan, environ=os.environ, say=_say, cache=cache)

    def work() -> ExperimentResult:
        with runner:
            runner.prepare()
            runner.read()
            if runner.todo:
                runner.judge(ProgressListener(), lambda _end, _result: None)
        return result_of(runner, tests, sort)

    return _outside_any_loop(runner, work)


def _source_of(source: str | Path | Mapping[str, Any] | Experiment) -> ExperimentSource:
    if isinstance(source, str | Path):
        return read_experiment(Path(source))
    if not isinstance(source, Experiment):
        source = Experiment.of(source)
    return ExperimentSource.of_values(source)


def merge(runs: Sequence[str | Path | Run], out: str | Path) -> Run:
    """Join the runs of all shards of a set into one, and open it.

    `runs` are runs or their folders, in any order. The files equal those of a run of the whole set,
    but for the manifest. Raises `JudgeError` for missing or duplicate shards.
    """
    return Run.open(merge_runs(_runs(runs), Path(out)).path)


def panel(
    runs: Sequence[str | Path | Run],
    out: str | Path,
    *,
    rule: Literal["majority", "mean"],
) -> Run:
    """Combine the runs of several judges by one rubric over the same studies.

    Raises `JudgeError` for runs that differ in more than the judge.
    """
    return Run.open(panel_of(_runs(runs), Path(out), rule).path)


def _open(
    references: Reports,
    candidates: Reports | None,
    rubric: str,
    judge: str,
    options: Options,
) -> tuple[JudgeSession, StudySet, dict[str, Any]]:
    """Return the session, the studies, and the shard and settings of their run."""
    _check_known(options, Options)
    values: dict[str, Any] = {
        name: value for name, value in options.items() if value is not None
    }
    reports = {name: values.pop(name) for name in _REPORT_OPTIONS if name in values}
    shard, model = values.pop("shard", None), values.pop("model", None)
    part = None if shard is None else Shard.of(shard)
    columns = _columns(values)
    shown = {name: values.pop(name) for name in _SHOWN if name in values}
    columns |= _shown_columns(shown)
    settings = settings_of(
        rubric,
        judge,
        values,
        columns=columns,
        section=reports.get("section"),
        allow_missing=reports.get("allow_missing", False),
        model=model,
        shard=None if part is None else str(part),
        modality=shown.get("modality"),
    )
    reserved = reserved_names(rubrics.load(rubric))
    studies = from_python(
        references,
        candidates,
        reserved=reserved,
        named=named_fields(settings),
        **reports,
    )
    studies = with_context(studies, settings, rubrics.load(rubric))
    if model is not None:
        studies = replace(studies, model=model)
    session = session_of_settings(
        settings, environ=os.environ, say=_say, cache=values.get("cache")
    )
    return session, studies, {"shard": part, "settings": settings}


def _columns(values: dict[str, Any]) -> dict[str, Any]:
    """Remove `columns` from `values`, and return the fields as `ColumnSettings` has them.

    Those of the context stay in `values`. Raises `JudgeError` for an unknown role, and for a role
    that another keyword names too.
    """
    columns = values.pop("columns", {})
    if not isinstance(columns, Mapping):
        raise JudgeError(
            f"columns is a {type(columns).__name__}; give a dictionary of role to field"
        )
    for role, field in columns.items():
        if role not in _ROLES:
            raise JudgeError(
                f"columns: no role {role!r}; the roles are {', '.join(_ROLES)}"
            )
        is_list = role == "context" and isinstance(field, list | tuple)
        if not isinstance(field, str) and not is_list:
            raise JudgeError(
                f"columns: the field of {role!r} is a name, not {field!r:.60}"
            )
    for role, keyword in (("context", "context_fields"), ("prior", "prior_field")):
        if role in columns and keyword in values:
            raise JudgeError(
                f"columns[{role!r}] and {keyword} name the same; give one of them"
            )
        if role in columns:
            values[keyword] = columns[role]
    named = {role: columns.get(role) for role in ("id", "candidate", "reference")}
    return {
        **named,
        "study_class": columns.get("class"),
        "patient": columns.get("patient"),
    }


def _shown_columns(shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that the judge is shown, as `ColumnSettings` has them."""
    context = shown.get("context_fields")
    if isinstance(context, str):
        context = [context]
    return {
        "context": None if context is None else list(context),
        "prior": shown.get("prior_field"),
    }


def context_of(rubric: str, options: dict[str, Any]) -> dict[str, Any]:
    """Remove the `ContextOptions` from `options`; return them as `attach_context` takes them."""
    context = options.pop("context_fields", None)
    if context is None and not rubrics.load(rubric).takes_context:
        context = ()
    return {
        "context": [context] if isinstance(context, str) else context,
        "prior": options.pop("prior_field", None),
        "modality": options.pop("modality", None),
    }


def session_of(
    rubric: str, judge: str, options: Mapping[str, Any], modality: str | None = None
) -> JudgeSession:
    """Return the session of a judge with some `JudgeOptions`; nothing is asked."""
    settings = settings_of(rubric, judge, options, modality=modality)
    return session_of_settings(
        settings, environ=os.environ, say=_say, cache=options.get("cache")
    )


def _say(text: str) -> None:
    print(harmless(for_python(text)), file=sys.stderr)


def settings_of(
    rubric: str,
    judge: str,
    options: Mapping[str, Any],
    **more: Any,  # noqa: ANN401
) -> RunSettings:
    """Return the settings of a judge with some `JudgeOptions`, and further settings of the run.

    Raises `JudgeError` for an unknown option, and for a value that cannot be.
    """
    _check_known(options, JudgeOptions)
    values = {name: value for name, value in options.items() if value is not None}
    values.pop("cache", None)
    policy = values.pop("policy", None)
    if policy is not None:
        values |= asdict(policy)
    if "options" in values:
        values["server"] = dict(values.pop("options"))
    if "sampling" in values:
        values["sampling"] = dict(values["sampling"])
    addresses = values.get("base_url", ())
    values["base_url"] = [addresses] if isinstance(addresses, str) else list(addresses)
    return RunSettings.of(rubric=rubric, judge=judge, **values, **more)


def _check_known(options: Iterable[str], known: type[JudgeOptions]) -> None:
    names = known.__annotations__
    if unknown := next((name for name in options if name not in names), None):
        raise JudgeError(
            f"there is no option {unknown!r}; there are: {', '.join(names)}"
        )


def _runs(runs: Iterable[str | Path | Run]) -> list[Run]:
    return [run if isinstance(run, Run) else Run.open(run) for run in runs]


class _Interruptible(Protocol):
    def interrupt(self) -> None:
        """End within a second; called in another thread."""


def _outside_any_loop(session: _Interruptible, work: Callable[[], T]) -> T:
    """Do the work in another thread if this one runs an event loop, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    pool = ThreadPoolExecutor(max_workers=1)
    try:
        future = pool.submit(work)
        try:
            with _ctrl_c_raises():
                return future.result()
        except BaseException as error:
            if future.done():
                raise  # it is the work's own
            session.interrupt()
            with _ctrl_c_raises():
                future.result()  # raises `RunStoppedError`, as without a running loop
            raise error from None
    finally:
        pool.shutdown(wait=False)


@contextmanager
def _ctrl_c_raises() -> Iterator[None]:
    """Let Ctrl-C raise `KeyboardInterrupt` in the block, also where a running loop would wait.

    `asyncio.run` has a handler that cancels its task and no more: not what blocks that task.
    """
    before = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class BackgroundJudge:
    """A judge that stays loaded: judges sets of studies as they come, in a thread with a loop.

    All share the session's cache, limits and budget. A call that is cancelled or that meets an
    error ends alone: its requests under way are still answered and kept, and another call that
    waits for the same answer gets it. After a stop of all, as by `max_cost`, the next call begins
    anew.
    """

    def __init__(self, session: JudgeSession) -> None:
        self.session = session
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0
        self._is_closed = False
        self._n_calls = 0
        self._begins_anew = False

    async def judge(self, studies: StudySet) -> list[StudyResult]:
        """Return the result of every study, in their order; to be awaited in the thread."""
        session = self.session
        if self._begins_anew and self._n_calls == 0:
            session.begin()
            self._begins_anew = False
        ends: list[StudyResult] = []
        stop, shared, progress = StopSignal(), session.stop, session.progress
        self._n_calls += 1
        try:
            await judge_all(session, studies, ends.append, stop)
        except JudgeError:
            self._begins_anew = True
            raise
        finally:
            self._n_calls -= 1
        if len(ends) < len(studies):
            self._begins_anew = True
            raise RunStoppedError(stop.why or shared.why or INTERRUPTED, progress)
        return sorted(ends, key=lambda end: end.row)

    def submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Start `work()` in the thread; cancelling the future stops asking for it."""
        with self._lock:
            if self._is_closed:
                raise JudgeError("this judge was closed: make a new one")
            if self._loop is None:
                self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
                # At the end of the process there is nothing to do: its servers end with it.
                self._thread = threading.Thread(target=self._live, daemon=True)
                self._thread.start()
            if self._pid != os.getpid():
                raise JudgeError(
                    "a forked process cannot use the judge of the first: make a new one"
                )
            return asyncio.run_coroutine_threadsafe(work(), self._loop)

    def _live(self) -> None:  # holds the judge until the process ends
        assert self._loop is not None
        self._loop.run_forever()

    def wait(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do `work()` in the thread; returns what it gives, or raises what it raises."""
        future = self.submit(work)
        try:
            with _ctrl_c_raises():
                return future.result()
        except BaseException:  # Ctrl-C among them
            future.cancel()
            raise

    def close(self) -> None:
        """Stop asking, and let go of the judge; returns when nothing of it is left."""
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
        loop = self._loop
        if loop is not None and not was_closed and self._pid == os.getpid():
            asyncio.run_coroutine_threadsafe(self._end(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()
            loop.close()

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with self.session:
            await self.session.judge.aclose()

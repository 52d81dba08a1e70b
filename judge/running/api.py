"""The same from Python: reports in, a DataFrame or a run out."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, TypeVar, Unpack

import pandas as pd

from judge import rubrics
from judge.backends import LEXICON, JudgeSettings
from judge.report.words import harmless
from judge.running.aggregate import panel as panel_of
from judge.running.aggregate import rule_called
from judge.running.asking import RequestPolicy
from judge.running.engine import ProgressListener, judge_set
from judge.running.folder import Run
from judge.running.merging import merge as merge_runs
from judge.running.records import Judged, corrected_report
from judge.running.run import run as run_session
from judge.running.run import with_classes
from judge.running.session import JudgeSession
from judge.running.shards import Shard
from judge.stats.table import DEFAULT_BY, TableBuilder, reserved_names
from judge.studies import StudySet, from_given
from judge.studies.names import given_model
from judge.studies.told import with_told
from judge.types import JudgeError

T = TypeVar("T")
Column: TypeAlias = "Sequence[object] | Mapping[Any, Any] | pd.Series[Any]"
"""One value a study: in an order, or by id."""
Reports: TypeAlias = "Column | pd.DataFrame | Iterable[Any]"
"""The reports of one side; a dataset is known by its iterating over records."""


class JudgeOptions(TypedDict, total=False):
    """What a judge takes beside its name, all by keyword; `annotate` says what each is."""

    prompt: str | None
    base_url: str | Sequence[str] | None
    timeout: float
    max_tokens: int | None
    reply: str | None
    sampling: Mapping[str, object]
    samples: int
    options: Mapping[str, object]
    policy: RequestPolicy | None
    cache: str | Path | None


class Options(JudgeOptions, total=False):
    """What `annotate` and `run` take beside reports, rubric and judge, all by keyword."""

    study_ids: Sequence[object] | None
    study_classes: Column | None
    fields: Mapping[str, Column] | None
    section: str | None
    allow_missing: bool
    context_fields: Sequence[str] | None
    prior_field: str | None
    modality: str | None
    model: str | None
    shard: str | tuple[int, int] | None


_OF_REPORTS = ("study_ids", "study_classes", "fields", "section", "allow_missing")


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
        n reports each. Lists go by their order. Two dictionaries of id to report are joined
        by id, and so are two Series, by their index; the order is that of the references.
        DataFrames, a `datasets.Dataset` and dictionaries of id to record are read as the
        command line reads a file, with its names of fields: two joined by id (a DataFrame's
        index where it has no such column), or one as `references` that holds both sides.
        Their further columns are kept as fields.
    rubric
        A rubric's name, such as "green".
    judge
        Who answers: "lexicon", the built-in baseline; "vllm:MODEL", a model that vLLM
        serves; "hf:MODEL", one in this process; or a model behind an OpenAI-compatible
        server, such as "gpt-4o", whose key comes from the environment.
    out
        A folder for the run, which `judge audit`, `rates`, `compare` and `serve` open. By
        default nothing is written but the cache.
    study_ids
        n distinct ids; by default the index of a Series, else "0", "1", ...
    study_classes
        n study classes, in the order of the references, or by id as they are; a None is
        inferred from the reference by the lexicon and marked in `class_inferred`.
    fields
        Further columns of n values each (site, dataset, patient, ...), likewise.
    section
        Of tables: what to judge, "findings", "impression" or "report"; by default findings
        where the references have them. Texts of lists and dictionaries are judged as they are.
    allow_missing
        Leave out, and count, studies that are on one side only or lack a text on a side.
    context_fields
        The fields that tell the judge of the patient (age, sex, indication, ...), an empty list for
        none; by default those that are known by their names for a rubric that takes context, such
        as "crimson", else none. A value is a text, ReXrank's `context`, or an object.
    prior_field
        The field with the report of the patient's earlier examination, which the judge is shown.
    modality
        What the reports are of: "xr", "ct", "mr", "us", "mg", or the field that says it.
    model
        The model whose reports the candidates are, for titles, lists and comparisons; by default
        the field `model` where that is the same for all studies.
    prompt, base_url, timeout, max_tokens
        For a model behind a server: the wording of the question (a name or a path), where
        the server is (a list where several share the load), the seconds to wait for one
        answer, the tokens that bound it (2,048, or 25,000 for a model that is known to
        reason or is given a reasoning effort).
    reply
        "text" or "structured"; by default what suits rubric, model and prompt.
    sampling
        Further parameters of a request by their name: "temperature" (0 by default), "top_p",
        "seed", "reasoning_effort", or any other that the server takes.
    samples
        How many answers to the same question each study gets, for a rubric that takes several.
    options
        What one kind of judge alone takes. "vllm:MODEL" has `vllm_args`, a list of flags for
        the `vllm serve` that it starts, such as "--dtype=float32", and `vllm_timeout`, the
        seconds that this may take; "ray:MODEL", the same on a Ray cluster, has both and
        `ray_address`, `ray_replicas` and `gpus_per_replica`.
    policy
        How many requests at a time, how often again and when to give up, a
        `judge.RequestPolicy`; for the built-in judge also in how many processes (`workers`).
    shard
        (3, 8) or "3/8" judges the third of eight fixed parts of the studies, by their ids;
        `judge.merge` joins the runs of all parts.
    cache
        The folder where a model's answers are kept; by default `JUDGE_CACHE`, else the
        platform's cache folder. What is there is not asked for again.

    Returns
    -------
    DataFrame
        One row a study, in the order given: the columns of a run's table of studies and
        `answer`, the judge's raw answer; for a rubric that corrects lines also `corrected`,
        the candidate with the corrections made. Scores and counts are missing wherever `outcome`
        is not "annotated". `attrs["signature"]` names everything that made the numbers;
        `attrs["note"]` is what a reader of them must be told about the judge.

    Raises
    ------
    JudgeError
        For an unknown rubric, judge or option, lengths that differ, ids that repeat or are on one
        side only, one text where a list belongs, columns that are missing, a sampling
        parameter that the judge does not take, a key that is not set or refused, a cache
        that cannot be used, an `out` that holds another run, and where most of the first
        `policy.give_up_after` answers cannot be read.
    RunStoppedError
        When it is interrupted or `policy.max_cost` is reached; the answers so far are in
        the cache.

    """
    shard = _shard(options)
    session, given, asked = _opened(references, candidates, rubric, judge, options)
    table = TableBuilder(session.rubric, given.fields)
    answers: dict[int, str | None] = {}
    corrected: list[str | None] = []

    def keep(judged: Judged) -> None:
        table.add(judged.study, judged.outcome, judged.measures)
        answers[judged.at] = judged.completion.text if judged.completion else None
        corrected.append(corrected_report(session.rubric, judged.study, judged.outcome))

    def work() -> str:
        with session:
            if out is not None:
                path = Path(out)
                done = run_session(
                    session, given, out=path, arguments=asked, shard=shard, also=keep
                )
                return str(done.summary["signature"])
            studies, class_source = with_classes(given)
            judged = studies.take(shard.rows(studies)) if shard else studies
            judge_set(session, judged, keep, ProgressListener())
            return session.signature(studies, class_source, shard)

    line = _outside_any_loop(work)
    # Studies may have ended in any order; `answers` remembers which.
    frame = table.build()
    frame["answer"] = list(answers.values())
    if session.rubric.editor:
        frame["corrected"] = corrected
    frame.index = list(answers)
    frame = frame.sort_index().reset_index(drop=True)
    frame.attrs["signature"] = line
    frame.attrs["note"] = session.judge.note
    return frame


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

    `out` defaults to a folder below `judge-runs` whose name is made from the signature, so
    the same run has the same place. `by` are the fields that its summary groups the rates
    by; `Run.rates` groups them by any others. The rest is as in `annotate`, and so is what
    is raised; a `JudgeError` also for an unknown field in `by`.
    """
    shard = _shard(options)
    session, studies, asked = _opened(references, candidates, rubric, judge, options)

    def work() -> Run:
        with session:
            path = None if out is None else Path(out)
            fields = [by] if isinstance(by, str) else by
            done = run_session(session, studies, out=path, by=fields, arguments=asked, shard=shard)
            return Run(done.path)

    return _outside_any_loop(work)


def merge(
    runs: Sequence[str | Path | Run],
    out: str | Path,
    *,
    allow_missing: bool = False,
    by: Sequence[str] | None = None,
) -> Run:
    """Join the runs of all shards of a set into one, and open it.

    `runs` are those of `run(..., shard=(1, n))` to `(n, n)`, or their folders, in any order. The
    files are those of the run of the whole set, to the byte but for the manifest, which names the
    shards and adds up what they spent. With `allow_missing` some may be missing; signature and
    notes then say which. `by` are the fields that the rates are grouped by, by default as in the
    shards. Raises `JudgeError` for shards that are missing, there twice, damaged or not of one
    run, and for an `out` that holds another run.
    """
    opened = [one if isinstance(one, Run) else Run(one) for one in runs]
    fields = [by] if isinstance(by, str) else by
    return Run(merge_runs(opened, Path(out), allow_missing=allow_missing, by=fields).path)


def panel(
    runs: Sequence[str | Path | Run],
    out: str | Path,
    *,
    rule: str,
    min_judges: int | None = None,
    by: Sequence[str] | None = None,
    allow: Sequence[str] = (),
) -> Run:
    """Make one run out of those of several judges, of one rubric over the same studies.

    `rule` is "majority" or "mean", as in `judge panel`; a study is scored where all judges
    scored it, or at least `min_judges`. `by` are the fields that the rates are grouped by, by
    default as in the run of the judge that is first by name; with "prompt" in `allow` the judges
    may have read different prompts, or been told different things. Raises `JudgeError` for runs
    that do not fit together, and for an `out` that holds another run.
    """
    opened = [one if isinstance(one, Run) else Run(one) for one in runs]
    fields = [by] if isinstance(by, str) else by
    done = panel_of(
        opened, Path(out), rule_called(rule), min_judges=min_judges, by=fields, allow=allow
    )
    return Run(done.path)


def _opened(
    references: Reports, candidates: Reports | None, rubric: str, judge: str, given: Options
) -> tuple[JudgeSession, StudySet, dict[str, object]]:
    _check_known(given, Options)
    asked: dict[str, object] = {"rubric": rubric, "judge": judge, "prompt": given.get("prompt")}
    options: dict[str, Any] = {k: value for k, value in given.items() if value is not None}
    of_reports = {name: options.pop(name) for name in _OF_REPORTS if name in options}
    model = options.pop("model", None)
    told = {name: options.pop(name, None) for name in ("prior_field", "modality")}
    context = options.pop("context_fields", None if rubrics.load(rubric).takes_context else ())
    options.pop("shard", None)
    studies = from_given(
        references, candidates, reserved=reserved_names(rubrics.load(rubric)), **of_reports
    )
    studies = with_told(
        studies,
        context=[context] if isinstance(context, str) else context,
        prior=told["prior_field"],
        modality=told["modality"],
    )
    if model is not None:
        studies = replace(studies, model=given_model(model, "with model=..."))
    return session_of(rubric, judge, options), studies, asked


def session_of(rubric: str, judge: str, options: Mapping[str, Any]) -> JudgeSession:
    """Return the session of a judge with the `JudgeOptions` of a caller; nothing is asked.

    Raises `JudgeError` for another option, and as `JudgeSession.load` does.
    """
    _check_known(options, JudgeOptions)
    given = {name: value for name, value in options.items() if value is not None}
    policy, cache = given.pop("policy", None), given.pop("cache", None)
    settings = JudgeSettings(
        **given,
        environ=os.environ,
        say=lambda text: print(harmless(text), file=sys.stderr),
    )
    return JudgeSession.load(rubric, judge, settings, policy=policy, cache=cache)


def _check_known(given: Iterable[str], known: type[JudgeOptions]) -> None:
    names = [*known.__annotations__]
    if unknown := next((name for name in given if name not in names), None):
        raise JudgeError(f"there is no option {unknown!r}; there are: {', '.join(names)}")


def _shard(given: Options) -> Shard | None:
    named = given.get("shard")
    return None if named is None else Shard.of(named)


def _outside_any_loop(work: Callable[[], T]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(work).result()

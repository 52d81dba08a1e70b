"""The same from Python: reports in, a DataFrame out."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pandas as pd

from judge import backends, rubrics
from judge.cache import CompletionCache, place
from judge.run.asking import Effort
from judge.run.classes import with_classes
from judge.run.engine import Judged
from judge.run.judging import Watch, judge_set
from judge.run.record import corrected_report
from judge.run.signature import signature
from judge.stats.table import TableBuilder, reserved_names
from judge.studies import StudySet, from_columns
from judge.types import JudgeError

_REPORTS = ("reference", "candidate")


def annotate(
    references: Sequence[str] | pd.Series[str] | pd.DataFrame,
    candidates: Sequence[str] | pd.Series[str] | None = None,
    *,
    rubric: str = "green",
    judge: str = backends.LEXICON,
    study_ids: Sequence[object] | None = None,
    study_classes: Sequence[str | None] | None = None,
    fields: Mapping[str, Sequence[object]] | None = None,
    prompt: str | None = None,
    base_url: str | Sequence[str] | None = None,
    vllm_args: Sequence[str] = (),
    timeout: float = backends.TIMEOUT,
    max_tokens: int = backends.MAX_TOKENS,
    cache: str | Path | None = None,
    effort: Effort | None = None,
) -> pd.DataFrame:
    """Judge candidate reports against their references.

    Parameters
    ----------
    references, candidates
        n reports each, in the same order. Or one DataFrame as `references`, with the
        columns `reference` and `candidate` and optionally `study_id` and `study_class`;
        its further columns are kept as fields.
    rubric
        A rubric's name, such as "green".
    judge
        Who answers: "lexicon", the built-in baseline; "vllm:MODEL", a model that vLLM
        serves; "hf:MODEL", one in this process; or a model behind an OpenAI-compatible
        server, such as "gpt-4o", whose key comes from the environment.
    study_ids
        n distinct ids; "0", "1", ... by default.
    study_classes
        n study classes; a None is inferred from the reference by the lexicon and marked
        in `class_inferred`.
    fields
        Further columns of n values each (site, dataset, patient, ...).
    prompt, base_url, timeout, max_tokens
        For a model behind a server: the wording of the question (a name or a path), where
        the server is (a list where several share the load), the seconds to wait for one
        answer, the tokens that bound it.
    vllm_args
        Flags for the `vllm serve` that "vllm:MODEL" starts, such as "--dtype=float32".
    cache
        The folder where such a model's answers are kept; by default `JUDGE_CACHE`, else the
        platform's cache folder. What is there is not asked for again.
    effort
        How many requests at a time and how hard to try, a `judge.run.asking.Effort`.

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
        For an unknown rubric or judge, lengths that differ, ids that repeat, columns that
        are missing, a key that is not set or refused, and a cache that cannot be used.
    RunStoppedError
        When it is interrupted or `effort.max_cost` is reached; the answers so far are in
        the cache.

    """
    chosen = rubrics.load(rubric)
    reserved = reserved_names(chosen)
    if isinstance(references, pd.DataFrame):
        if not (
            candidates is None and study_ids is None and study_classes is None and fields is None
        ):
            raise JudgeError("annotate: a DataFrame holds everything; pass nothing beside it")
        given = _from_frame(references, reserved)
    elif candidates is None:
        raise JudgeError("annotate: candidates are missing; pass them, or one DataFrame with both")
    else:
        given = from_columns(
            list(references),
            list(candidates),
            study_ids=None if study_ids is None else list(study_ids),
            study_classes=None if study_classes is None else _or_none(study_classes),
            fields=fields,
            reserved=reserved,
        )
    settings = backends.Settings(
        prompt=prompt,
        base_url=base_url,
        timeout=timeout,
        max_tokens=max_tokens,
        environ=os.environ,
        say=lambda text: print(text, file=sys.stderr),
        vllm_args=vllm_args,
    )
    answering = backends.load(judge, chosen, settings)
    effort = effort or Effort()
    studies, class_source = with_classes(given)
    table = TableBuilder(chosen, studies.fields)
    answers: dict[int, str | None] = {}
    corrected: list[str | None] = []

    def keep(judged: Judged) -> None:
        table.add(judged.study, judged.outcome, judged.counts)
        answers[judged.at] = judged.completion.text if judged.completion else None
        corrected.append(corrected_report(chosen, judged.study, judged.outcome))

    def work() -> None:
        with ExitStack() as stack:
            kept = None
            if not answering.is_free:
                folder = place(Path(cache) if cache else None, os.environ)
                kept = stack.enter_context(CompletionCache(folder))
            judge_set(studies, chosen, answering, keep, cache=kept, effort=effort, watch=Watch())

    _outside_any_loop(work)
    # Studies may have ended in any order; `answers` remembers which.
    frame = table.build()
    frame["answer"] = list(answers.values())
    if chosen.corrected:
        frame["corrected"] = corrected
    frame.index = list(answers)
    frame = frame.sort_index().reset_index(drop=True)
    frame.attrs["signature"] = signature(chosen, answering, studies, class_source, effort.reask)
    frame.attrs["note"] = answering.note
    return frame


def _from_frame(frame: pd.DataFrame, reserved: list[str]) -> StudySet:
    if lacking := [name for name in _REPORTS if name not in frame.columns]:
        raise JudgeError(
            f"annotate: the DataFrame has no column {' and none '.join(map(repr, lacking))}; "
            f"it has: {', '.join(map(str, frame.columns))}"
        )
    columns = {str(name): _or_none(frame[name]) for name in frame.columns}
    return from_columns(
        columns.pop("reference"),
        columns.pop("candidate"),
        study_ids=columns.pop("study_id", None),
        study_classes=columns.pop("study_class", None),
        fields=columns,
        reserved=reserved,
    )


def _or_none(values: Iterable[Any]) -> list[Any]:
    """Return `values` as a list with None for what pandas holds to be missing."""
    return [None if pd.api.types.is_scalar(value) and pd.isna(value) else value for value in values]


def _outside_any_loop(work: Callable[[], None]) -> None:
    """Run `work`, which starts an event loop, also from inside a running one (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        work()
        return
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(work).result()

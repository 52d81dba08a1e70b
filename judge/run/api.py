"""The same from Python: reports in, a DataFrame out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from judge import backends, rubrics
from judge.run.classes import with_classes
from judge.run.engine import Judged, judge_all
from judge.run.signature import signature
from judge.stats.table import TableBuilder
from judge.studies import StudySet, from_columns
from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd

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
        Who answers, such as "lexicon", the built-in baseline.
    study_ids
        n distinct ids; "0", "1", ... by default.
    study_classes
        n study classes; a None is inferred from the reference by the lexicon and marked
        in `class_inferred`.
    fields
        Further columns of n values each (site, dataset, patient, ...).

    Returns
    -------
    DataFrame
        One row a study, in the order given: the columns of a run's table of studies and
        `answer`, the judge's raw answer. Scores and counts are missing wherever `outcome`
        is not "annotated". `attrs["signature"]` names everything that made the numbers;
        `attrs["note"]` is what a reader of them must be told about the judge.

    Raises
    ------
    JudgeError
        For an unknown rubric or judge, lengths that differ, ids that repeat, and columns
        that are missing.

    """
    if hasattr(references, "columns"):
        if not (
            candidates is None and study_ids is None and study_classes is None and fields is None
        ):
            raise JudgeError("annotate: a DataFrame holds everything; pass nothing beside it")
        given = _from_frame(references)
    elif candidates is None:
        raise JudgeError("annotate: candidates are missing; pass them, or one DataFrame with both")
    else:
        given = from_columns(
            list(references),
            list(candidates),
            study_ids=None if study_ids is None else list(study_ids),
            study_classes=None if study_classes is None else _or_none(study_classes),
            fields=fields,
        )
    chosen = rubrics.load(rubric)
    answering = backends.load(judge, chosen)
    studies, class_source = with_classes(given)
    table = TableBuilder(chosen, studies.fields)
    answers: dict[int, str | None] = {}

    def keep(judged: Judged) -> None:
        table.add(judged.study, judged.outcome, judged.counts)
        answers[judged.at] = judged.completion.text if judged.completion else None

    _outside_any_loop(lambda: asyncio.run(judge_all(studies, answering, chosen, keep)))
    # Studies may have ended in any order; `answers` remembers which.
    frame = table.build()
    frame["answer"] = list(answers.values())
    frame.index = list(answers)
    frame = frame.sort_index().reset_index(drop=True)
    frame.attrs["signature"] = signature(chosen, answering, studies, class_source)
    frame.attrs["note"] = answering.note
    return frame


def _from_frame(frame: pd.DataFrame) -> StudySet:
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
    )


def _or_none(values: Iterable[object]) -> list[Any]:
    """Return `values` as a list with None for what pandas holds to be missing."""
    import pandas as pd

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

"""A scorer for inspect_ai: the target of a sample is the reference, its output the candidate."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from judge.api import BackgroundJudge, JudgeOptions, session_of
from judge.backends import LEXICON
from judge.rubrics.quantities import measure_of
from judge.running.policy import RequestPolicy
from judge.running.records import to_record
from judge.running.run import with_classes
from judge.studies import from_python
from judge.studies.study_set import attach_context
from judge.text import says_nothing
from judge.types import Annotated, JudgeError

# Parts of a record that the sample has already, or that only the cache needs.
_LEFT_OUT = (
    "reference",
    "candidate",
    "fields",
    "answer",
    "earlier",
    "sha256",
    "corrected",
)
_STOPPED = {
    "content_filter": "refusal",
    "max_tokens": "truncated",
    "model_length": "truncated",
}


def _radiology_judge(
    rubric: str = "green",
    judge: str = LEXICON,
    measure: str | None = None,
    prompt: str | None = None,
    base_url: str | Sequence[str] | None = None,
    max_tokens: int | None = None,
    reply: str | None = None,
    sampling: Mapping[str, object] | None = None,
    concurrency: int | None = None,
    cache: str | None = None,
) -> Scorer:
    """Score reports by a rubric: the output of a sample against its target.

    The value is `measure`, by default the rubric's main score. What cannot be scored is unscored.
    `concurrency` is the number of samples judged at a time; see `judge.annotate` for the others.
    """
    # Samples are judged one by one: the share of unread answers is unknown after a few.
    policy = RequestPolicy(concurrency, give_up_after=0)
    options: JudgeOptions = {
        "prompt": prompt,
        "base_url": base_url,
        "max_tokens": max_tokens,
    }
    options |= {"reply": reply, "sampling": sampling, "cache": cache, "policy": policy}
    session = session_of(rubric, judge, options)
    chosen = measure_of(session.rubric, measure)
    thread = BackgroundJudge(session)

    async def score(state: TaskState, target: Target) -> Score:
        if len(target) != 1 or says_nothing(target.text):
            raise JudgeError(
                f"sample {state.sample_id} needs one target, the reference report"
            )
        choices = state.output.choices
        stopped = choices[0].stop_reason if choices else "no output"
        # Where the model ended by itself even an empty output is a report.
        is_empty = stopped != "stop" and not state.output.completion.strip()
        error = state.output.error or ""
        if reason := _STOPPED.get(stopped) or (
            "no_response" if error or is_empty else None
        ):
            return _unscored(reason, f"the model stopped: {stopped}. {error}")
        takes_context = session.rubric.takes_context
        fields = (state.metadata or {}) if takes_context else {}
        studies = from_python(
            [target.text],
            [state.output.completion],
            study_ids=[str(state.sample_id)],
            fields={str(name): [value] for name, value in fields.items()},
        )
        studies = attach_context(studies, context=None if takes_context else ())
        studies, class_source = with_classes(studies)
        (judged,) = await asyncio.wrap_future(
            thread.submit(partial(thread.judge, studies))
        )
        record = to_record(judged, session.rubric)
        metadata = {key: value for key, value in record.items() if key not in _LEFT_OUT}
        metadata["signature"] = session.identity(studies, class_source).signature
        metadata["judge_note"] = session.judge.note
        recognised = session.judge.recognised(studies.references, studies.candidates)
        if recognised is not None:
            metadata["recognised"] = recognised
        if not isinstance(judged.outcome, Annotated) or judged.measures is None:
            why = f"{record['outcome']}: {record['reason']}. {record['detail'] or ''}".strip()
            return _unscored("grader_failed", why, **metadata)
        explanation = judged.completion and judged.completion.text
        if session.rubric.render:
            explanation = session.rubric.render(judged.outcome.annotation)
        value = judged.measures[chosen.name]
        if value is None:
            why = f"{chosen.name} is not defined: {chosen.undefined}\n{explanation}"
            return _unscored("undefined", why, **metadata)
        return Score(value=float(value), explanation=explanation, metadata=metadata)

    return score


def _unscored(reason: str, why: str, /, **metadata: Any) -> Score:  # noqa: ANN401
    metadata = {"outcome": "not judged", "reason": reason, "measures": None, **metadata}
    return Score.unscored(reason=reason, explanation=why, metadata=metadata)


radiology_judge = scorer(metrics=[mean(), stderr()], name="radiology_judge")(
    _radiology_judge
)

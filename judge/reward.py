"""Rewards for training: a judge's measure of a report, as TRL and verl ask for it."""

from __future__ import annotations

import logging
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from importlib import metadata
from typing import Any, Unpack

from judge.api import BackgroundJudge, ContextOptions, context_of, session_of
from judge.backends import LEXICON
from judge.plugins import version
from judge.rubrics.quantities import reward_of
from judge.running.policy import RequestPolicy
from judge.running.records import StudyResult
from judge.signature import signature_line
from judge.studies import from_python
from judge.studies.study_set import attach_context, prior_report
from judge.text import says_nothing
from judge.types import Failed, JudgeError, Unparsed

_LOG = logging.getLogger("judge.reward")
# The first TRL that leaves out a completion without a reward; earlier ones take it as 0.
_TRL = (1, 6)


class Reward(AbstractContextManager["Reward"]):
    """A measure of a rubric as a reward: more is always better.

    A measure of which less is better (errors, FineRadScore) has its sign changed. The judge is
    loaded at the first question and stays loaded. A copy in another process (by pickle; for the
    functions cloudpickle, as in Ray) has its own judge and counts.

    Parameters
    ----------
    rubric, judge, options
        As in `judge.annotate`; the judge is shown only the fields that `context_fields`
        and `prior_field` name: TRL's columns, or keys of verl's `extra_info`.
    measure
        A measure of the rubric; by default the score with the rubric's name, or its only score.
    report
        A function from a completion's text to the report in it, by default the whole text; None for
        a completion without a report, which has no reward.

    """

    def __init__(
        self,
        *,
        rubric: str = "green",
        judge: str = LEXICON,
        measure: str | None = None,
        report: Callable[[str], str | None] = str,
        **options: Unpack[ContextOptions],
    ) -> None:
        arguments: Any = {
            "rubric": rubric,
            "judge": judge,
            "measure": measure,
            "report": report,
        }
        self._copy = partial(type(self), **arguments, **options)
        values: dict[str, Any] = {"context_fields": (), **options}
        self._context = context_of(rubric, values)
        values["policy"] = values.get("policy") or RequestPolicy(give_up_after=0)
        self._session = session_of(
            rubric, judge, values, modality=self._context["modality"]
        )
        self._thread = BackgroundJudge(self._session)
        self._report = report
        self.measure = reward_of(self._session.rubric, measure)
        sign = "" if self.measure.higher_is_better else "minus_"
        self.name = f"{sign}{self.measure.name}"
        self.n_scored = 0
        self.unscored: Counter[str] = Counter()

    def __reduce__(self) -> tuple[Callable[[], Reward], tuple[()]]:
        return self._copy, ()

    @property
    def signature(self) -> str:
        """The settings that make the rewards."""
        report = getattr(self._report, "__qualname__", type(self._report).__qualname__)
        made_of = self.name
        if self._report is not str:
            made_of = f"{self.name}({report})"
        context = [f"{name}:{value}" for name, value in self._context.items() if value]
        judged_by = self._session.judged_by()
        settings = [f"{name}:{text}" for name, text in judged_by.judge_parts().items()]
        parts = [
            *judged_by.rubric_parts(),
            *settings,
            *context,
            f"reward:{made_of}",
            f"version:{version()}",
        ]
        return signature_line(parts)

    def trl(
        self, reference: str = "reference", *, unscored: float | None = None
    ) -> Callable[..., list[float | None]]:
        """Return a reward function for TRL: `f(prompts, completions, **columns)`.

        `reference` is the column of references. A completion without a reward gets `unscored`, and
        the reasons are logged. Raises `JudgeError` for a TRL before 1.6, which takes None as 0.
        """
        value = _finite(unscored)
        if value is None:
            _check_trl()

        def function(
            prompts: object,  # noqa: ARG001
            completions: Sequence[Any],
            **columns: Any,  # noqa: ANN401
        ) -> list[float | None]:
            lists = {
                name: column
                for name, column in columns.items()
                if isinstance(column, list)
            }
            if reference not in lists:
                raise JudgeError(
                    f"there is no column {reference!r} with a list of references"
                )
            rewards = self._rewards(completions, lists[reference], lists)
            reasons = Counter(reward for reward in rewards if isinstance(reward, str))
            if reasons:
                counts = [f"{n} {reason}" for reason, n in reasons.most_common()]
                _LOG.warning(
                    "%(n)d of %(total)d completions have no reward %(name)s "
                    "(%(reasons)s): they get %(value)s",
                    {
                        "n": reasons.total(),
                        "total": len(rewards),
                        "name": self.name,
                        "reasons": "; ".join(counts),
                        "value": value,
                    },
                )
            log = columns.get("log_metric")
            if log:
                log(
                    f"rewards/{self.name}/unscored",
                    reasons.total() / max(1, len(rewards)),
                )
            return [value if isinstance(reward, str) else reward for reward in rewards]

        function.__name__ = self.name  # the name in TRL's logs
        return function

    def verl(self, *, unscored: float | None = None) -> Callable[..., float]:
        """Return a reward function for verl, to be called `compute_score`.

        A completion without a reward gets `unscored`; without that value it raises `JudgeError`.
        """
        default = _finite(unscored)

        def function(
            data_source: object,  # noqa: ARG001
            solution_str: str,
            ground_truth: object,
            extra_info: Mapping[str, object] | None = None,
            **_more: object,
        ) -> float:
            columns = {name: [value] for name, value in (extra_info or {}).items()}
            (reward,) = self._rewards([solution_str], [ground_truth], columns)
            if not isinstance(reward, str):
                return reward
            lost = f"a completion has no reward {self.name} ({reward})"
            if default is not None:
                _LOG.warning("%s: it gets %g", lost, default)
                return default
            error = JudgeError(
                f"{lost}: set the value of these, as in .verl(unscored=0.0)"
            )
            _LOG.error("%s", error)  # some managers of verl take an error as 0
            raise error

        function.__name__ = self.name
        return function

    def close(self) -> None:
        """Stop the judge and its servers; further calls fail."""
        self._thread.close()

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _rewards(
        self,
        completions: Sequence[Any],
        references: Sequence[Any],
        columns: Mapping[str, Sequence[Any]],
    ) -> list[float | str]:
        context, n = dict(self._context), len(completions)
        names = {*context["context"], context["prior"]}
        shown = {name: column for name, column in columns.items() if name in names}
        for name, column in {"reference": references, **shown}.items():
            if len(column) != n:
                raise JudgeError(
                    f"there are {n} completions and {len(column)} values of {name!r}"
                )
        texts = map(text_of, completions)
        reports = [None if text is None else self._report(text) for text in texts]
        rewards: list[float | str] = ["no report in the completion"] * n
        rows = []
        for row, reference in enumerate(references):
            if _is_missing(reference):
                rewards[row] = "no reference"
            elif reports[row] is not None:
                rows.append(row)
        if rows:
            fields = {name: _taken(column, rows) for name, column in shown.items()}
            studies = from_python(
                [references[row] for row in rows],
                [reports[row] for row in rows],
                study_ids=[str(row) for row in rows],
                fields=fields,
            )
            if not any(map(prior_report, fields.get(context["prior"], ["any"]))):
                context["prior"] = None  # a batch may have no prior report at all
            studies = attach_context(studies, **context)
            ends = self._thread.wait(partial(self._thread.judge, studies))
            for row, judged in zip(rows, ends, strict=True):
                rewards[row] = self._value(judged)
        reasons = [reward for reward in rewards if isinstance(reward, str)]
        self.unscored.update(reasons)
        self.n_scored += len(rewards) - len(reasons)
        return rewards

    def _value(self, judged: StudyResult) -> float | str:
        if judged.measures is None:
            assert isinstance(judged.outcome, Unparsed | Failed)
            return f"{type(judged.outcome).__name__.lower()}, {judged.outcome.reason}"
        value = judged.measures[self.measure.name]
        if value is None:
            return f"undefined, {self.measure.undefined}"
        return float(value) if self.measure.higher_is_better else 0.0 - value


def _taken(column: Sequence[Any], rows: Sequence[int]) -> list[Any]:
    return [column[row] for row in rows]


def text_of(completion: object) -> str | None:
    """Return a completion's text: the assistant's last message, None if that has no text."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, list) and all(
        isinstance(turn, Mapping) for turn in completion
    ):
        texts = [
            turn.get("content")
            for turn in completion
            if turn.get("role") == "assistant"
        ]
        if texts and isinstance(texts[-1], str | None):
            return texts[-1]
    raise JudgeError(
        f"a completion is neither a text nor a list of messages: {completion!r:.80}"
    )


def _is_missing(reference: object) -> bool:
    if isinstance(reference, str):
        return says_nothing(reference)
    return reference is None or (isinstance(reference, float) and math.isnan(reference))


def _finite(unscored: float | None) -> float | None:
    if unscored is not None and not math.isfinite(unscored):
        raise JudgeError(f"unscored must be a finite number, not {unscored}")
    return None if unscored is None else float(unscored)


def _check_trl() -> None:
    try:
        installed = metadata.version("trl")
    except metadata.PackageNotFoundError:
        return
    if tuple(map(int, re.findall(r"\d+", installed)[:2])) < _TRL:
        raise JudgeError(
            f"TRL {installed} takes a completion without a reward as 0: install TRL 1.6 or later, "
            "or set their value, as in .trl(unscored=-1.0)"
        )

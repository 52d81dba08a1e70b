"""Rewards for training: a judge's measure of a report, as TRL and verl ask for it.

from judge.reward import Reward

GRPOTrainer(model, reward_funcs=Reward(judge="lexicon").trl("report"), train_dataset=dataset)

docs/rewards.md tells the rest.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar, Unpack

from judge.backends import LEXICON
from judge.distribution import version
from judge.rubrics.main_score import reward_of
from judge.rubrics.numbers import Measure
from judge.running.api import JudgeOptions, session_of
from judge.running.asking import RequestPolicy
from judge.running.records import Judged
from judge.running.standing import JudgeThread, StandingJudge
from judge.signature import Signature
from judge.studies import from_given
from judge.studies.names import listed, named, plain
from judge.studies.told import CONTEXT_FIELDS, earlier, modality_code, with_told
from judge.trainers import finite, is_nothing, lists_of, text_of, what_trl_does
from judge.types import Failed, JudgeError, Unparsed

_LOG = logging.getLogger("judge.reward")
_Values: TypeAlias = Sequence[Any]
_Columns: TypeAlias = Mapping[str, Any]
T = TypeVar("T")
_Work: TypeAlias = Callable[[StandingJudge], Coroutine[Any, Any, T]]


class RewardOptions(JudgeOptions, total=False):
    """What a `Reward` takes beside rubric, judge, measure and report: as `judge.annotate`."""

    context_fields: Sequence[str] | None
    prior_field: str | None
    modality: str | None


@dataclass(frozen=True, slots=True)
class Unscored:
    """A completion without a reward, and why."""

    why: str


class Reward(AbstractContextManager["Reward"]):
    """A measure of a rubric as a judge finds it, of which more is always better.

    A measure of which less is better (errors, FineRadScore) has its sign changed. The judge is
    loaded at the first question and stays loaded; what a model has answered comes from the cache.
    A copy for another process (pickle; for the functions cloudpickle, as Ray has it) is made of the
    same arguments anew, with a judge and counts of its own.

    Parameters
    ----------
    rubric, judge
        As in `judge.annotate`, and so are the further options.
    measure
        A measure of the rubric; by default the score with the rubric's name, or its only score.
    report
        Gives the report in a completion's text, where that holds more (a train of thought); by
        default it is all of the text. An empty report is judged as one; where it gives None the
        completion has no report and no reward.
    context_fields, prior_field, modality
        As in `judge.annotate`; the fields are TRL's columns, or keys of verl's `extra_info`.
    name
        What the reward is called in logs, by default the measure, with `minus_` where its sign is
        changed. TRL mixes the logs of functions that have one name.
    policy
        By default it never gives up because answers cannot be read (`give_up_after=0`).

    """

    def __init__(
        self,
        *,
        rubric: str = "green",
        judge: str = LEXICON,
        measure: str | None = None,
        report: Callable[[str], str | None] = str,
        name: str | None = None,
        **options: Unpack[RewardOptions],
    ) -> None:
        given: dict[str, Any] = {**options}
        self._made_of: dict[str, Any] = {"rubric": rubric, "judge": judge, "measure": measure}
        self._made_of |= {"report": report, "name": name, **options}
        if given.get("policy") is None:
            given["policy"] = RequestPolicy(give_up_after=0)
        context, self._prior, self._modality = (
            given.pop(name, None) for name in ("context_fields", "prior_field", "modality")
        )
        self._session = session_of(rubric, judge, given)
        if context is None and not self._session.rubric.takes_context:
            context = ()
        self._context = [context] if isinstance(context, str) else context
        self._thread = JudgeThread(self._session)
        self._report = report
        self.measure: Measure = reward_of(self._session.rubric, measure)
        self.name = name or self._measured
        self.n_scored = 0
        self.unscored: Counter[str] = Counter()
        self._lacked: set[str] = set()

    def __reduce__(self) -> tuple[Callable[[], Reward], tuple[()]]:
        return partial(type(self), **self._made_of), ()

    @property
    def _measured(self) -> str:
        return self.measure.name if self.measure.higher_is_better else f"minus_{self.measure.name}"

    @property
    def signature(self) -> str:
        """What makes the rewards, whatever the reports.

        `context:auto` says that the columns' names choose what the judge is told of the patient.
        """
        session = self._session
        parts = session.judged_by()
        context = "auto" if self._context is None else self._context
        told = {"context": context, "prior": self._prior, "modality": self._modality}
        parts += [f"{name}:{given}" for name, given in told.items() if given]
        report = "" if self._report is str else f"({_called(self._report)})"
        return str(Signature([*parts, f"reward:{self._measured}{report}", f"version:{version()}"]))

    def trl(
        self, reference: str = "reference", *, asynchronous: bool = False
    ) -> Callable[..., Any]:
        """Return a reward function for TRL: `f(prompts, completions, **columns)`.

        It gives one reward a completion, None for one that has none, and says how many those are
        and why. `reference` is the column with the radiologist's reports. A coroutine function
        where it is `asynchronous`: newer versions of TRL run those side by side.
        """

        def work(completions: _Values, columns: _Columns) -> _Work[list[float | None]]:
            return lambda standing: self._of_batch(standing, completions, reference, columns)

        if asynchronous:

            async def reward_async(
                prompts: object,  # noqa: ARG001
                completions: _Values,
                **columns: Any,  # noqa: ANN401
            ) -> list[float | None]:
                return await asyncio.wrap_future(self._thread.submit(work(completions, columns)))

            return self._named(reward_async)

        def reward(
            prompts: object,  # noqa: ARG001
            completions: _Values,
            **columns: Any,  # noqa: ANN401
        ) -> list[float | None]:
            return self._thread.wait(work(completions, columns))

        return self._named(reward)

    def verl(
        self, *, unscored: float | None = None, asynchronous: bool = False
    ) -> Callable[..., Any]:
        """Return a reward function for verl, to be called `compute_score`.

        `compute_score(data_source, solution_str, ground_truth, extra_info=None)` gives the reward
        of one completion. One that has none is `unscored`; without that value it raises
        `JudgeError`. verl's manager `rate_limited` makes every error a reward of 0.0, so give it a
        value on the scale of the rewards. A coroutine function where it is `asynchronous`.
        """
        value = None if unscored is None else finite(unscored)

        def work(solution: object, truth: object, extra: object) -> _Work[float]:
            return lambda standing: self._of_one(standing, solution, truth, extra, value)

        if asynchronous:

            async def score_async(
                data_source: object,  # noqa: ARG001
                solution_str: str,
                ground_truth: object,
                extra_info: Mapping[str, object] | None = None,
                **_more: object,
            ) -> float:
                asked = work(solution_str, ground_truth, extra_info)
                return await asyncio.wrap_future(self._thread.submit(asked))

            return self._named(score_async)

        def score(
            data_source: object,  # noqa: ARG001
            solution_str: str,
            ground_truth: object,
            extra_info: Mapping[str, object] | None = None,
            **_more: object,
        ) -> float:
            return self._thread.wait(work(solution_str, ground_truth, extra_info))

        return self._named(score)

    def close(self) -> None:
        """Let go of the judge and of what it started; no reward can be had after that."""
        self._thread.close()

    def __exit__(self, *_error: object) -> None:
        self.close()

    async def _of_batch(
        self, standing: StandingJudge, completions: _Values, reference: str, columns: _Columns
    ) -> list[float | None]:
        lists = lists_of(columns, lambda name: name == reference or plain(name) in self._told)
        if reference not in lists:
            raise JudgeError(
                f"there is no column {reference!r}; there are: {listed(lists) or 'none'}"
            )
        found = await self._found(standing, completions, lists[reference], lists)
        why = Counter(one.why for one in found if isinstance(one, Unscored))
        if why:
            _LOG.warning(
                "%d of %d completions have no reward %s (%s): %s",
                *(why.total(), len(found), self.name, _counted(why), what_trl_does()),
            )
        if callable(log := columns.get("log_metric")):
            log(f"rewards/{self.name}/unscored", why.total() / max(1, len(found)))
        return [None if isinstance(one, Unscored) else one for one in found]

    async def _of_one(
        self,
        standing: StandingJudge,
        solution: object,
        truth: object,
        extra: object,
        unscored: float | None,
    ) -> float:
        if not isinstance(extra, Mapping | None):
            raise JudgeError(f"extra_info is no dictionary but {extra!r:.80}")
        more = {str(name): [one] for name, one in (extra or {}).items()}
        # verl asks of one row at a time, and a row need not have every key.
        for name in [one for one in self._fields if not named(more, one)]:
            more[name] = [None]
            if name not in self._lacked:
                self._lacked.add(name)
                _LOG.warning("an extra_info has no %r: nothing is told there (said once)", name)
        (found,) = await self._found(standing, [solution], [truth], more)
        if not isinstance(found, Unscored):
            return found
        if unscored is None:
            error = JudgeError(
                f"a completion has no reward {self.name} ({found.why}): "
                "give the value of such ones, as in .verl(unscored=0.0)"
            )
            _LOG.error("%s", error)  # some of verl's managers make a 0 of an error
            raise error
        _LOG.warning(
            "a completion has no reward %s (%s): it gets %g", self.name, found.why, unscored
        )
        return unscored

    async def _found(
        self,
        standing: StandingJudge,
        completions: _Values,
        references: _Values,
        columns: Mapping[str, _Values],
    ) -> list[float | Unscored]:
        if isinstance(completions, str):
            raise JudgeError("completions is one text; give a list of them")
        if len(references) != len(completions):
            raise JudgeError(
                f"there are {len(completions)} completions and {len(references)} references"
            )
        told = {name: column for name, column in columns.items() if plain(name) in self._told}
        for name, column in told.items():
            if len(column) != len(completions):
                raise JudgeError(
                    f"there are {len(completions)} completions and {len(column)} values of {name!r}"
                )
        reports = [self._report(text_of(one)) for one in completions]
        for one in reports:
            if not isinstance(one, str | None):
                raise JudgeError(f"report= gave neither a text nor None but {one!r:.80}")
        found: list[float | Unscored] = [
            Unscored("no reference" if is_nothing(one) else "no report in the completion")
            for one in references
        ]
        # The same completion may come several times in a group: it is judged once.
        same: dict[str, list[int]] = {}
        for at, reference in enumerate(references):
            if not is_nothing(reference) and reports[at] is not None:
                key = repr((reference, reports[at], [column[at] for column in told.values()]))
                same.setdefault(key, []).append(at)
        if same:
            rows = [at for at, *_ in same.values()]
            studies = from_given(
                [references[at] for at in rows],
                [reports[at] for at in rows],
                study_ids=[str(at) for at in rows],
                fields={name: [column[at] for at in rows] for name, column in told.items()},
            )
            prior = named(studies.fields, self._prior) if self._prior else []
            values = [value for name in prior for value in studies.fields[name]]
            ends = await standing.judge(
                with_told(
                    studies,
                    context=self._context,
                    # A batch may have none; a column that is not there is a mistake.
                    prior=self._prior if not prior or any(map(earlier, values)) else None,
                    modality=self._modality,
                )
            )
            for places, end in zip(same.values(), ends, strict=True):
                for at in places:
                    found[at] = self._value(end)
        why = Counter(one.why for one in found if isinstance(one, Unscored))
        self.unscored += why
        self.n_scored += len(found) - why.total()
        return found

    def _value(self, end: Judged) -> float | Unscored:
        if end.measures is None:
            assert isinstance(end.outcome, Unparsed | Failed)
            return Unscored(f"{type(end.outcome).__name__.lower()}, {end.outcome.reason}")
        value = end.measures[self.measure.name]
        if value is None:
            return Unscored(f"undefined, {self.measure.undefined}")
        return float(value) if self.measure.higher_is_better else 0.0 - value

    @property
    def _told(self) -> set[str]:
        known = CONTEXT_FIELDS if self._context is None else ()
        return {plain(one) for one in (*known, *self._fields)}

    @property
    def _fields(self) -> list[str]:
        modality = self._modality
        by_field = None if modality and modality_code(modality) else modality
        return [one for one in (*(self._context or ()), self._prior, by_field) if one]

    def _named(self, function: Callable[..., Any]) -> Callable[..., Any]:
        function.__name__ = self.name  # what TRL's logs call it
        return function


def _counted(why: Counter[str]) -> str:
    return "; ".join(f"{n} {reason}" for reason, n in why.most_common())


def _called(function: Callable[..., Any]) -> str:
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__qualname__", type(function).__qualname__)

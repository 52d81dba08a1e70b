"""A rubric as it is asked: on the scale that a prompt declares, for several answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from judge.rubrics.contract import Parse, Rubric
from judge.rubrics.steps import Question, Step, Steps
from judge.types import JudgeError, Study

SAMPLE = "sample {}"
"""The name of a step that asks for one of several answers to the same, by its number from 1."""


def on_scale(rubric: Rubric, scale: tuple[float, float] | None) -> Rubric:
    """Return the rubric as it reads answers to a prompt that declares `scale`, None for none.

    Raises `JudgeError` for a scale where the rubric has no use for one.
    """
    if scale is None:
        return rubric
    if rubric.on_scale is None:
        raise JudgeError(f"a prompt of the rubric {rubric.name} declares no scale: it has none")
    parse, form = rubric.on_scale(scale)
    return sampled(replace(rubric, parse=parse, reply_model=form), n_samples(rubric))


def asked_by(rubric: Rubric, prompt: str, model: str) -> Rubric:
    """Return the rubric as it reads answers of the model to the prompt, both by their names."""
    parse = rubric.parse_for(prompt, model) if rubric.parse_for else None
    return replace(rubric, parse=parse) if parse else rubric


def sampled(rubric: Rubric, k: int) -> Rubric:
    """Return the rubric as it takes `k` answers to its question about each study.

    Raises `JudgeError` for another number than one where the rubric takes one.
    """
    if k == 1:
        return rubric
    if not rubric.takes_samples or k < 1:
        raise JudgeError(f"the rubric {rubric.name} does not take {k} answers about a study")
    question = Question(rubric.prompt, rubric.parse, rubric.reply_model)
    whole = cast("Parse", partial(cast("Any", rubric.parse), samples=k))
    return replace(rubric, parse=whole, steps=Steps(partial(_samples, k), {"": question}, k))


def n_samples(rubric: Rubric) -> int:
    """Return how many answers to its question a rubric takes about each study."""
    return rubric.steps.most if rubric.takes_samples and rubric.steps else 1


def _samples(k: int, study: Study, answers: Mapping[str, str]) -> Sequence[Step]:
    bare = replace(study, study_id="", study_class=None, class_inferred=False, fields={})
    steps = (Step(SAMPLE.format(at + 1), bare, sample=at) for at in range(k))
    return [step for step in steps if step.name not in answers]

"""Reads and writes a score with its reasons, or the answers of several times of asking."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from judge.rubrics.asking import SAMPLE
from judge.rubrics.notation import arguments, checked, plain, read_json
from judge.rubrics.steps import of_step, parts
from judge.types import Annotation, Study, UnparsedError

if TYPE_CHECKING:
    from judge.rubrics.direct.reply import Reply

ASPECTS = ("findings", "location", "severity", "comparison", "devices", "impression", "wording")
"""What may have a score of its own."""
SCORE, LOW, HIGH = "score", "low", "high"
"""The names in `Annotation.values`: what the judge gave, and the scale that it gave it on.

Of several answers the scores have their number behind them, from 1: `score 2`, `findings 2`.
"""
_BLANK_LINES = re.compile(r"\s*\n(?:\s*\n)+\s*")
_BETWEEN = "\n\n"


def parse(
    text: str,
    study: Study,  # noqa: ARG001
    *,
    complete: bool = False,  # noqa: ARG001
    scale: tuple[float, float] = (0, 100),
    samples: int = 1,
) -> Annotation:
    """Return the score that an answer gives on the prompt's `scale`, or those of `samples` answers.

    An answer names the scale that it keeps to. JSON shows by itself whether it is whole, so
    `complete` makes no difference. Raises `UnparsedError` for what is no such object, whole and
    once, for another scale than the prompt's, and for a score that is no number on it.
    """
    if samples == 1:
        reply = _read(text, scale)
        return _annotation(scale, _values(reply), reply.reasons)
    values: dict[str, float] = {}
    reasons = []
    for number, (name, answer) in enumerate(parts(text).items(), 1):
        with of_step(name):
            reply = _read(answer, scale)
        values |= {f"{key} {number}": value for key, value in _values(reply).items()}
        reasons.append(_BLANK_LINES.sub("\n", reply.reasons))
    if [*parts(text)] != [SAMPLE.format(at + 1) for at in range(samples)]:
        raise UnparsedError("unexpected form", "not the answers to one question")
    return _annotation(scale, values, _BETWEEN.join(reasons))


def render(annotation: Annotation) -> str:
    """Return the answer that a judge would give, or the several, the inverse of `parse`.

    Raises ValueError for an annotation that has anything beside scores and reasons.
    """
    values = dict(annotation.values)
    if annotation != Annotation(explanation=annotation.explanation, values=values):
        raise ValueError("an answer has scores and reasons and nothing beside them")
    n = len(samples(annotation, SCORE))
    if SCORE in values:
        return _written(values, "", annotation.explanation)
    reasons = annotation.explanation.split(_BETWEEN)
    answers = {
        SAMPLE.format(at): _written(values, f" {at}", why)
        for at, why in zip(range(1, n + 1), reasons, strict=True)
    }
    return json.dumps(answers, ensure_ascii=False, indent=1)


def samples(annotation: Annotation, name: str) -> list[float | None]:
    """Return what each answer gives for `name`, None for one that gives nothing."""
    values = annotation.values
    if SCORE in values:
        return [values.get(name)]
    n = sum(key.startswith(SCORE) for key in values)
    return [values.get(f"{name} {at}") for at in range(1, n + 1)]


def _read(text: str, scale: tuple[float, float]) -> Reply:
    from judge.rubrics.direct.reply import Reply

    reply = checked(Reply, plain(arguments(read_json(text))))
    low, high = scale
    if tuple(reply.scale) != scale:
        raise UnparsedError("another scale", f"{reply.scale}, where {low:g} to {high:g} was asked")
    for name, value in _values(reply).items():
        if not low <= value <= high:
            raise UnparsedError("score off the scale", f"{name}: {value:g}")
    return reply


def _values(reply: Reply) -> dict[str, float]:
    given = {SCORE: reply.score, **reply.aspects.model_dump()}
    return {name: value for name, value in given.items() if value is not None}


def _annotation(
    scale: tuple[float, float], values: Mapping[str, float], reasons: str
) -> Annotation:
    low, high = map(float, scale)
    return Annotation(explanation=reasons, values={LOW: low, HIGH: high, **values})


def _written(values: Mapping[str, float], number: str, reasons: str) -> str:
    reply: dict[str, Any] = {
        "reasons": reasons,
        "aspects": {name: values.get(f"{name}{number}") for name in ASPECTS},
        "scale": [values[LOW], values[HIGH]],
        "score": values[f"{SCORE}{number}"],
    }
    return json.dumps(reply, ensure_ascii=False)

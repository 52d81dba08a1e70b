"""Reads and writes a score with its reasons, or the answers of several times of asking."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, create_model
from pydantic_core import PydanticCustomError

from judge.rubrics.questions import SAMPLE, of_step, parts
from judge.rubrics.reply_text import Form, Words, checked, read_json
from judge.types import Annotation, Study, UnparsedError

ASPECTS = ("findings", "location", "severity", "comparison", "devices", "impression", "wording")
"""What may have a score of its own."""
SCORE, LOW, HIGH = "score", "low", "high"
"""The names in `Annotation.values`: what the judge gave, and the scale that it gave it on.

Of several answers the scores have their number behind them, from 1: `score 2`, `findings 2`.
"""
_BLANK_LINES = re.compile(r"\s*\n(?:\s*\n)+\s*")
_BETWEEN = "\n\n"
_N = r"(-?[0-9]{1,9}(?:\.[0-9]{1,9})?)"
# "a score of 80", "score: 80", "80 points", "80 out of 100", "8/10".
_SCORES = re.compile(
    rf"\b(?:score|rating|grade)s?\b(?: (?:is|of|would be|should be|it|at|as))*[ :=]{{1,3}}{_N}"
    rf"|{_N} ?(?:points\b|%? ?overall\b|(?:/|out of) ?(5|10|100)\b)",
    re.IGNORECASE,
)


def parse(
    text: str,
    study: Study,  # noqa: ARG001
    *,
    complete: bool = False,  # noqa: ARG001
    scale: tuple[float, float] = (0, 100),
    samples: int = 1,
) -> Annotation:
    """Return the score that an answer gives on the prompt's `scale`, or those of `samples` answers.

    Reasons that name another score make it unparsed.
    """
    if samples == 1:
        return _annotation(scale, *_read(text, scale))
    values: dict[str, float] = {}
    reasons = []
    for number, (name, answer) in enumerate(parts(text).items(), 1):
        with of_step(name):
            each, why = _read(answer, scale)
        values |= {f"{key} {number}": value for key, value in each.items()}
        reasons.append(_BLANK_LINES.sub("\n", why))
    if [*parts(text)] != [SAMPLE.format(at + 1) for at in range(samples)]:
        raise UnparsedError("unexpected form", "not the answers to one question")
    return _annotation(scale, values, _BETWEEN.join(reasons))


def render(annotation: Annotation) -> str:
    """Return the answer or the several answers; raises ValueError for what they do not express."""
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


def _read(text: str, scale: tuple[float, float]) -> tuple[dict[str, float], str]:
    reply: Any = checked(reply_on(*scale), read_json(text))
    given = {SCORE: reply.score, **reply.aspects.model_dump()}
    for found in _SCORES.finditer(reply.reasons):
        number, of = float(found[1] or found[2]), float(found[3] or scale[1])
        if number != reply.score or of != scale[1]:
            raise UnparsedError("contradiction", f"the score is {reply.score:g}, and {found[0]!r}")
    return {name: value for name, value in given.items() if value is not None}, reply.reasons


def _annotation(
    scale: tuple[float, float], values: Mapping[str, float], reasons: str
) -> Annotation:
    low, high = map(float, scale)
    return Annotation(explanation=reasons, values={LOW: low, HIGH: high, **values})


def _written(values: Mapping[str, float], number: str, reasons: str) -> str:
    reply: dict[str, Any] = {
        "reasons": reasons,
        "aspects": {name: values.get(f"{name}{number}") for name in ASPECTS},
        "score": values[f"{SCORE}{number}"],
    }
    return json.dumps(reply, ensure_ascii=False)


_ALONE = re.compile(r"\s*(-?[0-9]{1,9}(?:\.[0-9]{1,9})?)\s*")
_ASPECTS = {
    "findings": "What is reported present and absent.",
    "location": "Sides and places.",
    "severity": "Sizes and degrees.",
    "comparison": "Changes since an earlier examination.",
    "devices": "Tubes, lines and implants, and where they end.",
    "impression": "What it comes to for the patient's care.",
    "wording": "Whether it is clear and free of contradictions.",
}


def _number(value: object) -> float:
    if isinstance(value, str) and (digits := _ALONE.fullmatch(value)):
        return float(digits[1])
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9:
        return float(value)
    raise PydanticCustomError("score is no number", "a score is one number")


class _Aspects(Form):
    """Scores of single aspects on the same scale; null for one that the reports say nothing of."""

    optional: ClassVar = dict.fromkeys(ASPECTS)


class Reply(Form):
    """How good the candidate is, and why."""

    optional: ClassVar = {"aspects": {}}

    reasons: Words = Field(description="Two to four sentences on what decides the score.")


@cache
def reply_on(low: float, high: float) -> type[Reply]:
    """Return the form of a reply on a scale: its schema allows no other score."""
    on_scale = Field(ge=_plain(low), le=_plain(high))
    number: Any = Annotated[float, BeforeValidator(_number), on_scale]
    each: dict[str, Any] = {
        name: (Annotated[number | None, Field(description=text)], ...)
        for name, text in _ASPECTS.items()
    }
    aspects = create_model("Aspects", __base__=_Aspects, __doc__=_Aspects.__doc__, **each)
    score = Field(description=f"How good the candidate is, from {low:g} to {high:g}.")
    return create_model(
        "Reply",
        __base__=Reply,
        __doc__=Reply.__doc__,
        aspects=(aspects, ...),
        score=(Annotated[number, score], ...),
    )


def _plain(end: float) -> float:
    return int(end) if end == int(end) else end

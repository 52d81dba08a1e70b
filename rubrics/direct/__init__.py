"""Direct: one number for the whole report and the reasons for it, by a scale of the prompt.

The number is normalised to 0 to 100, 100 for a report that is as good as the reference:
100 * (score - low) / (high - low). Scores of single aspects, where the judge gives them, are on
the same scale.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache, partial
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, create_model

from judge.rubrics.contract import Measure, Parse, Rubric, mean_of, sorted_by
from judge.rubrics.replies import ReplyModel, Text, read_reply
from judge.types import Annotation, Measures, Study, UnparsedError

ASPECTS = {
    "findings": "What is reported present and absent.",
    "location": "Sides and places.",
    "severity": "Sizes and degrees.",
    "comparison": "Changes since an earlier examination.",
    "devices": "Tubes, lines and implants, and where they end.",
    "impression": "What it comes to for the patient's care.",
    "wording": "Whether it is clear and free of contradictions.",
}
"""The aspects that may have a score of their own."""
SCORE, LOW, HIGH = "score", "low", "high"
"""The names in `Annotation.values`: the score and the ends of its scale."""
_SCALE: tuple[float, float] = (0, 100)
_N = r"(-?[0-9]{1,9}(?:\.[0-9]{1,9})?)"
_ALONE = re.compile(rf"\s*{_N}\s*")
# "a score of 80", "score: 80", "80 points", "80 out of 100", "8/10".
_SCORES = re.compile(
    rf"\b(?:score|rating|grade)s?\b(?: (?:is|of|would be|should be|it|at|as))*[ :=]{{1,3}}{_N}"
    rf"|{_N} ?(?:points\b|%? ?overall\b|(?:/|out of) ?(5|10|100)\b)",
    re.IGNORECASE,
)


def _number(value: object) -> float:
    if isinstance(value, str) and (digits := _ALONE.fullmatch(value)):
        return float(digits[1])
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9:
        return float(value)
    raise ValueError("a score is one number")


class _Aspects(ReplyModel):
    """Scores of single aspects on the same scale; null for one that the reports say nothing of."""

    optional: ClassVar = dict.fromkeys(ASPECTS)


class Reply(ReplyModel):
    """How good the candidate is, and why."""

    optional: ClassVar = {"aspects": {}}

    reasons: Text = Field(description="Two to four sentences on what decides the score.")


@cache
def reply_on(low: float, high: float) -> type[Reply]:
    """Return the form of a reply on a scale: its schema allows no other score."""
    on_scale = Field(ge=_plain(low), le=_plain(high))
    number: Any = Annotated[float, BeforeValidator(_number), on_scale]
    fields: dict[str, Any] = {
        name: (Annotated[number | None, Field(description=text)], ...)
        for name, text in ASPECTS.items()
    }
    aspects = create_model("Aspects", __base__=_Aspects, __doc__=_Aspects.__doc__, **fields)
    score = Field(description=f"How good the candidate is, from {low:g} to {high:g}.")
    fields = {"aspects": (aspects, ...), "score": (Annotated[number, score], ...)}
    return create_model("Reply", __base__=Reply, __doc__=Reply.__doc__, **fields)


def _plain(end: float) -> float:
    return int(end) if end == int(end) else end


def parse(
    text: str,
    study: Study,  # noqa: ARG001
    *,
    complete: bool = False,  # noqa: ARG001
    scale: tuple[float, float] = _SCALE,
) -> Annotation:
    """Return the score on the prompt's `scale`; reasons that name another make it unparsed."""
    reply: Any = read_reply(reply_on(*scale), text)
    low, high = map(float, scale)
    for score in _SCORES.finditer(reply.reasons):
        number, top = float(score[1] or score[2]), float(score[3] or high)
        if number != reply.score or top != high:
            raise UnparsedError("contradiction", f"the score is {reply.score:g}, and {score[0]!r}")
    scores = {SCORE: reply.score, **reply.aspects.model_dump()}
    values = {name: value for name, value in scores.items() if value is not None}
    return Annotation(explanation=reply.reasons, values={LOW: low, HIGH: high, **values})


def render(annotation: Annotation) -> str:
    """Return the answer; raises ValueError for an annotation that it does not express."""
    values = annotation.values
    if annotation != Annotation(explanation=annotation.explanation, values=values):
        raise ValueError("an answer has scores and reasons and nothing beside them")
    aspects = {name: values.get(name) for name in ASPECTS}
    reply = {"reasons": annotation.explanation, "aspects": aspects, "score": values[SCORE]}
    return json.dumps(reply, ensure_ascii=False)


def _on_scale(scale: tuple[float, float]) -> tuple[Parse, Callable[[], type[ReplyModel]]]:
    return partial(parse, scale=scale), partial(reply_on, *scale)


def measure(annotation: Annotation, _study: Study) -> Measures:
    """Return the study's score and those of its aspects, from 0 to 100, None for one not given."""
    values = annotation.values
    low, high = values[LOW], values[HIGH]
    shares = {name: 100 * (value - low) / (high - low) for name, value in values.items()}
    return {"direct": shares[SCORE], **{name: shares.get(name) for name in ASPECTS}}


_share = partial(Measure, scale=_SCALE, higher_is_better=True)

RUBRIC = Rubric(
    name="direct",
    version=2,
    title="Direct score",
    summary="Judge reports by one number from 0 to 100, with the reasons for it.",
    prompt="direct",
    measures=(
        _share("direct", "direct score", role="score"),
        *(
            _share(
                name, f"direct: {name}", role="check", undefined="the judge gave no score for it"
            )
            for name in ASPECTS
        ),
    ),
    statistics=(
        mean_of("direct", "direct score", _SCALE),
        *(mean_of(name, f"direct: {name}", _SCALE, ["head"]) for name in ASPECTS),
    ),
    worst=sorted_by("direct"),
    parse=parse,
    on_scale=_on_scale,
    render=render,
    measure=measure,
    reply_model=partial(reply_on, *_SCALE),
)

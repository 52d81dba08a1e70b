"""Direct: one number for the whole report and the reasons for it, by a scale of the prompt.

The number is normalised to 0 to 100, 100 for a report that is as good as the reference:
100 * (score - low) / (high - low). Scores of single aspects, where the judge gives them, are on
the same scale.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache, partial
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, create_model

from judge.rubrics.contract import Measure, Rubric, sorted_by
from judge.rubrics.replies import OrNull, ReplyModel, Text, read_reply
from judge.stats.statistic import EVERYWHERE, Mean
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
_ALONE = re.compile(r"\s*(-?[0-9]{1,9}(?:\.[0-9]{1,9})?)\s*")

# A number in the reasons that is given as the grade of the report. Numbers of medicine are not:
# they belong to a finding ("TI-RADS 4", "an ejection fraction of 55%", "a grade 2 sprain", "a
# calcium score of 400").
_N = r"(?<![\w.,/-])(?P<{0}>-?[0-9]{{1,9}}(?:\.[0-9]{{1,9}})?)(?!\.?[0-9]|[\w-])"
_TOP = (
    r"(?: ?(?:/|out of|of) ?(?P<{0}_top>[0-9]{{1,9}}(?:\.[0-9]+)?)(?![\w/-]|\.[0-9]))?"
)
_UNIT = r"(?: ?(?:%|points?|percent))?"
_END = (
    r"(?=\s*(?:[.;,:!?)\]\u2013\u2014]|\Z"
    r"|(?:because|since|as|for|overall|seems?|is|would|in total|and)\b))"
)
# "The score", "my final rating": a grade of the report. "Calcium score" and "of grade 3" are none.
_WHOSE = (
    r"(?:\A|[.;,:(!?]\s*|\b(?:the|a|an|this|my|its|overall|final|total|candidate's|report's"
    r"|resulting|justified|fair|hence|so|thus|therefore|assign|give|and)\s+)"
    r"(?:(?:overall|final|total|resulting|fair|numeric|good|low|high|middling|direct)\s+)*"
)
_NAMED = (
    rf"{_WHOSE}(?:score|rating|grade|mark)s?"
    r"(?: (?:is|of|would|should|it|at|as|be|to|here|set|given|therefore|thus))*[ :=]{1,3}"
)
_AWARDED = (
    r"(?:\b(?:i|we)(?:'d| would| will)? (?:give|rate|score|grade|award|assign|settle on)"
    r"(?: (?:it|this|the|candidate|report|at|as|with|a|an|only))*\s+"
    r"|\b(?:deserves?|merits?|earns?|scores|rated|graded|scored|worth)"
    r"(?: (?:only|just|a|an|at|as|about))*\s+"
    r"|\b(?:overall|final(?:ly)?|in total|total|verdict|result|conclusion|hence|therefore|thus|so)"
    r"(?: (?:a|an|only|just))*[ :,=]+"
    r"|(?:=|->)\s*)"
)
_ALONE_END = r"(?:[.;!?)]|\Z|at (?:best|most|least)\b)"
_POINTS = r"(?:points?\b(?! (?:deduct|less|more|off))|%? ?overall\b)"
_FORMS = (
    # Behind the name of the grade or a word that awards it, at the end of a clause.
    f"{_NAMED}{_N.format('named')}{_TOP.format('named')}{_UNIT}{_END}",
    f"{_AWARDED}{_N.format('awarded')}{_TOP.format('awarded')}{_UNIT}{_END}",
    # Alone, as a sentence or in brackets.
    rf"(?:\A|[.;!?(\n]\s*){_N.format('alone')}{_TOP.format('alone')}{_UNIT}\s*{_ALONE_END}",
    # "80 points", "8/10 overall"; "2 points off" is none.
    rf"{_N.format('points')}{_TOP.format('points')} ?{_POINTS}",
)
_GRADES = re.compile("|".join(_FORMS), re.IGNORECASE)
_LIST_ITEM = re.compile(r"(?:\A|(?<=[.;:!?])\s+|\n\s*)([1-9])[.)]\s+(?=[A-Za-z])")


def _grades(reasons: str) -> Iterator[tuple[float, float | None, str]]:
    """Yield each number that is given as the grade, its scale's top if named, and the words."""
    text = reasons
    numbers = [int(match[1]) for match in _LIST_ITEM.finditer(reasons)]
    if numbers == list(range(1, len(numbers) + 1)):  # a numbered list of reasons
        text = _LIST_ITEM.sub(" ", reasons)
    for match in _GRADES.finditer(text):
        parts = match.groupdict()
        for name in ("named", "awarded", "alone", "points"):
            if parts[name] is not None:
                top = parts[f"{name}_top"]
                yield (
                    float(parts[name]),
                    None if top is None else float(top),
                    match[0].strip(),
                )


def _number(value: object) -> float:
    if isinstance(value, str) and (digits := _ALONE.fullmatch(value)):
        return float(digits[1])
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < 1e9
    ):
        return float(value)
    raise ValueError("a score is one number")


class _Aspects(ReplyModel):
    """Scores of single aspects on the same scale; null for one that the reports say nothing of."""

    optional: ClassVar = dict.fromkeys(ASPECTS)


class Reply(ReplyModel):
    """How good the candidate is, and why."""

    optional: ClassVar = {"aspects": {}, "reasons": ""}

    reasons: Annotated[Text, OrNull] = Field(
        description="Two to four sentences on what decides the score."
    )


@cache
def reply_on(low: float, high: float) -> type[Reply]:
    """Return the form of a reply on a scale: its schema allows no other score."""
    # The ends stand before the validator: else the schema has them under names of pydantic's own.
    on_scale = Field(ge=_plain(low), le=_plain(high))
    number: Any = Annotated[float, on_scale, BeforeValidator(_number)]
    fields: dict[str, Any] = {
        name: (Annotated[number | None, Field(description=text)], ...)
        for name, text in ASPECTS.items()
    }
    aspects = create_model(
        "Aspects", __base__=_Aspects, __doc__=_Aspects.__doc__, **fields
    )
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
    for number, top, words in _grades(reply.reasons):
        if number != reply.score or top not in (None, high):
            raise UnparsedError(
                "contradiction", f"the score is {reply.score:g}, and {words!r}"
            )
    scores = {SCORE: reply.score, **reply.aspects.model_dump()}
    values = {name: value for name, value in scores.items() if value is not None}
    return Annotation(
        explanation=reply.reasons, values={LOW: low, HIGH: high, **values}
    )


def render(annotation: Annotation) -> str:
    """Return the answer; raises ValueError for an annotation that it does not express."""
    values = annotation.values
    if annotation != Annotation(explanation=annotation.explanation, values=values):
        raise ValueError("an answer has scores and reasons and nothing beside them")
    aspects = {name: values.get(name) for name in ASPECTS}
    reply = {
        "reasons": annotation.explanation,
        "aspects": aspects,
        "score": values[SCORE],
    }
    return json.dumps(reply, ensure_ascii=False)


def measure(annotation: Annotation, _study: Study) -> Measures:
    """Return the study's score and those of its aspects, from 0 to 100, None for one not given."""
    values = annotation.values
    low, high = values[LOW], values[HIGH]
    shares = {
        name: 100 * (value - low) / (high - low) for name, value in values.items()
    }
    return {"direct": shares[SCORE], **{name: shares.get(name) for name in ASPECTS}}


_share = partial(Measure, scale=_SCALE, higher_is_better=True)
_mean = partial(Mean, scale=_SCALE, higher_is_better=True)

RUBRIC = Rubric(
    name="direct",
    version=3,
    title="Direct score",
    summary="Judge reports by one number from 0 to 100, with the reasons for it.",
    prompt="direct",
    measures=(
        _share("direct", "direct score", role="score"),
        *(
            _share(
                name,
                f"direct: {name}",
                role="check",
                undefined="the judge gave no score for it",
            )
            for name in ASPECTS
        ),
    ),
    statistics=(
        _mean(
            "direct",
            "direct score",
            measures=("direct",),
            shown=EVERYWHERE,
            clause="the mean direct score was {figure}",
        ),
        *(
            _mean(
                name,
                f"direct: {name}",
                measures=(name,),
                shown=frozenset({"head"}),
            )
            for name in ASPECTS
        ),
    ),
    worst=sorted_by("direct"),
    parse=parse,
    on_scale=lambda scale: (partial(parse, scale=scale), partial(reply_on, *scale)),
    render=render,
    measure=measure,
    reply_model=partial(reply_on, *_SCALE),
)

"""Direct: one number for the whole report and the reasons for it, by a scale of the prompt.

The number is normalised to 0 to 100, 100 for a report that is as good as the reference:
100 * (score - low) / (high - low). Scores of single aspects, where the judge gives them, are on
the same scale. Of several answers to the same question (`--samples`) the score is their mean, and
`spread` their standard deviation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import fmean, stdev

from judge.rubrics.contract import Measure, Order, Parse, Rubric, Statistic
from judge.rubrics.direct.answers import ASPECTS, HIGH, LOW, SCORE, parse, render, reply_on, samples
from judge.rubrics.reply_text import Form
from judge.types import Annotation, Measures, Study

_NAME, _SPREAD = "direct", "spread"
_SCALE: tuple[float, float] = (0, 100)


def _on_scale(scale: tuple[float, float]) -> tuple[Parse, Callable[[], type[Form]]]:
    return partial(parse, scale=scale), partial(reply_on, *scale)


def measure(annotation: Annotation, _study: Study) -> Measures:
    """Return the study's score and those of its aspects, from 0 to 100, and the score's spread.

    Each is the mean over the answers; an aspect that an answer has no score for is undefined.
    `spread` is the sample standard deviation of the scores, undefined for a single answer.
    """
    low, high = annotation.values[LOW], annotation.values[HIGH]
    found: dict[str, float | None] = {}
    for name in (SCORE, *ASPECTS):
        given = samples(annotation, name)
        each = [100 * (one - low) / (high - low) for one in given if one is not None]
        found[name] = fmean(each) if len(each) == len(given) else None
        if name == SCORE:
            found[_SPREAD] = stdev(each) if len(each) > 1 else None
    return {_NAME if name == SCORE else name: value for name, value in found.items()}


def _mean(name: str, label: str, *shown: str) -> Statistic:
    return Statistic(
        *(name, label, "mean", (name,)),
        higher_is_better=name != _SPREAD,
        scale=(0, None) if name == _SPREAD else _SCALE,
        shown=frozenset(shown),  # type: ignore[arg-type]
    )


_LABELS = {name: f"direct: {name}" for name in ASPECTS}

RUBRIC = Rubric(
    name="direct",
    version=2,
    title="Direct score",
    summary="Judge reports by one number from 0 to 100, with the reasons for it.",
    prompt="direct",
    measures=(
        Measure(_NAME, "direct score", _SCALE, higher_is_better=True, role="score"),
        Measure(_SPREAD, "spread of the answers", role="check", undefined="one answer alone"),
        *(
            Measure(
                *(name, label, _SCALE),
                higher_is_better=True,
                role="check",
                undefined="the judge gave no score for it",
            )
            for name, label in _LABELS.items()
        ),
    ),
    statistics=(
        _mean(_NAME, "direct score", "head", "groups", "compare"),
        _mean(_SPREAD, "spread of the answers", "head"),
        *(_mean(name, label, "head") for name, label in _LABELS.items()),
    ),
    worst=(Order(_NAME, largest_first=False),),
    parse=parse,
    on_scale=_on_scale,
    takes_samples=True,
    render=render,
    measure=measure,
    reply_model=partial(reply_on, *_SCALE),
)

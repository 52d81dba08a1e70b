"""A good answer cut after any character is unparsed, or shows its true counts."""

from __future__ import annotations

import random

import pytest
from green_answers import STUDY, Answer, draw

from judge.rubrics.green import RUBRIC
from judge.types import UnparsedError


def _check_cuts(answer: Answer) -> int:
    for end in range(len(answer.text)):
        try:
            annotation = RUBRIC.parse(answer.text[:end], STUDY)
        except UnparsedError:
            continue
        assert annotation.stated_counts == answer.stated, answer.text[:end]
    return len(answer.text)


@pytest.mark.parametrize("seed", range(8))
def test_cut_anywhere_never_shows_another_count(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        answer = draw(rng)
        whole = RUBRIC.parse(answer.text, STUDY, complete=answer.needs_complete)
        assert whole.stated_counts == answer.stated, answer.text
        assert _check_cuts(answer) > 0


def test_published_layout_cut_anywhere() -> None:
    rng = random.Random(99)
    for _ in range(40):
        answer = draw(rng, plain=True)
        whole = RUBRIC.parse(answer.text, STUDY, complete=answer.needs_complete)
        assert whole.stated_counts == answer.stated
        _check_cuts(answer)

"""Answers by construction: each shows its true counts or is unparsed, never another number."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from green_answers import STUDY
from green_styles import mutated, styled

from judge.rubrics.green import RUBRIC
from judge.types import UnparsedError

# The least share of each style's answers that must be read; docs/answers.md has the shares.
LEAST_READ = 0.9
LEAST_READ_MUTATED = 0.85
ANSWERS = 1200


def _stated(text: str) -> dict[str, int] | None:
    try:
        return dict(RUBRIC.parse(text, STUDY, complete=True).stated_counts)
    except UnparsedError:
        return None


def test_every_style_shows_its_true_counts_or_is_unparsed() -> None:
    drawn: Counter[tuple[str, str]] = Counter()
    read: Counter[tuple[str, str]] = Counter()
    for seed in range(4 * ANSWERS):
        answer = styled(random.Random(seed))
        drawn.update(answer.style.items())
        if (stated := _stated(answer.text)) is not None:
            assert stated == answer.stated, answer.text
            read.update(answer.style.items())
    unread = {style: read[style] / n for style, n in drawn.items() if read[style] / n < LEAST_READ}
    assert not unread


@pytest.mark.parametrize("block", range(4))
def test_what_another_hand_would_have_typed_shows_the_same_counts_or_none(block: int) -> None:
    n_read = 0
    for seed in range(block * ANSWERS, (block + 1) * ANSWERS):
        rng = random.Random(seed)
        answer = styled(rng)
        text = mutated(rng, answer.text)
        if (stated := _stated(text)) is not None:
            assert stated == answer.stated, text
            n_read += 1
    assert n_read / ANSWERS >= LEAST_READ_MUTATED


def test_a_styled_answer_cut_anywhere_shows_no_other_count() -> None:
    """Cut at any place, with nothing said of whether the judge had finished."""
    n_shown = 0
    for seed in range(60):
        answer = styled(random.Random(seed))
        for end in range(len(answer.text)):
            try:
                found = RUBRIC.parse(answer.text[:end], STUDY)
            except UnparsedError:
                continue
            assert found.stated_counts == answer.stated, answer.text[:end]
            n_shown += 1
    assert n_shown > 0

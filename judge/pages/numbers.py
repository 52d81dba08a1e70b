"""Numbers of studies with the texts that a page shows for them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from judge.pages.comparison_models import TextSteps
from judge.pages.models import MISSING, ListColumn, Number
from judge.stats.intervals import Values
from judge.text import NOTHING, number, with_minus_signs

_MAX_STEPS = 20_000
"""Texts of a range of numbers; a wider range is written in coarser steps."""


def value_column(
    name: str, label: str, values: Values, text: Callable[[float], str]
) -> ListColumn:
    """Return a column of numbers, NaN for none, each written by `text`."""
    known = ~np.isnan(values)
    different, places = np.unique(values[known], return_inverse=True)
    codes = np.full(len(values), MISSING)
    codes[known] = places
    numbers = different.tolist()
    return ListColumn(
        name=name,
        label=label,
        kind="number",
        tone=None,
        is_shown=True,
        largest_first=True,
        missing=NOTHING,
        texts=[text(value) for value in numbers],
        numbers=[_plain(value) for value in numbers],
        codes=codes.tolist(),
        parts=None,
    )


def _plain(value: float) -> Number:
    if value.is_integer():
        return int(value)
    return value


def text_steps(largest: float, digits: int) -> TextSteps:
    """Return the texts of all numbers from `-largest` to `largest`, with so many decimals.

    A page has no number of its own written: it looks up the text of a difference here.
    """
    unit = 10.0**-digits
    while 2 * largest / unit > _MAX_STEPS:
        digits -= 1
        unit = 10.0**-digits
    decimals = max(digits, 0)
    n = math.ceil(largest / unit)
    starts = []
    texts = []
    for step in range(-n, n + 1):
        text = number(step * unit, decimals)
        start = (step - 0.5) * unit
        if digits >= 0:
            start = _first(start, text, decimals)
        starts.append(start)
        texts.append(with_minus_signs(text))
    return TextSteps(starts=starts, texts=texts)


def _first(guess: float, text: str, digits: int) -> float:
    """Return the smallest number that is written as `text`; `guess` is beside it."""
    while number(guess, digits) != text:
        guess = math.nextafter(guess, math.inf)
    below = math.nextafter(guess, -math.inf)
    while number(below, digits) == text:
        guess = below
        below = math.nextafter(guess, -math.inf)
    return guess

"""Differences and quotients of two figures of independent samples, from their own intervals.

The method of variance estimates recovery: each end takes from the interval of a figure the side
that it needs, so that skewed intervals, Wilson's, and those of clustered studies keep their shape.
"""

from __future__ import annotations

import math
from dataclasses import replace

from judge.stats.estimate import Estimate

NO_INTERVAL = "one of the two figures has no interval"
UNCERTAIN_DIVISOR = "the share to divide by is too uncertain for an interval"


def independent_difference(first: Estimate, second: Estimate) -> Estimate:
    """Return the first figure less the second with its 95% interval [Zou and Donner 2008].

    The variance is the sum of both: where the samples go together, as where both are of the same
    references and hard ones raise both figures, the interval is too wide, never too narrow. It has
    no `n`. Without a value where one of the two has none; without an interval, and with the
    `reason`, where one of the two has none.
    """
    if first.value is None or second.value is None:
        return Estimate()
    difference = first.value - second.value
    estimate = Estimate(value=difference)
    ends = _ends(first, second)
    if ends is None:
        return replace(estimate, reason=NO_INTERVAL)
    (low_1, high_1), (low_2, high_2) = ends
    below = math.hypot(first.value - low_1, high_2 - second.value)
    above = math.hypot(high_1 - first.value, second.value - low_2)
    return replace(estimate, low=difference - below, high=difference + above)


def independent_quotient(first: Estimate, second: Estimate) -> Estimate:
    """Return the first figure divided by the second with its 95% interval [Donner and Zou 2012].

    Both are 0 or more. It has no `n`. Without a value where one of the two has none, or the second
    is 0; without an interval, and with the `reason`, where one of the two has none, and where the
    upper end of the second is twice its value or more.
    """
    if first.value is None or not second.value:
        return Estimate()
    estimate = Estimate(value=first.value / second.value)
    ends = _ends(first, second)
    if ends is None:
        return replace(estimate, reason=NO_INTERVAL)
    (low_1, high_1), (low_2, high_2) = ends
    if high_2 >= 2 * second.value or low_2 <= 0:
        return replace(estimate, reason=UNCERTAIN_DIVISOR)
    product = first.value * second.value
    under_low = high_2 * (2 * second.value - high_2)
    under_high = low_2 * (2 * second.value - low_2)
    root_low = product**2 - low_1 * (2 * first.value - low_1) * under_low
    root_high = product**2 - high_1 * (2 * first.value - high_1) * under_high
    # Rounding can take a root of 0 below it.
    low = (product - math.sqrt(max(root_low, 0.0))) / under_low
    high = (product + math.sqrt(max(root_high, 0.0))) / under_high
    return replace(estimate, low=max(low, 0.0), high=high)


def _ends(
    first: Estimate, second: Estimate
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    if first.low is None or first.high is None:
        return None
    if second.low is None or second.high is None:
        return None
    return (first.low, first.high), (second.low, second.high)

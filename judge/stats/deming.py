"""A straight line between two judges' values of the same studies, both of which have an error.

Least squares takes the old value for the truth: where the old judge errs too its slope is too flat,
and a new judge on the same scale seems to be on a narrower one. Deming's line allows for errors of
both. The ratio of the two variances of error has to be known; without repeats of both judges it is
not, and 1 is taken: two judges that err alike. With another ratio the line is off [Linnet 1998].
Least squares either way round are the slopes if one judge alone had an error, and bound the true
one where the errors are independent [Erickson 1993]. Passing and Bablok's line needs no ratio, but
continuous values [Bilić-Zulle 2011], and counts are mostly ties.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judge.stats.intervals import Values

ERROR_RATIO = 1.0
"""The variance of the new judge's error over that of the old one's."""


@dataclass(frozen=True, slots=True)
class Line:
    """Lines of the new values on the old ones, one for each resample; NaN where there is none.

    `least` and `most` are the slopes if the new judge, or the old one, had all the error.
    """

    slope: Values
    intercept: Values
    least: Values
    most: Values


def deming(sums: Values, ratio: float = ERROR_RATIO) -> Line:
    """Return the line for each row of weighted sums: of 1, x, y, x², y² and xy, in this order.

    There is no line where x and y do not rise together: the slope would be negative, or vertical.
    """
    n, x, y, xx, yy, xy = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_x, mean_y = x / n, y / n
        var_x = xx / n - mean_x**2
        var_y = yy / n - mean_y**2
        covariance = xy / n - mean_x * mean_y
        is_rising = covariance > 1e-12 * np.sqrt(np.abs(var_x * var_y))
        covariance = np.where(is_rising, covariance, np.nan)
        excess = var_y - ratio * var_x
        root = np.sqrt(excess**2 + 4 * ratio * covariance**2)
        slope = (excess + root) / (2 * covariance)
        least = covariance / var_x
        most = var_y / covariance
    return Line(slope, mean_y - slope * mean_x, least, most)

"""Places of figures, where what rounding alone sets apart is equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_Values = NDArray[np.float64]

ROUNDING = 1e-12
"""How far apart equal sums of floating-point numbers may come out, as a share of their size."""


def rounding_of(values: _Values, *, is_inverse: bool) -> _Values:
    """Return for each model how far rounding may move its figure; 0 without a figure.

    `values` is studies by models, NaN where a study was not scored. The sum of 0.4 and 0.2 is
    not twice 0.3 to the last bit: such a difference goes with the size of the values, not with
    that of their sum, which may be near 0.
    """
    n = np.maximum((~np.isnan(values)).sum(axis=0), 1)
    size: _Values = ROUNDING * np.nansum(np.abs(values), axis=0) / n
    if not is_inverse:
        return size
    means = np.nansum(values, axis=0) / n
    found: _Values = np.divide(size, means**2, out=np.zeros_like(size), where=means > 0)
    return found


def without_rounding(value: float, rounding: float) -> float:
    """Return `value`, or 0 where it is no more than rounding."""
    return 0.0 if abs(value) <= rounding else value


def places(
    figures: _Values, rounding: _Values, *, higher: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return in each row how many figures are better than each one, and how many equal it.

    `figures` is rows by models, without NaN; each equals itself. `rounding` is one a model.
    Neighbours in order that are no further apart than the larger rounding of the two are
    equal, and so is what a chain of such neighbours joins.
    """
    rows, m = figures.shape
    falling = figures if higher else -figures
    order = np.argsort(-falling, axis=1, kind="stable")
    ordered, near = np.take_along_axis(falling, order, axis=1), rounding[order]
    with np.errstate(invalid="ignore"):  # two at infinity are equal
        apart = ordered[:, :-1] - ordered[:, 1:] > np.maximum(near[:, :-1], near[:, 1:])
    edge = np.ones((rows, 1), dtype=bool)
    here = np.arange(m)
    first = np.maximum.accumulate(np.where(np.hstack([edge, apart]), here, 0), axis=1)
    ends = np.where(np.hstack([apart, edge]), here, m)
    last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    better, equal = np.empty_like(order), np.empty_like(order)
    np.put_along_axis(better, order, first, axis=1)
    np.put_along_axis(equal, order, last - first + 1, axis=1)
    return better, equal


def places_of(
    values: Sequence[float | None], rounding: _Values, *, higher: bool
) -> list[int | None]:
    """Return the place of each value, 1 for the best; equal ones share the better place."""
    known = [at for at, value in enumerate(values) if value is not None]
    figures = np.array([[values[at] for at in known]], dtype=float)
    better, _ = places(figures, rounding[known], higher=higher)
    found: list[int | None] = [None] * len(values)
    for at, n in zip(known, better[0], strict=True):
        found[at] = int(n) + 1
    return found

"""Numbers made small for a page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judge.stats.panel import Values

_DIGITS = (6, 5, 4, 3)
_MOST = 65_535
_SMALL = 255


@dataclass(frozen=True, slots=True)
class Codes:
    """Values as numbers into `unique`, one model after the other, `width` bytes each.

    The number after the last stands for "not scored". Where no more than 65,535 values are
    different they are exact, so that a page rounds what was measured; of more they keep six
    to three significant digits, as many as leave no more than that.
    """

    unique: tuple[float, ...]
    width: int
    data: bytes


def coded(values: Values) -> Codes:
    """Return `values`, studies by models with NaN for not scored, as codes."""
    flat = values.T.ravel()
    scored = ~np.isnan(flat)
    known = flat[scored]
    for digits in (None, *_DIGITS):
        shown = known if digits is None else _rounded(known, digits)
        unique, indices = np.unique(shown, return_inverse=True)
        if len(unique) <= _MOST:
            break
    else:
        raise ValueError("too many different values")
    codes = np.full(flat.shape, len(unique), dtype=np.int64)
    codes[scored] = indices
    width = 1 if len(unique) <= _SMALL else 2
    data = codes.astype("<u1" if width == 1 else "<u2").tobytes()
    return Codes(tuple(float(value) for value in unique), width, data)


def _rounded(values: Values, digits: int) -> Values:
    """Round to `digits` significant digits."""
    if not len(values):
        return values
    size = np.floor(np.log10(np.abs(np.where(values == 0, 1, values))))
    scale = 10.0 ** (digits - 1 - size)
    return np.asarray(np.round(values * scale) / scale, dtype=np.float64)

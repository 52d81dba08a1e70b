"""The order in which groups of studies are shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_DIGITS = re.compile(r"([0-9]+)")


def in_natural_order(keys: Sequence[Mapping[str, object]]) -> list[int]:
    """Return the positions of groups, ordered by their values: 2 before 10, missing last."""
    return sorted(range(len(keys)), key=lambda index: [*map(_natural, keys[index].values())])


def _natural(value: object) -> tuple[bool, bool, float, list[tuple[int, str]]]:
    number = value if isinstance(value, int | float) else None
    pieces = [
        (len(digits := piece.lstrip("0")), digits) if position % 2 else (0, piece.lower())
        for position, piece in enumerate(_DIGITS.split(str(value)))
    ]
    return value is None, number is None, number or 0, pieces

"""How near one text is to another."""

from __future__ import annotations

import re
from collections import Counter

_WORD = re.compile(r"\w+")


def closeness(one: str, other: str) -> float:
    """Return how many words two texts share, from 0 to 1, whatever their order.

    The Sørensen-Dice coefficient of the two bags of words, in lower case: twice the words
    in common over the words of both. 1 for two texts without a word.
    """
    left, right = (Counter(_WORD.findall(text.lower())) for text in (one, other))
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 1.0

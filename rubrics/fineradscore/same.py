"""When two lines say the same, and when a line says nothing."""

from __future__ import annotations

import re

LEFT_OUT = "a correction that changes nothing was left out"
"""The warning about an answer that had one."""

_WORD = re.compile(r"\w+|\?")


def says(text: str) -> tuple[str, ...]:
    """Return what a line says: its words and question marks, whatever the case and the stops."""
    return tuple(_WORD.findall(text.casefold()))


def says_nothing(text: str) -> bool:
    """Return whether `text` stands for there being nothing to correct."""
    return says(text) in _NOTHING


def no_text(text: str) -> bool:
    """Return whether `text` stands for an empty one."""
    return says(text) in ((), ("none",), ("null",), ("n", "a"))


_NOTHING = frozenset(
    tuple(text.split())
    for text in (
        *("no change", "no changes", "no change needed", "no changes needed", "unchanged"),
        *("no correction", "no corrections", "no correction needed", "none", "n a", "correct"),
    )
)

"""What the original's form calls a severity and a line, and what the words of a line say.

A word that is not known, two that differ, and whatever could mean two things give nothing.
"""

from __future__ import annotations

import re

from judge.rubrics.categories import CAMEL, LONGEST

_FILLERS = frozenset(("but", "and", "error", "errors", "severity", "level"))
_SEVERITIES = {
    **dict.fromkeys(("not actionable", "non actionable", "nonactionable"), 1),
    **dict.fromkeys(("actionable not urgent", "actionable non urgent", "actionable nonurgent"), 2),
    **dict.fromkeys(("urgent", "actionable urgent"), 3),
    "emergent": 4,
    **{str(n): n for n in (1, 2, 3, 4)},
}


def severity_of(value: object) -> object:
    """Return the severity that `value` names, None for a text that names none of the four."""
    if not isinstance(value, str):
        return value
    words = plain_key(value[:LONGEST]).split()
    return _SEVERITIES.get(" ".join(word for word in words if word not in _FILLERS))


_LINE = re.compile(
    r"[\s\[(#\"']*(?:line\s*(?:number|no\.?)?)?[\s\[(#:]*([0-9]{1,6})(?:\.0+)?[\s\]).:\"']*", re.I
)
_NO_LINE = re.compile(
    r"[\s\[(<\"']*(?:(?:none|null)(?:[\s_-]*[0-9]+)?|n/a|(?:at\s+)?(?:the\s+)?end"
    r"(?:\s+of(?:\s+the)?\s+report)?|)[\s\])>.:\"']*",
    re.I,
)
_DELETED = re.compile(
    r"\W*(?:deleted?|removed?)(?:\s+(?:this|the|entire|whole))*(?:\s+(?:line|sentence))?\W*", re.I
)


def plain_key(key: str) -> str:
    """Return a key in lower case with single spaces between its words."""
    return " ".join(re.split(r"[\W_]+", CAMEL.sub(" ", key).lower())).strip()


def line_of(key: str) -> int | None:
    """Return the line number that a key gives, None for one that says "None" or "at the end".

    A number in brackets or in words ("[1]", "line 1") is that number. Raises ValueError for
    anything else.
    """
    if len(key) <= LONGEST:
        if found := _LINE.fullmatch(key):
            return int(found[1])
        if _NO_LINE.fullmatch(key):
            return None
    raise ValueError(f"{key!r} is no line number")


def deletes(text: object) -> bool:
    """Return whether `text` says to delete, "[delete]" in the original's reply format."""
    return isinstance(text, str) and len(text) < LONGEST and bool(_DELETED.fullmatch(text))


# ------------------------------------------------------------------- what a line says

_WORD = re.compile(r"\w+|\?")
_NOTHING = frozenset(
    tuple(text.split())
    for text in (
        *("no change", "no changes", "no change needed", "no changes needed", "unchanged"),
        *("no correction", "no corrections", "no correction needed", "none", "n a", "correct"),
    )
)


def says(text: str) -> tuple[str, ...]:
    """Return what a line says: its words and question marks, whatever the case and the stops."""
    return tuple(_WORD.findall(text.casefold()))


def says_nothing(text: str) -> bool:
    """Return whether `text` stands for there being nothing to correct."""
    return says(text) in _NOTHING

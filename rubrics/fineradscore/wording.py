"""What judges call a severity, an edit and a line, and what each of them means.

Form is read leniently, meaning strictly: a word that is not known, two that differ, and
whatever could mean two things give nothing.
"""

from __future__ import annotations

import re

from judge.rubrics.category_names import CAMEL, LONGEST

# ---------------------------------------------------------------------------- severity

_TOKEN = re.compile(r"[0-9]+(?:\.[0-9]+)?|[^\W\d_]+")
_SAID = re.compile(r"(?:[^\W_]|[\s.,:;()\[\]{}_/*\"'`=#\-\u2010-\u2015])+")
"""The characters of a plain statement: a question mark, a plus or a tilde leave room for doubt."""
_SIGNED = re.compile(r"(?<![^\W_])\s*[-\u2010-\u2015.][0-9]")
_NEGATED = re.compile(r"\bno[nt][\s-]*(actionable|urgent|emergent)\b")
_OF_FOUR = re.compile(r"(?<![0-9.])([1-4])\s*(?:/|out of|of)\s*4(?![0-9.])")
_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4} | {
    form: n for n in (1, 2, 3, 4) for form in (f"{n}", f"{n}.0")
}
_AROUND = frozenset(
    ("severity", "level", "clinical", "grade", "score", "rating", "error", "errors")
)
_JOINING = frozenset(("but", "and", "yet"))
_SEVERITIES = {
    frozenset(("noactionable",)): 1,
    frozenset(("noactionable", "nourgent")): 1,
    frozenset(("actionable", "nourgent")): 2,
    frozenset(("urgent",)): 3,
    frozenset(("actionable", "urgent")): 3,
    frozenset(("urgent", "noemergent")): 3,
    frozenset(("emergent",)): 4,
    frozenset(("actionable", "emergent")): 4,
}


def severity_of(value: object) -> int | None:
    """Return the severity that `value` names: a number, a name, or both in accord.

    "2", "3/4", "Level 2", "actionable but not urgent", "Severity 3: urgent". None for
    anything that is not on the scale or could be two levels ("actionable", "2 or 3").
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value) if value in (1, 2, 3, 4) else None
    if not isinstance(value, str) or len(value) > LONGEST:
        return None
    if not _SAID.fullmatch(value) or _SIGNED.search(value):
        return None
    text = CAMEL.sub(" ", value).lower().replace("_", " ")
    text = _NEGATED.sub(r"no\1", _OF_FOUR.sub(r"\1", text))
    words = [word for word in _TOKEN.findall(text) if word not in _AROUND]
    numbers = {_NUMBERS[word] for word in words if word in _NUMBERS}
    name = frozenset(word for word in words if word not in _NUMBERS)
    found = numbers | ({_SEVERITIES.get(name - _JOINING)} if name else set())
    return found.pop() if len(found) == 1 else None


# ----------------------------------------------------------------------- keys and edits

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

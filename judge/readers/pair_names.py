"""What the names of a user's file mean: its categories, its levels, its words for yes and no."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from judge.readers.annotations import CODES, FINERADSCORE, GREEN
from judge.rubrics.categories import (
    CATEGORY,
    INSIGNIFICANT,
    SIGNIFICANT,
    category_of,
)
from judge.rubrics.derived import category_name
from judge.rubrics.fineradscore.parse import NAMES as SEVERITIES
from judge.rubrics.fineradscore.parse import severity_of
from judge.studies.columns import normalise_name
from judge.text import counted
from judge.types import JudgeError

MAPPED = ("category", "level", "error")
OWN, NONE = "own", "none"
"""A category that stays in the file's own word, and a name that says that there is no error."""
_LEVELS = {
    "significant": SIGNIFICANT,
    "clinicallysignificant": SIGNIFICANT,
    "insignificant": INSIGNIFICANT,
    "clinicallyinsignificant": INSIGNIFICANT,
}
_YES = ("yes", "true", "1")
_NO = ("no", "false", "0")
# A letter or a number alone means something else in each set.
_CODE = re.compile(r"\W*\w\W*|[\W\d.]+")
_SHOWN = 12
Rubric = Literal["green", "fineradscore"]


def read_category(text: str) -> str | None:
    """Return the category that a name in words says, None for a code and for another name."""
    known = None
    if not _CODE.fullmatch(text):
        known = category_of(text)
    return known and known.value


def read_level(text: str) -> str | None:
    """Return the significance or severity that a name in words says, None for another."""
    level = _LEVELS.get(normalise_name(text))
    # A number means something else on each scale.
    if level is None and not re.search(r"\d", text):
        severity = severity_of(text)
        if isinstance(severity, int):
            level = f"severity{severity}"
    return level


@dataclass(frozen=True, slots=True)
class NewName:
    """What `--map` says of a name: a label of the rubric, `OWN` or `NONE`."""

    role: str
    old: str
    new: str


def new_name(text: str) -> NewName:
    """Return what `ROLE:OLD=NEW` says; raises ValueError for another form or an unknown NEW.

    OLD may be empty: a blank cell, or a field that the file does not have.
    """
    role, colon, rest = text.partition(":")
    old, equals, new = rest.rpartition("=")
    if role not in MAPPED or not colon or not equals or not new.strip():
        raise ValueError(
            f"{text!r} is not ROLE:OLD=NEW with a role of {', '.join(MAPPED)}"
        )
    known = _label(role, new.strip())
    if known is None:
        raise ValueError(f"{new.strip()!r} is unknown; {_choices(role)}")
    return NewName(role, normalised(old), known)


def counted_column(text: str) -> tuple[tuple[str, str], str]:
    """Return the category, the level and the column that `CATEGORY:LEVEL=NAME` names.

    The category may be empty, or a word of the file's own. Raises ValueError for another form.
    """
    name, equals, column = text.partition("=")
    category, colon, level = name.rpartition(":")
    if not (equals and colon and column.strip()):
        raise ValueError(f"{text!r} is not CATEGORY:LEVEL=NAME")
    known = _label("level", level.strip())
    if known is None:
        raise ValueError(f"{level!r} is unknown; {_choices('level')}")
    category = category.strip()
    if category:
        code = category_of(category)
        own = category_name(category)
        if code is None and own is None:
            raise ValueError(f"{category!r} is unknown; {_choices('category')}")
        category = code.value if code else str(own)
    return (category, known), column.strip()


def _label(role: str, name: str) -> str | None:
    if role == "category":
        if name in (OWN, NONE):
            return name
        known = category_of(name)
        return known and known.value
    if role == "level":
        if name in _LEVELS:
            return _LEVELS[name]
        severity = severity_of(name)
        return f"severity{severity}" if isinstance(severity, int) else None
    if name in ("yes", "no"):
        return name
    return None


def _choices(role: str) -> str:
    if role == "category":
        listed = ", ".join(f"{label.name} ({label.label})" for label in CATEGORY.labels)
        return (
            f"the categories are {listed}, {OWN} (counted by the file's own word) and {NONE} (no "
            "error)"
        )
    if role == "level":
        return (
            "the levels are significant, insignificant (GREEN), or 1 (not actionable), 2 "
            "(actionable), 3 (urgent), 4 (emergent) (FineRadScore)"
        )
    return "it is yes or no"


def normalised(name: str) -> str:
    """Return a name without regard to case and white space."""
    return " ".join(name.split()).casefold()


@dataclass(slots=True)
class Names:
    """The names of a file with what they mean, and how often each occurs.

    `read` counts the names by role, name and meaning, `unknown` those without one.
    """

    new: Mapping[tuple[str, str], str]
    read: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    unknown: Counter[tuple[str, str]] = field(default_factory=Counter)

    @classmethod
    def of(cls, given: Iterable[NewName]) -> Names:
        """Return the names as a user maps them; raises `JudgeError` for two meanings of one."""
        new: dict[tuple[str, str], str] = {}
        for name in given:
            key = (name.role, name.old)
            if new.setdefault(key, name.new) != name.new:
                raise JudgeError(
                    f"--map {name.role}:{name.old} is given twice, as {new[key]} and as {name.new}"
                )
        return cls(new)

    def meaning(self, role: str, text: str) -> str | None:
        """Return the meaning of a name, and count it; None where it is unknown.

        An own category is the word as a name, such as `poor_wording`.
        """
        meaning = self.new.get((role, normalised(text)))
        if meaning is None and role == "category":
            meaning = read_category(text)
        elif meaning is None and role == "level":
            meaning = read_level(text)
        elif meaning is None and normalise_name(text) in (*_YES, *_NO):
            meaning = "yes" if normalise_name(text) in _YES else "no"
        if meaning == OWN:
            meaning = category_name(text)
        if meaning is None:
            self.unknown[role, text] += 1
        else:
            self.read[role, text, meaning] += 1
        return meaning

    def refuse_unknown(self, where: str) -> None:
        """Raise `JudgeError` if a name is unknown, with all of them and what to write."""
        for role in MAPPED:
            names = [
                (text, n) for (of, text), n in self.unknown.most_common() if of == role
            ]
            if not names:
                continue
            listed = ", ".join(f"{text!r} ({n:,})" for text, n in names[:_SHOWN])
            if len(names) > _SHOWN:
                listed += ", ..."
            raise JudgeError(
                f"{where}: the meaning of {counted(len(names), 'name', 'names')} of {role} is "
                f"unknown: {listed}; say it of each with --map '{role}:{names[0][0]}=...'; "
                f"{_choices(role)}"
            )

    def rubric(self, where: str) -> Rubric:
        """Return the rubric of the levels; raises `JudgeError` for levels of both, or none."""
        levels = {
            meaning for role, _, meaning in self.read if role == "level" and meaning
        }
        if not levels:
            levels = {new for (role, _), new in self.new.items() if role == "level"}
        if not levels:
            raise JudgeError(
                f"{where}: no error has a level, so the rubric is unknown; name the field with "
                "--column level=FIELD, or say the level of all errors with --map "
                f"level:=significant; {_choices('level')}"
            )
        if levels <= {SIGNIFICANT, INSIGNIFICANT}:
            return GREEN
        if levels <= {*SEVERITIES}:
            return FINERADSCORE
        raise JudgeError(
            f"{where}: levels of GREEN and of FineRadScore are mixed; map all to those of one; "
            f"{_choices('level')}"
        )

    def unused_categories(self) -> list[str]:
        """Return the codes of the six categories that no error has, and `--map` does not name."""
        found = {meaning for role, _, meaning in self.read if role == "category"}
        found |= {new for (role, _), new in self.new.items() if role == "category"}
        return [code for code in CODES if code not in found]

    def lines(self) -> list[tuple[str, str, str, int]]:
        """Return role, the file's word, its meaning and how often it occurs, the frequent first."""
        rows = [(*key, n) for key, n in self.read.items()]
        return sorted(rows, key=lambda row: (MAPPED.index(row[0]), -row[3], row[1]))

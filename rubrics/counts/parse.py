"""Reads and writes the twelve counts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from judge.rubrics.category_names import CAMEL, category_of
from judge.rubrics.notation import arguments, checked, plain, read_json
from judge.rubrics.significance import CATEGORIES, INSIGNIFICANT, KEY, KEYS, LEVELS, SIGNIFICANT
from judge.types import Annotation, Study, UnparsedError

_WORD = re.compile(r"[a-z]+")
_AROUND = frozenset(("clinically", "clinical", "error", "errors", "count", "counts"))
_LEVELS = {
    "significant": SIGNIFICANT,
    **dict.fromkeys(("insignificant", "nonsignificant", "notsignificant"), INSIGNIFICANT),
}


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Return the counts that an answer states: for each of two levels, each of six categories.

    Levels and categories may be called by any of their names. JSON shows by itself whether it is
    whole, so `complete` makes no difference. Raises `UnparsedError` for what is no such object,
    whole and once, for a count that is left out or no whole number from 0, and for a key that is
    none of these or stands twice.
    """
    from judge.rubrics.counts.reply import Reply

    given = _named(plain(arguments(read_json(text))), _level, "a level")
    given |= {level: _named(given[level], _category, level) for level in LEVELS if level in given}
    reply = checked(Reply, given).model_dump()
    return Annotation(
        stated_counts={
            KEY[level, category]: reply[level][category.value]
            for level in LEVELS
            for category in CATEGORIES
        }
    )


def render(annotation: Annotation) -> str:
    """Return the counts as the reply that a judge would give, the inverse of `parse`.

    Raises ValueError for an annotation that has anything else, or lacks one of them.
    """
    stated = annotation.stated_counts
    if annotation != Annotation(stated_counts=stated) or stated.keys() != {*KEYS}:
        raise ValueError("the reply has the twelve counts and nothing beside them")
    reply = {level: {one.value: stated[KEY[level, one]] for one in CATEGORIES} for level in LEVELS}
    return json.dumps(reply, separators=(",", ":"))


def _named(given: Any, name_of: Callable[[str], str], where: str) -> dict[str, Any]:  # noqa: ANN401
    """Return an object with its keys as we name them; what is no name of ours stays as it is."""
    if not isinstance(given, dict):
        raise UnparsedError("unexpected form", f"{where} is an object with counts")
    found = {name_of(key): value for key, value in given.items()}
    if len(found) != len(given):
        raise UnparsedError("duplicate key", ", ".join(given))
    return found


@lru_cache(256)
def _level(key: str) -> str:
    words = (word for word in _WORD.findall(CAMEL.sub(" ", key).lower()) if word not in _AROUND)
    return _LEVELS.get("".join(words), key)


@lru_cache(256)
def _category(key: str) -> str:
    found = category_of(key)
    return found.value if found else key

"""Reads and writes the twelve counts."""

from __future__ import annotations

import json

from judge.rubrics.categories import CATEGORIES, KEY, KEYS, LEVELS
from judge.rubrics.reply_text import checked, read_json
from judge.types import Annotation, Study


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Return the counts that an answer states: for each of two levels, each of six categories.

    JSON shows by itself whether it is whole, so `complete` makes no difference. Raises
    `UnparsedError` for what is no such object, whole and once, for a count that is left out or no
    whole number from 0, and for a key that is none of these or stands twice.
    """
    from judge.rubrics.counts.reply import Reply

    reply = checked(Reply, read_json(text)).model_dump()
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

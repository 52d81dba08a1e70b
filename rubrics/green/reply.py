"""The structured reply: a list of errors for each category, so that no count can contradict one.

A count is the length of its list. An entry that denies, that holds several or that stands twice
makes the reply unparsed.
"""

from __future__ import annotations

import json
import re
from typing import ClassVar

from pydantic import Field

from judge.rubrics.categories import CATEGORIES, KEY, LEVELS
from judge.rubrics.green.layout import MATCHED, an_error, counts_of, matched_finding, texts_by_count
from judge.rubrics.reply_text import Form, Words, checked, is_no_entry, read_json, same_words, twice
from judge.types import Annotation, Category, Study, UnparsedError


class Errors(Form):
    """The errors of one level, each in one of the six categories."""

    # In the order of `CATEGORIES`.
    false_finding: list[Words] = Field(
        description="(a) The candidate says something is there that the reference does not support."
    )
    missing_finding: list[Words] = Field(
        description="(b) The reference reports it, the candidate leaves it out or denies it."
    )
    wrong_location: list[Words] = Field(description="(c) On another side or in another place.")
    wrong_severity: list[Words] = Field(description="(d) Larger, smaller, milder or graver.")
    comparison_not_in_reference: list[Words] = Field(
        description="(e) A change, or its absence, that the reference does not tell."
    )
    omitted_comparison: list[Words] = Field(
        description="(f) A change that the reference tells and the candidate does not."
    )


class Reply(Form):
    """What the candidate gets wrong and what it gets right. One error or finding an entry."""

    optional: ClassVar = {"explanation": ""}

    explanation: Words = Field(description="Two to five sentences on what differs and why.")
    clinically_significant_errors: Errors
    clinically_insignificant_errors: Errors
    matched_findings: list[Words] = Field(
        description="What the candidate says in agreement with the reference, each finding once."
    )


_LISTS = tuple(Errors.model_fields)

_SEVERAL = re.compile(r"[;\n\r\u2022]|(?:^|\s)2[.)]\s")


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Return the annotation in a structured reply.

    JSON shows by itself whether it is whole, so `complete` makes no difference. Raises
    `UnparsedError` for what is no such reply, and for a list whose length may not be the number of
    its errors or findings.
    """
    reply = checked(Reply, read_json(text))
    levels = (reply.clinically_significant_errors, reply.clinically_insignificant_errors)
    lists = [
        (level, category, getattr(found, name))
        for level, found in zip(LEVELS, levels, strict=True)
        for category, name in zip(CATEGORIES, _LISTS, strict=True)
    ]
    errors = [an_error(level, one, entry) for level, one, entries in lists for entry in entries]
    for entry in (*(error.text for error in errors), *reply.matched_findings):
        if is_no_entry(entry):
            raise UnparsedError("no entry", f"{entry!r} stands in a list, and is no entry of one")
        if _SEVERAL.search(entry):
            raise UnparsedError("several in one entry", f"one entry each: {entry!r}")
    for texts in ([error.text for error in errors], reply.matched_findings):
        if (again := twice(texts)) is not None:
            raise UnparsedError("contradiction", f"twice: {again!r}")
    alone = (Category.FALSE_FINDING, Category.MISSING_FINDING)
    one_sided = {same_words(x) for _, one, entries in lists if one in alone for x in entries}
    if both := next((x for x in reply.matched_findings if same_words(x) in one_sided), None):
        raise UnparsedError("contradiction", f"an error and matched: {both!r}")
    items = (*errors, *map(matched_finding, reply.matched_findings))
    return Annotation(items, reply.explanation, stated_counts=counts_of(items))


def render(annotation: Annotation) -> str:
    """Return the annotation as the reply that a judge would give, the inverse of `parse`.

    Raises `ValueError` for an annotation that no reply expresses, as one whose stated counts
    are not the lengths of its lists.
    """
    texts = texts_by_count(annotation)
    lists = [
        {name: texts[KEY[level, one]] for one, name in zip(CATEGORIES, _LISTS, strict=True)}
        for level in LEVELS
    ]
    values = (annotation.explanation, *lists, texts[MATCHED])
    text = json.dumps(dict(zip(Reply.model_fields, values, strict=True)), indent=1)
    try:
        expressed = parse(text, Study("", "", ""))
    except UnparsedError as error:
        raise ValueError(f"no reply expresses this: {error}") from error
    if expressed != annotation:
        raise ValueError("no reply expresses all of this annotation")
    return text

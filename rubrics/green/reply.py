"""The structured reply: a list of errors for each category, so that no count can contradict one.

A count is the length of its list. What casts doubt on a length - an entry that is empty,
that holds several, that says "none" among others - makes the reply unparsed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictStr

from judge.rubrics.green.layout import MATCHED, an_error, counts_of, matched_finding, texts_by_count
from judge.rubrics.notation import arguments, checked, plain, read_json, visible
from judge.rubrics.significance import CATEGORIES, KEY, LEVELS
from judge.types import Annotation, Study, UnparsedError


def _visible(value: object) -> object:
    return visible(value).strip() if isinstance(value, str) else value


_Text = Annotated[StrictStr, BeforeValidator(_visible)]
_Entries = list[_Text]


class Errors(BaseModel):
    """The errors of one level, each in one of the six categories."""

    model_config = ConfigDict(extra="forbid")

    # In the order of `CATEGORIES`.
    false_finding: _Entries = Field(
        description="(a) The candidate says something is there that the reference does not support."
    )
    missing_finding: _Entries = Field(
        description="(b) The reference reports it, the candidate leaves it out or denies it."
    )
    wrong_location: _Entries = Field(description="(c) On another side or in another place.")
    wrong_severity: _Entries = Field(description="(d) Larger, smaller, milder or graver.")
    comparison_not_in_reference: _Entries = Field(
        description="(e) A change, or its absence, that the reference does not tell."
    )
    omitted_comparison: _Entries = Field(
        description="(f) A change that the reference tells and the candidate does not."
    )


class Reply(BaseModel):
    """What the candidate gets wrong and what it gets right. One error or finding an entry."""

    model_config = ConfigDict(extra="forbid")

    explanation: _Text = Field(description="Two to five sentences on what differs and why.")
    clinically_significant_errors: Errors
    clinically_insignificant_errors: Errors
    matched_findings: _Entries = Field(
        description="What the candidate says in agreement with the reference, each finding once."
    )


_LISTS = tuple(Errors.model_fields)

# "None", "n/a", "No errors.", "No missing findings": an empty list put in words.
_NOTHING = re.compile(
    r"\W*(?:none|nil|null|n/?a|not applicable|no(?:ne)?(?: clinically)?(?: (?:in)?significant)?"
    r" (?:(?:false|missing|missed|match(?:ed|ing)) findings?|errors?|(?:wrong|incorrect) \w+"
    r"|omitted comparisons?|discrepanc(?:y|ies)|differences?))"
    r"(?: (?:found|identified|noted|present|reported|listed|detected))?\W*",
    re.IGNORECASE,
)
# The same with more around it, or a count: it may be no entry, and is never counted as one.
_DENIAL = re.compile(
    r"\W*(?:none|nil|n/?a|not applicable)\b(?!\s+of\b)|.*:\s*(?:0|none)\W*$"
    r"|\W*(?:[0-9]+|one|two|three|four|five|six|seven|eight|nine|ten)\W+(?:\w+\s+){0,2}"
    r"(?:errors?|findings?)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\(?([0-9]{1,4})[.):]\s+")
_BLANK = re.compile(
    r"[\W\d_]*|(?:string|text|entry|error|finding|matched finding)\s*[0-9]*", re.IGNORECASE
)
_SEVERAL = re.compile(r"[;\n\r\u2022]")


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Return the annotation in a structured reply.

    JSON shows by itself whether it is whole, so `complete` makes no difference. Raises
    `UnparsedError` for what is no such reply, whole and once, with each of its fields and no
    other, and for a list whose length may not be the number of its errors or findings.
    """
    if not text.strip():
        raise UnparsedError("empty", "nothing was answered")
    reply = checked(Reply, plain(arguments(read_json(text))))
    levels = (reply.clinically_significant_errors, reply.clinically_insignificant_errors)
    errors = [
        an_error(level, category, entry)
        for level, found in zip(LEVELS, levels, strict=True)
        for category, name in zip(CATEGORIES, _LISTS, strict=True)
        for entry in _entries(getattr(found, name), f"{level} {name}")
    ]
    matched = _entries(reply.matched_findings, "matched_findings")
    _check_once([error.text for error in errors], "an error")
    _check_once(matched, "a matched finding")
    items = (*errors, *map(matched_finding, matched))
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


def _entries(given: Sequence[str], where: str) -> list[str]:
    """Return the entries of a list, none of which may be doubted to be one.

    A list that holds nothing but "none" is empty; entries numbered from 1 lose their numbers.
    """
    if not given or (len(given) == 1 and _NOTHING.fullmatch(given[0])):
        return []
    numbers = [_NUMBER.match(entry) for entry in given]
    if all(found and int(found[1]) == at for at, found in enumerate(numbers, 1)):
        given = [_NUMBER.sub("", entry, count=1) for entry in given]
    elif any(numbers):
        raise UnparsedError("unreadable count", f"{where}: a number stands before an entry")
    entries = []
    for entry in given:
        if _BLANK.fullmatch(entry):
            raise UnparsedError("empty entry", f"{where}: {entry!r}")
        if _NOTHING.fullmatch(entry) or _DENIAL.match(entry):
            raise UnparsedError("contradiction", f"{where}: {entry!r} is no entry of a list")
        if _SEVERAL.search(entry):
            raise UnparsedError(
                "several in one entry", f"{where}: one entry each, without semicolons: {entry!r}"
            )
        entries.append(" ".join(entry.split()))
    return entries


def _check_once(entries: Sequence[str], what: str) -> None:
    """Raise `UnparsedError` where the same words are counted twice."""
    seen: set[str] = set()
    for entry in entries:
        if (words := entry.casefold().rstrip(". ")) in seen:
            raise UnparsedError("contradiction", f"{what} stands twice: {entry!r}")
        seen.add(words)

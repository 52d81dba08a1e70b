"""Reads an answer, holds it against the study that it is about, and writes one.

A word that is not known, two that differ, and whatever could mean two things give nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from judge.jsonio import Pairs
from judge.rubrics.categories import CAMEL, CATEGORY, ERROR, LONGEST, category_of, error
from judge.rubrics.fineradscore.measures import NAMES, SEVERITY, corrected
from judge.rubrics.reply_text import (
    Form,
    Line,
    Verbatim,
    Whole,
    checked,
    plain_key,
    read_json,
    whole,
)
from judge.sentences import lines
from judge.types import Annotation, Edit, Item, Study, UnparsedError

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
    words = re.split(r"[\W_]+", CAMEL.sub(" ", value[:LONGEST]).lower())
    return _SEVERITIES.get(" ".join(word for word in words if word and word not in _FILLERS))


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


def _severity(value: object) -> object:
    found = whole(value)
    if type(found) is not int or not 1 <= found <= 4:
        raise PydanticCustomError("severity off the scale", "severity is 1, 2, 3 or 4")
    return found


def _categories(value: object) -> object:
    if not isinstance(value, list):
        return value
    if not value:
        raise PydanticCustomError("no category", "categories names at least one of a to f")
    if not all(one in get_args(_Letter) for one in value):
        raise PydanticCustomError("category off the scale", "a category is one of a to f")
    return sorted(set(value))


_Letter = Literal["a", "b", "c", "d", "e", "f"]


class Correction(Form):
    """One change of the candidate."""

    optional: ClassVar = {"comment": ""}

    line: Whole | None = Field(
        description="The number of the candidate's line that is changed or deleted. For an "
        "insertion, the line that the new one goes before, or null for the end of the report."
    )
    edit: Literal["change", "delete", "insert"] = Field(description="What is done to the line.")
    corrected: Line = Field(description="The line as it should read; empty for a deletion.")
    severity: Annotated[Literal[1, 2, 3, 4], BeforeValidator(_severity)] = Field(
        description="1 not actionable, 2 actionable but not urgent, 3 urgent, 4 emergent."
    )
    categories: Annotated[list[_Letter], BeforeValidator(_categories)] = Field(
        description="One or more of: a false finding, b missing finding, c wrong location, "
        "d wrong severity, e comparison not in the reference, f omitted comparison."
    )
    comment: Verbatim = Field(description="Why the correction is needed, in a sentence.")


class Reply(Form):
    """All corrections that turn the candidate into the reference; none where they agree."""

    corrections: list[Correction]


# The original's form: an entry a line, by "0" or "[0]", and "None" for each line to insert.
_LINE = re.compile(r"\[?([0-9]{1,6})\]?|None", re.IGNORECASE)
_DELETE = re.compile(
    r"\W*(?:delete|remove)d?(?:\s+(?:this|the|entire|whole|line|sentence))*\W*", re.IGNORECASE
)
_FIELDS = {
    "corrections": "corrected",
    "clinical severity": "severity",
    "comments": "comment",
    "error category": "categories",
}


def parse(
    text: str,
    study: Study,
    *,
    complete: bool = False,  # noqa: ARG001
    published: bool = False,
) -> Annotation:
    """Return the annotation in an answer: an object with a list of `corrections`.

    Where the prompt is the original's, `published`, it may be the original's form instead, an
    object with an entry a line, in which the key None repeats.
    """
    value = read_json(text, pairs=published)
    if isinstance(value, Pairs) and not any(plain_key(key) == "corrections" for key, _ in value):
        found = [checked(Correction, entry) for entry in _of_lines(value)]
    else:
        found = checked(Reply, _plain(value)).corrections
    candidate = lines(study.candidate)
    for correction in found:
        _fits(correction, candidate)
    real = {says(line) for line in lines(study.reference)}
    if idle := next((one for one in found if _is_idle(one, candidate, real)), None):
        raise UnparsedError("correction changes nothing", idle.corrected)
    _no_clash(found)
    annotation = Annotation(tuple(map(_error, found)))
    if found and corrected(annotation, study) == study.candidate:
        raise UnparsedError("correction changes nothing", "all of them together")
    return annotation


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON is any of a few types
    if isinstance(value, Pairs):
        if len(dict(value)) < len(value):
            raise UnparsedError("duplicate key", ", ".join(key for key, _ in value))
        return {key: _plain(item) for key, item in value}
    return list(map(_plain, value)) if isinstance(value, list) else value


def _of_lines(pairs: Pairs) -> Iterator[dict[str, Any]]:
    for key, value in pairs:
        if key.strip().lower() == "failed":
            raise UnparsedError("judge failed", "the answer is the mark of a failed one")
        place, entry = _LINE.fullmatch(key), _plain(value)
        if place is None:
            raise UnparsedError("line off the report", f"{key!r} is no line number")
        if not isinstance(entry, dict):
            raise UnparsedError("unexpected form", f"{key!r} is no correction")
        line = int(place[1]) if place[1] else None
        fields = {_FIELDS.get(name, name): value for name, value in entry.items()}
        is_deletion = _DELETE.fullmatch(str(fields.get("corrected"))) is not None
        if is_deletion:
            fields["corrected"] = ""
        if "severity" in fields:
            fields["severity"] = severity_of(fields["severity"])
        named = fields.get("categories")
        if isinstance(named, list) and None not in (found := [*map(category_of, named)]):
            fields["categories"] = found
        edit = "insert" if line is None else "delete" if is_deletion else "change"
        yield {**fields, "edit": edit, "line": line}


def _fits(correction: Correction, candidate: Sequence[str]) -> None:
    line, text = correction.line, correction.corrected
    last = len(candidate) - (correction.edit != "insert")
    if line is not None and not 0 <= line <= last:
        raise UnparsedError("line off the report", f"line {line} of {len(candidate)} lines")
    if correction.edit == "insert":
        if not text:
            raise UnparsedError("insertion without text", correction.comment)
        return
    if line is None:
        raise UnparsedError("correction without a line", text)
    if correction.edit == "delete" and text:
        raise UnparsedError("deletion with text", f"line {line}: {text}")
    if correction.edit == "change" and not text:
        raise UnparsedError("change without text", f"line {line}")
    number = f"{line}:"
    if text.startswith(number) and not candidate[line].startswith(number):
        raise UnparsedError("line number in the text", text)


def _is_idle(
    correction: Correction, candidate: Sequence[str], real: Container[tuple[str, ...]]
) -> bool:
    """Whether it changes nothing: its text is there already, or says that nothing is to be done.

    "No change needed" is such a text, "No change." is none where the reference says just this.
    """
    text = says(correction.corrected)
    if correction.edit == "delete":
        return False
    if text in _NOTHING and text not in real:
        return True
    if correction.edit == "insert":
        return text in map(says, candidate)
    return correction.line is not None and text == says(candidate[correction.line])


def _no_clash(found: Sequence[Correction]) -> None:
    changed = [one.line for one in found if one.edit != "insert"]
    if len(set(changed)) < len(changed):
        raise UnparsedError("line corrected twice", f"lines {changed}")
    new = [says(one.corrected) for one in found if one.edit != "delete"]
    if len(set(new)) < len(new):
        raise UnparsedError("line put in twice", "; ".join(" ".join(words) for words in new))


def _error(correction: Correction) -> Item:
    return error(
        correction.categories,
        SEVERITY.name,
        NAMES[correction.severity - 1],
        correction.comment,
        Edit(correction.edit, correction.line, correction.corrected),
    )


def render(annotation: Annotation) -> str:
    """Return the annotation as JSON, a line a correction.

    Raises ValueError for one with anything but errors that have an edit and a category.
    """
    if annotation != Annotation(annotation.items):
        raise ValueError("FineRadScore has corrections and nothing beside them")
    entries = [_entry(item) for item in annotation.items]
    written = ",\n  ".join(map(json.dumps, entries))
    return f'{{"corrections": [\n  {written}\n]}}' if entries else '{"corrections": []}'


def _entry(error: Item) -> dict[str, object]:
    categories = error.labels.get(CATEGORY.name)
    if error.kind != ERROR or error.edit is None or not categories:
        raise ValueError(f"a correction has an edit and a category: {error.text}")
    return {
        "line": error.edit.line,
        "edit": error.edit.kind,
        "corrected": error.edit.corrected,
        "severity": NAMES.index(error.label(SEVERITY.name)) + 1,
        "categories": list(categories),
        "comment": error.text,
    }

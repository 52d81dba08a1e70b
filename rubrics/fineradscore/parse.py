"""Reads an answer and holds it against the study that it is about."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from judge.rubrics.categories import error
from judge.rubrics.fineradscore.measures import NAMES, SEVERITY, corrected
from judge.rubrics.fineradscore.wording import (
    LEFT_OUT,
    deletes,
    edit_of,
    line_of,
    no_text,
    says,
    says_nothing,
    severity_of,
)
from judge.rubrics.notation import Object, Pairs, arguments, checked, plain, read_json
from judge.sentences import lines
from judge.types import Annotation, Edit, Item, Study, UnparsedError

if TYPE_CHECKING:
    from judge.rubrics.fineradscore.reply import Correction

_NAMES = {
    "line": ("line", "line number"),
    "edit": ("edit", "action", "operation"),
    "corrected": ("corrected", "corrections", "correction", "corrected line", "corrected text"),
    "severity": ("severity", "clinical severity"),
    "categories": ("categories", "category", "error categories", "error category"),
    "comment": ("comment", "comments"),
}
"""Our name of each field and the names that it has, the original's among them."""
_OURS = "corrections"
_COUNT = re.compile(
    r"(?:n|num|number|count|total)(?: of)?(?: (?:errors|corrections))?"
    r"|(?:errors|corrections) (?:count|total)"
)


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Return the annotation in an answer: our own format or the original's.

    Ours is an object with a list of `corrections`, or that list alone; the original's has
    an entry a line. An empty one says that nothing is wrong. JSON shows by itself whether
    it is whole, so `complete` makes no difference. One correction that changes nothing is
    left out beside others, with a warning. Raises `UnparsedError` for what cannot be read
    with certainty and for corrections that do not fit the candidate.
    """
    from judge.rubrics.fineradscore.reply import Correction

    candidate = lines(study.candidate)
    entries = _entries(read_json(text))
    found = [_tidied(checked(Correction, entry), candidate) for entry in entries]
    for correction in found:
        _fits(correction, candidate)
    real = {says(line) for line in lines(study.reference)}
    idle = [one for one in found if _is_idle(one, candidate, real)]
    made = [one for one in found if one not in idle]
    if idle:
        _one_among_good(idle, made, candidate)
    _no_clash(found)
    annotation = Annotation(tuple(map(_error, made)), warnings=(LEFT_OUT,) if idle else ())
    if made and corrected(annotation, study) == study.candidate:
        raise UnparsedError("correction changes nothing", "all of them together")
    return annotation


def _entries(value: Object | list[Any]) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return list(map(_fields, value))
    called = arguments(value)
    if called is not value and not (isinstance(called, Object) and _OURS in dict(called.pairs)):
        raise UnparsedError("unexpected form", "a call of another tool")
    given = [item for key, item in called.pairs if _plain_key(key) == _OURS]
    if not given:
        return _of_lines(called.pairs)
    if len(given) > 1:
        raise UnparsedError("duplicate key", _OURS)
    if not isinstance(given[0], list):
        raise UnparsedError("unexpected form", "corrections is no list")
    for key, item in called.pairs:
        if _plain_key(key) != _OURS:
            _says_no_other(key, plain(item), len(given[0]))
    return list(map(_fields, given[0]))


def _says_no_other(key: str, value: object, n: int) -> None:
    """Raise `UnparsedError` for a field beside the `n` corrections that tells of others."""
    if _COUNT.fullmatch(_plain_key(key)) and type(value) is int and value != n:
        raise UnparsedError("several answers", f"{key} is {value}, and there are {n} corrections")
    if _holds_a_correction(value):
        raise UnparsedError("several answers", f"corrections in {key} too")


def _holds_a_correction(value: object) -> bool:
    if isinstance(value, dict):
        is_one = any(_plain_key(key) in ("severity", "clinical severity") for key in value)
        return is_one or any(map(_holds_a_correction, value.values()))
    return isinstance(value, list) and any(map(_holds_a_correction, value))


def _fields(value: object) -> dict[str, Any]:
    entry = plain(value)
    if not isinstance(entry, dict):
        raise UnparsedError("unexpected form", "a correction is an object")
    fields = _by_our_names(entry, "correction")
    is_deletion = edit_of(fields.get("edit")) == "delete"
    return {"corrected": "", **fields} if is_deletion else fields


def _of_lines(pairs: Pairs) -> list[dict[str, Any]]:
    """Return the corrections in an object of lines, the original's format, as ours has them.

    Every "None" key is an insertion of its own, and so is each entry of a list under one.
    Raises `UnparsedError` for a key that is no line, the mark of a failed answer, and an
    entry that is no correction.
    """
    found = []
    for key, value in pairs:
        if key.strip().lower() == "failed":
            raise UnparsedError("judge failed", "the answer is the mark of a failed one")
        try:
            line = line_of(key)
        except ValueError as error:
            raise UnparsedError("line off the report", str(error)) from error
        entries = value if line is None and isinstance(value, list) else [value]
        found += [_of_line(key, line, plain(entry)) for entry in entries]
    return found


def _of_line(key: str, line: object, entry: object) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise UnparsedError("unexpected form", f"{key!r} is no correction")
    fields = _by_our_names(entry, key)
    if fields.get("line", line) != line:
        raise UnparsedError("line off the report", f"{key!r} or {fields['line']!r}")
    edit = "insert" if line is None else "delete" if deletes(fields.get("corrected")) else "change"
    return {"edit": edit, **fields, "line": line}


def _by_our_names(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the fields of a correction by our names; what is none of them is left out.

    A comment that is missing is an empty one. Raises `UnparsedError` for a field that
    stands twice and differs, and for a severity beside the severity that is another.
    """
    found: dict[str, Any] = {"comment": ""}
    for name, names in _NAMES.items():
        values = [value for key, value in entry.items() if _plain_key(key) in names]
        if name != "severity" and any(value != values[0] for value in values):
            raise UnparsedError("duplicate key", f"{where}: {name}")
        if values:
            found[name] = values[0]
    severities = {severity_of(v) for key, v in entry.items() if "severity" in _plain_key(key)}
    if len(severities - {None}) > 1:
        raise UnparsedError("severity off the scale", f"{where}: two that differ")
    return found


def _plain_key(key: str) -> str:
    """Return a key in lower case with single spaces between its words."""
    return " ".join(re.split(r"[\W_]+", key.lower())).strip()


def _tidied(correction: Correction, candidate: Sequence[str]) -> Correction:
    """Return a correction without the line's number and, of a deletion, without the line itself.

    Both are copied from the question by some judges.
    """
    line, text = correction.line, correction.corrected
    if correction.edit == "insert" or line is None or not 0 <= line < len(candidate):
        return correction
    number = f"{line}: "
    if text.startswith(number) and not any(one.startswith(number) for one in candidate):
        text = text.removeprefix(number)
    if correction.edit == "delete" and (says(text) == says(candidate[line]) or no_text(text)):
        text = ""
    return correction.model_copy(update={"corrected": text})


def _fits(correction: Correction, candidate: Sequence[str]) -> None:
    """Raise `UnparsedError` unless the correction can be applied."""
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


def _is_idle(
    correction: Correction, candidate: Sequence[str], real: Container[tuple[str, ...]]
) -> bool:
    """Whether a correction leaves the report as it is.

    It does where the text stands there already, and where it says that nothing is to be
    done ("No change needed"), unless the reference has just this sentence ("No change.").
    """
    text = says(correction.corrected)
    if correction.edit == "delete":
        return False
    if says_nothing(correction.corrected) and text not in real:
        return True
    if correction.edit == "insert":
        return text in map(says, candidate)
    return correction.line is not None and text == says(candidate[correction.line])


def _one_among_good(
    idle: Sequence[Correction], made: Sequence[Correction], candidate: Sequence[str]
) -> None:
    """Raise `UnparsedError` unless a single correction that changes nothing can be left out.

    An insertion of a line that another correction takes away moves it: that is no nothing.
    """
    told = "; ".join(one.corrected for one in idle)
    if len(idle) > 1 or not made:
        raise UnparsedError("correction changes nothing", told)
    taken = [candidate[one.line] for one in made if one.edit != "insert" and one.line is not None]
    if idle[0].edit == "insert" and says(idle[0].corrected) in map(says, taken):
        raise UnparsedError("correction changes nothing", f"a line is moved: {told}")


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

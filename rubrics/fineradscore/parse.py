"""Reads an answer and holds it against the study that it is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from judge.rubrics.fineradscore import original
from judge.rubrics.fineradscore.apply import corrected
from judge.rubrics.fineradscore.notation import Object, plain, read_json
from judge.rubrics.fineradscore.same import says, says_nothing
from judge.rubrics.fineradscore.scale import NAMES
from judge.sentences import lines
from judge.types import Annotation, Category, Edit, Error, Study, UnparsedError

if TYPE_CHECKING:
    from judge.rubrics.fineradscore.reply import Correction

_REASONS = {
    "missing": "missing field",
    "extra_forbidden": "unknown field",
}
"""Why the model refuses a reply, where the validation itself does not give our words."""

_OURS = frozenset(
    {"line off the report", "severity off the scale", "category off the scale", "no category"}
)


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Return the annotation in an answer: our own format or the original's.

    Ours is an object with a list of `corrections`, or that list alone; the original's has
    an entry a line. An empty one says that nothing is wrong. JSON shows by itself whether
    it is whole, so `complete` makes no difference. Raises `UnparsedError` for what cannot
    be read with certainty and for corrections that do not fit the candidate.
    """
    candidate = lines(study.candidate)
    found = [_own_words(_checked(entry), candidate) for entry in _entries(read_json(text))]
    for correction in found:
        _fits(correction, candidate)
    _no_clash(found)
    annotation = Annotation(tuple(_error(correction) for correction in found))
    if found and corrected(annotation, study) == study.candidate:
        raise UnparsedError("correction changes nothing", "all of them together")
    return annotation


def _entries(value: Object | list[Any]) -> list[Any]:
    if isinstance(value, list):
        return [_complete(plain(item)) for item in value]
    keys = {key for key, _ in value.pairs}
    if keys == {"name", "arguments"}:
        value, keys = _called(value), {"corrections"}
    if "corrections" not in keys:
        return list(original.corrections(value.pairs))
    if extra := keys - {"corrections"}:
        raise UnparsedError("unknown field", ", ".join(sorted(extra)))
    entries = value.once()["corrections"]
    if not isinstance(entries, list):
        raise UnparsedError("unexpected form", "corrections is no list")
    return [_complete(plain(item)) for item in entries]


def _called(call: Object) -> Object:
    """Return the arguments of a tool call that the server let through as text.

    Raises `UnparsedError` for a call of another tool, which has no corrections.
    """
    given = call.once()["arguments"]
    called = read_json(given) if isinstance(given, str) else given
    if not isinstance(called, Object) or [key for key, _ in called.pairs] != ["corrections"]:
        raise UnparsedError("unexpected form", "a call of another tool")
    return called


def _complete(entry: object) -> object:
    """Return an entry with the text that a deletion may do without."""
    return {"corrected": "", **entry} if isinstance(entry, dict) and _deletes(entry) else entry


def _deletes(entry: dict[str, Any]) -> bool:
    return str(entry.get("edit", "")).strip().lower() == "delete"


def _checked(entry: object) -> Correction:
    from pydantic import ValidationError

    from judge.rubrics.fineradscore.reply import Correction

    try:
        return Correction.model_validate(entry)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        kind = first["type"]
        reason = kind if kind in _OURS else _REASONS.get(kind, "unexpected form")
        where = ".".join(map(str, first["loc"]))
        raise UnparsedError(reason, f"{where}: {first['msg']}") from error


def _own_words(correction: Correction, candidate: Sequence[str]) -> Correction:
    """Return a change without the line's number, where the judge copied it from the question."""
    number = f"{correction.line}: "
    copied = correction.edit == "change" and correction.corrected.startswith(number)
    if not copied or any(line.startswith(number) for line in candidate):
        return correction
    return correction.model_copy(update={"corrected": correction.corrected.removeprefix(number)})


def _fits(correction: Correction, candidate: Sequence[str]) -> None:
    """Raise `UnparsedError` unless the correction can be applied and does something."""
    line, text = correction.line, correction.corrected
    last = len(candidate) - (correction.edit != "insert")
    if line is not None and not 0 <= line <= last:
        raise UnparsedError("line off the report", f"line {line} of {len(candidate)} lines")
    if says_nothing(text):
        raise UnparsedError("correction changes nothing", text)
    if correction.edit == "insert":
        if not text:
            raise UnparsedError("insertion without text", correction.comment)
        if says(text) in map(says, candidate):
            raise UnparsedError("correction changes nothing", f"the candidate says: {text}")
        return
    if line is None:
        raise UnparsedError("correction without a line", text)
    if correction.edit == "delete" and text:
        raise UnparsedError("deletion with text", f"line {line}: {text}")
    if correction.edit == "change" and not text:
        raise UnparsedError("change without text", f"line {line}")
    if says(text) == says(candidate[line]):
        raise UnparsedError("correction changes nothing", f"line {line}: {text}")


def _no_clash(found: Sequence[Correction]) -> None:
    changed = [one.line for one in found if one.edit != "insert"]
    if len(set(changed)) < len(changed):
        raise UnparsedError("line corrected twice", f"lines {changed}")
    new = [says(one.corrected) for one in found if one.edit != "delete"]
    if len(set(new)) < len(new):
        raise UnparsedError("line put in twice", "; ".join(" ".join(words) for words in new))


def _error(correction: Correction) -> Error:
    return Error(
        categories=tuple(map(Category, correction.categories)),
        level=NAMES[correction.severity - 1],
        text=correction.comment,
        edit=Edit(correction.edit, correction.line, correction.corrected),
    )

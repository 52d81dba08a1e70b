"""Reads an answer and holds it against the study that it is about."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from judge.rubrics.categories import error
from judge.rubrics.fineradscore import original
from judge.rubrics.fineradscore.apply import corrected
from judge.rubrics.fineradscore.fields import fields_of, plain_key
from judge.rubrics.fineradscore.same import LEFT_OUT, no_text, says, says_nothing
from judge.rubrics.fineradscore.scale import NAMES, SEVERITY
from judge.rubrics.fineradscore.wording import edit_of
from judge.rubrics.notation import Object, plain, read_json
from judge.sentences import lines
from judge.types import Annotation, Edit, Item, Study, UnparsedError

if TYPE_CHECKING:
    from judge.rubrics.fineradscore.reply import Correction

_REASONS = {"missing": "missing field"}
"""Why the model refuses a reply, where the validation itself does not give our words."""

_OURS = frozenset(
    {"line off the report", "severity off the scale", "category off the scale", "no category"}
)


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Return the annotation in an answer: our own format or the original's.

    Ours is an object with a list of `corrections`, or that list alone; the original's has
    an entry a line. An empty one says that nothing is wrong. JSON shows by itself whether
    it is whole, so `complete` makes no difference. One correction that changes nothing is
    left out beside others, with a warning. Raises `UnparsedError` for what cannot be read
    with certainty and for corrections that do not fit the candidate.
    """
    candidate = lines(study.candidate)
    found = [_tidied(_checked(entry), candidate) for entry in _entries(read_json(text))]
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
    keys = {key for key, _ in value.pairs}
    if keys == {"name", "arguments"}:
        value = _called(value)
    given = [(key, item) for key, item in value.pairs if plain_key(key) == "corrections"]
    if not given:
        return original.corrections(value.pairs)
    if len(given) > 1:
        raise UnparsedError("duplicate key", "corrections")
    entries = given[0][1]
    if not isinstance(entries, list):
        raise UnparsedError("unexpected form", "corrections is no list")
    for key, item in value.pairs:
        if plain_key(key) != "corrections":
            _says_no_other(key, plain(item), len(entries))
    return list(map(_fields, entries))


_COUNT = re.compile(
    r"(?:n|num|number|count|total)(?: of)?(?: (?:errors|corrections))?"
    r"|(?:errors|corrections) (?:count|total)"
)


def _says_no_other(key: str, value: object, n: int) -> None:
    """Raise `UnparsedError` for a field beside the `n` corrections that tells of others."""
    if _COUNT.fullmatch(plain_key(key)) and type(value) is int and value != n:
        raise UnparsedError("several answers", f"{key} is {value}, and there are {n} corrections")
    if _holds_a_correction(value):
        raise UnparsedError("several answers", f"corrections in {key} too")


def _holds_a_correction(value: object) -> bool:
    if isinstance(value, dict):
        is_one = any(plain_key(key) in ("severity", "clinical severity") for key in value)
        return is_one or any(map(_holds_a_correction, value.values()))
    return isinstance(value, list) and any(map(_holds_a_correction, value))


def _fields(value: object) -> dict[str, Any]:
    entry = plain(value)
    if not isinstance(entry, dict):
        raise UnparsedError("unexpected form", "a correction is an object")
    fields = fields_of(entry, "correction")
    is_deletion = edit_of(fields.get("edit")) == "delete"
    return {"corrected": "", **fields} if is_deletion else fields


def _called(call: Object) -> Object:
    """Return the arguments of a tool call that the server let through as text.

    Raises `UnparsedError` for a call of another tool, which has no corrections.
    """
    given = call.once()["arguments"]
    called = read_json(given) if isinstance(given, str) else given
    if not isinstance(called, Object) or "corrections" not in {key for key, _ in called.pairs}:
        raise UnparsedError("unexpected form", "a call of another tool")
    return called


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
    taken = [one.line for one in made if one.edit != "insert" and one.line is not None]
    if idle[0].edit == "insert" and says(idle[0].corrected) in (
        says(candidate[at]) for at in taken
    ):
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

"""Reads an answer and holds it against the study that it is about."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from judge.jsonio import Pairs
from judge.rubrics.categories import categories_of, error
from judge.rubrics.fineradscore.measures import NAMES, SEVERITY, corrected
from judge.rubrics.fineradscore.wording import (
    deletes,
    line_of,
    plain_key,
    says,
    says_nothing,
    severity_of,
)
from judge.rubrics.reply_text import checked, read_json
from judge.sentences import lines
from judge.types import Annotation, Edit, Item, Study, UnparsedError

if TYPE_CHECKING:
    from judge.rubrics.fineradscore.reply import Correction

_NAMES = {
    "corrected": ("corrected", "corrections", "correction", "corrected line", "corrected text"),
    "severity": ("severity", "clinical severity"),
    "categories": ("categories", "category", "error categories", "error category"),
    "comment": ("comment", "comments"),
}
_OURS = {name: ours for ours, names in _NAMES.items() for name in names}
"""Our name of each field that an entry of the published form has, by the names that it has."""


def parse(
    text: str,
    study: Study,
    *,
    complete: bool = False,  # noqa: ARG001
    published: bool = False,
) -> Annotation:
    """Return the annotation in an answer: an object with a list of `corrections`.

    Where the prompt is the original's, `published`, it may be the original's form instead, an
    object with an entry a line, in which the key None repeats. JSON shows by itself whether it is
    whole, so `complete` makes no difference. Raises `UnparsedError` for what cannot be read with
    certainty and for corrections that do not fit the candidate or change nothing.
    """
    from judge.rubrics.fineradscore.reply import Correction, Reply

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


def _of_lines(pairs: Pairs) -> list[dict[str, Any]]:
    found = []
    for key, value in pairs:
        if key.strip().lower() == "failed":
            raise UnparsedError("judge failed", "the answer is the mark of a failed one")
        try:
            line = line_of(key)
        except ValueError as error:
            raise UnparsedError("line off the report", str(error)) from error
        is_list = line is None and isinstance(value, list) and not isinstance(value, Pairs)
        found += [_of_line(key, line, _plain(entry)) for entry in (value if is_list else [value])]
    return found


def _of_line(key: str, line: int | None, entry: object) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise UnparsedError("unexpected form", f"{key!r} is no correction")
    fields: dict[str, Any] = {}
    for name, value in entry.items():
        ours = _OURS.get(plain_key(name), str(name))
        if ours in fields:
            raise UnparsedError("duplicate key", f"{key}: {name}")
        fields[ours] = value
    is_deletion = deletes(fields.get("corrected"))
    edit = "insert" if line is None else "delete" if is_deletion else "change"
    if is_deletion:
        fields["corrected"] = ""
    if "severity" in fields:
        fields["severity"] = severity_of(fields["severity"])
    if (named := categories_of(fields.get("categories"))) is not None:
        fields["categories"] = [category.value for category in named]
    return {**fields, "edit": edit, "line": line}


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
    if says_nothing(correction.corrected) and text not in real:
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

"""The study class, where a field gives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judge.studies.fields import as_text
from judge.studies.names import FIELD_NAMES, listed, matching, plain
from judge.types import JudgeError

_WORDS = ("normal", "abnormal")
_YES = ("true", "yes", "y", "1")
_NO = ("false", "no", "n", "0")
_STUDY_CLASS = plain(FIELD_NAMES["study class"][0])

Classes = tuple[str | None, ...]


def find_classes(
    fields: Mapping[str, Sequence[object]], n_studies: int, class_field: str | None
) -> tuple[Classes, str | None]:
    """Return each study's class, None where it isn't known, and the field that gave it.

    `class_field` may hold any values. Without one, `study_class` may too, in lower case;
    the other likely names count only where their values say normal or abnormal. Raises
    `JudgeError` where there is no field `class_field`.
    """
    if class_field is not None:
        name = _named(fields, class_field)
        return _chosen(name, fields[name]), name
    for name in matching(fields, "study class"):
        words = [None if value is None else as_text(value).lower() for value in fields[name]]
        known = set(filter(None, words))
        if known and (plain(name) == _STUDY_CLASS or known <= set(_WORDS)):
            return tuple(words), name
    for name in matching(fields, "study class, true or false"):
        answers = _answers(name, fields[name])
        if answers is not None:
            return answers, name
    return (None,) * n_studies, None


def without_class(
    fields: Mapping[str, tuple[object, ...]], class_field: str | None
) -> dict[str, tuple[object, ...]]:
    """Return the fields without `study_class` where it is the study class, or says nothing."""
    return {
        name: column
        for name, column in fields.items()
        if plain(name) != _STUDY_CLASS or not (name == class_field or set(column) == {None})
    }


def _named(fields: Mapping[str, Sequence[object]], class_field: str) -> str:
    if class_field in fields:
        return class_field
    alike = [name for name in fields if name.casefold() == class_field.casefold()]
    if len(alike) == 1:
        return alike[0]
    there = f"there are: {listed(fields, most=30)}" if fields else "there are no further fields"
    raise JudgeError(f"no field {class_field!r} to take the study class from; {there}")


def _chosen(name: str, values: Sequence[object]) -> Classes:
    answers = None
    if matching([name], "study class, true or false"):
        answers = _answers(name, values)
    return answers or tuple(None if value is None else _usual(as_text(value)) for value in values)


def _usual(text: str) -> str:
    return text.lower() if text.lower() in _WORDS else text


def _answers(name: str, values: Sequence[object]) -> Classes | None:
    """Return classes from answers to `abnormal?` or `normal?`; None if they aren't yes and no."""
    yes, no = _WORDS[::-1] if "abnormal" in plain(name) else _WORDS
    words = {None: None} | dict.fromkeys(_YES, yes) | dict.fromkeys(_NO, no)
    texts = [None if value is None else as_text(value).lower() for value in values]
    if not any(texts) or any(text not in words for text in texts):
        return None
    return tuple(words[text] for text in texts)

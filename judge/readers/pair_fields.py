"""Where the fields of pairs are in a user's file: columns, and paths into nested values."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge import jsonio
from judge.jsonio import replace_surrogates
from judge.readers.annotations import FaultError
from judge.studies.columns import as_text, find_columns, join_names
from judge.types import JudgeError

OF_ERRORS = ("category", "level", "text", "error")
"""The roles that each error of a list has for itself."""
ITSELF = "."
"""The path of an entry of a list that is no object: the entry itself."""
_EACH = "*"
_LONGEST_LIST = 10**6


@dataclass(frozen=True, slots=True)
class Path:
    """A column, and the keys below it: `annotations.*.errors` is `annotations`, `*`, `errors`."""

    text: str
    parts: tuple[str, ...]

    @property
    def each(self) -> int | None:
        """Where its `*` is among the parts, None without one."""
        if _EACH in self.parts:
            return self.parts.index(_EACH)
        return None

    @property
    def before_each(self) -> tuple[str, ...]:
        """The parts before its `*`, none without one."""
        return self.parts[: self.each or 0]


def path_of(text: str, columns: Iterable[str], where: str, option: str) -> Path:
    """Return the path that a user names; raises `JudgeError` where its column is not there."""
    columns = list(columns)
    if text in columns:
        return Path(text, (text,))
    # `readers.*` is no other way to write the column `readers`.
    first, *keys = text.split(".")
    found = find_columns(columns, first)
    if len(found) == 1 and all(keys):
        return Path(text, (found[0], *keys))
    there = join_names(columns, 30) or "none"
    raise JudgeError(
        f"{where}: there is no field {text!r}, for {option}; the fields are: {there}"
    )


def value_at(value: Any, keys: Sequence[str]) -> Any:  # noqa: ANN401
    """Return what a nested value has below some keys, None where it has nothing there."""
    for key in keys:
        if isinstance(value, str):
            value = _of_json(value)
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def readings_at(
    value: Any,  # noqa: ANN401
    keys: Sequence[str],
) -> Iterator[tuple[str, Any]]:
    """Yield what is below `*`: each value of an object with its key, each entry of a list with ''.

    Raises `FaultError` for another value.
    """
    value = value_at(value, keys)
    if isinstance(value, str):
        value = _of_json(value)
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield str(key), entry
    elif isinstance(value, list):
        for entry in value:
            yield "", entry
    else:
        raise FaultError("there is no list or object of readings")


def _of_json(text: str) -> Any:  # noqa: ANN401
    try:
        return jsonio.read(text)
    except jsonio.JsonError:
        return None


def list_of(value: Any, name: str) -> list[Any]:  # noqa: ANN401
    """Return the list that a value is, or that its text holds, in JSON or as Python writes it.

    Raises `FaultError` for anything else; a missing list is not an empty one.
    """
    if isinstance(value, str):
        value = _list_in(value.strip(), name)
    if isinstance(value, tuple):
        value = list(value)
    if value is None:
        raise FaultError(
            f"{name} is blank; a study that was read and has no error needs an empty list, []"
        )
    if not isinstance(value, list):
        raise FaultError(f"{name} is {_shown(value)}, and no list")
    return value


def _list_in(text: str, name: str) -> Any:  # noqa: ANN401
    if not text:
        return None
    try:
        return jsonio.read(text)
    except jsonio.JsonError as error:
        reason = error
    if text.startswith("[") and len(text) <= _LONGEST_LIST:
        try:
            # As pandas writes a list into a CSV.
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            pass
    raise FaultError(f"{name} is {_shown(text)}, which is no list in JSON: {reason}")


def texts_of(value: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Return the texts of a cell or an entry: one, several of a list, none where it is blank."""
    if isinstance(value, list | tuple):
        several: list[str] = []
        for part in value:
            several += texts_of(part)
        return tuple(several)
    if value is None or isinstance(value, Mapping):
        return ()
    text = replace_surrogates(as_text(value)).strip()
    if not text:
        return ()
    return (text,)


def text_of(value: Any) -> str:  # noqa: ANN401
    """Return the text of a cell or an entry, several with a semicolon, empty where it is blank."""
    return "; ".join(texts_of(value))


def _shown(value: object) -> str:
    return repr(value)[:40]

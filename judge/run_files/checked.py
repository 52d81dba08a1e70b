"""A file of a run that is checked against its type as it is read.

A folder may come from elsewhere, from another version or from a broken disk: `RunFileError` says in
one sentence which file is wrong, and in which field.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from judge import jsonio
from judge.files import open_regular
from judge.types import JudgeError

Model = TypeVar("Model", bound=BaseModel)


class RunFileError(JudgeError):
    """A file of a run that is not as judge writes it."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path} is damaged: {why}; move {path.parent} away and judge its studies again "
            "(answers in the cache are not paid for twice)"
        )


@cache
def adapter(form: type) -> TypeAdapter[Any]:
    """Return what reads and writes values of a type."""
    return TypeAdapter(form)


def first_of(error: ValidationError) -> str:
    """Return the first thing that is wrong with a value, in a few words."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[
        0
    ]
    where = ".".join(map(str, first["loc"]))[:200]
    return f"{where!r}: {first['msg']}" if where else str(first["msg"])


def read_json(path: Path) -> Any:  # noqa: ANN401
    """Return the JSON value in a file of a run; raises `JudgeError`."""
    try:
        with open_regular(path) as file:
            return jsonio.read(file.read())
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror}") from error
    except jsonio.JsonError as error:
        raise RunFileError(path, str(error)) from error


def typed(path: Path, model: type[Model], data: object) -> Model:
    """Return the data of a file as a value of its type; raises `RunFileError`."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise RunFileError(path, first_of(error)) from error

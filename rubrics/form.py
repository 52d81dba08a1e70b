"""What the forms of all structured replies have in common: a slow import, for `reply` modules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictInt, StrictStr, model_validator
from pydantic_core import PydanticCustomError

from judge.rubrics.categories import CAMEL
from judge.rubrics.reply_text import one_line, visible

_DIGITS = re.compile(r"\s*(-?[0-9]{1,9})(?:\.0+)?\s*")
_WORD = re.compile(r"[a-z0-9]+")
_EXPLANATIONS = frozenset(
    (
        *("explanation", "reason", "reasons", "reasoning", "rationale", "justification"),
        *("comment", "comments", "note", "notes", "analysis", "thoughts", "summary"),
    )
)


def words(value: object) -> object:
    """Return a text without the white space around it and with half characters made visible."""
    return visible(value).strip() if isinstance(value, str) else value


Words = Annotated[StrictStr, BeforeValidator(words)]
"""A text of one or more lines."""
Verbatim = Annotated[
    StrictStr, BeforeValidator(lambda one: visible(one) if isinstance(one, str) else one)
]
"""A text as it is."""
Line = Annotated[StrictStr, BeforeValidator(one_line)]
"""A text that is brought on one line."""


def whole(value: object) -> object:
    """Return the whole number that `value` is, or that its digits are; anything else as it is."""
    if isinstance(value, str) and (digits := _DIGITS.fullmatch(value)):
        return int(digits[1])
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[StrictInt, BeforeValidator(whole)]


class Form(BaseModel):
    """An object of a reply.

    Its keys may be in another case or in camelCase, one text beside them may be called like an
    explanation, and what `optional` names may be missing. Any other key is a fault.
    """

    model_config = ConfigDict(extra="forbid")
    optional: ClassVar[Mapping[str, Any]] = {}
    """What stands for a field that is missing, though the schema asks for it."""

    @model_validator(mode="before")
    @classmethod
    def _by_field(cls, value: Any) -> Any:  # noqa: ANN401
        if not isinstance(value, dict) or value.keys() == _fields(cls):
            return value
        names = {plain_key(name): name for name in cls.model_fields}
        found: dict[str, Any] = {}
        explained = 0
        for key, item in value.items():
            plain = plain_key(key)
            name = names.get(plain, str(key))
            if name in found:
                raise PydanticCustomError("duplicate key", "the same key twice")
            if plain in _EXPLANATIONS and plain not in names and isinstance(item, str):
                explained += 1
                if explained == 1:
                    continue
            found[name] = item
        return {**cls.optional, **found}


@cache
def _fields(form: type[Form]) -> frozenset[str]:
    return frozenset(form.model_fields)


@lru_cache(1024)
def plain_key(key: str) -> str:
    """Return a key's words in lower case without what is between them."""
    return "".join(_WORD.findall(CAMEL.sub(" ", key).lower()))

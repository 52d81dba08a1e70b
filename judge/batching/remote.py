"""What OpenAI says of its batches, checked where it is read.

The models of the package openai take any JSON. A status that is a list, or a batch without an id,
would be found out later, when the batch is paid for.
"""

from __future__ import annotations

import json
from typing import Any

import pydantic
from pydantic import BaseModel, ConfigDict, Field, field_validator

from judge.backends.base import UnreadableReplyError
from judge.run_files.checked import first_of

_SHOWN = 300


class FileFault(BaseModel):
    """Why a batch was refused: a line of its file, if it is one line's fault, and words."""

    model_config = ConfigDict(strict=True, frozen=True)

    code: str | None = None
    line: int | None = None
    message: str | None = None


class FileFaults(BaseModel):
    """The reasons why a batch was refused."""

    model_config = ConfigDict(strict=True, frozen=True)

    data: list[FileFault] | None = None


class OpenAIBatch(BaseModel):
    """A batch as its provider describes it, as far as it is used here."""

    model_config = ConfigDict(strict=True, frozen=True)

    id: str = Field(min_length=1)
    status: str
    input_file_id: str | None = None
    errors: FileFaults | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    metadata: dict[str, Any] | None = None

    @field_validator("errors", mode="before")
    @classmethod
    def _in_words(cls, errors: object) -> object:
        """Keep errors of another form as words: that the batch has failed is known without them."""
        try:
            FileFaults.model_validate(errors or {})
        except pydantic.ValidationError:
            return {"data": [{"message": json.dumps(errors, default=str)[:_SHOWN]}]}
        return errors or None


def batch_of(reply: object) -> OpenAIBatch:
    """Return the batch in what openai made of a reply; raises `UnreadableReplyError`."""
    plain = reply.model_dump(warnings=False) if isinstance(reply, BaseModel) else reply
    try:
        return OpenAIBatch.model_validate(plain)
    except pydantic.ValidationError as error:
        raise UnreadableReplyError(f"it is not a batch ({first_of(error)})") from error


def id_of(reply: object) -> str:
    """Return the id of an uploaded file; raises `UnreadableReplyError`."""
    name = getattr(reply, "id", None)
    if not isinstance(name, str) or not name:
        raise UnreadableReplyError("it is not a file with an id")
    return name

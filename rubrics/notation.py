"""What may stand around an answer, and the JSON in one that is a reply of a fixed form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from judge import jsonio
from judge.types import UnparsedError

if TYPE_CHECKING:
    from pydantic import BaseModel

_Model = TypeVar("_Model", bound="BaseModel")

LONGEST = 64 * 1024
"""The bytes of the longest answer that is read."""

_THOUGHT = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)
_END = re.compile(
    r"\s*(?:</s>|<end_of_turn>|<\|(?:end|end_of_text|endoftext|eom_id|eos|eot_id|im_end)\|>)\s*\Z",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)
_REASONS = {
    "missing": "missing field",
    "extra_forbidden": "unknown field",
    "literal_error": "unknown value",
    "greater_than_equal": "off the scale",
    "less_than_equal": "off the scale",
}


def answer_in(text: str) -> tuple[str, bool]:
    """Return an answer without what may stand around it, and whether that proves it whole.

    Around it may stand one closed block of thought before it (its opening tag may be the prompt's),
    one fence, and the token that ends an answer at the very end: the last two prove it whole.
    Raises `UnparsedError` for an answer that is too long or empty, and for a block of thought that
    does not end or is not alone.
    """
    if jsonio.too_long(text, LONGEST):
        raise UnparsedError("too long", f"an answer has at most {LONGEST:,} bytes")
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "<" in text and (tags := list(_THOUGHT.finditer(text))):
        *opening, closing = tags
        if not closing[0].startswith("</"):
            raise UnparsedError("cut short", "the line of thought does not end")
        if len(opening) > 1 or any(
            one[0].startswith("</") or text[: one.start()].strip() for one in opening
        ):
            raise UnparsedError("several answers", "more than one line of thought")
        text = text[closing.end() :]
    is_whole = False
    text = text.strip()
    if text.endswith(">") and (end := _END.search(text, max(0, len(text) - 40))):
        text, is_whole = text[: end.start()].strip(), True
    if text.endswith("```") and (fence := _FENCE.fullmatch(text)) and "```" not in fence[1]:
        text, is_whole = fence[1].strip(), True
    elif text.startswith("```"):
        is_open = text.count("```") == 1
        raise UnparsedError("cut short" if is_open else "several answers", "one fence around all")
    if not text:
        raise UnparsedError("empty", "nothing was answered")
    return text, is_whole


def read_json(text: str, *, pairs: bool = False) -> Any:  # noqa: ANN401 - JSON is any of a few types
    """Return the JSON value that an answer is, as `jsonio.read`; raises `UnparsedError`."""
    answer, _ = answer_in(text)
    if not answer.startswith(("{", "[")):
        raise UnparsedError("no JSON", "the answer is not one JSON value and nothing else")
    try:
        return jsonio.read(answer, pairs=pairs)
    except jsonio.JsonError as error:
        reason = "several answers" if error.reason == "several values" else error.reason
        raise UnparsedError(reason, error.detail) from error


def checked(model: type[_Model], value: object) -> _Model:
    """Return `value` as a reply of that form; raises `UnparsedError` for its first fault."""
    from pydantic import ValidationError

    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "the reply"
        # The reasons that a form gives have a space in them, pydantic's own have none.
        own = first["type"] if " " in first["type"] else "unexpected form"
        raise UnparsedError(_REASONS.get(first["type"], own), f"{where}: {first['msg']}") from error


def visible(text: str) -> str:
    """Return `text` with half characters, which no file can hold, made visible."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def one_line(value: object) -> object:
    """Return a text on one line, its white space made single; anything else as it is."""
    return " ".join(visible(value).split()) if isinstance(value, str) else value

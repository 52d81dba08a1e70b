"""Shared parts of reading replies: fences, JSON, reply models, entries that are none.

A reply is checked by its structure: the same words twice in a list, as an error and as a match, as
missing and as false. What an entry says is not interpreted: lists of phrases that deny grow for
ever, and meet findings too ("not significantly changed"). Only the few words of `DENIALS`, alone,
are no entry. Whether an entry is about the two reports at all is tested in `running.evidence`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, TypeVar

import pydantic
from pydantic import AfterValidator, BaseModel, BeforeValidator, StrictInt, StrictStr

from judge import jsonio
from judge.jsonio import replace_surrogates
from judge.types import Annotation, UnparsedError

# As `word_key` writes them.
DENIALS = frozenset(
    (
        "none",
        "nil",
        "null",
        "na",
        "n a",
        "nothing",
        "no",
        "zero",
        "empty",
        "same",
        "the same",
        "identical",
        "correct",
        "not applicable",
        "not an error",
        "no error",
        "no errors",
        "no difference",
        "no differences",
        "no discrepancy",
        "no discrepancies",
        "no entry",
        "no entries",
        "no finding",
        "no findings",
        "no match",
        "no matches",
        "no matched findings",
        "no phrase",
        "no phrases",
        "none found",
        "none identified",
        "none noted",
        "see above",
        "keine",
        "aucun",
        "aucune",
        "ninguno",
        "ninguna",
        "nessuno",
    )
)
"""What judges write where they have nothing to list; a text that is one of these is no entry."""
# What stands for a text in a form that was not filled in.
_PLACEHOLDERS = frozenset(
    ("string", "text", "entry", "error", "finding", "matched finding", "phrase")
)
_NUMBERS = "zero|one|two|three|four|five|six|seven|eight|nine|ten|several|many|multiple"
# An entry that is a count and no more: "2 errors", "three missing findings".
_COUNT_ALONE = re.compile(
    rf"(?:[0-9]+|{_NUMBERS}) (?:(?:clinically|significant|insignificant|other|false|missing|missed"
    r"|omitted|wrong|matched) )*(?:errors?|findings?)"
)
# What an entry that is none may begin with, before a stop, colon, comma or dash.
_OPENS = frozenset(
    (
        "none",
        "nil",
        "n a",
        "not applicable",
        "no error",
        "no errors",
        "nothing",
        "not an error",
    )
)
_FIRST = re.compile(r"[.:;,]|\s[-\u2013\u2014]\s")
# A remark instead of an entry, one side of an error, or a category with its count.
_REMARK = re.compile(
    r"(?:notes?|remarks?|comments?|total|sum|summary|explanation|reason(?:ing)?)\s*[:=(]"
    r"|(?:(?:the )?(?:reference|candidate)|gt|ground truth|pred(?:iction|icted)?)\s*[:=]"
    r"|[a-f1-6]\)[^:]*:\s*(?:[0-9]|none|zero)"
)
_WORDS = re.compile(r"[^\W_]+")


def word_key(text: str) -> str:
    """Return a text's words without case, stops and bullets."""
    return " ".join(_WORDS.findall(text.casefold()))


def is_bare_denial(text: str) -> bool:
    """Return whether `text` is one of `DENIALS`, in any case and with any stops."""
    return word_key(text) in DENIALS


def is_blank(text: str) -> bool:
    """Return whether `text` has no letter, is a bare denial or fills no place of a form."""
    words = word_key(text)
    if not any(map(str.isalpha, words)):
        return True
    said = words.rstrip("0123456789 ")
    return said in DENIALS or said in _PLACEHOLDERS


def is_no_entry(text: str) -> bool:
    """Return whether `text` is blank, a count alone, a remark or one side of an error.

    Nor is "None. The reports agree", "2 errors: heart, lungs" or "(b) Missing finding: 0" one.
    """
    first = word_key(_FIRST.split(text, maxsplit=1)[0])
    if is_blank(text) or first in _OPENS or _COUNT_ALONE.fullmatch(first):
        return True
    plain = " ".join(text.casefold().split()).lstrip("-*\u2022\"'([ ")
    return _REMARK.match(plain) is not None


def first_repeat(texts: Iterable[str]) -> str | None:
    """Return the first text with the same words as one before it, None without a repeat."""
    seen: set[str] = set()
    for text in texts:
        words = word_key(text)
        if words in seen:
            return text
        seen.add(words)
    return None


_Model = TypeVar("_Model", bound=BaseModel)

LONGEST = 64 * 1024  # the bytes of the longest answer that is read

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


def unfence(text: str) -> tuple[str, bool]:
    """Return an answer without fence, thoughts and end token, and whether these prove it whole.

    Around it may stand one closed block of thought before it (its opening tag may be the prompt's),
    one fence, and the token that ends an answer at the very end: the last two prove it whole.
    """
    if len(text.encode("utf-8", "surrogatepass")) > LONGEST:
        raise UnparsedError("too long", f"an answer has at most {LONGEST:,} bytes")
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "<" in text and (tags := list(_THOUGHT.finditer(text))):
        *opening, closing = tags
        if not closing[0].startswith("</"):
            raise UnparsedError("cut short", "the line of thought does not end")
        if len(opening) > 1 or any(
            tag[0].startswith("</") or text[: tag.start()].strip() for tag in opening
        ):
            raise UnparsedError("several answers", "more than one line of thought")
        text = text[closing.end() :]
    is_whole = False
    text = text.strip()
    if text.endswith(">") and (end := _END.search(text, max(0, len(text) - 40))):
        text, is_whole = text[: end.start()].strip(), True
    if (
        text.endswith("```")
        and (fence := _FENCE.fullmatch(text))
        and "```" not in fence[1]
    ):
        text, is_whole = fence[1].strip(), True
    elif text.startswith("```"):
        is_open = text.count("```") == 1
        raise UnparsedError(
            "cut short" if is_open else "several answers", "one fence around all"
        )
    if not text:
        raise UnparsedError("empty", "nothing was answered")
    return text, is_whole


# Signs of JSON, of a call or of typesetting: what stands before the object is more than words.
_NO_WORDS = re.compile(r"[\"{}\[\]<>\\|=]")
_OPEN_FENCE = re.compile(r"```[\w-]*\s*\Z")


def _behind_words(answer: str) -> str:
    """Return the object behind words, taken out of a fence; raises `UnparsedError`."""
    before, brace, rest = answer.partition("{")
    found = brace + rest
    words = _OPEN_FENCE.sub("", before)
    if words != before and found.count("```") == 1 and found.endswith("```"):
        found = found.removesuffix("```").rstrip()
    is_empty = rest.strip("} \t\r\n") == ""
    if not brace or is_empty or _NO_WORDS.search(words):
        raise UnparsedError(
            "no JSON", "the answer is not one JSON value and nothing else"
        )
    return found


def read_json(text: str, *, pairs: bool = False) -> Any:  # noqa: ANN401 - JSON is any of a few types
    """Return the JSON value that an answer is, as `jsonio.read`; raises `UnparsedError`.

    Words may stand before an object, and nothing behind it.
    """
    answer, _ = unfence(text)
    if not answer.startswith(("{", "[")):
        answer = _behind_words(answer)
    try:
        return jsonio.read(answer, pairs=pairs)
    except jsonio.JsonError as error:
        reason = "several answers" if error.reason == "several values" else error.reason
        raise UnparsedError(reason, error.detail) from error


def is_closed(text: str) -> bool:
    """Return whether an answer is one JSON object that ends, whatever white space follows it."""
    if not text.rstrip().endswith(("}", "```")):
        return False
    try:
        return isinstance(read_json(text), dict)
    except UnparsedError:
        return False


def validate_reply(model: type[_Model], value: object) -> _Model:
    """Return `value` as a reply of that form; raises `UnparsedError` for its first fault."""
    try:
        return model.model_validate(value)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "the reply"
        reason = _REASONS.get(first["type"], "unexpected form")
        raise UnparsedError(reason, f"{where}: {first['msg']}") from error


def read_reply(model: type[_Model], text: str) -> _Model:
    """Return the reply of that form that an answer is; raises `UnparsedError`."""
    return validate_reply(model, read_json(text))


def check_round_trip(
    text: str, annotation: Annotation, read: Callable[[str], Annotation]
) -> str:
    """Return an answer that reads as `annotation`; raises ValueError for one that does not.

    Warnings about its items make no difference: they come from the reports, and not from an answer.
    """
    try:
        is_whole = _without_warnings(read(text)) == _without_warnings(annotation)
    except UnparsedError as error:
        raise ValueError(f"no reply expresses this: {error}") from error
    if not is_whole:
        raise ValueError("no reply expresses all of this annotation")
    return text


def _without_warnings(annotation: Annotation) -> Annotation:
    items = tuple(replace(item, warnings=()) for item in annotation.items)
    return replace(annotation, items=items)


_DIGITS = re.compile(r"\s*(-?[0-9]{1,9})(?:\.0+)?\s*")


Verbatim = Annotated[
    StrictStr,
    BeforeValidator(
        lambda text: replace_surrogates(text) if isinstance(text, str) else text
    ),
]
"""A text as it is, with half characters made visible."""
Text = Annotated[Verbatim, AfterValidator(str.strip)]
"""A text of one or more lines."""
Line = Annotated[Verbatim, AfterValidator(lambda text: " ".join(text.split()))]
"""A text that is brought on one line."""


def whole_number(value: object) -> object:
    """Return the whole number that `value` is, or that its digits are; else no number."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and (digits := _DIGITS.fullmatch(value)):
        return int(digits[1])
    return int(value) if isinstance(value, float) and value.is_integer() else value


_APART = re.compile(r"[\s_\-\u2010-\u2015/,]+")


def listed_word(value: object) -> object:
    """Return a word of a fixed list as the list has it: in lower case, its parts joined by `_`."""
    return _APART.sub("_", value.strip().lower()) if isinstance(value, str) else value


Listed = BeforeValidator(listed_word)
"""What reads a word of a fixed list whatever its case, spaces and hyphens."""


def _text_or_none(value: object) -> object:
    return "" if value is None else value


OrNull = BeforeValidator(_text_or_none)
"""What reads null as no text, where a text changes no number."""


WholeNumber = Annotated[StrictInt, BeforeValidator(whole_number)]


class ReplyModel(BaseModel):
    """An object of a reply with exactly its keys; those in `optional` may be missing.

    Case, spaces and hyphens of a key do not matter.
    """

    model_config = pydantic.ConfigDict(extra="forbid")
    optional: ClassVar[Mapping[str, Any]] = {}

    @pydantic.model_validator(mode="before")
    @classmethod
    def _fill_optional(cls, value: Any) -> Any:  # noqa: ANN401
        if not isinstance(value, dict):
            return value
        named: dict[str, Any] = {}
        for key, part in value.items():
            name = str(listed_word(key))
            if name not in cls.model_fields:
                name = key
            if name in named:
                raise UnparsedError("duplicate key", name)
            named[name] = part
        return {**cls.optional, **named}

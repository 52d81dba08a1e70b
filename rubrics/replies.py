"""Shared parts of reading replies: fences, JSON, reply models, entries that deny.

A judge that has nothing to list sometimes writes that down as an entry ("No findings are missing").
Counted it would be an error that it denies. "No mention of the effusion" speaks of the reports.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, ClassVar, TypeVar

import pydantic
from pydantic import AfterValidator, BaseModel, BeforeValidator, StrictInt, StrictStr

from judge import jsonio
from judge.jsonio import replace_surrogates
from judge.types import Annotation, UnparsedError

_NOTHING = frozenset(
    (
        *("", "none", "nil", "null", "na", "n a", "nothing", "no", "zero", "not applicable"),
        *("empty", "none found", "none identified", "none noted", "no entry", "no entries"),
        *("see above", "string", "text", "entry", "error", "finding", "phrase", "no phrase"),
        *("matched finding", "no phrases", "no finding", "no findings", "keine", "aucune"),
        *("aucun", "ninguno", "ninguna", "nessuno"),
    )
)
_WRONG = (
    r"(?:errors?|mistakes?|discrepanc(?:y|ies)|disagreements?|differences?|contradictions?"
    r"|inaccurac(?:y|ies)|omissions?|mismatch(?:es)?|issues?)"
)
_STATES = (
    r"(?:missing|missed|omitted|left out|false|wrong(?:ly)?|incorrect(?:ly)?|invented|fabricated"
    r"|hallucinated|unsupported|misplaced|mislocated|misidentified|misassessed|shared|in common"
    r"|common|overlap\w*|agree\w*|match\w*)"
)
_THINGS = r"(?:findings?|locations?|positions?|severit(?:y|ies)|comparisons?|statements?|items?)"
_AGREES = (
    r"(?:correct(?:ly)?|accurate(?:ly)?|agrees?|match(?:es|ed)?|identical|concordant|the same)"
)
_NEGATED = (
    # "No clinically relevant errors", "not an error", "without any discrepancy".
    rf"(?:an? )?(?:[\w-]+ ){{0,3}}?(?:{_WRONG}|fehler|abweichung\w*|erreurs?|error(?:es)?)\b"
    # "No findings are missing", "No missing findings".
    rf"|(?:[\w-]+ ){{0,2}}?{_THINGS} (?:[\w-]+ ){{0,3}}?{_STATES}\b"
    rf"|(?:[\w-]+ )?{_STATES} (?:[\w-]+ )?{_THINGS}"
    r"|match(?:es|ed|ing)?\b|(?:other|further|additional) (?:findings?|categor)"
)
_WITHIN = re.compile(
    rf"\b(?:(?:no|zero|0|without|any|kein\w*|aucune?|ning[uú]n\w*) (?:{_NEGATED})"
    rf"|not (?:an? )?(?:[\w-]+ ){{0,2}}?{_WRONG}\b"
    r"|nothing(?: that)? match|shares? no\b"
    # "All locations are correct", "both agree".
    rf"|(?:all|both|every|each|everything)\b[^.;]{{0,60}}\b{_AGREES}\b"
    # Second thoughts.
    r"|(?:actually|disregard|retract(?:ed)?|scratch that|on second thoughts?)\b"
    r"|(?:on reflection|correction:|sorry\b|does not count)"
    r"|should (?:be|read|say) (?:counted|[(\[]?[0-9a-f][)\]]?(?: (?!mm|cm)|$)|zero|one)"
    r"|(?:not|never) (?:to be |really |be )?(?:count(?:ed)?|list(?:ed)?|included)\b"
    r"|not (?:really )?(?:wrong|false|incorrect|missing|omitted)\b"
    # A count within the words.
    rf"|(?:{_WRONG}|{_THINGS}|total|sum|count)\s*(?:\([0-9]+\)\s*)?[:=]\s*(?:[0-9]|none|zero))"
)
_SOME = "one|two|three|four|five|six|seven|eight|nine|ten|several|many|multiple"
_OPENS = re.compile(
    # None, N/A, "None of the findings is missing"; a finding may begin "None of the lines".
    rf"(?:none|nil|n/?a|not applicable)\b(?! of the)|none of the {_THINGS}|(?:wait|correction)\b"
    r"|nothing (?:is |was )?(?:else|miss|omitted|false|wrong|to |found|matche[sd])"
    rf"|(?:the )?{_THINGS} (?:(?:is|are|was|were|all|also) )*(?:correct|accurate|identical)"
    rf"|(?:[0-9]+|{_SOME}) (?:[\w-]+ ){{0,2}}?(?:{_WRONG}|findings)\b"
)
# A remark instead of an entry, or one side of an error.
_REMARK = re.compile(
    r"(?:notes?|remarks?|comments?|total|sum|summary|explanation|reason(?:ing)?)\s*[:=(]"
    r"|(?:(?:the )?(?:reference|candidate)|gt|ground truth|pred(?:iction|icted)?)\s*[:=]"
)
_WORDS = re.compile(r"[^\W_]+")


def word_key(text: str) -> str:
    """Return a text's words without case, stops and bullets."""
    return " ".join(_WORDS.findall(text.casefold()))


def is_blank(text: str) -> bool:
    """Return whether `text` has no letter, or only a word such as "none"."""
    words = word_key(text)
    return words.rstrip("0123456789 ") in _NOTHING or not any(map(str.isalpha, words))


@lru_cache(4096)
def denies(text: str) -> bool:
    """Return whether `text` is blank or says that there is no error, no match or no entry."""
    words = _normalised(text)
    return is_blank(words) or bool(_OPENS.match(words) or _WITHIN.search(words))


def is_no_entry(text: str) -> bool:
    """Return whether `text` denies, or is a remark or one side of an error."""
    return denies(text) or _REMARK.match(_normalised(text)) is not None


def _normalised(text: str) -> str:
    return " ".join(text.casefold().split()).lstrip("-*\u2022\"'([ ")


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
    answer, _ = unfence(text)
    if not answer.startswith(("{", "[")):
        raise UnparsedError("no JSON", "the answer is not one JSON value and nothing else")
    try:
        return jsonio.read(answer, pairs=pairs)
    except jsonio.JsonError as error:
        reason = "several answers" if error.reason == "several values" else error.reason
        raise UnparsedError(reason, error.detail) from error


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


def check_round_trip(text: str, annotation: Annotation, read: Callable[[str], Annotation]) -> str:
    """Return an answer that reads as `annotation`; raises ValueError for one that does not."""
    try:
        is_whole = read(text) == annotation
    except UnparsedError as error:
        raise ValueError(f"no reply expresses this: {error}") from error
    if not is_whole:
        raise ValueError("no reply expresses all of this annotation")
    return text


_DIGITS = re.compile(r"\s*(-?[0-9]{1,9})(?:\.0+)?\s*")


Verbatim = Annotated[
    StrictStr,
    BeforeValidator(lambda text: replace_surrogates(text) if isinstance(text, str) else text),
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


WholeNumber = Annotated[StrictInt, BeforeValidator(whole_number)]


class ReplyModel(BaseModel):
    """An object of a reply with exactly its keys; those in `optional` may be missing."""

    model_config = pydantic.ConfigDict(extra="forbid")
    optional: ClassVar[Mapping[str, Any]] = {}

    @pydantic.model_validator(mode="before")
    @classmethod
    def _fill_optional(cls, value: Any) -> Any:  # noqa: ANN401
        return {**cls.optional, **value} if isinstance(value, dict) else value

"""What models put around an answer, and the JSON in it, with every key that stands there.

What is in doubt is refused.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from judge.types import UnparsedError

if TYPE_CHECKING:
    from pydantic import BaseModel

_Model = TypeVar("_Model", bound="BaseModel")
Pairs = list[tuple[str, Any]]
"""A JSON object as it was written: a key that stands twice is there twice."""

CHAT_TOKEN = re.compile(
    r"</?s>|<\|[A-Za-z0-9_]{1,30}\|>|<(?:start|end)_of_turn>|\[/?INST\]|</?think(?:ing)?>|\[/?THINK\]",
    re.IGNORECASE,
)
"""A mark of a chat template that a server let through."""
_THOUGHT = r"think(?:ing)?|thought|reasoning|reflection|scratchpad|analysis"
_THOUGHT_END = re.compile(rf"</(?:{_THOUGHT})>|\[/THINK\]|\u25c1/think\u25b7", re.IGNORECASE)
_THOUGHT_BEGIN = re.compile(rf"\s*(?:<(?:{_THOUGHT})>|\[THINK\]|\u25c1think\u25b7)", re.IGNORECASE)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]{0,40}<\|message\|>")

_FENCE = re.compile(r"[ \t]*```[\w-]*[ \t]*")
# Words in brackets, "[1]" or "[as asked]", and the empty list of a check box.
_ASIDE = re.compile(r"\[[^\[\]{}\":]*\]")
_OPENING = re.compile(r"[{\[]")
# What is left around an answer that is whole.
_STRAY = re.compile(r"[{}\[\]]|\"\s*:")

_TOKEN = re.compile(
    r"""(?P<double>"(?:[^"\\]|\\.)*")|(?P<single>'(?:[^'\\]|\\.)*')|(?P<word>[A-Za-z_]+)"""
    r"""|(?P<mark>[\[\](){},:])|(?P<other>[^\s"'\[\](){},:A-Za-z_]+)|(?P<space>\s+)""",
    re.S,
)
_WORDS = {"None": "null", "True": "true", "False": "false"}
_COLON = re.compile(r"\s*:")
_CLOSED_BY = {"[": "]", "(": ")", "{": "}"}
_AS_LIST = {"(": "[", ")": "]"}
_REASONS = {"missing": "missing field", "extra_forbidden": "unknown field"}
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(.))|(\")", re.S)


def after_thought(text: str) -> str | None:
    """Return `text` without a byte order mark and a line of thought, its line ends made plain.

    None for a line of thought that does not end: what follows it is not there. Of an answer
    in channels the last one called final is what follows.
    """
    text = text.lstrip("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "<|channel|>" in text:
        channels = list(_CHANNEL.finditer(text))
        last = channels[-1] if channels else None
        return text[last.end() :] if last and last[1].lower() == "final" else None
    if "</" in text or "[/" in text or "\u25c1/" in text:
        ends = list(_THOUGHT_END.finditer(text))
        text = text[ends[-1].end() :] if ends else text
    return None if _THOUGHT_BEGIN.match(text) else text


class Object:
    """A JSON object with its pairs in the order of the text."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs

    def once(self) -> dict[str, Any]:
        """Return it as a dict; raises `UnparsedError` for a key that stands twice."""
        found = dict(self.pairs)
        if len(found) != len(self.pairs):
            raise UnparsedError("duplicate key", ", ".join(key for key, _ in self.pairs))
        return found


def read_json(text: str) -> Object | list[Any]:
    """Return the one JSON object or list in `text`.

    It may stand in a fence or among words. An empty one among words is none: in a refusal
    or a check box it says nothing. Raises `UnparsedError` for no JSON, for JSON that breaks
    off (it is never completed), and for more of it beside the first.
    """
    answer = after_thought(text)
    if answer is None:
        raise UnparsedError("cut short", "the line of thought does not end")
    inside, around = _unfenced(answer)
    # A bracket of words keeps its place and loses its brackets.
    prose = _ASIDE.sub(lambda aside: " " * len(aside[0]), inside)
    start = _OPENING.search(inside)
    if start is not None and inside[: start.start()].strip():
        start = _OPENING.search(prose)
    if start is None:
        raise UnparsedError("no JSON", "the answer holds no JSON object")
    value, end = _decoded(inside, start.start())
    around = f"{around} {prose[: start.start()]} {_ASIDE.sub(' ', inside[end:])}"
    if _STRAY.search(around):
        raise UnparsedError("several answers", "more stands beside the JSON")
    if not isinstance(value, Object | list):
        raise UnparsedError("unexpected form", "neither an object nor a list")
    beside = CHAT_TOKEN.sub("", around + inside[end:])
    if beside.strip() and not (value.pairs if isinstance(value, Object) else value):
        raise UnparsedError("no JSON", "nothing but empty brackets among words")
    return value


def _unfenced(text: str) -> tuple[str, str]:
    """Return what stands in the fence and what around it; all of it where there is no fence.

    The same block twice is one. Raises `UnparsedError` for two that differ.
    """
    if text.lstrip().startswith(("{", "[")):
        return text, ""
    lines = text.splitlines(keepends=True)
    fences = [at for at, line in enumerate(lines) if _FENCE.fullmatch(line.rstrip("\n"))]
    pairs = list(zip(fences[::2], fences[1::2], strict=False))
    if not pairs:
        return text, ""
    blocks = ["".join(lines[start + 1 : end]) for start, end in pairs]
    if len({block.strip() for block in blocks}) > 1:
        raise UnparsedError("several answers", f"{len(blocks)} fenced blocks")
    fenced = {at for start, end in pairs for at in range(start, end + 1)}
    outside = "".join(line for at, line in enumerate(lines) if at not in fenced)
    return blocks[0], _ASIDE.sub(" ", outside)


def _decoded(text: str, start: int) -> tuple[Any, int]:
    try:
        try:
            return _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            written = _as_json(text, start)
            if written is not None:
                with suppress(json.JSONDecodeError):
                    return _DECODER.decode(written[0]), written[1]
            cut = error.pos >= len(text.rstrip()) or "Unterminated" in error.msg
            raise UnparsedError("cut short" if cut else "not JSON", str(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnparsedError("not JSON", str(error)) from error


def _as_json(text: str, start: int) -> tuple[str, int] | None:
    """Return the literal that begins at `start` as JSON, and where it ends in `text`.

    Read is Python's way to write what JSON can hold, and trailing commas; only the notation is
    changed, value by value. No comma or bracket, and no quote of a text, is ever put in where
    one is missing. None where brackets do not close in order or a quotation does not end.
    """
    written: list[str] = []
    closing: list[str] = []
    comma, is_value = False, False  # a comma that waits; whether a value stands before it
    at = start
    while match := _TOKEN.match(text, at):
        kind, token, at = match.lastgroup, match[0], match.end()
        if kind == "space":
            continue
        closes = token in _CLOSED_BY.values()
        if comma and not closes:
            written.append(",")
        comma = match["mark"] == "," and is_value
        if kind in ("single", "double"):
            token = '"' + _ESCAPE.sub(_escape, token[1:-1]) + '"'
        elif kind in ("word", "other") and _COLON.match(text, at):
            token = f'"{token}"'
        elif kind == "word":
            token = _WORDS.get(token, token)
        elif closes:
            if not closing or closing.pop() != token:
                return None
        elif token in _CLOSED_BY:
            closing.append(_CLOSED_BY[token])
        is_value = closes or (kind != "mark")
        # A space keeps two tokens apart that stood apart: neither is part of the other.
        written += () if comma else (_AS_LIST.get(token, token), " ")
        if not closing:
            return "".join(written), at
    return None


def _escape(found: re.Match[str]) -> str:
    code, char, quote = found.groups()
    if code:
        return f"\\u00{code}"
    if quote:
        return r"\""
    return "'" if char == "'" else f"\\{char}"


def plain(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - JSON is any of a few types
    """Return `value` with dicts for objects.

    Raises `UnparsedError` for a key that stands twice and for nesting that no reply has.
    """
    if depth > _DEEPEST:
        raise UnparsedError("unexpected form", "nested too deeply")
    if isinstance(value, Object):
        return {key: plain(item, depth + 1) for key, item in value.once().items()}
    if isinstance(value, list):
        return [plain(item, depth + 1) for item in value]
    return value


def arguments(value: Object | list[Any]) -> Any:  # noqa: ANN401
    """Return the arguments of a tool call that a server let through as text; else `value`."""
    if isinstance(value, Object) and {key for key, _ in value.pairs} == {"name", "arguments"}:
        given = value.once()["arguments"]
        return read_json(given) if isinstance(given, str) else given
    return value


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
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def one_line(value: object) -> object:
    """Return a text on one line, its white space made single; anything else as it is."""
    return " ".join(visible(value).split()) if isinstance(value, str) else value


def _no_constant(name: str) -> Any:  # noqa: ANN401
    raise ValueError(f"{name} is no JSON")


_DEEPEST = 20
# A text may run over several lines, as some models write it.
_DECODER = json.JSONDecoder(object_pairs_hook=Object, parse_constant=_no_constant, strict=False)

"""Finds the JSON in an answer, with every key that stands in it, and refuses what is in doubt."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

from judge.rubrics.literals import as_json
from judge.rubrics.wrapping import CHAT_TOKEN, after_thought
from judge.types import UnparsedError

Pairs = list[tuple[str, Any]]
"""A JSON object as it was written: a key that stands twice is there twice."""

_FENCE = re.compile(r"[ \t]*```[\w-]*[ \t]*")
# Words in brackets, "[1]" or "[as asked]", and the empty list of a check box.
_ASIDE = re.compile(r"\[[^\[\]{}\":]*\]")
_OPENING = re.compile(r"[{\[]")
# What is left around an answer that is whole.
_STRAY = re.compile(r"[{}\[\]]|\"\s*:")


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
    outside = set(range(len(lines)))
    for start, end in pairs:
        outside -= set(range(start, end + 1))
    return blocks[0], _ASIDE.sub(" ", "".join(lines[at] for at in sorted(outside)))


def _decoded(text: str, start: int) -> tuple[Any, int]:
    try:
        try:
            return _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            written = as_json(text, start)
            if written is not None:
                with suppress(json.JSONDecodeError):
                    return _DECODER.decode(written[0]), written[1]
            cut = error.pos >= len(text.rstrip()) or "Unterminated" in error.msg
            raise UnparsedError("cut short" if cut else "not JSON", str(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnparsedError("not JSON", str(error)) from error


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


def _no_constant(name: str) -> Any:  # noqa: ANN401
    raise ValueError(f"{name} is no JSON")


_DEEPEST = 20
# A text may run over several lines, as some models write it.
_DECODER = json.JSONDecoder(object_pairs_hook=Object, parse_constant=_no_constant, strict=False)

"""Reads JSON that others wrote: one value, each key once, UTF-8.

`to_line` and `from_line` are for the program's own records, which end with a checksum.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_DEEPEST = 100
_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.S)
_NEXT = re.compile(r"[^ \t\r\n]")
_SEAL = b', "checksum": "'


class JsonError(ValueError):
    """A text that is not accepted as JSON: a `reason` from a short list, and a `detail`."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason = reason
        self.detail = detail
        message = reason
        if detail:
            message = f"{reason}: {detail}"
        super().__init__(message)


class Pairs(list[tuple[str, Any]]):
    """The pairs of an object as they were written, repeated keys included; see `read`."""


class _Repeated(dict[str, Any]):
    """An object in which keys were repeated: each has its last value."""

    repeated: tuple[str, ...] = ()


def repeated_keys(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys that an object of `read` with `mark_repeated` had more than once."""
    if isinstance(record, _Repeated):
        return record.repeated
    return ()


def read(
    data: bytes | str,
    *,
    pairs: bool = False,
    nan: bool = False,
    mark_repeated: bool = False,
) -> Any:  # noqa: ANN401
    """Return the one JSON value in `data`; raises `JsonError`.

    With `pairs` every object is a list of `Pairs`; with `nan` NaN and infinity are accepted. With
    `mark_repeated` they are too, and an object that has a key twice is read: `repeated_keys` tells.
    """
    if isinstance(data, bytes):
        try:
            data = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise JsonError("not UTF-8", f"byte {error.start}") from error
    text = data.removeprefix("\ufeff")
    _check_depth(text)
    decoder = _ONCE
    if pairs:
        decoder = _PAIRS
    elif mark_repeated:
        decoder = _MARKED
    elif nan:
        decoder = _WITH_NAN
    try:
        return decoder.decode(text)
    except ValueError as error:
        raise _explained(error, text) from error


def values(text: str) -> list[Any]:
    """Return the JSON values that follow one another in `text`, as in JSONL; accepts NaN."""
    _check_depth(text)
    decoded = []
    match = _NEXT.search(text)
    try:
        while match is not None:
            value, end = _WITH_NAN.raw_decode(text, match.start())
            decoded.append(value)
            match = _NEXT.search(text, end)
    except ValueError as error:
        raise _explained(error, text) from error
    return decoded


def to_line(record: Mapping[str, Any]) -> bytes:
    """Return a record as a line with its checksum and newline."""
    body = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")[:-1]
    return body + _seal(body)


def from_line(line: bytes, number: int) -> dict[str, Any]:
    """Return the record in a line of that number; raises `JsonError` where it was changed."""
    body = sealed(line, number)
    try:
        record: dict[str, Any] = json.loads(body)
    except (ValueError, RecursionError) as error:
        # A right checksum says that somebody wrote the line so, not that it is a record.
        raise JsonError("not JSON", f"line {number:,}: {error}") from error
    return record


def sealed(line: bytes, number: int) -> bytes:
    """Return the JSON text of a line of that number; raises `JsonError` where it was changed."""
    body = line.rpartition(_SEAL)[0]
    if line != body + _seal(body):
        raise JsonError(
            "changed", f"line {number:,} is not the one that its checksum is of"
        )
    return body + b"}"


def _seal(body: bytes) -> bytes:
    return _SEAL + hashlib.sha256(body).hexdigest()[:16].encode() + b'"}\n'


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= _DEEPEST:
        return
    depth = 0
    # A string that has brackets is one token of its own.
    # Not all at once: the depth may end it early.
    for found in _BRACKETS.finditer(text):
        token = found[0]
        if token in ("[", "{"):
            depth += 1
        elif token in ("]", "}"):
            depth -= 1
        if depth > _DEEPEST:
            raise JsonError("nested too deeply", f"more than {_DEEPEST} levels")


def _explained(error: ValueError, text: str) -> JsonError:
    if isinstance(error, JsonError):
        return error
    if not isinstance(error, json.JSONDecodeError):  # a number of thousands of digits
        return JsonError("not JSON", str(error))
    if error.msg.startswith("Extra data"):
        return JsonError("several values", str(error))
    is_cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
    if is_cut:
        return JsonError("cut short", str(error))
    return JsonError("not JSON", str(error))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise JsonError("duplicate key", _more_than_once(pairs)[0])
    return record


def _marked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) == len(pairs):
        return record
    marked = _Repeated(record)
    marked.repeated = _more_than_once(pairs)
    return marked


def _more_than_once(pairs: list[tuple[str, Any]]) -> tuple[str, ...]:
    times = Counter(key for key, _ in pairs)
    return tuple(key for key, n in times.items() if n > 1)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise JsonError("not JSON", f"{digits} is no number that can be held")
    return value


_ONCE = json.JSONDecoder(
    object_pairs_hook=_once, parse_float=_finite, parse_constant=_finite
)
_PAIRS = json.JSONDecoder(
    object_pairs_hook=Pairs, parse_float=_finite, parse_constant=_finite
)
_WITH_NAN = json.JSONDecoder(object_pairs_hook=_once)
_MARKED = json.JSONDecoder(object_pairs_hook=_marked)


def replace_surrogates(text: str) -> str:
    """Return `text` with U+FFFD for lone surrogates, which JSON can escape and no file hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


MAX_YAML = 4 * 2**20
"""The most bytes of a YAML file: prompts and lexicons are texts, and YAML unpacks."""


_MERGED_KEY = "tag:yaml.org,2002:merge"


class UnreadableYamlError(Exception):
    """A file that is no YAML. Its text says why, on one line."""


def read_yaml(path: Path) -> tuple[object, bytes]:
    """Return what a YAML file that a user names holds, and its bytes.

    Raises `UnreadableYamlError` for a file of more than `MAX_YAML` bytes, of which no more is read,
    and for a key that is there twice: the first of its values would be lost.
    """
    import yaml

    with path.open("rb") as file:
        raw = file.read(MAX_YAML + 1)
    if len(raw) > MAX_YAML:
        raise UnreadableYamlError(f"it has more than {MAX_YAML // 2**20} MB")
    safe = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(safe):  # type: ignore[misc, valid-type]
        """A safe loader that takes each key of a mapping once."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002
            seen = set()
            for key, _ in node.value:
                # The value of a key that is no scalar is a list of nodes.
                if key.tag == _MERGED_KEY or not isinstance(key.value, str):
                    continue
                if key.value in seen:
                    raise UnreadableYamlError(f"the key {key.value!r} is there twice")
                seen.add(key.value)
            return super().construct_mapping(node, deep=deep)

    try:
        # A date that there is not is a ValueError.
        return yaml.load(raw.decode("utf-8-sig"), Loader=Loader), raw  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UnreadableYamlError(" ".join(str(error).split())) from error


_WORD = re.compile(r"(?!(?:true|false|null)\Z)[a-z][a-z0-9_-]*")


def json_or_word(text: str) -> object:
    """Return a value of JSON, or a plain word such as `high`; raises `ValueError`."""
    if _WORD.fullmatch(text):
        return text
    try:
        return read(text)
    except JsonError as error:
        raise ValueError(str(error)) from error

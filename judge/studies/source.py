"""From a path or standard input to bytes, and from bytes to text."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

from judge.types import JudgeError

STDIN = "-"

_FORMS = "JSON, JSONL, CSV, TSV, Parquet or text (.txt), plain or gzipped, or a folder of datasets"
_GZIP = b"\x1f\x8b"
_OTHER_BINARY = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"%PDF": "a PDF",
}


@dataclass(frozen=True, slots=True)
class Content:
    """What a source holds. `sha256` is of the bytes as they lie there, before decompression.

    `encoding` is that of a text, None for UTF-8, or UTF-16 with a mark.
    """

    name: str
    data: bytes
    sha256: str
    encoding: str | None = None


def display_name(source: str) -> str:
    """Return what a source is called in messages."""
    return "standard input" if source == STDIN else source


def read_content(source: str, encoding: str | None = None) -> Content:
    """Read a path, or standard input for `-`; gzip is undone, whatever the name.

    Raises `JudgeError` where it can't be read, is empty or is a broken gzip, and for an unknown
    `encoding`.
    """
    name = display_name(source)
    encoding = known_encoding(encoding) if encoding else None
    raw = sys.stdin.buffer.read() if source == STDIN else _read_file(source)
    digest = hashlib.sha256(raw).hexdigest()
    data = _gunzip(name, raw) if raw.startswith(_GZIP) else raw
    if not data.strip():
        raise JudgeError(f"{name} is empty")
    return Content(name, data, digest, encoding)


def decode(content: Content) -> str:
    """Return the text that a source holds, without a byte order mark.

    It is UTF-8, UTF-16 with a mark, or what `content.encoding` says. Raises `JudgeError` for
    anything else.
    """
    name, data = content.name, content.data
    kind = next((kind for magic, kind in _OTHER_BINARY.items() if data.startswith(magic)), None)
    if kind is not None:
        raise JudgeError(f"{name} is {kind}; give {_FORMS}")
    encoding = content.encoding or "utf-8-sig"
    if content.encoding is None and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise JudgeError(
            f"{name} is not {encoding.upper().removesuffix('-SIG')} (byte "
            f"0x{data[error.start]:02x} in line {line}): save it as UTF-8, or name its encoding "
            "where the command has --encoding, such as cp1252"
        ) from error
    if "\x00" in text:
        raise JudgeError(f"{name} is neither text nor Parquet (it holds NUL bytes); give {_FORMS}")
    return text


def known_encoding(name: str) -> str:
    """Return the name of an encoding of texts; raises `JudgeError` where there is none of it."""
    try:
        known = codecs.lookup(name).name
        "".encode(known)
    except (LookupError, ValueError) as error:
        raise JudgeError(
            f"unknown encoding {name!r} for --encoding; known are utf-8, utf-16, cp1252, latin-1, "
            "and the others of Python"
        ) from error
    return known


def _read_file(source: str) -> bytes:
    try:
        return Path(source).read_bytes()
    except FileNotFoundError as error:
        raise JudgeError(f"no such file: {source}") from error
    except IsADirectoryError as error:
        raise JudgeError(f"{source} is a folder; give a file") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise JudgeError(f"can't read {source}: {reason}") from error


def _gunzip(name: str, raw: bytes) -> bytes:
    try:
        return gzip.decompress(raw)
    except (EOFError, OSError, zlib.error) as error:
        raise JudgeError(f"{name} is a broken gzip file: {error}") from error

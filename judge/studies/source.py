"""From a path or standard input to bytes, and from bytes to text."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import os
import stat
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
_WIDE_BOMS = (
    # UTF-32 first: its little-endian mark begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class Content:
    """What a source holds. `sha256` is of the bytes as they lie there, before decompression."""

    name: str
    data: bytes
    sha256: str


def display_name(source: str) -> str:
    """Return what a source is called in messages."""
    return "standard input" if source == STDIN else source


def read_content(source: str) -> Content:
    """Read a path, or standard input for `-`; gzip is undone, whatever the name.

    Raises `JudgeError` where it can't be read, is empty or is a broken gzip.
    """
    name = display_name(source)
    raw = sys.stdin.buffer.read() if source == STDIN else _read_file(source)
    digest = hashlib.sha256(raw).hexdigest()
    data = _gunzip(name, raw) if raw.startswith(_GZIP) else raw
    if not data.strip():
        raise JudgeError(f"{name} is empty")
    return Content(name, data, digest)


def decode(name: str, data: bytes) -> tuple[str, str | None]:
    """Return the text of `data`, without a byte order mark, and a note where it isn't UTF-8.

    UTF-8 is tried strictly; then the bytes are read as Windows-1252, or as Latin-1 where
    Windows-1252 has no such character.
    """
    kind = next((kind for magic, kind in _OTHER_BINARY.items() if data.startswith(magic)), None)
    if kind is not None:
        raise JudgeError(f"{name} is {kind}; give {_FORMS}")
    for mark, encoding in _WIDE_BOMS:
        if data.startswith(mark):
            try:
                return data.decode(encoding), None
            except UnicodeDecodeError as error:
                raise JudgeError(f"{name} begins like {encoding.upper()} but {error}") from error
    if b"\x00" in data:
        raise JudgeError(f"{name} is neither text nor Parquet (it holds NUL bytes); give {_FORMS}")
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start]
        try:
            text, encoding = data.decode("cp1252"), "Windows-1252"
        except UnicodeDecodeError:
            text, encoding = data.decode("latin-1"), "Latin-1"
        return text, f"{name} is not UTF-8 (byte 0x{byte:02x} in line {line}): read as {encoding}"


def _read_file(source: str) -> bytes:
    try:
        # `<(zcat file)` is a pipe too, and somebody writes to that one.
        if stat.S_ISFIFO(os.stat(source).st_mode) and not source.startswith(("/dev/", "/proc/")):  # noqa: PTH116
            raise JudgeError(f"{source} is a pipe with a name; read it with - as standard input")
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

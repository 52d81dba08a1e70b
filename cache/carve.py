"""Rows of a damaged SQLite database, read page by page without its trees.

After the file format at sqlite.org/fileformat2.html: a leaf page of a table holds whole
rows, and the rest of a long row stands in a chain of overflow pages. The log (WAL) holds
newer versions of pages.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO

Row = tuple[int, object, object, object, object, object, object]
"""rowid, key, raw, store_time, mode, filename, value of the library's table `Cache`."""

_MAGIC = b"SQLite format 3\0"
_LOG_MAGIC = (0x377F0682, 0x377F0683)
_DEFAULT_PAGE = 4096
_LEAF = 13
# rowid, key, raw, store_time, expire_time, access_time, access_count, tag, size, mode, ...
_N_COLUMNS = 12
_WANTED = (1, 2, 3, 9, 10, 11)
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def carve(file: Path) -> Iterator[Row]:
    """Yield the rows found in the pages of `file` and its log; may yield a row twice.

    Pages and rows that make no sense are passed over. Raises OSError.
    """
    log = file.with_name(f"{file.name}-wal")
    with file.open("rb") as data:
        if not log.exists():
            yield from _Pages(data, None).rows()
            return
        with log.open("rb") as newer:
            yield from _Pages(data, newer).rows()


class _Pages:
    """The pages of a database, each in its newest version."""

    def __init__(self, data: IO[bytes], log: IO[bytes] | None) -> None:
        self._data = data
        self._log = log
        self._newer: dict[int, int] = {}
        head = data.read(100)
        self.size, reserved = _DEFAULT_PAGE, 0
        if head.startswith(_MAGIC) and len(head) == 100:
            self.size = int.from_bytes(head[16:18], "big")
            self.size = 65536 if self.size == 1 else self.size
            reserved = head[20]
        if log:
            self._read_log(log)
        if self.size < 512:
            self.size, reserved = _DEFAULT_PAGE, 0
        self.usable = self.size - reserved
        self.count = max([-(-data.seek(0, 2) // self.size), *self._newer])

    def __getitem__(self, number: int) -> bytes:
        """Return a page, filled up with zeros where it is cut off or missing."""
        source, at = self._data, (number - 1) * self.size
        if self._log and number in self._newer:
            source, at = self._log, self._newer[number]
        source.seek(at)
        return source.read(self.size).ljust(self.size, b"\0")

    def rows(self) -> Iterator[Row]:
        for number in range(1, self.count + 1):
            page = self[number]
            start = 100 if number == 1 else 0
            if page[start] != _LEAF:
                continue
            (n_cells,) = struct.unpack_from(">H", page, start + 3)
            for cell in range(min(n_cells, self.size // 2)):
                try:
                    (at,) = struct.unpack_from(">H", page, start + 8 + 2 * cell)
                    row = _record(*self._cell(page, at))
                except (IndexError, ValueError, struct.error):
                    continue
                if row is not None:
                    yield row

    def _cell(self, page: bytes, at: int) -> tuple[int, bytes]:
        """Return the rowid and the payload of a cell; raises ValueError or IndexError."""
        length, at = _varint(page, at)
        row, at = _varint(page, at)
        if length > self.count * self.size:
            raise ValueError("longer than the file")
        local = length
        if length > self.usable - 35:
            least = (self.usable - 12) * 32 // 255 - 23
            local = least + (length - least) % (self.usable - 4)
            local = local if local <= self.usable - 35 else least
        parts = [page[at : at + local]]
        missing = length - len(parts[0])
        (following,) = struct.unpack_from(">I", page, at + local) if missing else (0,)
        while missing > 0:
            if not 1 <= following <= self.count:
                raise ValueError("the chain leaves the file")
            overflow = self[following]
            (following,) = struct.unpack_from(">I", overflow)
            parts.append(overflow[4 : min(self.usable, 4 + missing)])
            missing -= len(parts[-1])
        return row, b"".join(parts)

    def _read_log(self, log: IO[bytes]) -> None:
        """Note where the newest committed version of each page stands."""
        head = log.read(32)
        if len(head) < 32 or int.from_bytes(head[:4], "big") not in _LOG_MAGIC:
            return
        self.size = int.from_bytes(head[8:12], "big")
        pending: dict[int, int] = {}
        at = 32
        while len(frame := log.read(24)) == 24 and frame[8:16] == head[16:24]:
            number, commit = struct.unpack_from(">II", frame)
            pending[number] = at + 24
            if commit:
                self._newer.update(pending)
                pending.clear()
            at += 24 + self.size
            log.seek(at)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at `at` and where the next one begins; raises IndexError."""
    value = 0
    for place in range(8):
        byte = data[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    return value << 8 | data[at + 8], at + 9


def _record(row: int, payload: bytes) -> Row | None:
    """Return what we need of a row of `Cache`; None for a row of another table."""
    end, at = _varint(payload, 0)
    kinds = []
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    if len(kinds) != _N_COLUMNS:
        return None
    values: list[object] = []
    for kind in kinds:
        value, at = _value(payload, at, kind)
        values.append(value)
    key, raw, stored, mode, filename, value = (values[column] for column in _WANTED)
    return row, key, raw, stored, mode, filename, value


def _value(payload: bytes, at: int, kind: int) -> tuple[object, int]:
    """Return a column of that kind and where the next one begins; raises ValueError."""
    if kind == 0:
        return None, at
    if kind in (8, 9):
        return kind - 8, at
    length = 8 if kind == 7 else _INTEGERS.get(kind, (kind - 12) // 2)
    data = payload[at : at + length]
    if length < 0 or len(data) != length:
        raise ValueError("a column that is cut off")
    if kind == 7:
        return struct.unpack(">d", data)[0], at + length
    if kind in _INTEGERS:
        return int.from_bytes(data, "big", signed=True), at + length
    return (data.decode("utf-8", "surrogateescape") if kind % 2 else data), at + length

"""The zip of a pack: written the same for the same files, and read with limits.

Nothing is unpacked to disk, so that no name in a zip can lead anywhere.
"""

from __future__ import annotations

import hashlib
import io
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from judge.files import open_regular
from judge.types import JudgeError

INDEX = "pack.json"
"""What is in a pack: its runs, and the size and the SHA-256 of each other file."""
MOST_FILES = 5_000
MOST_BYTES = 500_000_000
"""The files of a pack, and what they hold in all when they are unpacked."""
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    ValueError,
    NotImplementedError,
)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first date that a zip can hold


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return files as a zip, in the order of their names and without times."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, wherever it is written
            entry.external_attr = (stat.S_IFREG | 0o600) << 16
            archive.writestr(entry, files[name])
    return data.getvalue()


def sha256(data: bytes) -> str:
    """Return the SHA-256 of some bytes, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


class PackArchive:
    """An opened zip whose names and sizes are within the limits."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self._archive = archive
        self.entries = {entry.filename: entry for entry in archive.infolist()}

    def read(self, name: str) -> bytes:
        """Return a file; raises `JudgeError` where it is not there or damaged."""
        entry = self.entries.get(name)
        if entry is None:
            raise JudgeError(f"{self.path} has no {name}")
        try:
            with self._archive.open(entry) as file:
                # One byte more than it says that it has: an entry that lies is damaged.
                data = file.read(entry.file_size + 1)
        except _UNREADABLE as error:
            raise self._damaged(name, str(error)) from error
        if len(data) != entry.file_size:
            raise self._damaged(name, "it is not as long as it says")
        return data

    def _damaged(self, name: str, why: str) -> JudgeError:
        return JudgeError(f"{self.path}: {name!r:.80} is damaged: {why}")


@contextmanager
def opened_archive(path: Path) -> Iterator[PackArchive]:
    """Open the zip of a pack; raises `JudgeError` for what is no zip or not within the limits."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            _check(path, archive.infolist())
            yield PackArchive(path, archive)
    except zipfile.BadZipFile as error:
        raise JudgeError(f"{path} is no zip that can be read: {error}") from error
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror or error}") from error


def _check(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    if len(entries) > MOST_FILES:
        raise JudgeError(
            f"{path} has {len(entries):,} files; a pack has {MOST_FILES:,} at the most"
        )
    names = set()
    total = 0
    for entry in entries:
        why = _fault(entry)
        if entry.filename.lower() in names:
            why = "it is there twice"
        if why:
            raise JudgeError(
                f"{path}: {entry.filename!r:.80} is no file of a pack: {why}"
            )
        names.add(entry.filename.lower())
        total += entry.file_size
    if total > MOST_BYTES:
        raise JudgeError(
            f"{path} holds {total:,} bytes when unpacked; a pack holds {MOST_BYTES:,} at the most"
        )


def _fault(entry: zipfile.ZipInfo) -> str:
    """Return why an entry can be none of a pack, empty where it can."""
    name = entry.filename
    parts = PurePosixPath(name).parts
    is_plain = name == "/".join(parts) and not {"..", ".", "/"} & {*parts}
    if not is_plain or "\\" in name or ":" in name or not name.isprintable():
        return "its name is no plain path"
    if entry.is_dir():
        return "it is a folder"
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "it is a link or a device"
    if entry.flag_bits & 1:
        return "it is encrypted"
    return ""

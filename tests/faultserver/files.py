"""Files as `/v1/files` has them: on disk, taken out of the forms that clients upload."""

from __future__ import annotations

import mmap
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PURPOSES = ("assistants", "batch", "fine-tune", "vision", "user_data", "evals")
_NAME = re.compile(rb';\s*name="([^"]*)"')
_FILENAME = re.compile(rb';\s*filename="([^"]*)"')
_BOUNDARY = re.compile(r'boundary="?([^";]+)"?')
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Stored:
    """One file: what is said of it, and where it lies."""

    id: str
    path: Path
    bytes: int
    created_at: int
    filename: str
    purpose: str

    def to_json(self) -> dict[str, Any]:
        """Return the file object of OpenAI's API."""
        return {
            "id": self.id,
            "object": "file",
            "bytes": self.bytes,
            "created_at": self.created_at,
            "expires_at": None,
            "filename": self.filename,
            "purpose": self.purpose,
            "status": "processed",
            "status_details": None,
        }


class FileStore:
    """The files there are, in the order of their making, in a temporary folder."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._number = 0
        self.files: dict[str, Stored] = {}

    def close(self) -> None:
        """Delete the folder."""
        if self._folder:
            self._folder.cleanup()

    def clear(self) -> None:
        """Forget the files."""
        self.files = {}

    def new_path(self) -> Path:
        """Return the path of a file that is not there yet."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="faultserver-")
        self._number += 1
        return Path(self._folder.name, f"{self._number:06d}")

    def add(self, path: Path, filename: str, purpose: str) -> Stored:
        """Take the file at `path`, which `new_path` gave, among the files."""
        name = f"file-{path.name}"
        stored = Stored(name, path, path.stat().st_size, self._now(), filename, purpose)
        self.files[name] = stored
        return stored

    def take_form(self, form: Path, content_type: str) -> tuple[dict[str, str], Path | None]:
        """Return the fields of a multipart form, `filename` among them, and its file apart."""
        fields: dict[str, str] = {}
        found: Path | None = None
        boundary = _BOUNDARY.search(content_type)
        if boundary is None or form.stat().st_size == 0:
            return fields, None
        delimiter = b"--" + boundary[1].encode("latin-1")
        with (
            form.open("rb") as source,
            mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            at = data.find(delimiter)
            while at >= 0 and (end := data.find(b"\r\n" + delimiter, at)) >= 0:
                start = data.find(b"\r\n\r\n", at) + 4
                head = data[at:start]
                name = _NAME.search(head)
                if filename := _FILENAME.search(head):
                    fields["filename"] = filename[1].decode("utf-8", "replace")
                    found = self.new_path()
                    source.seek(start)
                    with found.open("wb") as target:
                        _copy(source, target, end - start)
                elif name:
                    fields[name[1].decode()] = data[start:end].decode("utf-8", "replace")
                at = end + 2
        return fields, found


def _copy(source: Any, target: Any, size: int) -> None:
    while size > 0 and (part := source.read(min(size, _CHUNK))):
        target.write(part)
        size -= len(part)


def join(path: Path, more: bytes) -> None:
    """Add `more` to the file at `path`."""
    with path.open("ab") as file:
        file.write(more)


def cut_last_line(path: Path) -> tuple[bytes, bytes]:
    """End the file in the middle of its last line; return that line as it was and those before."""
    data = path.read_bytes()
    start = data.rfind(b"\n", 0, len(data) - 1) + 1
    with path.open("r+b") as file:
        file.truncate(start + (len(data) - start) // 2)
    return data[start:], data[:start]


def remove(path: Path) -> None:
    """Delete a file that nobody needs."""
    path.unlink(missing_ok=True)

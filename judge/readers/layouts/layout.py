"""What a layout of readers' files is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from judge.readers.annotations import AnnotationTable, File


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A layout of readers' files.

    `columns` has a tuple for each kind of file of the layout: its columns or keys, by which the
    layout is recognized. `read` takes the files and the reader's name, None where the user gave
    none, and returns what the readers wrote down; it raises `JudgeError` for files that do not go
    together.
    """

    name: str
    columns: tuple[tuple[str, ...], ...]
    read: Callable[[Sequence[File], str | None], AnnotationTable]
    has_several_files: bool = False

    def fits(self, files: Sequence[File]) -> bool:
        """Return whether each of the files is of one of the layout's kinds."""
        return all(map(self._knows, files))

    def _knows(self, file: File) -> bool:
        return any(file.has(*columns) for columns in self.columns)

    @property
    def needs(self) -> str:
        """The columns of its kinds of files, for messages."""
        return " or ".join(", ".join(columns) for columns in self.columns)

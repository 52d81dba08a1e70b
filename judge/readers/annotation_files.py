"""Readers' files as rows of text cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge import jsonio
from judge.readers.annotations import FaultError
from judge.rubrics.categories import INSIGNIFICANT, SIGNIFICANT
from judge.studies.load import decode, read_content, read_delimited
from judge.studies.names import plain
from judge.types import JudgeError

SIGNIFICANCE = {
    **dict.fromkeys(("significant", "clinicallysignificant", "true", "yes", "y", "1"), SIGNIFICANT),
    **dict.fromkeys(("insignificant", "clinicallyinsignificant"), INSIGNIFICANT),
    **dict.fromkeys(("false", "no", "n", "0"), INSIGNIFICANT),
}


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a row by column: stripped text, or None for an empty cell."""

    file: str
    place: str
    cells: Mapping[str, str | None]

    def __getitem__(self, name: str) -> str | None:
        return self.cells.get(name)

    def ids(self, *names: str) -> tuple[str, ...]:
        """Return the cells that identify a reading; raises `JudgeError` where one is blank."""
        try:
            return tuple(self.needed(name) for name in names)
        except FaultError as fault:
            raise JudgeError(f"{self.file}, {fault}") from fault

    def needed(self, name: str) -> str:
        """Return a cell; raises `FaultError` if it is blank."""
        text = self[name]
        if text is None:
            raise self.fault(f"{name} is blank")
        return text

    def count(self, name: str) -> int:
        """Return a cell as a whole number from 0 to 999; raises `FaultError` for anything else."""
        text = self.needed(name)
        whole = re.fullmatch(r"([0-9]{1,3})(?:\.0*)?", text)
        if whole is None:
            raise self.fault(f"{name} is {text[:40]!r}, no whole number from 0 to 999")
        return int(whole[1])

    def choice(self, name: str, choices: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return the choice named in a cell; raises `FaultError` for an unknown one."""
        text = self.needed(name)
        if plain(text) not in choices:
            raise self.fault(f"{name} is {text[:40]!r}, none of {', '.join(choices)}")
        return choices[plain(text)]

    def fault(self, why: str) -> FaultError:
        """Return an error with the row and the reason."""
        return FaultError(f"{self.place}: {why}")


@dataclass(frozen=True, slots=True)
class File:
    """An annotation file: the columns of a table, or the value of a JSON text."""

    name: str
    sha256: str
    columns: Mapping[str, Sequence[str | None]]
    data: Any = None

    def __len__(self) -> int:
        return len(self.data or next(iter(self.columns.values()), ()))

    def has(self, *columns: str) -> bool:
        """Return whether it is a table with these columns."""
        return {*columns} <= {*self.columns}

    def rows(self) -> Iterator[Cells]:
        """Yield the rows; the header is row 1."""
        for number, cells in enumerate(zip(*self.columns.values(), strict=True), start=2):
            texts = [cell.strip() or None if cell else None for cell in cells]
            yield Cells(self.name, f"row {number}", dict(zip(self.columns, texts, strict=True)))


def open_file(source: str, encoding: str | None) -> File:
    """Read a CSV, TSV or JSON file; raises `JudgeError` for anything else."""
    content = read_content(source, encoding)
    text = decode(content)
    if text.lstrip()[:1] not in ("{", "["):
        return File(content.name, content.sha256, read_delimited(content.name, text))
    try:
        return File(content.name, content.sha256, {}, jsonio.read(text))
    except jsonio.JsonError as error:
        raise JudgeError(f"{content.name} cannot be read as JSON: {error}") from error


def only(files: Sequence[File]) -> File:
    """Return the only file of a layout; raises `JudgeError` for several."""
    if len(files) > 1:
        raise JudgeError(f"this layout is one file, and these are {len(files)}")
    return files[0]

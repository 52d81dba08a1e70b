"""Readers' files as rows of texts, and the cells that a layout asks for."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from judge import jsonio
from judge.readers.annotations import FaultError
from judge.rubrics.categories import INSIGNIFICANT, SIGNIFICANT
from judge.studies.load import decode, read_content
from judge.studies.names import plain
from judge.types import JudgeError

SIGNIFICANCE = {
    **dict.fromkeys(("significant", "clinicallysignificant", "true", "yes", "y", "1"), SIGNIFICANT),
    **dict.fromkeys(("insignificant", "clinicallyinsignificant"), INSIGNIFICANT),
    **dict.fromkeys(("false", "no", "n", "0"), INSIGNIFICANT),
}
_PARQUET = b"PAR1"

Row = Mapping[str, str | None]
"""A row's cells by the names of columns: texts without blanks around, or None."""


@dataclass(frozen=True, slots=True)
class File:
    """An annotation file: a table of texts, or the value of a JSON text."""

    name: str
    sha256: str
    data: Any

    def has(self, *columns: str) -> bool:
        """Return whether it is a table with these columns."""
        return isinstance(self.data, pd.DataFrame) and {*columns} <= {*self.data.columns}

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str | None]]]:
        """Yield the place and the cells of each row that is not blank; the header is row 1."""
        absent = dict.fromkeys(columns)
        for number, cells in enumerate(self.data.to_numpy(), start=2):
            texts = [(cell.strip() or None) if isinstance(cell, str) else None for cell in cells]
            if any(texts):
                yield f"row {number}", {**absent, **dict(zip(self.data, texts, strict=True))}


def open_file(source: str, encoding: str | None) -> File:
    """Read CSV, TSV, Parquet or JSON; raises `JudgeError` for anything else."""
    content = read_content(source, encoding)
    if content.data.startswith(_PARQUET):
        frame = pd.read_parquet(io.BytesIO(content.data))
        texts = frame.astype(object).map(lambda value: None if pd.isna(value) else str(value))
        return File(content.name, content.sha256, texts)
    text = decode(content)
    if text.lstrip()[:1] in ("{", "["):
        try:
            return File(content.name, content.sha256, jsonio.read(text))
        except jsonio.JsonError as error:
            raise JudgeError(f"{content.name} cannot be read as JSON: {error}") from error
    header = text.split("\n", 1)[0]
    separator = max("\t;,", key=header.count)
    names = [name.strip('" \r') for name in header.split(separator)]
    if twice := [name for name in names if name and names.count(name) > 1]:
        raise JudgeError(f"{content.name} has two columns {twice[0]!r}; keep one")
    try:
        frame = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            dtype=str,
            keep_default_na=False,
            skip_blank_lines=False,
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise JudgeError(f"{content.name} cannot be read as a table: {error}".strip()) from error
    if not isinstance(frame.index, pd.RangeIndex):
        raise JudgeError(f"{content.name} has rows with more cells than its header")
    # Row numbers, as pandas writes them without a name.
    unnamed = [name for name in frame.columns if name.startswith("Unnamed: ")]
    return File(content.name, content.sha256, frame.drop(columns=unnamed))


def needed(row: Row, name: str) -> str:
    """Return a cell; raises `FaultError` where it is blank."""
    text = row[name]
    if text is None:
        raise FaultError(f"{name} is blank")
    return text


def count_of(row: Row, name: str) -> int:
    """Return a cell as a count; raises `FaultError` for a blank one and for anything else."""
    text = needed(row, name)
    whole = re.fullmatch(r"([0-9]{1,3})(?:\.0*)?", text)
    if whole is None:
        raise FaultError(f"{name} is {text[:40]!r}, no whole number from 0 to 999")
    return int(whole[1])


def choice(row: Row, name: str, choices: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Return what a cell stands for; raises `FaultError` where it is none of the choices."""
    text = needed(row, name)
    if plain(text) not in choices:
        raise FaultError(f"{name} is {text[:40]!r}, none of {', '.join(choices)}")
    return choices[plain(text)]


def identifiers(file: File, place: str, row: Row, *names: str) -> tuple[str, ...]:
    """Return the cells that say whose reading a row is; without them no study can be trusted."""
    try:
        return tuple(needed(row, name) for name in names)
    except FaultError as fault:
        raise JudgeError(f"{file.name}, {place}: {fault}") from fault


def only(files: Sequence[File]) -> File:
    """Return the one file of a layout; raises `JudgeError` for several."""
    if len(files) > 1:
        raise JudgeError(f"this layout is one file, and these are {len(files)}")
    return files[0]

"""Readers' files as rows of texts, and the cells that a layout asks for."""

from __future__ import annotations

import csv
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

MAX_COUNT = 1_000
"""The largest count of errors of one kind in one report that is taken for a count."""
SIGNIFICANCE = {
    **dict.fromkeys(("significant", "clinicallysignificant", "true", "yes", "y", "1"), SIGNIFICANT),
    **dict.fromkeys(("insignificant", "clinicallyinsignificant"), INSIGNIFICANT),
    **dict.fromkeys(("false", "no", "n", "0"), INSIGNIFICANT),
}
_PARQUET = b"PAR1"

Row = Mapping[str, str | None]
"""A row's cells by the layout's own names of columns: texts without blanks around, or None."""


@dataclass(frozen=True, slots=True)
class File:
    """An annotation file: a table of texts, or the value of a JSON text."""

    name: str
    sha256: str
    data: Any

    def has(self, *columns: str) -> bool:
        """Return whether it is a table with these columns, in whatever case."""
        if not isinstance(self.data, pd.DataFrame):
            return False
        return {plain(name) for name in columns} <= {plain(name) for name in self.data.columns}

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str | None]]]:
        """Yield the place and the cells of each row; raises for a column that is there twice."""
        names = {plain(name): name for name in columns}
        renamed = [names.get(plain(name), name) for name in self.data.columns]
        if twice := sorted({name for name in renamed if renamed.count(name) > 1}):
            raise JudgeError(f"{self.name} has two columns {twice[0]!r}; keep one")
        absent = dict.fromkeys(columns)
        for number, cells in zip(self.data.index, self.data.to_numpy(), strict=True):
            texts = ((cell.strip() or None) if isinstance(cell, str) else None for cell in cells)
            yield f"row {number}", {**absent, **dict(zip(renamed, texts, strict=True))}


def open_file(source: str, encoding: str | None) -> File:
    """Read CSV, TSV, Parquet or JSON; raises `JudgeError` for anything else."""
    content = read_content(source, encoding)
    if content.data.startswith(_PARQUET):
        frame = pd.read_parquet(io.BytesIO(content.data))
        texts = frame.astype(object).where(frame.notna(), None)
        texts = texts.map(lambda value: None if value is None else str(value))
        return File(content.name, content.sha256, _numbered(texts))
    text = decode(content)
    if text.lstrip()[:1] in ("{", "["):
        try:
            return File(content.name, content.sha256, jsonio.read(text))
        except jsonio.JsonError as error:
            raise JudgeError(f"{content.name} cannot be read as JSON: {error}") from error
    header = text.split("\n", 1)[0]
    separator = max("\t;,", key=header.count)
    names = next(csv.reader(io.StringIO(text), delimiter=separator), [])
    # The published table of ReXVal has each reader's column twice.
    if twice := [name for name in names if name and names.count(name) > 1 and not name.isdigit()]:
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
    return File(content.name, content.sha256, _numbered(frame))


def _numbered(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that are not blank, by their numbers in a spreadsheet, the header's being 1.

    Columns of row numbers, as pandas writes them without a name, are left out.
    """
    frame.index = pd.RangeIndex(2, len(frame) + 2)
    named = [name for name in frame.columns if not re.match(r"Unnamed: |__index_level_", str(name))]
    return frame.loc[~frame.isin(["", None]).all(axis=1), named]


def needed(row: Row, name: str) -> str:
    """Return a cell; raises `FaultError` where it is blank."""
    text = row[name]
    if text is None:
        raise FaultError(f"{name} is blank")
    return text


def count_of(row: Row, name: str) -> int | None:
    """Return a cell as a count, None for a blank one; raises `FaultError` for anything else."""
    text = row[name]
    if text is None:
        return None
    whole = re.fullmatch(r"([0-9]{1,9})(?:\.0*)?", text)
    if whole is None or int(whole[1]) > MAX_COUNT:
        raise FaultError(f"{name} is {text[:40]!r}, no whole number from 0 to {MAX_COUNT:,}")
    return int(whole[1])


def needed_count(row: Row, name: str) -> int:
    """Return a cell as a count; raises `FaultError` where it is blank, too."""
    count = count_of(row, name)
    if count is None:
        raise FaultError(f"{name} is blank")
    return count


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
        raise JudgeError(
            f"this layout is one file, and these are {len(files)}; import one at a time"
        )
    return files[0]

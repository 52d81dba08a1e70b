"""A table of annotations, read strictly: every message names the file and the row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from judge.studies.fields import as_text
from judge.studies.load import Content, decode, read_delimited, read_parquet
from judge.studies.names import listed, plain
from judge.types import JudgeError

MOST = 1_000
"""The largest count of errors of one kind in one report that is taken for a count."""

T = TypeVar("T")
_WHOLE = re.compile(r"([0-9]{1,9})(?:\.0*)?")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a sheet; as in a spreadsheet the header is row 1."""

    sheet: str
    number: int
    cells: Mapping[str, object]

    def wrong(self, why: str) -> NoReturn:
        """Raise the error that says what is wrong, and where."""
        raise JudgeError(f"{self.sheet}, row {self.number}: {why}")

    def text(self, column: str) -> str | None:
        """Return a cell as text without white space around it, None for a blank one."""
        value = self.cells.get(column)
        text = "" if value is None or value != value else as_text(value).strip()
        return text or None

    def needed(self, column: str) -> str:
        """Return a cell as text; raises where it is blank."""
        text = self.text(column)
        return self.wrong(f"{column} is blank") if text is None else text

    def count(self, column: str) -> int | None:
        """Return a cell as a count, None for a blank one; raises where it is none."""
        text = self.text(column)
        if text is None:
            return None
        whole = _WHOLE.fullmatch(text)
        if whole is None or int(whole[1]) > MOST:
            self.wrong(f"{column} is {text[:40]!r}; a count is a whole number from 0 to {MOST:,}")
        return int(whole[1])

    def choice(self, column: str, choices: Mapping[str, T]) -> T | None:
        """Return what a cell stands for, by its letters and digits; raises for an unknown one."""
        text = self.text(column)
        if text is None:
            return None
        if plain(text) not in choices:
            self.wrong(f"{column} is {text[:40]!r}; it must be one of: {listed(choices, 20)}")
        return choices[plain(text)]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A file as rows; `head` are the names of its columns, in their order.

    `cells` are those of each row, `numbers` the numbers of the rows.
    """

    name: str
    head: tuple[str, ...]
    cells: Sequence[Sequence[object]]
    numbers: Sequence[int]

    def column(self, name: str) -> str | None:
        """Return the column of that name, whatever its case and punctuation; None where none is."""
        found = [one for one in self.head if plain(one) == plain(name)]
        if len(found) > 1:
            raise JudgeError(f"{self.name} has two columns {name!r}: {listed(found)}; keep one")
        return found[0] if found else None

    def has(self, *names: str) -> bool:
        """Whether there is a column of each of the names."""
        there = {plain(name) for name in self.head}
        return all(plain(name) in there for name in names)

    def rows(self) -> Iterator[Row]:
        """Yield the rows; cells of columns without a name or of one that is repeated are none.

        A column's cells are found by the name that `column` gives.
        """
        for number, cells in zip(self.numbers, self.cells, strict=True):
            yield Row(self.name, number, dict(zip(self.head, cells, strict=True)))


def read_sheet(content: Content) -> Sheet:
    """Read CSV, TSV or Parquet; raises `JudgeError` where it is none or has no row."""
    numbers: Sequence[int]
    if content.is_parquet:
        columns = read_parquet(content)
        head, cells = list(columns), [list(row) for row in zip(*columns.values(), strict=True)]
        numbers = range(2, len(cells) + 2)
    else:
        head, rows = read_delimited(content.name, decode(content))
        numbers, cells = [number for number, _ in rows], [list(row) for _, row in rows]
    if not cells:
        raise JudgeError(f"{content.name} holds no annotation: it has no rows below its header")
    return Sheet(content.name, tuple(head), cells, numbers)

"""Tables of reports as they were read, before candidates and references are joined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import pandas as pd


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that was read as `preds`, `refs` or `both`; `sha256` is of its bytes as they are."""

    path: str
    role: str
    sha256: str
    n_records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InputTable:
    """The records of a file or of a Python object, a row each.

    `name` is for messages; `file` is None for an object. `frame` is indexed by study id, and its
    index has the name of the field of ids, None where records are numbered. `notes` say how the
    table was read.
    """

    name: str
    frame: pd.DataFrame
    file: InputFile | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputPair:
    """The candidates and the references, which may be in one table.

    `is_by_position` says that record 1 goes with record 1, since the tables have no ids in common
    or since the user asked for it (`is_by_request`). Then both frames have the same ids: those of
    `ids_from`, else numbers.
    """

    preds: InputTable
    refs: InputTable
    is_one_table: bool = False
    is_by_position: bool = False
    is_by_request: bool = False
    ids_from: str = ""

    @classmethod
    def of_one(cls, table: InputTable) -> Self:
        """Return the pair of a table that holds both sides."""
        return cls(preds=table, refs=table, is_one_table=True)

    @property
    def names(self) -> str:
        """The names of the two tables, or of the one, for messages."""
        return " and ".join(dict.fromkeys((self.preds.name, self.refs.name)))

    @property
    def files(self) -> tuple[InputFile, ...]:
        """The files that were read."""
        files = dict.fromkeys((self.preds.file, self.refs.file))
        return tuple(file for file in files if file is not None)

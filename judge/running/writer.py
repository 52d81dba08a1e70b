"""Writing a run: one process at a time, to one side, all files in their places at once."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from judge.jsonio import to_line
from judge.rubrics.contract import Rubric
from judge.running.folder import (
    ANNOTATIONS,
    ANOTHER,
    MANIFEST,
    SERVER_LOG,
    SUMMARY,
    TABLE_CSV,
    TABLE_PARQUET,
    WRITING,
    Run,
    entries_of,
    held,
    put_in_place,
)
from judge.running.records import Judged, to_record
from judge.stats.table import TableBuilder
from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd

# In the order in which they are moved in place: the manifest makes the folder a run.
_FILES = (SERVER_LOG, ANNOTATIONS, TABLE_CSV, TABLE_PARQUET, SUMMARY, MANIFEST)


def claim(path: Path, signature: str) -> None:
    """Check that a run with `signature` may be written to `path`.

    A folder that is new, empty, or holds the same run is free, as is one in which a process was
    killed while it wrote a run. Raises `JudgeError` for anything else, before any work is done.
    """
    entries = entries_of(path)
    if MANIFEST in entries:
        if Run(path).signature != signature:
            raise JudgeError(f"{path} holds another run; {ANOTHER}")
    elif entries and not (WRITING in entries and entries <= {WRITING, *_FILES}):
        raise JudgeError(f"{path} holds files that are no run; {ANOTHER}")


@contextmanager
def writing(path: Path, rubric: Rubric, field_names: list[str]) -> Iterator[RunWriter]:
    """Write a run; leaving the block without `finish` leaves nothing behind.

    Raises `JudgeError` where another process is writing the same run, and for whatever
    OSError there is in the block.
    """
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        for folder in reversed(made):
            folder.mkdir(mode=0o700, exist_ok=True)  # reports stand in it
        with held(path) as staging, (staging / ANNOTATIONS).open("w+b") as file:
            yield RunWriter(path, staging, file, rubric, TableBuilder(rubric, field_names))
    except OSError as error:
        raise JudgeError(f"cannot write to {path}: {error.strerror or error}") from error
    finally:
        for folder in made:
            with suppress(OSError):  # never made, or there is something in it: a run, for one
                folder.rmdir()


@dataclass(slots=True)
class RunWriter:
    """Writes the files of a run in `staging`; `finish` moves them to its folder, `path`.

    `modes` says how replies of a fixed form were asked for, and how many studies each way.
    """

    path: Path
    staging: Path
    _file: IO[bytes]
    _rubric: Rubric
    _table: TableBuilder
    # Of each line its place among the studies, and where it begins in the file.
    _rows: list[tuple[int, int]] = field(default_factory=list)
    modes: Counter[str] = field(default_factory=Counter)

    def add(self, judged: Judged, line: bytes | None = None) -> None:
        """Write one study down; studies may come in any order.

        Args:
            judged: The study's end.
            line: The line to write, where another run has it already.
        """
        self._rows.append((judged.at, self._file.tell()))
        self._file.write(line or to_line(to_record(judged, self._rubric)))
        self._table.add(judged.study, judged.outcome, judged.measures)
        if judged.completion and judged.completion.mode:
            self.modes[judged.completion.mode] += 1

    def keep_log(self, log: Path) -> None:
        """Take the file `log` in as the log of the server that was started for the run."""
        shutil.move(log, self.staging / SERVER_LOG)

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns."""
        return self._table.columns

    def table(self) -> pd.DataFrame:
        """Return the table of the studies written so far, in the order of the references."""
        order = sorted(range(len(self._rows)), key=self._rows.__getitem__)
        return self._table.build().iloc[order].reset_index(drop=True)

    def finish(
        self, table: pd.DataFrame, summary: dict[str, Any], manifest: dict[str, Any]
    ) -> None:
        """Write the rest and put every file in its place."""
        self._sort()
        table.to_csv(self.staging / TABLE_CSV, index=False)
        table.to_parquet(self.staging / TABLE_PARQUET, index=False)
        _write_json(self.staging / SUMMARY, summary)
        _write_json(self.staging / MANIFEST, manifest)
        for name in _FILES:
            if (self.staging / name).exists():
                put_in_place(self.staging / name, self.path / name)

    def _sort(self) -> None:
        if self._rows != sorted(self._rows):
            with (self.staging / "sorted").open("wb") as out:
                for _, start in sorted(self._rows):
                    self._file.seek(start)
                    out.write(self._file.readline())
            (self.staging / "sorted").replace(self.staging / ANNOTATIONS)
        self._file.close()


def _write_json(path: Path, data: dict[str, Any]) -> None:
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # The name of a file may hold bytes that are no text.
    path.write_bytes(text.encode("utf-8", "replace"))

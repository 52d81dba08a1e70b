"""Writing a run: one process at a time, to one side, all files in their places at once."""

from __future__ import annotations

import json
import shutil
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from judge.rubrics.contract import Rubric
from judge.running.files import ANOTHER, WRITING, entries_of, held, put_in_place
from judge.running.folder import (
    ANNOTATIONS,
    MANIFEST,
    SERVER_LOG,
    SUMMARY,
    TABLE_CSV,
    TABLE_PARQUET,
    Run,
    line_of,
)
from judge.running.records import Judged, to_record
from judge.stats.table import TableBuilder
from judge.types import JudgeError, Measures, Outcome, Study

if TYPE_CHECKING:
    import pandas as pd

# In the order in which they are moved in place: the manifest makes the folder a run.
_FILES = (ANNOTATIONS, TABLE_CSV, TABLE_PARQUET, SUMMARY, MANIFEST)


def claim(path: Path, signature: str) -> None:
    """Check that a run with `signature` may be written to `path`.

    A folder that is new, empty, or holds the same run is free. Raises `JudgeError` for
    anything else, before any work is done.
    """
    entries = entries_of(path) - {WRITING}
    if MANIFEST in entries:
        if Run(path).signature != signature:
            raise JudgeError(f"{path} holds another run; {ANOTHER}")
    elif entries:
        raise JudgeError(f"{path} holds files that are no run; {ANOTHER}")


@contextmanager
def writing(path: Path, rubric: Rubric, field_names: list[str]) -> Iterator[RunWriter]:
    """Write a run; leaving the block without `finish` leaves nothing behind.

    Raises `JudgeError` where another process is writing the same run, and for whatever
    OSError there is in the block.
    """
    made: list[Path] = []
    try:
        made += [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(made):
            folder.mkdir(mode=0o700, exist_ok=True)  # reports stand in it
        with held(path) as staging:
            file = (staging / ANNOTATIONS).open("w+b")
            try:
                yield RunWriter(path, staging, file, rubric, TableBuilder(rubric, field_names))
            finally:
                with suppress(OSError):  # what it still held is thrown away, or was written before
                    file.close()
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
    _places: array[int] = field(default_factory=lambda: array("q"))
    _offsets: array[int] = field(default_factory=lambda: array("q"))
    modes: Counter[str] = field(default_factory=Counter)

    def add(self, judged: Judged) -> None:
        """Write one study down; studies may come in any order."""
        line = line_of(to_record(judged, self._rubric)) + b"\n"
        mode = judged.completion.mode if judged.completion else None
        self.copy(judged.at, line, judged.study, judged.outcome, judged.measures, mode)

    def copy(
        self,
        at: int,
        line: bytes,
        study: Study,
        outcome: Outcome,
        measures: Measures | None,
        mode: str | None,
    ) -> None:
        """Write a study down by its line, as another run has it, and what that says."""
        self._places.append(at)
        self._offsets.append(self._file.tell())
        self._file.write(line)
        self._table.add(study, outcome, measures)
        if mode:
            self.modes[mode] += 1

    def keep_log(self, log: Path) -> None:
        """Take the file `log` in as the log of the server that was started for the run."""
        shutil.move(log, self.staging / SERVER_LOG)

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns."""
        return self._table.columns

    def table(self) -> pd.DataFrame:
        """Return the table of the studies written so far, in the order of the references."""
        return self._table.build().iloc[self._order()].reset_index(drop=True)

    def finish(
        self, table: pd.DataFrame, summary: dict[str, Any], manifest: dict[str, Any]
    ) -> None:
        """Write the rest and put every file in its place."""
        self._sort()
        table.to_csv(self.staging / TABLE_CSV, index=False)
        # Bit rot is found when the file is read.
        table.to_parquet(self.staging / TABLE_PARQUET, index=False, write_page_checksum=True)
        _write_json(self.staging / SUMMARY, summary)
        _write_json(self.staging / MANIFEST, manifest)
        log = [SERVER_LOG] if (self.staging / SERVER_LOG).exists() else []
        for name in [*log, *_FILES]:
            put_in_place(self.staging / name, self.path / name)

    def _order(self) -> list[int]:
        return sorted(range(len(self._places)), key=self._places.__getitem__)

    def _sort(self) -> None:
        order = self._order()
        if order != list(range(len(order))):
            sorted_path = self.staging / f"{ANNOTATIONS}.sorted"
            with sorted_path.open("wb") as out:
                for row in order:
                    self._file.seek(self._offsets[row])
                    out.write(self._file.readline())
            sorted_path.replace(self.staging / ANNOTATIONS)
        self._file.close()


def _write_json(path: Path, data: dict[str, Any]) -> None:
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # The name of a file may hold bytes that are no text.
    path.write_bytes(text.encode("utf-8", "replace"))

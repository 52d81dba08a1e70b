"""A run on disk.

    manifest.json      what made it: signature, inputs and their hashes, arguments, versions
    annotations.jsonl  one line a study: reports, outcome, annotation, raw answer
    studies.csv        the table of studies
    studies.parquet    the same, with types
    summary.json       what was printed
    server.log         what a model server wrote that was started for the run

Files are written to one side and moved in place when all of them are whole; the manifest
comes last, so a folder without one is no run.
"""

from __future__ import annotations

import json
import shutil
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

from judge.rubrics import Rubric
from judge.run.engine import Judged
from judge.run.record import to_record
from judge.stats.table import TableBuilder
from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd

MANIFEST = "manifest.json"
ANNOTATIONS = "annotations.jsonl"
TABLE_CSV = "studies.csv"
TABLE_PARQUET = "studies.parquet"
SUMMARY = "summary.json"
SERVER_LOG = "server.log"
_STAGING = ".writing"
# In the order in which they are moved in place: the manifest makes the folder a run.
_FILES = (ANNOTATIONS, TABLE_CSV, TABLE_PARQUET, SUMMARY, MANIFEST)


class Run:
    """A finished run, opened for reading. Raises `JudgeError` where the folder holds none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            raise JudgeError(f"no such run: {path}")
        if not (path / MANIFEST).is_file():
            raise JudgeError(f"{path} is not a run: it holds no {MANIFEST}")
        self.manifest: dict[str, Any] = _read_json(path / MANIFEST)

    @property
    def signature(self) -> str:
        """The line that names everything that changes the run's numbers."""
        return str(self.manifest["signature"])

    def table(self) -> pd.DataFrame:
        """Return the table of studies."""
        import pandas as pd

        path = self.path / TABLE_PARQUET
        try:
            return pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise JudgeError(f"cannot read {path}: {error}") from error

    def summary(self) -> dict[str, Any]:
        """Return what was printed at the end of the run."""
        return _read_json(self.path / SUMMARY)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield one record a study, in the order of the references."""
        for line in self._lines():
            yield json.loads(line)

    def record(self, study_id: str) -> dict[str, Any]:
        """Return one study's record; raises `JudgeError` where the run has no such study."""
        # A record begins with its id, so all others are passed over unread.
        start = _line({"study_id": study_id})[:-1] + b","
        for line in self._lines():
            if line.startswith(start):
                found: dict[str, Any] = json.loads(line)
                return found
        raise JudgeError(f"no study {study_id!r} in {self.path}; its ids are in {TABLE_CSV}")

    def _lines(self) -> Iterator[bytes]:
        path = self.path / ANNOTATIONS
        try:
            with path.open("rb") as file:
                yield from file
        except OSError as error:
            raise JudgeError(f"cannot read {path}: {error.strerror}") from error


def claim(path: Path, signature: str) -> None:
    """Check that a run with `signature` may be written to `path`.

    A folder that is new, empty, or holds the same run is free. Raises `JudgeError` for
    anything else, before any work is done.
    """
    if path.exists() and not path.is_dir():
        raise JudgeError(f"{path} is a file; name another folder with --out")
    if not path.is_dir():
        return
    entries = {entry.name for entry in path.iterdir()} - {_STAGING}
    if MANIFEST in entries:
        if Run(path).signature != signature:
            raise JudgeError(f"{path} holds another run; name another folder with --out")
    elif entries:
        raise JudgeError(f"{path} holds files that are no run; name another folder with --out")


class RunWriter(AbstractContextManager["RunWriter"]):
    """Writes a run; leaving it without `finish` leaves nothing behind."""

    def __init__(self, path: Path, rubric: Rubric, field_names: list[str]) -> None:
        self._path = path
        self._staging = path / _STAGING
        self._rubric = rubric
        self._table = TableBuilder(rubric, field_names)
        self._places = array("q")
        self._offsets = array("q")
        self._file: IO[bytes] | None = None
        self._made: list[Path] = []
        self.modes: Counter[str] = Counter()
        """How replies of a fixed form were asked for, and how many studies each way."""

    def __enter__(self) -> Self:
        missing = [path for path in (self._path, *self._path.parents) if not path.exists()]
        try:
            shutil.rmtree(self._staging, ignore_errors=True)
            self._staging.mkdir(parents=True)
            self._made = missing
            self._file = (self._staging / ANNOTATIONS).open("w+b")
        except OSError as error:
            raise JudgeError(f"cannot write to {self._path}: {error.strerror}") from error
        return self

    def add(self, judged: Judged) -> None:
        """Write one study down; studies may come in any order."""
        file = self._open_file()
        self._places.append(judged.at)
        self._offsets.append(file.tell())
        file.write(_line(to_record(judged, self._rubric)) + b"\n")
        self._table.add(judged.study, judged.outcome, judged.counts)
        if judged.completion and judged.completion.mode:
            self.modes[judged.completion.mode] += 1

    def keep_log(self, log: Path) -> None:
        """Take the file `log` in as the log of the server that was started for the run."""
        shutil.move(log, self._staging / SERVER_LOG)

    def table(self) -> pd.DataFrame:
        """Return the table of the studies written so far, in the order of the references."""
        return self._table.build().iloc[self._order()].reset_index(drop=True)

    def finish(
        self, table: pd.DataFrame, summary: dict[str, Any], manifest: dict[str, Any]
    ) -> None:
        """Write the rest and put every file in its place."""
        self._sort()
        table.to_csv(self._staging / TABLE_CSV, index=False)
        table.to_parquet(self._staging / TABLE_PARQUET, index=False)
        _write_json(self._staging / SUMMARY, summary)
        _write_json(self._staging / MANIFEST, manifest)
        log = [SERVER_LOG] if (self._staging / SERVER_LOG).exists() else []
        for name in [*log, *_FILES]:
            (self._staging / name).replace(self._path / name)
        self._made = []

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            with suppress(OSError):  # what it still held is thrown away, or was written before
                self._file.close()
        shutil.rmtree(self._staging, ignore_errors=True)
        with suppress(OSError):  # somebody put something there meanwhile
            for path in self._made:
                path.rmdir()
        if isinstance(error, OSError):
            why = error.strerror or str(error)
            raise JudgeError(f"cannot write to {self._path}: {why}") from error

    def _open_file(self) -> IO[bytes]:
        if self._file is None:
            raise ValueError("the run is not open for writing")
        return self._file

    def _order(self) -> list[int]:
        return sorted(range(len(self._places)), key=self._places.__getitem__)

    def _sort(self) -> None:
        """Bring the lines into the order of the references, one line in memory at a time."""
        file = self._open_file()
        order = self._order()
        if order != list(range(len(order))):
            sorted_path = self._staging / f"{ANNOTATIONS}.sorted"
            with sorted_path.open("wb") as out:
                for row in order:
                    file.seek(self._offsets[row])
                    out.write(file.readline())
            sorted_path.replace(self._staging / ANNOTATIONS)
        file.close()


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise JudgeError(f"cannot read {path}: {error}") from error
    return data


def _write_json(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")

"""A run on disk.

    manifest.json      what made it: signature, inputs and their hashes, arguments, versions
    annotations.jsonl  one line a study: reports, outcome, annotation, raw answer
    studies.csv        the table of studies
    studies.parquet    the same, with types
    summary.json       what was printed
    server.log         the log of a model server that was started for the run

Files are written in a staging folder by one process and moved in place, the manifest last.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import stat
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from judge import jsonio, rubrics
from judge.display import Displayed
from judge.rubrics.contract import Rubric
from judge.rubrics.derived import for_prompt, on_scale, restrict
from judge.running.records import FORMAT, Reading, StudyResult, outcome_of, study_of, to_record
from judge.signature import Signature
from judge.stats.summary import DEFAULT_BY, FIXED, TableBuilder, summarise
from judge.types import Failed, JudgeError, Outcome, Study

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from judge.running.panel import Aggregation

MANIFEST = "manifest.json"
ANNOTATIONS = "annotations.jsonl"
TABLE_CSV = "studies.csv"
TABLE_PARQUET = "studies.parquet"
SUMMARY = "summary.json"
SERVER_LOG = "server.log"
MADE_BY = (
    *("signature", "rubric", "model", "judge", "prompt", "section", "class_source", "omitted"),
    *("notes", "reading"),
)
"""The keys that summary and manifest share; `reading` is in those of readers."""
# In the order in which they are moved in place: the manifest makes the folder a run.
_FILES = (SERVER_LOG, ANNOTATIONS, TABLE_CSV, TABLE_PARQUET, SUMMARY, MANIFEST)
WRITING = ".writing"
"""The folder in a run's own where it is written; only the process that holds its lock may."""
ANOTHER = "name another folder with --out"
MOST_SENTENCES = 3
Stamp = tuple[int, int, int]
"""What changes when something is appended to a file, or it is another file."""


@contextmanager
def staging_folder(run: Path) -> Iterator[Path]:
    """Lock the folder `run` for writing, and give a new folder in it for the files."""
    from filelock import FileLock, Timeout

    place = run / WRITING
    place.mkdir(mode=0o700, exist_ok=True)
    lock = FileLock(place / "lock", blocking=False, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        raise JudgeError(f"{run} is being written by another process: wait, or {ANOTHER}") from None
    try:
        for left in place.iterdir():
            if left.is_dir():  # of a process that was killed
                shutil.rmtree(left, ignore_errors=True)
        yield Path(tempfile.mkdtemp(dir=place))
    finally:
        shutil.rmtree(place, ignore_errors=True)  # while the lock is held
        lock.release()


@contextmanager
def atomic_folder(out: Path) -> Iterator[Path]:
    """Give a folder that takes the place of `out` at the end, or leaves nothing behind."""
    whole = Path(os.path.realpath(out))
    try:
        whole.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(dir=whole.parent, prefix=f".{whole.name}."))
        try:
            yield staged
            staged.replace(whole)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    except OSError as error:
        raise JudgeError(f"cannot write to {out}: {error.strerror or error}") from error


def replace_file(file: Path, target: Path) -> None:
    """Move a written file to where it belongs: its owner's alone, or as open as the old one was."""
    file.chmod(stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o600)
    file.replace(target)


def entries_of(out: Path) -> set[str]:
    """Return the names of what lies in a folder that is to be written, none where it is new."""
    try:
        return {entry.name for entry in out.iterdir()} if out.exists() else set()
    except OSError as error:
        raise JudgeError(f"cannot write to {out}: {error.strerror}; {ANOTHER}") from error


def append_line(path: Path, line: bytes) -> None:
    """Append `line` to a file, whole or not at all; on disk when this returns."""
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = os.fstat(file).st_size
        is_torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
        data = b"\n" * is_torn + line + b"\n"
        if os.write(file, data) != len(data):
            os.ftruncate(file, size)
            raise OSError(errno.ENOSPC, "no room left")
        os.fsync(file)
    finally:
        os.close(file)


def stamp(path: Path) -> Stamp | None:
    """Return a stamp that changes with the file, None without a file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class Rates(Displayed):
    """The rates of a run by group, as a summary holds them."""

    summary: Mapping[str, Any]
    rubric: Rubric


class Run(Displayed):
    """A finished run, opened for reading: `Run("judge-runs/green-lexicon-1a2b3c4d")`."""

    def __init__(self, path: str | Path) -> None:
        self.path = path = Path(path)
        manifest = read_manifest(path)
        if (form := manifest["format"]) != FORMAT:
            raise JudgeError(
                f"{path} is a run of format {form!r}, and this version of judge reads format "
                f"{FORMAT}: judge its studies again (answers in the cache are not paid for twice)"
            )
        self.manifest = {"inputs": [], "arguments": {}} | manifest

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @property
    def signature(self) -> str:
        """The line that names everything that changes the run's numbers."""
        return str(self.manifest["signature"])

    @cached_property
    def rubric(self) -> Rubric:
        """The rubric on the prompt's scale, as a reader or several judges used it."""
        name, parts = self.manifest["rubric"], Signature.parse(self.signature)
        try:
            rubric = rubrics.load(name)
            if scale := self.manifest.get("scale"):
                rubric = on_scale(rubric, (scale[0], scale[1]))
            prompt = parts.get("prompt", "").partition("@")[0]
            rubric = for_prompt(rubric, prompt, parts.get("judge", ""))
            if self.combined is not None:
                return self.combined.rubric(rubric)
            if self.reading is None:
                return rubric
            return restrict(rubric, self.reading["lacks"], self.reading["own"])
        except JudgeError as error:
            package = parts.get("package") if name not in rubrics.names() else None
            lacks = f"; install its package, {package}" if package else ""
            raise JudgeError(f"{self.path / MANIFEST}: {error}{lacks}") from error

    @property
    def reading(self) -> Reading | None:
        """How a reader used the rubric, None for a run of a judge."""
        reading: Reading | None = self.manifest.get("reading")
        return reading

    @property
    def combined(self) -> Aggregation | None:
        """What it is made of, None for the run of one judge against one reference a study."""
        if (combined := self.manifest.get("combined")) is None:
            return None
        from judge.running.panel import Aggregation

        names = tuple(part["name"] for part in combined["parts"])
        return Aggregation(combined["of"], combined["rule"], names)

    @property
    def repeat(self) -> int:
        """Which of several runs it is that asked the same, from 0."""
        return int(self.manifest.get("repeat", 0))

    def table(self) -> pd.DataFrame:
        """Return the table of studies; raises `JudgeError` as `columns` does."""
        frame: pd.DataFrame = self.columns().to_pandas()
        return frame

    def columns(self, names: Sequence[str] | None = None, optional: Sequence[str] = ()) -> pa.Table:
        """Return the table of studies with the columns `names` and those of `optional`, or all."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path, again = self.path / TABLE_PARQUET, "judge rescore writes it anew"
        needed = ["study_id", "outcome", "class_inferred", *(names or ())]
        if names is None:
            needed = [*FIXED, *(measure.name for measure in self.rubric.measures)]
        try:
            with pq.ParquetFile(path) as file:
                present = file.schema_arrow.names
                wanted = [name for name in dict.fromkeys([*needed, *optional]) if name in present]
                table = file.read(columns=None if names is None else wanted)
        except (pa.ArrowException, OSError) as error:
            raise JudgeError(f"cannot read {path}: {error}; {again}") from error
        if lacking := [name for name in needed if name not in present]:
            raise JudgeError(f"{path} lacks {', '.join(lacking)}; {again}")
        return table

    @cached_property
    def _summary(self) -> dict[str, Any]:
        return _read(self.path / SUMMARY, "n_studies", "statistics", "rates", "by")

    def summary(self, *, of_any_version: bool = False) -> dict[str, Any]:
        """Return what was printed at the end of the run."""
        if not of_any_version:
            self._check_version()
        return self._summary

    def regrouped(self, by: Sequence[str], patient_field: str | None = None) -> dict[str, Any]:
        """Return the summary with the rates grouped by any fields of the studies.

        `patient_field` None is the usual field, `none` takes studies as independent.
        """
        summary = {k: v for k, v in self.summary().items() if k != "intervals_by"}
        return {**summary, **summarise(self.table(), self.rubric, by, patient_field)}

    def rates(self, by: Sequence[str] = DEFAULT_BY) -> pd.DataFrame:
        """Return the rates and figures by group, as `judge rates --format csv` prints them.

        One row a group of the fields `by`, and a last one for all studies (`row` tells which).
        `n_scored` is the denominator of the figures; each has its 95% interval beside it.
        """
        return Rates(self.regrouped([by] if isinstance(by, str) else by), self.rubric).frame()

    def outcomes(self) -> Iterator[tuple[Study, Outcome]]:
        """Yield each study with its `Annotated`, `Unparsed` or `Failed`, as the references come."""
        for record in self.records():
            yield study_of(record), outcome_of(record)

    def records(self, *, of_any_version: bool = False) -> Iterator[dict[str, Any]]:
        """Yield one record a study, in the order of the references; raises for a changed line."""
        if not of_any_version:
            self._check_version()
        n = 0
        for n, line in enumerate(self.lines(), 1):
            yield self.parsed(n, line)
        if n != (wanted := self._summary["n_studies"]):
            why = f"it holds {n:,} studies, and {SUMMARY} {wanted:,}"
            raise damaged(self.path / ANNOTATIONS, why)

    def record(self, study_id: str) -> dict[str, Any]:
        """Return one study's record; raises `JudgeError` as `records` does."""
        for record in self.records():
            if record["study_id"] == study_id:
                return record
        raise JudgeError(f"no study {study_id!r} in {self.path}; its ids are in {TABLE_CSV}")

    def parsed(self, n: int, line: bytes) -> dict[str, Any]:
        """Return the record that the `n`-th line of the annotations holds; raises as `records`."""
        try:
            return jsonio.from_line(line, n)
        except jsonio.JsonError as error:
            raise damaged(self.path / ANNOTATIONS, str(error)) from error

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the annotations as they lie there; raises `JudgeError`."""
        return lines_of(self.path / ANNOTATIONS)

    def _check_version(self) -> None:
        made, today = self.signature.partition("|")[0], f"{self.rubric.name}:{self.rubric.version}"
        if made != today:
            raise JudgeError(
                f"{self.path} is a run of {made}, not {today}: judge rescore brings it up to date"
            )


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of the run in a folder, of whatever format; raises `JudgeError`."""
    if not os.path.isfile(folder / MANIFEST):  # noqa: PTH113 - raises nothing
        raise JudgeError(f"{folder} is not a run: it holds no {MANIFEST}; name the run's folder")
    return _read(folder / MANIFEST, "format", "signature", "rubric", "judge", "fields")


def lines_of(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file; raises `JudgeError` where it cannot be read."""
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror}") from error


def _read(path: Path, *needed: str) -> dict[str, Any]:
    try:
        read: dict[str, Any] = jsonio.read(path.read_bytes())
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror}") from error
    except jsonio.JsonError as error:
        raise damaged(path, str(error)) from error
    if lacking := [name for name in needed if not isinstance(read, dict) or read.get(name) is None]:
        raise damaged(path, f"it lacks {', '.join(lacking)}")
    return read


def damaged(path: Path, why: str) -> JudgeError:
    """Return the error for a file of a run that is not as it was written."""
    return JudgeError(
        f"{path} is damaged: {why}; move {path.parent} away and judge its studies again "
        "(answers in the cache are not paid for twice)"
    )


# Writing


def claim(path: Path, signature: str) -> None:
    """Raise `JudgeError` unless `path` is new, empty, or holds the run with this signature."""
    entries = entries_of(path)
    if MANIFEST in entries:
        if Run(path).signature != signature:
            raise JudgeError(f"{path} holds another run; {ANOTHER}")
    elif entries and not (WRITING in entries and entries <= {WRITING, *_FILES}):
        raise JudgeError(f"{path} holds files that are no run; {ANOTHER}")


@contextmanager
def writing(path: Path, rubric: Rubric, field_names: list[str]) -> Iterator[RunWriter]:
    """Write a run; leaving the block without `finish` leaves nothing behind."""
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        for folder in reversed(made):
            folder.mkdir(mode=0o700, exist_ok=True)  # it holds reports
        with staging_folder(path) as staging, (staging / ANNOTATIONS).open("w+b") as file:
            yield RunWriter(path, staging, file, rubric, TableBuilder(rubric, field_names))
    except OSError as error:
        raise JudgeError(f"cannot write to {path}: {error.strerror or error}") from error
    finally:
        for folder in made:
            with suppress(OSError):  # never made, or there is something in it: a run, for one
                folder.rmdir()


@dataclass(slots=True)
class RunWriter:
    """Writes the files of a run in `staging`; `finish` moves them to its folder, `path`."""

    path: Path
    staging: Path
    _file: IO[bytes]
    rubric: Rubric
    builder: TableBuilder
    # Of each line its place among the studies, and where it begins in the file.
    _rows: list[tuple[int, int]] = field(default_factory=list)
    reply_modes: Counter[str] = field(default_factory=Counter)
    _sentences: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The three most frequent sentences about studies that failed, with their reasons."""
        return [
            {"reason": reason, "sentence": sentence, "n": n}
            for (reason, sentence), n in self._sentences.most_common(MOST_SENTENCES)
        ]

    def add(self, judged: StudyResult) -> None:
        """Write one study down; studies may come in any order."""
        self._rows.append((judged.row, self._file.tell()))
        self._file.write(jsonio.to_line(to_record(judged, self.rubric)))
        self.builder.add(judged.study, judged.outcome, judged.measures)
        self.count_mode(judged)
        if isinstance(judged.outcome, Failed) and judged.outcome.detail:
            self._sentences[judged.outcome.reason, judged.outcome.detail] += 1

    def count_mode(self, judged: StudyResult) -> None:
        """Count how a reply of a fixed form was asked for."""
        if judged.completion and judged.completion.mode:
            self.reply_modes[judged.completion.mode] += 1

    def table(self) -> pd.DataFrame:
        """Return the table of the studies written so far, in the order of the references."""
        order = sorted(range(len(self._rows)), key=self._rows.__getitem__)
        return self.builder.build().iloc[order].reset_index(drop=True)

    def finish(
        self, table: pd.DataFrame, summary: dict[str, Any], manifest: dict[str, Any]
    ) -> None:
        """Write the rest and put every file in its place."""
        with (self.staging / "sorted").open("wb") as out:
            for _, start in sorted(self._rows):
                self._file.seek(start)
                out.write(self._file.readline())
        (self.staging / "sorted").replace(self.staging / ANNOTATIONS)
        self._file.close()
        table.to_csv(self.staging / TABLE_CSV, index=False)
        table.to_parquet(self.staging / TABLE_PARQUET, index=False)
        for name, data in ((SUMMARY, summary), (MANIFEST, manifest)):
            text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
            # The name of a file may hold bytes that are no text.
            (self.staging / name).write_bytes(text.encode("utf-8", "replace"))
        for name in _FILES:
            if (self.staging / name).exists():
                replace_file(self.staging / name, self.path / name)

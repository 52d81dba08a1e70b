"""A run on disk.

    manifest.json      what made it: signature, inputs and their hashes, arguments, versions
    annotations.jsonl  one line a study: reports, outcome, annotation, raw answer
    studies.csv        the table of studies
    studies.parquet    the same, with types
    summary.json       what was printed
    server.log         what a model server wrote that was started for the run

Files are written to one side, by one process at a time, and moved in place when all of them
are whole (`judge.running.writer`); the manifest comes last, so a folder without one is no run.
They are readable by their owner alone.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge import jsonio, rubrics
from judge.rubrics.contract import Rubric
from judge.rubrics.questions import asked_by, on_scale
from judge.running.records import (
    FORMAT,
    CombinedRecord,
    Manifest,
    Reading,
    Summary,
    fault,
    outcome_of,
    study_of,
)
from judge.signature import Signature
from judge.stats.table import DEFAULT_BY, FIXED, summarise
from judge.types import JudgeError, Outcome, Study

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from judge.rubrics.aggregated import Aggregation
    from judge.running.shards import Part

WRITING = ".writing"
"""The folder in a run's own where it is written; only the process that holds its lock may."""
ANOTHER = "name another folder with --out"
Stamp = tuple[int, int, int]
"""What changes when something is appended to a file, or it is another file."""


@contextmanager
def held(run: Path) -> Iterator[Path]:
    """Lock the folder `run` for writing, and give a new folder in it for the files to be written.

    Lock and folder end with the block. The system releases the lock of a killed process, and the
    next writer removes what that process left. Raises `JudgeError` where another process holds the
    lock, and OSError where nothing can be written.
    """
    from filelock import FileLock, Timeout

    place = run / WRITING
    lock = FileLock(place / "lock", blocking=False, mode=0o600)
    while not lock.is_locked:
        place.mkdir(mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError):  # the last writer has just removed the place
            try:
                lock.acquire()
            except Timeout:
                raise JudgeError(
                    f"{run} is being written by another process: wait until it has ended, or "
                    f"{ANOTHER}"
                ) from None
    try:
        _clear(place)
        yield Path(tempfile.mkdtemp(dir=place))
    finally:
        _clear(place)
        # The lock's own file goes while it is held: who waits for it sees that, and makes another.
        (place / "lock").unlink()
        with suppress(OSError):  # the next writer is there already
            place.rmdir()
        lock.release()


def _clear(place: Path) -> None:
    for left in place.iterdir():
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)


@contextmanager
def folder_at_once(out: Path) -> Iterator[Path]:
    """Give a folder that takes the place of `out` at the end, or leaves nothing behind.

    Raises `JudgeError` where another process writes there, and where nothing can be written.
    """
    whole = Path(os.path.realpath(out))
    staged = whole.parent / f".{whole.name}.new"
    made = [folder for folder in (staged, *staged.parents) if not folder.exists()]
    try:
        staged.mkdir(mode=0o700, parents=True, exist_ok=True)
        with held(staged) as place:
            yield place
            place.replace(whole)
    except OSError as error:
        raise JudgeError(f"cannot write to {out}: {error.strerror or error}") from error
    finally:
        for folder in (staged, *made):
            with suppress(OSError):  # never made, or what was written is in it
                folder.rmdir()


def put_in_place(file: Path, target: Path) -> None:
    """Move a written file to where it belongs: its owner's alone, or as open as the old one was."""
    file.chmod(stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o600)
    file.replace(target)


def entries_of(out: Path) -> set[str]:
    """Return the names of what lies in a folder that is to be written, none where it is new.

    Raises `JudgeError` for a file, and where it cannot be read.
    """
    try:
        if out.exists() and not out.is_dir():
            raise JudgeError(f"{out} is a file; {ANOTHER}")
        return {entry.name for entry in out.iterdir()} if out.exists() else set()
    except OSError as error:
        raise JudgeError(f"cannot write to {out}: {error.strerror}; {ANOTHER}") from error


def no_run(path: Path, manifest: str) -> str:
    """Say what a path without a manifest is; raises OSError where that cannot be seen."""
    if path.is_dir() and any((below / manifest).is_file() for below in path.iterdir()):
        shown = shlex.quote(str(path))
        return (
            f"{path} is a folder of runs; name one of them (judge runs {shown} lists them). All "
            f"of them: judge compare {shown}/*, judge serve --runs {shown}"
        )
    return f"{path} is not a run: it holds no {manifest}"


def append_line(path: Path, line: bytes) -> None:
    """Append `line`, which has no newline, to a file; when this returns it is on disk.

    What a crash has cut short stays as it is, and the next line begins on a line of its own.
    Raises OSError where the line cannot be kept; nothing of it is then in the file.
    """
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
    """Return what changes with the file, None where there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns)


MANIFEST = "manifest.json"
ANNOTATIONS = "annotations.jsonl"
TABLE_CSV = "studies.csv"
TABLE_PARQUET = "studies.parquet"
SUMMARY = "summary.json"
SERVER_LOG = "server.log"
MADE_BY = (
    *("signature", "rubric", "model", "judge", "prompt", "section", "class_source", "omitted"),
    *("notes", "reply_modes", "reading"),
)


class Run:
    """A finished run, opened for reading: `Run("judge-runs/green-lexicon-1a2b3c4d")`.

    Raises `JudgeError` where the folder holds none, or one whose manifest is damaged or of
    another program's form.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = path = Path(path)
        try:
            if not path.exists():
                raise JudgeError(f"no such run: {path}")
            if not (path / MANIFEST).is_file():
                raise JudgeError(no_run(path, MANIFEST))
        except OSError as error:
            raise JudgeError(f"cannot read the run {path}: {error.strerror}") from error
        self.manifest = _read_manifest(path / MANIFEST)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def __str__(self) -> str:
        n_scored, n_studies = (self._summary[name] for name in ("n_scored", "n_studies"))
        return f"{self.path}: {n_scored} of {n_studies} studies scored, {self.signature}"

    def _repr_html_(self) -> str:
        """Show the rates by class in a notebook."""
        return f"<p>{escape(str(self))}</p>{self.rates().to_html(index=False)}"

    @property
    def signature(self) -> str:
        """The line that names everything that changes the run's numbers."""
        return str(self.manifest["signature"])

    @cached_property
    def rubric(self) -> Rubric:
        """The rubric on the prompt's scale, as a reader or several judges used it.

        Raises `JudgeError` as `load`.
        """
        name = self.manifest["rubric"]
        try:
            found = rubrics.load(name)
            if scale := self.manifest.get("scale"):
                found = on_scale(found, (scale[0], scale[1]))
            parts = Signature.parse(self.signature)
            asked = parts.get("prompt", "").partition("@")[0], parts.get("judge", "")
            found = asked_by(found, *asked)
        except JudgeError as error:
            package = Signature.parse(self.signature).get("package")
            is_gone = package and name not in rubrics.names()
            lacks = f"; the run was made with its package {package}: install that"
            told = f"{error}{lacks if is_gone else ''}"
            raise JudgeError(f"{self.path / MANIFEST}: {told}") from error
        try:
            if self.combined is not None:
                return self.combined.rubric(found)
            if self.reading is None:
                return found
            from judge.rubrics.reading import as_read

            return as_read(found, self.reading["lacks"], self.reading["own"])
        except ValueError as error:
            raise damaged(self.path / MANIFEST, str(error)) from error

    @property
    def reading(self) -> Reading | None:
        """How a reader used the rubric, None for a run of a judge."""
        found: Reading | None = self.manifest.get("reading")
        return found

    @property
    def combined(self) -> Aggregation | None:
        """What it is made of, None for the run of one judge against one reference a study."""
        found: CombinedRecord | None = self.manifest.get("combined")
        if found is None:
            return None
        from judge.rubrics.aggregated import Aggregation

        names = tuple(part["name"] for part in found["parts"])
        return Aggregation(found["of"], found["rule"], names)

    @property
    def repeat(self) -> int:
        """Which of several runs it is that asked the same, from 0."""
        return int(self.manifest.get("repeat", 0))

    @property
    def part(self) -> Part | None:
        """Which shard of a set it is, None for a run of all."""
        if shard := self.manifest.get("shard"):
            from judge.running.shards import Part

            return Part.read(shard)
        return None

    def table(self) -> pd.DataFrame:
        """Return the table of studies; raises `JudgeError` as `columns` does."""
        frame: pd.DataFrame = self.columns().to_pandas()
        return frame

    def columns(self, names: Sequence[str] | None = None, optional: Sequence[str] = ()) -> pa.Table:
        """Return the table of studies: all of it, or the columns `names` and those of `optional`.

        `study_id`, `outcome` and `class_inferred` are always there. Raises `JudgeError` where the
        table cannot be read, or lacks a column but the optional ones.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.path / TABLE_PARQUET
        if names is None:
            needed = [*FIXED, *(measure.name for measure in self.rubric.measures)]
        else:
            needed = list(dict.fromkeys(["study_id", "outcome", "class_inferred", *names]))
        try:
            with pq.ParquetFile(path) as file:
                there = file.schema_arrow.names
                if missing := ", ".join(name for name in needed if name not in there):
                    raise JudgeError(f"{path} lacks {missing}; judge rescore writes it anew")
                wanted = [name for name in dict.fromkeys([*needed, *optional]) if name in there]
                return file.read(columns=None if names is None else wanted)
        except (pa.ArrowException, OSError) as error:
            raise JudgeError(
                f"cannot read {path}: {error}; judge rescore writes it anew"
            ) from error

    @cached_property
    def _summary(self) -> dict[str, Any]:
        return _read(self.path / SUMMARY, Summary)

    def regrouped(self, by: Sequence[str]) -> dict[str, Any]:
        """Return the summary with the rates grouped by any fields of the studies.

        Raises `JudgeError` for a field that the run has not, and as `table` does.
        """
        return {**self.summary(), **summarise(self.table(), self.rubric, by)}

    def rates(self, by: Sequence[str] = DEFAULT_BY) -> pd.DataFrame:
        """Return the rates and figures by group, as `judge rates --format csv` prints them.

        One row a group of the fields `by`, and a last one for all studies (`row` tells which).
        `n_scored` is the denominator of the figures; each has its 95% interval beside it.
        Raises `JudgeError` as `regrouped` does.
        """
        import pandas as pd

        by = [by] if isinstance(by, str) else by
        from judge.report.formats import rate_rows

        return pd.DataFrame(rate_rows(self.regrouped(by), self.rubric))

    def outcomes(self) -> Iterator[tuple[Study, Outcome]]:
        """Yield each study with its outcome, in the order of the references.

        That is `Annotated`, `Unparsed` or `Failed`. Raises `JudgeError` as `records` does.
        """
        for record in self.records():
            yield study_of(record), outcome_of(record)

    def summary(self, *, of_any_version: bool = False) -> dict[str, Any]:
        """Return what was printed at the end of the run.

        Raises `JudgeError` for a damaged one, and for one of another version of the rubric
        unless it may be `of_any_version`.
        """
        if not of_any_version:
            self._check_version()
        return self._summary

    def records(self, *, of_any_version: bool = False) -> Iterator[dict[str, Any]]:
        """Yield one record a study, in the order of the references.

        Raises `JudgeError` for a line that was changed after it was written or holds a study
        again, for records of another version of the rubric unless they may be `of_any_version`,
        and at the end where there were not as many as the summary says.
        """
        n = 0
        for _, record in self.lines_read(of_any_version=of_any_version):
            n += 1
            yield record
        if n != (wanted := self._summary["n_studies"]):
            raise damaged(
                self.path / ANNOTATIONS, f"it holds {n:,} studies, and {SUMMARY} {wanted:,}"
            )

    def lines_read(self, *, of_any_version: bool = False) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """Yield each line with its record; raises `JudgeError` as `parsed`, and for a study twice.

        A line in the place of another is whole, and their number is right.
        """
        ids: set[str] = set()
        for n, line in enumerate(self.lines(), 1):
            record = self.parsed(n, line, of_any_version=of_any_version)
            if (study_id := record["study_id"]) in ids:
                raise damaged(self.path / ANNOTATIONS, f"line {n} holds study {study_id!r} again")
            ids.add(study_id)
            yield line, record

    def record(self, study_id: str) -> dict[str, Any]:
        """Return one study's record.

        Raises `JudgeError` where the run has no such study, and for a damaged record.
        """
        # A record begins with its id, so all others are passed over unread.
        start = jsonio.to_line({"study_id": study_id}).rpartition(b', "checksum"')[0] + b","
        for n, line in enumerate(self.lines(), 1):
            if line.startswith(start):
                return self.parsed(n, line)
        for why, ids in self.manifest.get("omitted_ids", {}).items():
            if study_id in ids:
                raise JudgeError(f"{self.path} left study {study_id!r} out: {why}")
        raise JudgeError(f"no study {study_id!r} in {self.path}; its ids are in {TABLE_CSV}")

    def parsed(self, n: int, line: bytes, *, of_any_version: bool = False) -> dict[str, Any]:
        """Return the record that the `n`-th line of the annotations, from 1, holds.

        Raises `JudgeError` as `records` does.
        """
        if not of_any_version:
            self._check_version()
        try:
            return jsonio.from_line(line, n)
        except jsonio.JsonError as error:
            raise damaged(self.path / ANNOTATIONS, str(error)) from error

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the annotations as they lie there; raises `JudgeError`."""
        path = self.path / ANNOTATIONS
        try:
            with path.open("rb") as file:
                yield from file
        except OSError as error:
            raise JudgeError(f"cannot read {path}: {error.strerror}") from error

    def _check_version(self) -> None:
        made, today = self.signature.partition("|")[0], f"{self.rubric.name}:{self.rubric.version}"
        if made != today:
            raise JudgeError(
                f"{self.path} is a run of {made}, and this version of judge has {today}; judge "
                "rescore brings it up to date"
            )


def _read_manifest(path: Path) -> dict[str, Any]:
    manifest = {"inputs": [], "arguments": {}} | _read(path, dict[str, Any])
    if (form := manifest.get("format")) != FORMAT:
        raise JudgeError(
            f"{path.parent} is a run of format {form!r}, and this version of judge reads format "
            f"{FORMAT}: judge its studies again (answers in the cache are not paid for twice)"
        )
    return _checked(path, manifest, Manifest)


def _read(path: Path, form: type) -> dict[str, Any]:
    try:
        return _checked(path, jsonio.read(path.read_bytes()), form)
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror}") from error
    except jsonio.JsonError as error:
        raise damaged(path, str(error)) from error


def _checked(path: Path, value: Any, form: Any) -> dict[str, Any]:  # noqa: ANN401
    if wrong := fault(value, form):
        raise damaged(path, wrong)
    checked: dict[str, Any] = value
    return checked


def damaged(path: Path, why: str) -> JudgeError:
    """Return the error for a file of a run that is not as it was written."""
    return JudgeError(
        f"{path} is damaged: {why}; move {path.parent} away and judge its studies again "
        "(answers in the cache are not paid for twice)"
    )

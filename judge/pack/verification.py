"""Whether a pack, or the folder of a run, is as it was written: hashes, signature, figures."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from judge import jsonio
from judge.pack.archive import INDEX, PackArchive, opened_archive, sha256
from judge.pack.contents import FORMAT, run_tables
from judge.pack.studies import (
    differences,
    equal,
    summary_of,
    table_of_csv,
)
from judge.run_files.checked import first_of, read_json
from judge.run_files.manifest import MANIFEST, RunManifest
from judge.run_files.summary import SUMMARY, RunSummary
from judge.running.folder import TABLE_CSV, TABLE_PARQUET, RunFolder
from judge.text import counted
from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd

_MOST_NAMED = 3
_MOST_RESAMPLES = 100_000


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked of a run or a pack: whether it holds, and what was found."""

    of: str
    name: str
    holds: bool
    found: str

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types."""
        return {
            "of": self.of,
            "check": self.name,
            "holds": self.holds,
            "found": self.found,
        }


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", frozen=True)


class _FileEntry(_Entry):
    bytes: int
    sha256: str


class _RunEntry(_Entry):
    name: str
    signature: str
    by: list[str]


class _Index(_Entry):
    format: int
    runs: list[_RunEntry]
    files: dict[str, _FileEntry]


def verified(path: Path) -> list[Check]:
    """Check the folder of a run or the zip of a pack, whichever lies at `path`.

    Raises `JudgeError` where it is neither, or cannot be read at all.
    """
    if path.is_dir():
        return list(_checks_of_run(path))
    with opened_archive(path) as archive:
        return list(_checks_of_pack(archive))


def _checks_of_run(path: Path) -> Iterator[Check]:
    run = RunFolder.open(path)
    of = str(path)
    stated = read_json(path / MANIFEST)
    yield _signature(of, stated, run.manifest)
    try:
        n = sum(1 for _ in run.records())
        printed = run.summary()
        yield Check(of, "records", holds=True, found=f"{n:,} with their checksums")
        table = run.table()
    except JudgeError as error:
        yield Check(of, "records", holds=False, found=str(error))
        return
    again = summary_of(table, run.rubric, printed, printed.by)
    yield _figures(of, differences(printed, again), TABLE_PARQUET)


def _signature(of: str, stated: dict[str, Any], manifest: RunManifest) -> Check:
    holds = stated.get("signature") == manifest.signature
    found = "follows from the manifest"
    if not holds:
        found = f"the manifest gives another: {manifest.signature}"
    return Check(of, "signature", holds=holds, found=found)


def _figures(of: str, odd: Sequence[str], table: str) -> Check:
    found = f"{table} gives those of {SUMMARY}"
    if odd:
        named = ", ".join(odd[:_MOST_NAMED])
        found = f"{table} gives others than {SUMMARY}: {named}"
        if len(odd) > _MOST_NAMED:
            found += f" and {len(odd) - _MOST_NAMED:,} more"
    return Check(of, "figures", holds=not odd, found=found)


# Packs


def _checks_of_pack(archive: PackArchive) -> Iterator[Check]:
    index = _index_of(archive)
    of = archive.path.name
    yield _names(of, archive, index)
    yield _hashes(of, archive, index)
    for entry in index.runs:
        yield from _checks_of_packed_run(archive, entry)


def _index_of(archive: PackArchive) -> _Index:
    where = f"{INDEX} of {archive.path}"
    try:
        index = _Index.model_validate(jsonio.read(archive.read(INDEX)))
    except jsonio.JsonError as error:
        raise JudgeError(f"cannot read {where}: {error}") from error
    except ValidationError as error:
        raise JudgeError(f"cannot read {where}: {first_of(error)}") from error
    if index.format != FORMAT:
        raise JudgeError(
            f"{where} is of the form {index.format}, and this version of judge reads {FORMAT}: "
            "verify it with the version that made it"
        )
    return index


def _names(of: str, archive: PackArchive, index: _Index) -> Check:
    there = archive.entries.keys() - {INDEX}
    missing = sorted(index.files.keys() - there)
    extra = sorted(there - index.files.keys())
    parts = []
    for names, why in ((missing, "missing"), (extra, "not listed")):
        if names:
            parts.append(
                f"{why}: {', '.join(names[:_MOST_NAMED])} ({len(names):,} in all)"
            )
    found = f"{counted(len(there), 'file', 'files')}, each listed"
    return Check(of, "files", holds=not parts, found="; ".join(parts) or found)


def _hashes(of: str, archive: PackArchive, index: _Index) -> Check:
    odd = []
    n = 0
    for name, entry in index.files.items():
        if name not in archive.entries:
            continue
        n += 1
        try:
            data = archive.read(name)
        except JudgeError:
            odd.append(name)
            continue
        if len(data) != entry.bytes or sha256(data) != entry.sha256:
            odd.append(name)
    found = f"SHA-256 of {counted(n, 'file', 'files')} as listed"
    if odd:
        named = ", ".join(odd[:_MOST_NAMED])
        found = f"other bytes than listed: {named} ({len(odd):,} in all)"
    return Check(of, "hashes", holds=not odd, found=found)


def _checks_of_packed_run(archive: PackArchive, entry: _RunEntry) -> Iterator[Check]:
    of = entry.name
    folder = f"runs/{entry.name}"
    try:
        stated, manifest = _manifest_of(archive, f"{folder}/{MANIFEST}")
        signature = _signature(of, stated, manifest)
        if signature.holds and entry.signature != manifest.signature:
            signature = Check(
                of, "signature", holds=False, found=f"{INDEX} has another"
            )
        yield signature
        # What a rubric is depends on the manifest alone.
        run = RunFolder(archive.path / folder, manifest)
        printed = _summary_of(archive, f"{folder}/{SUMMARY}")
        if printed.signature != manifest.signature and not manifest.rescored:
            yield Check(of, "signature", holds=False, found=f"{SUMMARY} has another")
        run.check_version()
        data = archive.read(f"{folder}/{TABLE_CSV}")
        table = table_of_csv(data, run.rubric, f"{folder}/{TABLE_CSV}")
        again = _computed(table, run, printed, entry.by)
    except JudgeError as error:
        yield Check(of, "figures", holds=False, found=f"not checked: {error}")
        return
    yield _figures(of, differences(printed, again), TABLE_CSV)
    yield _tables(archive, entry, run_tables(again, run.rubric))


def _computed(
    table: pd.DataFrame, run: RunFolder, printed: RunSummary, by: Sequence[str]
) -> RunSummary:
    """Return the figures of a table that anybody may have written; raises `JudgeError`."""
    drawn = printed.resampling
    if drawn is not None and (drawn.resamples or 0) > _MOST_RESAMPLES:
        raise JudgeError(
            f"{SUMMARY} has {drawn.resamples:,} resamples, and {_MOST_RESAMPLES:,} are the most"
        )
    try:
        return summary_of(table, run.rubric, printed, by)
    except (ValueError, ArithmeticError) as error:
        raise JudgeError(
            f"{TABLE_CSV} has numbers that have no figures: {error}"
        ) from error


def _manifest_of(archive: PackArchive, name: str) -> tuple[dict[str, Any], RunManifest]:
    stated = _object(archive, name)
    try:
        return stated, RunManifest.model_validate(stated)
    except ValidationError as error:
        raise JudgeError(f"cannot read {name}: {first_of(error)}") from error


def _summary_of(archive: PackArchive, name: str) -> RunSummary:
    try:
        return RunSummary.model_validate(_object(archive, name))
    except ValidationError as error:
        raise JudgeError(f"cannot read {name}: {first_of(error)}") from error


def _object(archive: PackArchive, name: str) -> dict[str, Any]:
    try:
        value = jsonio.read(archive.read(name))
    except jsonio.JsonError as error:
        raise JudgeError(f"cannot read {name}: {error}") from error
    if not isinstance(value, dict):
        raise JudgeError(f"cannot read {name}: it is no object")
    return value


def _tables(archive: PackArchive, entry: _RunEntry, again: dict[str, str]) -> Check:
    """Compare the tables of a run with those of its table of studies."""
    start = f"runs/{entry.name}/tables/"
    there = {
        name.removeprefix(start).removesuffix(".csv")
        for name in archive.entries
        if name.startswith(start)
    }
    odd = sorted(there ^ again.keys())
    for name in sorted(there & again.keys()):
        try:
            text = archive.read(f"{start}{name}.csv").decode("utf-8")
        except (JudgeError, UnicodeDecodeError):
            odd.append(name)
            continue
        if not _are_same_tables(text, again[name]):
            odd.append(name)
    found = f"{counted(len(again), 'table', 'tables')} as {TABLE_CSV} gives them"
    if odd:
        found = f"{TABLE_CSV} gives others: {', '.join(odd)}"
    return Check(entry.name, "tables", holds=not odd, found=found)


def _are_same_tables(one: str, other: str) -> bool:
    rows, same_rows = (
        list(csv.reader(io.StringIO(text.rstrip()))) for text in (one, other)
    )
    if [len(row) for row in rows] != [len(row) for row in same_rows]:
        return False
    cells = [cell for row in rows for cell in row]
    same_cells = [cell for row in same_rows for cell in row]
    return all(map(_are_same_cells, cells, same_cells))


def _are_same_cells(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return equal(float(one), float(other))
    except ValueError:
        return False

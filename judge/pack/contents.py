"""The files of a pack, made of runs, and the folder that they are written to."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judge.comparing.alignment import RunChoice
from judge.files import atomic_folder, entries_of
from judge.pack.archive import INDEX, sha256, zipped
from judge.pack.checklists import FilledChecklist, checklists, filled
from judge.pack.comparison import (
    COMPARISON,
    PackedComparison,
    packed_comparison,
)
from judge.pack.facts import cited
from judge.pack.packed_run import (
    PackedRun,
    names_in_pack,
    packed_run,
    shared_manifest,
)
from judge.pack.pdf import as_pdf, require_typst
from judge.pack.report import blocks_of, sources_of
from judge.plugins import version
from judge.rubrics.contract import Rubric
from judge.run_files.manifest import MANIFEST
from judge.run_files.summary import SUMMARY, RunSummary
from judge.running.folder import TABLE_CSV, RunFolder
from judge.signature import safe_name
from judge.tables.document import Document
from judge.tables.forms import as_csv, as_json, rows_as_csv
from judge.tables.run import run_document
from judge.types import JudgeError

FORMAT = 1
"""The form of packs that this program writes."""
PDF = "evidence.pdf"
ZIP = "evidence.zip"
_README = """\
An evidence pack of judge, for the figures of the runs in runs/.

evidence.pdf        all of it to read
pack.json           the runs, and the size and SHA-256 of each other file
protocol/           the methods text and the works that it cites
runs/NAME/          manifest, table of studies, summary, tables, prompts, the sample for audit and
                    the checklists of a run
comparison/         the tables of the comparison, where several runs are compared
figures/            the figures

Check it with: judge runs verify evidence.zip
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackOptions:
    """What a pack is to have: `by` None for the groups of each run, `n` studies in the sample."""

    by: Sequence[str] | None = None
    n: int
    seed: int
    with_reports: bool = False


@dataclass(frozen=True, slots=True)
class WrittenPack:
    """What was written: the files, the hash of the zip, the blanks of each checklist, a note."""

    pdf: Path
    zip: Path
    zip_sha256: str
    blanks: Mapping[str, tuple[int, int]]
    note: str


def check_pack(out: Path) -> None:
    """Raise `JudgeError` where typst or vl-convert is missing, or `out` is taken."""
    require_typst()
    if os.path.lexists(out) and not out.is_dir():
        raise JudgeError(f"{out} is no folder: name another one with --pack")
    if entries_of(out):
        raise JudgeError(f"{out} is not empty: name another folder with --pack")


def write_pack(
    choices: Sequence[RunChoice], out: Path, options: PackOptions
) -> WrittenPack:
    """Write the pack of some runs into a new folder, whole or not at all.

    Raises `JudgeError` as `check_pack` does, for a damaged run, and where nothing can be drawn.
    """
    check_pack(out)
    opened = [RunFolder.open(choice.path) for choice in choices]
    names = names_in_pack(opened)
    runs = []
    for run, name in zip(opened, names, strict=True):
        packed = packed_run(
            run,
            name,
            by=options.by,
            n=options.n,
            seed=options.seed,
            with_reports=options.with_reports,
        )
        runs.append(packed)
    comparison = packed_comparison(choices, names, options.by)
    of_run = {}
    for packed in runs:
        of_run[packed.name] = [
            filled(checklist, packed, comparison.models)
            for checklist in checklists().values()
        ]
    files = _files(runs, comparison, of_run)
    files[PDF] = _pdf(runs, comparison, of_run, files, options)
    files[INDEX] = _index(runs, comparison, files, options)
    data = zipped(files)
    with atomic_folder(out) as folder:
        for name, content in ((PDF, files[PDF]), (ZIP, data)):
            (folder / name).touch(mode=0o600)
            (folder / name).write_bytes(content)
    return WrittenPack(
        pdf=out / PDF,
        zip=out / ZIP,
        zip_sha256=sha256(data),
        blanks=_blanks(of_run),
        note=comparison.why_not,
    )


def _blanks(
    of_run: Mapping[str, Sequence[FilledChecklist]],
) -> dict[str, tuple[int, int]]:
    """Return of each checklist how many parts are blank, of how many; over all runs."""
    blanks: dict[str, tuple[int, int]] = {}
    for lists in of_run.values():
        for one in lists:
            n_blank, n = blanks.get(one.checklist.title, (0, 0))
            blanks[one.checklist.title] = (n_blank + one.n_blank, n + len(one.answers))
    return blanks


def moment_of(runs: Sequence[PackedRun]) -> datetime:
    """Return the date of a pack: that of SOURCE_DATE_EPOCH, else when the last run ended."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is not None:
        try:
            return datetime.fromtimestamp(int(given), UTC)
        except (ValueError, OverflowError, OSError) as error:
            raise JudgeError(
                f"SOURCE_DATE_EPOCH is {given!r:.40}: give it seconds since 1970"
            ) from error
    ends = [run.manifest.finished for run in runs if run.manifest.finished]
    if not ends:
        return datetime(1980, 1, 1, tzinfo=UTC)
    moments = [datetime.fromisoformat(end) for end in ends]
    aware = [end if end.tzinfo else end.replace(tzinfo=UTC) for end in moments]
    return max(aware).astimezone(UTC).replace(microsecond=0)


def _files(
    runs: Sequence[PackedRun],
    comparison: PackedComparison,
    of_run: Mapping[str, Sequence[FilledChecklist]],
) -> dict[str, bytes]:
    """Return all files but the PDF and the index."""
    texts: dict[str, str] = {"README.txt": _README}
    texts["protocol/methods.txt"] = "\n\n".join(cited(run).text for run in runs)
    works = [source.bibtex for source in sources_of(runs)]
    texts["protocol/references.bib"] = "\n\n".join(works)
    files: dict[str, bytes] = {}
    for run in runs:
        texts |= _texts_of_run(run, of_run[run.name])
        files[f"runs/{run.name}/{TABLE_CSV}"] = run.csv
    if comparison.complete is not None:
        for name, table in tables_as_csv(comparison.complete).items():
            texts[f"{COMPARISON}/{name}.csv"] = table
    for figure in comparison.figures:
        files[figure.file] = figure.svg
    for name, text in texts.items():
        files[name] = f"{text.rstrip()}\n".encode("utf-8", "replace")
    return files


def _texts_of_run(run: PackedRun, lists: Sequence[FilledChecklist]) -> dict[str, str]:
    of_run: dict[str, str] = {
        MANIFEST: as_json(shared_manifest(run.manifest)),
        SUMMARY: as_json(run.summary.plain()),
    }
    for name, table in run_tables(run.summary, run.run.rubric).items():
        of_run[f"tables/{name}.csv"] = table
    for packed in run.prompts:
        if packed.prompt is not None:
            file = f"prompts/{safe_name(packed.named, 80, keeps='_-.')}.json"
            of_run[file] = as_json(packed.messages)
    if run.example:
        of_run["prompts/example.json"] = as_json(run.example)
    of_run["sample.csv"] = rows_as_csv(run.sample.rows)
    drawn = run.sample.drawn
    of_run["sample.json"] = as_json(
        {
            "seed": drawn.seed,
            "by": drawn.by,
            "strata": drawn.strata,
            "order": drawn.order,
        }
    )
    if run.sample.reports:
        of_run["sample-reports.json"] = as_json(run.sample.reports)
    for name, one in zip(checklists(), lists, strict=True):
        of_run[f"checklists/{name}.csv"] = as_csv(Document(tables=[one.table]))
    return {f"runs/{run.name}/{name}": text for name, text in of_run.items()}


def run_tables(summary: RunSummary, rubric: Rubric) -> dict[str, str]:
    """Return the tables of a run as CSV, unrounded, by their names."""
    return tables_as_csv(run_document(summary, rubric, complete=True))


def tables_as_csv(document: Document) -> dict[str, str]:
    """Return the tables of a document as CSV, by their names."""
    return {name: as_csv(document, name) for name in document.names}


def _pdf(
    runs: Sequence[PackedRun],
    comparison: PackedComparison,
    of_run: Mapping[str, Sequence[FilledChecklist]],
    files: Mapping[str, bytes],
    options: PackOptions,
) -> bytes:
    images = {f"figure-{n}.png": figure for n, figure in enumerate(comparison.figures)}
    blocks = blocks_of(
        runs,
        comparison,
        of_run,
        {name: sha256(content) for name, content in files.items()},
        images,
        with_reports=options.with_reports,
    )
    moment = moment_of(runs)
    return as_pdf(
        blocks,
        {name: figure.png for name, figure in images.items()},
        title="Evidence pack",
        footer=f"judge {version()}, {moment:%Y-%m-%d}",
        moment=moment,
    )


def _index(
    runs: Sequence[PackedRun],
    comparison: PackedComparison,
    files: Mapping[str, bytes],
    options: PackOptions,
) -> bytes:
    of_runs: list[dict[str, Any]] = []
    for run in runs:
        of_runs.append(
            {
                "name": run.name,
                "signature": run.manifest.signature,
                "model": run.manifest.model,
                "by": list(run.summary.by),
                "manifest_sha256": run.manifest_sha256,
            }
        )
    listed = {
        name: {"bytes": len(content), "sha256": sha256(content)}
        for name, content in sorted(files.items())
    }
    index = {
        "format": FORMAT,
        "made_by": f"judge {version()}",
        "with_reports": options.with_reports,
        "runs": of_runs,
        "comparison": comparison.signature or None,
        "files": listed,
    }
    text = json.dumps(index, indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode("utf-8", "replace")

"""A run as a pack takes it along."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from judge.files import open_regular
from judge.pack.prompts import PackedPrompt, prompts_of
from judge.pack.sample import AuditSample, audit_sample
from judge.pack.studies import (
    differences,
    packed_table,
    summary_of,
    table_as_csv,
    table_of_csv,
)
from judge.run_files.manifest import MANIFEST, RunManifest
from judge.run_files.summary import RunSummary
from judge.running.folder import RunFolder
from judge.running.records import study_of
from judge.signature import safe_name
from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedRun:
    """A run, its name in the pack, and what the pack has of it.

    `table` is as it is read from `csv`, and `summary` has the figures of that table.
    `manifest_sha256` is the hash of the run folder's own manifest, of which the pack has a copy
    without paths. `example` is the first prompt about the first drawn study, as it was sent, where
    reports were asked for.
    """

    name: str
    run: RunFolder
    table: pd.DataFrame
    csv: bytes
    summary: RunSummary
    prompts: list[PackedPrompt]
    sample: AuditSample
    example: list[dict[str, str]]
    manifest_sha256: str

    @property
    def manifest(self) -> RunManifest:
        """What made the run."""
        return self.run.manifest


def packed_run(
    run: RunFolder,
    name: str,
    *,
    by: Sequence[str] | None,
    n: int,
    seed: int,
    with_reports: bool,
) -> PackedRun:
    """Read a run for a pack; `by` None takes the groups that the run was made with.

    Raises `JudgeError` where the run is damaged: its records are read, each with its checksum, and
    its figures are computed again.
    """
    printed = run.summary()
    if by is None:
        by = printed.by
    # To the end: what does not hold is found here.
    for _ in run.records():
        pass
    data = table_as_csv(packed_table(run, by))
    table = table_of_csv(data, run.rubric, "the table of studies")
    summary = summary_of(table, run.rubric, printed, by)
    odd = differences(printed, summary)
    if odd:
        raise JudgeError(
            f"{run.path}: its table of studies gives other figures than its summary "
            f"({odd[0]}); judge runs rescore writes both anew"
        )
    prompts = prompts_of(run.manifest)
    sample = audit_sample(run, table, n, seed, with_reports=with_reports)
    return PackedRun(
        name=name,
        run=run,
        table=table,
        csv=data,
        summary=summary,
        prompts=prompts,
        sample=sample,
        example=_example(run, prompts, sample),
        manifest_sha256=_hash_of_manifest(run),
    )


def _hash_of_manifest(run: RunFolder) -> str:
    with open_regular(run.path / MANIFEST) as file:
        return hashlib.sha256(file.read()).hexdigest()


def _example(
    run: RunFolder, prompts: Sequence[PackedPrompt], sample: AuditSample
) -> list[dict[str, str]]:
    """Return what was sent about the first drawn study; none where a run did not keep all of it."""
    manifest = run.manifest
    # Run folders keep the reports, but not what was shown beside them.
    was_shown_more = bool(manifest.shown_context or manifest.shown_prior)
    if not sample.reports or not prompts or was_shown_more:
        return []
    record = run.record(sample.drawn.order[0])
    return prompts[0].filled(study_of(record))


def names_in_pack(runs: Sequence[RunFolder]) -> list[str]:
    """Return a name for each run that is safe as a folder's, those of their own folders."""
    names: list[str] = []
    for run in runs:
        stem = name = safe_name(run.path.resolve().name, keeps="_-", default="run")
        number = 1
        while name.lower() in (taken.lower() for taken in names):
            number += 1
            name = f"{stem}-{number}"
        names.append(name)
    return names


def shared_manifest(manifest: RunManifest) -> dict[str, Any]:
    """Return a manifest without what is the institution's own, as JSON's types.

    Paths are cut to the names of files; addresses, ids of studies that were left out, the text of
    an experiment and the records of batches are left out. The signature stays what it is.
    """
    data = manifest.plain()
    for file in data["inputs"]:
        file["path"] = _file_name(file["path"])
    data["omitted_ids"] = {}
    data["batches"] = []
    settings = data["settings"]
    if settings is not None:
        for name in ("preds", "refs", "prompt"):
            settings[name] = _file_name(settings[name])
        settings["base_url"] = []
        settings["server"] = {}
        if settings["candidates"] is not None:
            settings["candidates"]["refs"] = _file_name(settings["candidates"]["refs"])
    experiment = data.get("experiment")
    if experiment is not None:
        experiment["file"] = _file_name(experiment["file"])
        experiment["text"] = ""
    for shard in data["shards"]:
        shard["folder"] = _file_name(shard["folder"])
    if data["combined"] is not None:
        for part in data["combined"]["parts"]:
            part["folder"] = _file_name(part["folder"])
    return data


def _file_name(path: str | None) -> str | None:
    if path is None:
        return None
    return PurePath(path).name

"""The runs in some folders that say something of a judge, and why the others do not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from judge.run_files.manifest import MANIFEST, RunManifest
from judge.run_files.passport import LeftOutEntry
from judge.running.folder import RunFolder
from judge.types import JudgeError

_DEEPEST = 4
"""Folders below one that is named in which runs are looked for."""
_OF_STRESS = {"study", "change", "group", "k"}
"""The fields by which a run of the candidates of `judge stress` is known."""


@dataclass(frozen=True)
class Evidence:
    """The runs of one judge with one prompt and rubric, and readers' runs; the newest is first.

    `judged` are runs of models' reports, `stressed` those of candidates with known errors. `stated`
    is the modality of runs that state none, empty where nobody said. `not_compared` says why a
    reader's run, by its path, could not be held against a run of the judge.
    """

    judged: tuple[RunFolder, ...] = ()
    stressed: tuple[RunFolder, ...] = ()
    readers: tuple[RunFolder, ...] = ()
    left_out: list[LeftOutEntry] = field(default_factory=list)
    not_compared: dict[str, str] = field(default_factory=dict)
    stated: str = ""

    @property
    def of_judge(self) -> tuple[RunFolder, ...]:
        """All runs of the judge, the newest first."""
        return tuple(_newest_first([*self.judged, *self.stressed]))

    @property
    def modalities(self) -> list[str]:
        """The modalities of the judge's runs."""
        return sorted({self.modality(run) for run in self.of_judge})

    def modality(self, run: RunFolder) -> str:
        """Return the modality of a run, empty where it states none and nobody said."""
        return ",".join(run.manifest.modality) or self.stated

    def leave_out(self, run: RunFolder, reason: str) -> None:
        """Note that a run is not used, and why."""
        self.left_out.append(LeftOutEntry(path=str(run.path), reason=reason))


def find_evidence(
    folders: Sequence[Path],
    *,
    judge: str,
    rubric: str,
    prompt: str | None = None,
    modality: str = "",
) -> Evidence:
    """Return what the runs in some folders, four levels deep, say of a judge.

    `judge` is its name or its version, `prompt` the name or the digest of a prompt. The newest run
    of the judge by the rubric, and by that prompt if one is named, decides version, prompt and
    sampling; runs that differ in one of them are left out, as all others, each with the reason.
    `modality` is that of runs that state none.

    Raises `JudgeError` for a folder that is not there.
    """
    readers: list[RunFolder] = []
    of_judge: list[RunFolder] = []
    left_out: list[LeftOutEntry] = []
    for path in _run_folders(folders):
        try:
            run = RunFolder.open(path)
        except JudgeError as error:
            left_out.append(LeftOutEntry(path=str(path), reason=str(error)))
            continue
        reason = _why_another(run.manifest, judge=judge, rubric=rubric, prompt=prompt)
        if run.reading is not None:
            readers.append(run)
        elif reason:
            left_out.append(LeftOutEntry(path=str(path), reason=reason))
        else:
            of_judge.append(run)
    same: list[RunFolder] = []
    of_judge = list(_newest_first(of_judge))
    for run in of_judge:
        differing = _differing(of_judge[0].manifest, run.manifest)
        if differing:
            reason = f"{differing}, unlike in the newest run, {of_judge[0].path}"
            left_out.append(LeftOutEntry(path=str(run.path), reason=reason))
        else:
            same.append(run)
    return Evidence(
        judged=tuple(run for run in same if not _is_of_stress(run)),
        stressed=tuple(run for run in same if _is_of_stress(run)),
        readers=tuple(readers),
        left_out=left_out,
        stated=modality,
    )


def _run_folders(folders: Sequence[Path]) -> list[Path]:
    """Return the folders of runs in some folders, each once."""
    found: dict[Path, Path] = {}
    for folder in folders:
        if not folder.is_dir():
            raise JudgeError(
                f"there is no folder {folder}; name folders that hold runs"
            )
        for path in _below(folder, _DEEPEST):
            found.setdefault(path.resolve(), path)
    return list(found.values())


def _below(folder: Path, depth: int) -> Iterator[Path]:
    if os.path.lexists(folder / MANIFEST):
        # A run holds no runs.
        yield folder
        return
    if not depth:
        return
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        # A link could lead back.
        is_searched = entry.is_dir() and not entry.is_symlink()
        if is_searched and not entry.name.startswith("."):
            yield from _below(entry, depth - 1)


def _why_another(
    manifest: RunManifest, *, judge: str, rubric: str, prompt: str | None
) -> str:
    """Return why a run is none of this judge, rubric and prompt; empty where it is."""
    if judge not in (manifest.judge.name, manifest.judge.version):
        return f"another judge: {manifest.judge.name}"
    if manifest.rubric != rubric:
        return f"another rubric: {manifest.rubric}"
    names = [entry.name for entry in manifest.prompts]
    digests = [entry.digest for entry in manifest.prompts]
    if prompt is not None and prompt not in (*names, *digests):
        return f"another prompt: {', '.join(names) or 'none'}"
    if manifest.combined is not None and manifest.combined.of == "reference":
        return "several references a study: readers read against one"
    return ""


def _differing(first: RunManifest, other: RunManifest) -> str:
    """Return what of the judge, its prompt or its sampling differs, empty where nothing does."""
    parts = _parts(other)
    differing: list[str] = []
    for name, part in _parts(first).items():
        if part != parts[name]:
            differing.append(f"another {name}: {parts[name]}")
    return "; ".join(differing)


def _parts(manifest: RunManifest) -> dict[str, str]:
    """Return what runs of one passport share, each in words."""
    return {
        "rubric version": manifest.rubric_and_version,
        "packages": ", ".join(manifest.packages) or "none",
        "judge": manifest.judge.version,
        "prompt": ", ".join(map(str, manifest.prompts)) or "none",
        "sampling": manifest.sampling or "none",
        "reply": manifest.reply or "none",
    }


def _is_of_stress(run: RunFolder) -> bool:
    return _OF_STRESS.issubset(run.manifest.fields)


def _newest_first(runs: Sequence[RunFolder]) -> list[RunFolder]:
    return sorted(
        runs,
        key=lambda run: (run.manifest.finished or "", str(run.path)),
        reverse=True,
    )

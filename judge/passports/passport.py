"""From the runs of a judge to its passport: a page and JSON of what is known of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from judge import plugins, rubrics
from judge.backends.published import published_of
from judge.files import cannot_write, replacing
from judge.passports.criteria import CRITERIA, thresholds_with
from judge.passports.evidence import Evidence
from judge.passports.figures import of_modality
from judge.run_files.entries import JudgeEntry
from judge.run_files.identity import JudgedBy
from judge.run_files.passport import (
    FORMAT,
    SUFFIX,
    EvidenceEntry,
    ModalityEntry,
    Passport,
    PublishedEntry,
    Role,
)
from judge.running.folder import RunFolder
from judge.signature import safe_name, short_digest, signature_line
from judge.stats.intervals import USUAL_DRAWS, Draws
from judge.types import JudgeError


def passport_of(
    evidence: Evidence,
    *,
    judge: str,
    rubric: str,
    thresholds: Mapping[str, float] | None = None,
    draws: Draws = USUAL_DRAWS,
) -> Passport:
    """Return the passport of the judge that evidence was found for.

    `thresholds` are those that differ from the usual ones, by the names of the criteria. Raises
    `JudgeError` where there is neither a run of the judge nor anything published of it.
    """
    all_thresholds = thresholds_with(thresholds or {})
    criteria = [
        replace(criterion, threshold=all_thresholds[criterion.name])
        for criterion in CRITERIA
    ]
    published = published_of(judge, rubric)
    runs = evidence.of_judge
    if not runs and not published:
        raise JudgeError(
            f"there is no run of the judge {judge} by {rubric} in these folders, and nothing is "
            f"published of it: {_why_none(evidence)}"
        )
    entries = [
        of_modality(evidence, code, criteria, draws) for code in evidence.modalities
    ]
    measured = {entry.modality for entry in entries}
    for code in dict.fromkeys(entry.modality for entry in published):
        if code not in measured:
            entries.append(of_modality(evidence, code, criteria, draws))
    _leave_out_readers(evidence, entries)
    used = _used(evidence)
    notes: list[str] = []
    if not runs:
        notes.append(
            f"no run of {judge} was found: nothing was measured here, and no run is covered"
        )
    if evidence.stated and runs:
        notes.append(
            f"runs that state no modality are taken to be of {evidence.stated}"
        )
    judged_by = _judged_by(evidence, judge, rubric)
    return Passport(
        format=FORMAT,
        judge=judged_by.judge,
        rubric=judged_by.rubric,
        rubric_version=judged_by.rubric_version,
        packages=judged_by.packages,
        prompts=judged_by.prompts,
        sampling=judged_by.sampling,
        reply=judged_by.reply,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        thresholds=all_thresholds,
        modalities=entries,
        published=[
            PublishedEntry(**entry.model_dump(exclude={"judge", "rubric"}))
            for entry in published
        ],
        runs=used,
        left_out=evidence.left_out,
        notes=notes,
        signature=_signature(judged_by, used, all_thresholds, draws),
        version=plugins.version(),
    )


def file_name(passport: Passport) -> str:
    """Return the name of a passport's file: of its judge, rubric, version and prompt."""
    parts = [safe_name(passport.judge.name), passport.rubric]
    if passport.judge.version:
        made_by = [passport.judge.version, *map(str, passport.prompts)]
        digest = short_digest([*made_by, passport.rubric_version])
        parts.append(digest.rpartition("+")[2])
    return f"{'-'.join(parts)}{SUFFIX}"


def save(passport: Passport, folder: Path) -> Path:
    """Write a passport as JSON into a folder, and return the file; raises `JudgeError`."""
    path = folder / file_name(passport)
    text = json.dumps(
        passport.plain(),
        indent=2,
        ensure_ascii=False,
        allow_nan=False,
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    with replacing(path) as staged:
        staged.write_bytes(f"{text}\n".encode("utf-8", "replace"))
    return path


def _why_none(evidence: Evidence) -> str:
    """Return what was found instead of the judge's runs."""
    reasons = Counter(entry.reason for entry in evidence.left_out)
    found = [f"{n:,} of {reason}" for reason, n in reasons.most_common(5)]
    return "; ".join(found) or "there are no runs of judges"


def _judged_by(evidence: Evidence, judge: str, rubric: str) -> JudgedBy:
    """Return who the passport is of: as the newest run says, else as it was asked for."""
    if evidence.of_judge:
        return evidence.of_judge[0].manifest.judged_by
    return JudgedBy(
        rubric=rubric,
        rubric_version=str(rubrics.load(rubric).version),
        judge=JudgeEntry(name=judge, version=""),
    )


def _leave_out_readers(evidence: Evidence, entries: Sequence[ModalityEntry]) -> None:
    """Note the readers' runs that say nothing of the judge."""
    used = {path for entry in entries for path in entry.reader_runs}
    for reader in evidence.readers:
        path = str(reader.path)
        if path not in used:
            reason = evidence.not_compared.get(path, "there is no run of its reports")
            evidence.leave_out(reader, reason)


def _used(evidence: Evidence) -> list[EvidenceEntry]:
    """Return the runs that were used."""
    left_out = {entry.path for entry in evidence.left_out}
    by_role: dict[Role, Sequence[RunFolder]] = {
        "judged": evidence.judged,
        "stress": evidence.stressed,
        "reader": evidence.readers,
    }
    used: list[EvidenceEntry] = []
    for role, runs in by_role.items():
        for run in runs:
            if str(run.path) in left_out:
                continue
            modality = ""
            if role != "reader":
                modality = evidence.modality(run)
            used.append(
                EvidenceEntry(
                    path=str(run.path),
                    role=role,
                    modality=modality,
                    signature=run.signature,
                )
            )
    return used


def _signature(
    judged_by: JudgedBy,
    used: list[EvidenceEntry],
    thresholds: Mapping[str, float],
    draws: Draws,
) -> str:
    judge = judged_by.judge
    held = [f"{name}={value:g}" for name, value in thresholds.items()]
    parts = [
        f"passport:{FORMAT}",
        judged_by.rubric_and_version,
        f"judge:{judge.version or judge.name}",
        f"runs:{len(used)}+{short_digest(sorted(entry.signature for entry in used))}",
        f"thresholds:{','.join(held)}",
        f"resamples:{draws.resamples or 'usual'}",
        f"seed:{draws.seed}",
        f"version:{plugins.version()}",
    ]
    return signature_line(parts)

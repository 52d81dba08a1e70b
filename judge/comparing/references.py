"""Whether runs judged their candidates against the same references."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence

from judge.comparing.names import NamedRun
from judge.running.folder import ANNOTATIONS
from judge.types import JudgeError


def check_references(
    runs: Sequence[NamedRun], study_ids: Sequence[str], allow: Collection[str]
) -> list[str]:
    """Raise where a study was judged against different references; return what was allowed.

    Runs of one file of references agree by its digest. Of other files the judged texts are
    compared, white space aside: an export in another form is no other reference.
    """
    by_file: dict[object, NamedRun] = {}
    for run in runs:
        by_file.setdefault(_file(run), run)
    first, *others = by_file.values()
    if not others:
        return []
    notes = []
    known = _references(first, study_ids)
    for other in others:
        theirs = _references(other, study_ids)
        differing = [study_id for study_id in study_ids if theirs[study_id] != known[study_id]]
        if not differing:
            continue
        text = (
            f"{first.shown} and {other.shown} judged different references for "
            f"{len(differing):,} of {len(study_ids):,} studies, {differing[0]!r} among them"
        )
        if "references" not in allow:
            raise JudgeError(f"{text}; judge both with the same ones (or --allow references)")
        notes.append(f"{text} (allowed)")
    return notes


def _file(named: NamedRun) -> object:
    """Return what tells a file of references and how its ids were read; else the run itself."""
    manifest = named.run.manifest
    file = next((file for file in manifest["inputs"] if file["role"] in ("refs", "both")), None)
    asked = manifest.get("arguments") or {}
    how = (asked.get("id_field"), asked.get("reference_field"))
    return (file["sha256"], *how) if file else named.shown


def _references(named: NamedRun, study_ids: Sequence[str]) -> dict[str, bytes]:
    """Return a digest of each study's reference."""
    wanted = set(study_ids)
    found = {
        record["study_id"]: hashlib.sha256(" ".join(record["reference"].split()).encode()).digest()
        for record in named.run.records()
        if record["study_id"] in wanted
    }
    if missing := wanted - found.keys():
        raise JudgeError(
            f"the {ANNOTATIONS} of {named.shown} lacks {len(missing):,} studies, "
            f"{min(missing)!r} among them; judge them again"
        )
    return found

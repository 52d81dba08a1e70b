"""Which texts a run is about: digests of reports, by which two runs' are held to be the same."""

from __future__ import annotations

import hashlib
from collections.abc import Container

from judge.running.folder import Run

Digests = tuple[bytes | None, bytes | None]
"""Of a study's reference and of its candidate, white space aside; None for an empty text."""


def digests(run: Run, wanted: Container[str]) -> dict[str, Digests]:
    """Return the digests of each wanted study's texts; raises `JudgeError` as `Run.records`."""
    return {
        record["study_id"]: (digest(record["reference"]), digest(record["candidate"]))
        for record in run.records(of_any_version=True)
        if record["study_id"] in wanted
    }


def digest(text: str) -> bytes | None:
    """Return what tells a text from others but for white space; None for an empty one."""
    words = text.split()
    return hashlib.sha256(" ".join(words).encode("utf-8", "replace")).digest() if words else None

"""Signatures of runs, digests of studies, and names of run folders."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Container, Iterable, Mapping
from typing import Any

from judge.types import Study

Digests = tuple[bytes | None, bytes | None]
"""Of a study's reference and of its candidate, white space aside; None for an empty text."""


def signature_line(parts: Iterable[str]) -> str:
    """Return the line that is made of these parts, in which no part has the bar between them."""
    return "|".join(part.replace("|", "/") for part in parts)


def with_parts(line: str, parts: Iterable[str]) -> str:
    """Return a printed signature with further parts, before the version of this program."""
    before, bar, version = line.rpartition("|")
    return f"{before}|{signature_line(parts)}{bar}{version}"


class StudiesDigest:
    """How many studies there are, and a digest of all that is known of them, in order."""

    def __init__(self) -> None:
        self._n = 0
        self._hash = hashlib.sha256()

    def add(self, study: Study) -> None:
        """Count the next study in."""
        self._n += 1
        texts = [study.study_id, study.reference, study.candidate, study.study_class]
        row = json.dumps([texts, study.fields], sort_keys=True, default=str)
        self._hash.update(row.encode() + b"\n")

    def __str__(self) -> str:
        return f"{self._n}+{self._hash.hexdigest()[:8]}"


def studies_digest(studies: Iterable[Study]) -> str:
    """Return the `StudiesDigest` of some studies."""
    digest = StudiesDigest()
    for study in studies:
        digest.add(study)
    return str(digest)


def random_rank(*key: object) -> str:
    """Return a hash of a seed and an id: sorted by it, things are in a random, repeatable order."""
    text = json.dumps(key)
    return hashlib.sha256(text.encode()).hexdigest()


def short_digest(lines: Iterable[str]) -> str:
    """Return eight hexadecimal digits of the hash of some lines."""
    text = "\n".join(lines).encode("utf-8", "replace")
    return hashlib.sha256(text).hexdigest()[:8]


def digests(
    records: Iterable[Mapping[str, Any]], wanted: Container[str]
) -> dict[str, Digests]:
    """Return the digests of each wanted study's texts, of the records of a run."""

    known: dict[str, Digests] = {}
    for record in records:
        study_id = record["study_id"]
        if study_id in wanted:
            reference = _digest_of_words(record["reference"])
            candidate = _digest_of_words(record["candidate"])
            known[study_id] = (reference, candidate)
    return known


def _digest_of_words(text: str) -> bytes | None:
    words = " ".join(text.split()).encode("utf-8", "replace")
    if not words:
        return None
    return hashlib.sha256(words).digest()


def safe_name(
    text: str, longest: int = 40, *, keeps: str = ".", default: str = ""
) -> str:
    """Return `text` as a name of a file on any system, other characters as hyphens."""
    others = rf"[^A-Za-z0-9{re.escape(keeps)}]+"
    name = re.sub(others, "-", text).strip("-.")
    return name[:longest] or default

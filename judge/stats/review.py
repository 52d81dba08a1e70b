"""Precision of a judge's errors by the verdicts of readers, and the agreement of the readers.

An error is counted once, however many readers reviewed it: as right where more than half of them
said so. Intervals are Wilson's over the reviewed errors, taken as independent.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from judge.stats.intervals import wilson

RIGHT, WRONG, WRONG_SEVERITY = "right", "wrong", "wrong_severity"
VERDICTS = (RIGHT, WRONG, WRONG_SEVERITY)
ALL = "all"
NOTE = (
    "Precision: reviewed errors that more than half of their readers marked right, of all reviewed "
    "errors; wrong severity counts as not right. Finding precision counts it as right. 95% Wilson "
    "interval."
)
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Verdict:
    """A reader's last verdict, one of `VERDICTS`, on one of the run's errors.

    `error` is the id of the study and the fingerprint of the error, `codes` its categories.
    """

    reader: str
    error: tuple[str, str]
    codes: tuple[str, ...]
    verdict: str


def fingerprints(
    errors: Iterable[Mapping[str, Any]], graded_by: Mapping[str, str | None]
) -> list[str]:
    """Return a name for each graded item of a study's record, made of its content.

    `graded_by` is the facet that grades each kind. An error keeps its name when the study's other
    errors change; the second of two equal ones gets a number.
    """
    seen: Counter[str] = Counter()
    names = []
    for error in errors:
        labels = [
            value
            for facet, values in error["labels"].items()
            if facet != graded_by[error["kind"]]
            for value in values
        ]
        content = json.dumps([error["grade"], labels, error["text"], error["edit"]], sort_keys=True)
        digest = hashlib.sha256(content.encode()).hexdigest()[:_DIGITS]
        seen[digest] += 1
        names.append(digest if seen[digest] == 1 else f"{digest}-{seen[digest]}")
    return names


def statistics(verdicts: Sequence[Verdict], codes: Sequence[str]) -> dict[str, Any]:
    """Return the judge's precision and the readers' agreement, ready for JSON.

    Keys: `n_reviewed_errors`, `n_studies`, `readers`, `precision` and `finding_precision` (rows
    with a code, or `all`, and k, n, value, low, high; an error with two codes counts under both,
    under `all` once), `kappa` (a row for each two readers) and `note`.
    """
    by_error: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        by_error[verdict.error].append(verdict)
    readers = sorted({verdict.reader for verdict in verdicts})
    by_reader = [{v.reader: v.verdict for v in reviews} for reviews in by_error.values()]
    return {
        "n_reviewed_errors": len(by_error),
        "n_studies": len({study_id for study_id, _ in by_error}),
        "readers": readers,
        "precision": _precision(by_error.values(), {RIGHT}, codes),
        "finding_precision": _precision(by_error.values(), {RIGHT, WRONG_SEVERITY}, codes),
        "kappa": [
            {"readers": [a, b], **kappa([(e[a], e[b]) for e in by_reader if {a, b} <= {*e}])}
            for a, b in combinations(readers, 2)
        ],
        "note": NOTE,
    }


def kappa(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return Cohen's kappa of two readers' verdicts on the same errors [Cohen 1960].

    It is None without a common error, and where both gave every error the same verdict: then
    chance alone would agree as well.
    """
    n, agreed = len(pairs), sum(a == b for a, b in pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    by_chance = sum(first[verdict] * second[verdict] for verdict in first)  # of n * n
    value = (agreed * n - by_chance) / (n * n - by_chance) if by_chance < n * n else None
    return {"n": n, "agreed": agreed, "kappa": value}


def _precision(
    errors: Collection[Sequence[Verdict]], accepted: set[str], codes: Sequence[str]
) -> list[dict[str, Any]]:
    reviewed: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for verdicts in errors:
        n_accepted = sum(verdict.verdict in accepted for verdict in verdicts)
        for code in {ALL, *verdicts[0].codes}:
            reviewed[code] += 1
            right[code] += 2 * n_accepted > len(verdicts)
    rows = []
    for code in (ALL, *codes):
        rate = wilson(right[code], reviewed[code])
        figures = {name: getattr(rate, name) for name in ("k", "n", "value", "low", "high")}
        rows.append({"code": code, **figures})
    return rows

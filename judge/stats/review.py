"""How right the judge was, in its readers' eyes.

A reader's last word on an error is the one that counts. An error is counted once, however
many readers reviewed it: as right where more than half of them said so. Intervals are
Wilson's over the reviewed errors, which are taken as independent of each other.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from judge.stats.intervals import wilson

RIGHT, WRONG, WRONG_SEVERITY = "right", "wrong", "wrong_severity"
VERDICTS = (RIGHT, WRONG, WRONG_SEVERITY)
ALL = "all"
NOTE = (
    "Precision: reviewed errors that more than half of their readers marked right, wrong "
    "severity not counted as right, of all reviewed errors. Finding precision counts a wrong "
    "severity as right too. 95% Wilson interval."
)
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Verdict:
    """A reader's last word on one error of the judge's.

    `error` identifies the error among all of the run; `verdict` is one of `VERDICTS`.
    """

    reader: str
    error: tuple[str, str]
    codes: tuple[str, ...]
    verdict: str


def fingerprints(
    errors: Iterable[Mapping[str, Any]], graded_by: Mapping[str, str | None]
) -> list[str]:
    """Return a name for each graded item of a study's record, made of what it says.

    `graded_by` is the facet that grades each kind. An error keeps its name when the study's other
    errors change; one that is repeated word for word gets a number.
    """
    seen: Counter[str] = Counter()
    names = []
    for error in errors:
        others = [
            value
            for facet, values in error["labels"].items()
            if facet != graded_by[error["kind"]]
            for value in values
        ]
        says = [error["grade"], others, error["text"], error["edit"]]
        digest = hashlib.sha256(json.dumps(says, sort_keys=True).encode()).hexdigest()[:_DIGITS]
        seen[digest] += 1
        names.append(digest if seen[digest] == 1 else f"{digest}-{seen[digest]}")
    return names


def statistics(verdicts: Sequence[Verdict], codes: Sequence[str]) -> dict[str, Any]:
    """Return the judge's precision and the readers' agreement, ready for JSON.

    Keys: `n_reviewed_errors`, `n_studies`, `readers`, `precision` and `finding_precision`
    (lists of a code, or `all`, with k, n, value, low, high; an error with two codes counts
    under both, under `all` once), `kappa` (one entry for each two readers) and `note`.
    """
    by_error: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        by_error[verdict.error].append(verdict)
    readers = sorted({verdict.reader for verdict in verdicts})
    words = [{one.reader: one.verdict for one in each} for each in by_error.values()]
    return {
        "n_reviewed_errors": len(by_error),
        "n_studies": len({study_id for study_id, _ in by_error}),
        "readers": readers,
        "precision": _precision(by_error.values(), {RIGHT}, codes),
        "finding_precision": _precision(by_error.values(), {RIGHT, WRONG_SEVERITY}, codes),
        "kappa": [
            {
                "readers": pair,
                **kappa([(by[pair[0]], by[pair[1]]) for by in words if {*pair} <= {*by}]),
            }
            for pair in map(list, combinations(readers, 2))
        ],
        "note": NOTE,
    }


def kappa(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return Cohen's kappa of two readers' verdicts on the same errors [Cohen 1960].

    None without an error that both reviewed, and where both said the same one thing of every
    error: chance alone would then agree as well.
    """
    n = len(pairs)
    agreed = sum(one == other for one, other in pairs)
    ones, others = (
        (Counter(side) for side in zip(*pairs, strict=True)) if n else (Counter(), Counter())
    )
    by_chance = sum(ones[verdict] * others[verdict] for verdict in ones)  # of n * n
    value = (agreed * n - by_chance) / (n * n - by_chance) if by_chance < n * n else None
    return {"n": n, "agreed": agreed, "kappa": value}


def _precision(
    errors: Iterable[Sequence[Verdict]], good: set[str], codes: Sequence[str]
) -> list[dict[str, Any]]:
    reviewed: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for verdicts in errors:
        is_right = 2 * sum(one.verdict in good for one in verdicts) > len(verdicts)
        for code in {ALL, *verdicts[0].codes}:
            reviewed[code] += 1
            right[code] += is_right
    names = ("k", "n", "value", "low", "high")
    rates = [(code, wilson(right[code], reviewed[code])) for code in (ALL, *codes)]
    return [{"code": code, **{n: getattr(rate, n) for n in names}} for code, rate in rates]

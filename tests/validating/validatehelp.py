"""Judges' and readers' runs of a few synthetic studies."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support import EXAMPLES, Invoke

TIDY = EXAMPLES / "readers" / "readings.csv"
COLUMNS = ("study_id", "reader", "category", "significant", "count", "text")


def imported(
    invoke: Invoke, out: Path, rows: Sequence[Sequence[object]], further: Mapping[str, Any]
) -> Path:
    """Import readers' rows; `further` has for each study's id its other columns."""
    names = list(next(iter(further.values())))
    path = out.with_suffix(".csv")
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*COLUMNS, *names])
        for row in rows:
            writer.writerow([*row, *further[str(row[0])].values()])
    done = invoke("import", "tidy", path, "--section", "report", "--out", out)
    assert done.exit_code == 0, (done.stderr, done.exception)
    return out


def judged(invoke: Invoke, out: Path, reports: Path, *options: str, rubric: str = "green") -> Path:
    """Judge the reports of a run with the lexicon."""
    done = invoke(rubric, reports, "--out", out, *options)
    assert done.exit_code == 0, (done.stderr, done.exception)
    return out


def validated(invoke: Invoke, *words: object) -> dict[str, Any]:
    """Return what `judge validate` says, as JSON."""
    done = invoke("validate", *words, "--format", "json")
    assert done.exit_code == 0, (done.stderr, done.exception)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in JSON")

    found: dict[str, Any] = json.loads(done.stdout, parse_constant=refuse)
    return found


def one(rows: Sequence[Mapping[str, Any]], **keys: object) -> Mapping[str, Any]:
    """Return the one row that has these values."""
    (found,) = [row for row in rows if all(row[key] == value for key, value in keys.items())]
    return found

"""Made-up feeds, and tables of studies as a monitor's runs have them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas as pd

from judge.monitoring.charts import Studies
from judge.monitoring.periods import Every

MONDAY = date(2026, 1, 5)
CLEAN = "No pneumothorax. Small left effusion."
MISSED = "No pneumothorax."


def day_of(week: int, day: int = 0) -> str:
    """A day of a week, both counted from 0."""
    return (MONDAY + timedelta(days=7 * week + day)).isoformat()


def record(study_id: str, week: int = 0, **more: Any) -> dict[str, Any]:
    """A record of a feed, whose draft agrees with the signed report."""
    usual = {"id": study_id, "date": day_of(week), "draft": CLEAN, "signed": CLEAN}
    return {**usual, **more}


def weeks_of(
    bad: Sequence[int], n: int = 10, first: int = 0, **more: Any
) -> list[dict[str, Any]]:
    """`n` studies a week, of which so many of each week miss the effusion."""
    records = []
    for week, n_bad in enumerate(bad, first):
        for number in range(n):
            made = record(f"w{week}-{number}", week, **more)
            if number < n_bad:
                made["draft"] = MISSED
            records.append(made)
    return records


def written(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    path.write_text(json.dumps(list(records)), "utf-8")
    return path


def judged_table(
    errors: Iterable[tuple[int, Sequence[int | None]]], **fields: Any
) -> pd.DataFrame:
    """The table of studies by GREEN: the errors of each study of a week, None for unscored."""
    rows = []
    for week, counts in errors:
        for number, n in enumerate(counts):
            rows.append(
                {
                    "study_id": f"{week}-{number}",
                    "date": day_of(week),
                    "outcome": "unparsed" if n is None else "scored",
                    "green": None if n is None else 1 / (1 + n),
                    "n_significant": n,
                    "n_insignificant": None if n is None else 0,
                    "run": "one",
                    **fields,
                }
            )
    return pd.DataFrame(rows).astype(
        {"green": "Float64", "n_significant": "Int64", "n_insignificant": "Int64"}
    )


def studies_of(
    table: pd.DataFrame, until: str, every: Every = "week", units: Any = None
) -> Studies:
    return Studies.of(table, every, units, date.fromisoformat(until))

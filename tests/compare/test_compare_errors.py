"""What each model gets wrong: errors by category and level, and which tables are printed."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path

import pytest
from judged_runs import IDS, data, refused
from support import Invoke

from judge import Run
from judge.report.leaderboard import TABLES

LEVELS = {"green": "significance", "fineradscore": "severity"}
Two = tuple[Path, Path]


def counted(run: Path, rubric: str, ids: list[str] = IDS) -> Counter[tuple[str | None, str]]:
    """The errors of a run by category and level, None for all, from its annotations alone."""
    found: Counter[tuple[str | None, str]] = Counter()
    for record in Run(run).records():
        if record["study_id"] not in ids or record["annotation"] is None:
            continue
        for item in record["annotation"]["items"]:
            if LEVELS[rubric] in item["labels"]:
                (level,) = item["labels"][LEVELS[rubric]]
                found[None, level] += 1
                found.update((category, level) for category in item["labels"]["category"])
    return found


@pytest.mark.parametrize("rubric", LEVELS)
def test_errors_are_those_of_the_annotations(
    invoke: Invoke, stock: dict[str, Path], rubric: str
) -> None:
    runs = {name: stock[f"{rubric}-{name}"] for name in ("good", "bad")}
    found = data(invoke, *runs.values(), "--no-tests")["groups"][0]["errors"]
    done = invoke("compare", *runs.values(), "--no-tests", "--format", "errors")
    rows = csv.DictReader(io.StringIO(done.stdout))
    assert [int(row["errors"]) for row in rows] == [row["errors"] for row in found]
    for name, run in runs.items():
        own = {(row["category"], row["level"]): row for row in found if row["model"] == name}
        assert {cut: row["errors"] for cut, row in own.items() if row["errors"]} == counted(
            run, rubric
        )
        for row in own.values():
            assert row["n"] == len(IDS)
            assert row["per_study"] == pytest.approx(row["errors"] / len(IDS))
            assert row["low"] <= row["per_study"] <= row["high"]
    assert sum(counted(runs["bad"], rubric).values()) > 10


def test_tables_and_columns_are_those_asked_for(invoke: Invoke, two: Two, fine: Two) -> None:
    begins = {
        "leaderboard": ["Summary", "Leaderboard", "Leaderboard"],
        "errors": ["Errors by category"] * 2,
        "tests": ["Differences"],
        "ranks": ["Ranks"],
        "correlations": ["Correlation"] * 3,
    }
    assert tuple(begins) == TABLES
    for name, wanted in begins.items():
        done = invoke("compare", *two, *fine, "--tables", name, "--format", "md")
        found = re.findall(rf"^## ({'|'.join(map(re.escape, wanted))})\b", done.stdout, re.M)
        assert found == wanted
        assert done.stdout.count("\n## ") + 1 == len(wanted)
    asked = ("--tables", "leaderboard", "--columns", "GREEN,1/FineRadScore", "--format", "md")
    head = invoke("compare", *two, *fine, *asked).stdout.splitlines()[2]
    assert re.findall(r"[^|\s][^|]*[^|\s]", head) == ["rank", "model", "GREEN", "1/FineRadScore"]
    assert "errors" in refused(invoke, *two, "--tables", "errrors")
    assert "BLEURT" in refused(invoke, *two, "--columns", "BLEURT")
    assert "--format csv" in refused(invoke, *two, "--tables", "errors", "--format", "csv")

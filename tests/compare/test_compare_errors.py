"""What each model gets wrong: errors by category and level, and which tables are printed."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path

import pytest
from judged_runs import IDS, data, fail
from support import Invoke

from judge import Run

LEVELS = {"green": "significance", "fineradscore": "severity"}
Two = tuple[Path, Path]


def counted(
    run: Path, rubric: str, ids: list[str] = IDS
) -> Counter[tuple[str | None, str]]:
    """The errors of a run by category and level, None for all, from its annotations alone."""
    found: Counter[tuple[str | None, str]] = Counter()
    for record in Run.open(run).records():
        if record["study_id"] not in ids or record["annotation"] is None:
            continue
        for item in record["annotation"]["items"]:
            if LEVELS[rubric] in item["labels"]:
                (level,) = item["labels"][LEVELS[rubric]]
                found[None, level] += 1
                found.update(
                    (category, level) for category in item["labels"]["category"]
                )
    return found


@pytest.mark.parametrize("rubric", LEVELS)
def test_errors_are_those_of_the_annotations(
    invoke: Invoke, stock: dict[str, Path], rubric: str
) -> None:
    runs = {name: stock[f"{rubric}-{name}"] for name in ("good", "bad")}
    found = data(invoke, *runs.values(), "--no-tests")["groups"][0]["errors"]
    done = invoke(
        "compare", *runs.values(), "--no-tests", "--format", "csv", "--table", "errors"
    )
    rows = csv.DictReader(io.StringIO(done.stdout))
    printed = {(row["model"], row["level"]): int(row["all_k"]) for row in rows}
    assert printed == {
        (row["model"], row["level_label"]): row["errors"]
        for row in found
        if row["category"] is None
    }
    for name, run in runs.items():
        own = {
            (row["category"], row["level"]): row
            for row in found
            if row["model"] == name
        }
        assert {
            cut: row["errors"] for cut, row in own.items() if row["errors"]
        } == counted(run, rubric)
        for row in own.values():
            assert row["n"] == len(IDS)
            assert row["per_study"] == pytest.approx(row["errors"] / len(IDS))
            assert row["low"] <= row["per_study"] <= row["high"]
    assert sum(counted(runs["bad"], rubric).values()) > 10


def test_a_study_without_a_score_is_no_study_without_errors(
    invoke: Invoke, two: Two
) -> None:
    fail(two[1], IDS[:4])
    found = data(invoke, *two, "--no-tests")["groups"][0]["errors"]
    own = {
        (row["category"], row["level"]): row for row in found if row["model"] == "bad"
    }
    wanted = counted(two[1], "green", IDS[4:])
    assert {cut: row["errors"] for cut, row in own.items() if row["errors"]} == wanted
    assert {row["n"] for row in own.values()} == {len(IDS) - 4}
    assert "bad 4 (green)" in invoke("compare", *two, "--table", "errors").stdout
    fail(two[1], IDS)
    found = data(invoke, *two, "--no-tests")["groups"][0]["errors"]
    assert {row["model"] for row in found} == {"good"}

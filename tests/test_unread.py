"""What unparsed and failed studies could change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from answered_runs import answered, green
from support import Invoke

from judge import rubrics
from judge.stats.table import TableBuilder, summarise
from judge.types import Annotated, Failed, Study, Unparsed

PERFECT = green({}, {}, "1. heart")
MISSED = green({"b": "1. nodule"}, {}, "1. heart")


def summary(classes: dict[str, tuple[int, int]]) -> dict[str, Any]:
    """The summary of classes with so many scored studies and so many that are unread."""
    rubric = rubrics.load("green")
    table = TableBuilder(rubric, [])
    for name, (n_scored, n_unread) in classes.items():
        for at in range(n_scored + n_unread):
            study = Study(f"{name}{at}", "r", "c", name)
            if at >= n_scored:
                table.add(study, Failed("timeout") if at % 2 else Unparsed("truncated"), None)
                continue
            annotation = rubric.parse(PERFECT if at % 2 else MISSED, study, complete=True)
            table.add(study, Annotated(annotation), rubric.measured(annotation, study))
    return summarise(table.build(), rubric)


def test_bounds_are_the_figures_if_all_unread_were_best_or_worst() -> None:
    found = summary({"normal": (10, 0), "abnormal": (20, 6)})
    for block, n, unread in ((found, 30, 6), (found["rates"][0], 20, 6)):
        scores = block["statistics"]["green"]
        assert scores["value"] == 0.75
        assert scores["bounds"] == pytest.approx(
            [0.75 * n / (n + unread), (0.75 * n + unread) / (n + unread)]
        )
        rate = block["statistics"]["no_significant_error"]
        assert rate["bounds"] == pytest.approx(
            [n / 2 / (n + unread), (n / 2 + unread) / (n + unread)]
        )
        assert "bounds" not in block["statistics"]["errors"]
    assert all("bounds" not in one for one in found["rates"][1]["statistics"].values())


def test_they_are_said_below_the_table(invoke: Invoke, tmp_path: Path) -> None:
    answers = {f"s{at}": None if at >= 20 else PERFECT for at in range(26)}
    run = answered(tmp_path / "run", answers)
    for form in ("table", "md"):
        done = invoke("rates", run, "--format", form)
        assert "If the 6 unread studies were all best or worst: GREEN 0.769 to 1.000" in done.stdout
    found = json.loads(invoke("rates", run, "--format", "json").stdout)
    assert found["statistics"]["green"]["bounds"] == pytest.approx([20 / 26, 1])

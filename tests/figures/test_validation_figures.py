"""The figures of judges beside readers: the numbers in their specifications."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support import EXAMPLES, Invoke

from judge.figures.files import Figure
from judge.figures.validation import validation_figures
from judge.rubrics.quantities import SharedMeasure
from judge.types import JudgeError
from judge.validating.raters import RatedStudies
from judge.validating.validation import _limits

NAN = float("nan")
ERRORS = SharedMeasure(
    name="errors", label="errors", role="count", higher_is_better=False
)
MISSED = SharedMeasure(
    name="b",
    label="(b) missing finding",
    role="count",
    higher_is_better=False,
    category="b",
)


def rated(
    values: dict[str, Any], quantities: tuple[SharedMeasure, ...] = (ERRORS, MISSED)
) -> RatedStudies:
    """Two judges, then two readers."""
    grids = {name: np.array(rows, dtype=float) for name, rows in values.items()}
    n = len(next(iter(grids.values())))
    names = ("first", "second/../<b>")
    judges = tuple(SimpleNamespace(name=name) for name in names)
    studies: Any = SimpleNamespace(
        judges=judges,
        readers=(SimpleNamespace(name="x"), SimpleNamespace(name="y")),
        quantities=quantities,
        values=grids,
        clusters=None,
        study_ids=tuple(map(str, range(n))),
    )
    return studies


ROWS = [
    [2, 1, 1, 2],
    [0, 0, 0, 0],
    [0, 0, 0, 0],
    [5, 2, 3, NAN],
    [NAN, 1, 1, 1],
    [1, 3, NAN, NAN],
]


def drawn(studies: RatedStudies, *only: str) -> dict[str, Figure]:
    units = np.arange(len(studies.study_ids))
    report = {
        "limits": _limits(studies, studies.quantities, units),
        "judges": [],
        "readers": [],
        "signature": "s",
        "notes": [],
        "ceiling_mean": [],
    }
    found = validation_figures(report, studies, only)
    return {figure.name: figure for figure in found.figures}


def rows_of(figure: Figure, field: str) -> list[dict[str, Any]]:
    return [row for row in figure.spec["data"]["values"] if field in row]


def test_the_limits_of_a_judge_and_the_readers_are_the_tables() -> None:
    studies = rated({"errors": ROWS, "b": ROWS})
    figures = drawn(studies, "limits")
    assert len(figures) == 3
    figure = figures["limits_first"]
    # Both readers' mean, or the one's; a study without a judge's or readers' count is not there.
    judge, readers = np.array([2, 0, 0, 5.0]), np.array([1.5, 0, 0, 3.0])
    d = judge - readers
    lines = rows_of(figure, "line")
    expected = [d.mean(), *(d.mean() + 1.96 * sign * d.std(ddof=1) for sign in (-1, 1))]
    assert [row["value"] for row in lines] == pytest.approx(expected, abs=1e-3)
    half = stats.t.ppf(0.975, 3) * d.std(ddof=1) / 2
    assert lines[0]["high"] - lines[0]["value"] == pytest.approx(half)
    points = {
        (row["mean"], row["difference"]): row["studies"]
        for row in rows_of(figure, "mean")
    }
    assert points == {(1.75, 0.5): 1, (0.0, 0.0): 2, (4.0, 2.0): 1}
    assert "n 4" in rows_of(figure, "line")[0]["panel"]
    assert "[Bland and Altman 1999]" in figure.caption


def test_two_judges_are_compared_on_all_studies_that_both_scored() -> None:
    studies = rated({"errors": ROWS, "b": ROWS})
    (figure,) = (
        figure
        for name, figure in drawn(studies, "limits").items()
        if name.startswith("limits_first_")
    )
    d = np.array([1, 0, 0, 3, -2.0])
    assert rows_of(figure, "line")[0]["value"] == pytest.approx(d.mean())
    assert sum(row["studies"] for row in rows_of(figure, "mean")) == 5


def test_counts_are_each_studys_and_the_means_are_of_the_studies_that_both_have() -> (
    None
):
    figures = drawn(rated({"errors": ROWS, "b": ROWS}), "counts")
    figure = figures["counts_first"]
    panels = list(dict.fromkeys(row["panel"] for row in rows_of(figure, "panel")))
    assert [panel.split(", n ")[0] for panel in panels] == [
        "errors",
        "(b) missing finding",
    ]
    assert "n 4\nmean: judge 1.75, readers 1.12" in panels[0]
    points = {
        (row["x"], row["y"]): row["studies"]
        for row in rows_of(figure, "x")
        if row["panel"] == panels[0]
    }
    assert points == {(1.5, 2.0): 1, (0.0, 0.0): 2, (3.0, 5.0): 1}
    assert not any(set("/.<") & set(name) for name in figures)


def test_what_cannot_be_drawn_is_said() -> None:
    few = [[1, 1, 1, 1], [0, NAN, 0, 0]]
    with pytest.raises(JudgeError, match="limits: it needs three studies"):
        drawn(rated({"errors": few, "b": few}), "limits")
    nothing = [[NAN, NAN, 1, 1]]
    with pytest.raises(JudgeError, match="counts: it needs a study"):
        drawn(rated({"errors": nothing, "b": nothing}), "counts")


def test_only_is_checked_before_anything_is_read(
    invoke: Invoke, tmp_path: Path
) -> None:
    done = invoke("validate", "none", "--readers", "none", "--draw", "boxes")
    assert done.exit_code == 2
    assert "agreement, limits, counts" in done.stderr
    done = invoke("validate", "none", "--readers", "none", "--draw", "limits")
    assert "--draw goes with --figures" in done.stderr
    done = invoke("compare", "none", "--figures", "f", "--draw", "boxes,limit")
    assert "scores, rates, errors, ranks, correlations, boxes" in done.stderr
    done = invoke("compare", EXAMPLES, "--draw", "boxes")
    assert "--draw goes with --figures" in done.stderr
    assert not list(tmp_path.iterdir())

"""`judge.experiment`: an experiment in Python, its runs and its leaderboards as DataFrames."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support import EXAMPLES

import judge
from judge import Experiment, JudgeError, Resampling, experiment

MATRIX: dict[str, Any] = {
    "references": f"{EXAMPLES}/refs.json",
    "candidates": [f"{EXAMPLES}/preds_*.json"],
    "rubrics": ["green", "counts"],
}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("experiment") / "runs"


def test_runs_and_leaderboards(out: Path) -> None:
    result = experiment(MATRIX, out=out, tests=Resampling(flips=1000))
    assert [*result.runs] == [
        "alder-green-lexicon",
        "birch-green-lexicon",
        "alder-counts-lexicon",
        "birch-counts-lexicon",
    ]
    assert result.path == out
    assert not result.failed
    assert result.runs["alder-green-lexicon"].manifest.experiment is not None
    frame = result.frame()
    assert list(frame["model"]) == ["alder", "birch"]
    assert set(frame["judge"]) == {"lexicon"}
    assert len(result.frame("tests")) == len(result.leaderboard.tests)
    assert result.leaderboards["lexicon"].signature in str(result)
    assert "<table" in result._repr_html_()
    with pytest.raises(JudgeError, match="there are: leaderboard"):
        result.frame("nothing")


def test_a_part_of_the_runs_and_other_values(out: Path) -> None:
    values = Experiment.of(MATRIX)
    result = experiment(values, only={"model": "birch"}, out=out, limit=5, tests=None)
    assert result.path == out / "limit-5"
    assert {run.summary().n_studies for run in result.runs.values()} == {5}
    with pytest.raises(JudgeError, match="only= model=fir: the experiment"):
        experiment(values, only={"model": "fir"})
    with pytest.raises(JudgeError, match="did you mean limit"):
        experiment(values, limits=5)
    several = experiment(values, out=out, sections=["findings", "report"], tests=None)
    assert [*several.leaderboards] == ["findings, lexicon", "report, lexicon"]
    assert list(several.frame()["section"]) == ["findings", "findings"] + 2 * ["report"]
    assert str(several).count("alder") >= 2
    with pytest.raises(JudgeError, match="choose one of leaderboards"):
        _ = several.leaderboard


def test_in_a_running_loop_as_of_a_notebook(out: Path) -> None:
    async def cell() -> judge.ExperimentResult:
        return experiment(MATRIX, out=out, tests=None)

    assert len(asyncio.run(cell()).runs) == 4

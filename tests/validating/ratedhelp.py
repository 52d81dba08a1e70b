"""The examples' readings and the lexicon beside them, as `judge validate` has them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from support import EXAMPLES

from judge.comparing.names import RunChoice
from judge.report.validate_page.data import Beside, PageRater
from judge.validating.raters import RatedStudies, rated, raters, readers_below
from judge.validating.validation import validate


def run(*words: str | Path) -> None:
    """Run a command in a process of its own: beside a browser none could ask a judge here."""
    command = [sys.executable, "-m", "judge", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def made(work: Path, readings: Path = EXAMPLES / "readers" / "readings.csv") -> None:
    """Make the runs `readers/` and `judged` in `work`."""
    run("import", "tidy", readings, "--section", "findings", "--out", work / "readers")
    first = min((work / "readers").iterdir()) / "annotations.jsonl"
    run("green", first, "--judge", "lexicon", "--out", work / "judged")


def studies_of(work: Path, judge: str = "lexicon") -> RatedStudies:
    below = RunChoice(work / "readers", "readers")
    judges = raters([RunChoice(work / "judged", "judged", judge)], readers=False)
    return rated(judges, raters(readers_below(below), readers=True))


def beside_of(studies: RatedStudies) -> Beside:
    return Beside(
        validate(studies),
        tuple(PageRater(one.name, one.is_reader, one.run.rubric) for one in studies.raters),
        studies.study_ids,
        studies.study_classes,
        studies.values,
    )


def counts_of(values: Mapping[str, np.ndarray], name: str) -> tuple[np.ndarray, np.ndarray]:
    """The first judge's counts, and the mean of the readers who read each study."""
    grid = values[name]
    return grid[:, 0], np.nanmean(grid[:, 1:], axis=1)


def estimate(value: float | None, **more: Any) -> dict[str, Any]:
    ends = {"low": None, "high": None} if value is None else {"low": value - 0.1, "high": value}
    return {"n": 10_000, "value": value, **ends, "n_undefined": 0, **more}


def many(n_judges: int, n: int = 10_000) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `validate` would say of many judges, as far as figures take it, and their counts."""
    rng = np.random.default_rng(3)
    truth = rng.poisson(2, size=(n, 1))
    grid = np.maximum(0, truth + rng.integers(-1, 2, size=(n, n_judges + 3))).astype(float)
    names = [f"a-judge-with-a-long-name/version-{at}" for at in range(n_judges)]
    key = {"quantity": "errors", "label": "errors", "category": None}
    found = {
        "signature": "validate:1|made up",
        "judges": [{"name": name, "judge": name} for name in names],
        "readers": [{"name": name} for name in ("fern", "moss", "reed")],
        "n_studies": n,
        "resampling": {"resamples": 1000, "seed": 7},
        "notes": [],
        "agreement": [
            {**key, "judge": name, "measure": "errors", "own": True, "kendall": estimate(0.5)}
            for name in names
        ],
        "ceiling_mean": [{**key, "kendall": estimate(0.7), "range": {"kendall": [0.6, 0.8]}}],
        "limits": [
            {**key, "judge": name, "n": n}
            | {"bias": estimate(0.1), "lower": estimate(-1.5), "upper": estimate(1.7)}
            for name in names
        ],
    }
    return found, {"errors": grid}

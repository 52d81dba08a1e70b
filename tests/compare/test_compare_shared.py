"""Three models, both rubrics, real reports: which differences are real."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import Invoke

MODELS = ("indication", "neighbour", "random")


@pytest.mark.data
def test_near_misses_beat_the_reports_of_other_patients(
    invoke: Invoke, shared: Path, tmp_path: Path
) -> None:
    runs = []
    for rubric in ("green", "fineradscore"):
        for model in MODELS:
            runs.append(tmp_path / f"{rubric}-{model}")
            done = invoke(
                *(rubric, shared / f"preds_{model}.json", shared / "refs.json"),
                *("--out", runs[-1]),
            )
            assert done.exit_code == 0, done.stderr
    for metric in ("GREEN", "1/FineRadScore", "fineradscore_sum", "fineradscore_errors"):
        done = invoke("compare", *runs, "--sort", metric, "--by", "study_class", "--format", "json")
        assert done.exit_code == 0, done.stderr
        found = json.loads(done.stdout)
        sort, groups = found["sort"], found["groups"]
        assert groups[0]["n_studies"] == 590
        for group in groups:
            cells = group["cells"][sort]
            assert {cells[model]["rank"] for model in MODELS} == {1, 2, 3}
            assert cells["neighbour"]["rank"] == 1
        tests = groups[0]["tests"][sort]
        assert all(test["n"] == 590 for test in tests)
        assert all(test["significant"] for test in tests if "neighbour" in (test["a"], test["b"]))
        assert groups[0]["ranks"][sort]["neighbour"]["shares"][0] == 1

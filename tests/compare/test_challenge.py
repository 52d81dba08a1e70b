"""The figures and tables of the ReXrank challenge, from run folders to files."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from judged_runs import COPIED, IDS, PREDS, REFS, judged
from support import Invoke

from judge.running.folder import Run

Rows = list[dict[str, str]]
DATASETS = {study_id: ("MIMIC", "IU")[at % 2] for at, study_id in enumerate(IDS)}


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """A run for each model and section, over two data sets."""
    refs = {key: {**REFS[key], "dataset": DATASETS[key]} for key in IDS}
    return [
        judged(tmp_path / section, model, preds, "green", refs, "--section", section)
        for section in ("findings", "report")
        for model, preds in (("good", COPIED), ("bad", PREDS))
        if not (tmp_path / section).mkdir(exist_ok=True)
    ]


def rows(file: Path) -> Rows:
    with file.open() as opened:
        return list(csv.DictReader(opened))


def test_every_table_and_figure_of_the_challenge(
    invoke: Invoke, runs: list[Path], tmp_path: Path
) -> None:
    metrics = tmp_path / "metrics.csv"
    values = [f"{key},{model},0.{at}" for at, key in enumerate(IDS) for model in ("good", "bad")]
    metrics.write_text("\n".join(["study_id,model,BERTScore", *values]))
    out = tmp_path / "paper"
    done = invoke("reproduce", "challenge", *runs, "--out", out, "--metrics", metrics)
    assert done.exit_code == 0, done.stderr
    assert sorted(folder.name for folder in out.iterdir()) == ["findings", "report"]
    names = {file.name for file in (out / "findings").iterdir()}
    for figure in ("rates_green", "ranks_green", "ranks_green_by_dataset", "correlation_pearson"):
        assert f"{figure}.svg" in names
    assert {"rexrank.csv", "rexrank_MIMIC.csv", "rexrank_IU.csv"} <= names

    table = {
        (row["dataset"], row["study_class"], row["model"]): row
        for row in rows(out / "findings" / "tables.csv")
    }
    frame = Run(runs[1]).rates("study_class,dataset").set_index(["study_class", "dataset"])
    for name in ("normal", "abnormal"):
        mean = frame.loc[(name, "MIMIC"), "green"]
        assert float(table["MIMIC", name, "bad"]["green"]) == pytest.approx(mean)
    assert table["MIMIC", "normal", "bad"]["bertscore"]
    bad = rows(out / "findings" / "rexrank_IU.csv")[1]
    of_iu = Run(runs[1]).rates("dataset").set_index("dataset").loc["IU", "green"]
    assert (bad["Model Name"], bad["GREEN"]) == ("bad", f"{of_iu:.3f}")

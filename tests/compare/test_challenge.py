"""The figures and tables of the ReXrank challenge, from run folders to files."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from judged_runs import COPIED, IDS, PREDS, REFS
from support import Invoke, write_json

from judge import Run

MODELS = {"good": COPIED, "bad": PREDS}
DATASETS = {"MIMIC": IDS[::2], "IU": IDS[1::2]}


@pytest.fixture
def runs(invoke: Invoke, tmp_path: Path) -> list[Path]:
    """A run for each model, data set and section; the data set is the file of references."""
    made = []
    for dataset, ids in DATASETS.items():
        refs = write_json(
            tmp_path / f"refs_{dataset}.json", {key: REFS[key] for key in ids}
        )
        for model, predictions in MODELS.items():
            preds = write_json(
                tmp_path / f"preds_{model}.json", {k: predictions[k] for k in ids}
            )
            for section in ("findings", "report"):
                out = tmp_path / f"{dataset}-{model}-{len(section)}"
                done = invoke("green", preds, refs, "--section", section, "--out", out)
                assert done.exit_code == 0, done.stderr
                made.append(out)
    return made


def test_every_table_and_figure_of_the_challenge(
    invoke: Invoke, runs: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "paper"
    done = invoke("reproduce", "challenge", *runs, "--out", out)
    assert done.exit_code == 0, done.stderr
    assert sorted(folder.name for folder in out.iterdir()) == ["findings", "report"]
    names = {file.name for file in (out / "findings").iterdir()}
    for figure in ("rates_green", "ranks_green", "ranks_green_by_dataset"):
        assert f"{figure}.svg" in names
    assert {"rexrank.csv", "rexrank_MIMIC.csv", "rexrank_IU.csv"} <= names

    with (out / "findings" / "tables.csv").open() as file:
        rows = {
            (row["dataset"], row["study_class"], row["model"], row["metric"]): row
            for row in csv.DictReader(file)
        }
    frame = Run.open(runs[2]).rates().set_index("study_class")  # MIMIC, bad, findings
    means = {name: frame.loc[name, "green"] for name in ("normal", "abnormal")}
    for name, mean in means.items():
        assert float(rows["MIMIC", name, "bad", "green"]["value"]) == pytest.approx(
            mean
        )
    gain = (means["normal"] - means["abnormal"]) / means["abnormal"]
    assert float(rows["MIMIC", "normal", "bad", "green"]["gain"]) == pytest.approx(gain)
    whole = rows["all data sets", "abnormal", "bad", "green"]
    assert int(whole["n"]) == sum(REFS[key]["study_class"] == "abnormal" for key in IDS)

    text = (out / "findings" / "tables.tex").read_text("utf-8")
    board = text.split("% MIMIC, abnormal, findings\n")[1].split("\\end{tabular}")[0]
    lines = [line for line in board.splitlines() if line.startswith(("good", "bad"))]
    assert [line.partition(" ")[0] for line in lines] == ["good", "bad"]
    assert r"\textbf{1.000" in lines[0]
    assert r"\pm" in lines[1]
    assert r"\textbf" not in lines[1]


def test_a_model_that_lacks_a_data_set_is_named(
    invoke: Invoke, runs: list[Path], tmp_path: Path
) -> None:
    done = invoke("reproduce", "challenge", *runs[:-2], "--out", tmp_path / "paper")
    assert done.exit_code == 2
    assert "models bad" in done.stderr


def test_metrics_of_files_are_correlated_with_the_judges(
    invoke: Invoke, runs: list[Path], tmp_path: Path
) -> None:
    rows = [f"{key},{model},0.{at}" for at, key in enumerate(IDS) for model in MODELS]
    metrics = tmp_path / "metrics.csv"
    metrics.write_text("\n".join(["study_id,model,BERTScore", *rows]))
    out = tmp_path / "paper"
    done = invoke(
        "reproduce", "challenge", *runs[::2], "--out", out, "--metrics", metrics
    )
    assert done.exit_code == 0, done.stderr
    assert (out / "findings" / "correlation_pearson.svg").exists()
    assert "BERTScore" in (out / "findings" / "tables.tex").read_text("utf-8")

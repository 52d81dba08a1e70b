"""ReXrank's published tables, recomputed.

The values are facts from the repository of ReXrank (results/findings_result_gradienthealth.csv
as of commit 0b9b62e4), half of its table of the challenge's models on 10,000 studies. From each
printed mean we make studies with that mean; the order, the reciprocals and the look of the
table must come out as printed. The head of the order is also that of the challenge's page.
"""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from panels import panel_of

from judge import rubrics
from judge.rexrank import as_rexrank
from judge.stats.metric import KNOWN, rubric_metrics
from judge.stats.scores import ScoreMatrix
from judge.stats.significance import Comparison, compare
from judge.tables.comparison import board

COLUMNS = (
    *(
        "BLEU",
        "BertScore",
        "SembScore",
        "RadGraph",
        "1/RadCliQ-v1",
        "RaTEScore",
        "GREEN",
    ),
    "1/FineRadScore",
)
PRINTED = """
CheXpertPlus-MIMIC,0.154,0.341,0.442,0.13,0.777,0.501,0.52,0.473
Cvt2distilgpt2-MIMIC,0.186,0.374,0.46,0.176,0.866,0.524,0.514,0.47
MedVersa,0.21,0.431,0.498,0.202,1.008,0.527,0.532,0.475
RaDialog,0.188,0.402,0.45,0.158,0.876,0.522,0.435,0.456
VLCI-IU,0.214,0.365,0.467,0.215,0.897,0.573,0.536,0.452
LLM-CXR,0.043,0.182,0.142,0.029,0.507,0.317,0.044,0.326
BiomedGPT-IU,0.099,0.317,0.437,0.157,0.771,0.472,0.388,0.451
MAIRA-2,0.205,0.436,0.462,0.187,0.963,0.559,0.531,0.475
CXRMate-ED,0.202,0.398,0.415,0.187,0.872,0.564,0.518,0.472
Libra,0.165,0.385,0.474,0.168,0.881,0.544,0.555,0.473
MoERad-IU,0.227,0.434,0.446,0.247,1.018,0.575,0.494,0.468
MedGemma,0.2,0.427,0.479,0.223,1.008,0.617,0.566,0.457
"""
ROWS = [line.split(",") for line in PRINTED.strip().splitlines()]
MODELS = tuple(row[0] for row in ROWS)
HEAD = [
    "MedVersa",
    "MAIRA-2",
    "Libra",
    "CheXpertPlus-MIMIC",
    "CXRMate-ED",
    "Cvt2distilgpt2-MIMIC",
]
N = 2_000


def severities(inverse: float) -> np.ndarray:
    """N severities from 1 to 4 whose mean is the nearest to 1 / `inverse` that N allows."""
    total = round(N / inverse)
    least, more = divmod(total, N)
    return np.array([least + 1] * more + [least] * (N - more), dtype=float)


@pytest.fixture(scope="module")
def printed() -> ScoreMatrix:
    fine = [m for m in rubric_metrics(rubrics.load("fineradscore")) if m.rexrank]
    green = [m for m in rubric_metrics(rubrics.load("green")) if m.rexrank]
    names = ("bleu2", "bertscore", "semb", "radgraph", "radcliq", "ratescore")
    metrics = (*(KNOWN[name] for name in names), *green, *fine)
    values = {}
    spread = np.random.default_rng(1).normal(size=N) * 0.05
    spread -= spread.mean()
    for at, metric in enumerate(metrics):
        figures = np.array([float(row[1 + at]) for row in ROWS])
        if metric.name == "inverse_fineradscore":
            values[metric] = np.column_stack([severities(figure) for figure in figures])
        else:
            means = 1 / figures if metric.kind == "inverse" else figures
            values[metric] = means + spread[:, None]
    panel = panel_of(values)
    return ScoreMatrix(MODELS, panel.study_ids, panel.metrics, panel.values, {})


@pytest.fixture(scope="module")
def comparison(printed: ScoreMatrix) -> Comparison:
    return compare(printed, sort="1/FineRadScore")


def test_the_table_looks_as_it_was_printed(comparison: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(as_rexrank(comparison, {}))))
    assert list(rows[0])[5:] == list(COLUMNS)
    found = {row["Model Name"]: [row[column] for column in COLUMNS] for row in rows}
    # It prints 0.08 beside 0.366; here all have three decimals.
    assert found == {row[0]: [f"{float(cell):.3f}" for cell in row[1:]] for row in ROWS}


def test_the_order_is_the_printed_one(comparison: Comparison) -> None:
    wanted = sorted(ROWS, key=lambda row: -float(row[8]))
    order = [MODELS[at] for at in comparison.order]
    assert [row[8] for row in wanted] == [ROWS[at][8] for at in comparison.order]
    # Equal figures keep the order in which the models were given; the page has them otherwise.
    assert set(order[:2]) == set(HEAD[:2])
    assert set(order[2:4]) == set(HEAD[2:4])
    assert order[4:6] == HEAD[4:]
    assert order[-1] == "LLM-CXR"

    table = board(comparison, 0, [comparison.sorted_by])
    assert [row[0] for row in table.texts[:5]] == ["1=", "1=", "3=", "3=", "5"]

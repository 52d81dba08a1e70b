"""From two models' reports to every output, by every rubric there is, the toy ones among them."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from support import EXAMPLES, with_rules

from judge import rubrics
from judge.cli import main
from judge.running.folder import Run

MODELS = {"model": EXAMPLES / "preds.json", "itself": EXAMPLES / "refs.json"}


def judge(*args: object) -> str:
    done = CliRunner().invoke(main, list(map(str, args)))
    assert done.exit_code == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", with_rules())
def test_what_a_rubric_declares_is_in_every_output(name: str, tmp_path: Path) -> None:
    rubric = rubrics.load(name)
    runs = {model: tmp_path / model for model in MODELS}
    for model, preds in MODELS.items():
        judge(name, preds, EXAMPLES / "refs.json", "--out", runs[model])

    # The rates: each statistic is what its measures come to, and is printed where it is declared.
    data = json.loads(judge("rates", runs["model"], "--format", "json"))
    declared = {one.name for one in rubric.statistics}
    assert set(data["statistics"]) == declared
    assert all(set(row["statistics"]) == declared for row in data["rates"])
    table = judge("rates", runs["model"])
    row = next(csv.DictReader(io.StringIO(judge("rates", runs["model"], "--format", "csv"))))
    frame = pd.read_parquet(runs["model"] / "studies.parquet")
    for one in rubric.statistics:
        assert (one.label in table) == bool(one.shown & {"head", "groups"}), one.name
        assert (f"{one.name}_{one.kind}" in row) == ("groups" in one.shown)
        over = frame[list(one.measures)].astype(float)
        if one.kind == "rate":
            expected = (over == 0).all(axis=1).mean()
        elif one.kind == "ratio":
            expected = over.sum(axis=1).sum() / frame[list(one.per)].astype(float).sum().sum()
        else:
            expected = over.sum(axis=1, skipna=False).mean()
            expected = 1 / expected if one.is_reciprocal else expected
        found = data["statistics"][one.name]
        assert found["value"] == pytest.approx(expected)
        assert found["n"] + found["n_undefined"] == len(frame)

    # The studies: the worst, one with all that was found in it, and the page.
    assert "ex-015" in judge("audit", runs["model"], "--worst", 3)
    study = judge("audit", runs["model"], "ex-015", "--raw")
    for measure in rubric.with_role("score"):
        assert f"{measure.label} " in study
    records = list(Run(runs["model"]).records())
    for item in records[14]["annotation"]["items"]:
        assert " ".join(item["text"].split()) in " ".join(study.split())
    judge("audit", runs["model"], "--html", tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000

    # The comparison: each report against itself has nothing wrong, and comes first.
    pair = [f"{model}={run}" for model, run in runs.items()]
    compared = json.loads(judge("compare", *pair, "--format", "json", "--no-tests"))
    shown = rubric.shown("compare")
    statistics = {model: Run(run).summary()["statistics"] for model, run in runs.items()}
    for one, metric in zip(shown, compared["metrics"], strict=True):
        for model, cell in compared["groups"][0]["cells"][metric["name"]].items():
            assert cell["value"] == pytest.approx(statistics[model][one.name]["value"])
        text = judge("compare", *pair, "--no-tests", "--sort", one.definition or one.label)
        assert re.search(r"(?m)^ +1=? +itself", text)

    # The errors that recur, by the categories that the rubric tells apart.
    line = ("errors", *pair, "--min-studies", 1, "--format", "json")
    if rubric.graded:
        errors = json.loads(judge(*line))["errors"]
        assert errors
        assert {one["models"]["itself"]["k"] for one in errors} == {0}
    else:
        assert CliRunner().invoke(main, list(map(str, line))).exit_code == 2

    # Reading the answers again changes nothing.
    judge("rescore", runs["model"], "--out", tmp_path / "again")
    for file in ("studies.csv", "annotations.jsonl"):
        assert (tmp_path / "again" / file).read_bytes() == (runs["model"] / file).read_bytes()

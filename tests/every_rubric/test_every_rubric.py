"""What holds of the outputs of every rubric: what it declares is printed, and nothing else."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from judge import rubrics
from judge.cli import main
from judge.running.folder import Run


def judge(*args: object) -> str:
    done = CliRunner().invoke(main, list(map(str, args)))
    assert done.exit_code == 0, done.stderr
    return done.stdout


def models(judged: Path) -> list[str]:
    return [f"{name}={judged / name}" for name in ("model", "itself")]


def test_every_form_prints_each_statistic_and_no_other(judged: Path) -> None:
    rubric = rubrics.load(judged.name)
    declared = {one.name for one in rubric.statistics}
    data = json.loads(judge("rates", judged / "model", "--format", "json"))
    assert set(data["statistics"]) == declared
    assert all(set(row["statistics"]) == declared for row in data["rates"])
    table = judge("rates", judged / "model", "--by", "site,study_class")
    page = judge("rates", judged / "model", "--format", "md")
    row = next(csv.DictReader(io.StringIO(judge("rates", judged / "model", "--format", "csv"))))
    for one in rubric.statistics:
        is_shown = bool(one.shown & {"head", "groups"})
        assert (one.label in table) == (one.label in page) == is_shown, one.name
        assert (f"{one.name}_{one.kind}" in row) == ("groups" in one.shown)
    own = {one.label for one in rubric.statistics}
    others = (one.label for name in rubrics.names() for one in rubrics.load(name).statistics)
    assert [label for label in others if label not in own and label in table] == []


def test_a_statistic_is_what_its_measures_come_to(judged: Path) -> None:
    rubric = rubrics.load(judged.name)
    table = pd.read_parquet(judged / "model" / "studies.parquet")
    found = Run(judged / "model").summary()["statistics"]
    for one in rubric.statistics:
        over = table[list(one.measures)].astype(float)
        if one.kind == "rate":
            assert found[one.name]["k"] == (over == 0).all(axis=1).sum()
            expected = (over == 0).all(axis=1).mean()
        elif one.kind == "ratio":
            under = table[list(one.per)].astype(float).sum(axis=1)
            expected = over.sum(axis=1).sum() / under.sum()
        else:
            expected = over.sum(axis=1, skipna=False).mean()
            expected = 1 / expected if one.is_reciprocal else expected
        assert found[one.name]["value"] == pytest.approx(expected)
        assert found[one.name]["n"] + found[one.name]["n_undefined"] == len(table)


def test_the_worst_studies_and_each_study_are_shown(judged: Path) -> None:
    rubric = rubrics.load(judged.name)
    worst = judge("audit", judged / "model", "--worst", 3)
    assert "Worst studies" in worst
    assert "ex-015" in worst
    study = judge("audit", judged / "model", "ex-015", "--raw")
    for measure in rubric.with_role("score"):
        assert f"{measure.label} " in study
    record = Run(judged / "model").record("ex-015")
    for item in record["annotation"]["items"]:
        assert " ".join(item["text"].split()) in " ".join(study.split())


def test_models_are_compared_by_what_the_rubric_declares(judged: Path, tmp_path: Path) -> None:
    rubric = rubrics.load(judged.name)
    shown = rubric.shown("compare")
    data = json.loads(judge("compare", *models(judged), "--format", "json"))
    assert len(data["metrics"]) == len(shown)
    for one in shown:
        text = judge("compare", *models(judged), "--sort", one.definition or one.label)
        assert f"Differences in {one.definition or one.label}" in text.replace("\n", " ")
        # Each report against itself has nothing wrong: it comes first by whatever is measured.
        ranked = re.search(r"(?m)^ +1=? +(\w+)", text)
        assert ranked
        assert ranked[1] == "itself"
    for form in ("csv", "md", "latex", "pairs"):
        assert judge("compare", *models(judged), "--format", form).strip()
    judge("compare", *models(judged), "--figures", tmp_path / "figures")
    assert list((tmp_path / "figures").glob("*.png"))
    judge("compare", *models(judged), "--html", tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_errors_recur_by_the_categories_that_the_rubric_tells_apart(judged: Path) -> None:
    rubric = rubrics.load(judged.name)
    args = ["errors", str(judged / "model"), "--min-studies", "1", "--format", "json"]
    if not rubric.graded:
        done = CliRunner().invoke(main, args)
        assert (done.exit_code, done.stdout) == (2, "")
        assert f"{rubric.title} grades nothing" in done.stderr
        return
    wanted = set()
    for record in Run(judged / "model").records():
        for item in record["annotation"]["items"]:
            graded_by = rubric.kind(item["kind"]).graded_by
            if graded_by and rubric.facet(graded_by)[item["labels"][graded_by][0]].tone != "good":
                wanted |= set(item["labels"].get(rubric.codes.name if rubric.codes else "", [None]))
    found = json.loads(judge(*args))
    assert {one["category"] for one in found["errors"]} == wanted != set()
    assert all(1 <= one["k"] <= one["n"] == found["n_scored"] for one in found["errors"])
    two = json.loads(judge("errors", *models(judged), "--min-studies", 1, "--format", "json"))
    assert {one["category"] for one in two["errors"]} == wanted
    # Each report against itself has nothing wrong.
    assert {one["models"]["itself"]["k"] for one in two["errors"]} == {0}


def test_a_ratio_is_compared_as_it_is_printed(judged: Path) -> None:
    rubric = rubrics.load(judged.name)
    data = json.loads(judge("compare", *models(judged), "--format", "json", "--no-tests"))
    found = {name: Run(judged / name).summary()["statistics"] for name in ("model", "itself")}
    cells = data["groups"][0]["cells"]
    for one, metric in zip(rubric.shown("compare"), data["metrics"], strict=True):
        for name, cell in cells[metric["name"]].items():
            assert cell["value"] == pytest.approx(found[name][one.name]["value"])


def test_reading_the_answers_again_changes_nothing(judged: Path, tmp_path: Path) -> None:
    judge("rescore", judged / "model", "--out", tmp_path / "again")
    for name in ("studies.csv", "annotations.jsonl"):
        again = (tmp_path / "again" / name).read_bytes()
        assert again == (judged / "model" / name).read_bytes()
